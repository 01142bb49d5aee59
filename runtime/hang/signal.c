/* SPDX-License-Identifier: Apache-2.0
 * See signal.h. */
#include "runtime/hang/signal.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static int taken;                           /* the signal; 0: none */
static volatile sig_atomic_t write_fd = -1; /* the handler's */

static void on_signal(int signal)
{
    const uint64_t one = 1;
    int saved_errno = errno, fd = write_fd;
    (void)signal;
    if (fd >= 0) {
        (void)!write(fd, &one, sizeof(one));
    }
    errno = saved_errno;
}

static int number_of(const char *name)
{
    return strcmp(name, "usr1") == 0   ? SIGUSR1
           : strcmp(name, "usr2") == 0 ? SIGUSR2
           : strcmp(name, "quit") == 0 ? SIGQUIT
                                       : 0;
}

void gsh_hang_signal_take(const char *name, int fd)
{
    struct sigaction now, ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    int number = number_of(name);
    if (number == 0 || sigaction(number, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 ||
        now.sa_handler != SIG_DFL) {
        return;
    }
    write_fd = fd;
    sigemptyset(&ours.sa_mask);
    taken = sigaction(number, &ours, NULL) == 0 ? number : 0;
}

void gsh_hang_signal_give_back(void)
{
    struct sigaction now, plain = {.sa_handler = SIG_DFL};
    if (taken != 0 && sigaction(taken, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
        now.sa_handler == on_signal) {
        sigaction(taken, &plain, NULL);
    }
    taken = 0;
    write_fd = -1;
}
