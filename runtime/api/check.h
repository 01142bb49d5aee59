/* SPDX-License-Identifier: Apache-2.0
 * What public calls check of their arguments, on the host. Each function ends the job with one line
 * naming call, PE and reason when the caller's promise is broken. */
#ifndef GSH_CHECK_H
#define GSH_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include "runtime/instance/device_ops.h"
#include "runtime/instance/instance.h"

void gsh_check_pe(struct gsh_instance *pe, const char *call, int target);

/* Where target's copy of `symmetric` is mapped; NULL: target is far. Also checks target and, in
 * checking builds, the range. */
void *gsh_peer_address(struct gsh_instance *pe, const char *call, const void *symmetric,
                       uint64_t bytes, int target);

/* nelems * elem_bytes. */
uint64_t gsh_check_bytes(struct gsh_instance *pe, const char *call, size_t nelems,
                         size_t elem_bytes);
/* As above, for this PE's side of a copy, which may be NULL only when there are 0 bytes. */
uint64_t gsh_check_local(struct gsh_instance *pe, const char *call, const void *local,
                         size_t nelems, size_t elem_bytes);
/* The bytes that nelems elements span, `stride` elements apart. */
uint64_t gsh_check_span(struct gsh_instance *pe, const char *call, ptrdiff_t stride, size_t nelems,
                        size_t elem_bytes);
/* The mapped signal on target. */
struct gsh_signal_arg gsh_check_signal(struct gsh_instance *pe, const char *call,
                                       uint64_t *sig_addr, uint64_t signal, int sig_op, int target);

#endif
