/* SPDX-License-Identifier: Apache-2.0
 * Part of nvshmem.h if NVSHMEM_COMPLEX_SUPPORT is defined: reductions of complex numbers on the
 * host. C uses its own types; C++ any that consist of two floats or doubles. */
#if defined(__cplusplus)
#define NVSHMEM_COMPLEXF void
#define NVSHMEM_COMPLEXD void
#else
#define NVSHMEM_COMPLEXF float _Complex
#define NVSHMEM_COMPLEXD double _Complex
#endif
#define NVSHMEM_COMPLEX(NAME, T, OP, KIND)                                                         \
    int nvshmem_##NAME##_##OP##_##KIND(nvshmem_team_t team, T *dest, const T *source,              \
                                       size_t nreduce);                                            \
    int nvshmemx_##NAME##_##OP##_##KIND##_on_stream(nvshmem_team_t team, T *dest, const T *source, \
                                                    size_t nreduce, gshmemx_stream_t stream);
NVSHMEM_COMPLEX(complexf, NVSHMEM_COMPLEXF, sum, reduce)
NVSHMEM_COMPLEX(complexf, NVSHMEM_COMPLEXF, sum, reducescatter)
NVSHMEM_COMPLEX(complexf, NVSHMEM_COMPLEXF, prod, reduce)
NVSHMEM_COMPLEX(complexf, NVSHMEM_COMPLEXF, prod, reducescatter)
NVSHMEM_COMPLEX(complexd, NVSHMEM_COMPLEXD, sum, reduce)
NVSHMEM_COMPLEX(complexd, NVSHMEM_COMPLEXD, sum, reducescatter)
NVSHMEM_COMPLEX(complexd, NVSHMEM_COMPLEXD, prod, reduce)
NVSHMEM_COMPLEX(complexd, NVSHMEM_COMPLEXD, prod, reducescatter)
#undef NVSHMEM_COMPLEX
#undef NVSHMEM_COMPLEXD
#undef NVSHMEM_COMPLEXF
