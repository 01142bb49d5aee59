/* SPDX-License-Identifier: Apache-2.0
 * The deprecated atomics and waits, and collectives over an active set, which are carried out over
 * its team. */
#include <stdlib.h>
#include <gshmemx.h>
#include "active_set.h"
#include "shmem.h"

/* Begins a definition under the profiling name; the other name is the same function, which a
 * profiler may replace. */
#define CALL(RESULT, NAME, PARAMETERS)                                             \
    RESULT(shmem_##NAME) PARAMETERS __attribute__((weak, alias("pshmem_" #NAME))); \
    RESULT pshmem_##NAME PARAMETERS

/* ---- atomics and waits ---- */

#define AMO(NAME, T)                                                      \
    CALL(T, NAME##_cswap, (T * dest, T cond, T value, int pe))            \
    {                                                                     \
        return shmem_##NAME##_atomic_compare_swap(dest, cond, value, pe); \
    }                                                                     \
    CALL(T, NAME##_finc, (T * dest, int pe))                              \
    {                                                                     \
        return shmem_##NAME##_atomic_fetch_inc(dest, pe);                 \
    }                                                                     \
    CALL(void, NAME##_inc, (T * dest, int pe))                            \
    {                                                                     \
        shmem_##NAME##_atomic_inc(dest, pe);                              \
    }                                                                     \
    CALL(T, NAME##_fadd, (T * dest, T value, int pe))                     \
    {                                                                     \
        return shmem_##NAME##_atomic_fetch_add(dest, value, pe);          \
    }                                                                     \
    CALL(void, NAME##_add, (T * dest, T value, int pe))                   \
    {                                                                     \
        shmem_##NAME##_atomic_add(dest, value, pe);                       \
    }
SHMEM_OLD_AMO(AMO)
#undef AMO

#define AMO(NAME, T)                                        \
    CALL(T, NAME##_fetch, (const T *source, int pe))        \
    {                                                       \
        return shmem_##NAME##_atomic_fetch(source, pe);     \
    }                                                       \
    CALL(void, NAME##_set, (T * dest, T value, int pe))     \
    {                                                       \
        shmem_##NAME##_atomic_set(dest, value, pe);         \
    }                                                       \
    CALL(T, NAME##_swap, (T * dest, T value, int pe))       \
    {                                                       \
        return shmem_##NAME##_atomic_swap(dest, value, pe); \
    }
SHMEM_OLD_SWAP(AMO)
#undef AMO

#define WAIT(NAME, T)                                         \
    CALL(void, NAME##_wait, (T * ivar, T value))              \
    {                                                         \
        shmem_##NAME##_wait_until(ivar, SHMEM_CMP_NE, value); \
    }
SHMEM_OLD_WAIT(WAIT)
#undef WAIT

CALL(void, wait, (long *ivar, long value))
{
    shmem_long_wait_until(ivar, SHMEM_CMP_NE, value);
}

CALL(void, wait_until, (long *ivar, int cmp, long cmp_value))
{
    shmem_long_wait_until(ivar, cmp, cmp_value);
}

/* ---- barriers ---- */

#define SET(CALL, SYNC_SIZE)                                                           \
    const struct gsh_set_call c = {"shmem_" #CALL, pSync, (SYNC_SIZE) * sizeof(long)}; \
    const struct gsh_set set = gsh_set_enter(&c, PE_start, logPE_stride, PE_size)

static int has_team(const struct gsh_set *set)
{
    return set->team != GSHMEM_TEAM_INVALID;
}

CALL(void, barrier, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
    SET(barrier, SHMEM_BARRIER_SYNC_SIZE);
    if (has_team(&set)) {
        gsh_set_leave(&c, gshmem_barrier(set.team));
    } else {
        gsh_psync_barrier(&set);
    }
}

CALL(void, sync, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
    SET(sync, SHMEM_BARRIER_SYNC_SIZE);
    if (has_team(&set)) {
        gsh_set_leave(&c, gshmem_team_sync(set.team));
    } else {
        gsh_psync_sync(&set);
    }
}

CALL(int, team_barrier, (shmem_team_t team))
{
    return gshmem_barrier(team);
}

/* ---- moving data ---- */

/* Like the call on the team, except for the root's dest. */
static int broadcast(gshmem_team_t team, void *dest, const void *source, size_t bytes, int root)
{
    const int me = gshmem_my_pe();
    if (gshmem_team_my_pe(team) != root || bytes == 0) {
        return gshmem_broadcastmem(team, dest, source, bytes, root);
    }
    void *before = malloc(bytes);
    if (before == NULL) {
        return GSHMEMX_ERROR_OUT_OF_MEMORY;
    }
    gshmem_getmem(before, dest, bytes, me);
    int error = gshmem_broadcastmem(team, dest, source, bytes, root);
    gshmem_putmem(dest, before, bytes, me);
    free(before);
    return error;
}

static int move(const struct gsh_set *set, const struct gsh_set_move *m)
{
    gshmem_team_t team = set->team;
    if (!has_team(set)) {
        return gsh_psync_move(set, m);
    }
    int is_wide = m->elem_bytes == 8;
    switch (m->kind) {
    case GSH_SET_BROADCAST:
        return broadcast(team, m->dest, m->source, m->nelems * m->elem_bytes, m->root);
    case GSH_SET_COLLECT:
        return is_wide ? gshmem_uint64_collect(team, m->dest, m->source, m->nelems)
                       : gshmem_uint32_collect(team, m->dest, m->source, m->nelems);
    case GSH_SET_FCOLLECT:
        return is_wide ? gshmem_uint64_fcollect(team, m->dest, m->source, m->nelems)
                       : gshmem_uint32_fcollect(team, m->dest, m->source, m->nelems);
    case GSH_SET_ALLTOALL:
        return is_wide ? gshmem_uint64_alltoall(team, m->dest, m->source, m->nelems)
                       : gshmem_uint32_alltoall(team, m->dest, m->source, m->nelems);
    case GSH_SET_ALLTOALLS:
        return is_wide
                   ? gshmem_uint64_alltoalls(team, m->dest, m->source, m->dst, m->sst, m->nelems)
                   : gshmem_uint32_alltoalls(team, m->dest, m->source, m->dst, m->sst, m->nelems);
    }
    return GSHMEMX_ERROR_INVALID_VALUE;
}

#define MOVE(BITS, BYTES)                                                                        \
    CALL(void, broadcast##BITS,                                                                  \
         (void *dest, const void *source, size_t nelems, int PE_root, int PE_start,              \
          int logPE_stride, int PE_size, long *pSync))                                           \
    {                                                                                            \
        SET(broadcast##BITS, SHMEM_BCAST_SYNC_SIZE);                                             \
        struct gsh_set_move m = {GSH_SET_BROADCAST, dest, source, BYTES, nelems, 1, 1, PE_root}; \
        gsh_set_leave(&c, move(&set, &m));                                                       \
    }                                                                                            \
    CALL(void, collect##BITS,                                                                    \
         (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride,         \
          int PE_size, long *pSync))                                                             \
    {                                                                                            \
        SET(collect##BITS, SHMEM_COLLECT_SYNC_SIZE);                                             \
        struct gsh_set_move m = {GSH_SET_COLLECT, dest, source, BYTES, nelems, 1, 1, 0};         \
        gsh_set_leave(&c, move(&set, &m));                                                       \
    }                                                                                            \
    CALL(void, fcollect##BITS,                                                                   \
         (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride,         \
          int PE_size, long *pSync))                                                             \
    {                                                                                            \
        SET(fcollect##BITS, SHMEM_COLLECT_SYNC_SIZE);                                            \
        struct gsh_set_move m = {GSH_SET_FCOLLECT, dest, source, BYTES, nelems, 1, 1, 0};        \
        gsh_set_leave(&c, move(&set, &m));                                                       \
    }                                                                                            \
    CALL(void, alltoall##BITS,                                                                   \
         (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride,         \
          int PE_size, long *pSync))                                                             \
    {                                                                                            \
        SET(alltoall##BITS, SHMEM_ALLTOALL_SYNC_SIZE);                                           \
        struct gsh_set_move m = {GSH_SET_ALLTOALL, dest, source, BYTES, nelems, 1, 1, 0};        \
        gsh_set_leave(&c, move(&set, &m));                                                       \
    }                                                                                            \
    CALL(void, alltoalls##BITS,                                                                  \
         (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,           \
          int PE_start, int logPE_stride, int PE_size, long *pSync))                             \
    {                                                                                            \
        SET(alltoalls##BITS, SHMEM_ALLTOALLS_SYNC_SIZE);                                         \
        struct gsh_set_move m = {GSH_SET_ALLTOALLS, dest, source, BYTES, nelems, dst, sst, 0};   \
        gsh_set_leave(&c, move(&set, &m));                                                       \
    }
MOVE(32, 4)
MOVE(64, 8)
#undef MOVE

/* ---- reductions ---- */

/* Signed types have the same bitwise results as unsigned ones, which team reductions support. */
typedef unsigned short ushort_bits;
typedef unsigned int uint_bits;
typedef unsigned long ulong_bits;
typedef unsigned long long ulonglong_bits;

#define REDUCE(NAME, T, OP, AS, AS_T, BOTH)                                                    \
    static void combine_##NAME##_##OP(void *sum, const void *more, size_t nelems)              \
    {                                                                                          \
        T *to = sum;                                                                           \
        const T *from = more;                                                                  \
        for (size_t i = 0; i < nelems; i++) {                                                  \
            const T a = to[i], b = from[i];                                                    \
            to[i] = (T)(BOTH);                                                                 \
        }                                                                                      \
    }                                                                                          \
    CALL(void, NAME##_##OP##_to_all,                                                           \
         (T * dest, const T *source, int nreduce, int PE_start, int logPE_stride, int PE_size, \
          T *pWrk, long *pSync))                                                               \
    {                                                                                          \
        SET(NAME##_##OP##_to_all, SHMEM_REDUCE_SYNC_SIZE);                                     \
        const size_t nelems = gsh_set_nelems(&c, nreduce);                                     \
        (void)pWrk;                                                                            \
        gsh_set_leave(&c, has_team(&set)                                                       \
                              ? gshmem_##AS##_##OP##_reduce(set.team, (AS_T *)dest,            \
                                                            (const AS_T *)source, nelems)      \
                              : gsh_psync_reduce(&set, dest, source, nelems, sizeof(T),        \
                                                 combine_##NAME##_##OP));                      \
    }
#define LOGIC(NAME, T)                                  \
    REDUCE(NAME, T, and, u##NAME, u##NAME##_bits, a &b) \
    REDUCE(NAME, T, or, u##NAME, u##NAME##_bits, a | b) \
    REDUCE(NAME, T, xor, u##NAME, u##NAME##_bits, a ^ b)
#define ORDERED(NAME, T)                         \
    REDUCE(NAME, T, min, NAME, T, b < a ? b : a) \
    REDUCE(NAME, T, max, NAME, T, b > a ? b : a)
#define ADDED(NAME, T) REDUCE(NAME, T, sum, NAME, T, a + b) REDUCE(NAME, T, prod, NAME, T, a *b)
SHMEM_OLD_LOGIC(LOGIC)
SHMEM_OLD_ORDERED(ORDERED)
SHMEM_OLD_ADDED(ADDED)

/* ---- caches ---- */

CALL(void, set_cache_inv, (void)) {}
CALL(void, clear_cache_inv, (void)) {}
CALL(void, udcflush, (void)) {}

CALL(void, set_cache_line_inv, (void *dest))
{
    (void)dest;
}

CALL(void, clear_cache_line_inv, (void *dest))
{
    (void)dest;
}

CALL(void, udcflush_line, (void *dest))
{
    (void)dest;
}
