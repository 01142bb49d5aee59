/* SPDX-License-Identifier: Apache-2.0
 * See task.h. */
#include "proxy/engine/task.h"

static bool is_put(unsigned op)
{
    return op == GSH_FAR_PUT || op == GSH_FAR_P;
}

bool gsh_task_is_native(const struct gsh_task *task)
{
    const struct gsh_request *request = &task->request;
    if (!task->proxy->is_native) {
        return false;
    }
    return is_put(request->op) || gsh_request_is_get(request) ||
           (request->op == GSH_FAR_PUT_SIGNAL && !gsh_task_fits_message(task));
}

bool gsh_task_changes_memory(const struct gsh_task *task)
{
    unsigned op = task->request.op;
    return is_put(op) || op == GSH_FAR_AMO || op == GSH_FAR_IPUT || op == GSH_FAR_PUT_SIGNAL ||
           op == GSH_TASK_SIGNAL;
}

void gsh_task_take_part(struct gsh_engine_peer *peer, struct gsh_task *task, uint64_t total)
{
    peer->n_gets--;
    if (--task->outstanding == 0 && task->at == total) {
        gsh_task_done(task);
    }
}

/* For callers that ask whether a kernel may lack what it has asked for. */
static void count_dropped(struct gsh_task *task)
{
    uint64_t *n = &task->proxy->n_dropped;
    if (task->source != GSH_SOURCE_HOST) {
        __atomic_store_n(n, *n + 1, __ATOMIC_RELAXED);
    }
}

void gsh_task_end(struct gsh_task *task, enum gsh_result r)
{
    if (r != GSH_OK) {
        count_dropped(task);
    }
    gsh_task_done(task);
}

void gsh_task_end_unanswered(struct gsh_engine_peer *main, const struct gsh_outstanding *asked)
{
    struct gsh_task *task = asked->task;
    if (main->proxy->options.lost == NULL) {
        return;
    }
    if (asked->kind == GSH_MESSAGE_VALUE) {
        gsh_task_end(task, GSH_ERR_PEER);
        return;
    }
    count_dropped(task);
    gsh_task_take_part(main, task, gsh_task_total(task));
}
