/* SPDX-License-Identifier: Apache-2.0
 * Ordered access to memory that other PEs see: with bulk.cuh, the only accesses in PTX;
 * memory_cpu.cuh is its twin for the CPU device. All addresses are global memory (a heap, or mapped
 * host memory), and all scopes are the system. Weak (plain) accesses need no call; everything else
 * goes through here, so that a missing order shows. Callers say which guarantee each fence serves.
 */
#ifndef GSHMEM_MEMORY_CUH
#define GSHMEM_MEMORY_CUH

#include <stdint.h>
#include <string.h>

namespace gshmem
{
namespace detail
{

/* For a loop whose body must be repeated in the code, and for one on a rare path that must not cost
 * registers or code for that. */
#if defined(__CUDACC__)
#define GSHMEM_UNROLL    _Pragma("unroll")
#define GSHMEM_NO_UNROLL _Pragma("unroll 1")
#else
#define GSHMEM_UNROLL
#define GSHMEM_NO_UNROLL
#endif

/* With -rdc=true each function that is not inlined follows the platform's calling convention, which
 * reserves half of the registers for the caller. ptxas then takes registers with higher numbers, up
 * to 94, and a kernel gets as many as the largest function that it may call. With half as many
 * accesses in flight all functions stay within 64, the most for 1024 threads. A file that defines
 * GSHMEM_WIDE_COPIES keeps the full number in flight. */
#if defined(__CUDACC_RDC__) && !defined(GSHMEM_WIDE_COPIES)
constexpr bool is_narrow = true;
#else
constexpr bool is_narrow = false;
#endif

/* The most that one access moves. */
struct alignas(16) vec16 {
    uint32_t x, y, z, w;
};

/* 16 bytes that readers treat as two words. */
struct alignas(16) words2 {
    uint64_t low, high;
};

/* The unsigned integer of this many bytes. */
template <size_t bytes> struct word_of;
template <> struct word_of<1> {
    typedef uint8_t type;
};
template <> struct word_of<2> {
    typedef uint16_t type;
};
template <> struct word_of<4> {
    typedef uint32_t type;
};
template <> struct word_of<8> {
    typedef uint64_t type;
};
template <> struct word_of<16> {
    typedef vec16 type;
};
template <class Type> using word = typename word_of<sizeof(Type)>::type;

template <class To, class From> __device__ __forceinline__ To bit_cast(const From &from)
{
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To to;
    memcpy(static_cast<void *>(&to), &from, sizeof(To));
    return to;
}

} // namespace detail
} // namespace gshmem

#if defined(__CUDACC__)

namespace gshmem
{
namespace detail
{

constexpr bool is_cpu_device = false;

/* fence.acquire and fence.release: PTX 8.6, compute capability 9.0. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 8))
#define GSHMEM_HAS_HALF_FENCES 1
#endif

/* load_relaxed_word, load_acquire_word, store_relaxed_word, store_release_word: one access of
 * 1, 2, 4 or 8 bytes, never torn, never from a stale cache. PTX has no 1-byte registers. */
#define GSHMEM_ACCESS(W, SUFFIX, REGISTER, R)                         \
    __device__ __forceinline__ W load_relaxed_word(const W *p)        \
    {                                                                 \
        R v;                                                          \
        asm volatile("ld.relaxed.sys.global." SUFFIX " %0, [%1];"     \
                     : "=" REGISTER(v)                                \
                     : "l"(__cvta_generic_to_global(p))               \
                     : "memory");                                     \
        return (W)v;                                                  \
    }                                                                 \
    __device__ __forceinline__ W load_acquire_word(const W *p)        \
    {                                                                 \
        R v;                                                          \
        asm volatile("ld.acquire.sys.global." SUFFIX " %0, [%1];"     \
                     : "=" REGISTER(v)                                \
                     : "l"(__cvta_generic_to_global(p))               \
                     : "memory");                                     \
        return (W)v;                                                  \
    }                                                                 \
    __device__ __forceinline__ void store_relaxed_word(W *p, W v)     \
    {                                                                 \
        asm volatile("st.relaxed.sys.global." SUFFIX                  \
                     " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), \
                     REGISTER((R)v)                                   \
                     : "memory");                                     \
    }                                                                 \
    __device__ __forceinline__ void store_release_word(W *p, W v)     \
    {                                                                 \
        asm volatile("st.release.sys.global." SUFFIX                  \
                     " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), \
                     REGISTER((R)v)                                   \
                     : "memory");                                     \
    }
GSHMEM_ACCESS(uint8_t, "u8", "h", uint16_t)
GSHMEM_ACCESS(uint16_t, "u16", "h", uint16_t)
GSHMEM_ACCESS(uint32_t, "u32", "r", uint32_t)
GSHMEM_ACCESS(uint64_t, "u64", "l", uint64_t)
#undef GSHMEM_ACCESS

/* Between the threads of a block, in shared memory: an acquiring load, a releasing store, and a
 * compare-and-swap that does both. */
__device__ __forceinline__ uint64_t block_load_acquire(const uint64_t *p)
{
    uint64_t v;
    asm volatile("ld.acquire.cta.shared.u64 %0, [%1];"
                 : "=l"(v)
                 : "r"((uint32_t)__cvta_generic_to_shared(p))
                 : "memory");
    return v;
}

__device__ __forceinline__ void block_store_release(uint64_t *p, uint64_t v)
{
    asm volatile("st.release.cta.shared.u64 [%0], %1;" ::"r"((uint32_t)__cvta_generic_to_shared(p)),
                 "l"(v)
                 : "memory");
}

__device__ __forceinline__ uint64_t block_compare_swap(uint64_t *p, uint64_t cond, uint64_t v)
{
    uint64_t old;
    asm volatile("atom.acq_rel.cta.shared.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(old)
                 : "r"((uint32_t)__cvta_generic_to_shared(p)), "l"(cond), "l"(v)
                 : "memory");
    return old;
}

/* A key that no other block of any kernel has: values that an earlier block left in the memory are
 * not taken for this block's. */
__device__ __forceinline__ uint64_t block_key()
{
    uint64_t grid;
    asm("mov.u64 %0, %%gridid;" : "=l"(grid));
    uint64_t block =
        blockIdx.x + (uint64_t)gridDim.x * (blockIdx.y + (uint64_t)gridDim.y * blockIdx.z);
    return 0x9e3779b97f4a7c15u * (grid + 1) ^ (block + 1) << 20;
}

/* 16 bytes at an address aligned to 16, each 4 of them whole, never from a stale cache. */
__device__ __forceinline__ vec16 load_relaxed_word(const vec16 *p)
{
    vec16 v;
    asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(__cvta_generic_to_global(p))
                 : "memory");
    return v;
}

/* Two words in one access; each is whole, and there is no order between them. */
__device__ __forceinline__ words2 load_relaxed_words(const words2 *p)
{
    words2 v;
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(v.low), "=l"(v.high)
                 : "l"(__cvta_generic_to_global(p))
                 : "memory");
    return v;
}

__device__ __forceinline__ void store_relaxed_words(words2 *p, words2 v)
{
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)),
                 "l"(v.low), "l"(v.high)
                 : "memory");
}

/* The same for a request in a ring. What this thread has learned, such as by a barrier, comes
 * before what the proxy does for it: a GPU does not let a store pass an earlier acquire. */
__device__ __forceinline__ void publish_words(words2 *p, words2 v)
{
    store_relaxed_words(p, v);
}

/* The atomics are relaxed. atomic_<op> returns the value before; reduce_<op> returns nothing and
 * does not wait for it. */
#define GSHMEM_ATOMIC(OP, W, TYPE, REGISTER)                                  \
    __device__ __forceinline__ W atomic_##OP(W *p, W v)                       \
    {                                                                         \
        W old;                                                                \
        asm volatile("atom.relaxed.sys.global." #OP "." TYPE " %0, [%1], %2;" \
                     : "=" REGISTER(old)                                      \
                     : "l"(__cvta_generic_to_global(p)), REGISTER(v)          \
                     : "memory");                                             \
        return old;                                                           \
    }
#define GSHMEM_REDUCE(OP, W, TYPE, REGISTER)                          \
    __device__ __forceinline__ void reduce_##OP(W *p, W v)            \
    {                                                                 \
        asm volatile("red.relaxed.sys.global." #OP "." TYPE           \
                     " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), \
                     REGISTER(v)                                      \
                     : "memory");                                     \
    }
#define GSHMEM_COMPARE_SWAP(W, TYPE, REGISTER)                                       \
    __device__ __forceinline__ W atomic_compare_swap(W *p, W cond, W v)              \
    {                                                                                \
        W old;                                                                       \
        asm volatile("atom.relaxed.sys.global.cas." TYPE " %0, [%1], %2, %3;"        \
                     : "=" REGISTER(old)                                             \
                     : "l"(__cvta_generic_to_global(p)), REGISTER(cond), REGISTER(v) \
                     : "memory");                                                    \
        return old;                                                                  \
    }
#define GSHMEM_OPERATIONS(M)     \
    M(add, uint32_t, "u32", "r") \
    M(add, uint64_t, "u64", "l") \
    M(and, uint32_t, "b32", "r") \
    M(and, uint64_t, "b64", "l") \
    M(or, uint32_t, "b32", "r")  \
    M(or, uint64_t, "b64", "l")  \
    M(xor, uint32_t, "b32", "r") \
    M(xor, uint64_t, "b64", "l")
GSHMEM_OPERATIONS(GSHMEM_ATOMIC)
GSHMEM_OPERATIONS(GSHMEM_REDUCE)
GSHMEM_ATOMIC(exch, uint32_t, "b32", "r")
GSHMEM_ATOMIC(exch, uint64_t, "b64", "l")
GSHMEM_COMPARE_SWAP(uint32_t, "b32", "r")
GSHMEM_COMPARE_SWAP(uint64_t, "b64", "l")
#undef GSHMEM_OPERATIONS
#undef GSHMEM_COMPARE_SWAP
#undef GSHMEM_REDUCE
#undef GSHMEM_ATOMIC

/* The same on the bits of a float or double: the sum, rounded to the nearest. A GPU takes floats
 * below the least normal one for 0. */
#define GSHMEM_FLOAT_ADD(W, T, TYPE, REGISTER)                                    \
    __device__ __forceinline__ W atomic_float_add(W *p, W v)                      \
    {                                                                             \
        T old;                                                                    \
        asm volatile("atom.relaxed.sys.global.add." TYPE " %0, [%1], %2;"         \
                     : "=" REGISTER(old)                                          \
                     : "l"(__cvta_generic_to_global(p)), REGISTER(bit_cast<T>(v)) \
                     : "memory");                                                 \
        return bit_cast<W>(old);                                                  \
    }                                                                             \
    __device__ __forceinline__ void reduce_float_add(W *p, W v)                   \
    {                                                                             \
        asm volatile("red.relaxed.sys.global.add." TYPE                           \
                     " [%0], %1;" ::"l"(__cvta_generic_to_global(p)),             \
                     REGISTER(bit_cast<T>(v))                                     \
                     : "memory");                                                 \
    }
GSHMEM_FLOAT_ADD(uint32_t, float, "f32", "f")
GSHMEM_FLOAT_ADD(uint64_t, double, "f64", "d")
#undef GSHMEM_FLOAT_ADD

/* A relaxed load that acts as an atomic operation: a fence after it orders. */
template <class Word> __device__ __forceinline__ Word atomic_load(const Word *p)
{
    return load_relaxed_word(p);
}

/* Plain accesses to elements whose own type is a different one of that size. */
template <class Word> __device__ __forceinline__ Word load_plain(const Word *p)
{
    return *p;
}

template <class Word> __device__ __forceinline__ void store_plain(Word *p, Word v)
{
    *p = v;
}

/* The same for memory known to be global, which the compiler cannot find out by itself. */
#define GSHMEM_STORE_GLOBAL(W, SUFFIX, REGISTER, R)                                       \
    __device__ __forceinline__ void store_global(W *p, W v)                               \
    {                                                                                     \
        asm volatile("st.global." SUFFIX " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), \
                     REGISTER((R)v)                                                       \
                     : "memory");                                                         \
    }
GSHMEM_STORE_GLOBAL(uint8_t, "u8", "h", uint16_t)
GSHMEM_STORE_GLOBAL(uint16_t, "u16", "h", uint16_t)
GSHMEM_STORE_GLOBAL(uint32_t, "u32", "r", uint32_t)
GSHMEM_STORE_GLOBAL(uint64_t, "u64", "l", uint64_t)
#undef GSHMEM_STORE_GLOBAL
__device__ __forceinline__ void store_global(vec16 *p, vec16 v)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)),
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

/* A reader that sees a later relaxed store or atomic of this thread also sees what this thread did
 * and saw before the fence. If this thread's relaxed load came before the fence, the thread sees
 * after it what the writer did and saw before. */
__device__ __forceinline__ void fence_acq_rel()
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* The same, among the threads of this GPU only. */
__device__ __forceinline__ void fence_gpu()
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* What this thread has accessed at one address of memory that has several comes before what it, and
 * who synchronises with it, accesses at another one. */
__device__ __forceinline__ void fence_alias()
{
    asm volatile("fence.proxy.alias;" ::: "memory");
}

/* The first half of fence_acq_rel alone: for a relaxed store or atomic that notifies others. */
__device__ __forceinline__ void fence_release()
{
#if defined(GSHMEM_HAS_HALF_FENCES)
    asm volatile("fence.release.sys;" ::: "memory");
#else
    fence_acq_rel();
#endif
}

/* A relaxed load whose value decides whether this thread stores. What the writer of the value did
 * and saw before its fence comes before these stores: a GPU lets no store pass a branch. */
template <class Word> __device__ __forceinline__ Word load_before_stores(const Word *p)
{
    return load_relaxed_word(p);
}

/* A wait polls with load_awaited until the value satisfies it, then calls acquire_awaited: together
 * they form one acquire load. Failed polls acquire nothing, which makes them faster. */
template <class Word> __device__ __forceinline__ Word load_awaited_word(const Word *p)
{
#if defined(GSHMEM_HAS_HALF_FENCES)
    return load_relaxed_word(p);
#else
    return load_acquire_word(p);
#endif
}

__device__ __forceinline__ void acquire_awaited()
{
#if defined(GSHMEM_HAS_HALF_FENCES)
    asm volatile("fence.acquire.sys;" ::: "memory");
#endif
}

/* Like fence_acq_rel; in addition earlier stores complete before later loads. All such fences have
 * one order, so of two PEs that each put and then get, at least one sees the other's put. */
__device__ __forceinline__ void fence_seq_cst()
{
    asm volatile("fence.sc.sys;" ::: "memory");
}

/* Sets a word of its own or of mapped host memory from 0 to 1; true for one of this device's
 * threads. */
__device__ __forceinline__ bool claim(uint32_t *p)
{
    return atomicCAS(p, 0u, 1u) == 0;
}

/* A failed iteration of a spin. On a GPU the load that it waits for is pause enough. */
__device__ __forceinline__ void spin_pause() {}
/* A spin has succeeded. */
__device__ __forceinline__ void spin_done() {}
/* Made by calls in which users may spin themselves. */
__device__ __forceinline__ void poll_pause(const void *, uint64_t = 0) {}

__device__ __forceinline__ uint64_t clock_ns()
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

/* The same pointer, known to the compiler to be to global memory. */
template <class Type> __device__ __forceinline__ Type *as_global(Type *p)
{
    return static_cast<Type *>(__cvta_global_to_generic(__cvta_generic_to_global(p)));
}

/* The same pointer, with the compiler knowing nothing about it: what it points to is in memory, not
 * in registers, wherever a function that makes this call on its parameter is called. */
template <class Type> __device__ __forceinline__ Type *hide_pointee(Type *p)
{
    asm volatile("" : "+l"(p) : : "memory");
    return p;
}

/* The 4 bytes that start `shift` bytes (0 to 3) into the two words. */
__device__ __forceinline__ uint32_t join_words(uint32_t low, uint32_t high, unsigned shift)
{
    return __funnelshift_r(low, high, 8 * shift);
}

} // namespace detail
} // namespace gshmem

#else
#include "memory_cpu.cuh"
#endif

namespace gshmem
{
namespace detail
{

/* The same by any type of 1, 2, 4 or 8 bytes. */
template <class Type> __device__ __forceinline__ Type load_relaxed(const Type *p)
{
    return bit_cast<Type>(load_relaxed_word(reinterpret_cast<const word<Type> *>(p)));
}

template <class Type> __device__ __forceinline__ Type load_acquire(const Type *p)
{
    return bit_cast<Type>(load_acquire_word(reinterpret_cast<const word<Type> *>(p)));
}

template <class Type> __device__ __forceinline__ Type load_awaited(const Type *p)
{
    return bit_cast<Type>(load_awaited_word(reinterpret_cast<const word<Type> *>(p)));
}

template <class Type> __device__ __forceinline__ void store_relaxed(Type *p, Type v)
{
    store_relaxed_word(reinterpret_cast<word<Type> *>(p), bit_cast<word<Type>>(v));
}

template <class Type> __device__ __forceinline__ void store_release(Type *p, Type v)
{
    store_release_word(reinterpret_cast<word<Type> *>(p), bit_cast<word<Type>>(v));
}

/* From here on these variables of the calling function are in its memory: each function that it
 * calls may have changed them, so they take no registers across calls. For functions deep in call
 * chains: what such functions keep in registers adds up in every kernel that might call them. */
template <class... Types> __device__ __forceinline__ void spill(const Types &...variables)
{
#if defined(GSHMEM_LIBRARY_KERNELS)
    ((void)variables, ...); /* these have registers enough */
#else
    ((void)hide_pointee(&variables), ...);
#endif
}

/* Makes a call during which *s is in memory and not in registers. Struct has no padding: what is
 * read back includes it, in registers of its own. */
template <class Struct, class Function>
__device__ __forceinline__ void spilled_during(Struct *s, Function call)
{
    if constexpr (is_cpu_device) {
        call();
    } else {
        Struct memory = *s;
        (void)hide_pointee(&memory);
        call();
        asm volatile("" ::: "memory"); /* hide_pointee() would keep the address in registers */
        *s = memory;
    }
}

} // namespace detail
} // namespace gshmem

#endif
