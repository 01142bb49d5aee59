/* SPDX-License-Identifier: Apache-2.0
 * The kernels' side of a network adapter's queue (invariants in wire/wq.h): reserve, wait for room,
 * write, publish, ring, wait for completion; and the cells in which values come back (wire/nic.h).
 * Threads of a warp that come here at once reserve, publish and ring as one. Short entries stay in
 * registers (post_short), others in the thread's memory (batch).
 *
 * Why no wait is endless. A thread that has reserved waits for room, and for the threads with lower
 * positions of that queue, which wait for nothing else. Room comes as the adapter completes what
 * has been rung for, and a thread that publishes makes sure that the doorbell rings. Threads of a
 * warp may be made to wait for each other after any branch: so, as with rings (push.cuh), a warp
 * has reservations in one queue at a time. A thread that holds a cell waits only for what it has
 * posted itself.
 *
 * Whether an entry has failed is for the host to find, which ends the job: a thread that waits sees
 * no completion meanwhile. */
#ifndef GSHMEM_POST_CUH
#define GSHMEM_POST_CUH

#include "push.cuh"
#include "trace_post.cuh"
#include "../wire/nic.h"

namespace gshmem
{
namespace detail
{

/* ---- queues ---------------------------------------------------------------------------------- */

template <class Context> __device__ __forceinline__ gsh_nic *nic_of(const Context &c)
{
    return reinterpret_cast<gsh_nic *>(GSH_NIC_ADDRESS(state_of(c).nic));
}

/* enum gsh_nic_flags */
template <class Context> __device__ __forceinline__ uint32_t nic_flags(const Context &c)
{
    return GSH_NIC_FLAGS(state_of(c).nic);
}

template <class Context>
__device__ __forceinline__ gsh_nic_queue *queue_at(const Context &c, uint32_t index)
{
    return reinterpret_cast<gsh_nic_queue *>(nic_of(c) + 1) + index;
}

/* The queue of this block for pe. */
template <class Context>
__device__ __forceinline__ uint32_t nic_queue_index(const Context &c, int pe)
{
    const uint32_t n = GSH_NIC_N_QUEUES(state_of(c).nic);
    if (number_of(c) != 0)
        return (uint32_t)state_of(c).n_pes * (n + number_of(c) - 1) + (uint32_t)pe;
    uint32_t block = blockIdx.x + blockIdx.y + blockIdx.z;
    if (block >= n)
        block %= n; /* a long way */
    return (uint32_t)pe * n + block;
}

/* ---- a reservation --------------------------------------------------------------------------- */

/* Data, signal, and what makes the last entry one of one block. */
constexpr uint32_t batch_blocks = 5;

/* What one thread posts at once, in its local memory, but for the indices. */
struct batch {
    uint64_t word[batch_blocks * GSH_WQ_WORDS];
    const char *call;          /* public name, for reports */
    uint64_t position, end;    /* reserved for it; end: for the group */
    uint64_t ticket;           /* of its cell */
    uint32_t n_blocks, starts; /* starts: in which blocks entries begin */
    uint32_t queue;
    int32_t pe;
    uint32_t here, waiting, group; /* see post() */
    bool is_loose;                 /* it has READs or atomics */
    bool is_token;                 /* one is enough for all threads of the warp that are here */
};

/* In queue `index`, to pe. */
__device__ __forceinline__ void begin_batch_in(batch *b, uint32_t index, int pe, const char *call)
{
    b->call = call;
    b->n_blocks = b->starts = 0;
    b->queue = index;
    b->pe = pe;
    b->is_loose = b->is_token = false;
}

template <class Context>
__device__ __forceinline__ void begin_batch(const Context &c, batch *b, int pe, const char *call)
{
    begin_batch_in(b, nic_queue_index(c, pe), pe, call);
}

/* Adds an entry of ds segments, and returns its words, of which the first four are filled. */
template <class Context>
__device__ __forceinline__ uint64_t *add_entry(const Context &c, batch *b, uint32_t opcode,
                                               uint32_t opmod, uint32_t ds, uint64_t remote_off)
{
    const gsh_nic_queue *q = queue_at(c, b->queue);
    uint64_t *word = b->word + b->n_blocks * GSH_WQ_WORDS;
    gsh_wq_fill_control(word, opcode, opmod, q->number, ds, 0);
    gsh_wq_fill_remote(word, remote_off, q->remote_key);
    b->starts |= 1u << b->n_blocks;
    b->n_blocks += (ds + 3) / 4;
    return word;
}

template <class Context>
__device__ __forceinline__ void add_nop(const Context &c, batch *b, uint32_t flags)
{
    uint64_t *word = b->word + b->n_blocks * GSH_WQ_WORDS;
    gsh_wq_fill_control(word, GSH_WQ_NOP, 0, queue_at(c, b->queue)->number, 1, flags);
    b->starts |= 1u << b->n_blocks++;
}

/* ---- completion ------------------------------------------------------------------------------ */

/* A thread that loads gpu_done with acquire sees what came before the completion that this thread
 * has seen. gpu_done never decreases: a completion has only 16 bits of a position, so the word must
 * not fall behind. */
__device__ __forceinline__ void raise_done(gsh_nic_queue *q, uint64_t known, uint64_t done)
{
    fence_gpu();
    while (known < done) {
        uint64_t seen = atomic_compare_swap(&q->gpu_done, known, done);
        if (seen == known)
            return;
        known = seen;
    }
}

/* Waits until all before `end` in the queue is complete: it is seen at its PE, and what it brought
 * here. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void await_completed(const Context &c, uint32_t index, uint64_t end,
                                                     const char *call)
{
    spin s;
    spill(index, end, call);
    for (;;) {
        gsh_nic_queue *q = queue_at(c, index);
        /* acquire: the completion that is read next is no older than the one that this came from */
        uint64_t known = load_acquire(&q->gpu_done), done = known;
        if (known >= end)
            break;
        const uint32_t *word =
            reinterpret_cast<const uint32_t *>(q->completion + GSH_WQ_COMPLETION_LAST);
        uint32_t last = load_acquire(word); /* pairs with the adapter's write of the completion */
        if (gsh_wq_completed_opcode(last) == GSH_WQ_DONE)
            done = gsh_wq_completed_end(last, known);
        if (done > known) {
            raise_done(q, known, done);
            GSHMEM_TRACED_COMPLETION(c, index, done);
        }
        if (done >= end)
            break;
        s.keep_polling(c, GSH_REPORT_FAR_TIMEOUT, call, queue_at(c, index)->pe, GSHMEM_CMP_GE,
                       &queue_at(c, index)->gpu_done, end, done);
    }
    s.done();
}

/* ---- posting --------------------------------------------------------------------------------- */

/* The queue's first post: fences and quiets, of the host's, too, look at it from now on. By one
 * thread. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void list_queue(const Context &c, uint32_t index)
{
    uint64_t *used = &nic_of(c)->gpu_used[number_of(c)];
    uint64_t seen = load_relaxed(used), before;
    do {
        before = seen;
        store_relaxed(&queue_at(c, index)->gpu_next, before);
        fence_gpu(); /* pairs with the acquire in nic_await_all and nic_fence: gpu_next is there */
        seen = atomic_compare_swap(used, before, (uint64_t)index + 1);
    } while (seen != before);
    /* for the host, which looks when this kernel is over */
    store_relaxed(reinterpret_cast<uint8_t *>(nic_of(c)->used_queues) + index, (uint8_t)1);
    store_relaxed(reinterpret_cast<uint8_t *>(nic_of(c)->used_groups) + index / GSH_NIC_USED_GROUP,
                  (uint8_t)1);
}

/* For the thread that has reserved [position, end): lists the queue, if it is the first, and waits
 * for room. The queue was complete up to `done`. */
template <class Context>
__device__ __forceinline__ void enter_queue(const Context &c, uint32_t index, uint64_t position,
                                            uint64_t end, uint64_t done, const char *call)
{
    if (position == 0)
        call_noinline<list_queue<Context>>(c, index);
    if (end - done > queue_at(c, index)->depth)
        call_noinline<await_completed<Context>>(c, index, end - queue_at(c, index)->depth, call);
}

/* n positions of the queue, with room. is_loose: for READs or atomics, too. By one thread. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t reserve_alone(const Context &c, uint32_t index, uint64_t n,
                                                       bool is_loose, const char *call)
{
    gsh_nic_queue *const q = queue_at(c, index);
    /* pairs with raise_done, for the stores to the blocks */
    const uint64_t done = load_before_stores(&q->gpu_done), position = atomic_add(&q->gpu_head, n);
    if (is_loose) /* after the reservation: nic_fence_queue counts on it */
        reduce_add(&q->gpu_loose, (uint64_t)1);
    spill(index, n, position, done, call);
    enter_queue(c, index, position, position + n, done, call);
    return position;
}

/* Reserves positions for the group. */
template <class Context> __device__ __forceinline__ void reserve_blocks(const Context &c, batch *b)
{
    uint64_t n = b->is_token ? 1 : (uint64_t)size_of(b->group) * b->n_blocks;
    if (rank_in(b->group) == 0)
        b->position = call_noinline<reserve_alone<Context>>(c, b->queue, n, b->is_loose, b->call);
    b->position = of_first(b->group, b->position);
    b->end = b->position + n;
    if (!b->is_token)
        b->position += (uint64_t)rank_in(b->group) * b->n_blocks;
}

/* The entries at their positions; the last one asks for a completion. */
template <class Context> __device__ __forceinline__ void write_blocks(const Context &c, batch *b)
{
    const gsh_nic_queue *q = queue_at(c, b->queue);
    words2 *entries = reinterpret_cast<words2 *>(q->entries);
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < b->n_blocks; i++) {
        uint64_t *word = b->word + i * GSH_WQ_WORDS, position = b->position + i;
        words2 *to = entries + (position & (q->depth - 1)) * (GSH_WQ_WORDS / 2);
        if ((b->starts >> i & 1) != 0)
            word[0] = gsh_wq_at_position(word[0], position);
        if (i + 1 == b->n_blocks)
            word[1] |= (uint64_t)GSH_WQ_COMPLETE << 24;
        GSHMEM_NO_UNROLL
        for (uint32_t k = 0; k < GSH_WQ_WORDS / 2; k++)
            store_plain(&to[k], words2{word[2 * k], word[2 * k + 1]});
    }
}

/* What a thread needs of a queue to ring. It loads this before it fences: a fence empties the
 * multiprocessor's cache. */
struct bell {
    uint64_t record, doorbell;
    uint32_t number;
};

__device__ __forceinline__ bell bell_of(const gsh_nic_queue *q)
{
    return {q->record, q->doorbell, q->number};
}

/* Rings for all before `ready`, and gives up the right to. */
template <class Context>
__device__ __forceinline__ void ring_doorbell(const Context &c, gsh_nic_queue *q, bell to,
                                              uint64_t ready)
{
    if (to.record != 0) {
        store_relaxed(reinterpret_cast<uint32_t *>(to.record), gsh_wq_record(ready));
        fence_acq_rel(); /* the record before the doorbell: pairs with the adapter's read of it */
    }
    store_relaxed(reinterpret_cast<uint64_t *>(to.doorbell), gsh_wq_doorbell(ready, to.number));
    /* What this thread has stored comes before what the next one that rings stores; pairs with its
     * fence for the system in publish_next or publish_later. None of it awaits the host's memory.
     */
    fence_gpu();
    store_relaxed(&q->gpu_rung, ready);
    reduce_and(&q->gpu_ready, ~GSH_NIC_RINGING);
    if (is_cpu_device && nic_of(c)->wake != 0) {
        const gsh_nic_wake *wake = reinterpret_cast<const gsh_nic_wake *>(nic_of(c)->wake);
        wake->call(wake->context);
    }
}

/* Swaps gpu_ready, if it still is `seen`. */
__device__ __forceinline__ bool change_ready(gsh_nic_queue *q, uint64_t seen, uint64_t to)
{
    return atomic_compare_swap(&q->gpu_ready, seen, to) == seen;
}

/* Publishes the entries at [position, end) behind those before them, which others have reserved,
 * and returns when the doorbell has rung for them, by this thread or another. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void
publish_later(const Context &c, uint32_t index, uint64_t position, uint64_t end, const char *call)
{
    bool is_ready = false;
    spin s;
    spill(index, position, end, call, is_ready);
    /* The entries, and what the adapter reads for them, before gpu_ready: pairs with the fence of
     * the thread that rings for them, below or in publish_next, which is for the system. So this
     * one need not await the host's memory. */
    fence_gpu();
    for (;;) {
        gsh_nic_queue *q = queue_at(c, index);
        /* acquire: pairs with ring_doorbell of the thread that has rung */
        if (is_ready && load_acquire(&q->gpu_rung) >= end)
            break;
        const uint64_t seen = load_relaxed(&q->gpu_ready);
        const uint64_t at = seen & ~GSH_NIC_RINGING, to = is_ready ? at : end;
        const bool is_free = (seen & GSH_NIC_RINGING) == 0;
        if (is_ready ? is_free : at == position) {
            const bool is_mine = change_ready(q, seen, to | GSH_NIC_RINGING);
            is_ready = is_ready || is_mine;
            if (is_mine && is_free) {
                const bell own = bell_of(q);
                /* The entries of all before `to`, for the adapter; pairs with the fences of those
                 * who published them, and with that of the thread that rang before. */
                fence_acq_rel();
                ring_doorbell(c, q, own, to);
                break;
            }
            continue;
        }
        s.keep_polling(c, GSH_REPORT_FAR_TIMEOUT, call, queue_at(c, index)->pe, GSHMEM_CMP_GE,
                       is_ready ? &queue_at(c, index)->gpu_rung : &queue_at(c, index)->gpu_ready,
                       end, at);
    }
    s.done();
}

/* The same for a thread that expects its entries to be the next ones, and nobody else to ring.
 * Returns false if it is mistaken; then nothing is published. If the queue has no record, the fence
 * is the only one for the system on this way. It comes after the attempt to get the right to ring,
 * and so waits for both at once. */
template <class Context>
__device__ __forceinline__ bool publish_next(const Context &c, gsh_nic_queue *q, uint64_t position,
                                             uint64_t end)
{
    const bell own = bell_of(q);
    const uint64_t seen = atomic_compare_swap(&q->gpu_ready, position, end | GSH_NIC_RINGING);
    /* The entries, and what the adapter reads for them, before record and doorbell: pairs with the
     * adapter's reads of these. So do the entries of those who have published before, and what the
     * thread that rang before has stored: pairs with their fences. */
    fence_acq_rel();
    if (hide_value(seen) != position)
        return false;
    ring_doorbell(c, q, own, end);
    return true;
}

/* Lets the adapter see what this thread has written there, and what it has synchronised with. */
template <class Context>
__device__ __forceinline__ void publish_alone(const Context &c, uint32_t index, uint64_t position,
                                              uint64_t end, const char *call)
{
    gsh_nic_queue *const q = queue_at(c, index);
    if (load_relaxed(&q->gpu_ready) != position || !publish_next(c, q, position, end))
        call_noinline<publish_later<Context>>(c, index, position, end, call);
}

/* Lets the adapter see what the group has written, which this thread has synchronised with. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void publish_blocks(const Context &c, const batch *b)
{
    b = hide_pointee(b);
    publish_alone(c, b->queue, b->position, b->end, b->call);
}

/* Writes the entries of a group that has reserved, and publishes them. */
template <class Context> __device__ __forceinline__ void post_reserved(const Context &c, batch *b)
{
    if (!b->is_token || rank_in(b->group) == 0)
        write_blocks(c, b);
    sync_group(b->group);
    if (rank_in(b->group) == 0)
        call_noinline<publish_blocks<Context>>(c, b);
    sync_group(b->group); /* nobody returns before the queue is in the list of used ones */
}

/* Posts the batch; returns the position after it, whose completion covers it. The threads of the
 * warp that are here post together what is for one queue and of one size, in order of the queues.
 */
template <class Context> __device__ GSHMEM_NOINLINE_BODY uint64_t post(const Context &c, batch *b)
{
    b = hide_pointee(b);
    GSHMEM_TRACED_POSTING();
    if (b->starts >> (b->n_blocks - 1) == 0)
        add_nop(c, b, 0); /* its last entry takes two blocks */
    b->here = b->waiting = threads_here();
    do {
        b->group = next_group(b->here, b->waiting, b->queue << 3 | b->n_blocks);
        b->waiting &= ~b->group;
        if (is_in(b->group)) {
            reserve_blocks(c, b);
            post_reserved(c, b);
        }
    } while (b->waiting != 0);
    GSHMEM_TRACED_POSTED(c, b);
    return b->position + b->n_blocks;
}

/* ---- short entries, in registers ------------------------------------------------------------- */

/* An entry of three segments but for what its queue and its position add: opcode, remote address,
 * and the last segment. */
struct short_entry {
    uint32_t opcode;
    uint64_t remote_off;
    words2 last;
};

constexpr uint32_t short_ds = 3;

/* The batch of such an entry. */
template <class Context>
__device__ __forceinline__ void fill_batch(const Context &c, batch *b, short_entry e,
                                           uint32_t index, bool is_loose, const char *call)
{
    begin_batch_in(b, index, queue_at(c, index)->pe, call);
    b->is_loose = is_loose;
    uint64_t *word = add_entry(c, b, e.opcode, 0, short_ds, e.remote_off);
    word[4] = e.last.low;
    word[5] = e.last.high;
    word[6] = word[7] = 0; /* the adapter ignores the block's end */
}

/* For threads that have several queues. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t post_by_queue(const Context &c, short_entry e,
                                                       uint32_t index, bool is_loose,
                                                       const char *call)
{
    batch memory, *b = hide_pointee(&memory);
    fill_batch(c, b, e, index, is_loose, call);
    return call_noinline<post<Context>>(c, b);
}

/* For a group that has reserved from `first` on: the queue's first position, or positions for which
 * there was no room. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t post_late(const Context &c, short_entry e, uint32_t index,
                                                   uint64_t first, uint32_t group, const char *call)
{
    batch memory, *b = hide_pointee(&memory);
    GSHMEM_TRACED_POSTING();
    fill_batch(c, b, e, index, false, call);
    b->position = first;
    b->end = first + size_of(group);
    b->group = group;
    if (rank_in(b->group) == 0)
        enter_queue(c, b->queue, b->position, b->end, 0, b->call);
    b->position = of_first(b->group, b->position) + rank_in(b->group); /* the others wait here */
    post_reserved(c, b);
    GSHMEM_TRACED_SHORT(c, e, index, b->position + 1);
    return b->position + 1;
}

/* The entry at its position. is_last: it asks for a completion. */
__device__ __forceinline__ void write_short_entry(short_entry e, words2 *entries, uint32_t depth,
                                                  uint32_t number, uint32_t remote_key,
                                                  uint64_t position, bool is_last)
{
    words2 *to = entries + (position & (depth - 1)) * (GSH_WQ_WORDS / 2);
    store_plain(&to[0],
                words2{gsh_wq_at_position(gsh_wq_pair(e.opcode, number << 8 | short_ds), position),
                       is_last ? (uint64_t)GSH_WQ_COMPLETE << 24 : 0});
    store_plain(&to[1], words2{gsh_wq_be64(e.remote_off), gsh_wq_be32(remote_key)});
    store_plain(&to[2], e.last); /* the adapter ignores the block's end */
}

/* Posts the entries of a group with one queue. It keeps nothing in memory, and awaits of its GPU's
 * memory only what it must: where the queue lies, a position, and the right to ring. is_one: the
 * group is one thread, which waits for no other. */
template <bool is_one, class Context>
__device__ __forceinline__ uint64_t post_at_once(const Context &c, short_entry e, uint32_t index,
                                                 uint32_t group, bool is_loose, const char *call)
{
    GSHMEM_TRACED_POSTING();
    const uint32_t rank = is_one ? 0 : rank_in(group), size = is_one ? 1 : size_of(group);
    gsh_nic_queue *q = queue_at(c, index);
    /* all that is loaded here is under way with the atomic */
    words2 *entries = reinterpret_cast<words2 *>(q->entries);
    const uint32_t key = q->remote_key, number = q->number, depth = q->depth;
    uint64_t position = 0;
    bool is_next = false, is_late = false;
    if (rank == 0) {
        /* pairs with raise_done, for the stores to the blocks */
        const uint64_t done = load_before_stores(&q->gpu_done);
        const uint64_t ready = load_relaxed(&q->gpu_ready);
        position = atomic_add(&q->gpu_head, (uint64_t)size);
        if (is_loose) /* after the reservation: nic_fence_queue counts on it */
            reduce_add(&q->gpu_loose, (uint64_t)1);
        is_next = ready == position;
        /* positions that are in use at a time are less than 2^32 apart */
        is_late = position == 0 || (uint32_t)position + size - (uint32_t)done > depth;
    }
    if (!is_one) {
        position = of_first(group, position << 1 | (uint64_t)is_late);
        is_late = (position & 1) != 0;
        position = position >> 1;
    }
    if (is_late)
        return call_noinline<post_late<Context>>(c, e, index, position, group, call);
    position += rank;
    write_short_entry(e, entries, depth, number, key, position, true);
    if (!is_one)
        sync_group(group);
    if (rank == 0) {
        const uint64_t end = position + size;
        if (!is_next || !publish_next(c, q, position, end))
            call_noinline<publish_later<Context>>(c, index, position, end, call);
    }
    if (!is_one)
        sync_group(group);
    GSHMEM_TRACED_SHORT(c, e, index, position + 1);
    return position + 1;
}

/* For several threads. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t post_together(const Context &c, short_entry e,
                                                       uint32_t index, bool is_loose,
                                                       const char *call)
{
    const uint32_t here = threads_here();
    if (!is_same(here, index))
        return call_noinline<post_by_queue<Context>>(c, e, index, is_loose, call);
    return post_at_once<false>(c, e, index, here, is_loose, call);
}

/* post() for a short entry. */
template <class Context>
__device__ __forceinline__ uint64_t post_short(const Context &c, short_entry e, uint32_t index,
                                               bool is_loose, const char *call)
{
    if (size_of(threads_here()) > 1)
        return call_noinline<post_together<Context>>(c, e, index, is_loose, call);
    return post_at_once<true>(c, e, index, own_group(), is_loose, call);
}

/* ---- values that come back ------------------------------------------------------------------- */

/* Takes a ticket for a reply cell and waits until it is served. The cell is this thread's until
 * post_for_value returns. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t *take_cell(const Context &c, batch *b)
{
    b = hide_pointee(b);
    b->ticket = atomic_add(&nic_of(c)->gpu_ticket, (uint64_t)1);
    const uint64_t *serving = &nic_of(c)->gpu_serving[b->ticket % GSH_NIC_CELLS];
    spin s;
    uint64_t seen = load_acquire(serving); /* pairs with post_for_value: the cell has been read */
    while (seen < b->ticket / GSH_NIC_CELLS) {
        s.keep_polling(c, GSH_REPORT_FAR_TIMEOUT, b->call, b->pe, GSHMEM_CMP_GE, serving,
                       b->ticket / GSH_NIC_CELLS, seen);
        serving = &nic_of(c)->gpu_serving[b->ticket % GSH_NIC_CELLS];
        seen = load_acquire(serving);
    }
    s.done();
    return &nic_of(c)->cell[b->ticket % GSH_NIC_CELLS];
}

/* The value of `bytes` bytes that the batch brings to its cell. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t post_for_value(const Context &c, batch *b, uint32_t bytes)
{
    b = hide_pointee(b);
    uint64_t end = call_noinline<post<Context>>(c, b);
    call_noinline<await_completed<Context>>(c, b->queue, end, b->call);
    uint64_t value = load_relaxed(&nic_of(c)->cell[b->ticket % GSH_NIC_CELLS]);
    store_release(&nic_of(c)->gpu_serving[b->ticket % GSH_NIC_CELLS],
                  b->ticket / GSH_NIC_CELLS + 1);
    return bytes == 8 ? value : value & ((1ull << (8 * bytes)) - 1);
}

} // namespace detail
} // namespace gshmem

#endif
