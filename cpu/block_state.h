/* SPDX-License-Identifier: Apache-2.0
 * One block at a time on one OS thread: its CUDA threads as fibers, and what they wait for.
 *
 * Threads start in order of rank. One that returns without having waited leaves its stack to the
 * next; one that waits keeps it, and the next starts on another. A thread is in exactly one place:
 * not started, running, in the queue (READY), waiting at a barrier or warp call, or exited. */
#ifndef GSH_BLOCK_STATE_H
#define GSH_BLOCK_STATE_H

#include "cores.h"
#include "cpu.h"
#include "fiber.h"

struct gsh_cpu_run;

enum { GSH_CPU_GROUP = 128 }; /* threads of four warps */

enum gsh_thread_state {
    GSH_THREAD_UNSTARTED,
    GSH_THREAD_READY, /* or running */
    GSH_THREAD_AT_BARRIER,
    GSH_THREAD_AT_WARP,
    GSH_THREAD_AT_GROUP, /* of four warps */
    GSH_THREAD_EXITED,
};

struct gsh_block_thread {
    struct gsh_cpu_thread self; /* first: gshmem_cpu_self points to it */
    struct gsh_fiber *fiber;    /* where it runs */
    uint8_t state;
    uint8_t kind;        /* of barrier or warp call that it is in */
    uint8_t sync_parity; /* of the __syncwarps whose lowest lane it is */
    uint32_t mask, arg;  /* of the warp call */
    uint64_t value;      /* the operand, then the result */
    char tsan_sync[2];   /* addresses for the thread sanitizer: for those __syncwarps, by parity */
};

struct gsh_cpu_block {
    /* kept from block to block */
    struct gsh_runner runner;            /* the OS thread's place among those that want a core */
    const struct gsh_cpu_config *config; /* the device's */
    struct gsh_fiber main;               /* the OS thread's own stack: runs if no CUDA thread can */
    struct gsh_fiber *idle;              /* stacks without a thread */
    uint32_t n_idle;
    struct gsh_block_thread *threads;
    uint16_t *queue; /* ring of ranks that can run, of n_threads places */
    uint32_t capacity;
    /* Addresses for the thread sanitizer: "the arrays have been made", and "the previous block has
     * ended", by parity (they share the OS thread's memory, __shared__ variables included). */
    char tsan_made, tsan_block[2];
    uint8_t block_parity;
    void *shared;
    size_t shared_capacity;

    /* the block that runs */
    struct gsh_cpu_run *run;
    struct gsh_cpu_block *next_sleeper; /* see run.h */
    struct gsh_cpu_uint3 index;
    struct gsh_fiber *running;
    struct gsh_fiber *left; /* stacks of threads that have left their function midway */
    bool is_left;           /* there was such a thread: waits need not include all threads */
    uint32_t n_threads, n_started, n_exited;
    struct gsh_cpu_uint3 next_thread; /* the index of the next to start */
    uint32_t queue_head, queue_count;
    uint32_t *warp_waiting; /* lanes in a warp call, by warp */

    /* the barrier that threads wait at */
    uint32_t n_waiting;
    uint32_t n_true; /* predicates */
    uint8_t kind;
    bool is_mixed; /* not all of this kind */
    int result;    /* of the previous barrier: kept until all threads have reached this one */
    uint8_t parity, grid_parity; /* of barriers so far */
    char tsan_sync[2];

    /* the barriers of four warps, by the first warp */
    uint8_t group_waiting[GSH_CPU_MAX_THREADS / GSH_CPU_GROUP];
    uint8_t group_parity[GSH_CPU_MAX_THREADS / GSH_CPU_GROUP];
    char tsan_group[GSH_CPU_MAX_THREADS / GSH_CPU_GROUP][2];

    /* back-off */
    uint32_t idle_yields; /* yields since anything else happened */
    uint32_t idle_rounds; /* rounds in which all threads only yielded */
    uint64_t idle_since_ns;
    bool is_without_core; /* between sleeps; it takes one when anything but a yield happens */
};

#endif
