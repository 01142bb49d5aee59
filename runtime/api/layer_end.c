/* SPDX-License-Identifier: Apache-2.0
 * The end of a program that leaves out finalize, for dialects of libraries that allow it. */
#include <stdlib.h>
#include <unistd.h>
#include "base/log.h"
#include "gshmem.h"
#include "runtime/layer.h"

/* What finalizes this thread's PE at the process's end, and the process that the PE is in: a forked
 * child has its parent's variables, but not the PE. */
static _Thread_local void (*finalize)(void);
static _Thread_local pid_t process;

static void finalize_at_exit(int status)
{
    int is_initialized = 0;
    gshmem_query_initialized(&is_initialized);
    if (status != 0 || !is_initialized || finalize == NULL || process != getpid()) {
        return; /* what leave.c says of such an end */
    }
    if (GSH_CHECKS) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_INIT,
                "the program ends without gshmem_finalize, which is done for it");
    }
    finalize();
}

#ifdef __GLIBC__
static void on_end(int status, void *unused)
{
    (void)unused;
    finalize_at_exit(status);
}
#else
static void on_end(void)
{
    finalize_at_exit(0); /* the C library does not tell */
}
#endif

void gshmemx_layer_finalize_at_exit(void (*by)(void))
{
    static int is_watched;
    int level = GSHMEM_THREAD_SINGLE;
    gshmem_query_thread(&level);
    /* funneled: others of its threads are PEs, for which an exit must not wait */
    finalize = level == GSHMEM_THREAD_FUNNELED ? NULL : by;
    process = getpid();
    if (!__atomic_exchange_n(&is_watched, 1, __ATOMIC_RELAXED)) {
#ifdef __GLIBC__
        (void)on_exit(on_end, NULL);
#else
        (void)atexit(on_end);
#endif
    }
}
