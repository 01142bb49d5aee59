/* SPDX-License-Identifier: Apache-2.0
 * See worker.h. */
#include "dialects/nccl/base/worker.h"

#include <pthread.h>
#include <stdlib.h>

struct gsh_nccl_worker {
    struct gsh_nccl_worker *next; /* in the process's list */
    int n_undone;                 /* tasks not yet done; under undone_lock, like what follows */
    bool is_given_up;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* tasks, is_ending, n_awaited, or a task's is_done */
    struct gsh_nccl_task *first, *last;
    int n_awaited; /* tasks posted whose waits have not all returned */
    bool is_ending;
};

/* The process's workers, and their unfinished tasks, without those given up. */
static pthread_mutex_t undone_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t none_undone = PTHREAD_COND_INITIALIZER;
static struct gsh_nccl_worker *workers;
static int n_undone;

/* Under undone_lock. */
static void count_all(int change)
{
    n_undone += change;
    if (n_undone == 0) {
        pthread_cond_broadcast(&none_undone);
    }
}

static void count(struct gsh_nccl_worker *w, int change)
{
    pthread_mutex_lock(&undone_lock);
    w->n_undone += change;
    if (!w->is_given_up) {
        count_all(change);
    }
    pthread_mutex_unlock(&undone_lock);
}

static void remember(struct gsh_nccl_worker *w)
{
    pthread_mutex_lock(&undone_lock);
    w->next = workers;
    workers = w;
    pthread_mutex_unlock(&undone_lock);
}

static void forget(const struct gsh_nccl_worker *w)
{
    pthread_mutex_lock(&undone_lock);
    struct gsh_nccl_worker **p = &workers;
    while (*p != w) {
        p = &(*p)->next;
    }
    *p = w->next;
    pthread_mutex_unlock(&undone_lock);
}

/* Called with the lock held; releases it while the task runs. */
static void run_first(struct gsh_nccl_worker *w)
{
    struct gsh_nccl_task *task = w->first;
    bool is_awaited = task->is_awaited;
    w->first = task->next;
    pthread_mutex_unlock(&w->lock);
    task->run(task);
    pthread_mutex_lock(&w->lock);
    if (is_awaited) {
        task->is_done = true;
        pthread_cond_broadcast(&w->changed);
    }
    count(w, -1);
}

static void *worker_main(void *arg)
{
    struct gsh_nccl_worker *w = arg;
    pthread_mutex_lock(&w->lock);
    while (w->first != NULL || w->n_awaited > 0 || !w->is_ending) {
        if (w->first != NULL) {
            run_first(w);
        } else {
            pthread_cond_wait(&w->changed, &w->lock);
        }
    }
    pthread_mutex_unlock(&w->lock);
    forget(w);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

struct gsh_nccl_worker *gsh_nccl_worker_create(void)
{
    pthread_t thread;
    struct gsh_nccl_worker *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    remember(w);
    if (pthread_create(&thread, NULL, worker_main, w) != 0) {
        forget(w);
        pthread_cond_destroy(&w->changed);
        pthread_mutex_destroy(&w->lock);
        free(w);
        return NULL;
    }
    pthread_detach(thread);
    return w;
}

void gsh_nccl_worker_post(struct gsh_nccl_worker *w, struct gsh_nccl_task *task)
{
    count(w, 1);
    task->next = NULL;
    task->is_done = false;
    pthread_mutex_lock(&w->lock);
    if (w->first == NULL) {
        w->first = task;
    } else {
        w->last->next = task;
    }
    w->last = task;
    w->n_awaited += task->is_awaited;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void gsh_nccl_worker_wait(struct gsh_nccl_worker *w, struct gsh_nccl_task *task)
{
    pthread_mutex_lock(&w->lock);
    while (!task->is_done) {
        pthread_cond_wait(&w->changed, &w->lock);
    }
    w->n_awaited--;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void gsh_nccl_worker_end(struct gsh_nccl_worker *w)
{
    if (w == NULL) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    w->is_ending = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void gsh_nccl_worker_give_up(const struct gsh_nccl_worker *w)
{
    pthread_mutex_lock(&undone_lock);
    for (struct gsh_nccl_worker *its = workers; its != NULL; its = its->next) {
        if (its == w && !its->is_given_up) {
            its->is_given_up = true;
            count_all(-its->n_undone);
        }
    }
    pthread_mutex_unlock(&undone_lock);
}

void gsh_nccl_workers_drain(void)
{
    pthread_mutex_lock(&undone_lock);
    while (n_undone > 0) {
        pthread_cond_wait(&none_undone, &undone_lock);
    }
    pthread_mutex_unlock(&undone_lock);
}
