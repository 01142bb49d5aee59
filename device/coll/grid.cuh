/* SPDX-License-Identifier: Apache-2.0
 * Groups of several blocks, for collectives. All of the blocks must run at the same time (a
 * collective launch), and every member of the team must use the same number of them. */
#ifndef GSHMEM_GRID_CUH
#define GSHMEM_GRID_CUH

#include "../group.cuh"
#include "../memory.cuh"
#include "../wait.cuh"
#include <type_traits>

namespace gshmem
{

/* A group of n_blocks blocks; the calling one is number `index`. */
struct group_blocks {
    uint32_t index, count;

    __device__ __forceinline__ uint32_t rank() const
    {
        return index * detail::block_size() + detail::rank_in_block();
    }
    __device__ __forceinline__ uint32_t size() const { return count * detail::block_size(); }
    __device__ __forceinline__ group_block block_part() const { return {}; }
    __device__ __forceinline__ uint32_t n_blocks() const { return count; }
    __device__ __forceinline__ uint32_t block() const { return index; }
};

/* All blocks of the launch. */
__device__ __forceinline__ group_blocks group_grid()
{
    return {blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z),
            gridDim.x * gridDim.y * gridDim.z};
}

/* The same for the library's own kernels, whose blocks are synchronised only by the launch's
 * beginning and end. */
struct group_launch : group_blocks {
};

namespace detail
{

template <class Group>
constexpr bool is_of_one_block = !std::is_base_of<group_blocks, Group>::value;

/* All blocks of the group on this PE have arrived; what they did before is seen by all after. */
template <class Context, class Group>
__device__ __forceinline__ void join_blocks(const Context &, Group g, gsh_sync_area *, const char *)
{
    g.sync();
}
template <class Context>
__device__ __forceinline__ void join_blocks(const Context &, group_launch, gsh_sync_area *,
                                            const char *)
{
}
template <class Context>
__device__ inline void join_blocks(const Context &c, group_blocks g, gsh_sync_area *area,
                                   const char *call)
{
    group_block().sync();
    if (group_block().rank() == 0 && g.count > 1) {
        const uint64_t lap = load_relaxed(&area->grid_laps);
        /* Serves "as if after the group's own synchronisation": pairs with the fence that the other
         * blocks make after they have read the laps, through the count and the block that comes
         * last. */
        fence_gpu();
        if (atomic_add(&area->grid_arrived, (uint64_t)1) + 1 == g.count) {
            store_relaxed(&area->grid_arrived, (uint64_t)0);
            fence_gpu();
            store_relaxed(&area->grid_laps, lap + 1);
        } else {
            spin_on(
                c, &area->grid_laps, [](const uint64_t *p) { return load_awaited(p); },
                [=](uint64_t seen) { return seen != lap; }, GSH_REPORT_SYNC_TIMEOUT, call,
                state_of(c).my_pe, GSHMEM_CMP_NE, lap);
        }
        fence_gpu();
    }
    group_block().sync();
}

/* Once all threads of the group have read *word, one of them writes it for the next call. Groups
 * that join have joined since they read it. */
template <class Group>
__device__ __forceinline__ void write_for_next(Group g, uint64_t *word, uint64_t value, uint64_t *)
{
    if (g.rank() == 0)
        store_plain(word, value);
}
__device__ __forceinline__ void write_for_next(group_launch g, uint64_t *word, uint64_t value,
                                               uint64_t *n_counted)
{
    group_block().sync();
    if (group_block().rank() != 0)
        return;
    if (g.count > 1) {
        /* Serves "all have read the word before it is written": pairs with the fence that every
         * other block makes here, through the counter. */
        fence_gpu();
        if (atomic_add(n_counted, (uint64_t)1) + 1 < g.count)
            return;
        fence_gpu();
        store_relaxed(n_counted, (uint64_t)0);
    }
    store_relaxed(word, value);
}

} // namespace detail
} // namespace gshmem

#endif
