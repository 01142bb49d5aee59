/* SPDX-License-Identifier: Apache-2.0
 * Teams as kernels see them, and barrier and sync of a team (state.h has the invariants).
 *
 * Each channel of a team is a separate barrier.
 *
 * A team on one node: one exchange of flags. In epoch e a PE sets its flag to e on every other
 * member, then waits until every flag of its own has reached e; a fast member may already be one
 * epoch ahead. The flag was e - 1, so the PE adds 1 to it: sending needs no load of the epoch,
 * which is read while the flags are under way.
 *
 * A team on several nodes: near members set flags on their leader. Then the leaders signal each
 * other in ceil(log2(n_nodes)) rounds. In round k each adds 1 to round[k] of the leader 2^k nodes
 * further on, and waits until its own has reached e. A leader that has passed round k knows,
 * directly or through others, that the 2^(k+1) nodes up to its own have arrived. After the last
 * round it releases its near members. Counts, unlike stores, need no order between a leader's
 * signals: a fast leader's second signal may overtake its first.
 *
 * Only the first warp of a block sends and waits: the barrier then has one fence instruction, and
 * between reading and writing the epoch only a warp needs to synchronise. */
#ifndef GSHMEM_SYNC_CUH
#define GSHMEM_SYNC_CUH

#include "group.cuh"
#include "far.cuh"
#include "signal.cuh"
#include "wait.cuh"
#include "gshmem/types.h"

namespace gshmem
{

namespace detail
{

/* NULL if there is no such team or this PE is not a member. */
template <class Context>
__device__ __forceinline__ const gsh_team_state *find_team(const Context &c, gshmem_team_t team)
{
    if (team < 0 || (uint64_t)team >= state_of(c).n_team_units)
        return nullptr;
    const gsh_team_state *t = reinterpret_cast<const gsh_team_state *>(
        state_of(c).teams + (uint64_t)team * GSH_TEAM_UNIT);
    /* Both are read at once. */
    const uint32_t differs = (t->magic ^ GSH_TEAM_MAGIC) | ((uint32_t)t->handle ^ (uint32_t)team);
    return differs == 0 ? t : nullptr;
}

/* The team does not exist, or has no such channel. As on the host, GSHMEM_TEAM_INVALID needs no
 * words. */
template <class Context, class Group>
__device__ __forceinline__ int refuse_channel(const Context &c, Group g, gshmem_team_t team,
                                              int channel, const char *call)
{
#if defined(GSHMEM_CHECKS)
    const gsh_team_state *t = find_team(c, team);
    if (t)
        return refuse(c, g, call, GSH_REFUSAL_NO_CHANNEL, channel, t->n_channels);
    if (team != GSHMEM_TEAM_INVALID)
        return refuse(c, g, call, GSH_REFUSAL_NO_TEAM, team, 0);
#else
    (void)c, (void)g, (void)team, (void)channel, (void)call;
#endif
    return GSHMEMX_ERROR_INVALID_VALUE;
}

/* Member i's PE. */
__device__ __forceinline__ int team_pe(const gsh_team_state &t, int i)
{
    return t.pes ? reinterpret_cast<const int32_t *>(t.pes)[i] : t.first_pe + i * t.pe_stride;
}

/* The member that is this PE, or -1. */
__device__ inline int team_index(const gsh_team_state &t, int pe)
{
    if (t.pes) {
        for (int i = 0; i < t.n_pes; i++)
            if (team_pe(t, i) == pe)
                return i;
        return -1;
    }
    int distance = pe - t.first_pe;
    int i = t.pe_stride == 0 ? 0 : distance / t.pe_stride;
    return i >= 0 && i < t.n_pes && i * t.pe_stride == distance ? i : -1;
}

/* The member i ranks after this PE, cyclically. */
__device__ __forceinline__ int member_after(const gsh_team_state &t, int i)
{
    int member = t.my_index + i;
    return member < t.n_pes ? member : member - t.n_pes;
}

/* All PEs, from the constant block alone: device memory is not read before the flags can leave. */
template <class Context> __device__ __forceinline__ gsh_team_state world_team(const Context &c)
{
    gsh_team_state t = {};
    t.n_pes = state_of(c).n_pes;
    t.my_index = state_of(c).my_pe;
    t.pe_stride = 1;
    t.sync_off = GSH_WORLD_SYNC_OFF;
    return t;
}

/* The threads of a group that send flags and wait for them. writes_late: whether the epoch is
 * written after the flags have arrived, not while they are under way. Only a call by a single warp
 * is faster that way (perftest/results/h200-constants.md). converges: whether they call
 * converge_warp() behind the flags. A warp does not: its own synchronisation follows, and a loop
 * with copies would keep up to four registers more, which are too many for 1024 threads. */
template <class Group> struct flag_group {
    typedef group_warp type;
    static constexpr bool is_warp = true, writes_late = false, converges = true;
    static __device__ __forceinline__ bool has(Group g) { return g.rank() < 32; }
};
template <> struct flag_group<group_warp> {
    typedef group_warp type;
    static constexpr bool is_warp = true, writes_late = true, converges = false;
    static __device__ __forceinline__ bool has(group_warp) { return true; }
};
template <> struct flag_group<group_thread> {
    typedef group_thread type;
    static constexpr bool is_warp = false, writes_late = false, converges = false;
    static __device__ __forceinline__ bool has(group_thread) { return true; }
};

/* The location of a channel's words: offset from every PE's heap base. */
__device__ __forceinline__ uint64_t channel_off(const gsh_team_state &t, int channel)
{
    return t.sync_off + (uint64_t)channel * t.channel_bytes;
}

/* This PE's own area. */
template <class Context>
__device__ __forceinline__ gsh_sync_area *sync_area(const Context &c, uint64_t off)
{
    return reinterpret_cast<gsh_sync_area *>(state_of(c).base + off);
}

/* Writes the epoch once all threads of w have read it. */
template <class Word>
__device__ __forceinline__ void write_epoch(Word w, uint64_t *epoch, uint64_t value)
{
    w.sync();
    if (w.rank() == 0)
        *epoch = value;
}

/* One exchange of flags by Group's flag_group w. The caller then synchronises the group, after
 * which every thread sees what any of them has seen. */
template <bool is_barrier, class Group, class Word, class Context>
__device__ __forceinline__ void fly_flags(const Context &c, Word w, const gsh_team_state &t,
                                          uint64_t area_off, const char *call)
{
    gsh_sync_area *area = sync_area(c, area_off);
    int first = (int)w.rank() + 1, step = (int)w.size();
    auto flag_on = [&](int i) {
        return peer_address(c, &area->flag[t.my_index], team_pe(t, member_after(t, i)));
    };
    /* The first flag's address is computed before the fence, which takes long. */
    uint64_t *flag = hide_value(flag_on(first < t.n_pes ? first : 0));
    if (is_barrier)
        /* Serves barrier's "quiet, then all have arrived": the puts and stores of every thread of
         * the group (its synchronisation came first) are seen by every PE that sees the flags
         * below. One instruction for the warp. */
        fence_release();
    /* These pair with the loads below. The first one is before the loop, so that it need not wait
     * for loads that only later ones need. */
    if (first < t.n_pes)
        reduce_add(flag, (uint64_t)1);
    GSHMEM_NO_UNROLL
    for (int i = first + step; i < t.n_pes; i += step)
        reduce_add(flag_on(i), (uint64_t)1);
    uint64_t epoch = load_plain(&area->epoch) + 1;
    if (!flag_group<Group>::writes_late)
        write_epoch(w, &area->epoch, epoch);
    GSHMEM_NO_UNROLL
    for (int i = first; i < t.n_pes; i += step) {
        int member = member_after(t, i);
        spin_on(
            c, &area->flag[member],
            [](const uint64_t *p) { return is_barrier ? load_awaited(p) : load_relaxed(p); },
            [=](uint64_t seen) { return seen >= epoch; }, GSH_REPORT_SYNC_TIMEOUT, call,
            team_pe(t, member), GSHMEM_CMP_GE, epoch);
    }
    if (is_barrier)
        acquire_awaited();
    if (flag_group<Group>::writes_late)
        write_epoch(w, &area->epoch, epoch);
}

/* ---- in a job with far PEs: out of line, and small rather than fast -------------------------- */

/* Which threads take part in a team's synchronisation, and how. */
template <class Context> struct sync_call {
    Context c;
    const gsh_team_state *team;
    const char *call;
    uint64_t area_off, epoch;
    bool is_barrier, is_warp; /* is_warp: else one thread */

    __device__ __forceinline__ gsh_sync_area *area() const { return sync_area(c, area_off); }
    __device__ __forceinline__ int rank() const { return is_warp ? (int)group_warp().rank() : 0; }
    __device__ __forceinline__ int size() const { return is_warp ? (int)group_warp().size() : 1; }
    __device__ __forceinline__ void sync() const
    {
        if (is_warp)
            group_warp().sync();
    }
    /* A PE that sees the flag or signal that comes next also sees what this thread has seen so far
     * and, for a group, what its threads did. */
    __device__ __forceinline__ void fence() const
    {
        if (is_barrier)
            fence_acq_rel();
    }
    /* The PE that leads the node at this distance from this one, less than once around. */
    __device__ __forceinline__ int leader(int distance) const
    {
        int n = team->n_nodes, node = team->my_node + distance;
        node += node < 0 ? n : node >= n ? -n : 0;
        return reinterpret_cast<const int32_t *>(team->leaders)[node];
    }
    /* Near member i, the leader being 0: its index and its PE. */
    __device__ __forceinline__ int near_index(int i) const
    {
        return reinterpret_cast<const int32_t *>(team->near)[i];
    }
    __device__ __forceinline__ int near_pe(int i) const { return team_pe(*team, near_index(i)); }
};

/* Waits until one of this PE's words has reached the epoch. pe is the PE that has not arrived. */
template <class Context>
__device__ __noinline__ void await_epoch(const sync_call<Context> *s, const uint64_t *word, int pe)
{
    uint64_t epoch = s->epoch;
    spin polls;
    for (;;) {
        uint64_t seen = s->is_barrier ? load_acquire(word) : load_relaxed(word);
        if (seen >= epoch)
            break;
        polls.keep_polling(s->c, GSH_REPORT_SYNC_TIMEOUT, s->call, pe, GSHMEM_CMP_GE, word, epoch,
                           seen);
    }
    polls.done();
}

/* The rounds between leaders; one thread. */
template <class Context> __device__ __noinline__ void tell_leaders(const sync_call<Context> *s)
{
    uint64_t *word = s->area()->round;
    GSHMEM_NO_UNROLL
    for (int distance = 1; distance < s->team->n_nodes; distance *= 2) {
        s->fence();
        /* another node's leader is far; signal_op would refuse the library's own word */
        far_signal(s->c, word, 1, GSHMEM_SIGNAL_ADD, s->leader(distance), s->call);
        await_epoch(s, word, s->leader(-distance));
        word++;
    }
}

template <class Context> __device__ __noinline__ void lead_node(const sync_call<Context> *s)
{
    int n_near = s->team->n_near, size = s->size();
    GSHMEM_NO_UNROLL
    for (int i = 1 + s->rank(); i < n_near; i += size)
        await_epoch(s, &s->area()->flag[i], s->near_pe(i));
    s->sync();
    if (s->rank() == 0)
        tell_leaders(s);
    s->sync();
    s->fence();
    GSHMEM_NO_UNROLL
    for (int i = 1 + s->rank(); i < n_near; i += size)
        store_relaxed(peer_address(s->c, &s->area()->released, s->near_pe(i)), s->epoch);
}

template <class Context> __device__ __forceinline__ void follow_leader(const sync_call<Context> *s)
{
    if (s->rank() == 0) {
        int leader = s->near_pe(0);
        store_relaxed(peer_address(s->c, &s->area()->flag[s->team->my_near], leader), s->epoch);
        await_epoch(s, &s->area()->released, leader);
    }
}

/* Does a quiet if the barrier begins with one. Then, if the team is on several nodes, does all of
 * the rest and returns true; otherwise returns false. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY bool sync_far(const Context &c, const gsh_team_state *team,
                                              int channel, const char *call, bool is_barrier,
                                              bool is_warp)
{
    sync_call<Context> s = {c, team, call, channel_off(*team, channel), 0, is_barrier, is_warp};
    if (is_barrier) {
        if (s.rank() == 0)
            far_quiet(c);
        s.sync();
    }
    if (team->leaders == 0)
        return false;
    s.epoch = s.area()->epoch + 1;
    if (s.rank() == 0)
        store_relaxed(&s.area()->begun_epoch, s.epoch); /* needs no order: nothing depends on it */
    s.fence();
    if (team->my_near == 0)
        lead_node(&s);
    else
        follow_leader(&s);
    if (is_warp)
        write_epoch(group_warp(), &s.area()->epoch, s.epoch);
    else
        write_epoch(group_thread(), &s.area()->epoch, s.epoch);
    return true;
}

/* ---- any team -------------------------------------------------------------------------------- */

/* team: NULL for all PEs, and then channel is 0. */
template <bool is_barrier, class Group, class Context>
__device__ __forceinline__ void sync_team(const Context &c, Group g, const gsh_team_state *team,
                                          int channel, const char *call)
{
    typedef typename flag_group<Group>::type Words;
    g.sync();
    if (flag_group<Group>::has(g)) {
        bool is_done = false;
        if (has_far(c))
            is_done = call_indirect<sync_far<Context>>(
                c, team ? team : find_team(c, GSHMEM_TEAM_WORLD), channel, call, is_barrier,
                flag_group<Group>::is_warp);
        if (!is_done)
            fly_flags<is_barrier, Group>(c, Words(), team ? *team : world_team(c),
                                         team ? channel_off(*team, channel) : GSH_WORLD_SYNC_OFF,
                                         call);
        if (flag_group<Group>::converges)
            converge_warp();
    }
    g.sync();
}

template <bool is_barrier, class Group, class Context>
__device__ __forceinline__ int sync_by_name(const Context &c, Group g, gshmem_team_t team,
                                            int channel, const char *call)
{
    if (team == GSHMEM_TEAM_WORLD && channel == 0) {
        sync_team<is_barrier>(c, g, nullptr, 0, call);
        return GSHMEMX_SUCCESS;
    }
    const gsh_team_state *t = find_team(c, team);
    if (!t || (uint32_t)channel >= (uint32_t)t->n_channels)
        return refuse_channel(c, g, team, channel, call);
    sync_team<is_barrier>(c, g, t, channel, call);
    return GSHMEMX_SUCCESS;
}

} // namespace detail

/* quiet, then returns when all PEs of the team have arrived; what any thread of any of them wrote
 * before is visible to every thread of the group after. 0, or an error if this PE is not in the
 * team or the team has no such channel. Groups that synchronise one team at the same time use
 * different channels. */
template <class Group, class Context>
__device__ __forceinline__ int barrier(const Context &c, Group g, gshmem_team_t team,
                                       int channel = 0, const char *call = "gshmem::barrier")
{
    GSHMEM_TRACED_TEAM(c, g, call, team, 0, nullptr);
    return detail::sync_by_name<true>(c, g, team, channel, call);
}

/* Returns when all PEs of the team have arrived; says nothing about data. */
template <class Group, class Context>
__device__ __forceinline__ int sync(const Context &c, Group g, gshmem_team_t team, int channel = 0,
                                    const char *call = "gshmem::sync")
{
    GSHMEM_TRACED_TEAM(c, g, call, team, 0, nullptr);
    return detail::sync_by_name<false>(c, g, team, channel, call);
}

template <class Group, class Context>
__device__ __forceinline__ void barrier_all(const Context &c, Group g,
                                            const char *call = "gshmem::barrier_all")
{
    GSHMEM_TRACED_TEAM(c, g, call, GSHMEM_TEAM_WORLD, 0, nullptr);
    detail::sync_team<true>(c, g, nullptr, 0, call);
}

template <class Group, class Context>
__device__ __forceinline__ void sync_all(const Context &c, Group g,
                                         const char *call = "gshmem::sync_all")
{
    GSHMEM_TRACED_TEAM(c, g, call, GSHMEM_TEAM_WORLD, 0, nullptr);
    detail::sync_team<false>(c, g, nullptr, 0, call);
}

/* -1 if there is no such team or this PE is not a member. */
template <class Context>
__device__ __forceinline__ int team_my_pe(const Context &c, gshmem_team_t team)
{
    const gsh_team_state *t = detail::find_team(c, team);
    return t ? t->my_index : -1;
}

template <class Context>
__device__ __forceinline__ int team_n_pes(const Context &c, gshmem_team_t team)
{
    const gsh_team_state *t = detail::find_team(c, team);
    return t ? t->n_pes : -1;
}

template <class Context>
__device__ inline int team_translate_pe(const Context &c, gshmem_team_t src_team, int src_pe,
                                        gshmem_team_t dest_team)
{
    const gsh_team_state *from = detail::find_team(c, src_team),
                         *to = detail::find_team(c, dest_team);
    if (!from || !to || src_pe < 0 || src_pe >= from->n_pes)
        return -1;
    return detail::team_index(*to, detail::team_pe(*from, src_pe));
}

} // namespace gshmem

#endif
