/* SPDX-License-Identifier: Apache-2.0
 * Shared by the conformance programs: the standard's tables of types, written from its text so that
 * they do not follow the library's, and the sections. PEs may be threads: nothing is static. */
#ifndef GSH_CONFORM_H
#define GSH_CONFORM_H

#include <shmem.h>
#include "tests/test.h"

struct conform {
    int me, n, next, previous;
};

/* clang-format off */
#define INTEGERS(M)                                                                              \
    M(int, int)                                                                                  \
    M(long, long)                                                                                \
    M(longlong, long long) M(uint, unsigned int) M(ulong, unsigned long)                         \
        M(ulonglong, unsigned long long) M(int32, int32_t) M(int64, int64_t) M(uint32, uint32_t) \
            M(uint64, uint64_t) M(size, size_t) M(ptrdiff, ptrdiff_t)
#define SMALL_INTEGERS(M)                                                             \
    M(char, char)                                                                     \
    M(schar, signed char)                                                             \
    M(short, short) M(uchar, unsigned char) M(ushort, unsigned short) M(int8, int8_t) \
        M(int16, int16_t) M(uint8, uint8_t) M(uint16, uint16_t)
#define REALS(M)      M(float, float) M(double, double)
#define RMA_TYPES(M)  INTEGERS(M) SMALL_INTEGERS(M) REALS(M) M(longdouble, long double)
#define AMO_TYPES(M)  INTEGERS(M)
#define SWAP_TYPES(M) INTEGERS(M) REALS(M)
#define BIT_TYPES(M)                                                                         \
    M(uint, unsigned int)                                                                    \
    M(ulong, unsigned long)                                                                  \
    M(ulonglong, unsigned long long) M(int32, int32_t) M(int64, int64_t) M(uint32, uint32_t) \
        M(uint64, uint64_t)
#define WAIT_TYPES(M) INTEGERS(M) M(short, short) M(ushort, unsigned short)
#define LOGIC_TYPES(M)                                                            \
    BIT_TYPES(M)                                                                  \
    M(uchar, unsigned char)                                                       \
    M(ushort, unsigned short) M(int8, int8_t) M(int16, int16_t) M(uint8, uint8_t) \
        M(uint16, uint16_t) M(size, size_t)
#define COMPLEX_TYPES(M) M(complexf, float _Complex) M(complexd, double _Complex)
#define SIZES(M)         M(8, 1) M(16, 2) M(32, 4) M(64, 8) M(128, 16)
/* clang-format on */

/* Symmetric, zeroed. */
static inline void *conform_memory(size_t bytes)
{
    void *p = shmem_calloc(1, bytes);
    if (p == NULL) {
        fprintf(stderr, "no symmetric memory of %zu bytes\n", bytes);
        shmem_global_exit(1);
    }
    return p;
}

/* One for each section: the test_result() of its file. */
int conform_query(const struct conform *c);
int conform_memory_calls(const struct conform *c);
int conform_teams(const struct conform *c);
int conform_contexts(const struct conform *c);
int conform_rma(const struct conform *c);
int conform_rma_strided(const struct conform *c);
int conform_amo(const struct conform *c);
int conform_signal(const struct conform *c);
int conform_wait(const struct conform *c);
int conform_collectives(const struct conform *c);
int conform_reductions(const struct conform *c);
int conform_active_sets(const struct conform *c);
int conform_order(const struct conform *c);
int conform_locks(const struct conform *c);
int conform_old(const struct conform *c);

#endif
