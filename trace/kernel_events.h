/* SPDX-License-Identifier: Apache-2.0
 * Makes calls of kernels' events (wire/trace.h): a thread's BEGIN and its END, and what is between
 * them. After a loss, calls that have begun end where the loss is known. */
#ifndef GSH_TRACE_KERNEL_EVENTS_H
#define GSH_TRACE_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trace/part.h"

struct gsh_kernel_events; /* of one part */

/* thread: ring << 16 | GSH_TRACE_EVENT_WHO. */
typedef void (*gsh_kernel_call_fn)(void *context, const struct gsh_trace_slot *call,
                                   const char *name, uint32_t thread);

struct gsh_kernel_events *gsh_kernel_events_create(void); /* NULL: no memory */
void gsh_kernel_events_destroy(struct gsh_kernel_events *k);
/* The name at an address of kernels, or with a number of the part; it is kept, not copied. False:
 * no memory. */
bool gsh_kernel_events_name(struct gsh_kernel_events *k, uint64_t address, const char *name);
/* A GSH_TRACE_KERNEL slot and its events. */
void gsh_kernel_events_take(struct gsh_kernel_events *k, const struct gsh_trace_slot *slot,
                            const void *events, gsh_kernel_call_fn take, void *context);
/* Calls that have not ended end with their thread's last event. */
void gsh_kernel_events_finish(struct gsh_kernel_events *k, gsh_kernel_call_fn take, void *context);
/* "block 3 thread 0", "stream 1". */
void gsh_kernel_events_describe(uint32_t thread, char *text, size_t room);

#endif
