/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 after FIPS 180-4, section 6.2, and HMAC after RFC 2104. tests/unit/sha256.c has the
 * published vectors. */
#include "base/sha256.h"

#include <string.h>

/* FIPS 180-4, section 4.2.2. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t v, unsigned n)
{
    return v >> n | v << (32 - n);
}

static uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_be32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], v[8];
    for (size_t t = 0; t < 16; t++) {
        w[t] = load_be32(block + 4 * t);
    }
    for (int t = 16; t < 64; t++) {
        uint32_t x = w[t - 15], y = w[t - 2];
        uint32_t s0 = rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3;
        uint32_t s1 = rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    memcpy(v, state, sizeof(v));
    for (int t = 0; t < 64; t++) {
        uint32_t a = v[0], e = v[4];
        uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t choice = (e & v[5]) ^ (~e & v[6]);
        uint32_t t1 = v[7] + s1 + choice + round_constants[t] + w[t];
        uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t majority = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++) {
        state[i] += v[i];
    }
}

void gsh_sha256_init(struct gsh_sha256 *s)
{
    /* FIPS 180-4, section 5.3.3. */
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, initial, sizeof(initial));
    s->n_bytes = 0;
}

void gsh_sha256_update(struct gsh_sha256 *s, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    while (bytes > 0) {
        size_t used = s->n_bytes % sizeof(s->block);
        size_t n = sizeof(s->block) - used < bytes ? sizeof(s->block) - used : bytes;
        memcpy(s->block + used, p, n);
        s->n_bytes += n;
        p += n;
        bytes -= n;
        if (used + n == sizeof(s->block)) {
            compress(s->state, s->block);
        }
    }
}

void gsh_sha256_finish(struct gsh_sha256 *s, uint8_t digest[GSH_SHA256_BYTES])
{
    static const uint8_t padding[64] = {0x80};
    uint8_t length[8];
    uint64_t n_bits = s->n_bytes * 8;
    store_be32(length, (uint32_t)(n_bits >> 32));
    store_be32(length + 4, (uint32_t)n_bits);
    /* One 0x80, then zeros up to 56 modulo 64. */
    gsh_sha256_update(s, padding, 1 + (55 - s->n_bytes) % 64);
    gsh_sha256_update(s, length, sizeof(length));
    for (size_t i = 0; i < 8; i++) {
        store_be32(digest + 4 * i, s->state[i]);
    }
}

void gsh_hmac_init(struct gsh_hmac *h, const void *key, size_t key_bytes)
{
    uint8_t block[64] = {0};
    if (key_bytes > sizeof(block)) {
        gsh_sha256_init(&h->inner);
        gsh_sha256_update(&h->inner, key, key_bytes);
        gsh_sha256_finish(&h->inner, block);
    } else {
        memcpy(block, key, key_bytes);
    }
    for (size_t i = 0; i < sizeof(block); i++) {
        block[i] ^= 0x36;
    }
    gsh_sha256_init(&h->inner);
    gsh_sha256_update(&h->inner, block, sizeof(block));
    for (size_t i = 0; i < sizeof(block); i++) {
        block[i] ^= 0x36 ^ 0x5c;
    }
    gsh_sha256_init(&h->outer);
    gsh_sha256_update(&h->outer, block, sizeof(block));
}

void gsh_hmac_update(struct gsh_hmac *h, const void *data, size_t bytes)
{
    gsh_sha256_update(&h->inner, data, bytes);
}

void gsh_hmac_finish(struct gsh_hmac *h, uint8_t mac[GSH_SHA256_BYTES])
{
    uint8_t digest[GSH_SHA256_BYTES];
    gsh_sha256_finish(&h->inner, digest);
    gsh_sha256_update(&h->outer, digest, sizeof(digest));
    gsh_sha256_finish(&h->outer, mac);
}

bool gsh_mac_equal(const uint8_t a[GSH_SHA256_BYTES], const uint8_t b[GSH_SHA256_BYTES])
{
    unsigned difference = 0;
    for (int i = 0; i < GSH_SHA256_BYTES; i++) {
        difference |= (unsigned)(a[i] ^ b[i]);
    }
    return difference == 0;
}
