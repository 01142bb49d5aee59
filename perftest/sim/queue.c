/* SPDX-License-Identifier: Apache-2.0
 * See queue.h. */
#include "perftest/sim/queue.h"

#include <stdio.h>
#include <stdlib.h>

enum { BELOW = 4 };

static bool is_earlier(const struct sim_event *a, const struct sim_event *b)
{
    return a->ns != b->ns ? a->ns < b->ns : a->serial < b->serial;
}

void sim_queue_add(struct sim_queue *q, uint64_t ns, uint32_t kind, uint32_t index)
{
    if (q->n == q->room) {
        q->room = q->room == 0 ? 1024 : 2 * q->room;
        q->heap = realloc(q->heap, q->room * sizeof(*q->heap));
        if (q->heap == NULL) {
            fprintf(stderr, "the simulation has no memory left\n");
            exit(1);
        }
    }
    const struct sim_event e = {.ns = ns, .serial = q->serial++, .kind = kind, .index = index};
    uint64_t at = q->n++;
    while (at > 0 && is_earlier(&e, &q->heap[(at - 1) / BELOW])) {
        q->heap[at] = q->heap[(at - 1) / BELOW];
        at = (at - 1) / BELOW;
    }
    q->heap[at] = e;
}

bool sim_queue_take(struct sim_queue *q, struct sim_event *out)
{
    if (q->n == 0) {
        return false;
    }
    *out = q->heap[0];
    const struct sim_event last = q->heap[--q->n];
    uint64_t at = 0;
    for (;;) {
        const uint64_t first = at * BELOW + 1;
        uint64_t least = first;
        for (uint64_t i = first + 1; i < first + BELOW && i < q->n; i++) {
            least = is_earlier(&q->heap[i], &q->heap[least]) ? i : least;
        }
        if (first >= q->n || !is_earlier(&q->heap[least], &last)) {
            break;
        }
        q->heap[at] = q->heap[least];
        at = least;
    }
    q->heap[at] = last;
    return true;
}

void sim_queue_finish(struct sim_queue *q)
{
    free(q->heap);
}
