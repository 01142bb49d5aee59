/* SPDX-License-Identifier: Apache-2.0
 * How GIN copies to ranks that loads and stores reach. */
#ifndef GSHMEM_NCCL_GIN_COPY_H
#define GSHMEM_NCCL_GIN_COPY_H

#include "coop.h"

namespace gshmem
{
namespace nccl
{

/* Copies to mapped memory by the group's threads, which synchronise before and after. */
template <class Group>
__device__ __forceinline__ void copy_to(Group g, char *mapped, const char *source, size_t bytes)
{
    detail::copy<detail::direction::put, false, Group>({g.rank(), g.size()}, mapped, source, bytes);
}

/* A thread's put: if each thread of a block puts to a peer, one at a time has the bulk-copy engine.
 * The others use loads and stores and ask for it again after each piece, since it moves as much as
 * some 20 of them. */
template <>
__device__ __forceinline__ void copy_to(group_thread, char *mapped, const char *source,
                                        size_t bytes)
{
    constexpr size_t piece = 1024;
    if constexpr (!detail::is_cpu_device) {
        GSHMEM_NO_UNROLL
        while (bytes > 2 * piece && detail::unlike_vectors(mapped, source, bytes) == 0) {
            if (detail::bulk_copy(0, 1, mapped, source, bytes))
                return;
            detail::copy_rows<detail::direction::put, group_thread, 8, false>(0, 1, mapped, source,
                                                                              piece / 16);
            mapped += piece;
            source += piece;
            bytes -= piece;
        }
    }
    if (detail::is_word<1>(mapped, source, bytes))
        detail::copy_word<detail::direction::put>(mapped, source, bytes);
    else
        detail::copy<detail::direction::put, false, group_thread>({0, 1}, mapped, source, bytes);
}

} // namespace nccl
} // namespace gshmem

#endif
