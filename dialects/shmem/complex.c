/* SPDX-License-Identifier: Apache-2.0
 * Scans of complex numbers, which gshmem lacks: real and imaginary parts are added separately. */
#include <gshmem.h>
#include "shmem.h"

#define SCAN(NAME, T, PART, KIND)                                                                \
    int pshmem_##NAME##_sum_##KIND(shmem_team_t team, T *dest, const T *source, size_t nelems)   \
    {                                                                                            \
        return gshmem_##PART##_sum_##KIND(team, (PART *)dest, (const PART *)source, 2 * nelems); \
    }                                                                                            \
    int shmem_##NAME##_sum_##KIND(shmem_team_t team, T *dest, const T *source, size_t nelems)    \
        __attribute__((weak, alias("pshmem_" #NAME "_sum_" #KIND)));
SCAN(complexf, shmem_complexf_t, float, inscan)
SCAN(complexf, shmem_complexf_t, float, exscan)
SCAN(complexd, shmem_complexd_t, double, inscan)
SCAN(complexd, shmem_complexd_t, double, exscan)
