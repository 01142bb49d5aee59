/* SPDX-License-Identifier: Apache-2.0
 * What may be made of a job's secret. The secret is made of 16 random bytes that rank 0 chooses at
 * init, and of what the ranks know already. It never leaves the memory of the job's processes: the
 * start-up's exchanges carry the random bytes alone. Names that others can read, and keys of
 * messages, are derived from it by a one-way function. Each serves one purpose, and none reveals
 * another. */
#ifndef GSH_KEYS_H
#define GSH_KEYS_H

#include <stddef.h>
#include <stdint.h>

#define GSH_SECRET_BYTES 16
#define GSH_KEY_BYTES    32

/* The job's secret from both; shared: of the bootstrap, or zeros if all is in what it carries. */
void gsh_key_secret(const uint8_t shared[GSH_KEY_BYTES], const uint8_t random[GSH_SECRET_BYTES],
                    uint8_t secret[GSH_SECRET_BYTES]);

/* HMAC-SHA-256 of the purpose under the secret. Purposes in use: "monitor", "fdpass", "bell",
 * "messages" and "questions" for keys; "monitor:3" and "fdpass:3" for the names of PE 3's
 * listeners. */
void gsh_key_derive(const uint8_t secret[GSH_SECRET_BYTES], const char *purpose,
                    uint8_t key[GSH_KEY_BYTES]);

/* The first characters of a derived key in hex, for a name that others can read; room: 2 * n_bytes
 * + 1. */
void gsh_key_name(const uint8_t secret[GSH_SECRET_BYTES], const char *purpose, size_t n_bytes,
                  char *name);

#endif
