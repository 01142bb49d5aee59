/* SPDX-License-Identifier: Apache-2.0
 * Matches waits with changes of words, by a list of changes sorted by word and time. */
#include "trace/flows.h"

#include <stdlib.h>
#include "base/array.h"
#include "gshmem/types.h"

enum { STEPS = 1024 }; /* how many changes of a word a wait looks back over */

struct change {
    uint64_t job, word_off, begin_ns;
    int32_t pe;
    uint32_t item;
};

static int order_words(const struct change *a, const struct change *b)
{
    if (a->job != b->job) {
        return a->job < b->job ? -1 : 1;
    }
    if (a->pe != b->pe) {
        return a->pe < b->pe ? -1 : 1;
    }
    return a->word_off == b->word_off ? 0 : a->word_off < b->word_off ? -1 : 1;
}

static int order_changes(const void *x, const void *y)
{
    const struct change *a = x, *b = y;
    int words = order_words(a, b);
    if (words != 0 || a->begin_ns == b->begin_ns) {
        return words;
    }
    return a->begin_ns < b->begin_ns ? -1 : 1;
}

/* The first change that is not before `key`. */
static size_t first_from(const struct change *changes, size_t n, const struct change *key)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order_changes(&changes[middle], key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool satisfies(const struct gsh_trace_slot *wait, uint64_t value)
{
    int64_t a = (int64_t)value, b = (int64_t)wait->value;
    switch (wait->op - GSH_TRACE_OP_AWAIT) {
    case GSHMEM_CMP_EQ:
        return a == b;
    case GSHMEM_CMP_NE:
        return a != b;
    case GSHMEM_CMP_GT:
        return a > b;
    case GSHMEM_CMP_LE:
        return a <= b;
    case GSHMEM_CMP_LT:
        return a < b;
    default:
        return a >= b;
    }
}

/* Kernels' events carry 56 bits of a value. */
static uint64_t mask_of(const struct gsh_trace_slot *wait)
{
    return wait->off == 2 ? 0xffff : wait->off == 4 ? 0xffffffff : UINT64_C(0xffffffffffffff);
}

static bool may_have_ended(const struct gsh_trace_slot *wait, const struct gsh_trace_slot *change)
{
    if (change->op != GSH_TRACE_OP_SET) {
        return true;
    }
    if (wait->bytes > wait->off) {
        return satisfies(wait, change->value);
    }
    return ((wait->seen ^ change->value) & mask_of(wait)) == 0;
}

static double error_of(const struct gsh_timeline_part *part)
{
    double error = part->clock.error_ns + part->device_clock.error_ns;
    return error < 1e9 ? error : 1e9;
}

/* The change of this word, all of whose changes begin at `first`, that ended the wait; n: none. */
static size_t look_back(const struct gsh_timeline *t, const struct change *changes, size_t n,
                        size_t first, const struct gsh_timeline_item *wait)
{
    struct change key = changes[first];
    key.begin_ns = wait->slot.end_ns + (uint64_t)error_of(&t->parts[wait->part]);
    size_t at = first_from(changes, n, &key);
    for (int i = 0; at > first && i < STEPS; i++, at--) {
        if (may_have_ended(&wait->slot, &t->items[changes[at - 1].item].slot)) {
            return at - 1;
        }
    }
    return n;
}

/* The latest one for all the words of the wait. */
static size_t find_change(const struct gsh_timeline *t, const struct change *changes, size_t n,
                          const struct gsh_timeline_item *wait)
{
    const struct gsh_trace_head *head = &t->parts[wait->part].head;
    uint64_t end = wait->slot.word_off + wait->slot.bytes;
    size_t best = n;
    struct change key = {.job = head->job, .pe = head->pe, .word_off = wait->slot.word_off};
    for (size_t at = first_from(changes, n, &key); at < n; at = first_from(changes, n, &key)) {
        struct change word = changes[at];
        word.begin_ns = key.begin_ns;
        if (word.job != head->job || word.pe != head->pe || word.word_off >= end) {
            break;
        }
        size_t found = look_back(t, changes, n, at, wait);
        if (found < n && (best == n || changes[found].begin_ns > changes[best].begin_ns)) {
            best = found;
        }
        key.word_off = word.word_off + 1;
    }
    return best;
}

static int order_flows(const void *x, const void *y)
{
    const struct gsh_timeline_flow *a = x, *b = y;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : (a->to > b->to) - (a->to < b->to);
}

static enum gsh_result list_changes(const struct gsh_timeline *t, struct change **changes,
                                    size_t *n)
{
    size_t room = 0;
    for (size_t i = 0; i < t->n_items; i++) {
        const struct gsh_trace_slot *s = &t->items[i].slot;
        if (s->kind != GSH_TRACE_CALL || s->op == GSH_TRACE_OP_NONE ||
            s->op > GSH_TRACE_OP_CHANGE || s->word_off == GSH_TRACE_NONE || s->pe < 0) {
            continue;
        }
        if (!gsh_array_reserve(changes, &room, *n + 1, sizeof(**changes))) {
            return gsh_fail(GSH_ERR_NOMEM, "timeline: no memory");
        }
        (*changes)[(*n)++] = (struct change){.job = t->parts[t->items[i].part].head.job,
                                             .word_off = s->word_off,
                                             .begin_ns = s->begin_ns,
                                             .pe = s->pe,
                                             .item = (uint32_t)i};
    }
    if (*n > 0) {
        qsort(*changes, *n, sizeof(**changes), order_changes);
    }
    return GSH_OK;
}

enum gsh_result gsh_timeline_find_flows(struct gsh_timeline *t)
{
    struct change *changes = NULL;
    size_t n = 0;
    enum gsh_result r = list_changes(t, &changes, &n);
    for (size_t i = 0; r == GSH_OK && n > 0 && i < t->n_items; i++) {
        struct gsh_timeline_item *wait = &t->items[i];
        if (wait->slot.kind != GSH_TRACE_WAIT || wait->slot.word_off == GSH_TRACE_NONE) {
            continue;
        }
        size_t found = find_change(t, changes, n, wait);
        if (found == n) {
            continue;
        }
        if (!gsh_array_reserve(&t->flows, &t->flows_room, t->n_flows + 1, sizeof(*t->flows))) {
            r = gsh_fail(GSH_ERR_NOMEM, "timeline: no memory");
            break;
        }
        uint32_t from = changes[found].item;
        wait->ended_by = t->parts[t->items[from].part].head.pe;
        t->flows[t->n_flows++] = (struct gsh_timeline_flow){from, (uint32_t)i};
    }
    free(changes);
    if (t->n_flows > 0) {
        qsort(t->flows, t->n_flows, sizeof(*t->flows), order_flows);
    }
    for (size_t i = 0; i < t->n_flows; i++) {
        struct gsh_timeline_item *from = &t->items[t->flows[i].from];
        struct gsh_timeline_item *to = &t->items[t->flows[i].to];
        if (from->n_flows++ == 0) {
            from->first_flow = (uint32_t)i;
        }
        to->first_flow = (uint32_t)i;
        to->n_flows = 1;
    }
    return r;
}
