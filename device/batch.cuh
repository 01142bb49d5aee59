/* SPDX-License-Identifier: Apache-2.0
 * A block's batch: small non-blocking puts of its threads to far PEs, which wait in shared memory
 * until they are published together, with one fence and one reservation for each ring, or for each
 * queue to an adapter, whose doorbell then rings once. Only files with GSHMEM_BATCH_PUTS, the
 * number of puts that a batch holds, have one; in others nothing here costs anything.
 *
 * Invariants
 * - The batch is the block's between begin_batch and end_batch: owner is its key. Nothing else says
 *   so, since shared memory is never initialised.
 * - Positions count puts and never wrap; put i is at puts[i % GSHMEM_BATCH_PUTS]. If head - tail
 *   shows room, a thread takes a position by adding 1 to head; otherwise it publishes first. It
 *   writes the put, and then sets ready = i + 1.
 * - The thread that holds the lock publishes [tail, head). It waits until all of these are ready,
 *   fences if the proxy is to read sources, and reserves slots for all puts of a ring at once, or
 *   blocks for all of a queue; it publishes these before it reserves others. Then it moves tail up
 *   to head. So before it reserves, it waits only for threads that wait for
 *   nothing; afterwards it waits only for room, as every producer does (push.cuh).
 * - What asks for an order publishes first: fence, quiet, barriers, and the end. So do the block's
 *   other threads' calls, for all puts that a synchronisation has ordered before them. */
#ifndef GSHMEM_BATCH_CUH
#define GSHMEM_BATCH_CUH

#include "nic.cuh"

#if !defined(GSHMEM_BATCH_PUTS)
#define GSHMEM_BATCH_PUTS 0
#endif
static_assert(GSHMEM_BATCH_PUTS >= 0 && 2 * GSHMEM_BATCH_PUTS <= GSH_RING_MIN_SLOTS,
              "GSHMEM_BATCH_PUTS is 0 to 128");

namespace gshmem
{
namespace detail
{

constexpr bool has_batches = GSHMEM_BATCH_PUTS > 0;
constexpr uint64_t batch_puts = has_batches ? GSHMEM_BATCH_PUTS : 1;

/* A request of one or two slots; or, with batched_by_nic in `ring`, a WRITE of one block: then
 * `ring` is the queue, and w has the remote address and the last segment (short_entry). slots: 0:
 * it has been written. */
struct batched {
    words4 w;
    uint64_t ready;
    uint32_t ring, slots;
};
constexpr uint32_t batched_by_nic = 1u << 31;

__device__ __forceinline__ bool is_by_nic(const batched *p)
{
    return may_use_nic && (p->ring & batched_by_nic) != 0;
}

struct put_batch {
    uint64_t owner, rings; /* of whose state: other PEs' puts are not for it */
    uint64_t lock, head, tail;
    batched puts[batch_puts];
};

__device__ __forceinline__ put_batch *own_batch()
{
    __shared__ put_batch batch;
    return &batch;
}

template <class Context> __device__ __forceinline__ bool is_batching(const Context &c)
{
    const put_batch *const b = own_batch();
    return b->owner == block_key() && b->rings == state_of(c).rings;
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* Returns when put i has been written, and is seen. */
template <class Context>
__device__ __forceinline__ void await_ready(const Context &c, const batched *p, uint64_t i,
                                            const char *call)
{
    spin s;
    uint64_t seen = block_load_acquire(&p->ready); /* pairs with the release in batch_add */
    while (seen != i + 1) {
        s.keep_polling(c, GSH_REPORT_WAIT_TIMEOUT, call, -1, GSHMEM_CMP_EQ, &p->ready, i + 1, seen);
        seen = block_load_acquire(&p->ready);
    }
    s.done();
}

template <class Context>
__device__ __forceinline__ void lock_batch(const Context &c, put_batch *b, const char *call)
{
    spin s;
    uint64_t seen =
        block_compare_swap(&b->lock, 0, 1); /* pairs with the release in publish_batch */
    while (seen != 0) {
        s.keep_polling(c, GSH_REPORT_WAIT_TIMEOUT, call, -1, GSHMEM_CMP_EQ, &b->lock, (uint64_t)0,
                       seen);
        seen = block_compare_swap(&b->lock, 0, 1);
    }
    s.done();
}

/* Writes the ring's puts among [first, end) behind one reservation of n slots. */
template <class Context>
__device__ __forceinline__ void publish_in_ring(const Context &c, put_batch *b, uint64_t first,
                                                uint64_t end, uint32_t index, uint64_t n,
                                                const char *call)
{
    request r = request_to(c, -1, GSH_RING_PUT, 0, (uint32_t)(2 * (n - 1)), until::written, call);
    r.ring = index;
    r.group = own_group();
    bool has_room;
    gsh_ring *const ring = ring_at(c, index);
    r.position = reserve_short(ring, view_of(ring), n, &has_room);
    if (!has_room)
        call_noinline<await_room<Context>>(c, (const request *)&r);
    uint64_t at = r.position;
    for (uint64_t i = first; i != end; i++) {
        batched *const p = &b->puts[i % batch_puts];
        if (p->ring != index || p->slots == 0)
            continue;
        if (p->slots == 2)
            write_slot(view_of(ring), at + 1, p->w.values);
        write_slot(view_of(ring), at, p->w.header);
        at += p->slots;
        p->slots = 0;
    }
    wake_proxy(ring);
}

/* The same for a queue; each put takes one block. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void publish_in_queue(const Context &c, put_batch *b,
                                                      uint64_t first, uint64_t end, uint32_t key,
                                                      uint64_t n, const char *call)
{
    GSHMEM_TRACED_POSTING();
    const uint32_t index = key & ~batched_by_nic;
    const uint64_t position = call_noinline<reserve_alone<Context>>(c, index, n, false, call);
    uint64_t at = position;
    for (uint64_t i = first; i != end; i++) {
        batched *const p = &b->puts[i % batch_puts];
        if (p->ring != key || p->slots == 0)
            continue;
        const short_entry e = {GSH_WQ_WRITE, p->w.header.low, p->w.values};
        const gsh_nic_queue *const q = queue_at(c, index);
        at++;
        write_short_entry(e, reinterpret_cast<words2 *>(q->entries), q->depth, q->number,
                          q->remote_key, at - 1, at == position + n);
        GSHMEM_TRACED_SHORT(c, e, index, position + n);
        p->slots = 0;
    }
    publish_alone(c, index, position, position + n, call);
}

/* All puts that the batch has. By a thread on its own. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void publish_batch(const Context &c, const char *call)
{
    put_batch *const b = own_batch();
    lock_batch(c, b, call);
    const uint64_t first = b->tail, end = block_load_acquire(&b->head);
    bool reads_sources = false;
    for (uint64_t i = first; i != end; i++) {
        await_ready(c, &b->puts[i % batch_puts], i, call);
        const batched *const p = &b->puts[i % batch_puts];
        reads_sources = reads_sources || (p->slots == 1 && !is_by_nic(p));
    }
    if (reads_sources)
        fence_acq_rel(); /* as in copy_request, for what await_ready has acquired */
    for (uint64_t i = first; i != end; i++) {
        const batched *const p = &b->puts[i % batch_puts];
        uint64_t n = 0;
        if (p->slots == 0)
            continue; /* written with an earlier one */
        for (uint64_t k = i; k != end; k++)
            n += b->puts[k % batch_puts].ring == p->ring ? b->puts[k % batch_puts].slots : 0;
        if (is_by_nic(p))
            call_indirect<publish_in_queue<Context>>(c, b, i, end, p->ring, n, call);
        else
            publish_in_ring(c, b, i, end, p->ring, n, call);
    }
    /* pairs with the load in batch_add, which reuses the places */
    block_store_release(&b->tail, end);
    block_store_release(&b->lock, (uint64_t)0); /* pairs with the swap in lock_batch */
}

/* Before anything that orders puts. */
template <class Context>
__device__ __forceinline__ void publish_if_batching(const Context &c, const char *call)
{
    if constexpr (has_batches) {
        if (is_batching(c))
            call_noinline<publish_batch<Context>>(c, call);
    }
}

/* ---- adding ---------------------------------------------------------------------------------- */

template <bool is_nic, class Context>
__device__ __forceinline__ void batch_add(const Context &c, words4 w, uint32_t slots, int pe,
                                          const char *call)
{
    put_batch *const b = own_batch();
    uint64_t at = block_load_acquire(&b->head);
    for (;;) {
        /* pairs with the release in publish_batch */
        if (at - block_load_acquire(&b->tail) >= batch_puts) {
            call_noinline<publish_batch<Context>>(c, call);
            at = block_load_acquire(&b->head);
            continue;
        }
        const uint64_t seen = block_compare_swap(&b->head, at, at + 1);
        if (seen == at)
            break;
        at = seen;
    }
    batched *const p = &b->puts[at % batch_puts];
    p->w = w;
    p->ring = is_nic ? nic_queue_index(c, pe) | batched_by_nic : ring_index(c, pe);
    p->slots = slots;
    /* pairs with the acquire in await_ready: the put, and what its thread knows of its source */
    block_store_release(&p->ready, at + 1);
}

/* The value of up to 8 bytes. */
__device__ __forceinline__ uint64_t bits_of(const void *source, uint64_t bytes)
{
    uint64_t bits = 0;
    for (uint32_t k = 0; k < bytes; k++)
        bits |= (uint64_t) static_cast<const uint8_t *>(source)[k] << (8 * k);
    return bits;
}

/* False: it is not for the batch. The source stays as it is until a quiet, as for every
 * non-blocking put. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY bool batch_put(const Context &c, void *dest, const void *source,
                                               uint64_t bytes, int pe, const char *call)
{
    if (bytes == 0)
        return false;
    if (bytes <= sizeof(uint64_t)) {
        const uint64_t bits = bits_of(source, bytes);
        const words4 w = {
            {header(GSH_RING_PUT_INLINE, 2, pe, 0) | bits >> 63 << (GSH_RING_AT_TOPS + 1), bytes},
            {offset_of(c, dest), bits}};
        batch_add<false>(c, w, 2, pe, call);
        return true;
    }
    const compact_copy copy = compact_of(c, dest, source, bytes);
    if (!is_for_proxy(c, source) || !copy.is_possible)
        return false;
    batch_add<false>(c, {compact_words(copy, GSH_RING_PUT, pe), {0, 0}}, 1, pe, call);
    return true;
}

/* The same for a peer that an adapter reaches. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY bool nic_batch_put(const Context &c, void *dest, const void *source,
                                                   uint64_t bytes, int pe, const char *call)
{
    uint64_t last[2];
    if (bytes == 0 || bytes >= GSH_RING_COMPACT_BYTES)
        return false;
    if (bytes <= sizeof(uint64_t)) {
        const uint64_t bits = bits_of(source, bytes);
        last[0] = gsh_wq_inline_bytes((uint32_t)bytes) | bits << 32;
        last[1] = bits >> 32;
    } else if (is_for_nic(c, source)) {
        fill_local(c, nic_queue_index(c, pe), last, source, (uint32_t)bytes);
    } else {
        return false;
    }
    batch_add<true>(c, {{offset_of(c, dest), 0}, {last[0], last[1]}}, 1, pe, call);
    return true;
}

} // namespace detail

/* From now on non-blocking puts by single threads of the calling block to far PEs wait for others,
 * up to 256 KiB each: they are published together when the batch is full, a thread of the block
 * makes a fence, quiet or barrier, or the batch ends. That saves each put's atomic operation on the
 * ring and its fence, or its doorbell; what the proxy and the network do for each stays. Blocking
 * calls, atomics and signals may overtake them, as without a batch. All threads of the block must
 * call it, and end_batch before the block ends. In files without GSHMEM_BATCH_PUTS they have no
 * effect. */
__device__ __forceinline__ void begin_batch()
{
    if constexpr (detail::has_batches) {
        group_block block;
        block.sync();
        if (block.rank() == 0) {
            detail::put_batch *const b = detail::own_batch();
            for (uint64_t i = 0; i < detail::batch_puts; i++)
                b->puts[i].ready = 0;
            b->lock = b->head = b->tail = 0;
            b->rings = detail::state_of(default_context()).rings;
            b->owner = detail::block_key();
        }
        block.sync();
    }
}

__device__ __forceinline__ void end_batch()
{
    if constexpr (detail::has_batches) {
        group_block block;
        block.sync();
        if (block.rank() == 0) {
            detail::publish_if_batching(default_context(), "gshmem::end_batch");
            detail::own_batch()->owner = 0;
        }
        block.sync();
    }
}

} // namespace gshmem

#endif
