/* SPDX-License-Identifier: Apache-2.0
 * Collectives (OpenSHMEM 1.5, 9.11) as templates over the group that makes the call: a thread, a
 * warp, a block, or several blocks (group_grid, group_blocks). All members of the team make the
 * same calls on a lane in the same order, with the same arguments except dest and source, by groups
 * with the same number of blocks. Calls on other lanes, or of other teams, may be under way at the
 * same time.
 *
 * On return this PE's dest is complete and its source may be changed; what other members' calls
 * have done is not known, and other puts are not ordered. They return 0, or
 * GSHMEMX_ERROR_INVALID_VALUE, on all members, when the team, lane or root does not exist or a
 * stride is below 1. dest and source are symmetric and do not overlap, but a reduce, a scan and a
 * broadcast may have dest == source, fcollect source == dest + my part's place, and reducescatter
 * dest == source + my part's place. element: the type of what is moved, for checking builds, which
 * compare the members' calls. */
#ifndef GSHMEM_COLL_CUH
#define GSHMEM_COLL_CUH

#include "device/coll/choose.cuh"
#include "device/coll/far.cuh"
#include "device/coll/move.cuh"
#include "device/coll/reduce.cuh"

namespace gshmem
{

namespace detail
{

/* The call on a lane; team is NULL where there is no such thing. */
template <class C>
__device__ __forceinline__ coll_call<C> begin_coll(const C &c, gshmem_team_t team, int lane,
                                                   const char *name)
{
    const gsh_team_state *t = find_team(c, team);
    if (t && (uint32_t)lane >= (uint32_t)t->n_lanes)
        t = nullptr;
    return {c, t, name, t ? t->n_pes : 0, t ? t->my_index : 0, lane};
}

/* The library's own kernels bring the team along: nothing of it is read from memory. */
template <class C>
__device__ __forceinline__ coll_call<C> begin_coll(const C &c, const gsh_team_state *team, int lane,
                                                   const char *name)
{
    return {c, team, name, team->n_pes, team->my_index, lane};
}

/* A way by which far members are reached too: by one block. */
template <class C, class G, class F>
__device__ __forceinline__ void by_far_way(const coll_call<C> &k, G g, F body)
{
    if constexpr (may_be_far) {
        join_blocks(k.c, g, k.area(), k.name);
        if (g.block() == 0)
            body(g.block_part());
        join_blocks(k.c, g, k.area(), k.name);
    } else {
        report(k.c, GSH_REPORT_BAD_PE, "a call compiled with GSHMEM_NEAR_ONLY", k.pe(k.after(1)), 0,
               0, 0, 0, 0);
    }
}

/* Checking builds: every member makes the same call. bytes: from each to each other, or 0 where
 * members may differ. */
#if defined(GSHMEM_CHECKS)
/* what: 0: of the calls, 1: of sizes, 2: of a value that the name names. Every member sees that
 * there is a difference. The first one says so; the others would say the same, and give it time. */
template <class C>
__device__ GSHMEM_OUT_OF_LINE void report_difference(coll_call<C> k, int member, uint32_t what,
                                                     uint64_t mine, uint64_t its)
{
    const uint64_t begin = clock_ns();
    while (k.me != 0 && clock_ns() - begin < 2000000000u) {
        spin_pause();
        const uint32_t abort_word = load_relaxed(&control_of(k.c)->abort_word);
        if (abort_word != GSH_ABORT_NONE)
            await_end(abort_word, GSH_REPORT_COLL_DIFFERS);
    }
    report(k.c, GSH_REPORT_COLL_DIFFERS, k.name, k.pe(member), what, 0, mine, its, 0);
}

template <class C>
__device__ __forceinline__ void compare_calls(const coll_call<C> &k, int member, bool is_size,
                                              uint64_t mine, uint64_t its)
{
    if (mine != its)
        report_difference(k, member, is_size, mine, its);
}

template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void check_calls_far(coll_call<C> k, G g, uint64_t what,
                                                   uint64_t bytes)
{
    const uint8_t *const half = gather_words_far(k, g, what, bytes);
    for (int i = (int)g.rank(); i < k.n; i += (int)g.size()) {
        const int member = members_by_node(*k.team)[i];
        const uint64_t *words =
            reinterpret_cast<const uint64_t *>(plus(half, place_after(*k.team, i) * 16));
        compare_calls(k, member, false, what, load_relaxed(words));
        compare_calls(k, member, true, bytes, load_relaxed(words + 1));
    }
    g.sync();
}

template <class C, class G>
__device__ GSHMEM_OUT_OF_LINE void check_calls_near(coll_call<C> k, G g, uint64_t what,
                                                    uint64_t bytes)
{
    GSHMEM_NO_UNROLL
    for (int is_size = 0; is_size < 2; is_size++) { /* one line at a time fits into any slot */
        const uint64_t mine = is_size ? bytes : what;
        const flagged<C> f(k);
        f.begin(g);
        flagged_exchange(
            f, g, 1, [=](int, uint32_t) { return mine; },
            [&](int member, uint32_t, uint64_t its) {
                compare_calls(k, member, is_size, mine, its);
            });
        f.end(g);
    }
}

template <class C, class G>
__device__ __forceinline__ void check_calls(const coll_call<C> &k, G g, gshmem_team_t,
                                            uint64_t what, uint64_t bytes)
{
    if (k.n > 1 && is_mapped(k))
        check_calls_near(k, g, what, bytes);
    else if (k.n > 1)
        by_far_way(k, g, [&](auto b) { check_calls_far(k, b, what, bytes); });
}
#else
template <class C, class G>
__device__ __forceinline__ void check_calls(const coll_call<C> &, G, gshmem_team_t, uint64_t,
                                            uint64_t)
{
}
#endif

/* The library's own kernels: the host has asked for the check, since it knows the types. */
template <class C, class G>
__device__ __forceinline__ void check_calls(const coll_call<C> &, G, const gsh_team_state *,
                                            uint64_t, uint64_t)
{
}

/* Checking builds: dest and source are symmetric for that many bytes. */
template <class C>
__device__ __forceinline__ void check_places(const coll_call<C> &k, const void *dest,
                                             uint64_t dest_bytes, const void *source,
                                             uint64_t source_bytes)
{
    check(k.c, k.name, dest, dest_bytes, k.pe(k.me));
    check(k.c, k.name, source, source_bytes, k.pe(k.me));
}

/* In one flight where the bytes that each member gives each other are few: flagged_way(f), or
 * long_way(). */
template <class C, class G, class Flagged, class Long>
__device__ __forceinline__ int run_coll(const coll_call<C> &k, G g, uint64_t bytes,
                                        Flagged flagged_way, Long long_way)
{
    if (bytes == 0)
        return GSHMEMX_SUCCESS;
    if (is_flagged<G>(k, bytes)) {
        const flagged<C> f(k);
        f.begin(g);
        flagged_way(f);
        f.end(g);
    } else {
        long_way();
    }
    return GSHMEMX_SUCCESS;
}

__device__ __forceinline__ uint8_t *as_bytes(void *p)
{
    return static_cast<uint8_t *>(p);
}
__device__ __forceinline__ const uint8_t *as_bytes(const void *p)
{
    return static_cast<const uint8_t *>(p);
}

/* As the type that reductions by Op compute with. */
template <class Op, class T> __device__ __forceinline__ auto *as_computed(T *p)
{
    return reinterpret_cast<typename compute<T, Op::works_on>::type *>(p);
}
template <class Op, class T> __device__ __forceinline__ const auto *as_computed(const T *p)
{
    return reinterpret_cast<const typename compute<T, Op::works_on>::type *>(p);
}
template <class Op, class T> __device__ __forceinline__ size_t computed_count(size_t nelems)
{
    return nelems * compute<T, Op::works_on>::count;
}

} // namespace detail

/* dest on every member, the root included, becomes the root's source. root: its number in the team.
 */
template <class C, class G, class Team>
__device__ __forceinline__ int broadcastmem(const C &c, G g, Team team, void *dest,
                                            const void *source, size_t bytes, int root,
                                            int lane = 0, const char *name = "gshmem::broadcast",
                                            gsh_element element = GSH_ELEMENT_bits)
{
    using namespace detail;
    const coll_call<C> k = begin_coll(c, team, lane, name);
    if (!k.team || root < 0 || root >= k.n)
        return GSHMEMX_ERROR_INVALID_VALUE;
    check_places(k, dest, bytes, source, bytes);
    check_calls(k, g, team,
                GSH_COLL_SIGNATURE(GSH_COLL_BROADCAST, GSH_REDUCE_COUNT, element, 0, root), bytes);
    uint8_t *to = as_bytes(dest);
    const uint8_t *from = as_bytes(source);
    return run_coll(
        k, g, bytes, [&](const auto &f) { broadcast_flagged(f, g, to, from, bytes, root); },
        [&] {
            if (is_mapped(k))
                broadcast_direct(k, g, to, from, bytes, root);
            else
                by_far_way(k, g, [&](auto b) { broadcast_far(k, b, to, from, bytes, root); });
        });
}

/* Every member's bytes, one after the other in the order of the team. */
template <class C, class G, class Team>
__device__ __forceinline__ int
fcollectmem(const C &c, G g, Team team, void *dest, const void *source, size_t bytes, int lane = 0,
            const char *name = "gshmem::fcollect", gsh_element element = GSH_ELEMENT_bits)
{
    using namespace detail;
    const coll_call<C> k = begin_coll(c, team, lane, name);
    if (!k.team)
        return GSHMEMX_ERROR_INVALID_VALUE;
    check_places(k, dest, (uint64_t)k.n * bytes, source, bytes);
    check_calls(k, g, team, GSH_COLL_SIGNATURE(GSH_COLL_FCOLLECT, GSH_REDUCE_COUNT, element, 0, 0),
                bytes);
    uint8_t *to = as_bytes(dest);
    const uint8_t *from = as_bytes(source);
    return run_coll(
        k, g, bytes, [&](const auto &f) { fcollect_flagged(f, g, to, from, bytes); },
        [&] {
            if (is_mapped(k))
                fcollect_direct(k, g, to, from, bytes);
            else
                by_far_way(k, g, [&](auto b) { fcollect_far(k, b, to, from, bytes); });
        });
}

/* The same where each member gives as many bytes as it likes. */
template <class C, class G, class Team>
__device__ __forceinline__ int
collectmem(const C &c, G g, Team team, void *dest, const void *source, size_t bytes, int lane = 0,
           const char *name = "gshmem::collect", gsh_element element = GSH_ELEMENT_bits)
{
    using namespace detail;
    const coll_call<C> k = begin_coll(c, team, lane, name);
    if (!k.team)
        return GSHMEMX_ERROR_INVALID_VALUE;
    check_places(k, dest, bytes, source, bytes);
    check_calls(k, g, team, GSH_COLL_SIGNATURE(GSH_COLL_COLLECT, GSH_REDUCE_COUNT, element, 0, 0),
                0);
    uint8_t *to = as_bytes(dest);
    const uint8_t *from = as_bytes(source);
    if (is_mapped(k))
        collect_direct(k, g, to, from, bytes);
    else
        by_far_way(k, g, [&](auto b) { collect_far(k, b, to, from, bytes); });
    return GSHMEMX_SUCCESS;
}

/* Member i's block j goes to member j's block i; each has that many bytes. */
template <class C, class G, class Team>
__device__ __forceinline__ int
alltoallmem(const C &c, G g, Team team, void *dest, const void *source, size_t bytes, int lane = 0,
            const char *name = "gshmem::alltoall", gsh_element element = GSH_ELEMENT_bits)
{
    using namespace detail;
    const coll_call<C> k = begin_coll(c, team, lane, name);
    if (!k.team)
        return GSHMEMX_ERROR_INVALID_VALUE;
    check_places(k, dest, (uint64_t)k.n * bytes, source, (uint64_t)k.n * bytes);
    check_calls(k, g, team, GSH_COLL_SIGNATURE(GSH_COLL_ALLTOALL, GSH_REDUCE_COUNT, element, 0, 0),
                bytes);
    uint8_t *to = as_bytes(dest);
    const uint8_t *from = as_bytes(source);
    return run_coll(
        k, g, bytes, [&](const auto &f) { alltoall_flagged(f, g, to, from, bytes); },
        [&] {
            if (is_mapped(k))
                alltoall_direct(k, g, to, from, bytes);
            else
                by_far_way(k, g, [&](auto b) { alltoall_far(k, b, to, from, bytes); });
        });
}

/* The same of elements that are dst and sst elements apart. */
template <class C, class G, class T, class Team>
__device__ __forceinline__ int alltoalls(const C &c, G g, Team team, T *dest, const T *source,
                                         ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int lane = 0,
                                         const char *name = "gshmem::alltoalls")
{
    using namespace detail;
    const coll_call<C> k = begin_coll(c, team, lane, name);
    if (!k.team || dst < 1 || sst < 1)
        return GSHMEMX_ERROR_INVALID_VALUE;
    check_calls(k, g, team,
                GSH_COLL_SIGNATURE(GSH_COLL_ALLTOALLS, GSH_REDUCE_COUNT, element_of<T>::is,
                                   sizeof(T), GSH_COLL_STRIDES(dst, sst)),
                nelems * sizeof(T));
    if (is_mapped(k))
        alltoalls_direct(k, g, dest, source, dst, sst, nelems);
    else
        by_far_way(k, g, [&](auto b) { alltoalls_far(k, b, dest, source, dst, sst, nelems); });
    return GSHMEMX_SUCCESS;
}

/* dest[i] on every member is the reduction of all members' source[i]. */
template <class Op, class C, class G, class T, class Team>
__device__ __forceinline__ int reduce(const C &c, G g, Team team, T *dest, const T *source,
                                      size_t nelems, int lane = 0,
                                      const char *name = "gshmem::reduce")
{
    using namespace detail;
    const coll_call<C> k = begin_coll(c, team, lane, name);
    if (!k.team)
        return GSHMEMX_ERROR_INVALID_VALUE;
    check_places(k, dest, nelems * sizeof(T), source, nelems * sizeof(T));
    check_calls(k, g, team,
                GSH_COLL_SIGNATURE(GSH_COLL_REDUCE, Op::number, element_of<T>::is, sizeof(T), 0),
                nelems * sizeof(T));
    auto *to = as_computed<Op>(dest);
    const auto *from = as_computed<Op>(source);
    const size_t n = computed_count<Op, T>(nelems);
    auto long_way = [&] {
        if (is_mapped(k))
            reduce_direct<Op>(k, g, to, from, n);
        else
            by_far_way(k, g, [&](auto b) { reduce_far<Op>(k, b, to, from, n); });
    };
    if constexpr (sizeof(*to) <= line_bytes) {
        return run_coll(
            k, g, n * sizeof(*to), [&](const auto &f) { reduce_flagged<Op>(f, g, to, from, n); },
            long_way);
    } else {
        long_way();
        return GSHMEMX_SUCCESS;
    }
}

/* dest[i] on member m is the reduction of all members' source[m * nelems + i]. */
template <class Op, class C, class G, class T, class Team>
__device__ __forceinline__ int reducescatter(const C &c, G g, Team team, T *dest, const T *source,
                                             size_t nelems, int lane = 0,
                                             const char *name = "gshmem::reducescatter")
{
    using namespace detail;
    const coll_call<C> k = begin_coll(c, team, lane, name);
    if (!k.team)
        return GSHMEMX_ERROR_INVALID_VALUE;
    check_places(k, dest, nelems * sizeof(T), source, (uint64_t)k.n * nelems * sizeof(T));
    check_calls(
        k, g, team,
        GSH_COLL_SIGNATURE(GSH_COLL_REDUCESCATTER, Op::number, element_of<T>::is, sizeof(T), 0),
        nelems * sizeof(T));
    auto *to = as_computed<Op>(dest);
    const auto *from = as_computed<Op>(source);
    const size_t n = computed_count<Op, T>(nelems);
    auto long_way = [&] {
        if (is_mapped(k))
            reducescatter_direct<Op>(k, g, to, from, n);
        else
            by_far_way(k, g, [&](auto b) { reducescatter_far<Op>(k, b, to, from, n); });
    };
    if constexpr (sizeof(*to) <= line_bytes) {
        return run_coll(
            k, g, n * sizeof(*to),
            [&](const auto &f) { reducescatter_flagged<Op>(f, g, to, from, n); }, long_way);
    } else {
        long_way();
        return GSHMEMX_SUCCESS;
    }
}

/* dest[i] on member m is the sum of source[i] of the members before m and, in an inclusive scan, of
 * m itself; 0 on the first member of an exclusive one. */
template <bool is_inclusive, class C, class G, class T, class Team>
__device__ __forceinline__ int scan(const C &c, G g, Team team, T *dest, const T *source,
                                    size_t nelems, int lane = 0, const char *name = "gshmem::scan")
{
    using namespace detail;
    const coll_call<C> k = begin_coll(c, team, lane, name);
    if (!k.team)
        return GSHMEMX_ERROR_INVALID_VALUE;
    check_places(k, dest, nelems * sizeof(T), source, nelems * sizeof(T));
    check_calls(k, g, team,
                GSH_COLL_SIGNATURE((is_inclusive ? GSH_COLL_INSCAN : GSH_COLL_EXSCAN),
                                   GSH_REDUCE_sum, element_of<T>::is, sizeof(T), 0),
                nelems * sizeof(T));
    auto *to = as_computed<op_sum>(dest);
    const auto *from = as_computed<op_sum>(source);
    const size_t n = computed_count<op_sum, T>(nelems);
    auto long_way = [&] {
        if (is_mapped(k))
            scan_direct<is_inclusive>(k, g, to, from, n);
        else
            by_far_way(k, g, [&](auto b) { scan_far<is_inclusive>(k, b, to, from, n); });
    };
    if constexpr (sizeof(*to) <= line_bytes) {
        return run_coll(
            k, g, n * sizeof(*to),
            [&](const auto &f) { scan_flagged<is_inclusive>(f, g, to, from, n); }, long_way);
    } else {
        long_way();
        return GSHMEMX_SUCCESS;
    }
}

} // namespace gshmem

#endif
