/* SPDX-License-Identifier: Apache-2.0
 * Carries out messages of other proxies: completely on arrival or, by staging, in order a little
 * later. Messages that change memory are then counted and acknowledged together; answers carry such
 * acks along. */
#ifndef GSH_INBOX_H
#define GSH_INBOX_H

#include <stddef.h>

/* For struct gsh_transport_events; context is the proxy. */
void gsh_inbox_arrived(void *context, int from_pe, const void *header, size_t header_bytes,
                       const void *data, size_t bytes);

#endif
