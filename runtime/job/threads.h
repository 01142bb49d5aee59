/* SPDX-License-Identifier: Apache-2.0
 * What this process knows of PEs that are its threads, before they are PEs: the threads of
 * gshmemx_run, and others in the order in which they call init. */
#ifndef GSH_THREADS_H
#define GSH_THREADS_H

#include <stdbool.h>

/* The key of their job, for gsh_bootstrap_local_create. */
const void *gsh_threads_key(void);
/* The PE number gshmemx_run has for the calling thread; -1: it did not start this thread. */
int gsh_threads_mine(void);
/* How many threads that gshmemx_run did not start have called this before. */
int gsh_threads_arrive(void);

/* gshmemx_run's: the calling thread is to be PE number pe; that many more threads run. */
void gsh_threads_enter(int pe);
void gsh_threads_running(int change);

/* Whether the calling thread is one that gshmemx_run started, whose PE is *caller, and others of
 * them have not returned from their main. */
bool gsh_threads_others(int *caller);

#endif
