/* SPDX-License-Identifier: Apache-2.0
 * The CPU device's twin of memory.cuh: the same functions by the compiler's atomics.
 *
 * The thread sanitizer does not understand fences, so `fence; relaxed store` is modelled under it.
 * A CUDA thread has two sync objects: `published`, into which a fence releases all that the thread
 * has done and seen, and `observed`, from which a fence acquires. Before a relaxed store or atomic,
 * an auxiliary fiber, which knows nothing else, acquires `published` and releases into the word. A
 * reader that loads the word with acquire is then ordered after what came before the fence, and
 * after nothing else. After a relaxed atomic a second fiber acquires from the word and releases
 * into `observed`. So the sanitizer reports a program that lacks a fence, and does not report a
 * correct one. */
#ifndef GSHMEM_MEMORY_CPU_CUH
#define GSHMEM_MEMORY_CPU_CUH

#include "../cpu/cpu.h"

#ifdef GSHMEM_CPU_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace gshmem
{
namespace detail
{

constexpr bool is_cpu_device = true;

#ifdef GSHMEM_CPU_TSAN

#define GSHMEM_UNWATCHED __attribute__((no_sanitize("thread"), noinline))

/* The order that a CUDA thread has asked for. An OS thread runs one block at a time. */
struct tsan_order {
    gsh_cpu_block *block = nullptr; /* whose thread it is now; a new block starts afresh */
    gsh_cpu_uint3 block_idx = {0, 0, 0};
    void *publisher = nullptr, *observer = nullptr; /* the fibers, created on first use */
    char published = 0, observed = 0;

    void reset()
    {
        if (publisher)
            __tsan_destroy_fiber(publisher);
        if (observer)
            __tsan_destroy_fiber(observer);
        publisher = observer = nullptr;
    }
};

struct tsan_orders {
    tsan_order *of_rank[GSH_CPU_MAX_THREADS] = {};
    ~tsan_orders()
    {
        for (tsan_order *order : of_rank) {
            if (order)
                order->reset();
            delete order;
        }
    }
};

/* Not instrumented: all fibers of a block use the array. */
GSHMEM_UNWATCHED inline tsan_order &tsan_self()
{
    static thread_local tsan_orders orders;
    gsh_cpu_thread *self = gsh_cpu_self;
    tsan_order *&order = orders.of_rank[self->rank];
    if (!order)
        order = new tsan_order;
    const gsh_cpu_uint3 &is = self->block_idx, &was = order->block_idx;
    if (order->block != self->block || is.x != was.x || is.y != was.y || is.z != was.z) {
        order->reset();
        order->block = self->block;
        order->block_idx = is;
    }
    return *order;
}

/* A new fiber knows what its creator knows. */
GSHMEM_UNWATCHED inline void *tsan_fiber(const char *name)
{
    void *fiber = __tsan_create_fiber(0);
    __tsan_set_fiber_name(fiber, name);
    return fiber;
}

/* Run by the fiber: acquires one object, releases into the other. */
GSHMEM_UNWATCHED inline void tsan_carry(void *fiber, void *from, void *to)
{
    void *self = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync);
    __tsan_acquire(from);
    __tsan_release(to);
    __tsan_switch_to_fiber(self, __tsan_switch_to_fiber_no_sync);
}

GSHMEM_UNWATCHED inline void tsan_publish(void *p)
{
    tsan_order &self = tsan_self();
    if (self.publisher)
        tsan_carry(self.publisher, &self.published, p);
}

GSHMEM_UNWATCHED inline void tsan_observe(void *p)
{
    tsan_order &self = tsan_self();
    if (!self.observer)
        self.observer = tsan_fiber("gshmem: seen by an atomic");
    tsan_carry(self.observer, p, &self.observed);
}

/* The publisher is made at the first fence, so it knows no more than what that fence publishes. */
GSHMEM_UNWATCHED inline void tsan_fence()
{
    tsan_order &self = tsan_self();
    __tsan_acquire(&self.observed);
    __tsan_release(&self.published);
    if (!self.publisher)
        self.publisher = tsan_fiber("gshmem: before the fence");
}

#undef GSHMEM_UNWATCHED

#else
inline void tsan_publish(void *) {}
inline void tsan_observe(void *) {}
#endif

#define GSHMEM_ACCESS(W)                             \
    inline W load_relaxed_word(const W *p)           \
    {                                                \
        return __atomic_load_n(p, __ATOMIC_RELAXED); \
    }                                                \
    inline W load_acquire_word(const W *p)           \
    {                                                \
        return __atomic_load_n(p, __ATOMIC_ACQUIRE); \
    }                                                \
    inline void store_relaxed_word(W *p, W v)        \
    {                                                \
        tsan_publish(p);                             \
        __atomic_store_n(p, v, __ATOMIC_RELAXED);    \
    }                                                \
    inline void store_release_word(W *p, W v)        \
    {                                                \
        __atomic_store_n(p, v, __ATOMIC_RELEASE);    \
    }
GSHMEM_ACCESS(uint8_t)
GSHMEM_ACCESS(uint16_t)
GSHMEM_ACCESS(uint32_t)
GSHMEM_ACCESS(uint64_t)
#undef GSHMEM_ACCESS

inline vec16 load_relaxed_word(const vec16 *p)
{
    vec16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

#define GSHMEM_ATOMIC(OP, FUNCTION, W)            \
    inline W atomic_##OP(W *p, W v)               \
    {                                             \
        tsan_publish(p);                          \
        W old = FUNCTION(p, v, __ATOMIC_RELAXED); \
        tsan_observe(p);                          \
        return old;                               \
    }
#define GSHMEM_REDUCE(OP, FUNCTION, W)    \
    inline void reduce_##OP(W *p, W v)    \
    {                                     \
        tsan_publish(p);                  \
        FUNCTION(p, v, __ATOMIC_RELAXED); \
    }
#define GSHMEM_COMPARE_SWAP(W)                                                               \
    inline W atomic_compare_swap(W *p, W cond, W v)                                          \
    {                                                                                        \
        tsan_publish(p);                                                                     \
        __atomic_compare_exchange_n(p, &cond, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
        tsan_observe(p);                                                                     \
        return cond;                                                                         \
    }
#define GSHMEM_OPERATIONS(M)             \
    M(add, __atomic_fetch_add, uint32_t) \
    M(add, __atomic_fetch_add, uint64_t) \
    M(and, __atomic_fetch_and, uint32_t) \
    M(and, __atomic_fetch_and, uint64_t) \
    M(or, __atomic_fetch_or, uint32_t)   \
    M(or, __atomic_fetch_or, uint64_t)   \
    M(xor, __atomic_fetch_xor, uint32_t) \
    M(xor, __atomic_fetch_xor, uint64_t)
GSHMEM_OPERATIONS(GSHMEM_ATOMIC)
GSHMEM_OPERATIONS(GSHMEM_REDUCE)
GSHMEM_ATOMIC(exch, __atomic_exchange_n, uint32_t)
GSHMEM_ATOMIC(exch, __atomic_exchange_n, uint64_t)
GSHMEM_COMPARE_SWAP(uint32_t)
GSHMEM_COMPARE_SWAP(uint64_t)
#undef GSHMEM_OPERATIONS
#undef GSHMEM_COMPARE_SWAP
#undef GSHMEM_REDUCE
#undef GSHMEM_ATOMIC

template <class Number, class Word> inline Word add_bits(Word *p, Word v)
{
    Word seen = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(
        p, &seen, bit_cast<Word>(bit_cast<Number>(seen) + bit_cast<Number>(v)), false,
        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return seen;
}

#define GSHMEM_FLOAT_ADD(WORD, NUMBER)            \
    inline WORD atomic_float_add(WORD *p, WORD v) \
    {                                             \
        tsan_publish(p);                          \
        WORD old = add_bits<NUMBER>(p, v);        \
        tsan_observe(p);                          \
        return old;                               \
    }                                             \
    inline void reduce_float_add(WORD *p, WORD v) \
    {                                             \
        tsan_publish(p);                          \
        add_bits<NUMBER>(p, v);                   \
    }
GSHMEM_FLOAT_ADD(uint32_t, float)
GSHMEM_FLOAT_ADD(uint64_t, double)
#undef GSHMEM_FLOAT_ADD

template <class Word> inline Word atomic_load(const Word *p)
{
    Word v = load_relaxed_word(p);
    tsan_observe(const_cast<Word *>(p));
    return v;
}

inline words2 load_relaxed_words(const words2 *p)
{
    words2 v;
    v.low = atomic_load(&p->low);
    v.high = atomic_load(&p->high);
    return v;
}

inline void store_relaxed_words(words2 *p, words2 v)
{
    store_relaxed_word(&p->low, v.low);
    store_relaxed_word(&p->high, v.high);
}

/* Release: costs nothing here, and shows the thread sanitizer what the hardware does anyway. */
inline void publish_words(words2 *p, words2 v)
{
    __atomic_store_n(&p->low, v.low, __ATOMIC_RELEASE);
    __atomic_store_n(&p->high, v.high, __ATOMIC_RELEASE);
}

/* By memcpy, since the host compiler reorders accesses of different types. */
template <class Word> inline Word load_plain(const Word *p)
{
    Word v;
    memcpy(&v, p, sizeof v);
    return v;
}

template <class Word> inline void store_plain(Word *p, Word v)
{
    memcpy(p, &v, sizeof v);
}
template <class Word> inline void store_global(Word *p, Word v)
{
    store_plain(p, v);
}

inline void fence_acq_rel()
{
#ifdef GSHMEM_CPU_TSAN
    tsan_fence();
    __sync_synchronize();
#else
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
    gshmemx_cpu_progress();
}

inline void fence_gpu()
{
    fence_acq_rel();
}

inline void fence_alias() {} /* caches go by what addresses mean */

inline void fence_release()
{
    fence_acq_rel();
}

/* Acquire: costs nothing here, and shows the thread sanitizer what the hardware does anyway. */
template <class Word> inline Word load_before_stores(const Word *p)
{
    return load_acquire_word(p);
}

template <class Word> inline Word load_awaited_word(const Word *p)
{
    return load_acquire_word(p);
}

inline void acquire_awaited() {}

inline void fence_seq_cst()
{
#ifdef GSHMEM_CPU_TSAN
    tsan_fence();
    __sync_synchronize();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    gshmemx_cpu_progress();
}

inline uint64_t block_load_acquire(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

inline void block_store_release(uint64_t *p, uint64_t v)
{
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}

inline uint64_t block_compare_swap(uint64_t *p, uint64_t cond, uint64_t v)
{
    __atomic_compare_exchange_n(p, &cond, v, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return cond;
}

inline uint64_t block_key()
{
    return reinterpret_cast<uint64_t>(gsh_cpu_self->block);
}

inline bool claim(uint32_t *p)
{
    uint32_t free = 0;
    return __atomic_compare_exchange_n(p, &free, 1u, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

inline void spin_pause()
{
    gshmemx_cpu_yield();
}

inline void spin_done()
{
    gshmemx_cpu_progress();
}

/* Called with a load of a word. The load may be one iteration of a loop in which the user's code
 * waits, perhaps for a thread of its own block, so the other threads run now and then. A thread
 * that has not just seen the same value there may not be waiting at all. */
inline void poll_pause(const void *word, uint64_t value = 0)
{
    static thread_local unsigned calls; /* by all fibers of the block */
    if (gshmem_cpu_self)
        gshmemx_cpu_look(reinterpret_cast<uint64_t>(word) ^ value * 0x9e3779b97f4a7c15u);
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % 64 == 0)
        gshmemx_cpu_yield();
}

inline uint64_t clock_ns()
{
    return (uint64_t)clock64();
}

template <class Type> inline Type *as_global(Type *p)
{
    return p;
}

template <class Type> inline Type *hide_pointee(Type *p)
{
    return p;
}

inline uint32_t join_words(uint32_t low, uint32_t high, unsigned shift)
{
    return (uint32_t)((low | (uint64_t)high << 32) >> (8 * shift));
}

} // namespace detail
} // namespace gshmem

#endif
