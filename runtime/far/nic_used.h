/* SPDX-License-Identifier: Apache-2.0
 * Which queues to NICs this PE's kernels have used, for the host: it looks at no other. A kernel
 * marks a queue at its first post, by a byte for the queue and one for its 64 neighbours; marks
 * stay. The host sees those of complete kernels. */
#ifndef GSH_NIC_USED_H
#define GSH_NIC_USED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"

struct gsh_instance;

struct gsh_nic_used {
    uint8_t *queues, *groups; /* in one piece of host memory, mapped for the device */
    size_t bytes;
    uint64_t device_queues, device_groups;
};

/* Of n queues. A failure is noted. */
GSH_CHECK_RESULT enum gsh_result gsh_nic_used_create(struct gsh_instance *pe, uint32_t n,
                                                     struct gsh_nic_used *out);
void gsh_nic_used_destroy(struct gsh_instance *pe, struct gsh_nic_used *used); /* accepts zeros */
/* Moves *queue to the first used one from there on. False: there is none before `end`. */
bool gsh_nic_used_next(const struct gsh_nic_used *used, uint32_t *queue, uint32_t end);

#endif
