/* SPDX-License-Identifier: Apache-2.0
 * gshmemx_run: a program's main as the main of every PE, each a thread of this process. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/env.h"
#include "base/handler.h"
#include "base/limits.h"
#include "bootstrap/bootstrap.h"
#include "gshmemx.h"
#include "runtime/init/launch.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/leave.h"
#include "runtime/instance/threads.h"

struct run_thread {
    int (*pe_main)(int, char **);
    int argc;
    char **argv;
    int pe, n_pes;
    int result;
    bool has_returned;
    pthread_t thread;
};

/* The last act of a PE's thread, however it ends. */
static void end_thread(void *arg)
{
    struct run_thread *t = arg;
    struct gsh_instance *pe = gsh_instance_bound();
    if (pe != NULL && pe->n_pes > 1) {
        gsh_leave(pe, t->result, t->has_returned ? "returned from its main" : "ended its thread");
    }
    gsh_bootstrap_local_leave(gsh_threads_key(), t->pe, t->n_pes);
    gsh_threads_running(-1);
}

static void *run_thread_main(void *arg)
{
    struct run_thread *t = arg;
    gsh_threads_enter(t->pe);
    pthread_cleanup_push(end_thread, t); /* main may call pthread_exit */
    t->result = t->pe_main(t->argc, t->argv);
    t->has_returned = true;
    pthread_cleanup_pop(1);
    return NULL;
}

/* What a PE keeps open: what wakes its monitor, and its heap's memory; with far PEs also its bell
 * and what wakes its proxy. */
static uint64_t files_of(const struct gsh_env *env, int n)
{
    const bool has_far = env->node_pes > 0 && env->node_pes < n;
    return (uint64_t)n * (has_far ? 4 : 2);
}

static int run_threads(int (*pe_main)(int, char **), int argc, char **argv,
                       const struct gsh_env *env, int n)
{
    char limit[640];
    if (!gsh_limits_have_threads((uint64_t)n, limit, sizeof(limit)) ||
        !gsh_limits_have_files((uint64_t)n, files_of(env, n), limit, sizeof(limit))) {
        gsh_fail(GSH_ERR_SYSTEM, "gshmemx_run: %s", limit);
        return 1;
    }
    struct run_thread *threads = calloc((size_t)n, sizeof(*threads));
    int result = threads == NULL ? 1 : 0;
    int started = 0;
    gsh_threads_running(n);
    for (; result == 0 && started < n; started++) {
        threads[started] = (struct run_thread){
            .pe_main = pe_main, .argc = argc, .argv = argv, .pe = started, .n_pes = n};
        const int error =
            pthread_create(&threads[started].thread, NULL, run_thread_main, &threads[started]);
        if (error != 0) {
            gsh_fail(GSH_ERR_SYSTEM, "gshmemx_run: cannot start thread %d of %d%s", started, n,
                     gsh_limits_hint(error, &(struct gsh_limits_text){0}));
            gsh_handler_tell(-1, 1, gsh_last_error());
            _exit(1); /* the running ones wait for PEs that never come */
        }
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i].thread, NULL);
        result = result != 0 ? result : threads[i].result;
    }
    free(threads);
    return result;
}

int gshmemx_run(int (*pe_main)(int argc, char **argv), int argc, char **argv)
{
    struct gsh_env env;
    if (gsh_env_read(&env) != GSH_OK) {
        return 1;
    }
    int n = gsh_launch_n_threads(&env);
    return n > 0 ? run_threads(pe_main, argc, argv, &env, n) : pe_main(argc, argv);
}
