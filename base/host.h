/* SPDX-License-Identifier: Apache-2.0
 * The host of this process, as other processes of its job tell it from theirs. */
#ifndef GSH_HOST_H
#define GSH_HOST_H

#include <stdint.h>

/* Equal on processes that can pass descriptors and map each other's memory: those of one kernel and
 * one network namespace, to which abstract sockets belong. 0: the system does not say, so no other
 * process may count as one of the host. Any thread. */
uint64_t gsh_host_id(void);

#endif
