/* SPDX-License-Identifier: Apache-2.0
 * A group copies bytes between this PE (local) and a peer (remote) by loads and stores, without
 * synchronising; callers do that. The body of a copy accesses the remote side 16 aligned bytes at a
 * time, since the link is the bottleneck. It accesses the local side by 16 bytes if its alignment
 * matches, otherwise by the words that its alignment allows. Enough accesses are in flight to cover
 * the latency. Small accesses move single words, copies of up to 16 bytes, and the "edges" of a
 * longer copy: its two ends that do not fill 16 bytes. Large copies by a thread or a warp use the
 * bulk-copy engine if the alignments match (bulk.cuh). */
#ifndef GSHMEM_COPY_CUH
#define GSHMEM_COPY_CUH

#include "copy_access.cuh"

namespace gshmem
{
namespace detail
{

/* ---- constants for each kind of group -------------------------------------------------------- */

/* For each kind of group, from measurements (perftest/results/h200-constants.md). in_flight:
 * vectors in flight per thread. A warp's put needs 8; 4 are enough for a block, which leaves
 * registers to the caller, as with -rdc=true for all (is_narrow). long_in_flight: the same for long
 * copies of aligned data, where a block's gets need 8. at_once: up to this many vectors per thread
 * are copied without a call. row: this many threads access adjacent vectors; a thread's vectors in
 * flight are one row apart, a constant, so their addresses take no instruction. bulk_from: bytes
 * from which on the bulk-copy engine is faster, if its buffer has at least least_shared bytes. */
template <class Group> struct copy_tuning;
template <> struct copy_tuning<group_thread> {
    static constexpr int in_flight = is_narrow ? 4 : 8, at_once = 4, row = 1;
    template <direction Direction>
    static constexpr size_t bulk_from = Direction == direction::put ? 512 : 256;
    template <direction Direction> static constexpr uint32_t least_shared = 1;
    template <direction Direction> static constexpr int long_in_flight = in_flight;
};
template <> struct copy_tuning<group_warp> {
    static constexpr int in_flight = is_narrow ? 4 : 8, at_once = 1, row = 32;
    template <direction Direction>
    static constexpr size_t bulk_from = Direction == direction::put ? 32768 : 8192;
    template <direction Direction>
    static constexpr uint32_t least_shared = Direction == direction::put ? 8192 : 1;
    template <direction Direction> static constexpr int long_in_flight = in_flight;
};
/* Not measured: like a small block. */
template <> struct copy_tuning<group_warpgroup> {
    static constexpr int in_flight = 4, at_once = 4, row = 32;
    template <direction Direction> static constexpr size_t bulk_from = SIZE_MAX;
    template <direction Direction> static constexpr uint32_t least_shared = 0;
    template <direction Direction> static constexpr int long_in_flight = in_flight;
};
template <> struct copy_tuning<group_block> {
    static constexpr int in_flight = 4, at_once = 4, row = 32;
    template <direction Direction> static constexpr size_t bulk_from = SIZE_MAX;
    template <direction Direction> static constexpr uint32_t least_shared = 0;
    template <direction Direction>
    static constexpr int long_in_flight = Direction == direction::put || is_narrow ? in_flight : 8;
};

/* ---- the body: whole vectors ----------------------------------------------------------------- */

template <direction Direction, local_side Side>
__device__ __forceinline__ vec16 load_vector(const char *source, unsigned shift)
{
    if constexpr (Direction == direction::get)
        return load_relaxed_word(reinterpret_cast<const vec16 *>(source));
    else
        return load_local<Side>(source, shift);
}

template <direction Direction, local_side Side>
__device__ __forceinline__ void store_vector(char *dest, vec16 v, unsigned shift)
{
    if constexpr (Direction == direction::put)
        store_global(reinterpret_cast<vec16 *>(dest), v);
    else
        store_local<Side>(dest, v, shift);
}

/* Unroll vectors, step bytes apart. The addresses are incremented, not indexed: on a GPU an address
 * takes two registers. */
template <direction Direction, local_side Side, int Unroll>
__device__ __forceinline__ void load_batch(vec16 *v, const char *source, size_t step,
                                           unsigned shift)
{
    GSHMEM_UNROLL
    for (int u = 0; u < Unroll; u++) {
        v[u] = load_vector<Direction, Side>(source, shift);
        source += step;
    }
}

template <direction Direction, local_side Side, int Unroll>
__device__ __forceinline__ void store_batch(char *dest, const vec16 *v, size_t step, unsigned shift)
{
    GSHMEM_UNROLL
    for (int u = 0; u < Unroll; u++) {
        store_vector<Direction, Side>(dest, v[u], shift);
        dest += step;
    }
}

template <direction Direction, local_side Side, int Unroll>
__device__ __forceinline__ void copy_batch(char *dest, const char *source, size_t step,
                                           unsigned shift)
{
    vec16 v[Unroll];
    load_batch<Direction, Side, Unroll>(v, source, step, shift);
    store_batch<Direction, Side, Unroll>(dest, v, step, shift);
}

/* Vectors in flight per thread if the alignments differ: fewer, since each vector takes more
 * registers then. */
constexpr int words_in_flight = is_narrow ? 2 : 4;
template <direction Direction>
constexpr int bytes_in_flight = Direction == direction::put ? 2
                                : is_narrow                 ? 1
                                                            : 3;

/* A copy that is not whole vectors on both sides. It is in the caller's local memory, so that
 * registers for one part of the copy are free while another part runs. */
struct ragged_copy {
    char *dest;
    const char *source;
    uint32_t rank, size;
    unsigned head, tail; /* bytes of the edges */
    unsigned shift;
    bool is_same_alignment; /* both sides agree in their last four address bits */
    size_t nvectors;        /* between the edges */
};

/* Copies the vectors, Unroll in flight per thread: rank, rank + size and so on. All loads of an
 * iteration come first. Addresses and counts are incremented and hidden from the optimiser
 * (hide_value): if it precomputed them before the loop, each would need its own registers. */
template <direction Direction, local_side Side, int Unroll>
__device__ __noinline__ void copy_body(const ragged_copy *r)
{
    const uint32_t size = r->size, rank = r->rank, shift = r->shift, step = 16 * size;
    char *dest = r->dest + r->head + (size_t)16 * rank;
    const char *source = r->source + r->head + (size_t)16 * rank;
    ptrdiff_t left = (ptrdiff_t)(r->nvectors - rank);
    GSHMEM_NO_UNROLL
    while (left > 0) {
        /* Cleared: otherwise the compiler keeps their previous contents across the loads, in local
         * memory. */
        vec16 v[Unroll] = {};
        uint32_t now = left < Unroll * (ptrdiff_t)size ? (uint32_t)left : Unroll * size, n = now;
        GSHMEM_UNROLL
        for (int u = 0; u < Unroll; u++) {
            if ((int)n > 0)
                v[u] = load_vector<Direction, Side>(source, shift);
            source = hide_value(source + step);
            n = hide_value(n - size);
        }
        n = now;
        GSHMEM_UNROLL
        for (int u = 0; u < Unroll; u++) {
            if ((int)n > 0)
                store_vector<Direction, Side>(dest, v[u], shift);
            dest = hide_value(dest + step);
            n = hide_value(n - size);
        }
        left -= Unroll * (ptrdiff_t)size;
    }
}

/* ---- the edges: less than 16 bytes before and after the body --------------------------------- */

/* Both sides agree in their last two address bits, and head ends (tail starts) at a vector of the
 * remote side. Pieces 0 to 4 are the head's: a byte, a half, three words, each aligned; 5 to 9 the
 * tail's: three words, a half, a byte. */
struct edge_piece {
    unsigned off;   /* within the head, or the tail */
    unsigned bytes; /* 0: no such piece */
};
constexpr unsigned head_pieces = 5, edge_pieces = 10;

__device__ __forceinline__ edge_piece find_piece(unsigned i, unsigned head, unsigned tail)
{
    if (i == 0)
        return {0, head & 1};
    if (i == 1)
        return {head & 1, head & 2};
    if (i < head_pieces)
        return {(head & 3) + 4 * (i - 2), i - 2 < head / 4 ? 4u : 0u};
    if (i < 8)
        return {4 * (i - 5), i - 5 < tail / 4 ? 4u : 0u};
    if (i == 8)
        return {tail & ~3u, tail & 2};
    return {tail & ~1u, tail & 1};
}

template <direction Direction>
__device__ __forceinline__ uint32_t load_piece(const char *p, unsigned bytes)
{
    if (bytes == 4)
        return load_source<Direction>(reinterpret_cast<const uint32_t *>(p));
    if (bytes == 2)
        return load_source<Direction>(reinterpret_cast<const uint16_t *>(p));
    return bytes == 1 ? load_source<Direction>(reinterpret_cast<const uint8_t *>(p)) : 0u;
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

/* A thread alone loads all n pieces before it stores any: one latency for all, or two. */
template <direction Direction, bool are_words>
__device__ __noinline__ void copy_edges_alone(const ragged_copy *r)
{
    constexpr unsigned n = are_words ? 6 : 4;
    const unsigned head = r->head, tail = r->tail;
    const size_t tail_off = head + 16 * r->nvectors;
    auto piece = [&](unsigned k) { return are_words ? k + 2 : k < 2 ? k : k + 6; };
    constexpr unsigned at_once = is_narrow ? n / 2 : n;
    GSHMEM_UNROLL
    for (unsigned first = 0; first < n; first += at_once) {
        uint32_t v[at_once];
        GSHMEM_UNROLL
        for (unsigned k = first; k < first + at_once; k++) {
            edge_piece e = find_piece(piece(k), head, tail);
            v[k - first] =
                load_piece<Direction>(r->source + e.off + (k < n / 2 ? 0 : tail_off), e.bytes);
        }
        GSHMEM_UNROLL
        for (unsigned k = first; k < first + at_once; k++) {
            edge_piece e = find_piece(piece(k), head, tail);
            store_piece(r->dest + e.off + (k < n / 2 ? 0 : tail_off), v[k - first], e.bytes);
        }
    }
}

template <direction Direction, class Group>
__device__ __forceinline__ void copy_edges(const ragged_copy *r)
{
    if constexpr (copy_tuning<Group>::row == 1) {
        copy_edges_alone<Direction, true>(r);
        if (((r->head | r->tail) & 3) != 0)
            copy_edges_alone<Direction, false>(r);
    } else {
        const size_t tail_off = r->head + 16 * r->nvectors;
        GSHMEM_NO_UNROLL
        for (unsigned i = r->rank; i < edge_pieces; i += r->size) {
            edge_piece e = find_piece(i, r->head, r->tail);
            size_t off = e.off + (i < head_pieces ? 0 : tail_off);
            store_piece(r->dest + off, load_piece<Direction>(r->source + off, e.bytes), e.bytes);
        }
    }
}

template <direction Direction, class Word>
__device__ __forceinline__ void copy_elements(uint32_t rank, uint32_t size, char *dest,
                                              const char *source, size_t bytes)
{
    GSHMEM_NO_UNROLL
    for (size_t i = rank; i < bytes / sizeof(Word); i += size)
        move_one<Direction, Word>(dest + i * sizeof(Word), source + i * sizeof(Word));
}

/* ---- any number ------------------------------------------------------------------------------ */

/* At most 16 bytes, by the widest accesses the alignment allows. */
template <direction Direction>
__device__ __forceinline__ void copy_small(uint32_t rank, uint32_t size, char *dest,
                                           const char *source, size_t bytes)
{
    unsigned bits =
        (unsigned)(reinterpret_cast<uintptr_t>(dest) | reinterpret_cast<uintptr_t>(source) | bytes);
    if ((bits & 7) == 0)
        copy_elements<Direction, uint64_t>(rank, size, dest, source, bytes);
    else if ((bits & 3) == 0)
        copy_elements<Direction, uint32_t>(rank, size, dest, source, bytes);
    else if ((bits & 1) == 0)
        copy_elements<Direction, uint16_t>(rank, size, dest, source, bytes);
    else
        copy_elements<Direction, uint8_t>(rank, size, dest, source, bytes);
}

/* The first of the vectors that a thread has in flight; there are Unroll of them, a row apart: each
 * row of threads has Unroll rows of vectors. */
template <class Group, int Unroll> __device__ __forceinline__ uint32_t first_vector(uint32_t rank)
{
    return rank + (rank & ~(copy_tuning<Group>::row - 1u)) * (Unroll - 1);
}

/* Copies vectors 0, row, 2 * row and so on below left: at most Unroll, at least one. All loads come
 * first. */
template <direction Direction, class Group, int Unroll>
__device__ __forceinline__ void copy_few(int left, char *dest, const char *source)
{
    constexpr int row = copy_tuning<Group>::row;
    /* Cleared: otherwise the compiler keeps their previous contents across the loads. */
    vec16 v[Unroll] = {};
    GSHMEM_UNROLL
    for (int u = 0; u < Unroll; u++)
        if (u == 0 || u * row < left)
            v[u] = load_vector<Direction, local_side::aligned>(source + 16 * u * row, 0);
    GSHMEM_UNROLL
    for (int u = 0; u < Unroll; u++)
        if (u == 0 || u * row < left)
            store_vector<Direction, local_side::aligned>(dest + 16 * u * row, v[u], 0);
}

/* Unroll vectors in flight per thread; is_once: there are no more than that. */
template <direction Direction, class Group, int Unroll, bool is_once>
__device__ __forceinline__ void copy_rows(uint32_t rank, uint32_t size, char *dest,
                                          const char *source, int nvectors)
{
    constexpr int row = copy_tuning<Group>::row;
    uint32_t first = first_vector<Group, Unroll>(rank);
    int left = nvectors - (int)first;
    dest += (size_t)16 * first;
    source += (size_t)16 * first;
    GSHMEM_NO_UNROLL
    while (left > (Unroll - 1) * row) {
        if (is_once) {
            copy_batch<Direction, local_side::aligned, Unroll>(dest, source, 16 * row, 0);
            return;
        }
        /* Each address replaces the previous one, and size gives the step: anything more would take
         * registers. */
        vec16 v[Unroll];
        load_batch<Direction, local_side::aligned, Unroll>(v, source, 16 * row, 0);
        left -= (int)(Unroll * hide_value(size));
        source += (size_t)16 * Unroll * hide_value(size);
        store_batch<Direction, local_side::aligned, Unroll>(dest, v, 16 * row, 0);
        dest += (size_t)16 * Unroll * hide_value(size);
    }
    /* Not all of the rest at once: that would take more registers than the loop. */
    constexpr int rest = Unroll - 1, first_rest = rest < 4 ? rest : 4;
    if (left > 0)
        copy_few<Direction, Group, first_rest>(left, dest, source);
    if constexpr (rest > first_rest) {
        constexpr int gone = first_rest * row;
        if (left > gone)
            copy_few<Direction, Group, rest - first_rest>(left - gone, dest + 16 * gone,
                                                          source + 16 * gone);
    }
}

/* At most 32 GiB in whole vectors, both sides aligned, by whole rows of threads: most copies. */
template <direction Direction, class Group>
__device__ __noinline__ void copy_aligned(uint32_t rank, uint32_t size, char *dest,
                                          const char *source, int nvectors)
{
    constexpr int unroll = copy_tuning<Group>::in_flight,
                  long_unroll = copy_tuning<Group>::template long_in_flight<Direction>;
    constexpr size_t bulk_from = copy_tuning<Group>::template bulk_from<Direction>;
    constexpr uint32_t least_shared = copy_tuning<Group>::template least_shared<Direction>;
    constexpr uint32_t stages = Direction == direction::put ? put_stages : get_stages;
    if constexpr (bulk_from != SIZE_MAX)
        if (16 * (size_t)nvectors >= bulk_from &&
            bulk_copy<copy_tuning<Group>::row, stages, least_shared>(rank, dest, source,
                                                                     16 * (size_t)nvectors))
            return;
    if (long_unroll > unroll && nvectors >= long_unroll * (int)size)
        copy_rows<Direction, Group, long_unroll, false>(rank, size, dest, source, nvectors);
    else
        copy_rows<Direction, Group, unroll, false>(rank, size, dest, source, nvectors);
}

/* Both sides have the same last two address bits. */
template <direction Direction, class Group>
__device__ __forceinline__ void copy_words(ragged_copy *r, size_t bytes)
{
    const char *remote = Direction == direction::put ? r->dest : r->source;
    r->head = (unsigned)-reinterpret_cast<uintptr_t>(remote) & 15u;
    r->nvectors = (bytes - r->head) / 16;
    r->tail = (unsigned)(bytes - r->head) & 15u;
    r->shift = 0;
    if (r->head + r->tail > 0)
        copy_edges<Direction, Group>(r);
    if (r->is_same_alignment && r->size % copy_tuning<Group>::row == 0 && r->nvectors >> 31 == 0)
        copy_aligned<Direction, Group>(r->rank, r->size, r->dest + r->head, r->source + r->head,
                                       (int)r->nvectors);
    else
        copy_body<Direction, local_side::words, words_in_flight>(r);
}

/* The sides differ in these bits. The edges grow to at least 3 bytes, so whole words can be
 * read. */
template <direction Direction, class Group>
__device__ __forceinline__ void copy_bytes(ragged_copy *r, size_t bytes)
{
    const char *remote = Direction == direction::put ? r->dest : r->source;
    const char *local = Direction == direction::put ? r->source : r->dest;
    unsigned head = (unsigned)-reinterpret_cast<uintptr_t>(remote) & 15u;
    if (head < 3)
        head += 16;
    size_t nvectors = bytes < head + 3 + 16 ? 0 : (bytes - head - 3) / 16;
    if (nvectors == 0)
        head = 0;
    size_t tail_off = head + 16 * nvectors;
    copy_elements<Direction, uint8_t>(r->rank, r->size, r->dest, r->source, head);
    copy_elements<Direction, uint8_t>(r->rank, r->size, r->dest + tail_off, r->source + tail_off,
                                      bytes - tail_off);
    r->head = head;
    r->nvectors = nvectors;
    r->shift = (unsigned)(reinterpret_cast<uintptr_t>(local) + head) & 3u;
    if (nvectors > 0)
        copy_body<Direction, local_side::bytes, bytes_in_flight<Direction>>(r);
}

/* Not inlined: a call costs little beside the copy, and its code is long. has_words: the caller
 * knows that both addresses are multiples of 4. */
template <direction Direction, bool has_words, class Group>
__device__ __noinline__ void copy_ragged(uint32_t rank, uint32_t size, char *dest,
                                         const char *source, size_t bytes)
{
    unsigned unlike =
        (unsigned)(reinterpret_cast<uintptr_t>(dest) ^ reinterpret_cast<uintptr_t>(source));
    if (Direction == direction::put)
        dest = as_global(dest);
    else
        source = as_global(source);
    if (bytes <= 16) {
        copy_small<Direction>(rank, size, dest, source, bytes);
        return;
    }
    ragged_copy memory = {dest, source, rank, size, 0, 0, 0, (unlike & 15) == 0, 0},
                *r = hide_pointee(&memory);
    if (has_words || (unlike & 3) == 0)
        copy_words<Direction, Group>(r, bytes);
    else
        copy_bytes<Direction, Group>(r, bytes);
}

/* Returns 0 for whole vectors, both sides aligned, of less than 32 GiB. */
__device__ __forceinline__ unsigned unlike_vectors(const void *dest, const void *source,
                                                   size_t bytes)
{
    unsigned bits =
        (unsigned)(reinterpret_cast<uintptr_t>(dest) | reinterpret_cast<uintptr_t>(source));
    return ((bits | (unsigned)bytes) & 15) | (unsigned)(bytes >> 35);
}

/* Copies whole vectors, by whole rows of threads, if they are few enough to be copied at once,
 * without a call; otherwise copies nothing. dest and source are as in copy_aligned. */
template <direction Direction, class Group>
__device__ __forceinline__ bool copy_few_vectors(rank_in_group at, char *dest, const char *source,
                                                 int nvectors)
{
    constexpr int at_once = copy_tuning<Group>::at_once;
    if (nvectors <= (int)at.size) {
        if ((int)at.rank < nvectors)
            copy_batch<Direction, local_side::aligned, 1>(dest + (size_t)16 * at.rank,
                                                          source + (size_t)16 * at.rank, 0, 0);
    } else if (nvectors > at_once * (int)at.size) {
        return false;
    } else if constexpr (at_once > 1) {
        copy_rows<Direction, Group, at_once, true>(at.rank, at.size, dest, source, nvectors);
    }
    return true;
}

/* Any number of vectors. `around` receives a callable that makes the call for large copies. So
 * `around` can spill values that its caller would otherwise keep in registers during that call. */
template <direction Direction, class Group, class Around>
__device__ __forceinline__ void copy_vectors(rank_in_group at, void *dest_address,
                                             const void *source_address, size_t bytes,
                                             Around around)
{
    char *dest = static_cast<char *>(dest_address);
    const char *source = static_cast<const char *>(source_address);
    if (Direction == direction::put)
        dest = as_global(dest);
    else
        source = as_global(source);
    const int nvectors = (int)(bytes / 16);
    if (!copy_few_vectors<Direction, Group>(at, dest, source, nvectors))
        around([&] { copy_aligned<Direction, Group>(at.rank, at.size, dest, source, nvectors); });
}

/* Nothing to spill. */
struct spill_nothing {
    template <class Function> __device__ __forceinline__ void operator()(Function call) const
    {
        call();
    }
};

/* 8 or 4 bytes that form one word, by one thread. */
template <size_t align>
__device__ __forceinline__ bool is_word(const void *dest, const void *source, size_t bytes)
{
    unsigned bits =
        (unsigned)(reinterpret_cast<uintptr_t>(dest) | reinterpret_cast<uintptr_t>(source));
    return (bytes == 8 && (align >= 8 || (bits & 7) == 0)) ||
           (bytes == 4 && (align >= 4 || (bits & 3) == 0));
}

template <direction Direction>
__device__ __forceinline__ void copy_word(void *dest_address, const void *source_address,
                                          size_t bytes)
{
    char *dest = static_cast<char *>(dest_address);
    const char *source = static_cast<const char *>(source_address);
    if (bytes == 8)
        move_one<Direction, uint64_t>(dest, source);
    else
        move_one<Direction, uint32_t>(dest, source);
}

/* Copies any number of bytes, by any group. has_words: as for copy_ragged. */
template <direction Direction, bool has_words, class Group>
__device__ __forceinline__ void copy_dispatch(rank_in_group at, void *dest, const void *source,
                                              size_t bytes)
{
    if (unlike_vectors(dest, source, bytes) == 0 && at.size % copy_tuning<Group>::row == 0)
        copy_vectors<Direction, Group>(at, dest, source, bytes, spill_nothing());
    else
        copy_ragged<Direction, has_words, Group>(at.rank, at.size, static_cast<char *>(dest),
                                                 static_cast<const char *>(source), bytes);
}

/* On a GPU: copy_vectors and copy_dispatch; on the CPU device each thread moves one contiguous
 * part, in whole cache lines. */
#if defined(__CUDACC__)
template <direction Direction, class Group, class Around = spill_nothing>
__device__ __forceinline__ void copy_whole_vectors(rank_in_group at, void *dest, const void *source,
                                                   size_t bytes, Around around = Around())
{
    copy_vectors<Direction, Group>(at, dest, source, bytes, around);
}

template <direction Direction, bool has_words, class Group>
__device__ __forceinline__ void copy(rank_in_group at, void *dest, const void *source, size_t bytes)
{
    copy_dispatch<Direction, has_words, Group>(at, dest, source, bytes);
}
#else
template <direction Direction, class Group, class Around = spill_nothing>
inline void copy_whole_vectors(rank_in_group at, void *dest, const void *source, size_t bytes,
                               Around = Around())
{
    size_t part = ((bytes + at.size - 1) / at.size + 63) & ~(size_t)63;
    size_t off = part * at.rank;
    if (off < bytes)
        memmove(static_cast<char *>(dest) + off, static_cast<const char *>(source) + off,
                bytes - off < part ? bytes - off : part);
}

template <direction Direction, bool has_words, class Group>
inline void copy(rank_in_group at, void *dest, const void *source, size_t bytes)
{
    copy_whole_vectors<Direction, Group>(at, dest, source, bytes);
}
#endif

} // namespace detail
} // namespace gshmem

#endif
