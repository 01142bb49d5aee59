/* SPDX-License-Identifier: Apache-2.0
 * The accesses of a copy (copy.cuh): one element of either side, and 16 bytes of the local side,
 * whatever its alignment. */
#ifndef GSHMEM_COPY_ACCESS_CUH
#define GSHMEM_COPY_ACCESS_CUH

#include "bulk.cuh"
#include "group.cuh"
#include "memory.cuh"

namespace gshmem
{
namespace detail
{

/* put: from local to remote. get: from remote to local. */
enum class direction { put, get };

/* A get must see what the peer stored, not what a cache kept. */
template <direction Direction, class Word>
__device__ __forceinline__ Word load_source(const Word *p)
{
    if constexpr (Direction == direction::get)
        return load_relaxed_word(p);
    else
        return load_plain(p);
}

template <direction Direction, class Word>
__device__ __forceinline__ void move_one(char *dest, const char *source)
{
    Word v = load_source<Direction>(reinterpret_cast<const Word *>(source));
    if constexpr (Direction == direction::put)
        store_global(reinterpret_cast<Word *>(dest), v);
    else
        store_plain(reinterpret_cast<Word *>(dest), v);
}

/* ---- 16 bytes of the local side -------------------------------------------------------------- */

/* The local side's alignment relative to the remote side's 16-byte vectors. */
enum class local_side {
    aligned, /* the same alignment: one access of 16 bytes */
    words,   /* 4-byte words */
    bytes,   /* words that start `shift` bytes before the vector, shift 1 to 3 */
};

/* `bytes` reads up to 3 bytes before and after the vector; they must be part of the source. */
template <local_side Side>
__device__ __forceinline__ vec16 load_local(const char *p, unsigned shift)
{
    if constexpr (Side == local_side::aligned)
        return *reinterpret_cast<const vec16 *>(p);
    const uint32_t *w = reinterpret_cast<const uint32_t *>(p - shift);
    vec16 v = {w[0], w[1], w[2], w[3]};
    if constexpr (Side == local_side::bytes) {
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
    GSHMEM_NO_UNROLL
    for (unsigned i = 0; i < n; i++)
        p[i] = (char)(v >> (8 * i));
}

template <local_side Side>
__device__ __forceinline__ void store_local(char *p, vec16 v, unsigned shift)
{
    if constexpr (Side == local_side::aligned) {
        *reinterpret_cast<vec16 *>(p) = v;
    } else if constexpr (Side == local_side::words) {
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

} // namespace detail
} // namespace gshmem

#endif
