/* SPDX-License-Identifier: Apache-2.0
 * Host calls on numbers that gshmem's type table lacks: reductions of complex ones. */
#include <gshmemx.h>
#define NVSHMEM_COMPLEX_SUPPORT 1
#include "nvshmem.h"

#define COMPLEX(NAME, T, OP, KIND)                                                                 \
    int nvshmem_##NAME##_##OP##_##KIND(nvshmem_team_t team, T *dest, const T *source,              \
                                       size_t nreduce)                                             \
    {                                                                                              \
        return gshmem_##NAME##_##OP##_##KIND(team, dest, source, nreduce);                         \
    }                                                                                              \
    int nvshmemx_##NAME##_##OP##_##KIND##_on_stream(nvshmem_team_t team, T *dest, const T *source, \
                                                    size_t nreduce, gshmemx_stream_t stream)       \
    {                                                                                              \
        return gshmemx_##NAME##_##OP##_##KIND##_on_stream(team, dest, source, nreduce, stream);    \
    }
COMPLEX(complexf, float _Complex, sum, reduce)
COMPLEX(complexf, float _Complex, sum, reducescatter)
COMPLEX(complexf, float _Complex, prod, reduce)
COMPLEX(complexf, float _Complex, prod, reducescatter)
COMPLEX(complexd, double _Complex, sum, reduce)
COMPLEX(complexd, double _Complex, sum, reducescatter)
COMPLEX(complexd, double _Complex, prod, reduce)
COMPLEX(complexd, double _Complex, prod, reducescatter)
