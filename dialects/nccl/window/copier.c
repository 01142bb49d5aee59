/* SPDX-License-Identifier: Apache-2.0
 * See copier.h. */
#include "dialects/nccl/window/copier.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "dialects/nccl/comm/launch.h"
#include "dialects/nccl/kernels/copier.h"
#include "runtime/layer.h"

/* A thread that has had nothing to do for so many looks naps, since kernels cannot wake it: longer
 * and longer, as most programs never ask for a copy. */
enum { IDLE_LOOKS = 20000, NAP_NS = 50000, LONGEST_NAP_NS = 1000000 };

struct gsh_nccl_copier {
    struct gsh_nccl_job *job;
    const struct gsh_nccl_copier_ops *ops;
    struct gsh_nccl_copies copies;
    pthread_t thread;
    bool has_thread;
    bool is_ending; /* atomic */
};

static const struct gsh_nccl_copier_ops *ops_of_device(void)
{
#if GSH_NCCL_HAVE_CUDA
    if (gsh_nccl_kernels() != &gsh_nccl_kernels_cpu) {
        return &gsh_nccl_copier_ops_cuda;
    }
#endif
    return &gsh_nccl_copier_ops_cpu;
}

/* ---- the thread ---- */

/* Of all copies that puts have asked for: how many have been started, and have ended. */
struct progress {
    uint64_t begun, ended;
    bool is_broken;
};

static uint32_t slot_of(uint64_t number)
{
    return (uint32_t)(number % GSHMEM_NCCL_COPY_SLOTS);
}

static void break_ring(struct gsh_nccl_copier *copier, struct progress *p)
{
    p->is_broken = true;
    /* relaxed: the release of done comes after it */
    __atomic_store_n(&copier->copies.ring->is_broken, 1, __ATOMIC_RELAXED);
}

/* Starts what has been asked for. Whether there was anything. */
static bool begin_copies(struct gsh_nccl_copier *copier, struct progress *p)
{
    const uint64_t before = p->begun;
    /* acquire: pairs with the release of by_engine in gin_copy.h */
    while (p->begun < p->ended + GSHMEM_NCCL_COPY_SLOTS &&
           __atomic_load_n(&copier->copies.ring->slots[slot_of(p->begun)].ticket,
                           __ATOMIC_ACQUIRE) == p->begun + 1) {
        if (!p->is_broken && copier->ops->copy(&copier->copies, slot_of(p->begun)) != 0) {
            break_ring(copier, p);
        }
        p->begun++;
    }
    return p->begun != before;
}

static bool end_copies(struct gsh_nccl_copier *copier, struct progress *p)
{
    const uint64_t before = p->ended;
    int has_ended = 1;
    while (p->ended < p->begun && has_ended) {
        if (!p->is_broken &&
            copier->ops->poll(&copier->copies, slot_of(p->ended), &has_ended) != 0) {
            break_ring(copier, p);
            has_ended = 1;
        }
        p->ended += has_ended != 0;
    }
    if (p->ended != before) {
        /* release: pairs with the acquire of by_engine in gin_copy.h */
        __atomic_store_n(&copier->copies.ring->done, p->ended, __ATOMIC_RELEASE);
    }
    return p->ended != before;
}

static void *copier_main(void *arg)
{
    struct gsh_nccl_copier *copier = arg;
    struct gshmemx_layer_scope scope;
    struct progress p = {.begun = 0};
    struct timespec nap = {.tv_nsec = NAP_NS};
    unsigned n_idle = 0;
    gsh_nccl_enter(copier->job, &scope);
    copier->ops->begin_thread();
    /* relaxed: it brings no other data */
    while (!__atomic_load_n(&copier->is_ending, __ATOMIC_RELAXED) &&
           !gsh_nccl_job_is_given_up(copier->job)) {
        bool has_begun = begin_copies(copier, &p);
        bool has_ended = end_copies(copier, &p);
        n_idle = has_begun || has_ended || p.ended < p.begun ? 0 : n_idle + 1;
        if (n_idle > IDLE_LOOKS) {
            nanosleep(&nap, NULL);
            nap.tv_nsec = nap.tv_nsec < LONGEST_NAP_NS ? 2 * nap.tv_nsec : nap.tv_nsec;
        } else {
            nap.tv_nsec = NAP_NS;
        }
    }
    gsh_nccl_leave(&scope);
    return NULL;
}

/* ---- its life ---- */

struct gsh_nccl_copier *gsh_nccl_copier_create(struct gsh_nccl_job *job)
{
    struct gsh_nccl_copier *copier = calloc(1, sizeof(*copier));
    if (copier == NULL) {
        return NULL;
    }
    copier->job = job;
    copier->ops = ops_of_device();
    if (copier->ops->create(&copier->copies) != 0) {
        free(copier);
        return NULL;
    }
    if (pthread_create(&copier->thread, NULL, copier_main, copier) != 0) {
        copier->ops->destroy(&copier->copies);
        free(copier);
        return NULL;
    }
    copier->has_thread = true;
    return copier;
}

void gsh_nccl_copier_stop(struct gsh_nccl_copier *copier)
{
    if (copier != NULL && copier->has_thread) {
        __atomic_store_n(&copier->is_ending, true, __ATOMIC_RELAXED);
        pthread_join(copier->thread, NULL);
        copier->has_thread = false;
    }
}

void gsh_nccl_copier_end(struct gsh_nccl_copier *copier)
{
    if (copier != NULL) {
        gsh_nccl_copier_stop(copier);
        copier->ops->destroy(&copier->copies);
        free(copier);
    }
}

struct gsh_nccl_copy_ring *gsh_nccl_copier_ring(const struct gsh_nccl_copier *copier)
{
    return copier != NULL ? copier->copies.ring : NULL;
}

uint64_t *gsh_nccl_copier_head(const struct gsh_nccl_copier *copier)
{
    return copier != NULL ? copier->copies.head : NULL;
}
