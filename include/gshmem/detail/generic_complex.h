/* SPDX-License-Identifier: Apache-2.0
 * Not for users' programs. The C++ reductions of classes of complex numbers
 * (gshmem/detail/complex.h). Included by gshmem/generic_coll.h. */

#include "gshmem/detail/complex.h"

#if defined(GSHMEM_HAS_COMPLEX)
#if defined(GSH_COMPLEX_CLASSES)

/* The call for NAME under its own name and under the generic one. */
#define GSHMEM_OF_CLASS(NAME, PART, CALL)                                                       \
    template <class Complex>                                                                    \
    static inline GSHMEM_IF_COMPLEX(int, PART, Complex) gshmem_##NAME##_##CALL(                 \
        gshmem_team_t team, Complex *dest, const Complex *source, size_t nreduce)               \
    {                                                                                           \
        return gshmem_##NAME##_##CALL(team, reinterpret_cast<gshmem_##NAME##_t *>(dest),        \
                                      reinterpret_cast<const gshmem_##NAME##_t *>(source),      \
                                      nreduce);                                                 \
    }                                                                                           \
    template <class Complex>                                                                    \
    static inline GSHMEM_IF_COMPLEX(int, PART, Complex)                                         \
        gshmem_##CALL(gshmem_team_t team, Complex *dest, const Complex *source, size_t nreduce) \
    {                                                                                           \
        return gshmem_##NAME##_##CALL(team, dest, source, nreduce);                             \
    }
GSHMEM_OF_CLASS(complexf, float, sum_reduce)
GSHMEM_OF_CLASS(complexf, float, sum_reducescatter)
GSHMEM_OF_CLASS(complexf, float, prod_reduce)
GSHMEM_OF_CLASS(complexf, float, prod_reducescatter)
GSHMEM_OF_CLASS(complexd, double, sum_reduce)
GSHMEM_OF_CLASS(complexd, double, sum_reducescatter)
GSHMEM_OF_CLASS(complexd, double, prod_reduce)
GSHMEM_OF_CLASS(complexd, double, prod_reducescatter)

#endif
#endif
