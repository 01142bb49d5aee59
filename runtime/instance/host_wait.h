/* SPDX-License-Identifier: Apache-2.0
 * Waiting on the host: what every loop that waits for another PE calls once per poll. */
#ifndef GSH_HOST_WAIT_H
#define GSH_HOST_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct gsh_instance;
struct gsh_waiting;

/* One poll of a host wait: backs off, and ends the process if another PE has died or aborted.
 * Returns true once GSHMEM_WAIT_TIMEOUT has passed since *start_ns (0: set it now). what: what the
 * wait is for, for those who ask (waits.h); NULL: it says nothing. */
bool gsh_host_wait_poll(struct gsh_instance *pe, unsigned *backoff, uint64_t *start_ns,
                        const struct gsh_waiting *what);
/* The same for waits for a PE to arrive: a little longer (GSH_SYNC_LIMIT_NS). */
bool gsh_host_sync_poll(struct gsh_instance *pe, unsigned *backoff, uint64_t *start_ns,
                        const struct gsh_waiting *what);
/* The same without backing off, for callers that do so themselves. */
bool gsh_host_sync_check(struct gsh_instance *pe, uint64_t *start_ns,
                         const struct gsh_waiting *what);
/* That limit in seconds, for messages. */
double gsh_host_sync_limit_s(const struct gsh_instance *pe);

#endif
