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
/* Finds the routes to the PEs of the node. near: their attributes, by their places on it, of
 * devices of one kind, or NULL where reaches_node holds. */
void gsh_topology_look(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                       const struct gsh_device_attr *near);
/* What this PE contributes to the sum, on several nodes, where near are the n_near attributes of
 * its node. Looks, unless one of these has failed, or is of another kind. */
void gsh_topology_add_own(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                          const struct gsh_device_attr *near, int n_near,
                          struct gsh_device_sum *sum);
/* Folds two sums. */
void gsh_topology_fold(void *into, const void *from);
/* Once all devices are known to be compatible, and this PE has looked. Not collective on the CPU
 * device; fills the peers' device fields and domains, slots, and the stride of the heap; makes the
 * proxy if a PE turns out to be far only now. sum: of all; on one node its flags and digests do not
 * count. */
GSH_CHECK_RESULT enum gsh_result gsh_topology_decide(struct gsh_instance *pe,
                                                     const struct gsh_device_attr *mine,
                                                     const struct gsh_device_sum *sum,
                                                     uint64_t *stride_bytes);

#endif
