/* SPDX-License-Identifier: Apache-2.0
 * The deprecated atomics and waits, and collectives over an active set. The latter are for programs
 * that have not been changed since: plain puts and gets, and the set's barrier. */
#include <stdlib.h>
#include <string.h>
#include "active_set.h"
#include "shmem.h"

/* ---- atomics and waits ---- */

#define AMO(NAME, T)                                                      \
    T shmem_##NAME##_cswap(T *dest, T cond, T value, int pe)              \
    {                                                                     \
        return shmem_##NAME##_atomic_compare_swap(dest, cond, value, pe); \
    }                                                                     \
    T shmem_##NAME##_finc(T *dest, int pe)                                \
    {                                                                     \
        return shmem_##NAME##_atomic_fetch_inc(dest, pe);                 \
    }                                                                     \
    void shmem_##NAME##_inc(T *dest, int pe)                              \
    {                                                                     \
        shmem_##NAME##_atomic_inc(dest, pe);                              \
    }                                                                     \
    T shmem_##NAME##_fadd(T *dest, T value, int pe)                       \
    {                                                                     \
        return shmem_##NAME##_atomic_fetch_add(dest, value, pe);          \
    }                                                                     \
    void shmem_##NAME##_add(T *dest, T value, int pe)                     \
    {                                                                     \
        shmem_##NAME##_atomic_add(dest, value, pe);                       \
    }
SHMEM_OLD_AMO(AMO)
#undef AMO

#define AMO(NAME, T)                                        \
    T shmem_##NAME##_fetch(const T *source, int pe)         \
    {                                                       \
        return shmem_##NAME##_atomic_fetch(source, pe);     \
    }                                                       \
    void shmem_##NAME##_set(T *dest, T value, int pe)       \
    {                                                       \
        shmem_##NAME##_atomic_set(dest, value, pe);         \
    }                                                       \
    T shmem_##NAME##_swap(T *dest, T value, int pe)         \
    {                                                       \
        return shmem_##NAME##_atomic_swap(dest, value, pe); \
    }
SHMEM_OLD_SWAP(AMO)
#undef AMO

#define WAIT(NAME, T)                                         \
    void shmem_##NAME##_wait(T *ivar, T value)                \
    {                                                         \
        shmem_##NAME##_wait_until(ivar, SHMEM_CMP_NE, value); \
    }
SHMEM_OLD_WAIT(WAIT)
#undef WAIT

void shmem_wait(long *ivar, long value)
{
    shmem_long_wait(ivar, value);
}

/* ---- barriers ---- */

void(shmem_barrier)(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    (void)pSync;
    gshmem_barrier(gsh_set_team("shmem_barrier", PE_start, logPE_stride, PE_size));
}

void(shmem_sync)(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    (void)pSync;
    gshmem_team_sync(gsh_set_team("shmem_sync", PE_start, logPE_stride, PE_size));
}

int shmem_team_barrier(shmem_team_t team)
{
    return gshmem_barrier(team);
}

/* ---- moving data ---- */

/* The PEs of a call. */
struct members {
    gshmem_team_t team;
    int start, log_stride, n, me; /* me: this PE's number among them */
};

static struct members enter(const char *call, int start, int log_stride, int n)
{
    gshmem_team_t team = gsh_set_team(call, start, log_stride, n);
    return (struct members){team, start, log_stride, n, gshmem_team_my_pe(team)};
}

static int pe_of(const struct members *m, int i)
{
    return m->start + (i << m->log_stride);
}

static void broadcast(const struct members *m, void *dest, const void *source, size_t bytes,
                      int root)
{
    for (int i = 0; m->me == root && i < m->n; i++) {
        if (i != root) {
            gshmem_putmem_nbi(dest, source, bytes, pe_of(m, i));
        }
    }
    gshmem_barrier(m->team);
}

/* This PE's bytes to every member's dest. */
static void put_to_all(const struct members *m, char *dest, const void *source, size_t bytes)
{
    for (int i = 1; i <= m->n; i++) { /* each begins with another one */
        gshmem_putmem_nbi(dest, source, bytes, pe_of(m, (m->me + i) % m->n));
    }
}

/* The elements of the members before this one. Each tells each: 0 in a word is nothing yet. */
static size_t elements_before(const struct members *m, size_t nelems)
{
    uint64_t *words = gsh_set_words();
    size_t before = 0;
    for (int i = 0; i < m->n; i++) {
        gshmem_uint64_p(words + gshmem_my_pe(), nelems + 1, pe_of(m, i));
    }
    for (int i = 0; i < m->n; i++) {
        uint64_t *word = words + pe_of(m, i);
        gshmem_uint64_wait_until(word, GSHMEM_CMP_NE, 0);
        before += i < m->me ? (size_t)gshmem_uint64_atomic_fetch(word, gshmem_my_pe()) - 1 : 0;
        gshmem_uint64_atomic_set(word, 0, gshmem_my_pe());
    }
    return before;
}

static void alltoalls(const struct members *m, char *dest, const char *source, ptrdiff_t dst,
                      ptrdiff_t sst, size_t nelems, size_t elem_bytes)
{
    for (int k = 1; k <= m->n; k++) {
        int i = (m->me + k) % m->n;
        char *to = dest + (size_t)m->me * nelems * (size_t)dst * elem_bytes;
        const char *from = source + (size_t)i * nelems * (size_t)sst * elem_bytes;
        if (elem_bytes == 4) {
            gshmem_iput32(to, from, dst, sst, nelems, pe_of(m, i));
        } else {
            gshmem_iput64(to, from, dst, sst, nelems, pe_of(m, i));
        }
    }
    gshmem_barrier(m->team);
}

#define SET(CALL)                                                                    \
    const struct members m = enter("shmem_" #CALL, PE_start, logPE_stride, PE_size); \
    (void)pSync

#define MOVE(BITS, BYTES)                                                                     \
    void shmem_broadcast##BITS(void *dest, const void *source, size_t nelems, int PE_root,    \
                               int PE_start, int logPE_stride, int PE_size, long *pSync)      \
    {                                                                                         \
        SET(broadcast##BITS);                                                                 \
        broadcast(&m, dest, source, nelems *BYTES, PE_root);                                  \
    }                                                                                         \
    void shmem_collect##BITS(void *dest, const void *source, size_t nelems, int PE_start,     \
                             int logPE_stride, int PE_size, long *pSync)                      \
    {                                                                                         \
        SET(collect##BITS);                                                                   \
        size_t before = elements_before(&m, nelems);                                          \
        put_to_all(&m, (char *)dest + before * BYTES, source, nelems * BYTES);                \
        gshmem_barrier(m.team);                                                               \
    }                                                                                         \
    void shmem_fcollect##BITS(void *dest, const void *source, size_t nelems, int PE_start,    \
                              int logPE_stride, int PE_size, long *pSync)                     \
    {                                                                                         \
        SET(fcollect##BITS);                                                                  \
        put_to_all(&m, (char *)dest + (size_t)m.me * nelems * BYTES, source, nelems * BYTES); \
        gshmem_barrier(m.team);                                                               \
    }                                                                                         \
    void shmem_alltoall##BITS(void *dest, const void *source, size_t nelems, int PE_start,    \
                              int logPE_stride, int PE_size, long *pSync)                     \
    {                                                                                         \
        SET(alltoall##BITS);                                                                  \
        alltoalls(&m, dest, source, 1, 1, nelems, BYTES);                                     \
    }                                                                                         \
    void shmem_alltoalls##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,  \
                               size_t nelems, int PE_start, int logPE_stride, int PE_size,    \
                               long *pSync)                                                   \
    {                                                                                         \
        SET(alltoalls##BITS);                                                                 \
        alltoalls(&m, dest, source, dst, sst, nelems, BYTES);                                 \
    }
MOVE(32, 4)
MOVE(64, 8)
#undef MOVE

/* ---- reductions ---- */

/* In pieces, each member gets what the others have, in the order of the set. */
enum { PIECE_BYTES = 32768 };

typedef void (*combine)(void *into, const void *more, size_t nelems);

static void reduce(const struct members *m, void *dest, const void *source, int nreduce,
                   size_t elem_bytes, combine f)
{
    size_t piece = PIECE_BYTES / elem_bytes, n = nreduce > 0 ? (size_t)nreduce : 0;
    char *sum = malloc(2 * PIECE_BYTES), *more = sum + PIECE_BYTES;
    if (sum == NULL) {
        abort();
    }
    gshmem_barrier(m->team);
    for (size_t at = 0; at < n; at += piece) {
        size_t nelems = n - at < piece ? n - at : piece, bytes = nelems * elem_bytes;
        for (int i = 0; i < m->n; i++) {
            gshmem_getmem(i == 0 ? sum : more, (const char *)source + at * elem_bytes, bytes,
                          pe_of(m, i));
            if (i > 0) {
                f(sum, more, nelems);
            }
        }
        gshmem_team_sync(m->team); /* all have read: dest may be source */
        gshmem_putmem((char *)dest + at * elem_bytes, sum, bytes, gshmem_my_pe());
    }
    gshmem_barrier(m->team);
    free(sum);
}

#define AND(a, b)  ((a) & (b))
#define OR(a, b)   ((a) | (b))
#define XOR(a, b)  ((a) ^ (b))
#define MIN(a, b)  ((b) < (a) ? (b) : (a))
#define MAX(a, b)  ((a) < (b) ? (b) : (a))
#define SUM(a, b)  ((a) + (b))
#define PROD(a, b) ((a) * (b))
#define REDUCE(NAME, T, OP, F)                                                             \
    static void NAME##_##OP(void *into, const void *more, size_t nelems)                   \
    {                                                                                      \
        T *a = into;                                                                       \
        const T *b = more;                                                                 \
        for (size_t i = 0; i < nelems; i++) {                                              \
            a[i] = (T)F(a[i], b[i]);                                                       \
        }                                                                                  \
    }                                                                                      \
    void shmem_##NAME##_##OP##_to_all(T *dest, const T *source, int nreduce, int PE_start, \
                                      int logPE_stride, int PE_size, T *pWrk, long *pSync) \
    {                                                                                      \
        SET(NAME##_##OP##_to_all);                                                         \
        (void)pWrk;                                                                        \
        reduce(&m, dest, source, nreduce, sizeof(T), NAME##_##OP);                         \
    }
#define LOGIC(NAME, T)   REDUCE(NAME, T, and, AND) REDUCE(NAME, T, or, OR) REDUCE(NAME, T, xor, XOR)
#define ORDERED(NAME, T) REDUCE(NAME, T, min, MIN) REDUCE(NAME, T, max, MAX)
#define ADDED(NAME, T)   REDUCE(NAME, T, sum, SUM) REDUCE(NAME, T, prod, PROD)
SHMEM_OLD_LOGIC(LOGIC)
SHMEM_OLD_ORDERED(ORDERED)
SHMEM_OLD_ADDED(ADDED)
