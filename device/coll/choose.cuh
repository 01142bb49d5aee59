/* SPDX-License-Identifier: Apache-2.0
 * Chooses a collective's way from where the members are, the group that calls, and the number of
 * bytes from each member to each other. All members decide alike, from the same numbers. */
#ifndef GSHMEM_COLL_CHOOSE_CUH
#define GSHMEM_COLL_CHOOSE_CUH

#include "ll.cuh"
#include "grid.cuh"
#include "team.cuh"

namespace gshmem
{
namespace detail
{

/* The row in gsh_state's limits. */
template <class Group> struct limit_of {
    static constexpr int row = 3;
};
template <> struct limit_of<group_thread> {
    static constexpr int row = 0;
};
template <> struct limit_of<group_warp> {
    static constexpr int row = 1;
};
template <> struct limit_of<group_warpgroup> {
    static constexpr int row = 1;
};
template <> struct limit_of<group_block> {
    static constexpr int row = 2;
};

/* bytes: from each member to each other, or is_one_way, from one: on GPUs these may be twice as
 * many. */
template <class Group, class Context>
__device__ __forceinline__ bool is_ll(const Context &c, const ll_buffers<Context> &s,
                                      uint64_t bytes, bool is_one_way)
{
    const uint64_t most = state_of(c).ll_max[limit_of<Group>::row];
    return bytes <= (is_one_way && !is_cpu_device ? 2 * most : most) && s.fits(bytes);
}

} // namespace detail
} // namespace gshmem

#endif
