/* SPDX-License-Identifier: Apache-2.0
 * Part of shmem.h: what the standard deprecates but programs still use.
 *
 * Collectives over an active set: the PEs PE_start, PE_start + 2^logPE_stride, ..., PE_size of
 * them. Each set becomes a team at its first use, which stays until shmem_finalize, and the calls
 * are that team's. pSync and pWrk are as in the standard, as is what threads may do: with
 * SHMEM_THREAD_MULTIPLE (requested by any PE of the set) several may make calls over one set at a
 * time, each with its own pSync, or over different sets, even for the first time; each set and
 * pSync is then a team. pWrk is not used; pSync is used (slowly) only by sets for which the team
 * pool, GSHMEM_TEAM_MEMORY, has no room. In checking builds a pSync that is not symmetric, or
 * smaller than the standard says, ends the job.
 */
#ifndef SHMEM_OLD_H
#define SHMEM_OLD_H

/* ---- constants ---- */

#define SHMEM_SYNC_VALUE              0L
#define SHMEM_SYNC_SIZE               32L
#define SHMEM_BARRIER_SYNC_SIZE       SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE         SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE       SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE        SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE      SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE     SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1L

#define _SHMEM_MAJOR_VERSION           SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION           SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN            SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING           SHMEM_VENDOR_STRING
#define _SHMEM_SYNC_VALUE              SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE       SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE         SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE       SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE        SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_ALLTOALL_SYNC_SIZE      SHMEM_ALLTOALL_SYNC_SIZE
#define _SHMEM_ALLTOALLS_SYNC_SIZE     SHMEM_ALLTOALLS_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE
#define _SHMEM_CMP_EQ                  SHMEM_CMP_EQ
#define _SHMEM_CMP_NE                  SHMEM_CMP_NE
#define _SHMEM_CMP_GT                  SHMEM_CMP_GT
#define _SHMEM_CMP_LE                  SHMEM_CMP_LE
#define _SHMEM_CMP_LT                  SHMEM_CMP_LT
#define _SHMEM_CMP_GE                  SHMEM_CMP_GE

/* ---- the types of the old calls ---- */

/* M(NAME, type) for the types that had atomics, that could be waited for, that could be reduced. */
#define SHMEM_OLD_AMO(M)   M(int, int) M(long, long) M(longlong, long long)
#define SHMEM_OLD_SWAP(M)  SHMEM_OLD_AMO(M) M(float, float) M(double, double)
#define SHMEM_OLD_WAIT(M)  SHMEM_OLD_AMO(M) M(short, short)
#define SHMEM_OLD_LOGIC(M) M(short, short) SHMEM_OLD_AMO(M)
#define SHMEM_OLD_ORDERED(M) \
    SHMEM_OLD_LOGIC(M) M(float, float) M(double, double) M(longdouble, long double)
#define SHMEM_OLD_ADDED(M) \
    SHMEM_OLD_ORDERED(M) M(complexf, shmem_complexf_t) M(complexd, shmem_complexd_t)

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* ---- set-up, heap, caches ---- */

/* Like shmem_init; the process's end finalizes, unless the program has. */
void start_pes(int npes);
int _my_pe(void);
int _num_pes(void);
void *shmalloc(size_t size);
void shfree(void *ptr);
void *shrealloc(void *ptr, size_t size);
void *shmemalign(size_t alignment, size_t size);

/* From here on each name also exists as pshmem_. */
#define GSH_SHMEM_BOTH(RESULT, NAME, PARAMETERS) \
    RESULT shmem_##NAME PARAMETERS;              \
    RESULT pshmem_##NAME PARAMETERS;

/* These do nothing. */
GSH_SHMEM_BOTH(void, set_cache_inv, (void))
GSH_SHMEM_BOTH(void, clear_cache_inv, (void))
GSH_SHMEM_BOTH(void, set_cache_line_inv, (void *dest))
GSH_SHMEM_BOTH(void, clear_cache_line_inv, (void *dest))
GSH_SHMEM_BOTH(void, udcflush, (void))
GSH_SHMEM_BOTH(void, udcflush_line, (void *dest))

/* ---- atomics and waits ---- */

#define GSH_SHMEM_AMO(NAME, T)                                           \
    GSH_SHMEM_BOTH(T, NAME##_cswap, (T * dest, T cond, T value, int pe)) \
    GSH_SHMEM_BOTH(T, NAME##_finc, (T * dest, int pe))                   \
    GSH_SHMEM_BOTH(void, NAME##_inc, (T * dest, int pe))                 \
    GSH_SHMEM_BOTH(T, NAME##_fadd, (T * dest, T value, int pe))          \
    GSH_SHMEM_BOTH(void, NAME##_add, (T * dest, T value, int pe))
SHMEM_OLD_AMO(GSH_SHMEM_AMO)
#undef GSH_SHMEM_AMO
#define GSH_SHMEM_AMO(NAME, T)                                    \
    GSH_SHMEM_BOTH(T, NAME##_fetch, (const T *source, int pe))    \
    GSH_SHMEM_BOTH(void, NAME##_set, (T * dest, T value, int pe)) \
    GSH_SHMEM_BOTH(T, NAME##_swap, (T * dest, T value, int pe))
SHMEM_OLD_SWAP(GSH_SHMEM_AMO)
#undef GSH_SHMEM_AMO
/* Returns once *ivar is no longer value. */
#define GSH_SHMEM_WAIT(NAME, T) GSH_SHMEM_BOTH(void, NAME##_wait, (T * ivar, T value))
SHMEM_OLD_WAIT(GSH_SHMEM_WAIT)
#undef GSH_SHMEM_WAIT
GSH_SHMEM_BOTH(void, wait, (long *ivar, long value))
/* On long, in C before C11, which has no generic interfaces. */
#if !defined(__cplusplus)
void(shmem_wait_until)(long *ivar, int cmp, long cmp_value);
void pshmem_wait_until(long *ivar, int cmp, long cmp_value);
#endif

/* ---- over an active set ---- */

/* In C and C++ shmem_barrier and shmem_sync also take a team (below); shmem_barrier's quiet is the
 * default context's. */
GSH_SHMEM_BOTH(void, barrier, (int PE_start, int logPE_stride, int PE_size, long *pSync))
GSH_SHMEM_BOTH(void, sync, (int PE_start, int logPE_stride, int PE_size, long *pSync))
GSH_SHMEM_BOTH(int, team_barrier, (shmem_team_t team))

/* Elements of 32 or 64 bits. broadcast does not change the dest of PE_root, a number in the set. */
#define GSH_SHMEM_MOVE(BITS)                                                                       \
    GSH_SHMEM_BOTH(void, broadcast##BITS,                                                          \
                   (void *dest, const void *source, size_t nelems, int PE_root, int PE_start,      \
                    int logPE_stride, int PE_size, long *pSync))                                   \
    GSH_SHMEM_BOTH(void, collect##BITS,                                                            \
                   (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, \
                    int PE_size, long *pSync))                                                     \
    GSH_SHMEM_BOTH(void, fcollect##BITS,                                                           \
                   (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, \
                    int PE_size, long *pSync))                                                     \
    GSH_SHMEM_BOTH(void, alltoall##BITS,                                                           \
                   (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, \
                    int PE_size, long *pSync))                                                     \
    GSH_SHMEM_BOTH(void, alltoalls##BITS,                                                          \
                   (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,   \
                    int PE_start, int logPE_stride, int PE_size, long *pSync))
GSH_SHMEM_MOVE(32)
GSH_SHMEM_MOVE(64)
#undef GSH_SHMEM_MOVE

/* dest may be source. The same bits on all PEs. */
#define GSH_SHMEM_REDUCE(NAME, T, OP)                                                       \
    GSH_SHMEM_BOTH(void, NAME##_##OP##_to_all,                                              \
                   (T * dest, const T *source, int nreduce, int PE_start, int logPE_stride, \
                    int PE_size, T *pWrk, long *pSync))
#define GSH_SHMEM_LOGIC(NAME, T) \
    GSH_SHMEM_REDUCE(NAME, T, and) GSH_SHMEM_REDUCE(NAME, T, or) GSH_SHMEM_REDUCE(NAME, T, xor)
#define GSH_SHMEM_ORDERED(NAME, T) GSH_SHMEM_REDUCE(NAME, T, min) GSH_SHMEM_REDUCE(NAME, T, max)
#define GSH_SHMEM_ADDED(NAME, T)   GSH_SHMEM_REDUCE(NAME, T, sum) GSH_SHMEM_REDUCE(NAME, T, prod)
SHMEM_OLD_LOGIC(GSH_SHMEM_LOGIC)
SHMEM_OLD_ORDERED(GSH_SHMEM_ORDERED)
SHMEM_OLD_ADDED(GSH_SHMEM_ADDED)
#undef GSH_SHMEM_ADDED
#undef GSH_SHMEM_ORDERED
#undef GSH_SHMEM_LOGIC
#undef GSH_SHMEM_REDUCE
#undef GSH_SHMEM_BOTH

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

/* ---- by number or type of arguments ---- */

#if defined(__cplusplus)
#if defined(SHMEM_DEVICE_CODE)
static inline __host__ __device__ int shmem_barrier(shmem_team_t team GSHMEM_SITE)
{
    return gshmem_barrier(team GSHMEM_PASS_SITE);
}
static inline __host__ __device__ int shmem_sync(shmem_team_t team GSHMEM_SITE)
{
    return gshmem_team_sync(team GSHMEM_PASS_SITE);
}
#else
static inline int shmem_barrier(shmem_team_t team)
{
    return shmem_team_barrier(team);
}
static inline int shmem_sync(shmem_team_t team)
{
    return shmem_team_sync(team);
}
#endif
#define GSH_SHMEM_OLD(NAME, T)                                    \
    static inline T shmem_cswap(T *dest, T cond, T value, int pe) \
    {                                                             \
        return shmem_##NAME##_cswap(dest, cond, value, pe);       \
    }                                                             \
    static inline T shmem_finc(T *dest, int pe)                   \
    {                                                             \
        return shmem_##NAME##_finc(dest, pe);                     \
    }                                                             \
    static inline void shmem_inc(T *dest, int pe)                 \
    {                                                             \
        shmem_##NAME##_inc(dest, pe);                             \
    }                                                             \
    static inline T shmem_fadd(T *dest, T value, int pe)          \
    {                                                             \
        return shmem_##NAME##_fadd(dest, value, pe);              \
    }                                                             \
    static inline void shmem_add(T *dest, T value, int pe)        \
    {                                                             \
        shmem_##NAME##_add(dest, value, pe);                      \
    }
SHMEM_OLD_AMO(GSH_SHMEM_OLD)
#undef GSH_SHMEM_OLD
#define GSH_SHMEM_OLD(NAME, T)                             \
    static inline T shmem_fetch(const T *source, int pe)   \
    {                                                      \
        return shmem_##NAME##_fetch(source, pe);           \
    }                                                      \
    static inline void shmem_set(T *dest, T value, int pe) \
    {                                                      \
        shmem_##NAME##_set(dest, value, pe);               \
    }                                                      \
    static inline T shmem_swap(T *dest, T value, int pe)   \
    {                                                      \
        return shmem_##NAME##_swap(dest, value, pe);       \
    }
SHMEM_OLD_SWAP(GSH_SHMEM_OLD)
#undef GSH_SHMEM_OLD
/* Classes of complex numbers. */
#if defined(GSH_COMPLEX_CLASSES)
#define GSH_SHMEM_OLD(NAME, PART, OP)                                                             \
    template <class Complex>                                                                      \
    static inline GSHMEM_IF_COMPLEX(void, PART, Complex)                                          \
        shmem_##NAME##_##OP##_to_all(Complex *dest, const Complex *source, int nreduce,           \
                                     int PE_start, int logPE_stride, int PE_size, void *pWrk,     \
                                     long *pSync)                                                 \
    {                                                                                             \
        shmem_##NAME##_##OP##_to_all(reinterpret_cast<shmem_##NAME##_t *>(dest),                  \
                                     reinterpret_cast<const shmem_##NAME##_t *>(source), nreduce, \
                                     PE_start, logPE_stride, PE_size,                             \
                                     static_cast<shmem_##NAME##_t *>(pWrk), pSync);               \
    }
GSH_SHMEM_OLD(complexf, float, sum)
GSH_SHMEM_OLD(complexf, float, prod)
GSH_SHMEM_OLD(complexd, double, sum)
GSH_SHMEM_OLD(complexd, double, prod)
#undef GSH_SHMEM_OLD
#endif
#else
#define GSH_OLD_COUNT(a, b, c, d, form, ...) form
#define shmem_barrier(...) \
    GSHMEM_AT_SITE(GSH_OLD_COUNT(__VA_ARGS__, shmem_barrier, , , shmem_team_barrier, )(__VA_ARGS__))
#define shmem_sync(...) \
    GSHMEM_AT_SITE(GSH_OLD_COUNT(__VA_ARGS__, shmem_sync, , , shmem_team_sync, )(__VA_ARGS__))
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define GSH_OLD_ARM(NAME, T, CALL) , T : shmem_##NAME##_##CALL
#define GSH_OLD_NO_TYPE            struct gsh_old_no_type
struct gsh_old_no_type {
    char unused;
};
#define GSH_OLD_AMO(pointer, CALL)                                       \
    _Generic(*(pointer), GSH_OLD_NO_TYPE : 0 GSH_OLD_ARM(int, int, CALL) \
                             GSH_OLD_ARM(long, long, CALL) GSH_OLD_ARM(longlong, long long, CALL))
#define GSH_OLD_SWAP(pointer, CALL)                                                        \
    _Generic(*(pointer),                                                                   \
             GSH_OLD_NO_TYPE : 0 GSH_OLD_ARM(int, int, CALL) GSH_OLD_ARM(long, long, CALL) \
                 GSH_OLD_ARM(longlong, long long, CALL) GSH_OLD_ARM(float, float, CALL)    \
                     GSH_OLD_ARM(double, double, CALL))
#define shmem_cswap(dest, cond, value, pe) GSH_OLD_AMO(dest, cswap)(dest, cond, value, pe)
#define shmem_finc(dest, pe)               GSH_OLD_AMO(dest, finc)(dest, pe)
#define shmem_inc(dest, pe)                GSH_OLD_AMO(dest, inc)(dest, pe)
#define shmem_fadd(dest, value, pe)        GSH_OLD_AMO(dest, fadd)(dest, value, pe)
#define shmem_add(dest, value, pe)         GSH_OLD_AMO(dest, add)(dest, value, pe)
#define shmem_fetch(source, pe)            GSH_OLD_SWAP(source, fetch)(source, pe)
#define shmem_set(dest, value, pe)         GSH_OLD_SWAP(dest, set)(dest, value, pe)
#define shmem_swap(dest, value, pe)        GSH_OLD_SWAP(dest, swap)(dest, value, pe)
#endif
#endif

#endif
