/* SPDX-License-Identifier: Apache-2.0
 * The calls on far PEs: each becomes a request in one of this PE's rings, which the proxy carries
 * out. push.cuh has the protocol; here is what each call asks for. A group's call synchronises
 * before (the source is ready) and after; one thread asks. What asks is out of line, so that the
 * near paths stay small. pe is far in all of these; dest (of puts), source (of gets) and sig_addr
 * are symmetric; call is the public name, for reports. */
#ifndef GSHMEM_RING_CUH
#define GSHMEM_RING_CUH

#include "device/push.cuh"

namespace gshmem
{
namespace detail
{

/* From a heap's base, the same on all PEs. */
__device__ __forceinline__ uint64_t offset_of(const void *symmetric)
{
    return reinterpret_cast<uint64_t>(symmetric) - state().base;
}

/* Whether the proxy can be told this side's address. It reads and writes the heap, and on the CPU
 * device everything; on a GPU not a kernel's stack, shared memory or what cudaMalloc returned. Such
 * puts send their bytes through the ring, and such gets fetch 8 bytes at a time: slow but right. */
__device__ __forceinline__ bool is_for_proxy(const void *local)
{
    return is_cpu_device || is_symmetric(local);
}

/* A request to pe that carries no bytes. */
__device__ __forceinline__ request request_to(int pe, gsh_ring_op op, uint64_t arg,
                                              uint32_t n_values, until wait, const char *call)
{
    request r;
    r.immediate = 0;
    r.bytes = nullptr;
    r.call = call;
    r.arg = arg;
    r.op = op;
    r.n_values = n_values;
    r.n_bytes = 0;
    r.ring = ring_index(pe);
    r.pe = pe;
    r.wait = wait;
    return r;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* A request of two values that is not waited for. */
__device__ __forceinline__ void push_two(int pe, gsh_ring_op op, uint64_t arg, uint64_t immediate,
                                         uint64_t off, uint64_t value, const char *call)
{
    words4 w = {{header(op, 2, pe, arg) | value >> 63 << (GSH_RING_AT_TOPS + 1), immediate},
                {off, value}};
    push_short(w, 2, ring_index(pe), call);
}

/* One element of 1, 2, 4 or 8 bytes; the bits above it do not count, and are 0 in results. */
__device__ __noinline__ inline void far_p(void *dest, uint64_t bits, uint32_t bytes, int pe,
                                          const char *call)
{
    push_two(pe, GSH_RING_PUT_INLINE, 0, bytes, offset_of(dest), bits, call);
}

__device__ __noinline__ inline uint64_t far_g(const void *source, uint32_t bytes, int pe,
                                              const char *call)
{
    request r = request_to(pe, GSH_RING_G, bytes, GSH_RING_ANSWER_VALUES, until::answer, call);
    r.value[0] = offset_of(source);
    r.value[1] = r.value[2] = 0;
    return out_of_line(ask)(&r);
}

/* op is an enum gsh_amo_op; bytes 4 or 8. The former value if is_fetch, else 0. */
__device__ __noinline__ inline uint64_t far_amo(uint32_t op, void *dest, uint32_t bytes,
                                                uint64_t operand, uint64_t cond, bool is_fetch,
                                                int pe, const char *call)
{
    uint32_t arg =
        op | (bytes == 8 ? GSH_RING_AMO_IS_8 : 0u) | (is_fetch ? GSH_RING_AMO_FETCHES : 0u);
    if (!is_fetch) {
        push_two(pe, GSH_RING_AMO, arg, 0, offset_of(dest), operand, call);
        return 0;
    }
    request r = request_to(pe, GSH_RING_AMO, arg, GSH_RING_ANSWER_VALUES, until::answer, call);
    r.value[0] = offset_of(dest);
    r.value[1] = operand;
    r.value[2] = cond;
    return out_of_line(ask)(&r);
}

/* Fence first to order it after earlier puts. */
__device__ __noinline__ inline void far_signal(uint64_t *sig_addr, uint64_t signal, int sig_op,
                                               int pe, const char *call)
{
    uint32_t op = sig_op == GSHMEM_SIGNAL_ADD ? GSH_AMO_ADD : GSH_AMO_SET;
    push_two(pe, GSH_RING_AMO, op | GSH_RING_AMO_IS_8, 0, offset_of(sig_addr), signal, call);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

template <class G> __device__ __forceinline__ place place_of(G g)
{
    return {g.rank(), g.size()};
}

/* op is PUT or GET, bytes is not 0, and local is for the proxy. */
__device__ __forceinline__ void copy_request(gsh_ring_op op, const void *symmetric,
                                             const void *local, uint64_t bytes, int pe,
                                             bool is_blocking, const char *call)
{
    uint64_t off = offset_of(symmetric), local_off = offset_of(local), high = local_off >> 5;
    uint64_t word = off | bytes << GSH_RING_AT_BYTES | local_off << GSH_RING_AT_LOCAL_LOW;
    bool is_compact = (off | local_off) < GSH_RING_COMPACT_OFF && local_off < state().stride &&
                      bytes < GSH_RING_COMPACT_BYTES;
    /* What the group did to local is seen by the proxy, whose loads of the request acquire; and
     * comes before what a get brings. */
    fence_acq_rel();
    if (is_compact && !is_blocking) {
        words4 w = {{header(op, 1, pe, 0) | high << GSH_RING_AT_LOCAL_HIGH, word}, {0, 0}};
        push_short(w, 1, ring_index(pe), call);
        return;
    }
    request r = request_to(pe, op, high, 0, is_blocking ? until::done : until::written, call);
    r.immediate = word;
    if (!is_compact) {
        r.op = op == GSH_RING_PUT ? GSH_RING_PUT_LARGE : GSH_RING_GET_LARGE;
        r.arg = r.immediate = 0;
        r.n_values = 3;
        r.value[0] = off;
        r.value[1] = reinterpret_cast<uint64_t>(local);
        r.value[2] = bytes;
    }
    out_of_line(ask)(&r);
}

/* Sends the thread's part of the bytes through the ring. */
__device__ __noinline__ inline void put_pieces(place me, void *dest, const void *source,
                                               uint64_t bytes, int pe, const char *call)
{
    struct {
        request r;
        uint64_t step, left; /* the request's memory, so that ask() takes no registers for them */
    } s;
    uint64_t first = (uint64_t)GSH_RING_INLINE_MAX * me.rank;
    if (first >= bytes)
        return;
    s.r = request_to(pe, GSH_RING_PUT_INLINE, 0, 1, until::written, call);
    s.r.value[0] = offset_of(dest) + first;
    s.r.bytes = static_cast<const char *>(source) + first;
    s.step = (uint64_t)GSH_RING_INLINE_MAX * me.size;
    s.left = bytes - first;
    for (;;) {
        s.r.n_bytes = s.left < GSH_RING_INLINE_MAX ? (uint32_t)s.left : GSH_RING_INLINE_MAX;
        s.r.immediate = s.r.n_bytes;
        out_of_line(ask)(&s.r);
        if (s.left <= s.step)
            return;
        s.left -= s.step;
        s.r.value[0] += s.step;
        s.r.bytes += s.step;
    }
}

/* Fetches the thread's part by words that are aligned on the far side, as g needs them. */
__device__ __noinline__ inline void get_pieces(place me, void *dest, const void *source,
                                               uint64_t bytes, int pe, const char *call)
{
    struct {
        request r;
        char *dest;
        uint64_t first, next, end, step; /* offsets: of the source, of what comes next, ... */
    } s;
    s.r = request_to(pe, GSH_RING_G, 0, GSH_RING_ANSWER_VALUES, until::answer, call);
    s.r.value[1] = s.r.value[2] = 0;
    s.dest = static_cast<char *>(dest);
    s.first = offset_of(source);
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
        uint64_t word = out_of_line(ask)(&s.r);
        for (uint64_t k = 0; k < s.r.arg; k++)
            s.dest[s.next - s.first + k] = (char)(word >> (8 * k));
        s.next += s.r.arg;
        if ((s.next & 7) == 0)
            s.next += s.step - 8;
    }
}

__device__ __noinline__ inline void put_part(place me, void *dest, const void *source,
                                             uint64_t bytes, int pe, bool is_blocking,
                                             const char *call)
{
    if (bytes <= GSH_RING_INLINE_MAX || !is_for_proxy(source)) {
        put_pieces(me, dest, source, bytes, pe, call);
    } else if (me.rank == 0) {
        copy_request(GSH_RING_PUT, dest, source, bytes, pe, is_blocking, call);
    }
}

__device__ __noinline__ inline void get_part(place me, void *dest, const void *source,
                                             uint64_t bytes, int pe, bool is_blocking,
                                             const char *call)
{
    if (!is_for_proxy(dest)) {
        get_pieces(me, dest, source, bytes, pe, call);
    } else if (me.rank == 0 && bytes > 0) {
        copy_request(GSH_RING_GET, source, dest, bytes, pe, is_blocking, call);
    }
}

/* Blocking: the source may be used again. */
template <class G>
__device__ __forceinline__ void far_put(G g, void *dest, const void *source, size_t bytes, int pe,
                                        bool is_blocking, const char *call)
{
    g.sync();
    out_of_line(put_part)(place_of(g), dest, source, bytes, pe, is_blocking, call);
    g.sync();
}

/* Blocking: the data is there. */
template <class G>
__device__ __forceinline__ void far_get(G g, void *dest, const void *source, size_t bytes, int pe,
                                        bool is_blocking, const char *call)
{
    g.sync();
    out_of_line(get_part)(place_of(g), dest, source, bytes, pe, is_blocking, call);
    g.sync();
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

__device__ __noinline__ inline void strided_pieces(place me, strided *s)
{
    s = opaque(s);
    for (s->next = me.rank; s->next < s->nelems; s->next += me.size) {
        char *remote = s->remote + s->next * s->remote_stride * s->elem_bytes;
        char *local = s->local + s->next * s->local_stride * s->elem_bytes;
        if (s->op == GSH_RING_IPUT)
            put_pieces({0, 1}, remote, local, s->elem_bytes, s->pe, s->call);
        else
            get_pieces({0, 1}, local, remote, s->elem_bytes, s->pe, s->call);
    }
}

/* Waits, since both calls are blocking. */
__device__ __noinline__ inline void strided_part(place me, strided *s)
{
    s = opaque(s);
    if (!is_for_proxy(s->local)) {
        strided_pieces(me, s);
    } else if (me.rank == 0 && s->nelems > 0) {
        request r = request_to(s->pe, s->op, 0, 5, until::done, s->call);
        r.immediate = s->elem_bytes;
        r.value[0] = offset_of(s->remote);
        r.value[1] = reinterpret_cast<uint64_t>(s->local);
        r.value[2] = s->remote_stride;
        r.value[3] = s->local_stride;
        r.value[4] = s->nelems;
        fence_acq_rel(); /* as in copy_request */
        out_of_line(ask)(&r);
    }
}

template <class G> __device__ __forceinline__ void far_strided(G g, strided *s)
{
    g.sync();
    out_of_line(strided_part)(place_of(g), s);
    g.sync();
}

template <class G>
__device__ __forceinline__ void far_iput(G g, void *dest, const void *source, ptrdiff_t dst,
                                         ptrdiff_t sst, size_t elem_bytes, size_t nelems, int pe,
                                         const char *call)
{
    strided s = {GSH_RING_IPUT,
                 static_cast<char *>(dest),
                 static_cast<char *>(const_cast<void *>(source)),
                 (uint64_t)dst,
                 (uint64_t)sst,
                 elem_bytes,
                 nelems,
                 pe,
                 call,
                 0};
    far_strided(g, &s);
}

template <class G>
__device__ __forceinline__ void far_iget(G g, void *dest, const void *source, ptrdiff_t dst,
                                         ptrdiff_t sst, size_t elem_bytes, size_t nelems, int pe,
                                         const char *call)
{
    strided s = {GSH_RING_IGET,
                 static_cast<char *>(const_cast<void *>(source)),
                 static_cast<char *>(dest),
                 (uint64_t)sst,
                 (uint64_t)dst,
                 elem_bytes,
                 nelems,
                 pe,
                 call,
                 0};
    far_strided(g, &s);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* FENCE or QUIET, of which one does for all threads of the warp that are here. */
__device__ __forceinline__ request token(uint32_t ring, gsh_ring_op op, const char *call)
{
    request r = request_to(-1, op, 0, 0, until::written, call);
    r.ring = ring;
    return r;
}

__device__ __noinline__ inline void fence_rings()
{
    request r = token(0, GSH_RING_FENCE, "gshmem_fence");
    for (; r.ring < (uint32_t)state().n_rings; r.ring++) {
        gsh_ring *ring = ring_at(r.ring);
        if (load_relaxed(&ring->gpu_head) != load_relaxed(&ring->gpu_fenced)) {
            uint64_t end = out_of_line(ask)(&r);
            store_relaxed(&ring_at(r.ring)->gpu_fenced, end);
        }
    }
}

/* The far part of fence: the one of the near part comes on top, before or after. state().rings is
 * not 0. Without requests since the newest fence of a ring it costs two loads for the ring. */
__device__ __noinline__ inline void far_fence()
{
    bool is_fenced = true;
    for (uint32_t i = 0; i < (uint32_t)state().n_rings; i++)
        is_fenced &= load_relaxed(&ring_at(i)->gpu_head) == load_relaxed(&ring_at(i)->gpu_fenced);
    if (!is_fenced)
        fence_rings();
}

/* What must be done in r->ring for quiet to return; 0: nothing. Asks for it, unless another thread
 * has asked and nothing came since. */
__device__ __forceinline__ uint64_t start_quiet(request *r)
{
    gsh_ring *ring = ring_at(r->ring);
    uint64_t end = load_relaxed(&ring->gpu_head);
    if (end == atomic_load(&ring->gpu_quieted))
        return 0;
    if (end == load_relaxed(&ring->gpu_quieting))
        return end;
    end = out_of_line(ask)(r);
    store_relaxed(&ring_at(r->ring)->gpu_quieting, end);
    return end;
}

/* Asks all rings before it waits for the first. */
__device__ __noinline__ inline void quiet_rings()
{
    uint64_t ends[GSH_RING_MAX_RINGS];
    request r = token(0, GSH_RING_QUIET, "gshmem_quiet");
    for (; r.ring < (uint32_t)state().n_rings; r.ring++)
        ends[r.ring] = start_quiet(&r);
    for (r.ring = 0; r.ring < (uint32_t)state().n_rings; r.ring++) {
        if (ends[r.ring] == 0)
            continue;
        await_word(&proxy_words(ring_at(r.ring))->cpu_done, ends[r.ring], &r);
        /* Only now: a quiet under way does not hold back what comes behind it. */
        store_relaxed(&ring_at(r.ring)->gpu_fenced, ends[r.ring]);
        /* pairs with the loads of gpu_quieted and the fence that follows far_quiet */
        store_release(&ring_at(r.ring)->gpu_quieted, ends[r.ring]);
    }
}

/* The far part of quiet; the fence of the near part must come after it. Costs as far_fence. */
__device__ __noinline__ inline void far_quiet()
{
    bool is_quiet = true;
    for (uint32_t i = 0; i < (uint32_t)state().n_rings; i++)
        is_quiet &= load_relaxed(&ring_at(i)->gpu_head) == atomic_load(&ring_at(i)->gpu_quieted);
    if (!is_quiet)
        quiet_rings();
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
    bool is_in_pieces; /* the bytes go through the ring, and the signal behind them */
    const char *call;
};

/* bytes is not 0, and the source for the proxy, or inline. */
__device__ __forceinline__ void put_signal_request(const signalled *s)
{
    request r = request_to(s->pe, GSH_RING_PUT_SIGNAL_INLINE, (uint64_t)s->sig_op, 3,
                           until::written, s->call);
    r.value[0] = offset_of(s->dest);
    if (s->bytes <= GSH_RING_SIGNAL_MAX) {
        r.immediate = s->bytes;
        r.n_bytes = (uint32_t)s->bytes;
        r.bytes = static_cast<const char *>(s->source);
        r.value[1] = offset_of(s->sig_addr);
        r.value[2] = s->signal;
    } else {
        r.op = GSH_RING_PUT_SIGNAL;
        r.n_values = 5;
        r.wait = s->is_blocking ? until::done : until::written;
        r.value[1] = reinterpret_cast<uint64_t>(s->source);
        r.value[2] = s->bytes;
        r.value[3] = offset_of(s->sig_addr);
        r.value[4] = s->signal;
        fence_acq_rel(); /* as in copy_request */
    }
    out_of_line(ask)(&r);
}

/* By one thread; pieces have been sent before. */
__device__ __noinline__ inline void put_signal_part(const signalled *s)
{
    s = opaque(s);
    if (!s->is_in_pieces && s->bytes > 0) {
        put_signal_request(s);
        return;
    }
    if (s->is_in_pieces) {
        request r = token(ring_index(s->pe), GSH_RING_FENCE, s->call);
        out_of_line(ask)(&r);
    }
    far_signal(s->sig_addr, s->signal, s->sig_op, s->pe, s->call);
}

template <class G>
__device__ __forceinline__ void far_put_signal(G g, void *dest, const void *source, size_t bytes,
                                               uint64_t *sig_addr, uint64_t signal, int sig_op,
                                               int pe, bool is_blocking, const char *call)
{
    signalled s = {dest, source, bytes, sig_addr, signal, sig_op, pe, is_blocking, false, call};
    s.is_in_pieces = bytes > GSH_RING_SIGNAL_MAX && !is_for_proxy(source);
    g.sync();
    if (s.is_in_pieces) {
        out_of_line(put_pieces)(place_of(g), dest, source, bytes, pe, call);
        g.sync();
    }
    if (g.rank() == 0)
        out_of_line(put_signal_part)(&s);
    g.sync();
}

} // namespace detail
} // namespace gshmem

#endif
