/* SPDX-License-Identifier: Apache-2.0
 * How a PE that fails alone in init tells those of its host, before they have met: each PE has a
 * bell, a socket whose name all PEs exchange, and waits for others with an ear on it. Ringing needs
 * no connection, no descriptor and no memory. Who has failed rings all others of its node, and
 * takes part in nothing there any more; so does who hears its bell, for those that wait for it. */
#ifndef GSH_BELL_H
#define GSH_BELL_H

#include <stdbool.h>
#include <stdint.h>
#include "base/keys.h"
#include "base/result.h"

struct gsh_instance;

struct gsh_bell;

/* What travels. */
struct gsh_bell_message {
    int32_t from, to; /* PEs */
    uint64_t tag;     /* SipHash of these, under a key of the job */
};
_Static_assert(sizeof(struct gsh_bell_message) == 16, "no padding");

/* Of this PE, before its job has a secret; noted. *name: what it tells the others. */
GSH_CHECK_RESULT enum gsh_result gsh_bell_open(struct gsh_bell **out, uint32_t *name);
/* Accepts NULL. */
void gsh_bell_close(struct gsh_bell **bell);
/* Has input when somebody has rung. */
int gsh_bell_fd(const struct gsh_bell *bell);
/* Once there is a secret, and nobody has rung yet. */
void gsh_bell_key(struct gsh_bell *bell, const uint8_t secret[GSH_SECRET_BYTES]);

/* Whether another PE of the node has rung, or one with which the bootstrap links this PE has ended;
 * noted. Waits for nothing. False without a bell. */
bool gsh_bell_has_rung(struct gsh_instance *pe);
/* This PE has failed: rings all others of its node. */
void gsh_bell_ring_all(struct gsh_instance *pe);

/* The parser of what travels: whether it is for that PE. */
bool gsh_bell_is_true(const uint8_t key[GSH_KEY_BYTES], int to, const void *data, size_t bytes);

#endif
