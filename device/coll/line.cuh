/* SPDX-License-Identifier: Apache-2.0
 * One line of the collectives on any memory (lines.cuh): how its eight threads load it from the
 * caller's memory, whatever its alignment, store it there, send it into a slot, and see in one that
 * it is all there. */
#ifndef GSHMEM_COLL_LINE_CUH
#define GSHMEM_COLL_LINE_CUH

#include "fold.cuh"
#include "../group.cuh"
#include "../memory.cuh"
#include "../push.cuh"
#include "../../wire/lines.h"

namespace gshmem
{
namespace detail
{

/* ---- parts of lines in ordinary memory ---- */

/* Which word of the line is word w of this thread. The last thread of a GPU's line has one less. */
__device__ __forceinline__ uint32_t word_of_line(uint32_t index, uint32_t w)
{
    return index + line_threads * w;
}
__device__ __forceinline__ bool has_word(uint32_t index, uint32_t w)
{
    return is_cpu_device || word_of_line(index, w) < GSH_LINE_BYTES_CUDA / 8;
}
constexpr uint64_t line_data_bytes = is_cpu_device ? GSH_LINE_BYTES_CPU : GSH_LINE_BYTES_CUDA;

/* A word of which less than 8 bytes are there, or that is not aligned. */
__device__ GSHMEM_NOINLINE inline uint64_t load_bytes(const uint8_t *p, uint64_t rest)
{
    uint64_t v = 0;
    if (rest >= 8 && (reinterpret_cast<uint64_t>(p) & 3) == 0)
        return load_plain(reinterpret_cast<const uint32_t *>(p)) |
               (uint64_t)load_plain(reinterpret_cast<const uint32_t *>(p) + 1) << 32;
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < 8 && i < rest; i++)
        v |= (uint64_t)load_plain(p + i) << 8 * i;
    return v;
}
__device__ GSHMEM_NOINLINE inline void store_bytes(uint8_t *p, uint64_t rest, uint64_t v)
{
    if (rest >= 8 && (reinterpret_cast<uint64_t>(p) & 3) == 0) {
        store_plain(reinterpret_cast<uint32_t *>(p), (uint32_t)v);
        store_plain(reinterpret_cast<uint32_t *>(p) + 1, (uint32_t)(v >> 32));
        return;
    }
    GSHMEM_NO_UNROLL
    for (uint32_t i = 0; i < 8 && i < rest; i++)
        store_plain(p + i, (uint8_t)(v >> 8 * i));
}

/* From this thread's first word of a line to the end of its last. */
constexpr uint64_t part_span = 8 * (1 + (uint64_t)line_threads * (part_words - 1));

/* Whether all words of the part at `at`, which is a multiple of 8, are there and aligned. */
__device__ __forceinline__ bool is_plain_part(const uint8_t *block, uint64_t bytes, uint64_t at)
{
    return (reinterpret_cast<uint64_t>(block) & 7) == 0 && at + part_span <= bytes;
}
/* Where word w of the part at `at` lies in its block, and whether it is there. */
__device__ __forceinline__ uint64_t word_off(uint64_t at, uint32_t w)
{
    return at + (uint64_t)(8 * line_threads) * w;
}
__device__ __forceinline__ bool is_there(uint64_t bytes, uint64_t at, uint32_t index, uint32_t w)
{
    return has_word(index, w) && word_off(at, w) < bytes;
}

__device__ GSHMEM_NOINLINE inline line_part load_odd_words(const uint8_t *block, uint64_t bytes,
                                                           uint64_t at, uint32_t index)
{
    line_part p;
    GSHMEM_UNROLL
    for (uint32_t w = 0; w < part_words; w++) {
        const uint64_t off = word_off(at, w);
        p.word[w] = is_there(bytes, at, index, w) ? load_bytes(block + off, bytes - off) : 0;
    }
    return p;
}
__device__ GSHMEM_NOINLINE inline void store_odd_words(uint8_t *block, uint64_t bytes, uint64_t at,
                                                       uint32_t index, line_part p)
{
    GSHMEM_UNROLL
    for (uint32_t w = 0; w < part_words; w++) {
        const uint64_t off = word_off(at, w);
        if (is_there(bytes, at, index, w))
            store_bytes(block + off, bytes - off, p.word[w]);
    }
}

/* This thread's part of a line of a block of that many bytes, at its first word; 0 for what is past
 * the block's end. */
__device__ __forceinline__ line_part load_words(const uint8_t *block, uint64_t bytes, uint64_t at,
                                                uint32_t index)
{
    line_part p;
    if (!is_plain_part(block, bytes, at))
        return load_odd_words(block, bytes, at, index);
    GSHMEM_UNROLL
    for (uint32_t w = 0; w < part_words; w++)
        p.word[w] = has_word(index, w)
                        ? load_plain(reinterpret_cast<const uint64_t *>(block + word_off(at, w)))
                        : 0;
    return p;
}
__device__ __forceinline__ void store_words(uint8_t *block, uint64_t bytes, uint64_t at,
                                            uint32_t index, const line_part &p)
{
    if (!is_plain_part(block, bytes, at)) {
        store_odd_words(block, bytes, at, index, p);
        return;
    }
    GSHMEM_UNROLL
    for (uint32_t w = 0; w < part_words; w++)
        if (has_word(index, w))
            store_plain(reinterpret_cast<uint64_t *>(block + word_off(at, w)), p.word[w]);
}
__device__ __forceinline__ line_part load_part(const uint8_t *block, uint64_t bytes, uint64_t line,
                                               uint32_t index)
{
    return load_words(block, bytes, line * line_data_bytes + 8 * index, index);
}
__device__ __forceinline__ void store_part(uint8_t *block, uint64_t bytes, uint64_t line,
                                           uint32_t index, const line_part &p)
{
    store_words(block, bytes, line * line_data_bytes + 8 * index, index, p);
}

/* ---- lines in slots ---- */

/* What a thread has loaded of a line: two words of 8 bytes, or for each word one with flags. */
struct seen_part {
    words2 v[part_words];
};

__device__ __forceinline__ words2 with_flags(uint64_t data, uint64_t flag)
{
    return {(uint32_t)data | flag << 32, data >> 32 | flag << 32};
}
__device__ __forceinline__ bool are_flags(words2 v, uint64_t flag)
{
    return v.low >> 32 == (uint32_t)flag && v.high >> 32 == (uint32_t)flag;
}

/* How this thread writes and reads lines. */
struct line_thread {
    uint32_t index;
    bool is_whole; /* else words with flags */

    __device__ __forceinline__ bool is_last() const { return index == line_threads - 1; }
    /* Whether the thread's word w has flags if a line of words has data, or has none. */
    __device__ __forceinline__ bool bears_flag(uint32_t w, bool has_data) const
    {
        return has_data ? has_word(index, w) : is_last() && w == 0;
    }
    __device__ __forceinline__ void send(words2 *line, uint64_t flag, const line_part &p,
                                         bool has_data) const
    {
        if constexpr (!is_cpu_device) {
            if (is_whole) {
                if (has_data || is_last())
                    store_relaxed_words(line + index,
                                        {p.word[0], is_last() ? flag : p.word[part_words > 1]});
                return;
            }
        }
        GSHMEM_UNROLL
        for (uint32_t w = 0; w < part_words; w++)
            if (bears_flag(w, has_data))
                store_relaxed_words(line + word_of_line(index, w), with_flags(p.word[w], flag));
    }
    __device__ __forceinline__ seen_part look(const words2 *line, bool has_data) const
    {
        seen_part s;
        if constexpr (!is_cpu_device) {
            if (is_whole) {
                s.v[0] = load_relaxed_words(line + index);
                s.v[part_words > 1] = s.v[0];
                return s;
            }
        }
        GSHMEM_UNROLL
        for (uint32_t w = 0; w < part_words; w++)
            s.v[w] = bears_flag(w, has_data) ? load_relaxed_words(line + word_of_line(index, w))
                                             : words2{0, 0};
        return s;
    }
    /* Pairs with the other member's send: the data are in what is waited for. */
    __device__ __forceinline__ bool is_here(const seen_part &s, uint64_t flag, bool has_data) const
    {
        if constexpr (!is_cpu_device) {
            if (is_whole)
                return !is_last() || s.v[0].high == flag;
        }
        bool is = true;
        GSHMEM_UNROLL
        for (uint32_t w = 0; w < part_words; w++)
            is = is && (!bears_flag(w, has_data) || are_flags(s.v[w], flag));
        return is;
    }
    __device__ __forceinline__ line_part data_of(const seen_part &s) const
    {
        line_part p;
        GSHMEM_UNROLL
        for (uint32_t w = 0; w < part_words; w++)
            p.word[w] = (uint32_t)s.v[w].low | s.v[w].high << 32;
        if constexpr (!is_cpu_device) {
            if (is_whole) {
                p.word[0] = s.v[0].low;
                p.word[part_words > 1] = s.v[0].high;
            }
        }
        return p;
    }
    /* The word that a wait for the line is said to wait for. */
    __device__ __forceinline__ const uint64_t *flag_word(const words2 *line) const
    {
        return is_whole ? &line[line_threads - 1].high : &line[line_threads - 1].low;
    }
};

/* All threads of a warp go through the same waits together: those of its four lines look at them
 * until all four are there. */
__device__ __forceinline__ bool all_of_warp(bool is)
{
#if defined(__CUDACC__)
    return __all_sync(~0u, is) != 0;
#else
    return is;
#endif
}

/* One of two parts, word by word: a choice between their addresses would keep both in memory. */
__device__ __forceinline__ line_part chosen(bool is_first, const line_part &a, const line_part &b)
{
    line_part p;
    GSHMEM_UNROLL
    for (uint32_t w = 0; w < part_words; w++)
        p.word[w] = is_first ? a.word[w] : b.word[w];
    return p;
}

/* The least number of the warp's threads. */
__device__ __forceinline__ uint32_t least_of_warp(uint32_t x)
{
#if defined(__CUDACC__)
    return lowest_of(~0u, x);
#else
    return x;
#endif
}

} // namespace detail
} // namespace gshmem

#endif
