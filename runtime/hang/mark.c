/* SPDX-License-Identifier: Apache-2.0
 * See mark.h. */
#include "runtime/hang/mark.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/log.h"
#include "base/private_fd.h"
#include "base/process.h"
#include "hang/names.h"
#include "runtime/hang/collect.h"
#include "runtime/instance/instance.h"

struct mark {
    uint64_t job;
    int n_pes;
    int fd; /* -1: there is none */
};

static struct mark *marks; /* [n_marks] */
static size_t n_marks, room;

static struct mark *find(uint64_t job)
{
    for (size_t i = 0; i < n_marks; i++) {
        if (marks[i].job == job) {
            return &marks[i];
        }
    }
    return NULL;
}

/* -1: none. */
static int open_mark(const struct gsh_instance *pe)
{
    struct sockaddr_un at;
    const struct gsh_hang_mark mark = {.process = gsh_process_id(),
                                       .os_pid = (int)getpid(),
                                       .job = gsh_hang_job_of(pe),
                                       .launcher = pe->env.launcher > 0 ? pe->env.launcher : 0};
    socklen_t bytes = gsh_hang_name_mark(&at, &mark);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, bytes) != 0) {
        gsh_private_fd_close(&fd);
    }
    if (fd >= 0) {
        gsh_private_fd_add(fd);
    } else {
        gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "the hang report of this job misses this process: %s",
                strerror(errno));
    }
    return fd;
}

void gsh_hang_mark_begin(const struct gsh_instance *pe)
{
    struct mark *mark = find(gsh_hang_job_of(pe));
    if (mark != NULL) {
        mark->n_pes++;
    } else if (gsh_array_reserve(&marks, &room, n_marks + 1, sizeof(*marks))) {
        marks[n_marks++] =
            (struct mark){.job = gsh_hang_job_of(pe), .n_pes = 1, .fd = open_mark(pe)};
    }
}

void gsh_hang_mark_end(const struct gsh_instance *pe)
{
    struct mark *mark = find(gsh_hang_job_of(pe));
    if (mark != NULL && --mark->n_pes == 0) {
        gsh_private_fd_close(&mark->fd);
        *mark = marks[--n_marks];
    }
}
