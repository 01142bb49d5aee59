/* SPDX-License-Identifier: Apache-2.0
 * The part of CUDA's cooperative groups that examples and tests use, for the CPU device: the grid,
 * the block, and tiles of 1 to 32 threads of a block. */
#ifndef GSHMEM_COOPERATIVE_GROUPS_H
#define GSHMEM_COOPERATIVE_GROUPS_H

#ifndef GSHMEM_OWN_WARNINGS
#pragma GCC system_header
#endif
#include "../cuda_names.h"

namespace cooperative_groups
{

class thread_block
{
  public:
    void sync() const { __syncthreads(); }
    static unsigned thread_rank() { return gshmem_cpu_self->rank; }
    static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned size() { return num_threads(); }
    static dim3 thread_index() { return dim3(threadIdx); }
    static dim3 group_index() { return dim3(blockIdx); }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};

/* Valid in a collective launch. */
class grid_group
{
  public:
    bool is_valid() const { return true; }
    void sync() const { gshmemx_cpu_barrier(GSH_CPU_GRID_SYNC, 0); }
    static unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
    static unsigned long long size() { return num_threads(); }
    static unsigned long long block_rank()
    {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    }
    static unsigned long long thread_rank()
    {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return dim3(blockIdx); }
};

template <unsigned Size, class Parent = void> class thread_block_tile
{
    static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                  "a tile has 1, 2, 4, 8, 16 or 32 threads");
    static unsigned first_lane() { return gshmem_cpu_self->rank % 32 & ~(Size - 1); }
    static unsigned mask()
    {
        return (Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1) << first_lane();
    }

  public:
    void sync() const { __syncwarp(mask()); }
    static unsigned thread_rank() { return gshmem_cpu_self->rank % Size; }
    static constexpr unsigned num_threads() { return Size; }
    static constexpr unsigned size() { return Size; }
    static unsigned meta_group_rank() { return gshmem_cpu_self->rank / Size; }
    static unsigned meta_group_size() { return (thread_block::num_threads() + Size - 1) / Size; }
    template <class Type> Type shfl(Type v, int rank) const
    {
        return __shfl_sync(mask(), v, rank, Size);
    }
    template <class Type> Type shfl_up(Type v, unsigned d) const
    {
        return __shfl_up_sync(mask(), v, d, Size);
    }
    template <class Type> Type shfl_down(Type v, unsigned d) const
    {
        return __shfl_down_sync(mask(), v, d, Size);
    }
    template <class Type> Type shfl_xor(Type v, unsigned m) const
    {
        return __shfl_xor_sync(mask(), v, (int)m, Size);
    }
    int any(int p) const { return __any_sync(mask(), p); }
    int all(int p) const { return __all_sync(mask(), p); }
    unsigned ballot(int p) const { return __ballot_sync(mask(), p) >> first_lane(); }
    template <class Type> unsigned match_any(Type v) const
    {
        return __match_any_sync(mask(), v) >> first_lane();
    }
};

inline thread_block this_thread_block()
{
    return thread_block();
}
inline grid_group this_grid()
{
    return grid_group();
}

template <unsigned Size, class Parent>
inline thread_block_tile<Size, Parent> tiled_partition(const Parent &)
{
    return thread_block_tile<Size, Parent>();
}

template <class Group> inline void sync(const Group &group)
{
    group.sync();
}
template <class Group> inline unsigned long long thread_rank(const Group &group)
{
    return group.thread_rank();
}

} // namespace cooperative_groups

#endif
