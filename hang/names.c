/* SPDX-License-Identifier: Apache-2.0
 * See names.h. */
#include "hang/names.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LISTENER "gshmem-hang."
#define MARK     "gshmem-hang-job."

static socklen_t length(size_t n_chars)
{
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n_chars);
}

socklen_t gsh_hang_name_listener(struct sockaddr_un *at, uint64_t process, int os_pid)
{
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(at->sun_path + 1, sizeof(at->sun_path) - 1, LISTENER "%016" PRIx64 ".%d",
                     process, os_pid);
    return length((size_t)n);
}

socklen_t gsh_hang_name_mark(struct sockaddr_un *at, const struct gsh_hang_mark *m)
{
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(at->sun_path + 1, sizeof(at->sun_path) - 1,
                     MARK "%016" PRIx64 ".%d.%08" PRIx64 ".%d", m->process, m->os_pid, m->job,
                     m->launcher);
    return length((size_t)n);
}

bool gsh_hang_read_listener(const char *line, uint64_t *process, int *os_pid)
{
    const char *at = strstr(line, "@" LISTENER);
    return at != NULL && sscanf(at + 1, LISTENER "%16" SCNx64 ".%9d", process, os_pid) == 2;
}

bool gsh_hang_read_mark(const char *line, struct gsh_hang_mark *m)
{
    const char *at = strstr(line, "@" MARK);
    return at != NULL && sscanf(at + 1, MARK "%16" SCNx64 ".%9d.%16" SCNx64 ".%9d", &m->process,
                                &m->os_pid, &m->job, &m->launcher) == 4;
}
