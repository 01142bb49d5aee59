/* SPDX-License-Identifier: Apache-2.0
 * The page of host memory each PE shares with the PEs of its node. Its head holds what its kernels
 * and host report; behind that lie the words of host synchronisation, one pair for each unit of the
 * team pool, and a place for the messages of each PE of the node. Wire between processes of one
 * build, which find the same sizes. */
#ifndef GSH_PAGE_H
#define GSH_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "bootstrap/shm.h"
#include "device/state.h"
#include "runtime/base/atomic.h"

struct gsh_instance;

#define GSH_PAGE_HEAD_BYTES 8192 /* all that the device sees */

struct gsh_host_page {
    struct gsh_control control;
    struct gsh_shm_area node;
    /* Of the first PE of a node: a PE of it has printed why the job ends. */
    uint32_t has_spoken;
};
_Static_assert(sizeof(struct gsh_host_page) <= GSH_PAGE_HEAD_BYTES, "the page's head is too small");

/* Whether the job is ending, as far as the page's PE has been told. */
static inline bool gsh_page_is_ending(const struct gsh_host_page *page)
{
    return gsh_load_relaxed_u32(&page->control.abort_word) == GSH_ABORT_END;
}

/* Whether the PE's kernels leave their waits: its host gives up what they do, perhaps the PE
 * itself, and does not care for the end of the job until they wait again. */
static inline bool gsh_page_is_leaving(const struct gsh_host_page *page)
{
    return gsh_load_relaxed_u32(&page->control.abort_word) >= GSH_ABORT_LEAVE;
}

/* The page's PE is at its end. Whether the caller is the first to find that, and is to say so: it
 * has not been told by the PE itself, nor has another said it. */
static inline bool gsh_page_end(struct gsh_host_page *page)
{
    return __atomic_exchange_n(&page->control.abort_word, GSH_ABORT_END, __ATOMIC_ACQ_REL) !=
           GSH_ABORT_END;
}

/* Whether the caller is the first PE of its node to say why the job ends. */
bool gsh_page_take_word(const struct gsh_instance *pe);

/* Of one unit of the team pool, for the team whose handle it is. */
struct gsh_page_words {
    /* The PE's latest arrival at a host sync on the team; written by the PE with release, read with
     * acquire by the members, never decreases within one job. */
    uint64_t epoch;
    /* Of the first member of a node, for teams on several: the epoch in which all nodes have
     * arrived; written by it with release, read with acquire by the others of the node. */
    uint64_t released;
};

/* For messages of one PE of the node to the page's owner (team/agree.c). */
struct gsh_page_place {
    uint64_t sent; /* messages so far; written by the sender with release */
    uint64_t reserved0[7];
    uint64_t taken; /* written by the owner with release */
    uint64_t reserved1[7];
    uint64_t words[]; /* of the latest; written by the sender when taken is equal to sent */
};

/* The same on all PEs, once their teams are planned. */
uint64_t gsh_page_bytes(const struct gsh_instance *pe);
/* The words of `owner`, a PE of this node. */
struct gsh_page_words *gsh_page_words(const struct gsh_instance *pe, int owner, uint32_t unit);
struct gsh_page_place *gsh_page_place(const struct gsh_instance *pe, int owner, int sender);

#endif
