/* SPDX-License-Identifier: Apache-2.0
 * What distinguishes the messages that the runtimes of two PEs exchange through the proxy. */
#ifndef GSH_MESSAGE_TAG_H
#define GSH_MESSAGE_TAG_H

#include <stdint.h>

/* Tags of messages: the user, an increasing number, and its round. */
enum gsh_net_user { GSH_NET_JOB = 1, GSH_NET_SYNC, GSH_NET_TEAM, GSH_NET_NIC };
#define GSH_NET_TAG(user, sequence, round) \
    ((uint64_t)(user) << 56 | ((uint64_t)(sequence)&0xffffffffffffu) << 8 | (uint64_t)(round))

#endif
