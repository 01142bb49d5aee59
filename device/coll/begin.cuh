/* SPDX-License-Identifier: Apache-2.0
 * What every call of coll.cuh begins with: it finds its team and channel; in checking builds it
 * compares itself with the other members' calls; then it goes one of three ways: in one LL
 * exchange, straight to all members, or over the network. */
#ifndef GSHMEM_COLL_BEGIN_CUH
#define GSHMEM_COLL_BEGIN_CUH

#include "choose.cuh"
#include "far.cuh"
#include "move.cuh"
#include "reduce.cuh"

namespace gshmem
{

namespace detail
{

/* The team, or NULL if it does not exist or has no such channel. */
template <class Context>
__device__ __forceinline__ const gsh_team_state *team_with(const Context &c, gshmem_team_t team,
                                                           int channel)
{
    const gsh_team_state *t = find_team(c, team);
    return t && (uint32_t)channel < (uint32_t)t->n_channels ? t : nullptr;
}

/* The library's own kernels carry the team along: nothing of it is read from memory. */
template <class Context>
__device__ __forceinline__ const gsh_team_state *team_with(const Context &,
                                                           const gsh_team_state *team, int)
{
    return team;
}

/* They always have a team. */
template <class Context, class Group>
__device__ __forceinline__ int refuse_channel(const Context &, Group, const gsh_team_state *, int,
                                              const char *)
{
    return GSHMEMX_ERROR_INVALID_VALUE;
}

/* The call on a channel; team is NULL if that does not exist. */
template <class Context, class Team>
__device__ __forceinline__ coll_call<Context> begin_coll(const Context &c, Team team, int channel,
                                                         const char *name)
{
    const gsh_team_state *t = team_with(c, team, channel);
    return t ? call_of(c, *t, channel, name) : coll_call<Context>{c, nullptr, name, 0, 0, channel};
}

/* A way that also reaches far members. */
template <class Context, class Group, class Function>
__device__ __forceinline__ void by_far_way(const coll_call<Context> &k, Group g, Function body)
{
    if constexpr (may_be_far) {
        join_blocks(k.c, g, k.area(), k.name);
        body(g);
        join_blocks(k.c, g, k.area(), k.name);
    } else {
        report(k.c, GSH_REPORT_BAD_PE, "a call compiled with GSHMEM_NEAR_ONLY", k.pe(k.after(1)), 0,
               0, 0, 0, 0);
    }
}

/* Checking builds: every member makes the same call. bytes: from each to each other, or 0 if
 * members may differ. */
#if defined(GSHMEM_CHECKS)
/* what: 0: calls, 1: sizes, 2: a value that the name identifies. Every member sees the difference.
 * The first one reports it; the others would say the same, and give it time. */
template <class Context>
__device__ GSHMEM_NOINLINE void report_difference(const coll_call<Context> &k, int member,
                                                  uint32_t what, uint64_t mine, uint64_t its)
{
    const uint64_t begin = clock_ns();
    while (k.me != 0 && clock_ns() - begin < 2000000000u) {
        spin_pause();
        const uint32_t abort_word = load_relaxed(&control_of(k.c)->abort_word);
        if (abort_word != GSH_ABORT_NONE)
            await_end(abort_word, GSH_REPORT_COLL_DIFFERS, has_left_of(k.c));
    }
    report(k.c, GSH_REPORT_COLL_DIFFERS, k.name, k.pe(member), what, 0, mine, its, 0);
}

template <class Context>
__device__ __forceinline__ void compare_calls(const coll_call<Context> &k, int member, bool is_size,
                                              uint64_t mine, uint64_t its)
{
    if (mine != its)
        report_difference(k, member, is_size, mine, its);
}

template <class Context, class Group>
__device__ GSHMEM_NOINLINE void check_calls_far(const coll_call<Context> &k, Group g, uint64_t what,
                                                uint64_t bytes)
{
    const uint8_t *const half = gather_words_far(k, g, what, bytes);
    for (int i = (int)g.rank(); i < k.n; i += (int)g.size()) {
        const int member = gsh_members_by_node(k.team)[i];
        const uint64_t *words =
            reinterpret_cast<const uint64_t *>(plus(half, position_behind_leader(*k.team, i) * 16));
        compare_calls(k, member, false, what, load_relaxed(words));
        compare_calls(k, member, true, bytes, load_relaxed(words + 1));
    }
    g.sync();
}

template <class Context, class Group>
__device__ GSHMEM_NOINLINE void check_calls_near(const coll_call<Context> &k, Group g,
                                                 uint64_t what, uint64_t bytes)
{
    const ll_buffers<Context> s(k.c, *k.team, k.channel);
    GSHMEM_NO_UNROLL
    for (int is_size = 0; is_size < 2; is_size++) { /* one line at a time fits into any slot */
        const uint64_t mine = is_size ? bytes : what;
        run_ll(k.c, g, s, k.name, 1, [&](const ll_call<Context> &f) {
            ll_send<1>(f, rank_in_group_of(g), 1, [=](int, uint32_t) { return mine; });
            ll_receive<1>(f, rank_in_group_of(g), 1, [&](int member, uint32_t, uint64_t its) {
                compare_calls(k, member, is_size, mine, its);
            });
        });
    }
}

template <class Context, class Group>
__device__ __forceinline__ void check_calls(const coll_call<Context> &k, Group g, gshmem_team_t,
                                            uint64_t what, uint64_t bytes)
{
    if (k.n > 1 && is_mapped(*k.team))
        check_calls_near(k, g, what, bytes);
    else if (k.n > 1)
        by_far_way(k, g, [&](auto all) {
            if (all.block() == 0)
                check_calls_far(k, all.block_part(), what, bytes);
        });
}
#else
template <class Context, class Group>
__device__ __forceinline__ void check_calls(const coll_call<Context> &, Group, gshmem_team_t,
                                            uint64_t, uint64_t)
{
}
#endif

/* The library's own kernels: the host has asked for the check, since it knows the types. */
template <class Context, class Group>
__device__ __forceinline__ void check_calls(const coll_call<Context> &, Group,
                                            const gsh_team_state *, uint64_t, uint64_t)
{
}

__device__ __forceinline__ uint8_t *as_bytes(void *p)
{
    return static_cast<uint8_t *>(p);
}
__device__ __forceinline__ const uint8_t *as_bytes(const void *p)
{
    return static_cast<const uint8_t *>(p);
}

/* As long as it lives, its group alone may make calls on the channel; in checking builds, another
 * group that begins one is told so. Groups of several blocks are not watched: their blocks come and
 * go one by one. The word orders nothing: a program that may call again has ordered the calls. */
template <class Context> struct channel_use {
#if defined(GSHMEM_CHECKS)
    uint32_t *word; /* NULL: another thread's, or nobody's */

    template <class Group>
    __device__ __forceinline__ channel_use(const Context &c, Group g, const gsh_team_state &t,
                                           gshmem_team_t team, int channel, const char *name)
        : word(nullptr)
    {
        if (g.n_blocks() > 1)
            return;
        if (g.rank() == 0) {
            word = &sync_area(c, channel_off(t, channel))->is_in_use;
            if (!claim(word))
                report(c, GSH_REPORT_CHANNEL_IN_USE, name, -1, 0, 0, (uint64_t)channel,
                       (uint64_t)team, 0);
        }
        g.block_part().sync(); /* no thread of a second group sends anything */
    }
    __device__ __forceinline__ ~channel_use()
    {
        if (word)
            store_relaxed(word, 0u);
    }
    template <class Group>
    __device__ __forceinline__ channel_use(const Context &, Group, const gsh_team_state &,
                                           const gsh_team_state *, int, const char *)
        : word(nullptr)
    {
    }
#else
    template <class Group, class Team>
    __device__ __forceinline__ channel_use(const Context &, Group, const gsh_team_state &, Team,
                                           int, const char *)
    {
    }
#endif
};

/* The arguments of a public call. bytes: from each member to each other. */
template <class Team> struct coll_args {
    Team team;
    int channel, root;
    uint8_t *dest;
    const uint8_t *source;
    uint64_t bytes;
    const char *name;
    gsh_element element; /* for checking builds */
};

/* What goes in one LL exchange; the steps are 0 or the bytes. */
template <class Team>
__device__ __forceinline__ line_data lines_at(const coll_args<Team> &a, uint64_t source_step,
                                              uint64_t dest_step)
{
    return {a.dest, a.source, (uint32_t)a.bytes, (uint32_t)source_step, (uint32_t)dest_step};
}

/* Straight to all members, or over the network: calls one of the two functions, with the call, the
 * group and the arguments. */
template <class Context, class Group, class Team, class Direct, class Far>
__device__ __forceinline__ int run_direct_or_far(const Context &c, Group g,
                                                 const coll_args<Team> &given,
                                                 const gsh_team_state &t, Direct direct, Far far)
{
    const coll_args<Team> a = given;
    const coll_call<Context> k = call_of(c, t, a.channel, a.name);
    spill(a, k, g);
    if (is_mapped(t))
        direct(k, g, a);
    else
        by_far_way(k, g, [&](auto all) { far(k, all, a); });
    return GSHMEMX_SUCCESS;
}

/* A function over the network that one block runs. */
template <class Function> __device__ __forceinline__ auto by_first_block(Function body)
{
    return [=](const auto &k, auto g, const auto &a) {
        if (g.block() == 0)
            body(k, g.block_part(), a);
    };
}

/* As run_direct_or_far, but in one LL exchange if the bytes are few; ll_path is called with the LL
 * buffers instead of the call. n_units: how many threads have work in the exchange, the rest only
 * enter and leave; 0: the call cannot go in one. is_one_way: one member alone has data.
 *
 * In an LL exchange the arguments stay in registers: to put those of 512 threads into memory takes
 * longer than a small call. A warp puts its 32 there, so as to fit beside a kernel's own values. */
template <bool is_one_way = false, class Context, class Group, class Team, class LL, class Direct,
          class Far>
__device__ __forceinline__ int run_coll(const Context &c, Group g, const coll_args<Team> &given,
                                        const gsh_team_state &t, uint32_t n_units, LL ll_path,
                                        Direct direct, Far far)
{
    if (given.bytes == 0)
        return GSHMEMX_SUCCESS;
    const ll_buffers<Context> s(c, t, given.channel);
    if (n_units == 0 || !is_ll<Group>(c, s, given.bytes, is_one_way))
        return run_direct_or_far(c, g, given, t, direct, far);
    run_ll(c, g, s, given.name, n_units, [&](const ll_call<Context> &f) {
        if constexpr (std::is_same_v<Group, group_warp>) {
            const coll_args<Team> a = given;
            spill(a, f);
            ll_path(f, g, a);
        } else {
            ll_path(f, g, given);
        }
    });
    return GSHMEMX_SUCCESS;
}

/* Checking builds: the members' calls agree, and that many parts of `bytes` are symmetric. */
template <class Context, class Group, class Team>
__device__ __forceinline__ void check_call(const Context &c, Group g, const gsh_team_state &t,
                                           const coll_args<Team> &a, uint64_t what, uint64_t bytes,
                                           int dest_parts, int source_parts)
{
    const coll_call<Context> k = call_of(c, t, a.channel, a.name);
    check(c, a.name, a.dest, (uint64_t)dest_parts * a.bytes, k.pe(k.me));
    check(c, a.name, a.source, (uint64_t)source_parts * a.bytes, k.pe(k.me));
    check_calls(k, g, a.team, what, bytes);
}

} // namespace detail
} // namespace gshmem

#endif
