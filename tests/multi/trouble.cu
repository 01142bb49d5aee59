/* SPDX-License-Identifier: Apache-2.0
 * A program that gets into one selected kind of trouble; trouble.py starts it and judges the
 * outcome.
 *
 *     trouble CASE [uid N]     (uid N: starts its own N processes, without a launcher) */
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include "tests/rig/pe.cuh"

enum kernel_case {
    k_wait,
    k_barrier,
    k_bad_pe,
    k_stack,
    k_freed,
    k_past,
    k_huge,
    k_stride,
    k_signal_op,
    k_cmp,
    k_misaligned,
    k_null,
    k_lock,
    k_unlock,
    k_long,
    k_exit
};

/* `stuck` never changes. */
__global__ void trouble_kernel(int what, long *word, long *freed, long *stuck)
{
    const int n = gshmem_n_pes();
    long local = 0;
    switch (what) {
    case k_wait:
        gshmem_long_wait_until(stuck, GSHMEM_CMP_EQ, 42);
        break;
    case k_barrier:
        gshmem_barrier_all();
        break;
    case k_bad_pe:
        gshmem_long_p(word, 1, n);
        break;
    case k_stack:
        gshmem_long_p(&local, 1, 0);
        break;
    case k_freed:
        gshmem_long_p(freed, 1, 0);
        break;
    case k_past:
        gshmem_long_put(word + 1, word, 64, 0); /* word has 64 elements */
        break;
    case k_huge: /* more bytes than 64 bits can count */
        gshmem_long_put(word, word, (size_t)1 << 61, 0);
        break;
    case k_stride:
        gshmem_long_iput(word, word + 32, -1, 1, 4, 1);
        break;
    case k_signal_op:
        gshmemx_signal_op((uint64_t *)word, 1, 33, 1);
        break;
    case k_cmp:
        gshmem_long_wait_until(word, -2, 0);
        break;
    case k_misaligned:
        gshmem_long_atomic_inc((long *)((char *)word + 4), 1);
        break;
    case k_lock:
        gshmem_set_lock(stuck);
        break;
    case k_unlock:
        gshmem_clear_lock(stuck);
        break;
    case k_null:
        gshmem_long_get(NULL, word, 3, 1);
        break;
    case k_long:
        for (uint64_t end = gshmem::detail::clock_ns() + 300000000;
             gshmem::detail::clock_ns() < end;)
            (void)gshmem_long_g(word, gshmem_my_pe());
        break;
    default:
        gshmem_global_exit(7);
    }
    gshmem_quiet();
}

__global__ void ctx_kernel(gshmem_ctx_t ctx, long *word, int pe)
{
    gshmem_ctx_long_p(ctx, word, 1, pe);
    gshmem_ctx_quiet(ctx);
}

__global__ void coll_kernel(long *dest, const long *source, size_t nelems, long rounds)
{
    for (long r = 0; r < rounds; r++)
        gshmemx_long_sum_reduce_block(GSHMEM_TEAM_WORLD, dest, source, nelems);
}

enum { most_nelems = 3000 };

struct scene {
    test_pe pe;
    const char *name;
    long *word, *freed, *stuck;
    long *dest, *source; /* for collectives: most_nelems */
};

static bool is(const scene *s, const char *name)
{
    return strcmp(s->name, name) == 0;
}

static void run_kernel(const scene *s, int what)
{
    test_collective(&s->pe, trouble_kernel, 1, 1, what, s->word, s->freed, s->stuck);
    test_sync(&s->pe);
}

__attribute__((noreturn)) static void die(void)
{
    raise(SIGKILL);
    abort();
}

/* All PEs put megabytes to each other, without end; PE 1 dies in the midst of some. */
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

/* Reductions by the caller that the case names, in one flight or, with "large", by more. */
static void reduce(const scene *s, long rounds)
{
    const size_t nelems = strstr(s->name, "large") ? (size_t)most_nelems : 4;
    if (strstr(s->name, "kernel"))
        test_collective(&s->pe, coll_kernel, 1, 32, s->dest, (const long *)s->source, nelems,
                        rounds);
    for (long r = 0; r < rounds && !strstr(s->name, "kernel"); r++) {
        if (strstr(s->name, "stream"))
            gshmemx_long_sum_reduce_on_stream(GSHMEM_TEAM_WORLD, s->dest, s->source, nelems,
                                              s->pe.stream);
        else
            gshmem_long_sum_reduce(GSHMEM_TEAM_WORLD, s->dest, s->source, nelems);
    }
    test_sync(&s->pe);
}

/* All PEs reduce without end; PE 1 is killed meanwhile. */
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

/* What each gives to each other: in one flight, in several pieces, and, where the table says
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

/* FORM(call) is a call by the host, on a stream, or by a group: with that name and these
 * arguments. */
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

/* All PEs make the call that the case names without end; PE 1 is killed at some moment. */
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

/* PE 1 dies while the others are in the call that the case names. It waits for their word. */
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
    /* The victim lets the others reach their call: from inside they cannot tell it. */
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

static void host_mistake(const scene *s)
{
    long local = 0;
    if (is(s, "bad_pe"))
        gshmem_long_p(s->word, 1, s->pe.n);
    if (is(s, "negative_pe"))
        gshmem_long_g(s->word, -1);
    if (is(s, "stride"))
        gshmem_long_iget(&local, s->word, 1, 0, 1, 1);
    if (is(s, "signal_op"))
        gshmemx_signal_op((uint64_t *)s->word, 1, 33, 1);
    if (is(s, "cmp"))
        gshmem_long_test(s->word, 6, 0);
    if (is(s, "misaligned"))
        gshmem_signal_fetch((uint64_t *)((char *)s->word + 4));
    if (is(s, "stack"))
        gshmem_long_p(&local, 1, 0);
    if (is(s, "freed"))
        gshmem_long_p(s->freed, 1, 0);
    if (is(s, "past"))
        gshmem_long_put(s->word + 1, s->word, 64, 0);
    if (is(s, "before")) /* where the library keeps its own */
        gshmem_putmem((char *)s->word - 16, s->word, 16, 0);
    if (is(s, "huge"))
        gshmem_long_put(s->word, s->word, SIZE_MAX / 8, 1);
    if (is(s, "printed")) {
        printf("what PE 0 has printed before\n");
        gshmem_long_p(s->word, 1, s->pe.n);
    }
    if (is(s, "global")) {
        static long global;
        gshmem_long_p(&global, 1, 0);
    }
    if (is(s, "lock_not_held"))
        gshmem_clear_lock(s->stuck);
    if (is(s, "lock_left") && gshmem_test_lock(s->stuck) != 0)
        exit(3);
    if (is(s, "stream_team_gone")) {
        gshmem_team_t team;
        if (gshmemx_team_create(&s->pe.me, 1, NULL, 0, &team) != 0)
            exit(3);
        gshmemx_long_wait_until_on_stream(s->word, GSHMEM_CMP_EQ, 42, s->pe.stream);
        gshmemx_barrier_on_stream(team, s->pe.stream);
        gshmem_team_destroy(team);
        gshmem_long_p(s->word, 42, 0);
        CUDA(cudaStreamSynchronize(s->pe.stream));
    }
#if !defined(__CUDACC__)
    if (is(s, "outside_kernel"))
        gshmemx_long_put_block(s->word, s->word, 1, 0);
#endif
    if (is(s, "finalized_elsewhere"))
        std::thread(gshmem_finalize).join();
    if (is(s, "exit"))
        gshmem_global_exit(7);
}

/* Contexts that have ended, never existed, or belong to another thread, and PEs outside them. */
static void ctx_mistake(const scene *s)
{
    gshmem_ctx_t ended = GSHMEM_CTX_INVALID, node = GSHMEM_CTX_INVALID, own = GSHMEM_CTX_INVALID;
    if (gshmem_ctx_create(0, &ended) != 0 ||
        gshmem_team_create_ctx(GSHMEMX_TEAM_NODE, 0, &node) != 0 ||
        gshmem_ctx_create(GSHMEM_CTX_PRIVATE, &own) != 0)
        exit(3);
    gshmem_ctx_destroy(ended);
    const int beyond = gshmem_team_n_pes(GSHMEMX_TEAM_NODE);
    if (is(s, "ctx_ended"))
        gshmem_ctx_long_p(ended, s->word, 1, 0);
    if (is(s, "ctx_ended_quiet"))
        gshmem_ctx_quiet(ended);
    if (is(s, "ctx_ended_twice"))
        gshmem_ctx_destroy(ended);
    if (is(s, "ctx_invalid"))
        gshmem_ctx_long_p(GSHMEM_CTX_INVALID, s->word, 1, 0);
    if (is(s, "ctx_member"))
        gshmem_ctx_long_p(node, s->word, 1, beyond);
    if (is(s, "ctx_default"))
        gshmem_ctx_destroy(GSHMEM_CTX_DEFAULT);
    if (is(s, "ctx_private"))
        std::thread([&] { gshmem_ctx_long_p(own, s->word, 1, 0); }).join();
    if (is(s, "ctx_kernel_ended"))
        test_collective(&s->pe, ctx_kernel, 1, 1, ended, s->word, 0);
    if (is(s, "ctx_kernel_member"))
        test_collective(&s->pe, ctx_kernel, 1, 1, node, s->word, beyond);
    test_sync(&s->pe);
}

/* One member makes a different call. */
static void differ_in_reduce(const scene *s, bool is_odd)
{
    const gshmem_team_t world = GSHMEM_TEAM_WORLD;
    if (is(s, "differ_reduce_size"))
        gshmem_long_sum_reduce(world, s->dest, s->source, is_odd ? 5 : 4);
    if (is(s, "differ_reduce_op") && is_odd)
        gshmem_long_max_reduce(world, s->dest, s->source, 4);
    else if (is(s, "differ_reduce_op"))
        gshmem_long_sum_reduce(world, s->dest, s->source, 4);
    if (is(s, "differ_reduce_root"))
        gshmem_long_broadcast(world, s->dest, s->source, 4, is_odd ? 0 : 2);
    if (is(s, "differ_reduce_call") && is_odd)
        gshmem_long_fcollect(world, s->dest, s->source, 4);
    else if (is(s, "differ_reduce_call"))
        gshmem_long_alltoall(world, s->dest, s->source, 4);
    if (is(s, "differ_reduce_zero"))
        gshmem_long_sum_reduce(world, s->dest, s->source, is_odd ? 0 : 4);
    if (is(s, "differ_reduce_strides"))
        gshmem_long_alltoalls(world, s->dest, s->source, is_odd ? 3 : 1, 2, 4);
    if (is(s, "differ_reduce_collect") && is_odd)
        gshmem_long_collect(world, s->dest, s->source, 4);
    else if (is(s, "differ_reduce_collect"))
        gshmem_long_fcollect(world, s->dest, s->source, 4);
    if (is(s, "differ_reduce_kernel"))
        test_collective(&s->pe, coll_kernel, 1, 32, s->dest, (const long *)s->source,
                        (size_t)(is_odd ? most_nelems : 4), 1L);
    test_sync(&s->pe);
}

/* Types of the same width differ even if the operation treats them alike. */
__global__ void type_kernel(int is_float, void *dest, const void *source)
{
    const gshmem_team_t world = GSHMEM_TEAM_WORLD;
    if (is_float)
        gshmemx_float_sum_reduce_block(world, (float *)dest, (const float *)source, 4);
    else
        gshmemx_int_sum_reduce_block(world, (int *)dest, (const int *)source, 4);
}

/* A team that finds so much of the pool in use that it gets the minimum of everything. */
static gshmem_team_t bare_team(const scene *s)
{
    gshmem_team_t bare = GSHMEM_TEAM_INVALID;
    for (int i = 0; i < 65; i++)
        if (gshmem_team_split_strided(GSHMEM_TEAM_WORLD, 0, 1, s->pe.n, NULL, 0, &bare) != 0)
            exit(3);
    return bare;
}

static void differ_in_type(const scene *s, bool is_odd)
{
    const bool is_bare = is(s, "differ_type_bare");
    const gshmem_team_t team = is_bare ? bare_team(s) : GSHMEM_TEAM_WORLD;
    void *d = s->dest;
    const void *const c = s->source;
    if (is(s, "differ_type") || is_bare) {
        if (is_odd)
            gshmem_float_max_reduce(team, (float *)d, (const float *)c, 4);
        else
            gshmem_int_max_reduce(team, (int *)d, (const int *)c, 4);
    }
    if (is(s, "differ_type_sign")) {
        if (is_odd)
            gshmem_uint_sum_inscan(team, (unsigned *)d, (const unsigned *)c, 4);
        else
            gshmem_int_sum_inscan(team, (int *)d, (const int *)c, 4);
    }
    if (is(s, "differ_type_stream")) {
        if (is_odd)
            gshmemx_half_sum_reducescatter_on_stream(team, (gshmem_half_t *)d,
                                                     (const gshmem_half_t *)c, 4, s->pe.stream);
        else
            gshmemx_bfloat16_sum_reducescatter_on_stream(
                team, (gshmem_bfloat16_t *)d, (const gshmem_bfloat16_t *)c, 4, s->pe.stream);
    }
    if (is(s, "differ_type_move")) {
        if (is_odd)
            gshmem_float_broadcast(team, (float *)d, (const float *)c, 4, 0);
        else
            gshmem_int_broadcast(team, (int *)d, (const int *)c, 4, 0);
    }
    if (is(s, "differ_type_kernel"))
        test_collective(&s->pe, type_kernel, 1, 32, (int)is_odd, d, c);
    test_sync(&s->pe);
}

/* PE 1 makes a different collective call from the others. */
static void differ(const scene *s)
{
    const bool is_odd = s->pe.me == 1;
    if (strstr(s->name, "_reduce"))
        differ_in_reduce(s, is_odd);
    if (strncmp(s->name, "differ_type", 11) == 0)
        differ_in_type(s, is_odd);
    if (is(s, "differ_calloc") && (is_odd ? gshmem_calloc(1, 100) : gshmem_malloc(100)) != NULL)
        exit(3);
    if (is(s, "differ_free"))
        gshmem_free(is_odd ? s->word : s->stuck);
    if (is(s, "differ_finalize") && is_odd)
        gshmem_finalize();
    else if (is(s, "differ_finalize"))
        gshmem_free(s->word);
}

/* All PEs make the same mistake in a collective call. */
static void alike(const scene *s)
{
    if (is(s, "alike_free"))
        gshmem_free(s->freed);
    if (is(s, "alike_align") && gshmem_align(3, 64) != NULL)
        exit(3);
    if (is(s, "alike_calloc") && gshmem_calloc(SIZE_MAX / 64, 8) != NULL)
        exit(3);
}

__global__ void member_kernel(gshmem_team_t team, int is_barrier, long *dest, const long *source,
                              size_t nelems)
{
    if (is_barrier)
        gshmemx_barrier_block(team);
    else
        gshmemx_long_sum_reduce_block(team, dest, source, nelems);
}

/* A call on a team of all PEs; the case names caller and length. */
static void call_member(const scene *s, gshmem_team_t team)
{
    const bool is_barrier = strstr(s->name, "barrier") != NULL;
    const size_t nelems = strstr(s->name, "large") ? (size_t)most_nelems : 4;
    if (strstr(s->name, "kernel"))
        test_collective(&s->pe, member_kernel, 1, 32, team, (int)is_barrier, s->dest,
                        (const long *)s->source, nelems);
    else if (strstr(s->name, "stream"))
        gshmemx_long_sum_reduce_on_stream(team, s->dest, s->source, nelems, s->pe.stream);
    else if (is_barrier)
        gshmem_barrier(team);
    else
        gshmem_long_sum_reduce(team, s->dest, s->source, nelems);
    test_sync(&s->pe);
}

/* PE 3 does not arrive the third time; all others wait, and one of them reports it. */
static void missing_member(const scene *s)
{
    gshmem_team_t team;
    if (gshmem_team_split_strided(GSHMEM_TEAM_WORLD, 0, 1, s->pe.n, NULL, 0, &team) != 0)
        exit(3);
    call_member(s, team);
    call_member(s, team);
    if (s->pe.me == 3)
        for (;;)
            pause();
    call_member(s, team);
}

static void stuck(const scene *s)
{
    /* The others are in their barrier already, and their time limits run, too. */
    if (is(s, "stuck_kernel_late")) {
        usleep(100000);
        run_kernel(s, k_wait);
    }
    if (is(s, "stuck_wait"))
        gshmem_long_wait_until(s->stuck, GSHMEM_CMP_EQ, 42);
    if (is(s, "stuck_lock") || is(s, "stuck_kernel_lock"))
        while (gshmem_test_lock(s->stuck) == 0) /* PE 1 is about to set it */
            gshmem_clear_lock(s->stuck);
    if (is(s, "stuck_lock"))
        gshmem_set_lock(s->stuck);
    if (is(s, "stuck_kernel_lock"))
        run_kernel(s, k_lock);
    if (is(s, "stuck_barrier"))
        gshmem_barrier_all();
    if (strncmp(s->name, "stuck_reduce", 12) == 0)
        reduce(s, 1);
    if (is(s, "stuck_kernel"))
        run_kernel(s, k_wait);
    if (is(s, "stuck_kernel_barrier"))
        run_kernel(s, k_barrier);
    if (is(s, "stuck_stream")) {
        gshmemx_long_wait_until_on_stream(s->stuck, GSHMEM_CMP_EQ, 42, s->pe.stream);
        test_sync(&s->pe);
    }
}

static const struct {
    const char *name;
    int what;
} kernel_cases[] = {{"kernel_bad_pe", k_bad_pe},
                    {"kernel_stack", k_stack},
                    {"kernel_freed", k_freed},
                    {"kernel_past", k_past},
                    {"kernel_huge", k_huge},
                    {"kernel_stride", k_stride},
                    {"kernel_signal_op", k_signal_op},
                    {"kernel_cmp", k_cmp},
                    {"kernel_misaligned", k_misaligned},
                    {"kernel_null", k_null},
                    {"kernel_lock_not_held", k_unlock},
                    {"kernel_holds", k_lock},
                    {"kernel_exit", k_exit}};

/* The others of a case in which only PE 0 acts: they sleep in a barrier until it ends them. */
static void play(const scene *s)
{
    if (strncmp(s->name, "die_", 4) == 0) {
        death(s);
    } else if (strncmp(s->name, "differ_", 7) == 0) {
        differ(s);
    } else if (strncmp(s->name, "alike_", 6) == 0) {
        alike(s);
    } else if (strncmp(s->name, "member_", 7) == 0) {
        missing_member(s);
    } else if (s->pe.me != 0) {
        if (s->pe.me == 1 && strstr(s->name, "_lock") != NULL)
            gshmem_set_lock(s->stuck);
        if (strncmp(s->name, "stuck_", 6) == 0 && !is(s, "stuck_kernel_late"))
            pause(); /* never reaches PE 0's barrier; PE 0's report ends it */
        gshmem_barrier_all();
    } else if (strncmp(s->name, "ctx_", 4) == 0) {
        ctx_mistake(s);
    } else {
        host_mistake(s);
        stuck(s);
        for (const auto &c : kernel_cases)
            if (is(s, c.name))
                run_kernel(s, c.what);
    }
}

/* Before init: whether this will be PE 1, or, among threads, arrives second. */
static bool is_second(void)
{
    static int n_threads;
    const char *rank = getenv("GSHMEM_RANK");
    return rank ? atoi(rank) == 1 : __atomic_fetch_add(&n_threads, 1, __ATOMIC_RELAXED) == 1;
}

/* Some PE ends without gshmem_finalize, as if all were well. */
static int leave(const scene *s)
{
    if (is(s, "leave_all") || (is(s, "leave_return") && s->pe.me == 1))
        return 0;
    if (is(s, "leave_exit") && s->pe.me == 1)
        exit(0);
    if (is(s, "leave_status") && s->pe.me == 1)
        exit(5);
    gshmem_barrier_all();
    gshmem_barrier_all();
    return 9;
}

static int pe_main(int argc, char **argv)
{
    scene s = {};
    s.name = argc > 1 ? argv[1] : "";
    if (is(&s, "before_init")) {
        long word = 0;
        gshmem_long_p(&word, 1, 0);
        return 0;
    }
    if (is(&s, "never_init"))
        return 0;
    if (is(&s, "kernel_before_init")) {
        int what = k_barrier;
        long *none = NULL;
        void *args[] = {&what, &none, &none, &none};
        CUDA(cudaLaunchKernel((const void *)trouble_kernel, dim3(1), dim3(1), args, 0, 0));
        CUDA(cudaDeviceSynchronize());
        return 0;
    }
    if (is(&s, "die_before_init") && is_second())
        die();
    if (is(&s, "leave_before_init") && is_second())
        return 0;
    if (is(&s, "differ_range") && is_second())
        setenv("GSHMEM_HEAP_RANGE", "8G", 1);
    if (is(&s, "differ_keep") && is_second())
        setenv("GSHMEM_HEAP_KEEP", "1M", 1);
    if (is(&s, "differ_collectives") && is_second())
        setenv("GSHMEM_COLLECTIVES", "thread=0,far=1K", 1);
    s.pe = test_begin();
    if (strncmp(s.name, "leave_", 6) == 0)
        return leave(&s);
    if (is(&s, "after_finalize")) {
        gshmem_finalize();
        gshmem_barrier_all();
        return 0;
    }
    s.word = (long *)test_heap(64 * sizeof *s.word);
    s.stuck = (long *)test_heap(sizeof *s.stuck);
    s.dest = (long *)test_heap(most_nelems * sizeof *s.dest);
    s.source = (long *)test_heap(most_nelems * sizeof *s.source);
    s.freed = (long *)test_heap(sizeof *s.freed);
    gshmem_free(s.freed);
    gshmem_barrier_all();
    play(&s);
    /* Only checking builds detect some mistakes; in others the job ends well. */
    if (s.pe.me == 0 && strncmp(s.name, "alike_", 6) != 0 && strncmp(s.name, "differ_", 7) != 0)
        gshmem_barrier_all();
    if (is(&s, "running_kernel")) /* finalize waits for it */
        test_collective(&s.pe, trouble_kernel, 1, 1, (int)k_long, s.word, s.freed, s.stuck);
    gshmem_finalize();
    return 0;
}

/* ---- without a launcher ---------------------------------------------------------------------- */

/* Init by environment, as gshmemrun would set it, of processes without a watcher. */
static int run_uid(int n, int argc, char **argv)
{
    int ends[2];
    if (pipe(ends) != 0)
        return 1;
    for (int pe = 0; pe < n; pe++) {
        const pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            gshmemx_uniqueid_t id;
            gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
            close(ends[1]);
            if (read(ends[0], &id, sizeof id) != (ssize_t)sizeof id)
                return 1;
            scene s = {};
            s.name = argv[1];
            gshmemx_set_attr_uniqueid_args(pe, n, &id, &attr);
            if (strcmp(s.name, "die_before_init") == 0 && pe == 1)
                die();
            if (gshmemx_init_attr(GSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
                return 1;
            s.pe.me = pe;
            s.pe.n = n;
            if (gshmemx_device_setup() != 0)
                return 1;
            CUDA(cudaStreamCreateWithFlags(&s.pe.stream, cudaStreamNonBlocking));
            s.stuck = (long *)test_heap(sizeof *s.stuck);
            play(&s);
            gshmem_finalize();
            return 0;
        }
    }
    (void)argc;
    gshmemx_uniqueid_t id;
    if (gshmemx_get_uniqueid(&id) != 0)
        return 1;
    for (int pe = 0; pe < n; pe++)
        if (write(ends[1], &id, sizeof id) != (ssize_t)sizeof id)
            return 1;
    int n_failed = 0, status = 0;
    while (wait(&status) > 0)
        n_failed += status != 0;
    return n_failed == n ? 1 : 100 + n_failed; /* all of them must fail */
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[2], "uid") == 0)
        return run_uid(atoi(argv[3]), argc, argv);
    if (argc > 1 && strcmp(argv[1], "no_run") == 0)
        return pe_main(argc, argv);
    return gshmemx_run(pe_main, argc, argv);
}
