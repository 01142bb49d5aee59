/* SPDX-License-Identifier: Apache-2.0
 * Waiting on the host: what every loop that waits for another PE calls once per turn. */
#ifndef GSH_TURN_H
#define GSH_TURN_H

#include <stdbool.h>
#include <stdint.h>

struct gsh_instance;

/* One turn of a host wait: backs off; ends the process when another PE died or aborted. Returns
 * true once GSHMEM_WAIT_TIMEOUT has passed since *start_ns (0: set it now). */
bool gsh_host_wait_turn(struct gsh_instance *pe, unsigned *turn, uint64_t *start_ns);
/* The same for waits for a PE to arrive: a little longer (GSH_SYNC_LIMIT_NS). */
bool gsh_host_sync_turn(struct gsh_instance *pe, unsigned *turn, uint64_t *start_ns);
/* The same without backing off, for callers that do so themselves. */
bool gsh_host_sync_look(struct gsh_instance *pe, uint64_t *start_ns);
/* That limit in seconds, for messages. */
double gsh_host_sync_limit_s(const struct gsh_instance *pe);

#endif
