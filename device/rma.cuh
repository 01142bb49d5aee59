/* SPDX-License-Identifier: Apache-2.0
 * put, get, p, g and the strided forms. A group's call behaves as if one thread had made it after
 * the group's own synchronisation: all of them synchronise before (the source is ready) and after
 * (it may be used again, and any thread's fence covers all of it). For near peers the nbi forms are
 * the same calls: loads and stores are outstanding until quiet anyway. put_general and get_general,
 * which are not inlined, serve far peers, and copies of anything but whole vectors or one word. */
#ifndef GSHMEM_RMA_CUH
#define GSHMEM_RMA_CUH

#include <type_traits>

#include "address.cuh"
#include "copy.cuh"
#include "group.cuh"
#include "far.cuh"
#include "trace.cuh"

namespace gshmem
{

namespace detail
{

/* An element whose size alone is known: any alignment. */
template <size_t size_bytes> struct element {
    unsigned char bytes[size_bytes];
};

/* The type as which copies treat elements of Type: not every byte of a long double is part of its
 * value. */
template <class Type> struct moved {
    typedef Type type;
};
#if !defined(__CUDACC__)
template <> struct moved<long double> {
    typedef element<sizeof(long double)> type;
};
#endif
template <class Type> using moved_as = typename moved<Type>::type;

/* A put or get to any peer, by any group, of any size. Not inlined, and not called through a
 * pointer: copy_aligned, which both ways call, would then keep registers in local memory.
 * is_far_possible is may_be_far, and only makes the names differ: files with and without
 * GSHMEM_NEAR_ONLY can be linked. */
template <bool is_blocking, bool has_words, bool is_far_possible, class Group, class Context>
__device__ GSHMEM_NOINLINE_BODY void put_general(const Context &c, void *dest, const void *source,
                                                 size_t bytes, int pe, const char *call)
{
    Group g;
    route(
        c, dest, pe,
        [&](void *mapped) {
            g.sync();
            copy<direction::put, has_words, Group>({g.rank(), g.size()}, mapped, source, bytes);
            g.sync();
        },
        [&] { far_put(c, g, dest, source, bytes, pe, is_blocking, call); });
}

template <bool is_blocking, bool has_words, bool is_far_possible, class Group, class Context>
__device__ GSHMEM_NOINLINE_BODY void get_general(const Context &c, void *dest, const void *source,
                                                 size_t bytes, int pe, const char *call)
{
    Group g;
    route(
        c, source, pe,
        [&](const void *mapped) {
            g.sync();
            copy<direction::get, has_words, Group>({g.rank(), g.size()}, dest, mapped, bytes);
            g.sync();
            poll_pause(source);
        },
        [&] { far_get(c, g, dest, source, bytes, pe, is_blocking, call); });
}

/* Whole vectors, to or from a peer of the run. One more branch costs a call 10 ns on a GPU, and
 * after the synchronisation all warps of a block of 1024 threads would execute it. So the vector
 * path has a single branch, before the synchronisation. */
template <class Group, class Context>
__device__ __forceinline__ bool is_vector_path(const Context &c, Group g, const void *dest,
                                               const void *source, size_t bytes, uint32_t number)
{
    return __builtin_expect(
        (uint32_t)is_of_run(c, number) &
            (uint32_t)((unlike_vectors(dest, source, bytes) | g.irregular()) == 0),
        1);
}

/* The next case: one word, to or from a peer of the run. */
template <size_t align, class Context>
__device__ __forceinline__ bool is_word_path(const Context &c, const void *dest, const void *source,
                                             size_t bytes, uint32_t number)
{
    return is_word<align>(dest, source, bytes) && is_of_run(c, number);
}

template <bool is_blocking, class Group, class Type, class Context>
__device__ __forceinline__ void put_dispatch(const Context &c, Group g, Type *dest,
                                             const Type *source, size_t nelems, int pe,
                                             const char *call)
{
    /* A warp's puts stand in loops of kernels with 1024 threads, which have 64 registers: what
     * follows from a constant nelems would be computed before the loop, and stay in registers
     * across it. */
    if constexpr (std::is_same_v<Group, group_warp>)
        nelems = hide_value((uint64_t)nelems);
    size_t bytes = nelems * sizeof(Type);
    uint32_t number = number_in_run(c, pe);
    check(c, call, dest, bytes_of<Type>(nelems), pe);
    check_local(c, call, source, bytes_of<Type>(nelems), pe);
    if (is_vector_path(c, g, dest, source, bytes, number)) {
        rank_in_group at = g.early();
        g.sync();
        copy_whole_vectors<direction::put, Group>(at, address_in_run(c, dest, number), source,
                                                  bytes);
        g.sync();
    } else if (is_word_path<alignof(Type)>(c, dest, source, bytes, number)) {
        g.sync();
        if (g.rank() == 0)
            copy_word<direction::put>(address_in_run(c, dest, number), source, bytes);
        g.sync();
    } else {
        call_noinline<put_general<is_blocking, (alignof(Type) >= 4), may_be_far, Group, Context>>(
            c, dest, source, bytes, pe, call);
    }
}

template <bool is_blocking, class Group, class Type, class Context>
__device__ __forceinline__ void get_dispatch(const Context &c, Group g, Type *dest,
                                             const Type *source, size_t nelems, int pe,
                                             const char *call)
{
    size_t bytes = nelems * sizeof(Type);
    uint32_t number = number_in_run(c, pe);
    check(c, call, source, bytes_of<Type>(nelems), pe);
    check_local(c, call, dest, bytes_of<Type>(nelems), pe);
    if (is_vector_path(c, g, dest, source, bytes, number)) {
        rank_in_group at = g.early();
        g.sync();
        copy_whole_vectors<direction::get, Group>(at, dest, address_in_run(c, source, number),
                                                  bytes);
        g.sync();
        poll_pause(source);
    } else if (is_word_path<alignof(Type)>(c, dest, source, bytes, number)) {
        g.sync();
        if (g.rank() == 0)
            copy_word<direction::get>(dest, address_in_run(c, source, number), bytes);
        g.sync();
        poll_pause(source);
    } else {
        call_noinline<get_general<is_blocking, (alignof(Type) >= 4), may_be_far, Group, Context>>(
            c, dest, source, bytes, pe, call);
    }
}

} // namespace detail

/* nelems elements from source to dest on pe. */
template <class Group, class Type, class Context>
__device__ __forceinline__ void put(const Context &c, Group g, Type *dest, const Type *source,
                                    size_t nelems, int pe, const char *call = "gshmem::put")
{
    GSHMEM_TRACED_WORD(c, g, call, pe, nelems * sizeof(Type), dest,
                       nelems * sizeof(Type) <= 8 ? dest : nullptr, GSH_TRACE_EVENT_CHANGE, 0);
    detail::put_dispatch<true>(c, g, dest, source, nelems, pe, call);
}

/* The same; source may be reused after quiet. */
template <class Group, class Type, class Context>
__device__ __forceinline__ void put_nbi(const Context &c, Group g, Type *dest, const Type *source,
                                        size_t nelems, int pe, const char *call = "gshmem::put_nbi")
{
    GSHMEM_TRACED_WORD(c, g, call, pe, nelems * sizeof(Type), dest,
                       nelems * sizeof(Type) <= 8 ? dest : nullptr, GSH_TRACE_EVENT_CHANGE, 0);
    detail::put_dispatch<false>(c, g, dest, source, nelems, pe, call);
}

/* nelems elements from source on pe to dest. */
template <class Group, class Type, class Context>
__device__ __forceinline__ void get(const Context &c, Group g, Type *dest, const Type *source,
                                    size_t nelems, int pe, const char *call = "gshmem::get")
{
    GSHMEM_TRACED_GET(c, g, call, pe, nelems * sizeof(Type), source);
    detail::get_dispatch<true>(c, g, dest, source, nelems, pe, call);
}

/* The same; dest has them after quiet. */
template <class Group, class Type, class Context>
__device__ __forceinline__ void get_nbi(const Context &c, Group g, Type *dest, const Type *source,
                                        size_t nelems, int pe, const char *call = "gshmem::get_nbi")
{
    GSHMEM_TRACED_GET(c, g, call, pe, nelems * sizeof(Type), source);
    detail::get_dispatch<false>(c, g, dest, source, nelems, pe, call);
}

namespace detail
{

/* p and g for a peer outside the run. */
template <class Type, class Context>
__device__ GSHMEM_NOINLINE_BODY void p_elsewhere(const Context &c, Type *dest, Type value, int pe,
                                                 const char *call)
{
    route(
        c, dest, pe, [&](Type *mapped) { store_relaxed(mapped, value); },
        [&] { far_p(c, dest, bit_cast<word<Type>>(value), sizeof(Type), pe, call); });
}

template <class Type, class Context>
__device__ GSHMEM_NOINLINE_BODY Type g_elsewhere(const Context &c, const Type *source, int pe,
                                                 const char *call)
{
    return route(
        c, source, pe, [&](const Type *mapped) { return load_relaxed(mapped); },
        [&] { return bit_cast<Type>((word<Type>)far_g(c, source, sizeof(Type), pe, call)); });
}

} // namespace detail

/* One element by value: a relaxed store at system scope, so that the peer may wait for it. */
template <class Type, class Context>
__device__ __forceinline__ void p(const Context &c, Type *dest, Type value, int pe,
                                  const char *call = "gshmem::p")
{
    GSHMEM_TRACED_WORD(c, group_thread(), call, pe, sizeof(Type), dest, dest, GSH_TRACE_EVENT_SET,
                       detail::trace_bits(value));
    detail::check(c, call, dest, sizeof(Type), pe);
    detail::route_word(
        c, dest, pe, [&](Type *mapped) { detail::store_relaxed(mapped, value); },
        [&] {
            detail::call_noinline<detail::p_elsewhere<Type, Context>>(c, dest, value, pe, call);
        });
}

template <class Type, class Context>
__device__ __forceinline__ Type g(const Context &c, const Type *source, int pe,
                                  const char *call = "gshmem::g")
{
    GSHMEM_TRACED_GET(c, group_thread(), call, pe, sizeof(Type), source);
    detail::check(c, call, source, sizeof(Type), pe);
    return detail::seen(
        source, detail::route_word(
                    c, source, pe, [&](const Type *mapped) { return detail::load_relaxed(mapped); },
                    [&] {
                        return detail::call_noinline<detail::g_elsewhere<Type, Context>>(c, source,
                                                                                         pe, call);
                    }));
}

#if !defined(__CUDACC__)
/* For long double, too large for one access. */
template <class Context>
inline void p(const Context &c, long double *dest, long double value, int pe,
              const char *call = "gshmem::p")
{
    typedef detail::moved_as<long double> Element;
    put(c, group_thread(), reinterpret_cast<Element *>(dest),
        reinterpret_cast<const Element *>(&value), 1, pe, call);
}

template <class Context>
inline long double g(const Context &c, const long double *source, int pe,
                     const char *call = "gshmem::g")
{
    typedef detail::moved_as<long double> Element;
    long double value;
    get(c, group_thread(), reinterpret_cast<Element *>(&value),
        reinterpret_cast<const Element *>(source), 1, pe, call);
    return value;
}
#endif

namespace detail
{

/* Elements that are words, four at a time so that their loads overlap. */
template <direction Direction, class Word, class Group>
__device__ void copy_strided(Group g, Word *dest, const Word *source, ptrdiff_t dst, ptrdiff_t sst,
                             size_t nelems)
{
    constexpr int unroll = 4;
    size_t size = g.size();
    for (size_t i = g.rank(); i < nelems; i += unroll * size) {
        Word v[unroll] = {}; /* else gcc warns that the second loop's reads are uninitialised */
        GSHMEM_UNROLL
        for (int u = 0; u < unroll; u++)
            if (i + u * size < nelems)
                v[u] = load_source<Direction>(source + (ptrdiff_t)(i + u * size) * sst);
        GSHMEM_UNROLL
        for (int u = 0; u < unroll; u++)
            if (i + u * size < nelems)
                store_plain(dest + (ptrdiff_t)(i + u * size) * dst, v[u]);
    }
}

/* The same for elements that lie anywhere. */
template <direction Direction, class Group>
__device__ void copy_strided_bytes(Group g, char *dest, const char *source, ptrdiff_t dst_bytes,
                                   ptrdiff_t sst_bytes, size_t elem_bytes, size_t nelems)
{
    for (size_t i = g.rank(); i < nelems; i += g.size())
        copy_elements<Direction, uint8_t>(0, 1, dest + (ptrdiff_t)i * dst_bytes,
                                          source + (ptrdiff_t)i * sst_bytes, elem_bytes);
}

template <direction Direction, class Type, class Group>
__device__ __forceinline__ void move_strided(Group g, Type *dest, const Type *source, ptrdiff_t dst,
                                             ptrdiff_t sst, size_t nelems)
{
    typedef word<Type> Word;
    uintptr_t bits = reinterpret_cast<uintptr_t>(dest) | reinterpret_cast<uintptr_t>(source);
    g.sync();
    if (alignof(Type) == sizeof(Type) || bits % sizeof(Type) == 0)
        copy_strided<Direction>(g, reinterpret_cast<Word *>(dest),
                                reinterpret_cast<const Word *>(source), dst, sst, nelems);
    else
        copy_strided_bytes<Direction>(
            g, reinterpret_cast<char *>(dest), reinterpret_cast<const char *>(source),
            dst * (ptrdiff_t)sizeof(Type), sst * (ptrdiff_t)sizeof(Type), sizeof(Type), nelems);
    g.sync();
}

template <class Context>
__device__ __forceinline__ void check_strides(const Context &c, const char *call, ptrdiff_t dst,
                                              ptrdiff_t sst, int pe)
{
    check_value(c, call, dst >= 1, GSH_REPORT_BAD_STRIDE, dst, pe);
    check_value(c, call, sst >= 1, GSH_REPORT_BAD_STRIDE, sst, pe);
}

} // namespace detail

/* Element i from source[i * sst] to dest[i * dst] on pe. */
template <class Group, class Type, class Context>
__device__ __forceinline__ void iput(const Context &c, Group g, Type *dest, const Type *source,
                                     ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe,
                                     const char *call = "gshmem::iput")
{
    GSHMEM_TRACED(c, g, call, pe, nelems * sizeof(Type), dest);
    detail::check_strides(c, call, dst, sst, pe);
    detail::check(c, call, dest, detail::strided_bytes(sizeof(Type), dst, nelems), pe);
    detail::check_local(c, call, source, detail::bytes_of<Type>(nelems), pe);
    detail::route(
        c, dest, pe,
        [&](Type *mapped) {
            detail::move_strided<detail::direction::put>(g, mapped, source, dst, sst, nelems);
        },
        [&] { detail::far_iput(c, g, dest, source, dst, sst, sizeof(Type), nelems, pe, call); });
}

/* Element i from source[i * sst] on pe to dest[i * dst]. */
template <class Group, class Type, class Context>
__device__ __forceinline__ void iget(const Context &c, Group g, Type *dest, const Type *source,
                                     ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe,
                                     const char *call = "gshmem::iget")
{
    GSHMEM_TRACED_GET(c, g, call, pe, nelems * sizeof(Type), source);
    detail::check_strides(c, call, dst, sst, pe);
    detail::check(c, call, source, detail::strided_bytes(sizeof(Type), sst, nelems), pe);
    detail::check_local(c, call, dest, detail::bytes_of<Type>(nelems), pe);
    detail::route(
        c, source, pe,
        [&](const Type *mapped) {
            detail::move_strided<detail::direction::get>(g, dest, mapped, dst, sst, nelems);
        },
        [&] { detail::far_iget(c, g, dest, source, dst, sst, sizeof(Type), nelems, pe, call); });
}

/* Block i, of bsize elements, from source + i * sst to dest + i * dst on pe. */
template <class Group, class Type, class Context>
__device__ __forceinline__ void ibput(const Context &c, Group g, Type *dest, const Type *source,
                                      ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
                                      int pe, const char *call = "gshmem::ibput")
{
    detail::check_strides(c, call, dst, sst, pe);
    GSHMEM_NO_UNROLL
    for (size_t i = 0; i < nblocks; i++) {
        detail::spill(dest, source, dst, sst, bsize, nblocks, pe, call,
                      i); /* across each block's copy */
        put(c, g, dest + (ptrdiff_t)i * dst, source + (ptrdiff_t)i * sst, bsize, pe, call);
    }
}

/* Block i, of bsize elements, from source + i * sst on pe to dest + i * dst. */
template <class Group, class Type, class Context>
__device__ __forceinline__ void ibget(const Context &c, Group g, Type *dest, const Type *source,
                                      ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
                                      int pe, const char *call = "gshmem::ibget")
{
    detail::check_strides(c, call, dst, sst, pe);
    GSHMEM_NO_UNROLL
    for (size_t i = 0; i < nblocks; i++) {
        detail::spill(dest, source, dst, sst, bsize, nblocks, pe, call,
                      i); /* across each block's copy */
        get(c, g, dest + (ptrdiff_t)i * dst, source + (ptrdiff_t)i * sst, bsize, pe, call);
    }
}

} // namespace gshmem

#endif
