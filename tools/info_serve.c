/* SPDX-License-Identifier: Apache-2.0
 * See info_serve.h. One checker is served at a time; others wait in the kernel's queue. */
#include "tools/info_serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/process.h"
#include "hang/ask.h"
#include "hang/print.h"

#define BACKLOG    16
#define PATIENCE_S 1 /* with a checker that does not read */

static int fail(const char *path, const char *why)
{
    fprintf(stderr, "gshmem-info: cannot serve at %s: %s\n", path, why);
    return -1;
}

/* A socket that a server has left behind is replaced; nothing else is. */
static bool is_left_behind(const struct sockaddr_un *at)
{
    struct stat s;
    if (lstat(at->sun_path, &s) != 0 || !S_ISSOCK(s.st_mode) || s.st_uid != geteuid()) {
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is = fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) != 0 &&
              errno == ECONNREFUSED;
    if (fd >= 0) {
        close(fd);
    }
    return is;
}

/* The listener, which only this user can connect to; -1: it has been said why there is none. */
static int open_listener(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(at.sun_path)) {
        return fail(path, "the path is too long for a socket");
    }
    memcpy(at.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return fail(path, strerror(errno));
    }
    if (is_left_behind(&at)) {
        unlink(path);
    }
    const mode_t before = umask(0177);
    const bool is_bound = bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
    umask(before);
    if (is_bound && listen(fd, BACKLOG) == 0) {
        return fd;
    }
    (void)fail(path, errno == EADDRINUSE ? "there is something already" : strerror(errno));
    close(fd);
    return -1;
}

/* Root may connect to any socket, and may see everything. */
static bool may_see(int fd)
{
    return gsh_peer_is_of(fd, geteuid()) || gsh_peer_is_of(fd, 0);
}

static void write_reports(FILE *to)
{
    struct gsh_hang_jobs jobs = {0};
    if (!gsh_hang_ask(&jobs, 0, true)) {
        return;
    }
    for (int i = 0; i < jobs.n; i++) {
        gsh_hang_print_json(to, &jobs.job[i]);
    }
    if (jobs.n == 0 && jobs.silent.os_pid != 0) {
        gsh_hang_print_silence_json(to, jobs.silent.os_pid);
    }
    gsh_hang_jobs_free(&jobs);
}

static void answer(int listener)
{
    const struct timeval limit = {.tv_sec = PATIENCE_S};
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        return;
    }
    FILE *to = may_see(fd) && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0
                   ? fdopen(fd, "w")
                   : NULL;
    if (to == NULL) {
        close(fd);
        return;
    }
    write_reports(to);
    fclose(to);
}

int gsh_info_serve(int argc, char **argv)
{
    sigset_t ends;
    if (argc != 1 || argv[0][0] == '-') {
        fprintf(stderr, "usage: gshmem-info --serve PATH\n");
        return 2;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before threads of an asker, which inherit it */
    signal(SIGPIPE, SIG_IGN);
    int signals = signalfd(-1, &ends, SFD_CLOEXEC), listener = open_listener(argv[0]);
    if (signals < 0 || listener < 0) {
        return 1;
    }
    printf("gshmem-info: serves hang reports at %s\n", argv[0]);
    fflush(stdout);
    struct pollfd polls[] = {{.fd = listener, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    while (polls[1].revents == 0) {
        if (poll(polls, 2, -1) > 0 && polls[0].revents != 0 && polls[1].revents == 0) {
            answer(listener);
        }
    }
    unlink(argv[0]);
    return 0;
}
