/* SPDX-License-Identifier: Apache-2.0
 * Barriers, warp calls, fences and clocks of device code, for the CPU device. */
#ifndef GSHMEM_CUDA_SYNC_H
#define GSHMEM_CUDA_SYNC_H

#include <time.h>
#include "cpu.h"

inline void __syncthreads()
{
    gshmemx_cpu_barrier(GSH_CPU_SYNCTHREADS, 0);
}
inline int __syncthreads_count(int p)
{
    return gshmemx_cpu_barrier(GSH_CPU_SYNCTHREADS_COUNT, p);
}
inline int __syncthreads_and(int p)
{
    return gshmemx_cpu_barrier(GSH_CPU_SYNCTHREADS_AND, p);
}
inline int __syncthreads_or(int p)
{
    return gshmemx_cpu_barrier(GSH_CPU_SYNCTHREADS_OR, p);
}

inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    gshmemx_cpu_warp(GSH_CPU_SYNCWARP, mask, 0, 0);
}

/* CUDA does not promise which lanes run together. Here each thread runs by itself, so the mask
 * names the caller alone, and calls made with that mask never wait. */
inline unsigned __activemask()
{
    return 1u << (gshmem_cpu_self->rank % 32);
}

inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    return (unsigned)gshmemx_cpu_warp(GSH_CPU_BALLOT, mask, predicate != 0, 0);
}

inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, !predicate) == 0;
}

namespace gshmem
{
namespace cpu
{

/* A 4- or 8-byte value to bits and back. */
template <class Type> inline uint64_t to_bits(Type value)
{
    static_assert(sizeof(Type) <= 8, "warp calls take values of at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(Type));
    return bits;
}

template <class Type> inline Type from_bits(uint64_t bits)
{
    Type value;
    memcpy(&value, &bits, sizeof(Type));
    return value;
}

inline int lane()
{
    return (int)(gshmem_cpu_self->rank % 32);
}

/* A source outside the caller's segment of `width` lanes means the caller itself. */
template <class Type> inline Type shuffle(unsigned mask, Type value, int source, bool is_inside)
{
    return from_bits<Type>(gshmemx_cpu_warp(GSH_CPU_SHFL, mask, to_bits(value),
                                            (uint32_t)(is_inside ? source : lane())));
}

} // namespace cpu
} // namespace gshmem

template <class Type> inline Type __shfl_sync(unsigned mask, Type value, int source, int width = 32)
{
    int first = gshmem::cpu::lane() & ~(width - 1);
    return gshmem::cpu::shuffle(mask, value, first + (source & (width - 1)), true);
}

template <class Type>
inline Type __shfl_up_sync(unsigned mask, Type value, unsigned delta, int width = 32)
{
    int lane = gshmem::cpu::lane(), first = lane & ~(width - 1);
    return gshmem::cpu::shuffle(mask, value, lane - (int)delta, lane - (int)delta >= first);
}

template <class Type>
inline Type __shfl_down_sync(unsigned mask, Type value, unsigned delta, int width = 32)
{
    int lane = gshmem::cpu::lane(), end = (lane & ~(width - 1)) + width;
    return gshmem::cpu::shuffle(mask, value, lane + (int)delta, lane + (int)delta < end);
}

/* As on the GPU, lanes before the caller's segment can be read, those after it cannot. */
template <class Type>
inline Type __shfl_xor_sync(unsigned mask, Type value, int lane_mask, int width = 32)
{
    int lane = gshmem::cpu::lane(), end = (lane & ~(width - 1)) + width;
    return gshmem::cpu::shuffle(mask, value, lane ^ lane_mask, (lane ^ lane_mask) < end);
}

template <class Type> inline unsigned __match_any_sync(unsigned mask, Type value)
{
    return (unsigned)gshmemx_cpu_warp(GSH_CPU_MATCH_ANY, mask, gshmem::cpu::to_bits(value), 0);
}

template <class Type> inline unsigned __match_all_sync(unsigned mask, Type value, int *is_same)
{
    unsigned same =
        (unsigned)gshmemx_cpu_warp(GSH_CPU_MATCH_ALL, mask, gshmem::cpu::to_bits(value), 0);
    *is_same = same != 0;
    return same;
}

#define GSHMEM_CPU_REDUCE(NAME, T, OP)                                         \
    inline T __reduce_##NAME##_sync(unsigned mask, T value)                    \
    {                                                                          \
        return (T)gshmemx_cpu_warp(GSH_CPU_REDUCE, mask, (uint32_t)value, OP); \
    }
GSHMEM_CPU_REDUCE(add, unsigned, GSH_CPU_ADD)
GSHMEM_CPU_REDUCE(add, int, GSH_CPU_ADD)
GSHMEM_CPU_REDUCE(min, unsigned, GSH_CPU_MIN_U32)
GSHMEM_CPU_REDUCE(min, int, GSH_CPU_MIN_S32)
GSHMEM_CPU_REDUCE(max, unsigned, GSH_CPU_MAX_U32)
GSHMEM_CPU_REDUCE(max, int, GSH_CPU_MAX_S32)
GSHMEM_CPU_REDUCE(and, unsigned, GSH_CPU_AND)
GSHMEM_CPU_REDUCE(or, unsigned, GSH_CPU_OR)
GSHMEM_CPU_REDUCE(xor, unsigned, GSH_CPU_XOR)
#undef GSHMEM_CPU_REDUCE

inline void __threadfence()
{
#ifdef GSHMEM_CPU_TSAN
    gshmemx_cpu_fence();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

inline void __threadfence_block()
{
    __threadfence();
}
inline void __threadfence_system()
{
    __threadfence();
}

/* The block's other threads run meanwhile; the duration is ignored. */
inline void __nanosleep(unsigned)
{
    gshmemx_cpu_yield();
}

/* Nanoseconds, independent of the core's clock. */
inline long long clock64()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000ll + t.tv_nsec;
}

#endif
