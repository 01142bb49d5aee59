/* SPDX-License-Identifier: Apache-2.0
 * Clocks of parts, from their rounds. */
#include "trace/clocks.h"

#include <math.h>
#include "base/util.h"

#define GROUP_NS 1e9 /* rounds within this time of the first, or of the last, go together */

/* What one group of rounds says: ahead is how far the part's clock is before the reference's. */
struct bound {
    double least, most, at_ns;
    size_t n;
};

static void narrow(struct bound *b, double least, double most, double at_ns)
{
    if (b->n == 0 || least > b->least) {
        b->least = least;
    }
    if (b->n == 0 || most < b->most) {
        b->most = most;
        b->at_ns = at_ns;
    }
    b->n++;
}

static double middle(const struct bound *b)
{
    return (b->least + b->most) / 2;
}

static double half(const struct bound *b)
{
    return (b->most > b->least ? b->most - b->least : b->least - b->most) / 2;
}

/* Where both bounds allow the same difference, the clocks have not drifted apart by more than the
 * bounds are wide, and a line through their middles would say more than is known. */
static struct gsh_clock join(const struct bound *start, const struct bound *end)
{
    struct gsh_clock c = {
        .offset_ns = -middle(start),
        .at_ns = start->at_ns > 0 && start->at_ns < 1.8e19 ? (uint64_t)start->at_ns : 0,
        .error_ns = half(start)};
    if (end->n == 0 || end->at_ns <= start->at_ns) {
        return c;
    }
    c.error_ns = half(end) > half(start) ? half(end) : half(start);
    if (start->least <= end->most && end->least <= start->most) {
        struct bound both = *start;
        narrow(&both, end->least, end->most, end->at_ns);
        c.offset_ns = -middle(&both);
    } else {
        c.slope = -(middle(end) - middle(start)) / (end->at_ns - start->at_ns);
    }
    return c;
}

static double difference(uint64_t a, uint64_t b)
{
    return (double)(int64_t)(a - b);
}

/* 0: a round of the start, 1: of the end, -1: of neither. */
static int group_of(const struct gsh_clock_round *rounds, size_t n, size_t i)
{
    if (difference(rounds[i].begin_ns, rounds[0].begin_ns) < GROUP_NS) {
        return 0;
    }
    return difference(rounds[n - 1].begin_ns, rounds[i].begin_ns) < GROUP_NS ? 1 : -1;
}

static struct gsh_clock compare(const struct gsh_timeline_part *part,
                                const struct gsh_timeline_part *reference)
{
    struct bound bounds[2] = {{0}};
    for (size_t i = 0; i < part->n_rounds; i++) {
        const struct gsh_clock_round *p = &part->rounds[i], *z = NULL;
        for (size_t k = 0; z == NULL && k < reference->n_rounds; k++) {
            z = reference->rounds[k].number == p->number ? &reference->rounds[k] : NULL;
        }
        int group = group_of(part->rounds, part->n_rounds, i);
        if (z != NULL && group >= 0) {
            narrow(&bounds[group], difference(p->begin_ns, z->end_ns),
                   difference(p->end_ns, z->begin_ns), (double)p->begin_ns);
        }
    }
    if (bounds[0].n == 0) {
        return (struct gsh_clock){.error_ns = INFINITY};
    }
    return join(&bounds[0], &bounds[1]);
}

/* A kernel's clock said `number` at some time between begin and end of the host's. */
static struct gsh_clock compare_device(const struct gsh_timeline_part *part)
{
    struct bound bounds[2] = {{0}};
    double step = (double)part->head.device_step_ns;
    if (part->n_device_rounds == 0) { /* no kernel has recorded anything */
        return (struct gsh_clock){0};
    }
    for (size_t i = 0; i < part->n_device_rounds; i++) {
        const struct gsh_clock_round *r = &part->device_rounds[i];
        int group = group_of(part->device_rounds, part->n_device_rounds, i);
        if (group >= 0) {
            /* until the clock moves, it is later than it says */
            narrow(&bounds[group], difference(r->number, r->end_ns),
                   difference(r->number, r->begin_ns) + step, (double)r->number);
        }
    }
    if (bounds[0].n == 0) {
        return (struct gsh_clock){.error_ns = INFINITY};
    }
    return join(&bounds[0], &bounds[1]);
}

/* What parts say may be anything. */
static int64_t whole(double ns)
{
    return ns > -9e18 && ns < 9e18 ? (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5) : 0;
}

static uint64_t convert(const struct gsh_clock *c, uint64_t ns)
{
    return ns + (uint64_t)whole(c->offset_ns + c->slope * difference(ns, c->at_ns));
}

void gsh_timeline_set_clocks(struct gsh_timeline *t)
{
    for (size_t i = 0; i < t->n_parts; i++) {
        struct gsh_timeline_part *part = &t->parts[i];
        if (part->head.host != t->parts[0].head.host) {
            part->clock = compare(part, &t->parts[0]);
        }
        if (part->head.has_device_clock) {
            part->device_clock = compare_device(part);
        }
    }
    for (size_t i = 0; i < t->n_items; i++) {
        struct gsh_timeline_item *item = &t->items[i];
        const struct gsh_timeline_part *part = &t->parts[item->part];
        if (item->is_device_time) {
            item->slot.begin_ns = convert(&part->device_clock, item->slot.begin_ns);
            item->slot.end_ns = convert(&part->device_clock, item->slot.end_ns);
        }
        if (part->head.host != t->parts[0].head.host) {
            item->slot.begin_ns = convert(&part->clock, item->slot.begin_ns);
            item->slot.end_ns = convert(&part->clock, item->slot.end_ns);
        }
        item->slot.end_ns = gsh_max_u64(item->slot.end_ns, item->slot.begin_ns);
    }
}
