/* SPDX-License-Identifier: Apache-2.0
 * Messages of the engine, and arrivals from peers. UCX may let one message overtake another (by
 * size, or on another lane), so each carries its number, and early ones are held back. */
#ifndef GSH_UCX_MESSAGE_H
#define GSH_UCX_MESSAGE_H

#include "proxy/ucx/ucx.h"

GSH_CHECK_RESULT enum gsh_result gsh_ucx_listen(struct gsh_ucx *u);
enum gsh_result gsh_ucx_send(struct gsh_transport *t, int pe, const void *header,
                             size_t header_bytes, const void *data, size_t bytes, struct gsh_op *op,
                             bool *is_pending);
void gsh_ucx_free_early(struct gsh_ucx_peer *peer);

#endif
