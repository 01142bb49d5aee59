/* SPDX-License-Identifier: Apache-2.0
 * Failures at far PEs: reported once, in one line that names the peer and the operation. After that
 * the proxy does nothing more. Losses of single peers that it outlives are loss.h's. */
#ifndef GSH_FAILURE_H
#define GSH_FAILURE_H

#include "proxy/engine/state.h"

/* The first time, everything stops and options.fail is called. reason NULL: what the transport said
 * about the peer, else this thread's last error. */
void gsh_engine_fail(struct gsh_proxy *proxy, int pe, enum gsh_result r, const char *operation,
                     const char *reason);
/* The same, naming the task's operation and its symmetric address. */
void gsh_task_fail(struct gsh_task *task, enum gsh_result r, const char *reason);
/* The peer has sent what no PE sends: it is lost, or the proxy fails. */
void gsh_engine_refuse(struct gsh_proxy *proxy, int pe, const char *operation, const char *reason);
/* Reports a lost peer that no operation has reported. */
void gsh_engine_report_lost(struct gsh_proxy *proxy);
void gsh_engine_lost(void *context, int pe, bool is_silent, const char *reason);

#endif
