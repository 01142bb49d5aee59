/* SPDX-License-Identifier: Apache-2.0
 * Not for users' programs: macros that the public headers are written with. Included by
 * gshmem/types.h, whose type table the selectors read. */
#ifndef GSHMEM_DETAIL_MACROS_H
#define GSHMEM_DETAIL_MACROS_H

/* Where kernels are compiled the host bodies of [hd] calls live in a namespace of their own, and
 * device/api.cuh defines the calls for both sides. They are the same C symbols. */
#if defined(__cplusplus) && defined(GSHMEM_DEVICE_CODE)
#define GSHMEM_HD_BEGIN   \
    namespace gshmem_host \
    {                     \
    extern "C" {
#define GSHMEM_HD_END \
    }                 \
    }
#elif defined(__cplusplus)
#define GSHMEM_HD_BEGIN extern "C" {
#define GSHMEM_HD_END   }
#else
#define GSHMEM_HD_BEGIN
#define GSHMEM_HD_END
#endif

/* How the constants of types.h are converted: in C++ by a cast that no option of a compiler warns
 * about, for they are expanded in the program's own lines. */
#if defined(__cplusplus)
#define GSH_AS(type, value) static_cast<type>(value)
#else
#define GSH_AS(type, value) ((type)(value))
#endif

/* clang-format off */
/* One for each column of the type table: M(name, type) where the row has a 1 there. */
#define GSHMEM_IF_0(M, name, type)
#define GSHMEM_IF_1(M, name, type) M(name, type)
#define GSHMEM_SEL_RMA(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    M(name, type)
#define GSHMEM_SEL_DISTINCT(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##distinct(M, name, type)
#define GSHMEM_SEL_STD(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##std(M, name, type)
#define GSHMEM_SEL_EXT(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##ext(M, name, type)
#define GSHMEM_SEL_BIT(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##bit(M, name, type)
#define GSHMEM_SEL_WAIT(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##wait(M, name, type)
#define GSHMEM_SEL_LOGIC(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##logic(M, name, type)
#define GSHMEM_SEL_ARITH(M, distinct, std, ext, bit, wait, logic, arith, name, type) \
    GSHMEM_IF_##arith(M, name, type)
/* clang-format on */

#endif
