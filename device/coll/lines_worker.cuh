/* SPDX-License-Identifier: Apache-2.0
 * What each thread of a block knows of an item of lines (lines.cuh): where lines, sources and
 * results are, and how to wait for lines. */
#ifndef GSHMEM_COLL_LINES_WORKER_CUH
#define GSHMEM_COLL_LINES_WORKER_CUH

#include "fold.cuh"
#include "line.cuh"
#include "team.cuh"
#include "../group.cuh"
#include "../wait.cuh"
#include "../../wire/rounds.h"

namespace gshmem
{
namespace detail
{

constexpr int lines_ahead_of_group = GSH_LINES_AHEAD, streams_of_group = GSH_LINES_STREAMS;

/* A line that is under way. slot: its first bytes; NULL: this thread's group has no such line. */
struct line_at {
    words2 *slot;
    uint64_t line; /* of the item's block */
    int member;
    bool has_data;
};

/* Element k of a small array in registers. */
template <class Type, int n> __device__ __forceinline__ Type picked(const Type (&from)[n], int k)
{
    if constexpr (is_cpu_device)
        return from[k];
    Type v = from[0];
    GSHMEM_UNROLL
    for (int i = 1; i < n; i++)
        if (k == i)
            v = from[i];
    return v;
}

__device__ __forceinline__ bool concerns(uint32_t whom, int root, int member)
{
    return whom == GSH_LINES_ALL || (whom == GSH_LINES_ROOT && member == root);
}

template <arithmetic computes, class Context> struct line_worker {
    members<Context> all;
    const gsh_lines_inbox &in;
    const gsh_lines_item &t;
    const char *name;
    uint64_t channel; /* the address of this member's first buffer */
    uint64_t buffer_bytes;
    line_thread me;
    uint32_t group, n_groups; /* of eight threads, in the block */
    uint32_t first_group;     /* of the warp */

    __device__ __forceinline__ line_worker(const Context &c, const gsh_kernel_lines_args &h,
                                           const gsh_lines_item &item)
        : all(c, h.team), in(h.inbox), t(item), name(h.call)
    {
        channel = state_of(c).base + in.off + gsh_lines_channel_off(&in, all.n, blockIdx.x);
        buffer_bytes = (uint64_t)(uint32_t)(all.n - 1) * in.slot_lines * in.line_room;
        me.index = threadIdx.x % line_threads;
        me.is_whole = !is_cpu_device && in.line_room == GSH_LINE_ROOM_WHOLE;
        group = threadIdx.x / line_threads;
        n_groups = blockDim.x / line_threads;
        first_group = is_cpu_device ? group : group & ~3u;
    }

    __device__ __forceinline__ words2 *slot_line(int sender, int receiver, uint32_t line,
                                                 uint64_t round) const
    {
        const uint64_t slots =
            round % GSH_LINES_BUFFERS * (uint32_t)(all.n - 1) + gsh_lines_slot(sender, receiver);
        return reinterpret_cast<words2 *>(channel + (slots * in.slot_lines + line) * in.line_room);
    }
    __device__ __forceinline__ words2 *own(int member, uint32_t line, uint64_t round) const
    {
        return slot_line(member, all.me, line, round);
    }
    __device__ __forceinline__ words2 *its(int member, uint32_t line, uint64_t round) const
    {
        return all.at(slot_line(all.me, member, line, round), member);
    }
    __device__ __forceinline__ bool is_in(uint64_t line, int block) const
    {
        return line * line_data_bytes < gsh_lines_block_bytes(&t, block);
    }
    __device__ __forceinline__ const uint8_t *source(int block) const
    {
        return reinterpret_cast<const uint8_t *>(t.source + (uint64_t)block * t.source_step);
    }
    __device__ __forceinline__ uint8_t *dest(int block) const
    {
        return reinterpret_cast<uint8_t *>(t.dest + (uint64_t)block * t.dest_step);
    }
    __device__ __forceinline__ line_part load(int block, uint64_t line) const
    {
        return load_part(source(block), gsh_lines_block_bytes(&t, block), line, me.index);
    }
    __device__ __forceinline__ void store(uint64_t to, int block, uint64_t line,
                                          const line_part &p) const
    {
        store_part(reinterpret_cast<uint8_t *>(to), gsh_lines_block_bytes(&t, block), line,
                   me.index, p);
    }

    /* Now and then in a long wait: the first of the warp's lines that is missing. */
    template <int n>
    __device__ __forceinline__ uint64_t look_around_for(const line_at (&v)[n], uint32_t missing,
                                                        uint64_t flag, uint64_t start) const
    {
        int k = 0;
        GSHMEM_NO_UNROLL
        while (k + 1 < n && all_of_warp((missing >> k & 1) == 0))
            k++;
        const line_at at = picked(v, k);
        const words2 *const line =
            at.slot != nullptr ? at.slot : reinterpret_cast<const words2 *>(channel);
        const uint64_t *const word = me.flag_word(line);
        return look_around_at(all.c, is_cpu_device ? start | abort_bits : start,
                              GSH_REPORT_SYNC_TIMEOUT, name, all.pe(at.member),
                              GSH_REPORT_CMP_AT(GSHMEM_CMP_EQ, t.site), word,
                              me.is_whole ? flag : (uint64_t)(uint32_t)flag, load_relaxed(word));
    }
    /* Looks at the lines that are given until they are there. Those without a slot need not come.
     */
    template <int n>
    __device__ __forceinline__ void await(const line_at (&v)[n], seen_part (&seen)[n],
                                          uint64_t flag) const
    {
        uint64_t start = 0;
        for (uint32_t polls = 1;; polls++) {
            uint32_t missing = 0;
            GSHMEM_UNROLL
            for (int k = 0; k < n; k++)
                if (v[k].slot != nullptr && !me.is_here(seen[k], flag, v[k].has_data))
                    missing |= 1u << k;
            if (all_of_warp(missing == 0))
                break;
            spin_pause();
            if (polls % looks_between == 0)
                start = look_around_for(v, missing, flag, start);
            look_at(v, seen);
        }
        spin_done();
    }
    template <int n>
    __device__ __forceinline__ void look_at(const line_at (&v)[n], seen_part (&seen)[n]) const
    {
        GSHMEM_UNROLL
        for (int k = 0; k < n; k++)
            if (v[k].slot != nullptr)
                seen[k] = me.look(v[k].slot, v[k].has_data);
    }

    /* Whether data go between this member and that one. */
    __device__ __forceinline__ bool gives(int member) const
    {
        return concerns(t.gives, t.root, member);
    }
    __device__ __forceinline__ bool takes(int member) const
    {
        return concerns(t.takes, t.root, member);
    }
    /* By which a sum is multiplied or divided. */
    __device__ __forceinline__ uint64_t load_scalar() const
    {
        if (t.scalar_at == 0 || t.scaling == GSH_LINES_NOT_SCALED)
            return t.scalar;
        const uint32_t bytes = t.element == GSH_ELEMENT_e4m3 || t.element == GSH_ELEMENT_e5m2 ||
                                       t.element == GSH_ELEMENT_i8 || t.element == GSH_ELEMENT_u8
                                   ? 1
                               : t.element == GSH_ELEMENT_half || t.element == GSH_ELEMENT_bfloat16
                                   ? 2
                               : t.element == GSH_ELEMENT_double || t.element == GSH_ELEMENT_i64 ||
                                       t.element == GSH_ELEMENT_u64
                                   ? 8
                                   : 4;
        return load_bytes(reinterpret_cast<const uint8_t *>(t.scalar_at), bytes);
    }
};

} // namespace detail
} // namespace gshmem

#endif
