/* SPDX-License-Identifier: Apache-2.0
 * See round.h. */
#include "nic/model/round.h"

#include "base/util.h"
#include "nic/model/execute.h"
#include "nic/model/queue.h"

/* One entry in DELAY_RARITY takes so many rounds that anything that wrongly did not wait for it is
 * seen before it. */
#define DELAY_RARITY 16
#define DELAY_LONG   200

/* So many, at most, an entry that a WRITE has overtaken. */
#define DELAY_OVERTAKEN 1000

/* A READ or atomic is put off, if that is possible, one time in so many. */
#define DEFER_RARITY 3

static unsigned next_delay(struct gsh_model *model)
{
    return gsh_model_any_below(
        model, gsh_model_any_below(model, DELAY_RARITY) == 0 ? DELAY_LONG : model->settings.delay);
}

static void fail_at(struct gsh_model *model, struct gsh_model_queue *queue, uint64_t position,
                    unsigned syndrome)
{
    while (queue->completed < position) {
        gsh_model_complete(model, queue, 0);
    }
    gsh_model_complete(model, queue, syndrome);
    while (queue->completed < queue->taken && !queue->has_failed) {
        gsh_model_complete(model, queue, GSH_WQ_FLUSHED);
    }
    queue->executed = queue->completed;
    queue->deferred = UINT64_MAX;
}

/* False: the queue has failed. What it would overtake comes first then. */
static bool execute_at(struct gsh_model *model, struct gsh_model_queue *queue, uint64_t position)
{
    unsigned syndrome = gsh_model_execute(model, queue, position);
    if (syndrome != 0 && queue->deferred < position) {
        unsigned first = gsh_model_execute(model, queue, queue->deferred);
        position = first != 0 ? queue->deferred : position;
        syndrome = first != 0 ? first : syndrome;
    }
    if (syndrome != 0) {
        fail_at(model, queue, position, syndrome);
    }
    return syndrome == 0;
}

static bool execute_deferred(struct gsh_model *model, struct gsh_model_queue *queue)
{
    uint64_t position = queue->deferred;
    queue->deferred = UINT64_MAX;
    return position == UINT64_MAX || execute_at(model, queue, position);
}

/* The next entry, in order but for a READ or atomic that WRITEs and NOPs overtake. */
static void execute_next(struct gsh_model *model, struct gsh_model_queue *queue)
{
    const uint64_t position = queue->executed;
    const struct gsh_wq_block *entry = gsh_model_entry(queue, position);
    const uint32_t n = gsh_model_entry_blocks(entry);
    bool may_overtake = !gsh_model_is_loose(entry) && !gsh_model_is_fenced(entry);
    if (!may_overtake && !execute_deferred(model, queue)) {
        return;
    }
    if (model->settings.delay != 0 && gsh_model_is_loose(entry) && queue->taken > position + n &&
        gsh_model_any_below(model, DEFER_RARITY) == 0) {
        queue->deferred = position;
        queue->executed = position + n;
        return;
    }
    if (execute_at(model, queue, position)) {
        queue->executed = position + n;
    }
    if (queue->deferred != UINT64_MAX && gsh_model_is_write(entry)) {
        queue->delay = gsh_model_any_below(model, DELAY_OVERTAKEN); /* others are to see it so */
    }
}

/* Without delays: all that the queue has, in order. */
static void finish(struct gsh_model *model, struct gsh_model_queue *queue)
{
    while (queue->executed < queue->taken && !queue->has_failed) {
        execute_next(model, queue);
    }
    while (queue->completed < queue->executed && !queue->has_failed) {
        gsh_model_complete(model, queue, 0);
    }
}

static void step(struct gsh_model *model, struct gsh_model_queue *queue)
{
    if (model->settings.delay == 0) {
        finish(model, queue);
        return;
    }
    if (queue->delay > 0) {
        queue->delay--;
        return;
    }
    queue->delay = next_delay(model);
    if (queue->executed < queue->taken && gsh_model_any_below(model, 4) != 0) {
        execute_next(model, queue);
    } else if (queue->executed == queue->taken && queue->deferred != UINT64_MAX) {
        (void)execute_deferred(model, queue);
    } else if (queue->completed < gsh_min_u64(queue->executed, queue->deferred)) {
        gsh_model_complete(model, queue, 0);
    }
}

/* What other ends have left for this PE's queue. */
static void deliver_letters(struct gsh_model *model, struct gsh_model_queue *queue)
{
    while (queue->n_letters != __atomic_load_n(&queue->link->n_letters, __ATOMIC_ACQUIRE)) {
        gsh_model_receive(model, queue, queue->link->letters[queue->n_letters % GSH_MODEL_LETTERS]);
    }
}

static unsigned find_active(struct gsh_model *model, bool *is_more)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < model->base.options.n_queues; i++) {
        struct gsh_model_queue *queue = &model->queues[i];
        if (queue->pe < 0) {
            continue;
        }
        *is_more = gsh_model_take(model, queue) || *is_more;
        deliver_letters(model, queue);
        if (queue->completed != queue->taken && !queue->has_failed) {
            model->active[n++] = i;
        }
    }
    return n;
}

unsigned gsh_model_round(struct gsh_model *model)
{
    bool is_more = false;
    const unsigned n = find_active(model, &is_more);
    for (unsigned left = n; left > 0; left--) {
        const unsigned i = gsh_model_any_below(model, left);
        step(model, &model->queues[model->active[i]]);
        model->active[i] = model->active[left - 1];
    }
    return n + is_more;
}
