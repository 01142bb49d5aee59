/* SPDX-License-Identifier: Apache-2.0
 * The calls of far.cuh by way of a network adapter to which kernels post by themselves: the
 * entries, and who waits for what. post.cuh has the protocol of a queue, wire/wq.h its invariants.
 *
 * Order. A queue carries out its entries in order, but a WRITE may overtake READs and atomics: so a
 * put and its signal are two entries of one reservation, and a fence is an entry only where a queue
 * has had READs or atomics since the last. A block uses one queue to each PE; what other blocks
 * have posted to their queues, a fence waits for. Fences and quiets look at the queues that have
 * been used, whatever the number of PEs.
 *
 * Atomicity. An AMO is the adapter's own where its atomics are atomic with the target device's
 * (GSH_NIC_AMOS). Elsewhere it is the proxy's, and fence waits for both routes, since neither
 * orders the other.
 *
 * As with the ring, a group's call synchronises before (the source is ready) and after; one thread
 * asks for what is large. */
#ifndef GSHMEM_NIC_CUH
#define GSHMEM_NIC_CUH

#include "post.cuh"
#include "ring.cuh"

namespace gshmem
{
namespace detail
{

template <class Context> __device__ __forceinline__ bool has_nic_amos(const Context &c)
{
    return (nic_flags(c) & GSH_NIC_AMOS) != 0;
}

/* Whether the adapter can use this side's address; see is_for_proxy. */
template <class Context>
__device__ __forceinline__ bool is_for_nic(const Context &c, const void *local)
{
    return (nic_flags(c) & GSH_NIC_ALL_MEMORY) != 0 || is_symmetric(c, local);
}

template <class Context>
__device__ __forceinline__ void fill_local(const Context &c, uint32_t index, uint64_t *word,
                                           const void *local, uint32_t bytes)
{
    uint64_t address = (nic_flags(c) & GSH_NIC_ALL_MEMORY) != 0 ? reinterpret_cast<uint64_t>(local)
                                                                : offset_of(c, local);
    gsh_wq_fill_data(word, address, bytes, queue_at(c, index)->local_key);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* WRITE of at most GSH_WQ_INLINE2_MAX bytes, which the entry holds. */
template <class Context>
__device__ __forceinline__ void add_inline(const Context &c, batch *b, uint64_t remote_off,
                                           const char *source, uint32_t bytes)
{
    uint64_t *word = add_entry(c, b, GSH_WQ_WRITE, 0, gsh_wq_inline_ds(bytes), remote_off);
    char *to = reinterpret_cast<char *>(word) + 36;
    uint32_t i = 0;
    word[4] = gsh_wq_inline_bytes(bytes);
    if ((reinterpret_cast<uintptr_t>(source) & 3) == 0) {
        GSHMEM_NO_UNROLL
        for (; i + 4 <= bytes; i += 4)
            store_plain(reinterpret_cast<uint32_t *>(to + i),
                        load_plain(reinterpret_cast<const uint32_t *>(source + i)));
    }
    GSHMEM_NO_UNROLL
    for (; i < bytes; i++)
        to[i] = source[i];
}

/* WRITE or READ of at most GSH_WQ_BYTES_MAX bytes. */
template <class Context>
__device__ __forceinline__ void add_copy(const Context &c, batch *b, uint32_t opcode,
                                         const void *symmetric, const void *local, uint64_t bytes)
{
    uint64_t *word = add_entry(c, b, opcode, 0, 3, offset_of(c, symmetric));
    fill_local(c, b->queue, word + 4, local, (uint32_t)bytes);
    b->is_loose |= opcode == GSH_WQ_READ;
}

/* The same on its own, without a batch. Returns the position after it. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t nic_copy_one(const Context &c, uint32_t opcode,
                                                      const void *symmetric, const void *local,
                                                      uint64_t bytes, int pe, const char *call)
{
    const uint32_t index = nic_queue_index(c, pe);
    uint64_t data[2];
    fill_local(c, index, data, local, (uint32_t)bytes);
    return post_short(c, short_entry{opcode, offset_of(c, symmetric), {data[0], data[1]}}, index,
                      opcode == GSH_WQ_READ, call);
}

/* Bytes, at least 1, that the adapter reads or writes here. Returns the position after them. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t nic_copy(const Context &c, uint32_t opcode,
                                                  const char *symmetric, const char *local,
                                                  uint64_t bytes, int pe, const char *call)
{
    spill(opcode, symmetric, local, bytes, pe, call);
    while (bytes > GSH_WQ_BYTES_MAX) {
        call_noinline<nic_copy_one<Context>>(c, opcode, (const void *)symmetric,
                                             (const void *)local, GSH_WQ_BYTES_MAX, pe, call);
        symmetric += GSH_WQ_BYTES_MAX;
        local += GSH_WQ_BYTES_MAX;
        bytes -= GSH_WQ_BYTES_MAX;
    }
    return call_noinline<nic_copy_one<Context>>(c, opcode, (const void *)symmetric,
                                                (const void *)local, bytes, pe, call);
}

/* A thread's part of the bytes, in its local memory: the calls for each piece would keep it in more
 * registers than any other function of the route has. */
struct nic_pieces {
    uint64_t at, end, step; /* of the next piece, of all, from one to the next */
    uint64_t remote;
    const char *source; /* of puts */
    char *dest;         /* of gets */
    const char *call;
    int32_t pe;
};

/* Sends the thread's part of the bytes in entries. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void nic_put_pieces(const Context &c, rank_in_group me, void *dest,
                                                    const void *source, uint64_t bytes, int pe,
                                                    const char *call)
{
    nic_pieces parts, *p = hide_pointee(&parts);
    batch memory, *b = hide_pointee(&memory);
    p->at = (uint64_t)GSH_WQ_INLINE2_MAX * me.rank;
    p->step = (uint64_t)GSH_WQ_INLINE2_MAX * me.size;
    p->end = bytes;
    p->remote = offset_of(c, dest);
    p->source = static_cast<const char *>(source);
    p->pe = pe;
    p->call = call;
    while (p->at < p->end) {
        const uint64_t left = p->end - p->at;
        begin_batch(c, b, p->pe, p->call);
        add_inline(c, b, p->remote + p->at, p->source + p->at,
                   left < GSH_WQ_INLINE2_MAX ? (uint32_t)left : GSH_WQ_INLINE2_MAX);
        call_noinline<post<Context>>(c, b);
        p->at += p->step;
    }
}

/* One element of 1, 2, 4 or 8 bytes; higher bits are ignored. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void nic_p(const Context &c, void *dest, uint64_t bits,
                                           uint32_t bytes, int pe, const char *call)
{
    const words2 inlined = {gsh_wq_inline_bytes(bytes) | bits << 32, bits >> 32};
    (void)post_short(c, short_entry{GSH_WQ_WRITE, offset_of(c, dest), inlined},
                     nic_queue_index(c, pe), false, call);
}

/* Whether the bytes are one aligned element of 4 or 8 bytes. */
__device__ __forceinline__ bool is_element(const void *source, uint64_t bytes)
{
    return (bytes == 4 || bytes == 8) && (reinterpret_cast<uintptr_t>(source) & (bytes - 1)) == 0;
}

__device__ __forceinline__ uint64_t element_at(const void *source, uint64_t bytes)
{
    return bytes == 8 ? load_plain(static_cast<const uint64_t *>(source))
                      : load_plain(static_cast<const uint32_t *>(source));
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY void nic_put_part(const Context &c, rank_in_group me, void *dest,
                                                  const void *source, uint64_t bytes, int pe,
                                                  bool is_blocking, const char *call)
{
    if (me.size == 1 && is_element(source, bytes)) {
        call_noinline<nic_p<Context>>(c, dest, element_at(source, bytes), (uint32_t)bytes, pe,
                                      call);
    } else if (bytes <= GSH_WQ_INLINE2_MAX || !is_for_nic(c, source)) {
        call_noinline<nic_put_pieces<Context>>(c, me, dest, source, bytes, pe, call);
    } else if (me.rank == 0) {
        uint64_t end =
            call_noinline<nic_copy<Context>>(c, GSH_WQ_WRITE, static_cast<const char *>(dest),
                                             static_cast<const char *>(source), bytes, pe, call);
        if (is_blocking)
            call_noinline<await_completed<Context>>(c, nic_queue_index(c, pe), end, call);
    }
}

/* Fetches a word of 1, 2, 4 or 8 bytes, aligned. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t nic_g(const Context &c, const void *source, uint32_t bytes,
                                               int pe, const char *call)
{
    batch memory, *b = hide_pointee(&memory);
    begin_batch(c, b, pe, call);
    uint64_t *cell = call_noinline<take_cell<Context>>(c, b);
    add_copy(c, b, GSH_WQ_READ, source, cell, bytes);
    return call_noinline<post_for_value<Context>>(c, b, bytes);
}

/* The thread's part, by words that are aligned on the far side. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void nic_get_pieces(const Context &c, rank_in_group me, void *dest,
                                                    const void *source, uint64_t bytes, int pe,
                                                    const char *call)
{
    nic_pieces parts, *p = hide_pointee(&parts);
    p->remote = reinterpret_cast<uint64_t>(source);
    p->end = p->remote + bytes;
    p->at = (p->remote & ~7ull) + 8ull * me.rank;
    if (p->at < p->remote)
        p->at = p->remote;
    p->step = 8ull * me.size - 8;
    p->dest = static_cast<char *>(dest);
    p->pe = pe;
    p->call = call;
    while (p->at < p->end) {
        uint32_t n = 8;
        while ((p->at & (n - 1)) != 0 || p->at + n > p->end)
            n /= 2;
        const uint64_t at = p->at - p->remote;
        p->at += n;
        if ((p->at & 7) == 0)
            p->at += p->step;
        char *const to = p->dest + at;
        spill(n, to);
        const uint64_t word = call_noinline<nic_g<Context>>(
            c, reinterpret_cast<const void *>(p->remote + at), n, p->pe, p->call);
        for (uint32_t k = 0; k < n; k++)
            to[k] = (char)(word >> (8 * k));
    }
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY void nic_get_part(const Context &c, rank_in_group me, void *dest,
                                                  const void *source, uint64_t bytes, int pe,
                                                  bool is_blocking, const char *call)
{
    if (!is_for_nic(c, dest)) {
        call_noinline<nic_get_pieces<Context>>(c, me, dest, source, bytes, pe, call);
    } else if (me.rank == 0 && bytes > 0) {
        uint64_t end =
            call_noinline<nic_copy<Context>>(c, GSH_WQ_READ, static_cast<const char *>(source),
                                             static_cast<const char *>(dest), bytes, pe, call);
        if (is_blocking)
            call_noinline<await_completed<Context>>(c, nic_queue_index(c, pe), end, call);
    }
}

/* Each element is a put or get of its own; waits for all of the thread's. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void nic_strided_part(const Context &c, rank_in_group me,
                                                      strided *s)
{
    s = hide_pointee(s);
    for (s->next = me.rank; s->next < s->nelems; s->next += me.size) {
        char *remote = s->remote + s->next * s->remote_stride * s->elem_bytes;
        char *local = s->local + s->next * s->local_stride * s->elem_bytes;
        if (s->op == GSH_RING_IPUT)
            call_noinline<nic_put_part<Context>>(c, rank_in_group{0, 1}, remote, local,
                                                 s->elem_bytes, s->pe, false, s->call);
        else
            call_noinline<nic_get_part<Context>>(c, rank_in_group{0, 1}, local, remote,
                                                 s->elem_bytes, s->pe, false, s->call);
    }
    uint32_t index = nic_queue_index(c, s->pe);
    call_noinline<await_completed<Context>>(c, index, load_relaxed(&queue_at(c, index)->gpu_head),
                                            s->call);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Whether an adapter whose atomics are used has this one. */
__device__ __forceinline__ bool is_nic_amo(gsh_amo_op op, uint32_t bytes)
{
    return bytes >= 4 && op != GSH_AMO_FLOAT_ADD;
}

/* An AMO on a word of 4 or 8 bytes, whose former value goes to `to`. set, swap, and, or: a swap of
 * those bits that change, which compares none; xor: an add in which no bit carries. */
template <class Context>
__device__ __forceinline__ void add_amo(const Context &c, batch *b, gsh_amo_op op, void *dest,
                                        uint32_t bytes, uint64_t operand, uint64_t cond,
                                        const void *to)
{
    const bool is_8 = bytes == 8;
    const bool is_add = op == GSH_AMO_ADD || op == GSH_AMO_FETCH || op == GSH_AMO_XOR;
    const bool is_compare = op == GSH_AMO_CSWAP;
    uint64_t off = offset_of(c, dest), *word;
    uint32_t opmod = is_8 ? GSH_WQ_MASKED_8 : GSH_WQ_MASKED_4;
    uint64_t first = op == GSH_AMO_FETCH || op == GSH_AMO_AND ? 0 : operand, second, third, fourth;
    b->is_loose = true;
    if (is_add) {
        second = op == GSH_AMO_XOR ? ~0ull : 0; /* where fields end */
        third = fourth = 0;
    } else {
        second = cond;
        third = op == GSH_AMO_AND ? ~operand : op == GSH_AMO_OR ? operand : ~0ull;
        fourth = is_compare ? ~0ull : 0;
    }
    if (is_8 && (op == GSH_AMO_ADD || op == GSH_AMO_FETCH || is_compare)) {
        word = add_entry(c, b, is_add ? GSH_WQ_FA : GSH_WQ_CS, 0, 4, off);
        word[4] = gsh_wq_be64(first);
        word[5] = gsh_wq_be64(second);
    } else if (is_8) {
        word = add_entry(c, b, is_add ? GSH_WQ_MASKED_FA : GSH_WQ_MASKED_CS, opmod, is_add ? 4 : 5,
                         off);
        word[4] = gsh_wq_be64(first);
        word[5] = gsh_wq_be64(second);
        if (!is_add) {
            word[6] = gsh_wq_be64(third);
            word[7] = gsh_wq_be64(fourth);
            word += 2;
        }
    } else {
        word = add_entry(c, b, is_add ? GSH_WQ_MASKED_FA : GSH_WQ_MASKED_CS, opmod, 4, off);
        word[4] = gsh_wq_pair((uint32_t)first, (uint32_t)second);
        word[5] = gsh_wq_pair((uint32_t)third, (uint32_t)fourth);
    }
    fill_local(c, b->queue, word + 6, to, bytes);
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY void nic_amo(const Context &c, gsh_amo_op op, void *dest,
                                             uint32_t bytes, uint64_t operand, int pe,
                                             const char *call)
{
    batch memory, *b = hide_pointee(&memory);
    begin_batch(c, b, pe, call);
    add_amo(c, b, op, dest, bytes, operand, 0, &nic_of(c)->scrap);
    call_noinline<post<Context>>(c, b);
}

/* The former value. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t nic_fetch_amo(const Context &c, gsh_amo_op op, void *dest,
                                                       uint32_t bytes, uint64_t operand,
                                                       uint64_t cond, int pe, const char *call)
{
    batch memory, *b = hide_pointee(&memory);
    begin_batch(c, b, pe, call);
    uint64_t *cell = call_noinline<take_cell<Context>>(c, b);
    add_amo(c, b, op, dest, bytes, operand, cond, cell);
    return call_noinline<post_for_value<Context>>(c, b, bytes);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* All that has been posted in the context is complete. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void nic_await_all(const Context &c, const char *call)
{
    /* acquire: pairs with list_queue, here and in nic_fence */
    uint64_t next = load_acquire(&nic_of(c)->gpu_used[number_of(c)]);
    while (next != 0) {
        const uint32_t i = (uint32_t)next - 1;
        uint64_t head = load_relaxed(&queue_at(c, i)->gpu_head);
        /* acquire: pairs with raise_done, so that a thread that need not wait sees the same */
        if (load_acquire(&queue_at(c, i)->gpu_done) < head)
            call_noinline<await_completed<Context>>(c, i, head, call);
        next = load_relaxed(&queue_at(c, i)->gpu_next);
    }
}

/* READs and atomics of the queue come before later WRITEs. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void nic_fence_queue(const Context &c, uint32_t index,
                                                     const char *call)
{
    batch memory, *b = hide_pointee(&memory);
    uint64_t n = load_relaxed(&queue_at(c, index)->gpu_loose);
    /* acquire: pairs with the release below: later entries are reserved behind that fence */
    if (n == load_acquire(&queue_at(c, index)->gpu_fenced))
        return;
    begin_batch_in(b, index, queue_at(c, index)->pe, call);
    b->is_token = true;
    add_nop(c, b, GSH_WQ_FENCE);
    call_noinline<post<Context>>(c, b);
    store_release(&queue_at(c, index)->gpu_fenced, n);
}

template <class Context> __device__ GSHMEM_NOINLINE_BODY void nic_fence(const Context &c)
{
    const char *call = number_of(c) == 0 ? "gshmem_fence" : "gshmem_ctx_fence";
    if (!has_nic_amos(c)) {
        call_noinline<nic_await_all<Context>>(c, call);
        return;
    }
    uint64_t next = load_acquire(&nic_of(c)->gpu_used[number_of(c)]);
    while (next != 0) {
        const uint32_t i = (uint32_t)next - 1;
        uint64_t head = load_relaxed(&queue_at(c, i)->gpu_head);
        if (i == nic_queue_index(c, queue_at(c, i)->pe))
            call_noinline<nic_fence_queue<Context>>(c, i, call);
        else if (load_acquire(&queue_at(c, i)->gpu_done) < head)
            call_noinline<await_completed<Context>>(c, i, head, call);
        next = load_relaxed(&queue_at(c, i)->gpu_next);
    }
}

/* ---- data and signal ------------------------------------------------------------------------- */

/* By one thread, after the pieces have been sent. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void nic_put_signal_part(const Context &c, const signalled *s)
{
    s = hide_pointee(s);
    batch memory, *b = hide_pointee(&memory);
    const char *source = static_cast<const char *>(s->source);
    uint64_t done = 0; /* of the bytes */
    bool is_waited = false;
    if ((s->sig_op & GSH_SIGNAL_STRONG) != 0)
        call_noinline<nic_fence<Context>>(c);
    if (s->is_in_pieces)
        done = s->bytes;
    while (s->bytes - done > GSH_WQ_BYTES_MAX) {
        call_noinline<nic_copy<Context>>(c, GSH_WQ_WRITE, static_cast<const char *>(s->dest) + done,
                                         source + done, GSH_WQ_BYTES_MAX, s->pe, s->call);
        done += GSH_WQ_BYTES_MAX;
    }
    begin_batch(c, b, s->pe, s->call);
    if (s->bytes - done > GSH_WQ_INLINE2_MAX) {
        add_copy(c, b, GSH_WQ_WRITE, static_cast<const char *>(s->dest) + done, source + done,
                 s->bytes - done);
        is_waited = s->is_blocking;
    } else if (s->bytes > done) {
        add_inline(c, b, offset_of(c, s->dest) + done, source + done, (uint32_t)(s->bytes - done));
        is_waited = s->is_blocking && done > 0;
    }
    gsh_amo_op op = amo_of_signal(s->sig_op & ~GSH_SIGNAL_STRONG);
    if (has_nic_amos(c))
        add_amo(c, b, op, s->sig_addr, 8, s->signal, 0, &nic_of(c)->scrap);
    else /* SET */
        add_inline(c, b, offset_of(c, s->sig_addr), reinterpret_cast<const char *>(&s->signal), 8);
    uint64_t end = call_noinline<post<Context>>(c, b);
    if (is_waited)
        call_noinline<await_completed<Context>>(c, nic_queue_index(c, s->pe), end, s->call);
}

} // namespace detail
} // namespace gshmem

#endif
