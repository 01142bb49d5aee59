/* SPDX-License-Identifier: Apache-2.0
 * Steps of collectives whose members are on several nodes, by one block. In a step a member tells
 * another one how far it is, with data or without, through the channel's signal words; data wait in
 * the work area. The invariants are in state.h, above gsh_sync_area.
 *
 * A near step is a store behind a fence. A far step is a put with signal, a single request; its
 * receiver waits only for the signals that it needs. */
#ifndef GSHMEM_COLL_FAR_STEP_CUH
#define GSHMEM_COLL_FAR_STEP_CUH

#include "move.cuh"
#include "schedule.h"
#include "team.cuh"
#include "../rma.cuh"
#include "../signal.cuh"
#include "../../wire/coll.h"

namespace gshmem
{
namespace detail
{

/* ---- words ---- */

/* Member `member`'s word for a step: its address here, which is symmetric. */
template <class Context>
__device__ __forceinline__ uint64_t *step_word(const coll_call<Context> &k, uint64_t step,
                                               int member)
{
    const gsh_team_state &t = *k.team;
    const uint64_t off =
        channel_off(t, k.channel) + t.channel_bytes - GSH_SYNC_WORDS_BYTES((uint64_t)t.n_pes);
    return reinterpret_cast<uint64_t *>(state_of(k.c).base + off) +
           step % GSH_SYNC_WORDS * (uint64_t)t.n_pes + (uint64_t)member;
}

/* The steps that are over. A call changes them once all threads of the group have read them. */
struct steps {
    uint64_t far, near;
};
template <class Context> __device__ __forceinline__ steps steps_of(const coll_call<Context> &k)
{
    return {load_plain(&k.area()->far_steps), load_plain(&k.area()->near_steps)};
}
template <class Context, class Group>
__device__ __forceinline__ void set_steps(const coll_call<Context> &k, Group g, steps s)
{
    g.sync();
    if (g.rank() == 0) {
        store_plain(&k.area()->far_steps, s.far);
        store_plain(&k.area()->near_steps, s.near);
    }
    g.sync();
}

/* By one thread; pairs with await_step. */
template <class Context>
__device__ __forceinline__ void tell_near(const coll_call<Context> &k, uint64_t step, int member)
{
    /* Serves "the member that sees the signal sees what the group did and was told before". */
    fence_acq_rel();
    store_relaxed(k.at(step_word(k, 0, k.me), member), step);
}

/* By one thread; pairs with tell_near, or with the signal of a put. */
template <class Context>
__device__ __forceinline__ void await_step(const coll_call<Context> &k, const uint64_t *word,
                                           uint64_t step, int member)
{
    spin_on(
        k.c, word, [](const uint64_t *p) { return load_awaited(p); },
        [=](uint64_t seen) { return seen >= step; }, GSH_REPORT_SYNC_TIMEOUT, k.name, k.pe(member),
        GSHMEM_CMP_GE, step);
    acquire_awaited();
}
template <class Context>
__device__ __forceinline__ void await_near_step(const coll_call<Context> &k, uint64_t step,
                                                int member)
{
    await_step(k, step_word(k, 0, member), step, member);
}
template <class Context>
__device__ __forceinline__ void await_far_step(const coll_call<Context> &k, uint64_t step,
                                               int member)
{
    await_step(k, step_word(k, step, member), step, member);
}

/* The group sends a far member a signal and, before it, the bytes, if any, into the member's dest.
 * The source must stay unchanged until the member has answered, or until quiet. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void tell_far(const coll_call<Context> &k, Group, uint8_t *dest,
                                         const uint8_t *source, uint64_t bytes, uint64_t step,
                                         int member)
{
    spill(dest, source, bytes, step, member);
    call_noinline<put_signal_general<false, false, may_be_far, Group, Context>>(
        k.c, static_cast<void *>(dest), static_cast<const void *>(source), (size_t)bytes,
        step_word(k, step, k.me), step, GSHMEM_SIGNAL_SET, k.pe(member), k.name);
}

/* ---- near steps ---- */

/* One thread records that this PE has arrived; needs no order: nothing depends on it. */
template <class Context>
__device__ __forceinline__ void note_begun(const coll_call<Context> &k, uint64_t step)
{
    store_relaxed(&k.area()->begun_step, step);
}

/* The leader waits for all near members; the others do not wait. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void come_to_leader(const coll_call<Context> &k, Group g, uint64_t step)
{
    spill(g, step);
    g.sync();
    if (g.rank() == 0)
        note_begun(k, step);
    if (k.team->my_near != 0) {
        if (g.rank() == 0)
            tell_near(k, step, near_member(*k.team, 0));
        return;
    }
    for (int i = (int)g.rank() + 1; i < k.team->n_near; i += (int)g.size())
        await_near_step(k, step, near_member(*k.team, i));
    g.sync();
}

/* The leader releases the others. Its group has synchronised since the last signal of another
 * leader arrived. set_steps follows and synchronises their groups. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void leave_leader(const coll_call<Context> &k, Group g, uint64_t step)
{
    spill(g, step);
    if (k.team->my_near != 0) {
        if (g.rank() == 0)
            await_near_step(k, step, near_member(*k.team, 0));
        return;
    }
    for (int i = (int)g.rank() + 1; i < k.team->n_near; i += (int)g.size())
        tell_near(k, step, near_member(*k.team, i));
}

/* Once set_steps, which follows, has returned, all near members see what their groups did
 * before. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void sync_near(const coll_call<Context> &k, Group g, uint64_t step)
{
    spill(g, step);
    g.sync();
    if (g.rank() == 0)
        note_begun(k, step);
    for (int i = (int)g.rank() + 1; i < k.team->n_near; i += (int)g.size())
        tell_near(k, step, near_member(*k.team, (k.team->my_near + i) % k.team->n_near));
    for (int i = (int)g.rank() + 1; i < k.team->n_near; i += (int)g.size())
        await_near_step(k, step, near_member(*k.team, (k.team->my_near + i) % k.team->n_near));
}

/* ---- the work area ---- */

template <class Context>
__device__ __forceinline__ uint64_t half_bytes_of(const coll_call<Context> &k)
{
    const gsh_team_state &t = *k.team;
    return (uint64_t)(k.channel == 0 ? t.work_wide_slot_bytes : t.work_slot_bytes) * (uint64_t)k.n;
}

/* This PE's half for the data of that step. */
template <class Context>
__device__ __forceinline__ uint8_t *half_of(const coll_call<Context> &k, uint64_t step)
{
    const gsh_team_state &t = *k.team;
    const uint64_t n = (uint64_t)k.n;
    const uint64_t channel_at =
        k.channel == 0
            ? 0
            : 2 * n * (t.work_wide_slot_bytes + (uint64_t)(k.channel - 1) * t.work_slot_bytes);
    return reinterpret_cast<uint8_t *>(state_of(k.c).base + t.work_off + channel_at +
                                       step % 2 * half_bytes_of(k));
}

/* ---- near data ---- */

/* The group copies from here to a near member, or to this PE. A reader that sees anything after the
 * group's next synchronisation sees the copy. */
template <class Context, class Group>
__device__ GSHMEM_NOINLINE void copy_to(const coll_call<Context> &k, Group g, uint8_t *dest,
                                        const uint8_t *source, uint64_t bytes, int member)
{
    spill(g, dest, source, bytes, member);
    if (bytes > 0 && !(member == k.me && dest == source))
        copy<direction::put, false, Group>({g.rank(), g.size()}, k.at(dest, member), source, bytes);
}

template <class Context, class Group>
__device__ GSHMEM_NOINLINE void to_near(const coll_call<Context> &k, Group g, uint8_t *dest,
                                        const uint8_t *source, uint64_t bytes)
{
    spill(g, dest, source, bytes);
    GSHMEM_NO_UNROLL
    for (int i = 1; i < k.team->n_near; i++)
        copy_to(k, g, dest, source, bytes,
                near_member(*k.team, (k.team->my_near + i) % k.team->n_near));
}

} // namespace detail
} // namespace gshmem

#endif
