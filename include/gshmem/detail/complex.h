/* SPDX-License-Identifier: Apache-2.0
 * Not for users' programs. C++ programs have complex numbers of two kinds: the compiler's (float
 * _Complex), which the calls take, and classes, such as std::complex<float>. The calls also take
 * pointers to a class with a real() of type float or double that consists of two of these.
 * <complex> is not needed. */
#ifndef GSHMEM_COMPLEX_H
#define GSHMEM_COMPLEX_H

#if defined(__cplusplus) && __cplusplus >= 201103L
#define GSH_COMPLEX_CLASSES 1

template <class Result, class Part, class Real, bool is_pair> struct gshmem_if_complex {
};
template <class Result, class Part> struct gshmem_if_complex<Result, Part, Part, true> {
    typedef Result type;
};
/* RESULT, for a class Z of complex numbers whose parts are of type PART. */
#define GSHMEM_IF_COMPLEX(RESULT, PART, Z)                                                      \
    typename gshmem_if_complex<RESULT, PART, decltype(static_cast<const Z *>(nullptr)->real()), \
                               sizeof(Z) == 2 * sizeof(PART)>::type

#endif

#endif
