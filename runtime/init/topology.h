/* SPDX-License-Identifier: Apache-2.0
 * Which PEs can load and store each other's heaps, and how. */
#ifndef GSH_TOPOLOGY_H
#define GSH_TOPOLOGY_H

#include "runtime/instance/device_ops.h"

/* This PE's attribute; its device has been chosen. */
GSH_CHECK_RESULT enum gsh_result gsh_topology_attr(struct gsh_instance *pe,
                                                   struct gsh_device_attr *attr);
/* Collective over the bootstrap; attributes[n_pes], the same on all. Checks that each PE has a
 * device, that they are compatible, and that no GPU has two PEs without permission. The same result
 * on all, but for a PE without a device: its own. */
GSH_CHECK_RESULT enum gsh_result gsh_topology_check(struct gsh_instance *pe,
                                                    struct gsh_bootstrap *b,
                                                    const struct gsh_device_attr *attrs);
/* Once that is GSH_OK. Not collective on the CPU device; fills the peers' device fields, domains
 * and routes, slots, and the stride of the heap; makes the proxy if a PE turns out to be far only
 * now. */
GSH_CHECK_RESULT enum gsh_result gsh_topology_decide(struct gsh_instance *pe,
                                                     const struct gsh_device_attr *attrs,
                                                     uint64_t *stride_bytes);

#endif
