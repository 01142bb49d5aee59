/* SPDX-License-Identifier: Apache-2.0
 * See copier.h. */
#include "dialects/nccl/base/copier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "dialects/nccl/base/error.h"
#include "dialects/nccl/kernels/copier.h"
#include "gshmemx.h"
#include "runtime/layer.h"

/* A thread that has had nothing to do for so many looks naps, since kernels cannot wake it: longer
 * and longer, as most programs never ask for a copy. */
enum { IDLE_LOOKS = 20000, NAP_NS = 50000, LONGEST_NAP_NS = 1000000 };

struct gsh_nccl_copier {
    void *pe;
    int device;
    const struct gsh_nccl_copier_ops *ops;
    struct gsh_nccl_copies copies;
    pthread_mutex_t lock; /* of the next two; held while the thread is awaited */
    pthread_t thread;
    bool has_thread;
    bool is_ending; /* atomic */
    int error;      /* CUDA's, of a launch; atomic */
};

static const struct gsh_nccl_copier_ops *ops_of_device(void)
{
#if GSH_NCCL_HAVE_CUDA
    if (strcmp(gshmemx_device_name(), "cpu") != 0) {
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
    const struct gsh_nccl_copy_words *words = copier->copies.words;
    uint64_t seen = 0, n_launched = 0;
    unsigned n_idle = 0;
    int error = 0;
    gshmemx_layer_enter(copier->pe, copier->device, &scope);
    copier->ops->begin_thread();
    /* is_ending: relaxed: it brings no other data */
    while (error == 0 && !__atomic_load_n(&copier->is_ending, __ATOMIC_RELAXED)) {
        /* acquire: pairs with the second fence of ask_for_help in gin_copy.h */
        const uint64_t asked = __atomic_load_n(&words->asked, __ATOMIC_ACQUIRE);
        if (asked != seen) {
            seen = asked;
            n_idle = 0;
            nap.tv_nsec = NAP_NS;
        }
        /* One launch at a time: more would pile up behind a kernel that fills the device, until a
         * launch blocks with CUDA's lock. acquire: pairs with the release of leave in
         * ../kernels/copier.cu */
        if (__atomic_load_n(&words->n_ended, __ATOMIC_ACQUIRE) == n_launched &&
            asked > __atomic_load_n(&words->served, __ATOMIC_RELAXED)) {
            error = copier->ops->help(&copier->copies);
            n_launched++;
        } else if (++n_idle > IDLE_LOOKS) {
            nanosleep(&nap, NULL);
            nap.tv_nsec = nap.tv_nsec < LONGEST_NAP_NS ? 2 * nap.tv_nsec : nap.tv_nsec;
        }
    }
    if (error != 0) {
        copier->ops->refuse(&copier->copies);
        __atomic_store_n(&copier->error, error, __ATOMIC_RELAXED); /* it brings no other data */
        (void)gsh_nccl_fail(ncclUnhandledCudaError,
                            "ncclGin: CUDA refused to launch the kernel that joins large puts: "
                            "error %d; from now on their threads copy alone",
                            error);
    }
    gshmemx_layer_leave(&scope);
    return NULL;
}

bool gsh_nccl_copier_need(struct gsh_nccl_copier *copier)
{
    if (copier == NULL) {
        return false;
    }
    pthread_mutex_lock(&copier->lock);
    if (!copier->has_thread) {
        copier->has_thread = pthread_create(&copier->thread, NULL, copier_main, copier) == 0;
    }
    bool has_thread = copier->has_thread;
    pthread_mutex_unlock(&copier->lock);
    return has_thread;
}

int gsh_nccl_copier_error(const struct gsh_nccl_copier *copier)
{
    return copier != NULL ? __atomic_load_n(&copier->error, __ATOMIC_RELAXED) : 0;
}

void gsh_nccl_copier_leave(struct gsh_nccl_copier *copier)
{
    if (copier != NULL) {
        __atomic_store_n(&copier->is_ending, true, __ATOMIC_RELAXED);
    }
}

void gsh_nccl_copier_stop(struct gsh_nccl_copier *copier)
{
    if (copier == NULL) {
        return;
    }
    gsh_nccl_copier_leave(copier);
    pthread_mutex_lock(&copier->lock);
    if (copier->has_thread) {
        pthread_join(copier->thread, NULL);
        copier->has_thread = false;
    }
    pthread_mutex_unlock(&copier->lock);
}

/* ---- its life ---- */

struct gsh_nccl_copier *gsh_nccl_copier_create(void *pe, int device)
{
    struct gsh_nccl_copier *copier = calloc(1, sizeof(*copier));
    if (copier == NULL) {
        return NULL;
    }
    copier->pe = pe;
    copier->device = device;
    copier->ops = ops_of_device();
    if (copier->ops->create(&copier->copies) != 0) {
        free(copier);
        return NULL;
    }
    pthread_mutex_init(&copier->lock, NULL);
    return copier;
}

void gsh_nccl_copier_end(struct gsh_nccl_copier *copier)
{
    if (copier != NULL) {
        copier->ops->destroy(&copier->copies);
        pthread_mutex_destroy(&copier->lock);
        free(copier);
    }
}

struct gsh_nccl_copy_slots *gsh_nccl_copier_slots(const struct gsh_nccl_copier *copier)
{
    return copier != NULL ? copier->copies.slots : NULL;
}

uint64_t *gsh_nccl_copier_asked(const struct gsh_nccl_copier *copier)
{
    return copier != NULL ? &copier->copies.words->asked : NULL;
}
