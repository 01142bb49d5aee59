/* SPDX-License-Identifier: Apache-2.0
 * Collectives (OpenSHMEM 1.5, 9.11) as templates over the group that makes the call: a thread, a
 * warp, a block, or several blocks (group_grid, group_blocks). All members of the team make the
 * same calls on a channel in the same order, with the same arguments except dest and source, by
 * groups with the same number of blocks. Calls on other channels, or of other teams, may be under
 * way at the same time.
 *
 * On return this PE's dest is complete and its source may be changed; what other members' calls
 * have done is not known, and other puts are not ordered. They return 0, or
 * GSHMEMX_ERROR_INVALID_VALUE, on all members, when the team, channel or root does not exist or a
 * stride is below 1. dest and source are symmetric and do not overlap, but a reduce, a scan and a
 * broadcast may have dest == source, fcollect source == dest + where my part lies, and
 * reducescatter dest == source + where my part lies. element: the type of the data, for checking
 * builds, which compare the members' calls. */
#ifndef GSHMEM_COLL_CUH
#define GSHMEM_COLL_CUH

#include "begin.cuh"

namespace gshmem
{

namespace detail
{

/* ---- the calls, each once for every kind of group ----------------------------------------------
 */

template <class Context, class Group, class Team>
__device__ GSHMEM_NOINLINE_BODY int broadcast_call(const Context &c, Group g, coll_args<Team> given)
{
    const gsh_team_state *const t = team_with(c, given.team, given.channel);
    if (!t)
        return refuse_channel(c, g, given.team, given.channel, given.name);
    if (given.root < 0 || given.root >= t->n_pes)
        return refuse(c, g, given.name, GSH_REFUSAL_NO_ROOT, given.root, t->n_pes);
    const channel_use<Context> use(c, g, *t, given.team, given.channel, given.name);
    check_call(
        c, g, *t, given,
        GSH_COLL_SIGNATURE(GSH_COLL_BROADCAST, GSH_REDUCE_COUNT, given.element, 0, given.root),
        given.bytes, 1, 1);
    return run_coll<true>(
        c, g, given, *t, broadcast_units(t->n_pes, given.bytes),
        [](const auto &f, Group all, const auto &a) {
            broadcast_ll(f, all, lines_at(a, 0, 0), a.root);
        },
        [](const auto &k, Group all, const auto &a) {
            broadcast_direct(k, all, a.dest, a.source, a.bytes, a.root);
        },
        by_first_block([](const auto &k, auto b, const auto &a) {
            broadcast_far(k, b, a.dest, a.source, a.bytes, a.root);
        }));
}

template <class Context, class Group, class Team>
__device__ GSHMEM_NOINLINE_BODY int fcollect_call(const Context &c, Group g, coll_args<Team> given)
{
    const gsh_team_state *const t = team_with(c, given.team, given.channel);
    if (!t)
        return refuse_channel(c, g, given.team, given.channel, given.name);
    const channel_use<Context> use(c, g, *t, given.team, given.channel, given.name);
    check_call(c, g, *t, given,
               GSH_COLL_SIGNATURE(GSH_COLL_FCOLLECT, GSH_REDUCE_COUNT, given.element, 0, 0),
               given.bytes, t->n_pes, 1);
    return run_coll(
        c, g, given, *t, lines_of(given.bytes),
        [](const auto &f, Group all, const auto &a) {
            exchange_ll<true>(f, all, lines_at(a, 0, a.bytes));
        },
        [](const auto &k, Group all, const auto &a) {
            fcollect_direct(k, all, a.dest, a.source, a.bytes);
        },
        by_first_block([](const auto &k, auto b, const auto &a) {
            fcollect_far(k, b, a.dest, a.source, a.bytes);
        }));
}

template <class Context, class Group, class Team>
__device__ GSHMEM_NOINLINE_BODY int collect_call(const Context &c, Group g, coll_args<Team> given)
{
    const gsh_team_state *const t = team_with(c, given.team, given.channel);
    if (!t)
        return refuse_channel(c, g, given.team, given.channel, given.name);
    const channel_use<Context> use(c, g, *t, given.team, given.channel, given.name);
    check_call(c, g, *t, given,
               GSH_COLL_SIGNATURE(GSH_COLL_COLLECT, GSH_REDUCE_COUNT, given.element, 0, 0), 0, 1,
               1);
    return run_direct_or_far(
        c, g, given, *t,
        [](const auto &k, Group all, const auto &a) {
            collect_direct(k, all, a.dest, a.source, a.bytes);
        },
        by_first_block([](const auto &k, auto b, const auto &a) {
            collect_far(k, b, a.dest, a.source, a.bytes);
        }));
}

template <class Context, class Group, class Team>
__device__ GSHMEM_NOINLINE_BODY int alltoall_call(const Context &c, Group g, coll_args<Team> given)
{
    const gsh_team_state *const t = team_with(c, given.team, given.channel);
    if (!t)
        return refuse_channel(c, g, given.team, given.channel, given.name);
    const channel_use<Context> use(c, g, *t, given.team, given.channel, given.name);
    check_call(c, g, *t, given,
               GSH_COLL_SIGNATURE(GSH_COLL_ALLTOALL, GSH_REDUCE_COUNT, given.element, 0, 0),
               given.bytes, t->n_pes, t->n_pes);
    return run_coll(
        c, g, given, *t, lines_of(given.bytes),
        [](const auto &f, Group all, const auto &a) {
            exchange_ll<false>(f, all, lines_at(a, a.bytes, a.bytes));
        },
        [](const auto &k, Group all, const auto &a) {
            alltoall_direct(k, all, a.dest, a.source, a.bytes);
        },
        by_first_block([](const auto &k, auto b, const auto &a) {
            alltoall_far(k, b, a.dest, a.source, a.bytes);
        }));
}

/* bytes: the number of elements, of type Word. */
template <class Context, class Group, class Word, class Team>
__device__ GSHMEM_NOINLINE_BODY int alltoalls_call(const Context &c, Group g, coll_args<Team> given,
                                                   ptrdiff_t dst, ptrdiff_t sst)
{
    const gsh_team_state *const t = team_with(c, given.team, given.channel);
    if (!t)
        return refuse_channel(c, g, given.team, given.channel, given.name);
    if (dst < 1 || sst < 1)
        return refuse(c, g, given.name, GSH_REFUSAL_BAD_STRIDE, (int)dst, (int)sst);
    const channel_use<Context> use(c, g, *t, given.team, given.channel, given.name);
    check_call(c, g, *t, given,
               GSH_COLL_SIGNATURE(GSH_COLL_ALLTOALLS, GSH_REDUCE_COUNT, given.element, sizeof(Word),
                                  GSH_COLL_STRIDES(dst, sst)),
               given.bytes * sizeof(Word), 0, 0);
    if (given.bytes == 0)
        return GSHMEMX_SUCCESS;
    return run_direct_or_far(
        c, g, given, *t,
        [&](const auto &k, Group all, const auto &a) {
            alltoalls_direct(k, all, reinterpret_cast<Word *>(a.dest),
                             reinterpret_cast<const Word *>(a.source), dst, sst, a.bytes);
        },
        by_first_block([&](const auto &k, auto b, const auto &a) {
            alltoalls_far(k, b, reinterpret_cast<Word *>(a.dest),
                          reinterpret_cast<const Word *>(a.source), dst, sst, a.bytes);
        }));
}

/* Calls that compute. what: for checking builds; bytes are whole elements. */
template <class Context, class Group, class Team, class How>
__device__ GSHMEM_NOINLINE_BODY int reduce_call(const Context &c, Group g, coll_args<Team> given,
                                                uint64_t what, How how)
{
    const gsh_team_state *const t = team_with(c, given.team, given.channel);
    if (!t)
        return refuse_channel(c, g, given.team, given.channel, given.name);
    const channel_use<Context> use(c, g, *t, given.team, given.channel, given.name);
    check_call(c, g, *t, given, what, given.bytes, 1, 1);
    return run_coll(
        c, g, given, *t, how.has_lines ? lines_of(given.bytes) : 0,
        [&](const auto &f, Group all, const auto &a) {
            compute_ll(f, all, lines_at(a, 0, 0), f.all.n, how);
        },
        [&](const auto &k, Group all, const auto &a) {
            reduce_direct(k, all, a.dest, a.source, a.bytes, how);
        },
        [&](const auto &k, Group all, const auto &a) {
            reduce_far(k, all, a.dest, a.source, a.bytes, how);
        });
}

template <class Context, class Group, class Team, class How>
__device__ GSHMEM_NOINLINE_BODY int
reducescatter_call(const Context &c, Group g, coll_args<Team> given, uint64_t what, How how)
{
    const gsh_team_state *const t = team_with(c, given.team, given.channel);
    if (!t)
        return refuse_channel(c, g, given.team, given.channel, given.name);
    const channel_use<Context> use(c, g, *t, given.team, given.channel, given.name);
    check_call(c, g, *t, given, what, given.bytes, 1, t->n_pes);
    return run_coll(
        c, g, given, *t, how.has_lines ? lines_of(given.bytes) : 0,
        [&](const auto &f, Group all, const auto &a) {
            compute_ll(f, all, lines_at(a, a.bytes, 0), f.all.n, how);
        },
        [&](const auto &k, Group all, const auto &a) {
            reducescatter_direct(k, all, a.dest, a.source, a.bytes, how);
        },
        [&](const auto &k, Group all, const auto &a) {
            reducescatter_far(k, all, a.dest, a.source, a.bytes, how);
        });
}

template <class Context, class Group, class Team, class How>
__device__ GSHMEM_NOINLINE_BODY int scan_call(const Context &c, Group g, coll_args<Team> given,
                                              uint64_t what, bool is_inclusive, How how)
{
    const gsh_team_state *const t = team_with(c, given.team, given.channel);
    if (!t)
        return refuse_channel(c, g, given.team, given.channel, given.name);
    const channel_use<Context> use(c, g, *t, given.team, given.channel, given.name);
    check_call(c, g, *t, given, what, given.bytes, 1, 1);
    return run_coll(
        c, g, given, *t, how.has_lines ? lines_of(given.bytes) : 0,
        [&](const auto &f, Group all, const auto &a) {
            compute_ll(f, all, lines_at(a, 0, 0), is_inclusive ? f.all.me + 1 : f.all.me, how);
        },
        [&](const auto &k, Group all, const auto &a) {
            scan_direct(k, all, a.dest, a.source, a.bytes, is_inclusive, how);
        },
        [&](const auto &k, Group all, const auto &a) {
            scan_far(k, all, a.dest, a.source, a.bytes, is_inclusive, how);
        });
}

/* Makes the call by a function that is called; in the library's own kernels it is inlined, so that
 * what they carry of the team is read where the arguments of kernels lie. */
template <auto f, class Context, class... Arguments>
__device__ __forceinline__ int as_call(const Context &c, Arguments... a)
{
#if defined(GSHMEM_LIBRARY_KERNELS)
    return f(c, a...);
#else
    return call_noinline<f>(c, a...);
#endif
}

/* The type with which reductions by Op compute elements of Type. */
template <class Op, class Type> using computed = typename compute<Type, Op::works_on>::type;

template <class Type, class Team>
__device__ __forceinline__ coll_args<Team>
args_of(Team team, int channel, Type *dest, const Type *source, size_t nelems, const char *name)
{
    return {team,
            channel,
            0,
            as_bytes(dest),
            as_bytes(source),
            nelems * sizeof(Type),
            name,
            element_of<Type>::is};
}

/* The type that strided copies use to move elements of Type. */
template <class Type, bool is_word> struct strided_as {
    typedef Type type;
};
template <class Type> struct strided_as<Type, true> {
    typedef word<Type> type;
};

} // namespace detail

/* dest on every member, the root included, becomes the root's source. root: its number in the team.
 */
template <class Context, class Group, class Team>
__device__ __forceinline__ int broadcastmem(const Context &c, Group g, Team team, void *dest,
                                            const void *source, size_t bytes, int root,
                                            int channel = 0, const char *name = "gshmem::broadcast",
                                            gsh_element element = GSH_ELEMENT_bits)
{
    using namespace detail;
    GSHMEM_TRACED_TEAM(c, g, name, team, bytes, dest);
    const coll_args<Team> a = {team,  channel, root,   as_bytes(dest), as_bytes(source),
                               bytes, name,    element};
    return as_call<broadcast_call<Context, Group, Team>>(c, g, a);
}

/* Every member's bytes, one after the other in the order of the team. */
template <class Context, class Group, class Team>
__device__ __forceinline__ int fcollectmem(const Context &c, Group g, Team team, void *dest,
                                           const void *source, size_t bytes, int channel = 0,
                                           const char *name = "gshmem::fcollect",
                                           gsh_element element = GSH_ELEMENT_bits)
{
    using namespace detail;
    GSHMEM_TRACED_TEAM(c, g, name, team, bytes, dest);
    const coll_args<Team> a = {team,  channel, 0,      as_bytes(dest), as_bytes(source),
                               bytes, name,    element};
    return as_call<fcollect_call<Context, Group, Team>>(c, g, a);
}

/* The same, with as many bytes from each member as it likes. */
template <class Context, class Group, class Team>
__device__ __forceinline__ int collectmem(const Context &c, Group g, Team team, void *dest,
                                          const void *source, size_t bytes, int channel = 0,
                                          const char *name = "gshmem::collect",
                                          gsh_element element = GSH_ELEMENT_bits)
{
    using namespace detail;
    GSHMEM_TRACED_TEAM(c, g, name, team, bytes, dest);
    const coll_args<Team> a = {team,  channel, 0,      as_bytes(dest), as_bytes(source),
                               bytes, name,    element};
    return as_call<collect_call<Context, Group, Team>>(c, g, a);
}

/* Member i's block j goes to member j's block i; each has that many bytes. */
template <class Context, class Group, class Team>
__device__ __forceinline__ int alltoallmem(const Context &c, Group g, Team team, void *dest,
                                           const void *source, size_t bytes, int channel = 0,
                                           const char *name = "gshmem::alltoall",
                                           gsh_element element = GSH_ELEMENT_bits)
{
    using namespace detail;
    GSHMEM_TRACED_TEAM(c, g, name, team, bytes, dest);
    const coll_args<Team> a = {team,  channel, 0,      as_bytes(dest), as_bytes(source),
                               bytes, name,    element};
    return as_call<alltoall_call<Context, Group, Team>>(c, g, a);
}

/* The same for elements that are dst and sst elements apart. */
template <class Context, class Group, class Type, class Team>
__device__ __forceinline__ int
alltoalls(const Context &c, Group g, Team team, Type *dest, const Type *source, ptrdiff_t dst,
          ptrdiff_t sst, size_t nelems, int channel = 0, const char *name = "gshmem::alltoalls")
{
    using namespace detail;
    GSHMEM_TRACED_TEAM(c, g, name, team, nelems * sizeof(Type), dest);
    typedef typename strided_as<Type, alignof(Type) == sizeof(Type)>::type Word;
    const coll_args<Team> a = {
        team, channel, 0, as_bytes(dest), as_bytes(source), nelems, name, element_of<Type>::is};
    return as_call<alltoalls_call<Context, Group, Word, Team>>(c, g, a, dst, sst);
}

/* dest[i] on every member is the reduction of all members' source[i]. */
template <class Op, class Context, class Group, class Type, class Team>
__device__ __forceinline__ int reduce(const Context &c, Group g, Team team, Type *dest,
                                      const Type *source, size_t nelems, int channel = 0,
                                      const char *name = "gshmem::reduce")
{
    using namespace detail;
    GSHMEM_TRACED_TEAM(c, g, name, team, nelems * sizeof(Type), dest);
    const coll_args<Team> a = args_of(team, channel, dest, source, nelems, name);
    auto how = adder_of<Op, computed<Op, Type>, Group>();
    return as_call<reduce_call<Context, Group, Team, decltype(how)>>(
        c, g, a,
        GSH_COLL_SIGNATURE(GSH_COLL_REDUCE, Op::number, element_of<Type>::is, sizeof(Type), 0),
        how);
}

/* dest[i] on member m is the reduction of all members' source[m * nelems + i]. */
template <class Op, class Context, class Group, class Type, class Team>
__device__ __forceinline__ int reducescatter(const Context &c, Group g, Team team, Type *dest,
                                             const Type *source, size_t nelems, int channel = 0,
                                             const char *name = "gshmem::reducescatter")
{
    using namespace detail;
    GSHMEM_TRACED_TEAM(c, g, name, team, nelems * sizeof(Type), dest);
    const coll_args<Team> a = args_of(team, channel, dest, source, nelems, name);
    auto how = adder_of<Op, computed<Op, Type>, Group>();
    return as_call<reducescatter_call<Context, Group, Team, decltype(how)>>(
        c, g, a,
        GSH_COLL_SIGNATURE(GSH_COLL_REDUCESCATTER, Op::number, element_of<Type>::is, sizeof(Type),
                           0),
        how);
}

/* dest[i] on member m is the sum of source[i] of the members before m and, in an inclusive scan, of
 * m itself; 0 on the first member of an exclusive one. */
template <bool is_inclusive, class Context, class Group, class Type, class Team>
__device__ __forceinline__ int scan(const Context &c, Group g, Team team, Type *dest,
                                    const Type *source, size_t nelems, int channel = 0,
                                    const char *name = "gshmem::scan")
{
    using namespace detail;
    GSHMEM_TRACED_TEAM(c, g, name, team, nelems * sizeof(Type), dest);
    const coll_args<Team> a = args_of(team, channel, dest, source, nelems, name);
    auto how = adder_of<op_sum, computed<op_sum, Type>, Group>();
    return as_call<scan_call<Context, Group, Team, decltype(how)>>(
        c, g, a,
        GSH_COLL_SIGNATURE((is_inclusive ? GSH_COLL_INSCAN : GSH_COLL_EXSCAN), GSH_REDUCE_sum,
                           element_of<Type>::is, sizeof(Type), 0),
        is_inclusive, how);
}

} // namespace gshmem

#endif
