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

static int is_finalized_at_exit;

/* A program that ends well may leave out the last finalize. */
static void finalize_at_exit(void)
{
    is_finalized_at_exit = 1;
    n_more_inits = 0;
    shmem_finalize();
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
        gshmemx_layer_finalize_at_exit(finalize_at_exit);
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
