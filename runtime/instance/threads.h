/* SPDX-License-Identifier: Apache-2.0
 * Threads of this process that become PEs: those of gshmemx_run, and others in the order in which
 * they call init. */
#ifndef GSH_THREADS_H
#define GSH_THREADS_H

#include <stdbool.h>

/* The key of their job, for gsh_bootstrap_local_create. */
const void *gsh_threads_key(void);
/* The PE number gshmemx_run has for the calling thread; -1: it did not start this thread. */
int gsh_threads_mine(void);
/* How many threads that gshmemx_run did not start have called this before. */
int gsh_threads_arrive(void);

/* For gshmemx_run: the calling thread is to be PE number pe; that many more threads run. */
void gsh_threads_enter(int pe);
void gsh_threads_running(int change);

/* Whether gshmemx_run started the calling thread, whose PE is *caller, and others of its threads
 * have not returned from their main. */
bool gsh_threads_others(int *caller);

#endif
