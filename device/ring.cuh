/* SPDX-License-Identifier: Apache-2.0
 * The calls of far.cuh by way of a ring: each becomes a request in one of this PE's rings, which
 * the proxy carries out. push.cuh has the protocol; this file says what each call asks for. The
 * group has synchronised (the source is ready); one thread asks, or each for its part. */
#ifndef GSHMEM_RING_CUH
#define GSHMEM_RING_CUH

#include "push.cuh"

namespace gshmem
{
namespace detail
{

/* Offset from a heap's base, the same on all PEs. */
template <class Context>
__device__ __forceinline__ uint64_t offset_of(const Context &c, const void *symmetric)
{
    return address_in_heap(c, symmetric) - state_of(c).base;
}

/* Whether the proxy can use this side's address. It reads and writes the heap, and on the CPU
 * device all memory. On a GPU it cannot reach a kernel's stack, shared memory or memory from
 * cudaMalloc. For these puts send their bytes through the ring, and gets fetch 8 bytes at a time:
 * slow but correct. */
template <class Context>
__device__ __forceinline__ bool is_for_proxy(const Context &c, const void *local)
{
    return is_cpu_device || is_symmetric(c, local);
}

/* A request to pe that carries no bytes. */
template <class Context>
__device__ __forceinline__ request request_to(const Context &c, int pe, gsh_ring_op op,
                                              uint64_t arg, uint32_t n_values, until wait,
                                              const char *call)
{
    request r;
    r.immediate = 0;
    r.bytes = nullptr;
    r.call = call;
    r.arg = arg;
    r.op = op;
    r.n_values = n_values;
    r.n_bytes = 0;
    r.ring = ring_index(c, pe);
    r.pe = pe;
    r.wait = wait;
    return r;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* A request of two values that is not waited for. */
template <class Context>
__device__ __forceinline__ void push_two(const Context &c, int pe, gsh_ring_op op, uint64_t arg,
                                         uint64_t immediate, uint64_t off, uint64_t value,
                                         const char *call)
{
    words4 w = {{header(op, 2, pe, arg) | value >> 63 << (GSH_RING_AT_TOPS + 1), immediate},
                {off, value}};
    push_short(c, w, 2, ring_index(c, pe), call);
}

/* One element of 1, 2, 4 or 8 bytes; higher bits are ignored in arguments and 0 in results. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void ring_p(const Context &c, void *dest, uint64_t bits,
                                            uint32_t bytes, int pe, const char *call)
{
    push_two(c, pe, GSH_RING_PUT_INLINE, 0, bytes, offset_of(c, dest), bits, call);
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t ring_g(const Context &c, const void *source,
                                                uint32_t bytes, int pe, const char *call)
{
    request r = request_to(c, pe, GSH_RING_G, bytes, GSH_RING_ANSWER_VALUES, until::answer, call);
    r.value[0] = offset_of(c, source);
    r.value[1] = r.value[2] = 0;
    return call_indirect<ask<Context>>(c, &r);
}

/* bytes is 2, 4 or 8. Nothing comes back. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void ring_amo(const Context &c, gsh_amo_op op, void *dest,
                                              uint32_t bytes, uint64_t operand, int pe,
                                              const char *call)
{
    uint32_t arg = GSH_RING_AMO_ARG(op, bytes, false);
    push_two(c, pe, GSH_RING_AMO, arg, 0, offset_of(c, dest), operand, call);
}

/* The former value. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t ring_fetch_amo(const Context &c, gsh_amo_op op, void *dest,
                                                        uint32_t bytes, uint64_t operand,
                                                        uint64_t cond, int pe, const char *call)
{
    uint32_t arg = GSH_RING_AMO_ARG(op, bytes, true);
    request r = request_to(c, pe, GSH_RING_AMO, arg, GSH_RING_ANSWER_VALUES, until::answer, call);
    r.value[0] = offset_of(c, dest);
    r.value[1] = operand;
    r.value[2] = cond;
    return call_indirect<ask<Context>>(c, &r);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* A compact PUT or GET, if that is possible. */
struct compact_copy {
    uint64_t off, high, word;
    bool is_possible;
};

template <class Context>
__device__ __forceinline__ compact_copy compact_of(const Context &c, const void *symmetric,
                                                   const void *local, uint64_t bytes)
{
    uint64_t off = offset_of(c, symmetric), local_off = offset_of(c, local);
    return {off, local_off >> 5,
            off | bytes << GSH_RING_AT_BYTES | local_off << GSH_RING_AT_LOCAL_LOW,
            (off | local_off) < GSH_RING_COMPACT_OFF && local_off < state_of(c).stride &&
                bytes < GSH_RING_COMPACT_BYTES};
}

__device__ __forceinline__ words2 compact_words(const compact_copy &copy, gsh_ring_op op, int pe)
{
    return {header(op, 1, pe, 0) | copy.high << GSH_RING_AT_LOCAL_HIGH, copy.word};
}

/* op is PUT or GET, bytes is not 0, and the proxy can access local. */
template <class Context>
__device__ __forceinline__ void
copy_request(const Context &c, gsh_ring_op op, const void *symmetric, const void *local,
             uint64_t bytes, int pe, bool is_blocking, const char *call)
{
    const compact_copy copy = compact_of(c, symmetric, local, bytes);
    /* The proxy, whose loads of the request acquire, sees what the group did to local. A get writes
     * its data after that. */
    fence_acq_rel();
    if (copy.is_possible && !is_blocking) {
        words4 w = {compact_words(copy, op, pe), {0, 0}};
        push_short(c, w, 1, ring_index(c, pe), call);
        return;
    }
    request r =
        request_to(c, pe, op, copy.high, 0, is_blocking ? until::done : until::written, call);
    r.immediate = copy.word;
    if (!copy.is_possible) {
        r.op = op == GSH_RING_PUT ? GSH_RING_PUT_LARGE : GSH_RING_GET_LARGE;
        r.arg = r.immediate = 0;
        r.n_values = 3;
        r.value[0] = copy.off;
        r.value[1] = reinterpret_cast<uint64_t>(local);
        r.value[2] = bytes;
    }
    call_indirect<ask<Context>>(c, &r);
}

/* Sends the thread's part of the bytes through the ring. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void put_pieces(const Context &c, rank_in_group me, void *dest,
                                                const void *source, uint64_t bytes, int pe,
                                                const char *call)
{
    struct {
        request r;
        uint64_t step, left; /* in the request's memory: ask() then needs no registers for them */
    } s;
    uint64_t first = (uint64_t)GSH_RING_INLINE_MAX * me.rank;
    if (first >= bytes)
        return;
    s.r = request_to(c, pe, GSH_RING_PUT_INLINE, 0, 1, until::written, call);
    s.r.value[0] = offset_of(c, dest) + first;
    s.r.bytes = static_cast<const char *>(source) + first;
    s.step = (uint64_t)GSH_RING_INLINE_MAX * me.size;
    s.left = bytes - first;
    for (;;) {
        s.r.n_bytes = s.left < GSH_RING_INLINE_MAX ? (uint32_t)s.left : GSH_RING_INLINE_MAX;
        s.r.immediate = s.r.n_bytes;
        call_indirect<ask<Context>>(c, &s.r);
        if (s.left <= s.step)
            return;
        s.left -= s.step;
        s.r.value[0] += s.step;
        s.r.bytes += s.step;
    }
}

/* Fetches the thread's part by words that are aligned on the far side, as g requires. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void get_pieces(const Context &c, rank_in_group me, void *dest,
                                                const void *source, uint64_t bytes, int pe,
                                                const char *call)
{
    struct {
        request r;
        char *dest;
        uint64_t first, next, end, step; /* offsets: of the source, of what comes next, ... */
    } s;
    s.r = request_to(c, pe, GSH_RING_G, 0, GSH_RING_ANSWER_VALUES, until::answer, call);
    s.r.value[1] = s.r.value[2] = 0;
    s.dest = static_cast<char *>(dest);
    s.first = offset_of(c, source);
    s.end = s.first + bytes;
    s.next = (s.first & ~7ull) + 8ull * me.rank;
    s.step = 8ull * me.size;
    if (s.next < s.first)
        s.next = s.first;
    while (s.next < s.end) {
        uint32_t n = 8;
        while ((s.next & (n - 1)) != 0 || s.next + n > s.end)
            n /= 2;
        s.r.arg = n;
        s.r.value[0] = s.next;
        uint64_t word = call_indirect<ask<Context>>(c, &s.r);
        for (uint64_t k = 0; k < s.r.arg; k++)
            s.dest[s.next - s.first + k] = (char)(word >> (8 * k));
        s.next += s.r.arg;
        if ((s.next & 7) == 0)
            s.next += s.step - 8;
    }
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY void put_part(const Context &c, rank_in_group me, void *dest,
                                              const void *source, uint64_t bytes, int pe,
                                              bool is_blocking, const char *call)
{
    if (bytes <= GSH_RING_INLINE_MAX || !is_for_proxy(c, source)) {
        call_noinline<put_pieces<Context>>(c, me, dest, source, bytes, pe, call);
    } else if (me.rank == 0) {
        copy_request(c, GSH_RING_PUT, dest, source, bytes, pe, is_blocking, call);
    }
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY void get_part(const Context &c, rank_in_group me, void *dest,
                                              const void *source, uint64_t bytes, int pe,
                                              bool is_blocking, const char *call)
{
    if (!is_for_proxy(c, dest)) {
        call_noinline<get_pieces<Context>>(c, me, dest, source, bytes, pe, call);
    } else if (me.rank == 0 && bytes > 0) {
        copy_request(c, GSH_RING_GET, source, dest, bytes, pe, is_blocking, call);
    }
}

/* ---- strided --------------------------------------------------------------------------------- */

/* In the caller's local memory, like a request. */
struct strided {
    gsh_ring_op op; /* IPUT or IGET */
    char *remote, *local;
    uint64_t remote_stride, local_stride; /* in elements, at least 1 */
    uint64_t elem_bytes, nelems;
    int pe;
    const char *call;
    uint64_t next;
};

template <class Context>
__device__ GSHMEM_NOINLINE_BODY void strided_pieces(const Context &c, rank_in_group me, strided *s)
{
    s = hide_pointee(s);
    for (s->next = me.rank; s->next < s->nelems; s->next += me.size) {
        char *remote = s->remote + s->next * s->remote_stride * s->elem_bytes;
        char *local = s->local + s->next * s->local_stride * s->elem_bytes;
        if (s->op == GSH_RING_IPUT)
            call_noinline<put_pieces<Context>>(c, rank_in_group{0, 1}, remote, local, s->elem_bytes,
                                               s->pe, s->call);
        else
            call_noinline<get_pieces<Context>>(c, rank_in_group{0, 1}, local, remote, s->elem_bytes,
                                               s->pe, s->call);
    }
}

/* Waits: both calls are blocking. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void strided_part(const Context &c, rank_in_group me, strided *s)
{
    s = hide_pointee(s);
    if (!is_for_proxy(c, s->local)) {
        call_noinline<strided_pieces<Context>>(c, me, s);
    } else if (me.rank == 0 && s->nelems > 0) {
        request r = request_to(c, s->pe, s->op, 0, 5, until::done, s->call);
        r.immediate = s->elem_bytes;
        r.value[0] = offset_of(c, s->remote);
        r.value[1] = reinterpret_cast<uint64_t>(s->local);
        r.value[2] = s->remote_stride;
        r.value[3] = s->local_stride;
        r.value[4] = s->nelems;
        fence_acq_rel(); /* as in copy_request */
        call_indirect<ask<Context>>(c, &r);
    }
}

__device__ __forceinline__ strided iput_of(void *dest, const void *source, ptrdiff_t dst,
                                           ptrdiff_t sst, size_t elem_bytes, size_t nelems, int pe,
                                           const char *call)
{
    return {GSH_RING_IPUT,
            static_cast<char *>(dest),
            static_cast<char *>(const_cast<void *>(source)),
            (uint64_t)dst,
            (uint64_t)sst,
            elem_bytes,
            nelems,
            pe,
            call,
            0};
}

__device__ __forceinline__ strided iget_of(void *dest, const void *source, ptrdiff_t dst,
                                           ptrdiff_t sst, size_t elem_bytes, size_t nelems, int pe,
                                           const char *call)
{
    return {GSH_RING_IGET,
            static_cast<char *>(const_cast<void *>(source)),
            static_cast<char *>(dest),
            (uint64_t)sst,
            (uint64_t)dst,
            elem_bytes,
            nelems,
            pe,
            call,
            0};
}

/* ---- order ----------------------------------------------------------------------------------- */

/* FENCE or QUIET; one is enough for all threads of the warp that are here. */
template <class Context>
__device__ __forceinline__ request token(const Context &c, uint32_t ring, gsh_ring_op op,
                                         const char *call)
{
    request r = request_to(c, -1, op, 0, 0, until::written, call);
    r.ring = ring;
    return r;
}

template <class Context> __device__ GSHMEM_NOINLINE_BODY void write_fences(const Context &c)
{
    request r = token(c, first_ring(c), GSH_RING_FENCE,
                      number_of(c) == 0 ? "gshmem_fence" : "gshmem_ctx_fence");
    for (; r.ring < end_ring(c); r.ring++) {
        gsh_ring *ring = ring_of(c, &r);
        if (load_relaxed(&ring->gpu_head) != load_relaxed(&ring->gpu_fenced)) {
            uint64_t end = call_indirect<ask<Context>>(c, &r);
            store_relaxed(&ring_of(c, &r)->gpu_fenced, end);
        }
    }
}

/* The far part of fence; the near part's fence comes in addition, before or after. The state's
 * rings is not 0. A ring without requests since its newest fence costs two loads. */
template <class Context> __device__ GSHMEM_NOINLINE_BODY void ring_fence(const Context &c)
{
    bool is_fenced = true;
    for (uint32_t i = first_ring(c); i < end_ring(c); i++)
        is_fenced &=
            load_relaxed(&ring_at(c, i)->gpu_head) == load_relaxed(&ring_at(c, i)->gpu_fenced);
    if (!is_fenced)
        call_noinline<write_fences<Context>>(c);
}

/* The position in r->ring that must be done for quiet to return; 0: nothing to wait for. Writes a
 * QUIET, unless another thread has done so and no request has come since. */
template <class Context>
__device__ __forceinline__ uint64_t start_quiet(const Context &c, request *r)
{
    gsh_ring *ring = ring_of(c, r);
    uint64_t end = load_relaxed(&ring->gpu_head);
    if (end == atomic_load(&ring->gpu_quieted))
        return 0;
    if (end == load_relaxed(&ring->gpu_quieting))
        return end;
    end = call_indirect<ask<Context>>(c, r);
    store_relaxed(&ring_of(c, r)->gpu_quieting, end);
    return end;
}

/* Asks all rings before it waits for the first one. */
template <class Context> __device__ GSHMEM_NOINLINE_BODY void await_quiet(const Context &c)
{
    uint64_t ends[GSH_RING_MAX_RINGS];
    request r = token(c, first_ring(c), GSH_RING_QUIET,
                      number_of(c) == 0 ? "gshmem_quiet" : "gshmem_ctx_quiet");
    for (; r.ring < end_ring(c); r.ring++)
        ends[r.ring - first_ring(c)] = start_quiet(c, &r);
    for (r.ring = first_ring(c); r.ring < end_ring(c); r.ring++) {
        uint64_t *end = &ends[r.ring - first_ring(c)];
        if (*end == 0)
            continue;
        call_noinline<await_word<Context>>(c, &proxy_words(ring_of(c, &r))->cpu_done, *end, &r);
        /* Only now: until a quiet is complete it orders nothing after it. */
        store_relaxed(&ring_of(c, &r)->gpu_fenced, *end);
        /* pairs with the loads of gpu_quieted and the fence that follows ring_quiet */
        store_release(&ring_of(c, &r)->gpu_quieted, *end);
    }
}

/* The far part of quiet; the near part's fence must come after it. Costs as much as ring_fence. */
template <class Context> __device__ GSHMEM_NOINLINE_BODY void ring_quiet(const Context &c)
{
    bool is_quiet = true;
    for (uint32_t i = first_ring(c); i < end_ring(c); i++)
        is_quiet &=
            load_relaxed(&ring_at(c, i)->gpu_head) == atomic_load(&ring_at(c, i)->gpu_quieted);
    if (!is_quiet)
        call_noinline<await_quiet<Context>>(c);
}

/* As ring_quiet, for at most so many cycles of clock64 once it has been asked for, which may wait
 * for room: false once they have passed. The quiet is then under way, and a later one finds it so.
 */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY bool ring_quiet_within(const Context &c, uint64_t cycles)
{
    uint64_t ends[GSH_RING_MAX_RINGS];
    request r = token(c, first_ring(c), GSH_RING_QUIET, "gshmem_quiet");
    for (; r.ring < end_ring(c); r.ring++)
        ends[r.ring - first_ring(c)] = start_quiet(c, &r);
    const uint64_t start = (uint64_t)clock64();
    for (r.ring = first_ring(c); r.ring < end_ring(c); r.ring++) {
        const uint64_t end = ends[r.ring - first_ring(c)];
        const uint64_t *done = &proxy_words(ring_of(c, &r))->cpu_done;
        if (end == 0)
            continue;
        spin s;
        uint64_t seen = load_acquire(done); /* pairs with the proxy's release of cpu_done */
        while (seen < end) {
            if ((uint64_t)clock64() - start >= cycles)
                return false;
            s.keep_polling(c, GSH_REPORT_FAR_TIMEOUT, r.call, r.pe, GSHMEM_CMP_GE, done, end, seen);
            seen = load_acquire(done);
        }
        s.done();
        store_relaxed(&ring_of(c, &r)->gpu_fenced, end);
        /* as in await_quiet */
        store_release(&ring_of(c, &r)->gpu_quieted, end);
    }
    return true;
}

/* Every request so far is complete in its own sense: a put's source may be used again. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void await_done(const Context &c, const char *call)
{
    request r = token(c, first_ring(c), GSH_RING_QUIET, call);
    for (; r.ring < end_ring(c); r.ring++) {
        const uint64_t end = load_relaxed(&ring_of(c, &r)->gpu_head);
        if (end != 0)
            call_noinline<await_word<Context>>(c, &proxy_words(ring_of(c, &r))->cpu_done, end, &r);
    }
}

/* ---- data and signal ------------------------------------------------------------------------- */

/* In the caller's local memory, like a request. */
struct signalled {
    void *dest;
    const void *source;
    uint64_t bytes;
    uint64_t *sig_addr;
    uint64_t signal;
    int sig_op, pe;
    bool is_blocking;
    bool is_in_pieces; /* the bytes go through the ring, followed by the signal */
    const char *call;
};

/* bytes is not 0; the proxy can access the source, or it is inline. */
template <class Context>
__device__ __forceinline__ void put_signal_request(const Context &c, const signalled *s)
{
    request r = request_to(c, s->pe, GSH_RING_PUT_SIGNAL_INLINE, (uint64_t)s->sig_op, 3,
                           until::written, s->call);
    r.value[0] = offset_of(c, s->dest);
    if (s->bytes <= GSH_RING_SIGNAL_MAX) {
        r.immediate = s->bytes;
        r.n_bytes = (uint32_t)s->bytes;
        r.bytes = static_cast<const char *>(s->source);
        r.value[1] = offset_of(c, s->sig_addr);
        r.value[2] = s->signal;
    } else {
        r.op = GSH_RING_PUT_SIGNAL;
        r.n_values = 5;
        r.wait = s->is_blocking ? until::done : until::written;
        r.value[1] = reinterpret_cast<uint64_t>(s->source);
        r.value[2] = s->bytes;
        r.value[3] = offset_of(c, s->sig_addr);
        r.value[4] = s->signal;
        fence_acq_rel(); /* as in copy_request */
    }
    call_indirect<ask<Context>>(c, &r);
}

/* By one thread, after the pieces have been sent. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void put_signal_part(const Context &c, const signalled *s)
{
    s = hide_pointee(s);
    if (!s->is_in_pieces && s->bytes > 0) {
        put_signal_request(c, s);
        return;
    }
    if (s->is_in_pieces || (s->sig_op & GSH_SIGNAL_STRONG) != 0) {
        request r = token(c, ring_index(c, s->pe), GSH_RING_FENCE, s->call);
        call_indirect<ask<Context>>(c, &r);
    }
    call_noinline<ring_amo<Context>>(c, amo_of_signal(s->sig_op & ~GSH_SIGNAL_STRONG), s->sig_addr,
                                     8, s->signal, s->pe, s->call);
}

} // namespace detail
} // namespace gshmem

#endif
