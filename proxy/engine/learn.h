/* SPDX-License-Identifier: Apache-2.0
 * Far PEs are learned late: when the transport first needs the address of one, the engine looks up
 * that address, and when it needs a region, the PE's key of it (options.look_up). Of a PE that is
 * never talked to neither the engine nor the transport keeps anything, nor of a region that is not
 * used. The list of regions is the same for all PEs. All of this is under the proxy's lock. */
#ifndef GSH_ENGINE_LEARN_H
#define GSH_ENGINE_LEARN_H

#include "proxy/engine/state.h"

/* For gsh_transport_events. */
enum gsh_result gsh_learn_peer(void *context, int pe);
enum gsh_result gsh_learn_region(void *context, int pe, uint64_t off);
/* See proxy.h. */
GSH_CHECK_RESULT enum gsh_result gsh_learn_add_region(struct gsh_proxy *proxy, uint64_t off,
                                                      uint64_t bytes);
void gsh_learn_remove_region(struct gsh_proxy *proxy, uint64_t off);
void gsh_learn_finish(struct gsh_proxy *proxy);

#endif
