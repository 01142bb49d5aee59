/* SPDX-License-Identifier: Apache-2.0
 * A group copies bytes between this PE (local) and a peer (remote) by loads and stores, without
 * synchronising: callers do that. The remote side is always accessed 16 aligned bytes at a time,
 * since the link is the bottleneck; the local side by 16 bytes where it is aligned alike, else by
 * the words its alignment allows. Enough of them are in flight to cover the latency. What does not
 * fill 16 bytes at the two ends ("edges") goes by small accesses. Large copies of a thread or a
 * warp go by the bulk-copy engine where the sides are aligned alike (bulk.cuh). */
#ifndef GSHMEM_COPY_CUH
#define GSHMEM_COPY_CUH

#include "device/bulk.cuh"
#include "device/group.cuh"
#include "device/memory.cuh"

namespace gshmem
{
namespace detail
{

/* put: from local to remote. get: from remote to local. */
enum class direction { put, get };

/* A get must see what the peer stored, not what a cache kept. */
template <direction D, class W> __device__ __forceinline__ W load_source(const W *p)
{
    if constexpr (D == direction::get)
        return load_relaxed_word(p);
    else
        return load_plain(p);
}

template <direction D, class W>
__device__ __forceinline__ void move_one(char *dest, const char *source)
{
    W v = load_source<D>(reinterpret_cast<const W *>(source));
    if constexpr (D == direction::put)
        store_global(reinterpret_cast<W *>(dest), v);
    else
        store_plain(reinterpret_cast<W *>(dest), v);
}

/* ---- 16 bytes of the local side -------------------------------------------------------------- */

/* How the local side lies relative to the remote side's 16-byte vectors. */
enum class local_side {
    aligned, /* the same alignment: one access of 16 bytes */
    words,   /* 4-byte words */
    bytes,   /* words that start `shift` bytes before the vector, shift 1 to 3 */
};

/* `bytes` reads up to 3 bytes before and after the vector: they must belong to the source. */
template <local_side N> __device__ __forceinline__ vec16 load_local(const char *p, unsigned shift)
{
    if constexpr (N == local_side::aligned)
        return *reinterpret_cast<const vec16 *>(p);
    const uint32_t *w = reinterpret_cast<const uint32_t *>(p - shift);
    vec16 v = {w[0], w[1], w[2], w[3]};
    if constexpr (N == local_side::bytes) {
        uint32_t last = w[4];
        v.x = join_words(v.x, v.y, shift);
        v.y = join_words(v.y, v.z, shift);
        v.z = join_words(v.z, v.w, shift);
        v.w = join_words(v.w, last, shift);
    }
    return v;
}

/* The lowest n (1 to 3) bytes. */
__device__ __forceinline__ void store_local_bytes(char *p, uint32_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        p[i] = (char)(v >> (8 * i));
}

template <local_side N>
__device__ __forceinline__ void store_local(char *p, vec16 v, unsigned shift)
{
    if constexpr (N == local_side::aligned) {
        *reinterpret_cast<vec16 *>(p) = v;
    } else if constexpr (N == local_side::words) {
        uint32_t *w = reinterpret_cast<uint32_t *>(p);
        w[0] = v.x;
        w[1] = v.y;
        w[2] = v.z;
        w[3] = v.w;
    } else {
        unsigned first = 4 - shift; /* bytes up to the first word boundary */
        uint32_t *w = reinterpret_cast<uint32_t *>(p + first);
        store_local_bytes(p, v.x, first);
        w[0] = join_words(v.x, v.y, first);
        w[1] = join_words(v.y, v.z, first);
        w[2] = join_words(v.z, v.w, first);
        store_local_bytes(p + first + 12, v.w >> (8 * first), shift);
    }
}

/* ---- what suits whom ------------------------------------------------------------------------- */

/* For each kind of group, measured on one H200 link. in_flight: vectors in flight for each thread.
 * A warp's put gains from 4 to 8 by 1.7 times; a block has enough with 4, which leaves room for the
 * caller's registers; but long gets of aligned data go by 8, which takes 1 MiB of four blocks from
 * 8.3 to 7.35 us (puts gain nothing). at_once: as many vectors for each thread are copied with no
 * call. row: so many threads access vectors that lie side by side; what each has in flight is then
 * one row apart, a constant, and its address takes no instruction. bulk_from: bytes from which the
 * engine is faster. */
template <class G> struct manner;
template <> struct manner<group_thread> {
    static constexpr int in_flight = 8, at_once = 4, row = 1;
    template <direction D> static constexpr size_t bulk_from = D == direction::put ? 512 : 256;
    template <direction D> static constexpr int long_in_flight = in_flight;
};
template <> struct manner<group_warp> {
    static constexpr int in_flight = 8, at_once = 1, row = 32;
    template <direction D>
    static constexpr size_t bulk_from = D == direction::put ? SIZE_MAX : 16384;
    template <direction D> static constexpr int long_in_flight = in_flight;
};
template <> struct manner<group_block> {
    static constexpr int in_flight = 4, at_once = 4, row = 32;
    template <direction D> static constexpr size_t bulk_from = SIZE_MAX;
    template <direction D>
    static constexpr int long_in_flight = D == direction::put ? in_flight : 8;
};

/* ---- the body: whole vectors ----------------------------------------------------------------- */

template <direction D, local_side N>
__device__ __forceinline__ vec16 load_vector(const char *source, unsigned shift)
{
    if constexpr (D == direction::get)
        return load_relaxed_word(reinterpret_cast<const vec16 *>(source));
    else
        return load_local<N>(source, shift);
}

template <direction D, local_side N>
__device__ __forceinline__ void store_vector(char *dest, vec16 v, unsigned shift)
{
    if constexpr (D == direction::put)
        store_global(reinterpret_cast<vec16 *>(dest), v);
    else
        store_local<N>(dest, v, shift);
}

/* U vectors that are step bytes apart. The addresses run instead of being indexed: on a GPU an
 * address takes two registers. */
template <direction D, local_side N, int U>
__device__ __forceinline__ void copy_batch(char *dest, const char *source, size_t step,
                                           unsigned shift)
{
    vec16 v[U];
    GSHMEM_UNROLL
    for (int u = 0; u < U; u++) {
        v[u] = load_vector<D, N>(source, shift);
        source += step;
    }
    GSHMEM_UNROLL
    for (int u = 0; u < U; u++) {
        store_vector<D, N>(dest, v[u], shift);
        dest += step;
    }
}

/* As many batches of U vectors, rank, rank + size and so on, as there are; returns where it
 * ended. */
template <direction D, local_side N, int U>
__device__ __forceinline__ size_t copy_batches(size_t i, size_t size, char *dest,
                                               const char *source, size_t nvectors, unsigned shift)
{
    for (; i + (U - 1) * size < nvectors; i += U * size)
        copy_batch<D, N, U>(dest + 16 * i, source + 16 * i, 16 * size, shift);
    return i;
}

/* At most U - 1 vectors: what no batch of this thread took. */
template <direction D, local_side N, int U>
__device__ __forceinline__ void copy_rest(size_t i, size_t size, char *dest, const char *source,
                                          size_t nvectors, unsigned shift)
{
    vec16 v[U] = {};
    GSHMEM_UNROLL
    for (int u = 0; u < U - 1; u++)
        if (i + u * size < nvectors)
            v[u] = load_vector<D, N>(source + 16 * (i + u * size), shift);
    GSHMEM_UNROLL
    for (int u = 0; u < U - 1; u++)
        if (i + u * size < nvectors)
            store_vector<D, N>(dest + 16 * (i + u * size), v[u], shift);
}

template <direction D, local_side N, int U>
__device__ __forceinline__ void copy_body(size_t rank, size_t size, char *dest, const char *source,
                                          size_t nvectors, unsigned shift)
{
    size_t i = copy_batches<D, N, U>(rank, size, dest, source, nvectors, shift);
    copy_rest<D, N, U>(i, size, dest, source, nvectors, shift);
}

/* ---- the edges: less than 16 bytes before and after the body --------------------------------- */

/* Both sides agree in their last two address bits, and head ends (tail starts) at a vector of the
 * remote side. Piece 0 to 4 of the head: a byte, a half, three words, so that each is aligned; 5 to
 * 9 of the tail: three words, a half, a byte. */
struct edge_piece {
    size_t off;
    unsigned bytes; /* 0: there is none */
};
constexpr unsigned edge_pieces = 10;

__device__ __forceinline__ edge_piece find_piece(unsigned i, unsigned head, size_t tail_off,
                                                 unsigned tail)
{
    if (i == 0)
        return {0, head & 1};
    if (i == 1)
        return {head & 1, head & 2};
    if (i < 5)
        return {(head & 3) + 4 * (i - 2), i - 2 < head / 4 ? 4u : 0u};
    if (i < 8)
        return {tail_off + 4 * (i - 5), i - 5 < tail / 4 ? 4u : 0u};
    if (i == 8)
        return {tail_off + (tail & ~3u), tail & 2};
    return {tail_off + (tail & ~1u), tail & 1};
}

template <direction D> __device__ __forceinline__ uint32_t load_piece(const char *p, unsigned bytes)
{
    if (bytes == 4)
        return load_source<D>(reinterpret_cast<const uint32_t *>(p));
    if (bytes == 2)
        return load_source<D>(reinterpret_cast<const uint16_t *>(p));
    return bytes == 1 ? load_source<D>(reinterpret_cast<const uint8_t *>(p)) : 0u;
}

__device__ __forceinline__ void store_piece(char *p, uint32_t v, unsigned bytes)
{
    if (bytes == 4)
        *reinterpret_cast<uint32_t *>(p) = v;
    else if (bytes == 2)
        *reinterpret_cast<uint16_t *>(p) = (uint16_t)v;
    else if (bytes == 1)
        *reinterpret_cast<uint8_t *>(p) = (uint8_t)v;
}

template <direction D>
__device__ __forceinline__ void copy_edges(size_t rank, size_t size, char *dest, const char *source,
                                           unsigned head, size_t tail_off, unsigned tail)
{
    if (size >= edge_pieces) {
        if (rank < edge_pieces) {
            edge_piece e = find_piece((unsigned)rank, head, tail_off, tail);
            store_piece(dest + e.off, load_piece<D>(source + e.off, e.bytes), e.bytes);
        }
    } else if (rank == 0) { /* all loads first: they take one latency, not ten */
        uint32_t v[edge_pieces];
        GSHMEM_UNROLL
        for (unsigned i = 0; i < edge_pieces; i++) {
            edge_piece e = find_piece(i, head, tail_off, tail);
            v[i] = load_piece<D>(source + e.off, e.bytes);
        }
        GSHMEM_UNROLL
        for (unsigned i = 0; i < edge_pieces; i++) {
            edge_piece e = find_piece(i, head, tail_off, tail);
            store_piece(dest + e.off, v[i], e.bytes);
        }
    }
}

template <direction D, class W>
__device__ __forceinline__ void copy_elements(size_t rank, size_t size, char *dest,
                                              const char *source, size_t bytes)
{
    for (size_t i = rank; i < bytes / sizeof(W); i += size)
        move_one<D, W>(dest + i * sizeof(W), source + i * sizeof(W));
}

/* ---- any number ------------------------------------------------------------------------------ */

/* At most 16 bytes, by the widest accesses the alignment allows. */
template <direction D>
__device__ __forceinline__ void copy_small(size_t rank, size_t size, char *dest, const char *source,
                                           size_t bytes)
{
    unsigned bits =
        (unsigned)(reinterpret_cast<uintptr_t>(dest) | reinterpret_cast<uintptr_t>(source) | bytes);
    if ((bits & 7) == 0)
        copy_elements<D, uint64_t>(rank, size, dest, source, bytes);
    else if ((bits & 3) == 0)
        copy_elements<D, uint32_t>(rank, size, dest, source, bytes);
    else if ((bits & 1) == 0)
        copy_elements<D, uint16_t>(rank, size, dest, source, bytes);
    else
        copy_elements<D, uint8_t>(rank, size, dest, source, bytes);
}

/* Both sides agree in their last two address bits; is_alike: in the last four. */
template <direction D, class G>
__device__ __forceinline__ void copy_words(size_t rank, size_t size, char *dest, const char *source,
                                           size_t bytes, bool is_alike)
{
    constexpr int U = manner<G>::in_flight;
    constexpr size_t bulk_from = manner<G>::template bulk_from<D>;
    const char *remote = D == direction::put ? dest : source;
    unsigned head = (unsigned)-reinterpret_cast<uintptr_t>(remote) & 15u;
    size_t nvectors = (bytes - head) / 16;
    size_t tail_off = head + 16 * nvectors;
    unsigned tail = (unsigned)(bytes - tail_off);
    if (head + tail > 0)
        copy_edges<D>(rank, size, dest, source, head, tail_off, tail);
    dest += head;
    source += head;
    if (!is_alike)
        copy_body<D, local_side::words, U>(rank, size, dest, source, nvectors, 0);
    else if (bulk_from == SIZE_MAX || 16 * nvectors < bulk_from ||
             !bulk_copy((uint32_t)rank, (uint32_t)size, dest, source, 16 * nvectors))
        copy_body<D, local_side::aligned, U>(rank, size, dest, source, nvectors, 0);
}

/* Where the vectors begin of which a thread has U in flight, a row apart: each row of threads has U
 * rows of vectors. */
template <class G, int U> __device__ __forceinline__ uint32_t first_vector(uint32_t rank)
{
    return rank + (rank & ~(manner<G>::row - 1u)) * (U - 1);
}

/* Vectors 0, row, 2 * row and so on below left, at most U of them, one at least. All loads come
 * first. */
template <direction D, class G, int U>
__device__ __forceinline__ void copy_few(int left, char *dest, const char *source)
{
    constexpr int row = manner<G>::row;
    vec16 v[U] = {}; /* else what they held before is kept across the loads, in local memory */
    GSHMEM_UNROLL
    for (int u = 0; u < U; u++)
        if (u == 0 || u * row < left)
            v[u] = load_vector<D, local_side::aligned>(source + 16 * u * row, 0);
    GSHMEM_UNROLL
    for (int u = 0; u < U; u++)
        if (u == 0 || u * row < left)
            store_vector<D, local_side::aligned>(dest + 16 * u * row, v[u], 0);
}

/* U in flight for each thread; is_once: there are no more than those. */
template <direction D, class G, int U, bool is_once>
__device__ __forceinline__ void copy_rows(uint32_t rank, uint32_t size, char *dest,
                                          const char *source, int nvectors)
{
    constexpr int row = manner<G>::row;
    uint32_t first = first_vector<G, U>(rank);
    int step = U * (int)size, left = nvectors - (int)first;
    dest += (size_t)16 * first;
    source += (size_t)16 * first;
    GSHMEM_NO_UNROLL
    for (; left > (U - 1) * row; left -= step) {
        copy_batch<D, local_side::aligned, U>(dest, source, 16 * row, 0);
        if (is_once)
            return;
        dest += 16 * (uint32_t)step;
        source += 16 * (uint32_t)step;
    }
    if (left > 0)
        copy_few<D, G, U - 1>(left, dest, source);
}

/* At most 32 GiB in whole vectors, both sides aligned, by whole rows of threads: what most copies
 * are. */
template <direction D, class G>
__device__ __noinline__ void copy_aligned(uint32_t rank, uint32_t size, char *dest,
                                          const char *source, size_t bytes)
{
    constexpr int U = manner<G>::in_flight, long_U = manner<G>::template long_in_flight<D>;
    constexpr size_t bulk_from = manner<G>::template bulk_from<D>;
    if (bulk_from != SIZE_MAX && bytes >= bulk_from && bulk_copy(rank, size, dest, source, bytes))
        return;
    int nvectors = (int)(bytes / 16);
    if (long_U > U && nvectors >= long_U * (int)size)
        copy_rows<D, G, long_U, false>(rank, size, dest, source, nvectors);
    else
        copy_rows<D, G, U, false>(rank, size, dest, source, nvectors);
}

/* They differ there. The edges grow to at least 3 bytes, so that whole words can be read. */
template <direction D, class G>
__device__ __forceinline__ void copy_bytes(size_t rank, size_t size, char *dest, const char *source,
                                           size_t bytes)
{
    const char *remote = D == direction::put ? dest : source;
    const char *local = D == direction::put ? source : dest;
    size_t head = (unsigned)-reinterpret_cast<uintptr_t>(remote) & 15u;
    if (head < 3)
        head += 16;
    size_t nvectors = bytes < head + 3 + 16 ? 0 : (bytes - head - 3) / 16;
    if (nvectors == 0)
        head = 0;
    unsigned shift = (unsigned)(reinterpret_cast<uintptr_t>(local) + head) & 3u;
    size_t tail_off = head + 16 * nvectors;
    copy_elements<D, uint8_t>(rank, size, dest, source, head);
    copy_elements<D, uint8_t>(rank, size, dest + tail_off, source + tail_off, bytes - tail_off);
    if (nvectors > 0)
        copy_body<D, local_side::bytes, manner<G>::in_flight>(rank, size, dest + head,
                                                              source + head, nvectors, shift);
}

/* Not inlined: a call costs little beside the copy, and its code is long. has_words: the caller
 * knows that both addresses are multiples of 4. */
template <direction D, bool has_words, class G>
__device__ __noinline__ void copy_ragged(size_t rank, size_t size, char *dest, const char *source,
                                         size_t bytes)
{
    unsigned unlike =
        (unsigned)(reinterpret_cast<uintptr_t>(dest) ^ reinterpret_cast<uintptr_t>(source));
    if (D == direction::put)
        dest = as_global(dest);
    else
        source = as_global(source);
    if (bytes <= 16)
        copy_small<D>(rank, size, dest, source, bytes);
    else if (has_words || (unlike & 3) == 0)
        copy_words<D, G>(rank, size, dest, source, bytes, (unlike & 15) == 0);
    else
        copy_bytes<D, G>(rank, size, dest, source, bytes);
}

/* 0: whole vectors, both sides aligned, less than 32 GiB. */
__device__ __forceinline__ unsigned unlike_vectors(const void *dest, const void *source,
                                                   size_t bytes)
{
    unsigned bits =
        (unsigned)(reinterpret_cast<uintptr_t>(dest) | reinterpret_cast<uintptr_t>(source));
    return ((bits | (unsigned)bytes) & 15) | (unsigned)(bytes >> 35);
}

/* Such bytes, by whole rows of threads. As many vectors as are copied at once need no call. */
template <direction D, class G>
__device__ __forceinline__ void copy_vectors(place at, void *dest_address,
                                             const void *source_address, size_t bytes)
{
    char *dest = static_cast<char *>(dest_address);
    const char *source = static_cast<const char *>(source_address);
    if (D == direction::put)
        dest = as_global(dest);
    else
        source = as_global(source);
    constexpr int at_once = manner<G>::at_once;
    int nvectors = (int)(bytes / 16);
    if (nvectors <= (int)at.size) {
        if ((int)at.rank < nvectors)
            copy_batch<D, local_side::aligned, 1>(dest + (size_t)16 * at.rank,
                                                  source + (size_t)16 * at.rank, 0, 0);
    } else if (nvectors > at_once * (int)at.size) {
        copy_aligned<D, G>(at.rank, at.size, dest, source, bytes);
    } else if constexpr (at_once > 1) {
        copy_rows<D, G, at_once, true>(at.rank, at.size, dest, source, nvectors);
    }
}

/* 8 or 4 bytes that are one word, by one thread. */
template <size_t align>
__device__ __forceinline__ bool is_word(const void *dest, const void *source, size_t bytes)
{
    unsigned bits =
        (unsigned)(reinterpret_cast<uintptr_t>(dest) | reinterpret_cast<uintptr_t>(source));
    return (bytes == 8 && (align >= 8 || (bits & 7) == 0)) ||
           (bytes == 4 && (align >= 4 || (bits & 3) == 0));
}

template <direction D>
__device__ __forceinline__ void copy_word(void *dest_address, const void *source_address,
                                          size_t bytes)
{
    char *dest = static_cast<char *>(dest_address);
    const char *source = static_cast<const char *>(source_address);
    if (bytes == 8)
        move_one<D, uint64_t>(dest, source);
    else
        move_one<D, uint32_t>(dest, source);
}

/* Whatever the bytes and the group. has_words: as for copy_ragged. */
template <direction D, bool has_words, class G>
__device__ __forceinline__ void copy_dispatch(place at, void *dest, const void *source,
                                              size_t bytes)
{
    if (unlike_vectors(dest, source, bytes) == 0 && at.size % manner<G>::row == 0)
        copy_vectors<D, G>(at, dest, source, bytes);
    else
        copy_ragged<D, has_words, G>(at.rank, at.size, static_cast<char *>(dest),
                                     static_cast<const char *>(source), bytes);
}

/* copy_vectors and copy_dispatch on a GPU; on the CPU device each thread moves one contiguous part,
 * in whole cache lines. */
#if defined(__CUDACC__)
template <direction D, class G>
__device__ __forceinline__ void copy_whole_vectors(place at, void *dest, const void *source,
                                                   size_t bytes)
{
    copy_vectors<D, G>(at, dest, source, bytes);
}

template <direction D, bool has_words, class G>
__device__ __forceinline__ void copy(place at, void *dest, const void *source, size_t bytes)
{
    copy_dispatch<D, has_words, G>(at, dest, source, bytes);
}
#else
template <direction D, class G>
inline void copy_whole_vectors(place at, void *dest, const void *source, size_t bytes)
{
    size_t part = ((bytes + at.size - 1) / at.size + 63) & ~(size_t)63;
    size_t off = part * at.rank;
    if (off < bytes)
        memmove(static_cast<char *>(dest) + off, static_cast<const char *>(source) + off,
                bytes - off < part ? bytes - off : part);
}

template <direction D, bool has_words, class G>
inline void copy(place at, void *dest, const void *source, size_t bytes)
{
    copy_whole_vectors<D, G>(at, dest, source, bytes);
}
#endif

} // namespace detail
} // namespace gshmem

#endif
