/* SPDX-License-Identifier: Apache-2.0
 * Where things lie in a shared page. */
#include "runtime/team/page.h"

#include "base/util.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/team/team.h"

/* Whole cache lines. Most units never use theirs, which then take no memory. */
#define DIALECT_BYTES (GSH_PAGE_DIALECT_WORDS * sizeof(uint64_t))
_Static_assert(DIALECT_BYTES % 64 == 0, "units share no cache line");

/* From where the head ends. */
static uint64_t inboxes_off(const struct gsh_instance *pe)
{
    return gsh_align_up(pe->teams->n_units * sizeof(struct gsh_page_words), 64);
}

static uint64_t inbox_bytes(const struct gsh_instance *pe)
{
    return gsh_align_up(sizeof(struct gsh_page_inbox) + gsh_ballot_bytes(pe->teams), 64);
}

static uint64_t senders_off(const struct gsh_instance *pe)
{
    return inboxes_off(pe) + (uint64_t)pe->teams->max_node_pes * inbox_bytes(pe);
}

static uint64_t dialect_off(const struct gsh_instance *pe)
{
    return senders_off(pe) + gsh_align_up((uint64_t)pe->teams->max_node_pes, 512) / 8;
}

uint64_t gsh_page_bytes(const struct gsh_instance *pe)
{
    return GSH_PAGE_HEAD_BYTES + dialect_off(pe) + (uint64_t)pe->teams->n_units * DIALECT_BYTES;
}

struct gsh_page_words *gsh_page_words(const struct gsh_instance *pe, int owner, uint32_t unit)
{
    return (struct gsh_page_words *)gsh_near_of(pe, owner)->page_words + unit;
}

struct gsh_page_inbox *gsh_page_inbox(const struct gsh_instance *pe, int owner, int sender)
{
    uint64_t off = inboxes_off(pe) + (uint64_t)pe->peers[sender].node_index * inbox_bytes(pe);
    return (struct gsh_page_inbox *)(gsh_near_of(pe, owner)->page_words + off);
}

uint64_t *gsh_page_senders(const struct gsh_instance *pe, int owner)
{
    return (uint64_t *)(gsh_near_of(pe, owner)->page_words + senders_off(pe));
}

uint64_t *gsh_page_dialect_words(const struct gsh_instance *pe, int owner, uint32_t unit)
{
    return (uint64_t *)(gsh_near_of(pe, owner)->page_words + dialect_off(pe) +
                        unit * DIALECT_BYTES);
}
