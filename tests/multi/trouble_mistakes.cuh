/* SPDX-License-Identifier: Apache-2.0
 * Mistakes of one PE in trouble.cu, by the host: bad arguments, at a bad time, of a bad context. */
#ifndef GSH_TEST_TROUBLE_MISTAKES_CUH
#define GSH_TEST_TROUBLE_MISTAKES_CUH

#include <thread>
#include "tests/multi/trouble_scene.cuh"
#include "wire/lock.h"

static void host_mistake(const scene *s)
{
    long local = 0;
    if (is(s, "bad_pe"))
        gshmem_long_p(s->word, 1, s->pe.n);
    if (is(s, "negative_pe"))
        gshmem_long_g(s->word, -1);
    if (is(s, "stride"))
        gshmem_long_iget(&local, s->word, 1, 0, 1, 1);
    if (is(s, "null_dest"))
        gshmem_long_put(NULL, s->word, 1, 1);
    if (is(s, "negative_count"))
        gshmem_long_sum_reduce(GSHMEM_TEAM_WORLD, s->dest, s->source, (size_t)-1);
    if (is(s, "null_list")) {
        gshmem_team_t team;
        if (gshmemx_team_create(NULL, 1, NULL, 0, &team) == 0)
            exit(3);
    }
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
    if (is(s, "stream_gone")) {
        cudaStream_t gone;
        CUDA(cudaStreamCreate(&gone));
        CUDA(cudaStreamDestroy(gone));
        gshmemx_long_put_on_stream(s->word, s->word, 1, 1, gone);
    }
#endif
    const char *const refused[] = {"kernel_no_team", "kernel_no_channel", "kernel_no_root"};
    for (int i = 0; i < 3; i++)
        if (is(s, refused[i]))
            gshmem_launch(refused_kernel, 1, 64, 0, s->pe.stream, i, s->dest,
                          (const long *)s->source);
    if (is(s, "channel_shared"))
        test_collective(&s->pe, coll_kernel, 4, 64, s->dest, (const long *)s->source, (size_t)4,
                        1L);
    if (is(s, "kernel_no_front")) /* of a lock: at its home */
        for (int pe = 0; pe < s->pe.n; pe++)
            gshmem_long_p(s->stuck, s->pe.n + 1, pe);
    if (is(s, "kernel_no_behind")) /* this PE holds it */
        gshmem_long_p(s->stuck, (long)(GSH_LOCK_TAKEN | GSH_LOCK_BEHIND) << 32, 0);
    test_sync(&s->pe);
    if (is(s, "descriptors_closed")) /* on all PEs: none sees that another's have closed */
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
    if (is(s, "finalized_elsewhere"))
        std::thread(gshmem_finalize).join();
    if (is(s, "exit"))
        gshmem_global_exit(7);
}

__global__ void ctx_kernel(gshmem_ctx_t ctx, long *word, int pe)
{
    gshmem_ctx_long_p(ctx, word, 1, pe);
    gshmem_ctx_quiet(ctx);
}

/* Contexts that have ended, or never were, or are another thread's, and PEs that are not in them.
 */
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

#endif
