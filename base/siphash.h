/* SPDX-License-Identifier: Apache-2.0
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a 64-bit authenticator of short inputs under a
 * 128-bit key. It costs some 50 ns for the header of a message. Inline, because plug-ins use
 * nothing of the library. */
#ifndef GSH_SIPHASH_H
#define GSH_SIPHASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GSH_SIPHASH_KEY_BYTES 16

/* GPUs and the machines that the library runs on are little-endian, as the algorithm's words are.
 */
static inline uint64_t gsh_siphash_word(const uint8_t *p, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, p, bytes);
    return word;
}

static inline uint64_t gsh_siphash_rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

static inline void gsh_siphash_rounds(uint64_t v[4], int n)
{
    for (int i = 0; i < n; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = gsh_siphash_rotate(v[1], 13) ^ v[0];
        v[3] = gsh_siphash_rotate(v[3], 16) ^ v[2];
        v[0] = gsh_siphash_rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = gsh_siphash_rotate(v[1], 17) ^ v[2];
        v[3] = gsh_siphash_rotate(v[3], 21) ^ v[0];
        v[2] = gsh_siphash_rotate(v[2], 32);
    }
}

static inline uint64_t gsh_siphash(const uint8_t key[GSH_SIPHASH_KEY_BYTES], const void *data,
                                   size_t bytes)
{
    const uint8_t *p = data;
    uint64_t k0 = gsh_siphash_word(key, 8), k1 = gsh_siphash_word(key + 8, 8);
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                     k1 ^ 0x7465646279746573u};
    size_t at = 0;
    for (; bytes - at >= 8; at += 8) {
        uint64_t word = gsh_siphash_word(p + at, 8);
        v[3] ^= word;
        gsh_siphash_rounds(v, 2);
        v[0] ^= word;
    }
    uint64_t last = ((uint64_t)bytes << 56) | gsh_siphash_word(p + at, bytes - at);
    v[3] ^= last;
    gsh_siphash_rounds(v, 2);
    v[0] ^= last;
    v[2] ^= 0xff;
    gsh_siphash_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
