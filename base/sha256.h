/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for proving knowledge of a job's secret without sending
 * it. Small rather than fast: speed does not matter here. */
#ifndef GSH_SHA256_H
#define GSH_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSH_SHA256_BYTES 32

struct gsh_sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    uint8_t block[64]; /* the first n_bytes % 64 are pending */
};

void gsh_sha256_init(struct gsh_sha256 *s);
void gsh_sha256_update(struct gsh_sha256 *s, const void *data, size_t bytes);
void gsh_sha256_finish(struct gsh_sha256 *s, uint8_t digest[GSH_SHA256_BYTES]);

struct gsh_hmac {
    struct gsh_sha256 inner, outer;
};

void gsh_hmac_init(struct gsh_hmac *h, const void *key, size_t key_bytes);
void gsh_hmac_update(struct gsh_hmac *h, const void *data, size_t bytes);
void gsh_hmac_finish(struct gsh_hmac *h, uint8_t mac[GSH_SHA256_BYTES]);

/* Compares in a time that does not depend on where the two differ. */
bool gsh_mac_equal(const uint8_t a[GSH_SHA256_BYTES], const uint8_t b[GSH_SHA256_BYTES]);

#endif
