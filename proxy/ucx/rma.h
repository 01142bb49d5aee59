/* SPDX-License-Identifier: Apache-2.0
 * Put, get and flush over UCX. An operation is split where regions meet, and into pieces short
 * enough that a slow network shows signs of life. */
#ifndef GSH_UCX_RMA_H
#define GSH_UCX_RMA_H

#include "proxy/ucx/ucx.h"

enum gsh_result gsh_ucx_put(struct gsh_transport *t, int pe, unsigned path, uint64_t off,
                            const void *source, uint64_t bytes, struct gsh_op *op,
                            bool *is_pending);
enum gsh_result gsh_ucx_get(struct gsh_transport *t, int pe, uint64_t off, void *dest,
                            uint64_t bytes, struct gsh_op *op, bool *is_pending);
enum gsh_result gsh_ucx_flush(struct gsh_transport *t, int pe, unsigned path, struct gsh_op *op,
                              bool *is_pending);

#endif
