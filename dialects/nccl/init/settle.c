/* SPDX-License-Identifier: Apache-2.0
 * See settle.h. */
#include "dialects/nccl/init/settle.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "dialects/nccl/base/error.h"
#include "dialects/nccl/comm/launch.h"
#include "dialects/nccl/comm/parting.h"
#include "runtime/layer.h"

/* How often to look at the others, and how often in a row they must have left this rank alone. If
 * all have ended their work, its kernels need time to find what they wrote last. If some wait for
 * theirs, these may be about to do their part of an earlier call. */
enum { LOOK_NS = 20000000, LOOKS_DESERTED = 25, LOOKS_AHEAD = 100 };

struct settling {
    const char *call;
    struct ncclComm *comm;
    uint64_t **words; /* gsh_nccl_find_words */
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool is_over; /* under the lock */
};

static void desert(const struct settling *s)
{
    s->comm->is_deserted = true;
    (void)gsh_nccl_fail(ncclSuccess,
                        "%s: rank %d has made collectives that another rank has not, which has "
                        "ended the communicator: these collectives end without a result",
                        s->call, s->comm->rank);
    gsh_nccl_part(s->comm, GSH_NCCL_GIVES_UP);
    (void)gsh_nccl_comm_lose(s->comm); /* else all of its id are lost */
}

/* Beside the thread that waits for the device. */
static void *watch(void *arg)
{
    struct settling *s = arg;
    int n_ahead = 0, n_deserted = 0;
    pthread_mutex_lock(&s->lock);
    while (!s->is_over && n_ahead < LOOKS_AHEAD && n_deserted < LOOKS_DESERTED) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&s->over, &s->lock, &until);
        const enum gsh_nccl_left_alone how = gsh_nccl_look_for_others(s->comm, s->words);
        n_ahead = how != GSH_NCCL_TOGETHER ? n_ahead + 1 : 0;
        n_deserted = how == GSH_NCCL_DESERTED ? n_deserted + 1 : 0;
    }
    if (!s->is_over) {
        desert(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static bool begin_watch(struct settling *s, pthread_t *thread)
{
    pthread_condattr_t attributes;
    if (s->words == NULL || !gsh_nccl_find_words(s->comm, s->words) ||
        pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    bool is_begun = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                    pthread_cond_init(&s->over, &attributes) == 0;
    if (is_begun && pthread_create(thread, NULL, watch, s) != 0) {
        (void)pthread_cond_destroy(&s->over);
        is_begun = false;
    }
    (void)pthread_condattr_destroy(&attributes);
    return is_begun;
}

void gsh_nccl_settle(const char *call, struct ncclComm *comm)
{
    struct gshmemx_layer_scope scope;
    struct settling s = {.call = call, .comm = comm, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    if (!comm->chain.has_call) {
        return;
    }
    gsh_nccl_part(comm, GSH_NCCL_SETTLES);
    gsh_nccl_enter(comm->job, &scope);
    s.words = comm->n_ranks > 1 ? calloc((size_t)comm->n_ranks, sizeof(*s.words)) : NULL;
    const bool is_watched = begin_watch(&s, &thread); /* else it waits as long as its work does */
    if (!gsh_nccl_stream_ops()->await(&comm->chain)) {
        gshmemx_layer_synchronize();
    }
    if (is_watched) {
        pthread_mutex_lock(&s.lock);
        s.is_over = true;
        pthread_cond_signal(&s.over);
        pthread_mutex_unlock(&s.lock);
        (void)pthread_join(thread, NULL);
        (void)pthread_cond_destroy(&s.over);
    }
    gsh_nccl_leave(&scope);
    free(s.words);
    comm->chain.has_call = 0;
}
