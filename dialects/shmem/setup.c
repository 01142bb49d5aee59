/* SPDX-License-Identifier: Apache-2.0
 * Init and finalize under OpenSHMEM's names, and the calls that do nothing. */
#include <gshmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "active_set.h"
#include "environment.h"
#include "runtime/layer.h"
#include "shmem.h"

/* Messages use the program's names for calls, even for calls before init. */
__attribute__((constructor)) static void name_calls(void)
{
    gshmemx_call_prefix("shmem");
}

/* Inits of this thread's PE after the first one, each to be followed by a finalize. */
static _Thread_local int n_more_inits;

static int is_initialized(void)
{
    int is = 0;
    gshmem_query_initialized(&is);
    return is;
}

/* ---- the end of the program ---- */

/* The process in which this thread has made its PE, if that is the process's only one: a forked
 * child has this, too, but not the PE. */
static _Thread_local pid_t init_process;
static int is_finalized_at_exit;

/* A program that ends well may leave out the last finalize: the PE then waits for the others here.
 * One that fails must not, or it would hang where the others wait for something else of it. */
static void finalize_at_exit(int status)
{
    if (status != 0 || !is_initialized() || init_process != getpid()) {
        return; /* what gshmem says of such an end */
    }
#if GSH_CHECKS
    fprintf(
        stderr,
        "shmem: PE %d: warning: the program ends without shmem_finalize, which is done for it\n",
        gshmem_my_pe());
#endif
    is_finalized_at_exit = 1;
    n_more_inits = 0;
    shmem_finalize();
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

/* After init, so that it comes before what gshmem does at the program's end. */
static void register_exit_handler(void)
{
    static int is_watched;
    int level = SHMEM_THREAD_SINGLE;
    gshmem_query_thread(&level);
    /* funneled: others of its threads are PEs, for which an exit must not wait */
    init_process = level == SHMEM_THREAD_FUNNELED ? 0 : getpid();
    if (!__atomic_exchange_n(&is_watched, 1, __ATOMIC_RELAXED)) {
#ifdef __GLIBC__
        (void)on_exit(on_end, NULL);
#else
        (void)atexit(on_end);
#endif
    }
}

/* ---- init and finalize ---- */

/* The program loads and stores symmetric memory, including its globals. */
static int init(int allow_threads)
{
    if (is_initialized()) {
        n_more_inits++;
        if (allow_threads) {
            gsh_sets_allow_threads(1);
        }
        return 0;
    }
    gsh_sets_allow_threads(allow_threads);
    name_calls(); /* the program may have libraries of other dialects, too */
    int error = gsh_shmem_environment();
    if (error == 0) {
        error = gshmemx_init_attr(GSHMEMX_INIT_STATIC_DATA, NULL);
    }
    if (error == 0) {
        register_exit_handler();
        gsh_shmem_announce();
    }
    return error;
}

void pshmem_init(void)
{
    if (init(0) != 0) {
        gshmemx_layer_tell_error(1);
        fflush(stdout);
        _exit(1); /* the reason has been printed; the launcher ends the others */
    }
}

int pshmem_init_thread(int requested, int *provided)
{
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE) {
        fprintf(stderr, "gshmem: error: shmem_init_thread: there is no thread level %d\n",
                requested);
        return GSHMEMX_ERROR_INVALID_VALUE;
    }
    int error = init(requested == SHMEM_THREAD_MULTIPLE);
    if (error == 0 && provided != NULL) {
        gshmem_query_thread(provided);
    }
    return error;
}

void pshmem_finalize(void)
{
    if (n_more_inits > 0) {
        n_more_inits--;
        gshmem_barrier_all();
        return;
    }
    if (is_initialized()) {
        gsh_sets_end();
    } else if (is_finalized_at_exit) {
        return; /* an exit handler of the program, from before init */
    }
    gshmem_finalize();
}

void pshmem_pcontrol(int level, ...)
{
    (void)level;
}

void pshmem_ctx_session_start(shmem_ctx_t ctx, long options,
                              const shmem_ctx_session_config_t *config, long config_mask)
{
    (void)ctx;
    (void)options;
    (void)config;
    (void)config_mask;
}

void pshmem_ctx_session_stop(shmem_ctx_t ctx)
{
    (void)ctx;
}

#define WEAK(NAME) __attribute__((weak, alias("pshmem_" #NAME)))
void shmem_init(void) WEAK(init);
int shmem_init_thread(int requested, int *provided) WEAK(init_thread);
void shmem_finalize(void) WEAK(finalize);
void shmem_pcontrol(int level, ...) WEAK(pcontrol);
void shmem_ctx_session_start(shmem_ctx_t ctx, long options,
                             const shmem_ctx_session_config_t *config, long config_mask)
    WEAK(ctx_session_start);
void shmem_ctx_session_stop(shmem_ctx_t ctx) WEAK(ctx_session_stop);

/* ---- deprecated ---- */

void start_pes(int npes)
{
    (void)npes;
    if (!is_initialized()) {
        shmem_init();
    }
}

int _my_pe(void)
{
    return shmem_my_pe();
}

int _num_pes(void)
{
    return shmem_n_pes();
}

void *shmalloc(size_t size)
{
    return shmem_malloc(size);
}

void shfree(void *ptr)
{
    shmem_free(ptr);
}

void *shrealloc(void *ptr, size_t size)
{
    return shmem_realloc(ptr, size);
}

void *shmemalign(size_t alignment, size_t size)
{
    return shmem_align(alignment, size);
}
