/* SPDX-License-Identifier: Apache-2.0
 * The kernels' side of a ring (invariants in wire/ring.h): reserve, wait for room, write, wait for
 * completion, and the cells in which values come back. Threads of a warp that come here at once
 * reserve with one atomic.
 *
 * Why no wait is endless. A thread that waits for room waits only until lower positions of the ring
 * have been written. The threads that reserved those wait for nothing but room: before threads
 * reserve together, their cells have served all of them. A thread that waits for a reply cell waits
 * only for threads with lower tickets; one that waits for a reply waits only for the proxy. Threads
 * of a warp may be made to wait for each other after any branch; so one warp never has unwritten
 * reservations in two rings, and takes the cells of several rings in the order of the rings (ask).
 * Threads that arrive separately wait only for what the others do on their own; GPUs guarantee that
 * progress since compute capability 7.0. */
#ifndef GSHMEM_PUSH_CUH
#define GSHMEM_PUSH_CUH

#include "group.cuh"
#include "wait.cuh"
#include "../wire/ring.h"

namespace gshmem
{
namespace detail
{

/* ---- rings and waits ------------------------------------------------------------------------- */

template <class Context>
__device__ __forceinline__ gsh_ring *ring_at(const Context &c, uint32_t index)
{
    return reinterpret_cast<gsh_ring *>(state_of(c).rings) + index;
}

/* A context's rings: [first, end). */
template <class Context> __device__ __forceinline__ uint32_t first_ring(const Context &c)
{
    return number_of(c) == 0 ? 0 : state_of(c).n_rings - 1 + number_of(c);
}

template <class Context> __device__ __forceinline__ uint32_t end_ring(const Context &c)
{
    return state_of(c).n_rings + number_of(c);
}

/* The ring for all requests to pe. */
template <class Context> __device__ __forceinline__ uint32_t ring_index(const Context &c, int pe)
{
    uint32_t by_pe = (uint32_t)pe & (state_of(c).n_rings - 1);
    return number_of(c) == 0 ? by_pe : first_ring(c);
}

__device__ __forceinline__ gsh_ring_cpu *proxy_words(const gsh_ring *ring)
{
    return reinterpret_cast<gsh_ring_cpu *>(ring->cpu);
}

enum class until : uint32_t {
    written,
    done,   /* cpu_done has passed it */
    answer, /* its value has come back; `immediate` is the ticket */
};

/* A request. It is in its caller's local memory and is read there when needed: registers for it
 * would count against each kernel with a near path. */
struct request {
    uint64_t immediate;
    uint64_t value[5];
    const char *bytes; /* n_bytes of them follow the values */
    const char *call;  /* public name, for reports */
    uint64_t arg;      /* header bits from GSH_RING_AT_ARG on */
    gsh_ring_op op;
    uint32_t n_values, n_bytes, ring;
    int32_t pe; /* -1: FENCE, QUIET */
    until wait;
    uint64_t position;                  /* reserved for it */
    uint32_t key, here, waiting, group; /* see ask() */
};

template <class Context>
__device__ __forceinline__ gsh_ring *ring_of(const Context &c, const request *r)
{
    return ring_at(c, r->ring);
}

/* ---- threads that act as one ----------------------------------------------------------------- */

/* Groups of threads of a warp, as masks. On the CPU device threads are fibers, which run one at a
 * time: each is a group of its own, but in a test whose kernels call with whole warps. */
#if defined(__CUDACC__) || defined(GSHMEM_CPU_WHOLE_WARPS)
#define GSHMEM_WARPS_TOGETHER 1
#else
#define GSHMEM_WARPS_TOGETHER 0
#endif

#if GSHMEM_WARPS_TOGETHER
__device__ __forceinline__ uint32_t lane_bit()
{
    return 1u << lane();
}

__device__ __forceinline__ uint32_t rank_in(uint32_t group)
{
    return (uint32_t)__popc(group & (lane_bit() - 1));
}

__device__ __forceinline__ uint32_t size_of(uint32_t group)
{
    return (uint32_t)__popc(group);
}

/* Returns the first thread's value; all of the group come here. */
__device__ __forceinline__ uint64_t of_first(uint32_t group, uint64_t value)
{
    return __shfl_sync(group, value, __ffs((int)group) - 1);
}

/* Returns when all of the group have come here. */
__device__ __forceinline__ void sync_group(uint32_t group)
{
    __syncwarp(group);
}
#else
inline uint32_t rank_in(uint32_t)
{
    return 0;
}

inline uint32_t size_of(uint32_t)
{
    return 1;
}

inline uint64_t of_first(uint32_t, uint64_t value)
{
    return value;
}

inline void sync_group(uint32_t) {}
#endif

#if GSHMEM_WARPS_TOGETHER
/* The lowest of the values of the threads here. */
__device__ __forceinline__ uint32_t lowest_of(uint32_t here, uint32_t value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_min_sync(here, value);
#else
    uint32_t lowest = value;
    GSHMEM_NO_UNROLL
    for (uint32_t left = here; left != 0; left &= left - 1) {
        const uint32_t its = __shfl_sync(here, value, __ffs((int)left) - 1);
        lowest = its < lowest ? its : lowest;
    }
    return lowest;
#endif
}
#endif

/* Whether the value is the same for all threads of the group, which come here. */
__device__ __forceinline__ bool is_same(uint32_t group, uint32_t value)
{
#if GSHMEM_WARPS_TOGETHER
    int is = 1;
    (void)__match_all_sync(group, value, &is);
    return is != 0;
#else
    (void)group;
    (void)value;
    return true;
#endif
}

/* Which of the threads here (`here`) go next: those with the lowest key among `waiting`. */
__device__ __forceinline__ uint32_t next_group(uint32_t here, uint32_t waiting, uint32_t key)
{
#if GSHMEM_WARPS_TOGETHER
    uint32_t lowest = lowest_of(here, (waiting & lane_bit()) ? key : UINT32_MAX);
    return __ballot_sync(here, key == lowest);
#else
    (void)waiting;
    (void)key;
    return here;
#endif
}

__device__ __forceinline__ uint32_t threads_here()
{
#if defined(__CUDACC__)
    return __activemask();
#else
    return GSHMEM_WARPS_TOGETHER ? UINT32_MAX : 1;
#endif
}

/* This thread alone. */
__device__ __forceinline__ uint32_t own_group()
{
#if GSHMEM_WARPS_TOGETHER
    return lane_bit();
#else
    return 1;
#endif
}

__device__ __forceinline__ bool is_in(uint32_t group)
{
#if GSHMEM_WARPS_TOGETHER
    return (group & lane_bit()) != 0;
#else
    return group != 0;
#endif
}

/* Waits until *word, written with release by the proxy (or by the cell's last holder), has reached
 * value: what came before that is seen. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t await_word(const Context &c, const uint64_t *word,
                                                    uint64_t value, const request *r)
{
    r = hide_pointee(r);
    spin s;
    uint64_t seen = load_acquire(word);
    while (seen < value) {
        s.keep_polling(c, GSH_REPORT_FAR_TIMEOUT, r->call, r->pe, GSHMEM_CMP_GE, word, value, seen);
        seen = load_acquire(word);
    }
    s.done();
    return seen;
}

/* ---- writing --------------------------------------------------------------------------------- */

__device__ __forceinline__ bool is_token(const request *r)
{
    return r->op >= GSH_RING_FENCE;
}

__device__ __forceinline__ uint32_t slots_of(const request *r)
{
    return 1 + (r->n_values + (r->n_bytes + 7) / 8 + 1) / 2;
}

__device__ __forceinline__ uint64_t slots_of_group(const request *r)
{
    return is_token(r) ? 1 : (uint64_t)size_of(r->group) * slots_of(r);
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY void await_room(const Context &c, const request *r)
{
    r = hide_pointee(r);
    gsh_ring *ring = ring_of(c, r);
    uint64_t needed = r->position + slots_of_group(r) - ring->n_slots;
    uint64_t tail = call_noinline<await_word<Context>>(c, &proxy_words(ring)->cpu_tail, needed, r);
    store_relaxed(&ring_of(c, r)->gpu_tail, tail);
}

/* Reserves positions for the group and waits for room. No order is needed between reading the tail,
 * also by way of gpu_tail, and the stores to the slots: those depend on what was read. */
template <class Context> __device__ __forceinline__ void reserve(const Context &c, request *r)
{
    if (rank_in(r->group) == 0) {
        gsh_ring *ring = ring_of(c, r);
        uint64_t n = slots_of_group(r), tail = load_relaxed(&ring->gpu_tail);
        r->position = atomic_add(&ring->gpu_head, n);
        if (r->position + n - tail > ring->n_slots)
            call_noinline<await_room<Context>>(c, r);
    }
    r->position = of_first(r->group, r->position);
    if (!is_token(r))
        r->position += (uint64_t)rank_in(r->group) * slots_of(r);
}

/* Where the slots of a ring are. */
struct view {
    words2 *slots;
    uint64_t n_slots;
};

__device__ __forceinline__ view view_of(const gsh_ring *ring)
{
    return {reinterpret_cast<words2 *>(ring->slots), ring->n_slots};
}

__device__ __forceinline__ void write_slot(view v, uint64_t position, words2 w)
{
    uint64_t lap = GSH_RING_LAP_BIT(position, v.n_slots);
    publish_words(&v.slots[position & (v.n_slots - 1)],
                  {(w.low & ~GSH_RING_LAP) | lap, (w.high & ~GSH_RING_LAP) | lap});
}

/* After a request is written, wakes a sleeping proxy, if the caller is able to. */
__device__ __forceinline__ void wake_proxy(const gsh_ring *ring)
{
    if (is_cpu_device && ring->wake) {
        const gsh_ring_wake *wake = reinterpret_cast<const gsh_ring_wake *>(ring->wake);
        wake->call(wake->context);
    }
}

/* Word i of the payload; 0 beyond its end. The bytes may have any alignment. */
__device__ __forceinline__ uint64_t payload_word(const request *r, uint32_t i)
{
    if (i < r->n_values)
        return r->value[i];
    uint32_t first = 8 * (i - r->n_values), end = r->n_bytes;
    const char *p = r->bytes;
    if (first + 8 <= end && (is_cpu_device || (reinterpret_cast<uintptr_t>(p) & 7) == 0))
        return load_plain(reinterpret_cast<const uint64_t *>(p + first));
    uint64_t word = 0;
    GSHMEM_NO_UNROLL
    for (uint32_t k = first; k < first + 8 && k < end; k++)
        word |= (uint64_t)(uint8_t)p[k] << (8 * (k - first));
    return word;
}

/* Word 0 of a header without the values' top bits. */
__device__ __forceinline__ uint64_t header(gsh_ring_op op, uint32_t slots, int pe, uint64_t arg)
{
    return (uint32_t)op | (uint64_t)(slots - 1) << GSH_RING_AT_PAYLOAD |
           (uint64_t)(uint32_t)pe << GSH_RING_AT_PE | arg << GSH_RING_AT_ARG;
}

/* The header comes last, since it holds a bit of each word. */
template <class Context>
__device__ __forceinline__ void write_request(const Context &c, const request *r)
{
    gsh_ring *ring = ring_of(c, r);
    uint32_t payload = slots_of(r) - 1;
    uint64_t tops = 0;
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < 2 * payload; i += 2) {
        uint64_t low = payload_word(r, i), high = payload_word(r, i + 1);
        tops |= (low >> 63 | high >> 63 << 1) << i;
        write_slot(view_of(ring), r->position + 1 + i / 2, {low, high});
    }
    uint64_t first = header(r->op, 1 + payload, is_token(r) ? 0 : r->pe, r->arg);
    write_slot(view_of(ring), r->position, {first | tops << GSH_RING_AT_TOPS, r->immediate});
    wake_proxy(ring);
}

/* ---- values that come back ------------------------------------------------------------------- */

/* Takes a ticket for each thread of the group and waits until all their cells serve them. No thread
 * goes on alone: it would reserve for the group, and a thread that has reserved must not wait for a
 * cell. */
template <class Context> __device__ __forceinline__ void take_ticket(const Context &c, request *r)
{
    uint64_t first = 0;
    if (rank_in(r->group) == 0)
        first = atomic_add(&ring_of(c, r)->gpu_ticket, (uint64_t)size_of(r->group));
    r->immediate = of_first(r->group, first) + rank_in(r->group);
    call_noinline<await_word<Context>>(c,
                                       &ring_of(c, r)->gpu_serving[r->immediate % GSH_RING_REPLIES],
                                       r->immediate / GSH_RING_REPLIES, r);
    sync_group(r->group);
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY uint64_t await_answer(const Context &c, const request *r)
{
    gsh_ring *ring = ring_of(c, r);
    const gsh_ring_reply *cell = &proxy_words(ring)->reply[r->immediate % GSH_RING_REPLIES];
    uint32_t mark = (uint32_t)(GSH_RING_REPLY_MARK(r->immediate) >> 32);
    spin s;
    words2 seen = load_relaxed_words(reinterpret_cast<const words2 *>(cell));
    while ((uint32_t)(seen.low >> 32) != mark || (uint32_t)(seen.high >> 32) != mark) {
        s.keep_polling(c, GSH_REPORT_FAR_TIMEOUT, r->call, r->pe, GSHMEM_CMP_EQ, &cell->word[0],
                       (uint64_t)mark, seen.low >> 32);
        seen = load_relaxed_words(reinterpret_cast<const words2 *>(cell));
    }
    s.done();
    /* pairs with await_word in take_ticket: the cell has been read */
    store_release(&ring_of(c, r)->gpu_serving[r->immediate % GSH_RING_REPLIES],
                  r->immediate / GSH_RING_REPLIES + 1);
    return (uint32_t)seen.low | seen.high << 32;
}

/* ---- all of it ------------------------------------------------------------------------------- */

template <class Context> __device__ __forceinline__ void push(const Context &c, request *r)
{
    if (r->wait == until::answer)
        take_ticket(c, r);
    reserve(c, r);
    if (!is_token(r) || rank_in(r->group) == 0)
        write_request(c, r);
}

/* Pushes the request and waits as it says. Returns the answer if it waits for one, else the
 * position behind the request. The threads of the warp that execute this together push requests
 * with the same key together, lowest key first. Requests with an answer all have one size, so those
 * in one ring have one key. */
template <class Context> __device__ GSHMEM_NOINLINE_BODY uint64_t ask(const Context &c, request *r)
{
    r = hide_pointee(r);
    r->key = r->ring << 8 | (r->wait == until::answer ? 32u : 0u) | (is_token(r) ? 16u : 0u) |
             slots_of(r);
    r->here = r->waiting = threads_here();
    do {
        r->group = next_group(r->here, r->waiting, r->key);
        r->waiting &= ~r->group;
        if (is_in(r->group))
            push(c, r);
    } while (r->waiting != 0);
    if (r->wait == until::answer)
        return call_noinline<await_answer<Context>>(c, r);
    if (r->wait == until::done)
        call_noinline<await_word<Context>>(c, &proxy_words(ring_of(c, r))->cpu_done,
                                           r->position + slots_of(r), r);
    return r->position + slots_of(r);
}

/* ---- short requests, in registers ------------------------------------------------------------ */

/* A request of one or two slots: four words; a single slot has two. */
struct words4 {
    words2 header, values;
};

/* What a short request keeps in memory while it waits for room. This keeps the functions here
 * within 40 registers, which count for every kernel that might call them as well. */
struct short_wait {
    request r;
    words4 w;
};

/* Everything but its position. */
__device__ __forceinline__ void note_short(short_wait *s, words4 w, uint32_t slots, uint32_t index,
                                           const char *call)
{
    s->r.call = call;
    s->r.op = GSH_RING_PUT; /* no token */
    s->r.n_values = 2 * (slots - 1);
    s->r.n_bytes = 0;
    s->r.ring = index;
    s->r.pe = (int32_t)(w.header.low >> GSH_RING_AT_PE & (GSH_RING_MAX_PES - 1));
    s->w = w;
}

/* Reserves positions for n slots; returns whether gpu_tail shows room for them. */
__device__ __forceinline__ uint64_t reserve_short(gsh_ring *ring, view v, uint64_t n,
                                                  bool *has_room)
{
    uint64_t tail = load_relaxed(&ring->gpu_tail), position = atomic_add(&ring->gpu_head, n);
    *has_room = position + n - tail <= v.n_slots;
    return position;
}

/* This many slots behind the first of the group's requests. */
template <class Context>
__device__ __forceinline__ void write_short(const Context &c, const short_wait *s,
                                            uint64_t distance)
{
    const gsh_ring *ring = ring_of(c, &s->r);
    uint64_t position = s->r.position + distance;
    if (s->r.n_values > 0)
        write_slot(view_of(ring), position + 1, s->w.values);
    write_slot(view_of(ring), position, s->w.header);
    wake_proxy(ring);
}

template <class Context>
__device__ GSHMEM_NOINLINE_BODY void await_short(const Context &c, short_wait *s)
{
    s = hide_pointee(s);
    if (rank_in(s->r.group) == 0)
        call_noinline<await_room<Context>>(c, &s->r);
    of_first(s->r.group, 0); /* the others wait here */
}

/* For several threads. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void push_together(const Context &c, words4 w, uint32_t slots,
                                                   uint32_t index, const char *call)
{
    short_wait memory, *s = hide_pointee(&memory);
    note_short(s, w, slots, index, call);
    uint32_t here = threads_here(), waiting = here;
    do {
        uint32_t group = next_group(here, waiting, s->r.ring << 8 | slots_of(&s->r));
        waiting &= ~group;
        if (!is_in(group))
            continue;
        uint64_t position = 0;
        bool has_room = true;
        if (rank_in(group) == 0) {
            gsh_ring *ring = ring_of(c, &s->r);
            position = reserve_short(ring, view_of(ring),
                                     (uint64_t)size_of(group) * slots_of(&s->r), &has_room);
        }
        position = of_first(group, position << 1 | (uint64_t)has_room);
        s->r.position = position >> 1;
        s->r.group = group;
        if ((position & 1) == 0) {
            s->r.here = here;
            s->r.waiting = waiting;
            call_noinline<await_short<Context>>(c, s);
            here = s->r.here;
            waiting = s->r.waiting;
        }
        write_short(c, s, (uint64_t)rank_in(s->r.group) * slots_of(&s->r));
    } while (waiting != 0);
}

/* For one thread, which has reserved and found no room. */
template <class Context>
__device__ GSHMEM_NOINLINE_BODY void push_late(const Context &c, words4 w, uint32_t slots,
                                               uint32_t index, uint64_t position, const char *call)
{
    short_wait memory, *s = hide_pointee(&memory);
    note_short(s, w, slots, index, call);
    s->r.position = position;
    s->r.group = own_group();
    call_noinline<await_short<Context>>(c, s);
    write_short(c, s, 0);
}

/* ask() for a request that is only written, and is no token. A thread on its own keeps nothing in
 * memory. */
template <class Context>
__device__ __forceinline__ void push_short(const Context &c, words4 w, uint32_t slots,
                                           uint32_t index, const char *call)
{
    if (size_of(threads_here()) > 1) {
        call_indirect<push_together<Context>>(c, w, slots, index, call);
        return;
    }
    gsh_ring *ring = ring_at(c, index);
    view v = view_of(ring); /* loaded while the atomic is under way */
    bool has_room;
    uint64_t position = reserve_short(ring, v, slots, &has_room);
    if (!has_room) {
        call_indirect<push_late<Context>>(c, w, slots, index, position, call);
        return;
    }
    if (slots > 1)
        write_slot(v, position + 1, w.values);
    write_slot(v, position, w.header);
    wake_proxy(ring);
}

} // namespace detail
} // namespace gshmem

#endif
