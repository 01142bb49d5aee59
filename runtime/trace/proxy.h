/* SPDX-License-Identifier: Apache-2.0
 * What the proxy has done, for the timeline. */
#ifndef GSH_TRACE_PROXY_H
#define GSH_TRACE_PROXY_H

struct gsh_instance;
struct gsh_proxy_event;

/* gsh_proxy_options.observe, on any thread under the proxy's lock. Without a timeline it does
 * nothing. */
void gsh_trace_proxy_event(const struct gsh_instance *pe, const struct gsh_proxy_event *event);

#endif
