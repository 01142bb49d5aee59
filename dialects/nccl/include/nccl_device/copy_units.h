/* SPDX-License-Identifier: Apache-2.0
 * Units of a copy that several carry out: a put's thread and blocks of another kernel, as
 * copy_slots.h says. */
#ifndef GSHMEM_NCCL_COPY_UNITS_H
#define GSHMEM_NCCL_COPY_UNITS_H

#include <gshmem_device.cuh>
#include "copy_slots.h"

namespace gshmem
{
namespace nccl
{

/* Units of a copy: count of them, from first on. */
struct copy_units {
    uint32_t first, count;
};

/* At most `most` of those that nobody has taken. */
__device__ __forceinline__ copy_units take_units(uint32_t *left, uint32_t most)
{
    const int32_t before = (int32_t)detail::atomic_add(left, 0u - most);
    const uint32_t n = before > 0 ? (uint32_t)before : 0u, rest = n > most ? n - most : 0u;
    return {rest, n - rest};
}

/* What the units have of a copy. */
struct copy_part {
    char *dest;
    const char *source;
    size_t bytes;
};
__device__ __forceinline__ copy_part part_of(char *dest, const char *source, size_t bytes,
                                             copy_units units)
{
    const size_t from = (size_t)units.first * GSHMEM_NCCL_COPY_UNIT,
                 most = (size_t)units.count * GSHMEM_NCCL_COPY_UNIT, rest = bytes - from;
    return {dest + from, source + from, rest < most ? rest : most};
}

__device__ __forceinline__ uint32_t units_of(size_t bytes)
{
    return (uint32_t)((bytes + GSHMEM_NCCL_COPY_UNIT - 1) / GSHMEM_NCCL_COPY_UNIT);
}

} // namespace nccl
} // namespace gshmem

#endif
