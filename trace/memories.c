/* SPDX-License-Identifier: Apache-2.0
 * See memories.h. */
#include "trace/memories.h"

#include <stdlib.h>
#include "base/array.h"

#define OFFSET_MASK UINT64_C(0xffffffffffff) /* what kernels' events hold of an offset */

/* A piece of memory, as one PE sees it. */
struct memory {
    uint64_t number, off, bytes;
    uint32_t part;
    bool is_own;
};

struct memories {
    struct memory *list;
    size_t n, room;
};

static bool list_memories(const struct gsh_timeline *t, struct memories *m)
{
    for (size_t i = 0; i < t->n_items; i++) {
        const struct gsh_trace_slot *s = &t->items[i].slot;
        if (s->kind != GSH_TRACE_MEMORY) {
            continue;
        }
        if (!gsh_array_reserve(&m->list, &m->room, m->n + 1, sizeof(*m->list))) {
            return false;
        }
        const uint64_t base = t->parts[t->items[i].part].head.heap_base;
        m->list[m->n++] = (struct memory){.number = s->value,
                                          .off = (s->off - base) & OFFSET_MASK,
                                          .bytes = s->bytes,
                                          .part = t->items[i].part,
                                          .is_own = s->op == 1};
    }
    return true;
}

/* The latest piece that the PE has told of, and that has that place. NULL: there is none. */
static const struct memory *find_by_offset(const struct memories *m, uint32_t part, uint64_t off)
{
    for (size_t i = m->n; i > 0; i--) {
        const struct memory *one = &m->list[i - 1];
        if (one->part == part && off - one->off < one->bytes) {
            return one;
        }
    }
    return NULL;
}

static const struct memory *find_owner(const struct gsh_timeline *t, const struct memories *m,
                                       uint64_t number, uint32_t part)
{
    for (size_t i = m->n; i > 0; i--) {
        const struct memory *one = &m->list[i - 1];
        if (one->is_own && one->number == number &&
            t->parts[one->part].head.job == t->parts[part].head.job) {
            return one;
        }
    }
    return NULL;
}

/* Where the owner has that place. False: nobody has told. */
static bool translate(const struct gsh_timeline *t, const struct memories *m,
                      const struct gsh_timeline_item *item, uint64_t *off, int32_t *pe)
{
    const bool is_by_number = item->slot.pe == GSH_TRACE_PE_BY_MEMORY;
    const struct memory *here =
        is_by_number ? NULL : find_by_offset(m, item->part, *off & OFFSET_MASK);
    if (!is_by_number && here == NULL) {
        return false;
    }
    const uint64_t number = is_by_number ? item->slot.seen : here->number;
    const uint64_t within = is_by_number ? *off : (*off & OFFSET_MASK) - here->off;
    const struct memory *owner = find_owner(t, m, number, item->part);
    if (owner == NULL || within >= owner->bytes) {
        return false;
    }
    *off = (owner->off + within) & OFFSET_MASK;
    *pe = t->parts[owner->part].head.pe;
    return true;
}

static bool is_in_heap(const struct gsh_timeline *t, const struct gsh_timeline_item *item,
                       uint64_t off)
{
    return off < t->parts[item->part].head.heap_bytes;
}

static void find_pe(const struct gsh_timeline *t, const struct memories *m,
                    struct gsh_timeline_item *item)
{
    struct gsh_trace_slot *s = &item->slot;
    int32_t pe = -1;
    if (s->off != GSH_TRACE_NONE &&
        (!translate(t, m, item, &s->off, &pe) || !is_in_heap(t, item, s->off))) {
        s->off = GSH_TRACE_NONE;
    }
    if (s->word_off != GSH_TRACE_NONE && !translate(t, m, item, &s->word_off, &pe)) {
        s->word_off = GSH_TRACE_NONE;
        s->op = GSH_TRACE_OP_NONE;
    }
    s->seen = s->pe == GSH_TRACE_PE_BY_MEMORY ? 0 : s->seen;
    s->pe = pe;
}

enum gsh_result gsh_timeline_find_memories(struct gsh_timeline *t)
{
    struct memories m = {0};
    const bool is_done = list_memories(t, &m);
    for (size_t i = 0; is_done && i < t->n_items; i++) {
        const int32_t pe = t->items[i].slot.pe;
        if (pe == GSH_TRACE_PE_BY_ADDRESS_OF || pe == GSH_TRACE_PE_BY_MEMORY) {
            find_pe(t, &m, &t->items[i]);
        }
    }
    free(m.list);
    return is_done ? GSH_OK : gsh_fail(GSH_ERR_NOMEM, "timeline: no memory");
}
