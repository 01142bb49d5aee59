/* SPDX-License-Identifier: Apache-2.0
 * A CPU device. One lock guards all of it: its pool of OS threads (grid.c) and its streams with
 * their queues (stream.c). */
#ifndef GSH_CPU_DEVICE_H
#define GSH_CPU_DEVICE_H

#include <pthread.h>
#include "cpu.h"

struct gsh_cpu_worker;
struct gsh_fiber;

/* OS threads that run blocks. */
struct gsh_cpu_pool {
    struct gsh_cpu_worker *idle; /* most recent first, to use warm stacks first */
    struct gsh_cpu_worker *all;
    bool is_closing;
};

struct gsh_cpu_device {
    /* Counts the devices that have been destroyed in this memory, which is never returned to the
     * system: so a thread sees that the device to which it is bound is gone. Atomic; first. */
    uint64_t serial;
    struct gsh_cpu_device *next_unused; /* list of such memory */
    struct gsh_cpu_config config;
    const struct gsh_state *state; /* atomic */
    pthread_mutex_t lock;
    struct gsh_cpu_pool pool;
    uint64_t n_runs;                      /* launches so far; atomic */
    struct gsh_fiber *spare, *last_spare; /* stacks for any block */
    struct CUstream_st *default_stream;   /* made when first used */
    struct CUstream_st *streams;          /* all whose threads have not been joined */
};

/* What each OS thread of a device does first. */
void gsh_device_enter_thread(struct gsh_cpu_device *device);
/* The device of the number that the calling thread has chosen, made when needed. */
struct gsh_cpu_device *gsh_device_own(void);
/* No thread uses the device by default any more. */
void gsh_device_forget_default(struct gsh_cpu_device *device);
/* Takes back the memory of a device that has no streams and no threads. */
void gsh_device_release(struct gsh_cpu_device *device);

#endif
