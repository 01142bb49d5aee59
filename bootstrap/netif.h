/* SPDX-License-Identifier: Apache-2.0
 * Which of this machine's network addresses start-up listens at. */
#ifndef GSH_NETIF_H
#define GSH_NETIF_H

#include "bootstrap/socket.h"

/* ifname: a name or the beginning of one (a whole name is preferred), ^name to leave out those
 * that begin so, "" or NULL for any. family: "any" (IPv4 is preferred), "ipv4", "ipv6". Loopback is
 * taken when it is named or nothing else is left; IPv6 link-local addresses never, as they mean
 * nothing on another machine. The port of *out is 0. The choice is logged for `purpose`. */
GSH_CHECK_RESULT enum gsh_result gsh_netif_choose(const char *ifname, const char *family,
                                                  const char *purpose, struct gsh_address *out);

#endif
