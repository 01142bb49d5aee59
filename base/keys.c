/* SPDX-License-Identifier: Apache-2.0
 * See keys.h. */
#define _GNU_SOURCE 1
#include "base/keys.h"

#include <stdio.h>
#include <string.h>
#include "base/sha256.h"

_Static_assert(GSH_KEY_BYTES == GSH_SHA256_BYTES, "a key is a digest");

void gsh_key_secret(const uint8_t shared[GSH_KEY_BYTES], const uint8_t random[GSH_SECRET_BYTES],
                    uint8_t secret[GSH_SECRET_BYTES])
{
    struct gsh_hmac h;
    uint8_t key[GSH_KEY_BYTES];
    gsh_hmac_init(&h, shared, GSH_KEY_BYTES);
    gsh_hmac_update(&h, random, GSH_SECRET_BYTES);
    gsh_hmac_finish(&h, key);
    memcpy(secret, key, GSH_SECRET_BYTES);
    explicit_bzero(key, sizeof(key));
    explicit_bzero(&h, sizeof(h));
}

void gsh_key_derive(const uint8_t secret[GSH_SECRET_BYTES], const char *purpose,
                    uint8_t key[GSH_KEY_BYTES])
{
    struct gsh_hmac h;
    gsh_hmac_init(&h, secret, GSH_SECRET_BYTES);
    gsh_hmac_update(&h, purpose, strlen(purpose));
    gsh_hmac_finish(&h, key);
    explicit_bzero(&h, sizeof(h));
}

void gsh_key_name(const uint8_t secret[GSH_SECRET_BYTES], const char *purpose, size_t n_bytes,
                  char *name)
{
    uint8_t key[GSH_KEY_BYTES];
    gsh_key_derive(secret, purpose, key);
    for (size_t i = 0; i < n_bytes; i++) {
        snprintf(name + 2 * i, 3, "%02x", key[i]);
    }
    explicit_bzero(key, sizeof(key));
}
