/* SPDX-License-Identifier: Apache-2.0
 * One message with at most one descriptor (SCM_RIGHTS), over a connection that uds.h has made.
 * Never waits. */
#ifndef GSH_DESCRIPTOR_H
#define GSH_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/result.h"

/* Sends the bytes, with the descriptor unless it is negative, which stays the caller's. *is_sent is
 * false when the receiver is full. GSH_ERR_PEER: it has gone. GSH_ERR_SYSTEM with errno. Neither
 * has a text. */
GSH_CHECK_RESULT enum gsh_result gsh_descriptor_send(int fd, const void *data, size_t bytes,
                                                     int descriptor, bool *is_sent);
/* Receives one message of *got bytes, cut to `room`; -1: none waits; 0: the connection has ended.
 * *descriptor: the first that came along, the caller's from now on; -1: none. GSH_ERR_SYSTEM with
 * errno, without a text. */
GSH_CHECK_RESULT enum gsh_result gsh_descriptor_receive(int fd, void *data, size_t room,
                                                        ssize_t *got, int *descriptor);

#endif
