/* SPDX-License-Identifier: Apache-2.0
 * Queries on a task, by its operation, and its end. */
#ifndef GSH_TASK_H
#define GSH_TASK_H

#include "proxy/engine/observe.h"
#include "proxy/engine/state.h"

/* Whether the transport's put or get carries it, rather than messages. */
bool gsh_task_is_native(const struct gsh_task *task);
bool gsh_task_changes_memory(const struct gsh_task *task);
/* Whether the data of its put fit a message. */
static inline bool gsh_task_fits_message(const struct gsh_task *task)
{
    return task->request.bytes <= task->proxy->data_max;
}

/* The data are in the request. */
static inline bool gsh_request_is_inline(const struct gsh_request *request)
{
    return request->local == NULL && request->bytes <= GSH_REQUEST_INLINE_MAX &&
           (request->op == GSH_FAR_P || request->op == GSH_FAR_PUT_SIGNAL);
}
/* GET, G */
static inline bool gsh_request_is_get(const struct gsh_request *request)
{
    return request->op == GSH_FAR_GET || request->op == GSH_FAR_G;
}

/* Bytes, or elements of a strided one. */
static inline uint64_t gsh_task_total(const struct gsh_task *task)
{
    const struct gsh_request *q = &task->request;
    bool is_strided = q->op == GSH_FAR_IPUT || q->op == GSH_FAR_IGET;
    return is_strided ? q->nelems : q->op == GSH_FAR_G ? q->word_bytes : q->bytes;
}

static inline void gsh_task_done(struct gsh_task *task)
{
    if (task->begun_ns != 0) {
        gsh_observe_request(task);
    }
    task->request.done(&task->request);
}
/* It is done, or, with an r other than GSH_OK, without effect, since its peer is lost. */
void gsh_task_end(struct gsh_task *task, enum gsh_result r);
/* A question of its is not answered: main, its peer, is lost. Nothing if losses are failures. */
void gsh_task_end_unanswered(struct gsh_engine_peer *main, const struct gsh_outstanding *asked);
/* A piece of a get by messages has reached its dest; total: bytes or elements of the whole get. */
void gsh_task_take_part(struct gsh_engine_peer *peer, struct gsh_task *task, uint64_t total);

#endif
