/* SPDX-License-Identifier: Apache-2.0
 * What a collective works on: a channel of a team, and the group of threads that make the call.
 * Near members are those whose heaps are mapped; here all of them are. */
#ifndef GSHMEM_COLL_TEAM_CUH
#define GSHMEM_COLL_TEAM_CUH

#include "../address.cuh"
#include "schedule.h"
#include "../group.cuh"
#include "../sync.cuh"

/* Collectives of more than one LL exchange are large: each is a function that is called. */
#if defined(__CUDACC__)
#define GSHMEM_NOINLINE __noinline__
#else
#define GSHMEM_NOINLINE __attribute__((noinline))
#endif

/* For the direct algorithms and their barrier. In users' kernels they are not inlined and keep
 * values across calls in memory, so that they fit into any kernel. The library's own kernels have
 * twice the registers, and keep these values there, because a load from memory takes long after
 * each fence. */
#if defined(GSHMEM_LIBRARY_KERNELS) && defined(__CUDACC__)
#define GSHMEM_NOINLINE_IN_USER_KERNELS __forceinline__
#else
#define GSHMEM_NOINLINE_IN_USER_KERNELS GSHMEM_NOINLINE
#endif

namespace gshmem
{
namespace detail
{

/* See sync_together. */
template <class Group> __device__ GSHMEM_NOINLINE void come_together(Group g)
{
    sync_aligned(g);
}

/* g.sync(), where each thread has made far calls of its own in a function that is not inlined. The
 * threads of a warp come one after another then: functions that they called through pointers have
 * saved the warp's convergence barriers at different times. ptxas 13.0 takes them to be together,
 * and the hardware counts the warp several times at the next barrier. ptxas knows nothing of those
 * who call a function through a pointer; so before an aligned barrier there it has the warp come
 * together. */
template <class Group> __device__ __forceinline__ void sync_together(Group g)
{
    void (*come)(Group) = hide_function(&come_together<Group>);
    come(g);
}

/* The members, for loops over them: a copy of the values that locate a member's memory, so that a
 * loop with ordered accesses need not reload the team each time. */
template <class Context> struct members {
    Context c;
    const int32_t *pes;
    int first_pe, pe_stride, n, me;

    __device__ __forceinline__ members(const Context &context, const gsh_team_state &t)
        : c(context), pes(reinterpret_cast<const int32_t *>(t.pes)), first_pe(t.first_pe),
          pe_stride(t.pe_stride), n(t.n_pes), me(t.my_index)
    {
    }
    __device__ __forceinline__ int pe(int member) const
    {
        return pes ? pes[member] : first_pe + member * pe_stride;
    }
    __device__ __forceinline__ int after(int i) const
    {
        const int member = me + i;
        return member < n ? member : member - n;
    }
    template <class Type> __device__ __forceinline__ Type *at(Type *symmetric, int member) const
    {
        return peer_address(c, symmetric, pe(member));
    }
};

/* Every member's heap is mapped. */
__device__ __forceinline__ bool is_mapped(const gsh_team_state &t)
{
    return t.leaders == 0;
}

/* A collective call: its group of threads, its team and channel. It stays in the memory of the
 * function that begins the call, and other functions read what they need from there. In registers
 * across calls it would cost every kernel with a collective. */
template <class Context> struct coll_call {
    Context c;
    const gsh_team_state *team;
    const char *name; /* public, for reports */
    int n, me;
    int channel;

    __device__ __forceinline__ gsh_sync_area *area() const
    {
        return sync_area(c, channel_off(*team, channel));
    }
    __device__ __forceinline__ int pe(int member) const { return team_pe(*team, member); }
    /* The member i ranks after this PE, cyclically: so not all begin with the same one. */
    __device__ __forceinline__ int after(int i) const { return member_after(*team, i); }
    template <class Type> __device__ __forceinline__ Type *at(Type *symmetric, int member) const
    {
        return peer_address(c, symmetric, pe(member));
    }
};

template <class Context>
__device__ __forceinline__ coll_call<Context> call_of(const Context &c, const gsh_team_state &t,
                                                      int channel, const char *name)
{
    return {c, &t, name, t.n_pes, t.my_index, channel};
}

/* ---- the team's table of all members, node by node -------------------------------------------
 */

__device__ __forceinline__ int near_member(const gsh_team_state &t, int i)
{
    return reinterpret_cast<const int32_t *>(t.near)[i];
}

/* How far the member at `position` of the table is behind the first one of this PE's node,
 * cyclically: leaders have the members' parts in this order. */
__device__ __forceinline__ uint64_t position_behind_leader(const gsh_team_state &t, int position)
{
    return (uint64_t)(position < t.near_begin ? position - t.near_begin + t.n_pes
                                              : position - t.near_begin);
}

/* ---- arrivals, by the flags of the channel's barrier ---- */

/* Several blocks may make one call. Each of them arrives by itself, so a flag counts the arrivals
 * of all blocks of a member. All members' calls have the same number of blocks. Blocks of one PE
 * learn of each other in the same way, by own_flag. */
template <class Context>
__device__ GSHMEM_NOINLINE_IN_USER_KERNELS void
await_flag(const coll_call<Context> &call, const uint64_t *flag, uint64_t enough, int member)
{
    spin_on(
        call.c, flag, [](const uint64_t *p) { return load_awaited(p); },
        [=](uint64_t seen) { return seen >= enough; }, GSH_REPORT_SYNC_TIMEOUT, call.name,
        call.pe(member), GSHMEM_CMP_GE, enough);
    acquire_awaited();
}

/* A barrier of all members, each with a group of one block, whose threads see afterwards what any
 * of the members' groups did before. What the flags need of the team stays in registers. */
template <class Context, class Group>
__device__ __forceinline__ void near_barrier(const members<Context> &all, Group g,
                                             uint64_t area_off, const char *name)
{
    gsh_team_state t = {};
    t.n_pes = all.n;
    t.my_index = all.me;
    t.first_pe = all.first_pe;
    t.pe_stride = all.pe_stride;
    t.pes = reinterpret_cast<uint64_t>(all.pes);
    g.sync();
    if (flag_group<Group>::has(g)) {
        fly_flags<true, Group>(all.c, typename flag_group<Group>::type(), t, area_off, name);
        if (flag_group<Group>::is_warp)
            converge_warp();
    }
    g.sync();
}

/* Only the first warp of a block raises flags and waits for them, because loads and spills by all
 * threads of a block take long. */
template <class Context, class Group> struct coll_barrier {
    typedef decltype(Group().block_part()) block_group;
    typedef typename flag_group<block_group>::type flag_threads;
    const coll_call<Context> &call;
    Group g;
    gsh_sync_area *area;
    uint64_t *flag;      /* the first one that this thread raises, on the member `position` after */
    uint64_t epoch, own; /* the counts at the latest arrival of all blocks */
    int position;        /* 0: this PE itself, for its other blocks */
#if defined(GSHMEM_LIBRARY_KERNELS) && defined(__CUDACC__)
    uint32_t has_left; /* on the CPU device the kernel has asked first */
#endif

    __device__ __forceinline__ coll_barrier(const coll_call<Context> &k, Group group)
        : call(k), g(group)
    {
#if defined(GSHMEM_LIBRARY_KERNELS) && defined(__CUDACC__)
        has_left = load_has_left(k.c);
#endif
        if (!flag_group<block_group>::has(g.block_part()))
            return;
        area = k.area();
        epoch = load_plain(&area->epoch);
        own = load_plain(&area->own_epoch);
        position = (int)flag_threads().rank() + (g.n_blocks() > 1 ? 0 : 1);
        flag = position < k.n ? flag_on(position) : nullptr;
    }

    __device__ __forceinline__ uint64_t *flag_on(int i) const
    {
        return i == 0 ? &area->own_flag : call.at(&area->flag[call.me], call.after(i));
    }

    /* Returns when all blocks of all members have arrived; this block then sees what they did
     * before. is_last: no other arrival follows in this call, and the next call on the channel
     * continues from here. */
    __device__ GSHMEM_NOINLINE_IN_USER_KERNELS void sync(bool is_last = false)
    {
        auto b = g.block_part();
        b.sync();
#if defined(GSHMEM_LIBRARY_KERNELS) && defined(__CUDACC__)
        leave_if_given_up(call.c, has_left);
#endif
        if (flag_group<block_group>::has(b)) {
            epoch += g.n_blocks();
            own += g.n_blocks() > 1 ? g.n_blocks() : 0;
            if (is_last && g.block() == 0 && b.rank() == 0) {
                /* All have read them: this is not their first synchronisation. */
                store_plain(&area->epoch, epoch);
                store_plain(&area->own_epoch, own);
            }
            exchange_flags();
        }
        b.sync();
#if defined(GSHMEM_LIBRARY_KERNELS)
        converge_warp();
#endif
    }

    __device__ __forceinline__ void exchange_flags() const
    {
        const int step = (int)flag_threads().size();
        uint64_t *to = flag;
        GSHMEM_NO_UNROLL
        for (int i = position; i < call.n; i += step) {
            /* Serves "a collective's effects are visible": what the block did comes before its
             * flags, and pairs with the looks below, on the other members and in the other blocks.
             */
            fence_acq_rel();
            reduce_add(to, (uint64_t)1);
            if (i + step < call.n)
                to = flag_on(i + step);
        }
        GSHMEM_NO_UNROLL
        for (int i = position; i < call.n; i += step) {
            const int member = call.after(i);
            await_flag(call, i == 0 ? &area->own_flag : &area->flag[member], i == 0 ? own : epoch,
                       member);
        }
    }
};

} // namespace detail
} // namespace gshmem

#endif
