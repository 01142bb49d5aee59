/* SPDX-License-Identifier: Apache-2.0
 * The abstract names by which askers find processes (record.h):
 *
 *   listener   one of each process that has PEs: it takes questions
 *   mark       one for each job of which the process has PEs: a socket that takes nothing. Its name
 * says whose process that is, so that who asks for one job disturbs no other
 *
 * Anybody may use such a name: the kernel tells an asker which user's listener has answered. */
#ifndef GSH_HANG_NAMES_H
#define GSH_HANG_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct gsh_hang_mark {
    uint64_t process;
    int os_pid; /* as the process itself counts */
    uint64_t job;
    int launcher; /* gshmemrun's; 0: none */
};

/* The length of the address. */
socklen_t gsh_hang_name_listener(struct sockaddr_un *at, uint64_t process, int os_pid);
socklen_t gsh_hang_name_mark(struct sockaddr_un *at, const struct gsh_hang_mark *mark);

/* Whether a line of /proc/net/unix has such a name. */
bool gsh_hang_read_listener(const char *line, uint64_t *process, int *os_pid);
bool gsh_hang_read_mark(const char *line, struct gsh_hang_mark *mark);

#endif
