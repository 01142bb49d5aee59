/* SPDX-License-Identifier: Apache-2.0
 * cooperative_groups::reduce over a full tile, for the CPU device. All threads get identical bits.
 */
#ifndef GSHMEM_COOPERATIVE_GROUPS_REDUCE_H
#define GSHMEM_COOPERATIVE_GROUPS_REDUCE_H

#ifndef GSHMEM_OWN_WARNINGS
#pragma GCC system_header
#endif
#include "../cooperative_groups.h"

namespace cooperative_groups
{

#define GSHMEM_CPU_OPERATION(NAME, RESULT)                                                 \
    template <class Type = void> struct NAME {                                             \
        template <class Value> Value operator()(Value a, Value b) const { return RESULT; } \
    };
GSHMEM_CPU_OPERATION(plus, a + b)
GSHMEM_CPU_OPERATION(less, b < a ? b : a)
GSHMEM_CPU_OPERATION(greater, a < b ? b : a)
GSHMEM_CPU_OPERATION(bit_and, (a & b))
GSHMEM_CPU_OPERATION(bit_or, a | b)
GSHMEM_CPU_OPERATION(bit_xor, a ^ b)
#undef GSHMEM_CPU_OPERATION

template <unsigned Size, class Parent, class Type, class Operation>
inline Type reduce(const thread_block_tile<Size, Parent> &tile, Type value, Operation operation)
{
    for (unsigned distance = Size / 2; distance > 0; distance /= 2) {
        Type other = tile.shfl_xor(value, distance);
        value = tile.thread_rank() & distance ? operation(other, value) : operation(value, other);
    }
    return value;
}

} // namespace cooperative_groups

#endif
