/* SPDX-License-Identifier: Apache-2.0
 * A peer is lost: the module that finds out says so here, and life.c acts on it. Calls nothing. */
#ifndef GSH_UCX_LOSS_H
#define GSH_UCX_LOSS_H

#include "proxy/ucx/ucx.h"

/* The peer cannot be used any more; told at the end of progress(). May be called from anywhere. */
void gsh_ucx_break(struct gsh_ucx_peer *peer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For the reason that UCX gives. */
void gsh_ucx_break_for(struct gsh_ucx_peer *peer, ucs_status_t status);

#endif
