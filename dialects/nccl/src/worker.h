/* SPDX-License-Identifier: Apache-2.0
 * A thread that makes host calls of one rank in the caller's place, where the caller must not wait:
 * because it makes those of other ranks, too, or because the communicator is non-blocking. */
#ifndef GSH_NCCL_WORKER_H
#define GSH_NCCL_WORKER_H

#include <stdbool.h>

struct gsh_nccl_worker;

/* A piece of work; it lives until it is done. */
struct gsh_nccl_task {
    struct gsh_nccl_task *next;
    void (*run)(struct gsh_nccl_task *task); /* may free it, if nobody waits for it */
    bool is_awaited, is_done;
};

/* NULL: no memory, or no thread. */
struct gsh_nccl_worker *gsh_nccl_worker_create(void);
/* Tasks run in the order of their posts. */
void gsh_nccl_worker_post(struct gsh_nccl_worker *w, struct gsh_nccl_task *task);
/* Once for each task with is_awaited: returns when it is done. The worker outlives the wait. */
void gsh_nccl_worker_wait(struct gsh_nccl_worker *w, struct gsh_nccl_task *task);
/* The worker ends when it has done its tasks; nobody posts any more. By any thread, its
 * own included. */
void gsh_nccl_worker_end(struct gsh_nccl_worker *w);
/* Nobody waits at the process's end for what it does or is to do. NULL, or one that has ended, is
 * ignored. */
void gsh_nccl_worker_give_up(const struct gsh_nccl_worker *w);
/* Returns when all workers of the process have nothing to do. */
void gsh_nccl_workers_drain(void);

#endif
