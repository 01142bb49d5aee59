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

static void *copier_main(void *arg)
{
    struct gsh_nccl_copier *copier = arg;
    struct gshmemx_layer_scope scope;
    struct timespec nap = {.tv_nsec = NAP_NS};
    uint64_t seen = 0;
    unsigned n_idle = 0;
    int error = 0;
    gsh_nccl_enter(copier->job, &scope);
    copier->ops->begin_thread();
    /* is_ending: relaxed: it brings no other data */
    while (error == 0 && !__atomic_load_n(&copier->is_ending, __ATOMIC_RELAXED) &&
           !gsh_nccl_job_is_given_up(copier->job)) {
        /* acquire: pairs with the release of ask_for_help in gin_copy.h */
        const uint64_t asked = __atomic_load_n(copier->copies.asked, __ATOMIC_ACQUIRE);
        /* One launch at a time: more would pile up behind a kernel that fills the device, until a
         * launch blocks with CUDA's lock. */
        if (asked != seen && !copier->ops->is_busy(&copier->copies)) {
            error = copier->ops->help(&copier->copies); /* after one, puts copy by themselves */
            seen = asked;
            n_idle = 0;
            nap.tv_nsec = NAP_NS;
        } else if (++n_idle > IDLE_LOOKS) {
            nanosleep(&nap, NULL);
            nap.tv_nsec = nap.tv_nsec < LONGEST_NAP_NS ? 2 * nap.tv_nsec : nap.tv_nsec;
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

struct gsh_nccl_copy_slots *gsh_nccl_copier_slots(const struct gsh_nccl_copier *copier)
{
    return copier != NULL ? copier->copies.slots : NULL;
}

uint64_t *gsh_nccl_copier_asked(const struct gsh_nccl_copier *copier)
{
    return copier != NULL ? copier->copies.asked : NULL;
}
