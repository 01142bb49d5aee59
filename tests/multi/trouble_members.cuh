/* SPDX-License-Identifier: Apache-2.0
 * trouble.cu's cases differ_*, alike_* and member_*: the members of a team make different calls or
 * the same wrong one, or one of them does not come. */
#ifndef GSH_TEST_TROUBLE_MEMBERS_CUH
#define GSH_TEST_TROUBLE_MEMBERS_CUH

#include <unistd.h>
#include "tests/multi/trouble_scene.cuh"

/* One member's call is another one. */
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

/* Types of the same width, which differ also where the operation makes no difference of them. */
__global__ void type_kernel(int is_float, void *dest, const void *source)
{
    const gshmem_team_t world = GSHMEM_TEAM_WORLD;
    if (is_float)
        gshmemx_float_sum_reduce_block(world, (float *)dest, (const float *)source, 4);
    else
        gshmemx_int_sum_reduce_block(world, (int *)dest, (const int *)source, 4);
}

/* One that finds so much of the pool taken that it has the least of everything. */
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

__global__ void collect_kernel(long *dest, const long *source, size_t nelems)
{
    gshmemx_long_collect_block(GSHMEM_TEAM_WORLD, dest, source, nelems);
}

/* PE 1 makes another collective call than the others. */
static void differ(const scene *s)
{
    const bool is_odd = s->pe.me == 1;
    if (strstr(s->name, "_reduce"))
        differ_in_reduce(s, is_odd);
    if (strncmp(s->name, "differ_type", 11) == 0)
        differ_in_type(s, is_odd);
    if (is(s, "differ_collect")) {
        test_collective(&s->pe, collect_kernel, 1, 32, s->dest, (const long *)s->source,
                        is_odd ? (size_t)1 << 50 : (size_t)1);
        test_sync(&s->pe);
    }
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

/* A call on a team of all PEs, by whom and of what length the case names. */
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

/* PE 3 does not come the third time; all others wait, and one of them says so. */
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

#endif
