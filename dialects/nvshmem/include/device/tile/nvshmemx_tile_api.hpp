/* SPDX-License-Identifier: Apache-2.0
 * Reductions of tiles in kernels:
 *
 *     nvshmemx::tile_{sum,max,min}_reduce{,_warp,_block}<Source, Dest, Coord, algorithm>(
 *         team, source, dest, start_coord, boundary, root, flag)
 *     nvshmemx::tile_{sum,max,min}_rooted_reduce{,_warp,_block}, with the same parameters
 *     nvshmemx::tile_collective_wait{,_warp,_block}<algorithm>(team, flag)
 *
 * Collective over the team, by the same kind of group on all members. source and dest are Tensors
 * of the same shape over symmetric memory. Every member's dest (rooted: that of member root)
 * becomes the reduction of all sources, with the bits that gshmem's other reductions have; it is
 * complete, and the sources may be changed, after tile_collective_wait. The element at `at` of the
 * tile is left out where start_coord + at is not below boundary in every dimension; empty ones
 * leave none out. The algorithm and, but for rooted, the root are taken and not used: each member
 * reads from all others. flag is 0. They return 0, or an error when the team or root does not
 * exist. */
#ifndef NVSHMEMX_TILE_API_HPP
#define NVSHMEMX_TILE_API_HPP

#include "../../device_host/nvshmem_tensor.h"

#if defined(NVSHMEM_DEVICE_CODE)

namespace nvshmemx
{

enum class tile_coll_algo_t {
    NVLS_ONE_SHOT_PUSH_NBI = 0,
    NVLS_ONE_SHOT_PULL_NBI = 1,
    NVLS_TWO_SHOT_PUSH_NBI = 2,
    NVLS_TWO_SHOT_PULL_NBI = 3,
};
enum class tile_algo_t {
    PEER_PUSH_NBI = 0,
    PEER_PULL_NBI = 0,
    REMOTE_PUSH_NBI = 1,
    REMOTE_PULL_NBI = 1,
};

namespace detail
{

/* Dimension I of an element, whose number counts along the first dimension first, and those after
 * it: where the element lies, and whether it is within the boundary. */
template <size_t I, class Shape, class Stride>
__device__ inline ptrdiff_t offset_in(size_t number, const Shape &shape, const Stride &stride)
{
    if constexpr (I == tuples::tuple_size<Shape>::value) {
        return 0;
    } else {
        const size_t n = (size_t)(int)tuples::get<I>(shape);
        return (ptrdiff_t)(number % n) * (ptrdiff_t)tuples::get<I>(stride) +
               offset_in<I + 1>(number / n, shape, stride);
    }
}

template <size_t I, class Shape> __device__ inline size_t size_of(const Shape &shape)
{
    if constexpr (I == tuples::tuple_size<Shape>::value)
        return 1;
    else
        return (size_t)(int)tuples::get<I>(shape) * size_of<I + 1>(shape);
}

/* Programs say "no boundary" by a tuple, or any struct, of nothing. */
template <size_t I, class Shape, class Coord>
__device__ inline bool is_within(size_t number, const Shape &shape, const Coord &start,
                                 const Coord &boundary)
{
    if constexpr (__is_empty(Coord)) {
        return true;
    } else if constexpr (I == tuples::tuple_size<Coord>::value) {
        return true;
    } else {
        const size_t n = (size_t)(int)tuples::get<I>(shape);
        return (ptrdiff_t)(number % n) + (ptrdiff_t)tuples::get<I>(start) <
                   (ptrdiff_t)tuples::get<I>(boundary) &&
               is_within<I + 1>(number / n, shape, start, boundary);
    }
}

/* only: the one member whose dest is written, -1: all. */
template <class Op, class G, class Source, class Dest, class Coord>
__device__ inline int reduce_tile(G group, nvshmem_team_t team, Source source, Dest dest,
                                  Coord start, Coord boundary, int only, const char *call)
{
    typedef typename Dest::value_type T;
    typedef typename gshmem::compute<T, Op::works_on>::type E;
    typedef gshmem::detail::accumulator<E> sum_of;
    typedef gshmem::detail::word<E> word;
    static_assert(sizeof(E) == sizeof(T), "a tile's elements are numbers");
    const auto context = gshmem::default_context();
    const int n = gshmem::team_n_pes(context, team);
    if (only < -1 || only >= n)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    int error = gshmem::barrier(context, group, team, 0, call); /* the sources are there */
    if (error != 0 || (only != -1 && only != gshmem::team_my_pe(context, team)))
        return error;
    const size_t n_elements = size_of<0>(dest.shape());
    for (size_t i = group.rank(); i < n_elements; i += group.size()) {
        if (!is_within<0>(i, dest.shape(), start, boundary))
            continue;
        const ptrdiff_t from = offset_in<0>(i, source.shape(), source.stride());
        const ptrdiff_t to = offset_in<0>(i, dest.shape(), dest.stride());
        typename sum_of::type sum = {};
        for (int m = 0; m < n; m++) {
            const int pe = gshmem::team_translate_pe(context, team, m, NVSHMEM_TEAM_WORLD);
            const word its =
                gshmem::g(context, reinterpret_cast<const word *>(source.data() + from), pe, call);
            const auto value = sum_of::open(gshmem::detail::bit_cast<E>(its));
            sum = m == 0 ? value : Op::of(sum, value);
        }
        reinterpret_cast<E *>(dest.data())[to] = sum_of::close(sum);
    }
    return 0;
}

} // namespace detail

#define NVSHMEM_TILE_REDUCE(OP, SUFFIX, GROUP)                                                     \
    template <class Source, class Dest, class Coord, tile_coll_algo_t algorithm>                   \
    __device__ inline int tile_##OP##_reduce##SUFFIX(nvshmem_team_t team, Source source,           \
                                                     Dest dest, Coord start_coord, Coord boundary, \
                                                     int, uint64_t)                                \
    {                                                                                              \
        return detail::reduce_tile<gshmem::op_##OP>(gshmem::group_##GROUP(), team, source, dest,   \
                                                    start_coord, boundary, -1,                     \
                                                    "nvshmemx::tile_" #OP "_reduce" #SUFFIX);      \
    }                                                                                              \
    template <class Source, class Dest, class Coord, tile_coll_algo_t algorithm>                   \
    __device__ inline int tile_##OP##_rooted_reduce##SUFFIX(nvshmem_team_t team, Source source,    \
                                                            Dest dest, Coord start_coord,          \
                                                            Coord boundary, int root, uint64_t)    \
    {                                                                                              \
        if (root < 0)                                                                              \
            return NVSHMEMX_ERROR_INVALID_VALUE;                                                   \
        return detail::reduce_tile<gshmem::op_##OP>(                                               \
            gshmem::group_##GROUP(), team, source, dest, start_coord, boundary, root,              \
            "nvshmemx::tile_" #OP "_rooted_reduce" #SUFFIX);                                       \
    }
#define NVSHMEM_TILE(SUFFIX, GROUP)                                                         \
    NVSHMEM_TILE_REDUCE(sum, SUFFIX, GROUP)                                                 \
    NVSHMEM_TILE_REDUCE(max, SUFFIX, GROUP)                                                 \
    NVSHMEM_TILE_REDUCE(min, SUFFIX, GROUP)                                                 \
    template <tile_coll_algo_t algorithm>                                                   \
    __device__ inline int tile_collective_wait##SUFFIX(nvshmem_team_t team, uint64_t)       \
    {                                                                                       \
        return gshmem::barrier(gshmem::default_context(), gshmem::group_##GROUP(), team, 0, \
                               "nvshmemx::tile_collective_wait" #SUFFIX);                   \
    }
NVSHMEM_TILE(, thread)
NVSHMEM_TILE(_warp, warp)
NVSHMEM_TILE(_block, block)
#undef NVSHMEM_TILE
#undef NVSHMEM_TILE_REDUCE

/* What is not there (names.txt), with the reason. */
#define NVSHMEM_NO_TILE(NAME, WHY)                                                   \
    template <class... P, class... A> __device__ inline int NAME(A...)               \
    {                                                                                \
        static_assert(sizeof...(A) == 99, "nvshmemx::" #NAME " is not there: " WHY); \
        return 0;                                                                    \
    }                                                                                \
    template <class S, class D, class C, auto algorithm, class... A>                 \
    __device__ inline int NAME(A...)                                                 \
    {                                                                                \
        static_assert(sizeof...(A) == 99, "nvshmemx::" #NAME " is not there: " WHY); \
        return 0;                                                                    \
    }                                                                                \
    template <auto algorithm, class... A> __device__ inline int NAME(A...)           \
    {                                                                                \
        static_assert(sizeof...(A) == 99, "nvshmemx::" #NAME " is not there: " WHY); \
        return 0;                                                                    \
    }
#define NVSHMEM_NO_MOVE(NAME)                                  \
    NVSHMEM_NO_TILE(NAME, "gshmem moves no tiles")             \
    NVSHMEM_NO_TILE(NAME##_warp, "gshmem moves no tiles")      \
    NVSHMEM_NO_TILE(NAME##_warpgroup, "gshmem moves no tiles") \
    NVSHMEM_NO_TILE(NAME##_block, "gshmem moves no tiles")
NVSHMEM_NO_MOVE(tile_allgather)
NVSHMEM_NO_MOVE(tile_broadcast)
NVSHMEM_NO_MOVE(tile_put)
NVSHMEM_NO_MOVE(tile_get)
#define NVSHMEM_NO_WARPGROUP(NAME) NVSHMEM_NO_TILE(NAME, "gshmem has no group of four warps")
NVSHMEM_NO_WARPGROUP(tile_sum_reduce_warpgroup)
NVSHMEM_NO_WARPGROUP(tile_max_reduce_warpgroup)
NVSHMEM_NO_WARPGROUP(tile_min_reduce_warpgroup)
NVSHMEM_NO_WARPGROUP(tile_sum_rooted_reduce_warpgroup)
NVSHMEM_NO_WARPGROUP(tile_max_rooted_reduce_warpgroup)
NVSHMEM_NO_WARPGROUP(tile_min_rooted_reduce_warpgroup)
NVSHMEM_NO_WARPGROUP(tile_collective_wait_warpgroup)
#undef NVSHMEM_NO_WARPGROUP
#undef NVSHMEM_NO_MOVE
#undef NVSHMEM_NO_TILE

} // namespace nvshmemx

#endif

#endif
