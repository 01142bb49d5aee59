/* SPDX-License-Identifier: Apache-2.0
 * Tiles in kernels. SCOPE is nothing, _warp, _warpgroup or _block: who makes the call together.
 *
 *     nvshmemx::tile_{put,get}SCOPE<Source, Dest, Coord, algorithm>(
 *         source, dest, start_coord, boundary, pe, flag)
 *     nvshmemx::tile_{sum,max,min}_{reduce,rooted_reduce}SCOPE<Source, Dest, Coord, algorithm>(
 *         team, source, dest, start_coord, boundary, root, flag), reduce also without root
 *     nvshmemx::tile_broadcastSCOPE, with the same parameters
 *     nvshmemx::tile_allgatherSCOPE, the same without root
 *     nvshmemx::tile_collective_waitSCOPE<algorithm>(team, flag)
 *
 * source and dest are Tensors; the tile has the shape of source. The element at `at` of the tile is
 * excluded unless start_coord + at is below boundary in every dimension; empty ones exclude none.
 * Elements that are adjacent on both sides are moved together. flag is 0 and, except in reductions,
 * the algorithm is not used. All return 0, or an error if the team, root or PE does not exist.
 *
 * put and get: as nvshmem_put_nbi and get_nbi; dest, or source, is symmetric.
 *
 * The others are collective over the team, by the same kind of group on all members, one at a time
 * per team; both sides are symmetric. They are complete, and sources may be changed, after
 * tile_collective_wait. Reductions: the dest of every member (rooted: of member root) becomes the
 * reduction of all sources. NVLS_ONE_SHOT_PULL_NBI: each member adds up for itself, and its dest
 * may be any memory but its source; otherwise each adds up a part and gives it to all. broadcast:
 * every member's dest becomes member root's source. allgather: dest gets the tiles of all members
 * side by side along the last dimension, in team order. */
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

/* A tile's elements within its boundary, in runs that are contiguous on both sides. */
template <int rank> struct tile_runs {
    size_t length;       /* elements of a run */
    size_t n;            /* number of runs */
    size_t of[rank + 1]; /* number of runs along each dimension */
    ptrdiff_t source_step[rank + 1], dest_step[rank + 1];

    __device__ __forceinline__ ptrdiff_t offset(const ptrdiff_t *step, size_t run) const
    {
        ptrdiff_t off = 0;
        for (int d = 0; d < rank; d++) {
            off += (ptrdiff_t)(run % of[d]) * step[d];
            run /= of[d];
        }
        return off;
    }
    __device__ __forceinline__ ptrdiff_t in_source(size_t run) const
    {
        return offset(source_step, run);
    }
    __device__ __forceinline__ ptrdiff_t in_dest(size_t run) const
    {
        return offset(dest_step, run);
    }
};

/* Elements along dimension Index. Programs express "no boundary" by any empty tuple or struct. */
template <size_t Index, class Shape, class Coord>
__device__ __forceinline__ size_t extent_of(const Shape &shape, const Coord &start,
                                            const Coord &boundary)
{
    const ptrdiff_t n = (ptrdiff_t)(int)tuples::get<Index>(shape);
    if constexpr (__is_empty(Coord)) {
        return (size_t)n;
    } else if constexpr (Index >= tuples::tuple_size<Coord>::value) {
        return (size_t)n;
    } else {
        const ptrdiff_t left =
            (ptrdiff_t)tuples::get<Index>(boundary) - (ptrdiff_t)tuples::get<Index>(start);
        return (size_t)(left < 0 ? 0 : left < n ? left : n);
    }
}

template <size_t Index, class Runs, class Source, class Dest, class Coord>
__device__ __forceinline__ void read_form(Runs *r, const Source &source, const Dest &dest,
                                          const Coord &start, const Coord &boundary)
{
    if constexpr (Index < tuples::tuple_size<decltype(source.shape())>::value) {
        r->of[Index] = extent_of<Index>(source.shape(), start, boundary);
        r->source_step[Index] = (ptrdiff_t)(int)tuples::get<Index>(source.stride());
        r->dest_step[Index] = (ptrdiff_t)(int)tuples::get<Index>(dest.stride());
        read_form<Index + 1>(r, source, dest, start, boundary);
    }
}

template <class Source, class Dest, class Coord>
__device__ inline auto runs_of(const Source &source, const Dest &dest, const Coord &start,
                               const Coord &boundary)
{
    constexpr int rank = (int)tuples::tuple_size<decltype(source.shape())>::value;
    tile_runs<rank> r = {};
    read_form<0>(&r, source, dest, start, boundary);
    r.length = r.n = 1;
    /* A dimension whose stride equals the run's length makes the run longer. */
    for (int i = 0; i < rank; i++)
        for (int d = 0; d < rank; d++)
            if (r.of[d] > 1 && r.source_step[d] == (ptrdiff_t)r.length &&
                r.dest_step[d] == (ptrdiff_t)r.length) {
                r.length *= r.of[d];
                r.of[d] = 1;
            }
    for (int d = 0; d < rank; d++)
        r.n *= r.of[d];
    return r;
}

/* The whole group moves a run of at least this many bytes; it divides shorter ones. */
constexpr size_t long_run = 256;

/* ---- put and get ----------------------------------------------------------------------------- */

template <bool is_put, class Word, class Group>
__device__ __forceinline__ void move_run(Group group, Word *dest, const Word *source, size_t n,
                                         int pe, const char *call)
{
    if constexpr (is_put)
        gshmem::put_nbi(gshmem::default_context(), group, dest, source, n, pe, call);
    else
        gshmem::get_nbi(gshmem::default_context(), group, dest, source, n, pe, call);
}

template <bool is_put, class Group, class Source, class Dest, class Coord>
__device__ GSHMEM_NOINLINE int move_tile(Group group, Source source, Dest dest, Coord start,
                                         Coord boundary, int pe, const char *call)
{
    typedef gshmem::detail::word<typename Dest::value_type> Word;
    const auto r = runs_of(source, dest, start, boundary);
    const Word *from = reinterpret_cast<const Word *>(source.data());
    Word *to = reinterpret_cast<Word *>(dest.data());
    if (pe < 0 || pe >= nvshmem_n_pes())
        return NVSHMEMX_ERROR_INVALID_VALUE;
    if (r.n == 1 || r.length * sizeof(Word) >= long_run) {
        for (size_t run = 0; run < r.n; run++)
            move_run<is_put>(group, to + r.in_dest(run), from + r.in_source(run), r.length, pe,
                             call);
        return 0;
    }
    group.sync();
    for (size_t run = group.rank(); run < r.n; run += group.size())
        move_run<is_put>(gshmem::group_thread(), to + r.in_dest(run), from + r.in_source(run),
                         r.length, pe, call);
    group.sync();
    return 0;
}

/* ---- collectives that move ------------------------------------------------------------------- */

/* Copies this PE's tile to a member whose heap is mapped. */
template <class Call, class Group, class Runs, class Word>
__device__ GSHMEM_NOINLINE void store_runs(const Call &k, Group group, const Runs &r, Word *dest,
                                           const Word *source, int member)
{
    if (r.length * sizeof(Word) >= long_run) {
        for (size_t run = 0; run < r.n; run++)
            gshmem::detail::store_share(
                k, group, reinterpret_cast<uint8_t *>(dest + r.in_dest(run)),
                reinterpret_cast<const uint8_t *>(source + r.in_source(run)),
                r.length * sizeof(Word), member);
        return;
    }
    Word *its = k.at(dest, member);
    for (size_t e = group.rank(); e < r.n * r.length; e += group.size()) {
        const size_t run = e / r.length;
        const ptrdiff_t at = (ptrdiff_t)(e % r.length);
        gshmem::detail::store_out(its + r.in_dest(run) + at,
                                  gshmem::detail::load_plain(source + r.in_source(run) + at));
    }
}

/* One run at a time. */
template <class Context, class Group, class Runs, class Word>
__device__ GSHMEM_NOINLINE int broadcast_runs(const Context &c, Group group, nvshmem_team_t team,
                                              const Runs &r, Word *dest, const Word *source,
                                              int root, const char *call)
{
    int error = 0;
    for (size_t run = 0; error == 0 && run < r.n; run++)
        error =
            gshmem::broadcastmem(c, group, team, dest + r.in_dest(run), source + r.in_source(run),
                                 r.length * sizeof(Word), root, 0, call);
    return error;
}

template <class Group, class Source, class Dest, class Coord>
__device__ GSHMEM_NOINLINE int broadcast_tile(Group group, nvshmem_team_t team, Source source,
                                              Dest dest, Coord start, Coord boundary, int root,
                                              const char *call)
{
    typedef gshmem::detail::word<typename Dest::value_type> Word;
    const auto c = gshmem::default_context();
    const auto k = gshmem::detail::begin_coll(c, team, 0, call);
    const auto r = runs_of(source, dest, start, boundary);
    const Word *from = reinterpret_cast<const Word *>(source.data());
    Word *to = reinterpret_cast<Word *>(dest.data());
    if (!k.team || root < 0 || root >= k.n)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    if (r.n <= 1 || !gshmem::detail::is_mapped(*k.team))
        return broadcast_runs(c, group, team, r, to, from, root, call);
    gshmem::detail::coll_barrier<decltype(k.c), Group> all(k, group);
    all.sync();
    for (int i = 1; k.me == root && i <= k.n; i++)
        store_runs(k, group, r, to, from, k.after(i));
    all.sync(true);
    return 0;
}

template <class Group, class Source, class Dest, class Coord>
__device__ GSHMEM_NOINLINE int allgather_tile(Group group, nvshmem_team_t team, Source source,
                                              Dest dest, Coord start, Coord boundary,
                                              const char *call)
{
    typedef gshmem::detail::word<typename Dest::value_type> Word;
    constexpr size_t rank = tuples::tuple_size<decltype(source.shape())>::value;
    static_assert(rank > 0, "a tile of no dimension has no side to put another one at");
    const auto c = gshmem::default_context();
    const auto k = gshmem::detail::begin_coll(c, team, 0, call);
    const auto r = runs_of(source, dest, start, boundary);
    const Word *from = reinterpret_cast<const Word *>(source.data());
    Word *to = reinterpret_cast<Word *>(dest.data());
    const ptrdiff_t step = (ptrdiff_t)(int)tuples::get<rank - 1>(source.shape()) *
                           (ptrdiff_t)(int)tuples::get<rank - 1>(dest.stride());
    int error = 0;
    if (!k.team)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    if (r.n == 1 && step == (ptrdiff_t)r.length)
        return gshmem::fcollectmem(c, group, team, to, from, r.length * sizeof(Word), 0, call);
    if (!gshmem::detail::is_mapped(*k.team)) {
        for (int m = 0; error == 0 && m < k.n; m++)
            error = broadcast_runs(c, group, team, r, to + m * step, from, m, call);
        return error;
    }
    gshmem::detail::coll_barrier<decltype(k.c), Group> all(k, group);
    all.sync();
    for (int i = 1; i <= k.n; i++) /* itself last, while the others' are under way */
        store_runs(k, group, r, to + k.me * step, from, k.after(i));
    all.sync(true);
    return 0;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Computes this PE's dest from all members' sources or, with to_all, its part of every member's
 * dest, all of them mapped. */
template <class Op, class Call, class Group, class Runs, class Element>
__device__ GSHMEM_NOINLINE void add_up_runs(const Call &k, Group group, const Runs &r,
                                            Element *dest, const Element *source, bool to_all,
                                            const char *call)
{
    typedef gshmem::detail::accumulator<Element> sum_of;
    typedef gshmem::detail::word<Element> word;
    const bool is_mapped = gshmem::detail::is_mapped(*k.team);
    const size_t part = to_all ? (size_t)k.me : 0, n_parts = to_all ? (size_t)k.n : 1;
    if (is_mapped && r.length * sizeof(Element) >= long_run) {
        for (size_t run = part; run < r.n; run += n_parts)
            gshmem::detail::add_terms<Op, Element>(
                k, gshmem::detail::rank_in_group_of(group),
                gshmem::detail::of_members(
                    reinterpret_cast<uint8_t *>(dest + r.in_dest(run)),
                    reinterpret_cast<const uint8_t *>(source + r.in_source(run)),
                    r.length * sizeof(Element), k.n, false, to_all));
        return;
    }
    for (size_t e = group.rank() * n_parts + part; e < r.n * r.length;
         e += group.size() * n_parts) {
        const size_t run = e / r.length;
        const ptrdiff_t at = (ptrdiff_t)(e % r.length);
        const word *from = reinterpret_cast<const word *>(source + r.in_source(run) + at);
        word *to = reinterpret_cast<word *>(dest + r.in_dest(run) + at);
        typename sum_of::type sum = {};
        for (int m = 0; m < k.n; m++) {
            const word its = is_mapped ? gshmem::detail::load_fresh(k.at(from, m))
                                       : gshmem::g(k.c, from, k.pe(m), call);
            const auto value = sum_of::open(gshmem::detail::bit_cast<Element>(its));
            sum = m == 0 ? value : Op::of(sum, value);
        }
        const word result = gshmem::detail::bit_cast<word>(sum_of::close(sum));
        if (!to_all)
            gshmem::detail::store_plain(to, result);
        for (int i = 0; to_all && i < k.n; i++)
            gshmem::detail::store_out(k.at(to, k.after(i)), result);
    }
}

/* only: the one member whose dest is written, or -1 for all. is_pull: each computes its own. */
template <class Op, bool is_pull, class Group, class Source, class Dest, class Coord>
__device__ GSHMEM_NOINLINE int reduce_tile(Group group, nvshmem_team_t team, Source source,
                                           Dest dest, Coord start, Coord boundary, int only,
                                           const char *call)
{
    typedef typename Dest::value_type Type;
    typedef typename gshmem::compute<Type, Op::works_on>::type Element;
    static_assert(sizeof(Element) == sizeof(Type), "a tile's elements are numbers");
    const auto c = gshmem::default_context();
    const auto k = gshmem::detail::begin_coll(c, team, 0, call);
    const auto r = runs_of(source, dest, start, boundary);
    const Element *from = reinterpret_cast<const Element *>(source.data());
    Element *to = reinterpret_cast<Element *>(dest.data());
    int error = 0;
    if (!k.team || only < -1 || only >= k.n)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    if (only == -1 && !is_pull && (r.n == 1 || !gshmem::detail::is_mapped(*k.team))) {
        for (size_t run = 0; error == 0 && run < r.n; run++)
            error = gshmem::reduce<Op>(c, group, team, to + r.in_dest(run), from + r.in_source(run),
                                       r.length, 0, call);
        return error;
    }
    if (!gshmem::detail::is_mapped(*k.team)) {
        gshmem::barrier(c, group, team, 0, call);
        if (only == -1 || only == k.me)
            add_up_runs<Op>(k, group, r, to, from, false, call);
        gshmem::detail::sync_together(group);
        return gshmem::barrier(c, group, team, 0, call);
    }
    gshmem::detail::coll_barrier<decltype(k.c), Group> all(k, group);
    all.sync();
    if (only == -1 || only == k.me)
        add_up_runs<Op>(k, group, r, to, from, !is_pull, call);
    all.sync(true);
    return 0;
}

} // namespace detail

#define NVSHMEM_TILE_MOVE(CALL, IS_PUT, SUFFIX, GROUP)                                       \
    template <class Source, class Dest, class Coord, tile_algo_t algorithm>                  \
    __device__ inline int CALL##SUFFIX(Source source, Dest dest, Coord start_coord,          \
                                       Coord boundary, int pe, uint64_t)                     \
    {                                                                                        \
        return detail::move_tile<IS_PUT>(gshmem::group_##GROUP(), source, dest, start_coord, \
                                         boundary, pe, "nvshmemx::" #CALL #SUFFIX);          \
    }
#define NVSHMEM_TILE_REDUCE(OP, SUFFIX, GROUP)                                                     \
    template <class Source, class Dest, class Coord, tile_coll_algo_t algorithm>                   \
    __device__ inline int tile_##OP##_reduce##SUFFIX(nvshmem_team_t team, Source source,           \
                                                     Dest dest, Coord start_coord, Coord boundary, \
                                                     int, uint64_t)                                \
    {                                                                                              \
        constexpr bool is_pull = algorithm == tile_coll_algo_t::NVLS_ONE_SHOT_PULL_NBI;            \
        return detail::reduce_tile<gshmem::op_##OP, is_pull>(                                      \
            gshmem::group_##GROUP(), team, source, dest, start_coord, boundary, -1,                \
            "nvshmemx::tile_" #OP "_reduce" #SUFFIX);                                              \
    }                                                                                              \
    template <class Source, class Dest, class Coord, tile_coll_algo_t algorithm>                   \
    __device__ inline int tile_##OP##_reduce##SUFFIX(nvshmem_team_t team, Source source,           \
                                                     Dest dest, Coord start_coord, Coord boundary, \
                                                     uint64_t flag)                                \
    {                                                                                              \
        return tile_##OP##_reduce##SUFFIX<Source, Dest, Coord, algorithm>(                         \
            team, source, dest, start_coord, boundary, 0, flag);                                   \
    }                                                                                              \
    template <class Source, class Dest, class Coord, tile_coll_algo_t algorithm>                   \
    __device__ inline int tile_##OP##_rooted_reduce##SUFFIX(nvshmem_team_t team, Source source,    \
                                                            Dest dest, Coord start_coord,          \
                                                            Coord boundary, int root, uint64_t)    \
    {                                                                                              \
        if (root < 0)                                                                              \
            return NVSHMEMX_ERROR_INVALID_VALUE;                                                   \
        return detail::reduce_tile<gshmem::op_##OP, true>(                                         \
            gshmem::group_##GROUP(), team, source, dest, start_coord, boundary, root,              \
            "nvshmemx::tile_" #OP "_rooted_reduce" #SUFFIX);                                       \
    }
#define NVSHMEM_TILE(SUFFIX, GROUP)                                                             \
    NVSHMEM_TILE_MOVE(tile_put, true, SUFFIX, GROUP)                                            \
    NVSHMEM_TILE_MOVE(tile_get, false, SUFFIX, GROUP)                                           \
    NVSHMEM_TILE_REDUCE(sum, SUFFIX, GROUP)                                                     \
    NVSHMEM_TILE_REDUCE(max, SUFFIX, GROUP)                                                     \
    NVSHMEM_TILE_REDUCE(min, SUFFIX, GROUP)                                                     \
    template <class Source, class Dest, class Coord, tile_coll_algo_t algorithm>                \
    __device__ inline int tile_broadcast##SUFFIX(nvshmem_team_t team, Source source, Dest dest, \
                                                 Coord start_coord, Coord boundary, int root,   \
                                                 uint64_t)                                      \
    {                                                                                           \
        return detail::broadcast_tile(gshmem::group_##GROUP(), team, source, dest, start_coord, \
                                      boundary, root, "nvshmemx::tile_broadcast" #SUFFIX);      \
    }                                                                                           \
    template <class Source, class Dest, class Coord, tile_coll_algo_t algorithm>                \
    __device__ inline int tile_allgather##SUFFIX(nvshmem_team_t team, Source source, Dest dest, \
                                                 Coord start_coord, Coord boundary, uint64_t)   \
    {                                                                                           \
        return detail::allgather_tile(gshmem::group_##GROUP(), team, source, dest, start_coord, \
                                      boundary, "nvshmemx::tile_allgather" #SUFFIX);            \
    }                                                                                           \
    /* The calls above are complete when they return. */                                        \
    template <tile_coll_algo_t algorithm>                                                       \
    __device__ inline int tile_collective_wait##SUFFIX(nvshmem_team_t team, uint64_t)           \
    {                                                                                           \
        gshmem::group_##GROUP().sync();                                                         \
        return nvshmem_team_n_pes(team) > 0 ? 0 : NVSHMEMX_ERROR_INVALID_VALUE;                 \
    }
NVSHMEM_TILE(, thread)
NVSHMEM_TILE(_warp, warp)
NVSHMEM_TILE(_warpgroup, warpgroup)
NVSHMEM_TILE(_block, block)
#undef NVSHMEM_TILE
#undef NVSHMEM_TILE_MOVE
#undef NVSHMEM_TILE_REDUCE

} // namespace nvshmemx

#endif

#endif
