/* SPDX-License-Identifier: Apache-2.0
 * See private_fd.h. */
#include "base/private_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/array.h"

/* A thread holds it while it forks, so that the child gets the list as it is between two calls. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *fds; /* [n_fds] */
static size_t n_fds, room;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

/* Other threads of the process may have held any lock: only close. */
static void in_child(void)
{
    for (size_t i = 0; i < n_fds; i++) {
        close(fds[i]);
    }
    n_fds = 0;
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void follow_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, in_child);
}

void gsh_private_fd_add(int fd)
{
    pthread_mutex_lock(&lock);
    if (gsh_array_reserve(&fds, &room, n_fds + 1, sizeof(*fds))) {
        fds[n_fds++] = fd;
    }
    pthread_mutex_unlock(&lock);
}

void gsh_private_fd_close(int *fd)
{
    int saved = errno;
    if (*fd >= 0) {
        pthread_mutex_lock(&lock);
        size_t i = 0;
        while (i < n_fds && fds[i] != *fd) {
            i++;
        }
        if (i < n_fds) {
            fds[i] = fds[--n_fds];
        }
        close(*fd); /* under the lock: its number is not yet another's */
        pthread_mutex_unlock(&lock);
    }
    *fd = -1;
    errno = saved;
}

int gsh_private_fd_find_closed(void)
{
    int closed = -1;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_fds && closed < 0; i++) {
        closed = fcntl(fds[i], F_GETFD) < 0 ? fds[i] : -1;
    }
    pthread_mutex_unlock(&lock);
    return closed;
}
