/* SPDX-License-Identifier: Apache-2.0
 * Counts of PEs that are threads. */
#include "runtime/instance/threads.h"

/* The PE number gshmemx_run has for this thread; -1: by order of arrival. */
static _Thread_local int thread_pe = -1;
/* Arrivals of threads that gshmemx_run did not start; its address is the key of the job. */
static int n_arrived;
/* Threads of gshmemx_run that have not returned; atomic. */
static int n_running;

const void *gsh_threads_key(void)
{
    return &n_arrived;
}

int gsh_threads_mine(void)
{
    return thread_pe;
}

int gsh_threads_arrive(void)
{
    return __atomic_fetch_add(&n_arrived, 1, __ATOMIC_RELAXED);
}

void gsh_threads_enter(int pe)
{
    thread_pe = pe;
}

void gsh_threads_running(int change)
{
    __atomic_add_fetch(&n_running, change, __ATOMIC_RELAXED);
}

bool gsh_threads_others(int *caller)
{
    *caller = thread_pe;
    return thread_pe >= 0 && __atomic_load_n(&n_running, __ATOMIC_RELAXED) > 1;
}
