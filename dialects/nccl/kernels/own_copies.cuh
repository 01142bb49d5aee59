/* SPDX-License-Identifier: Apache-2.0
 * Sends and receives in kernels: what a rank sends to itself is copied. */
#ifndef GSH_NCCL_OWN_COPIES_CUH
#define GSH_NCCL_OWN_COPIES_CUH

#include "dialects/nccl/kernels/rings.cuh"

namespace
{
namespace transfer
{

/* The blocks' shares of a copy are parts of so many bytes at least, and at most. */
constexpr uint64_t least_part = 4 << 10, most_part = 64 << 10;

/* The block's share of all copies. A copy's parts go to one block after the other, beginning with
 * the one after that which has the last part of the copy before. */
template <class A> __device__ void copy_own(const A &a, uint32_t block, uint32_t n_blocks)
{
    const uint32_t receives = a.row_begin[a.n_rows], sends = receives + a.n_own;
    uint32_t first = 0;
    for (uint32_t i = 0; i < a.n_own; i++) {
        char *const dest = static_cast<char *>(a.transfers[receives + i].buffer);
        const char *const source = static_cast<const char *>(a.transfers[sends + i].buffer);
        const uint64_t bytes = a.transfers[receives + i].bytes;
        const uint64_t share = (bytes / n_blocks / least_part + 1) * least_part;
        const uint64_t part = share < most_part ? share : most_part;
        if (dest == source)
            continue;
        const uint32_t after = block < first ? block + n_blocks - first : block - first;
        for (uint64_t at = after * part; at < bytes; at += n_blocks * part)
            detail::copy<detail::direction::put, false, gshmem::group_block>(
                detail::rank_in_group{threadIdx.x, blockDim.x}, dest + at, source + at,
                bytes - at < part ? bytes - at : part);
        first = (uint32_t)((first + (bytes + part - 1) / part) % n_blocks);
    }
}

} // namespace transfer
} // namespace

#endif
