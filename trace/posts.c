/* SPDX-License-Identifier: Apache-2.0
 * See posts.h. */
#include "trace/posts.h"

#include <stdlib.h>
#include "base/util.h"

/* By queue; there, the last positions first, and of those of one position the completions. */
static int order_queues(const void *x, const void *y)
{
    const struct gsh_timeline_item *a = *(struct gsh_timeline_item *const *)x;
    const struct gsh_timeline_item *b = *(struct gsh_timeline_item *const *)y;
    if (a->part != b->part) {
        return a->part < b->part ? -1 : 1;
    }
    if (a->slot.word_off != b->slot.word_off) {
        return a->slot.word_off < b->slot.word_off ? -1 : 1;
    }
    if (a->slot.value != b->slot.value) {
        return a->slot.value > b->slot.value ? -1 : 1;
    }
    return (a->slot.kind == GSH_TRACE_POST) - (b->slot.kind == GSH_TRACE_POST);
}

static void end_posts(struct gsh_timeline_item *const *items, size_t n, const uint64_t *over_ns)
{
    uint64_t known_ns = 0; /* when it was known that the position of the item is complete */
    for (size_t i = 0; i < n; i++) {
        struct gsh_trace_slot *s = &items[i]->slot;
        if (i == 0 || items[i]->part != items[i - 1]->part ||
            s->word_off != items[i - 1]->slot.word_off) {
            known_ns = over_ns[items[i]->part];
        }
        if (s->kind == GSH_TRACE_DONE) {
            known_ns = gsh_min_u64(known_ns, s->begin_ns);
        } else {
            s->end_ns = gsh_max_u64(s->begin_ns, known_ns);
        }
    }
}

enum gsh_result gsh_timeline_end_posts(struct gsh_timeline *t)
{
    struct gsh_timeline_item **sorted = calloc(t->n_items + 1, sizeof(struct gsh_timeline_item *));
    uint64_t *over_ns = calloc(t->n_parts + 1, sizeof(*over_ns)); /* the parts' last times */
    bool has_memory = sorted != NULL && over_ns != NULL;
    size_t n = 0;
    for (size_t i = 0; has_memory && i < t->n_items; i++) {
        struct gsh_timeline_item *item = &t->items[i];
        over_ns[item->part] = gsh_max_u64(over_ns[item->part], item->slot.end_ns);
        if (item->slot.kind == GSH_TRACE_POST || item->slot.kind == GSH_TRACE_DONE) {
            sorted[n++] = item;
        }
    }
    if (n > 0) {
        qsort(sorted, n, sizeof(struct gsh_timeline_item *), order_queues);
        end_posts(sorted, n, over_ns);
    }
    free(sorted);
    free(over_ns);
    return has_memory ? GSH_OK : gsh_fail(GSH_ERR_NOMEM, "timeline: no memory");
}
