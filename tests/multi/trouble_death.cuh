/* SPDX-License-Identifier: Apache-2.0
 * trouble.cu's cases die_*: PE 1 is killed, and the others are in the call that the case names. */
#ifndef GSH_TEST_TROUBLE_DEATH_CUH
#define GSH_TEST_TROUBLE_DEATH_CUH

#include <thread>
#include <unistd.h>
#include "tests/multi/trouble_scene.cuh"

/* Everybody puts megabytes to everybody, without end; PE 1 dies in the middle of some. */
static void death_in_puts(const scene *s, gshmem_ctx_t ctx)
{
    const size_t bytes = 6 << 20;
    char *dest = (char *)test_heap((size_t)s->pe.n * bytes), *source = (char *)test_heap(bytes);
    for (int round = 0;; round++) {
        for (int k = 1; k < s->pe.n; k++)
            gshmem_ctx_putmem_nbi(ctx, dest + (size_t)s->pe.me * bytes, source, bytes,
                                  (s->pe.me + k) % s->pe.n);
        if (s->pe.me == 1 && round == 20)
            die();
        gshmem_ctx_quiet(ctx);
    }
}

/* Everybody reduces without end; PE 1 is killed while it does. */
static void death_in_reduce(const scene *s)
{
    if (s->pe.me == 1)
        std::thread([] {
            usleep(300000);
            die();
        }).detach();
    for (;;)
        reduce(s, strstr(s->name, "kernel") ? 1000000000 : 100);
}

/* ---- death in collectives -------------------------------------------------------------------- */

/* What each gives each other: in one LL exchange, in several pieces, and, where the table says
 * far=64K, node by node. */
enum { n_coll_sizes = 3, biggest_nelems = 9216 };
static HD size_t coll_size(int i)
{
    return i == 0 ? 4 : i == 1 ? (size_t)most_nelems : (size_t)biggest_nelems;
}

enum coll_call {
    coll_broadcast,
    coll_fcollect,
    coll_alltoall,
    coll_collect,
    coll_reducescatter,
    coll_scan,
    coll_alltoalls,
    n_coll_calls
};
static const char *const coll_names[] = {"broadcast_",     "fcollect_", "alltoall_", "collect_",
                                         "reducescatter_", "scan_",     "alltoalls_"};

/* FORM(call) is a call of the host, on a stream, or of a group: with that name and these arguments.
 */
#define COLL_CALL(FORM)                                             \
    switch (call) {                                                 \
    case coll_broadcast:                                            \
        return FORM(broadcast, team, dest, source, nelems, 2);      \
    case coll_fcollect:                                             \
        return FORM(fcollect, team, dest, source, nelems);          \
    case coll_alltoall:                                             \
        return FORM(alltoall, team, dest, source, nelems);          \
    case coll_collect:                                              \
        return FORM(collect, team, dest, source, nelems);           \
    case coll_reducescatter:                                        \
        return FORM(sum_reducescatter, team, dest, source, nelems); \
    case coll_scan:                                                 \
        return FORM(sum_inscan, team, dest, source, nelems);        \
    default:                                                        \
        return FORM(alltoalls, team, dest, source, 1, 1, nelems);   \
    }
#define BY_HOST(NAME, ...)   gshmem_host::gshmem_long_##NAME(__VA_ARGS__)
#define ON_STREAM(NAME, ...) gshmemx_long_##NAME##_on_stream(__VA_ARGS__, stream)
#define BY_BLOCK(NAME, ...)  gshmemx_long_##NAME##_block(__VA_ARGS__)
#define BY_GRID(NAME, ...)   gshmemx_long_##NAME##_grid(__VA_ARGS__)

static int coll_by_host(int call, long *dest, const long *source, size_t nelems)
{
    const gshmem_team_t team = GSHMEM_TEAM_WORLD;
    COLL_CALL(BY_HOST)
}
static int coll_on_stream(int call, long *dest, const long *source, size_t nelems,
                          cudaStream_t stream)
{
    const gshmem_team_t team = GSHMEM_TEAM_WORLD;
    COLL_CALL(ON_STREAM)
}
static __device__ int coll_by_block(int call, long *dest, const long *source, size_t nelems)
{
    const gshmem_team_t team = GSHMEM_TEAM_WORLD;
    COLL_CALL(BY_BLOCK)
}
static __device__ int coll_by_grid(int call, long *dest, const long *source, size_t nelems)
{
    const gshmem_team_t team = GSHMEM_TEAM_WORLD;
    COLL_CALL(BY_GRID)
}

/* Without end, unless one fails. A grid makes all the calls in turn. */
__global__ void endless_kernel(int call, int is_grid, long *dest, const long *source)
{
    for (int r = 0, result = 0; result == 0; r++) {
        const size_t nelems = coll_size(r % n_coll_sizes);
        result = is_grid ? coll_by_grid(r / n_coll_sizes % n_coll_calls, dest, source, nelems)
                         : coll_by_block(call, dest, source, nelems);
    }
}

/* Everybody makes the call that the case names without end; PE 1 is killed at some moment. */
static void death_in_coll(const scene *s)
{
    const size_t bytes = (size_t)s->pe.n * biggest_nelems * sizeof(long);
    long *dest = (long *)test_heap(bytes), *source = (long *)test_heap(bytes);
    const char *what = s->name + strlen("die_in_coll_"), *how = strrchr(s->name, '_') + 1;
    const bool is_grid = strcmp(how, "grid") == 0;
    int call = 0;
    while (call < n_coll_calls && strncmp(what, coll_names[call], strlen(coll_names[call])) != 0)
        call++;
    gshmem_barrier_all();
    if (s->pe.me == 1)
        std::thread([] {
            uint64_t state = (uint64_t)test_now_ns();
            const int us = (int)(test_random(&state) % 200000);
            fprintf(stderr, "PE 1 dies after %d us\n", us);
            usleep((unsigned)us);
            die();
        }).detach();
    if (is_grid || strcmp(how, "kernel") == 0) {
        test_collective(&s->pe, endless_kernel, is_grid ? 3u : 1u, 32, call, (int)is_grid, dest,
                        (const long *)source);
        test_sync(&s->pe);
    }
    for (int r = 0, result = 0; result == 0; r++) {
        const size_t nelems = coll_size(r % n_coll_sizes);
        const bool by_host = strcmp(how, "host") == 0;
        result = by_host ? coll_by_host(call, dest, source, nelems)
                         : coll_on_stream(call, dest, source, nelems, s->pe.stream);
        if (!by_host && r % 16 == 0)
            test_sync(&s->pe);
    }
    exit(3); /* a call has failed */
}

/* PE 1 dies; the others are in some call then, which the case names. It waits for their word. */
static void death(const scene *s)
{
    const bool dies = s->pe.me == 1;
    gshmem_ctx_t ctx = GSHMEM_CTX_DEFAULT;
    if (is(s, "die_in_puts"))
        death_in_puts(s, ctx);
    if (is(s, "die_in_ctx_puts") && gshmem_ctx_create(0, &ctx) == 0)
        death_in_puts(s, ctx);
    if (strncmp(s->name, "die_in_coll_", 12) == 0)
        death_in_coll(s);
    if (strstr(s->name, "_reduce"))
        death_in_reduce(s);
    /* The victim lets the others reach their call: they cannot tell it from inside. */
    if (strstr(s->name, "_lock") != NULL) {
        if (dies)
            gshmem_set_lock(s->stuck);
        gshmem_barrier_all();
    }
    if (dies)
        usleep(300000);
    if (dies)
        die();
    if (is(s, "die_in_lock"))
        gshmem_set_lock(s->stuck);
    if (is(s, "die_in_kernel_lock"))
        run_kernel(s, k_lock);
    if (is(s, "die_in_barrier"))
        gshmem_barrier_all();
    if (is(s, "die_in_malloc"))
        gshmem_malloc(100);
    if (is(s, "die_in_wait"))
        gshmem_long_wait_until(s->stuck, GSHMEM_CMP_EQ, 42);
    if (is(s, "die_in_kernel"))
        run_kernel(s, k_wait);
    if (is(s, "die_in_kernel_barrier"))
        run_kernel(s, k_barrier);
    if (is(s, "die_in_stream")) {
        gshmemx_long_wait_until_on_stream(s->stuck, GSHMEM_CMP_EQ, 42, s->pe.stream);
        test_sync(&s->pe);
    }
    if (is(s, "die_in_finalize"))
        gshmem_finalize();
}

#endif
