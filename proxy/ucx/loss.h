/* SPDX-License-Identifier: Apache-2.0
 * A peer is lost: the module that finds out notes it here, and life.c acts on it. Calls nothing. */
#ifndef GSH_UCX_LOSS_H
#define GSH_UCX_LOSS_H

#include "proxy/ucx/ucx.h"

/* The peer is no longer usable; reported at the end of progress(). May be called from anywhere. */
void gsh_ucx_break(struct gsh_ucx_peer *peer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The peer has sent what no PE of this version sends: as above, and nothing more that it sends is
 * carried out. */
void gsh_ucx_refuse(struct gsh_ucx_peer *peer, const char *why);
/* Nothing is reported of its end: it was expected. Also frees the reason, at last. */
void gsh_ucx_forget_reason(struct gsh_ucx_peer *peer);
/* As gsh_ucx_break, with the reason from UCX. */
void gsh_ucx_break_for(struct gsh_ucx_peer *peer, ucs_status_t status);

#endif
