/* SPDX-License-Identifier: Apache-2.0
 * CUDA's vector types and dim3 for the CPU device, with CUDA's sizes and alignments. */
#ifndef GSHMEM_CUDA_VECTOR_H
#define GSHMEM_CUDA_VECTOR_H

#include "cpu.h"

#define GSHMEM_CPU_VECTOR_124(NAME, T, ALIGN2, ALIGN4)       \
    struct NAME##1                                           \
    {                                                        \
        T x;                                                 \
    };                                                       \
    struct __attribute__((aligned(ALIGN2))) NAME##2          \
    {                                                        \
        T x, y;                                              \
    };                                                       \
    struct __attribute__((aligned(ALIGN4))) NAME##4          \
    {                                                        \
        T x, y, z, w;                                        \
    };                                                       \
    static inline NAME##1 make_##NAME##1(T x)                \
    {                                                        \
        return NAME##1 {x};                                  \
    }                                                        \
    static inline NAME##2 make_##NAME##2(T x, T y)           \
    {                                                        \
        return NAME##2 {x, y};                               \
    }                                                        \
    static inline NAME##4 make_##NAME##4(T x, T y, T z, T w) \
    {                                                        \
        return NAME##4 {x, y, z, w};                         \
    }

#define GSHMEM_CPU_VECTOR_3(NAME, T)                    \
    struct NAME##3                                      \
    {                                                   \
        T x, y, z;                                      \
    };                                                  \
    static inline NAME##3 make_##NAME##3(T x, T y, T z) \
    {                                                   \
        return NAME##3 {x, y, z};                       \
    }

GSHMEM_CPU_VECTOR_124(char, signed char, 2, 4)
GSHMEM_CPU_VECTOR_124(uchar, unsigned char, 2, 4)
GSHMEM_CPU_VECTOR_124(short, short, 4, 8)
GSHMEM_CPU_VECTOR_124(ushort, unsigned short, 4, 8)
GSHMEM_CPU_VECTOR_124(int, int, 8, 16)
GSHMEM_CPU_VECTOR_124(uint, unsigned, 8, 16)
GSHMEM_CPU_VECTOR_124(long, long, 16, 16)
GSHMEM_CPU_VECTOR_124(ulong, unsigned long, 16, 16)
GSHMEM_CPU_VECTOR_124(longlong, long long, 16, 16)
GSHMEM_CPU_VECTOR_124(ulonglong, unsigned long long, 16, 16)
GSHMEM_CPU_VECTOR_124(float, float, 8, 16)
GSHMEM_CPU_VECTOR_124(double, double, 16, 16)
GSHMEM_CPU_VECTOR_3(char, signed char)
GSHMEM_CPU_VECTOR_3(uchar, unsigned char)
GSHMEM_CPU_VECTOR_3(short, short)
GSHMEM_CPU_VECTOR_3(ushort, unsigned short)
GSHMEM_CPU_VECTOR_3(int, int)
GSHMEM_CPU_VECTOR_3(long, long)
GSHMEM_CPU_VECTOR_3(ulong, unsigned long)
GSHMEM_CPU_VECTOR_3(longlong, long long)
GSHMEM_CPU_VECTOR_3(ulonglong, unsigned long long)
GSHMEM_CPU_VECTOR_3(float, float)
GSHMEM_CPU_VECTOR_3(double, double)
#undef GSHMEM_CPU_VECTOR_124
#undef GSHMEM_CPU_VECTOR_3

typedef struct gsh_cpu_uint3 uint3;
static inline uint3 make_uint3(unsigned x, unsigned y, unsigned z)
{
    return uint3{x, y, z};
}

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

#endif
