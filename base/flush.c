/* SPDX-License-Identifier: Apache-2.0
 * stdout before an _exit. */
#include "base/flush.h"

#include <poll.h>
#include <stdio.h>

void gsh_flush_stdout(void)
{
    struct pollfd p = {.fd = fileno(stdout), .events = POLLOUT};
    if (ftrylockfile(stdout) != 0) {
        return;
    }
    if (poll(&p, 1, 0) > 0 && (p.revents & POLLOUT) != 0) {
        fflush(stdout);
    }
    funlockfile(stdout);
}
