/* SPDX-License-Identifier: Apache-2.0
 * The page of host memory that each PE shares with the PEs of its node. This is its head, in which
 * the PE's kernels and host report. Behind it lie the words of the PE's teams (team/page.h). Shared
 * by processes of one build, so they agree on sizes.
 *
 * With many PEs on a node their pages are one file, so that each process takes one mapping and one
 * descriptor for all of them. First come the heads, then the areas of the node's bootstrap, then
 * what follows the heads. Each of these is in the order of the PEs' numbers on the node. The areas
 * are what each PE reads of each other one. Close together they are few pages of memory, which a
 * process finds with few faults. */
#ifndef GSH_PAGE_H
#define GSH_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/atomic.h"
#include "bootstrap/shm.h"
#include "wire/state.h"
#include "wire/waits.h"

#define GSH_PAGE_HEAD_BYTES ((uint64_t)52 * 4096) /* all that the device sees */

struct gsh_host_page {
    struct gsh_control control;
    struct gsh_shm_area
        node; /* unused if the pages are one file, in which the areas lie together */
    /* In the page of a node's first PE: 1 + the PE of the node that says why the job ends, or 0. */
    uint32_t speaker;
    /* job_report.c's, in each PE's own page, atomic: the PE has begun to print the report of the
     * job, and has printed it or given up. */
    uint32_t has_begun_report, has_ended_report;
    /* The PE ends well, though its process may be gone before others have heard of it (death.h);
     * atomic. */
    uint32_t has_ended;
    /* In the page of a node's first PE: when a PE of the node last said that it waits; atomic. */
    uint64_t noticed_ns;
    struct gsh_waits_table waits; /* takes no memory until somebody asks */
};
_Static_assert(sizeof(struct gsh_host_page) <= GSH_PAGE_HEAD_BYTES, "the page's head is too small");

/* With more PEs on a node, of several processes, their pages are one file. */
#define GSH_PAGES_MOST_FILES 64

/* Whether the page's PE has been told that the job is ending. */
static inline bool gsh_page_is_ending(const struct gsh_host_page *page)
{
    return gsh_load_relaxed_u32(&page->control.abort_word) == GSH_ABORT_END;
}

/* Whether the PE's kernels leave their waits. Its host then gives up their work, perhaps the PE
 * itself, and ignores the end of the job until kernels wait again. */
static inline bool gsh_page_is_leaving(const struct gsh_host_page *page)
{
    return gsh_load_relaxed_u32(&page->control.abort_word) >= GSH_ABORT_LEAVE;
}

/* Called when the page's PE has ended. True if the caller must report it, because neither the PE
 * itself nor another PE has. */
static inline bool gsh_page_end(struct gsh_host_page *page)
{
    return __atomic_exchange_n(&page->control.abort_word, GSH_ABORT_END, __ATOMIC_ACQ_REL) !=
           GSH_ABORT_END;
}

struct gsh_instance;
/* Whether the caller is the PE of its node that says why the job ends: the first that asks. */
bool gsh_page_take_word(const struct gsh_instance *pe);

#endif
