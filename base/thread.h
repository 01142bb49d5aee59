/* SPDX-License-Identifier: Apache-2.0
 * Threads of the library. */
#ifndef GSH_BASE_THREAD_H
#define GSH_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Starts a thread that takes none of the process's signals: their handlers belong to the program's
 * threads. attr: NULL for the defaults. Returns 0, or an error number. */
static inline int gsh_create_thread(pthread_t *thread, const pthread_attr_t *attr,
                                    void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

#endif
