/* SPDX-License-Identifier: Apache-2.0
 * Peers of the UCX transport, and their endpoints, made at the first operation. */
#ifndef GSH_UCX_ENDPOINT_H
#define GSH_UCX_ENDPOINT_H

#include "proxy/ucx/ucx.h"

/* pe's record, made on first use; NULL: out of memory, or pe is not a PE. */
struct gsh_ucx_peer *gsh_ucx_peer(struct gsh_ucx *u, int pe);
/* The peer, ready for sending. GSH_ERR_PEER: lost, and reported. GSH_OK with a NULL ep: broken. */
GSH_CHECK_RESULT enum gsh_result gsh_ucx_use(struct gsh_ucx *u, int pe, struct gsh_ucx_peer **out);
/* gsh_ucx_path has the path from now on. */
GSH_CHECK_RESULT enum gsh_result gsh_ucx_make_path(struct gsh_ucx_peer *peer, unsigned path);
/* The endpoint of the path, made on first use; NULL: the peer is broken. gsh_ucx_path has it. */
ucp_ep_h gsh_ucx_use_path(struct gsh_ucx_peer *peer, unsigned path);
/* A question about the peer has had this result. True: so it is lost, and broken from now on. */
bool gsh_ucx_is_lost_by(struct gsh_ucx_peer *peer, enum gsh_result r);
void gsh_ucx_lose(struct gsh_transport *t, int pe, const char *reason);
enum gsh_result gsh_ucx_set_peer(struct gsh_transport *t, int pe, const void *blob, size_t bytes);
enum gsh_result gsh_ucx_set_pair(struct gsh_transport *t, int pe,
                                 const struct gsh_transport_pairing *pairing, const void *blob,
                                 size_t bytes);

/* The user's network settings, for reports: "" or ", with UCX_TLS=..." */
#define GSH_UCX_SETTINGS_MAX 192
const char *gsh_ucx_settings(char text[GSH_UCX_SETTINGS_MAX]);

#endif
