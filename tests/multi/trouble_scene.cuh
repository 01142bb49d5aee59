/* SPDX-License-Identifier: Apache-2.0
 * trouble.cu's stage: the PE and the memory that each case plays with, and the kernels that several
 * kinds of cases launch. */
#ifndef GSH_TEST_TROUBLE_SCENE_CUH
#define GSH_TEST_TROUBLE_SCENE_CUH

#include <signal.h>
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

/* `stuck` is never changed by anyone. */
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
    case k_huge: /* its bytes are more than 64 bits hold */
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

__global__ void coll_kernel(long *dest, const long *source, size_t nelems, long rounds)
{
    for (long r = 0; r < rounds; r++)
        gshmemx_long_sum_reduce_block(GSHMEM_TEAM_WORLD, dest, source, nelems);
}

/* Arguments that collectives answer with an error. */
__global__ void refused_kernel(int what, long *dest, const long *source)
{
    int error = 0;
    if (what == 0)
        error = gshmemx_long_sum_reduce_block(12345678, dest, source, 1);
    if (what == 1)
        error = gshmemx_barrier_channel_block(GSHMEM_TEAM_WORLD, 7777);
    if (what == 2)
        error = gshmemx_long_broadcast_block(GSHMEM_TEAM_WORLD, dest, source, 1, gshmem_n_pes());
    if (error == 0 || gshmemx_long_sum_reduce_block(GSHMEM_TEAM_INVALID, dest, source, 1) == 0)
        gshmem_global_exit(3);
}

enum { most_nelems = 3000 };

struct scene {
    test_pe pe;
    const char *name;
    long *word, *freed, *stuck;
    long *dest, *source; /* of collectives: most_nelems */
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

/* Reductions by whom the case names, in one LL exchange or, "large", by more. */
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

#endif
