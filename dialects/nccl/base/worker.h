/* SPDX-License-Identifier: Apache-2.0
 * A thread that makes host calls for one rank in place of the caller, where the caller must not
 * wait: because it also makes other ranks' calls, or because the communicator is non-blocking. */
#ifndef GSH_NCCL_WORKER_H
#define GSH_NCCL_WORKER_H

#include <stdbool.h>

struct gsh_nccl_worker;

/* A piece of work; it lives until it is done. */
struct gsh_nccl_task {
    struct gsh_nccl_task *next;
    void (*run)(struct gsh_nccl_task *task); /* may free it, if it is not waited for */
    bool is_awaited, is_done;
};

/* NULL: no memory, or no thread. */
struct gsh_nccl_worker *gsh_nccl_worker_create(void);
/* Tasks run in the order in which they were posted. */
void gsh_nccl_worker_post(struct gsh_nccl_worker *w, struct gsh_nccl_task *task);
/* Once for each task with is_awaited: returns when it is done. The worker outlives it. */
void gsh_nccl_worker_wait(struct gsh_nccl_worker *w, struct gsh_nccl_task *task);
/* Ends the worker once it has done its tasks; no more may be posted. Any thread may call it,
 * including the worker's own. */
void gsh_nccl_worker_end(struct gsh_nccl_worker *w);
/* The process's end does not wait for this worker. NULL, or a worker that has ended, is ignored. */
void gsh_nccl_worker_give_up(const struct gsh_nccl_worker *w);
/* Returns when no worker of the process has anything to do. */
void gsh_nccl_workers_drain(void);

#endif
