/* SPDX-License-Identifier: Apache-2.0
 * See limits.h. */
#define _GNU_SOURCE 1
#include "base/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The number in a file of one line; UINT64_MAX: there is none, as where it says "max". */
static uint64_t read_number(const char *path)
{
    uint64_t number = UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%" SCNu64, &number) != 1) {
            number = UINT64_MAX;
        }
        fclose(file);
    }
    return number;
}

struct least {
    uint64_t n;
    struct gsh_limits_text *what;
};

__attribute__((format(printf, 3, 4))) static void consider(struct least *least, uint64_t n,
                                                           const char *format, ...)
{
    va_list args;
    if (n < least->n) {
        least->n = n;
        va_start(args, format);
        vsnprintf(least->what->text, sizeof(least->what->text), format, args);
        va_end(args);
    }
}

/* The cgroup at base + path and those above it. */
static void consider_cgroups(struct least *least, const char *base, char *path)
{
    for (;;) {
        char file[PATH_MAX];
        snprintf(file, sizeof(file), "%s%s/pids.max", base, path);
        consider(least, read_number(file), "raise %.400s", file);
        char *end = strrchr(path, '/');
        if (end == NULL) {
            return;
        }
        *end = '\0';
    }
}

static void consider_own_cgroups(struct least *least)
{
    char line[PATH_MAX];
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *kind = strchr(line, ':'), *path = kind != NULL ? strchr(kind + 1, ':') : NULL;
        if (path == NULL) {
            continue;
        }
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (kind[1] == '\0') {
            consider_cgroups(least, "/sys/fs/cgroup", path);
        } else if (strcmp(kind + 1, "pids") == 0) {
            consider_cgroups(least, "/sys/fs/cgroup/pids", path);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

uint64_t gsh_limits_threads(struct gsh_limits_text *what)
{
    struct least least = {.n = UINT64_MAX, .what = what};
    struct rlimit limit;
    what->text[0] = '\0';
    /* the kernel does not apply it to root */
    if (getuid() != 0 && getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        consider(&least, (uint64_t)limit.rlim_cur, "raise ulimit -u");
    }
    consider_own_cgroups(&least);
    consider(&least, read_number("/proc/sys/kernel/threads-max"), "raise kernel.threads-max");
    consider(&least, read_number("/proc/sys/kernel/pid_max"), "raise kernel.pid_max");
    return least.n;
}

bool gsh_limits_have_threads(uint64_t n, char *text, size_t size)
{
    struct gsh_limits_text what;
    const uint64_t most = gsh_limits_threads(&what);
    if (n <= most) {
        return true;
    }
    snprintf(text, size,
             "%" PRIu64 " PEs on this host are more than the %" PRIu64
             " threads and processes that there may be: %s",
             n, most, what.text);
    return false;
}

bool gsh_limits_have_files(uint64_t n_pes, uint64_t n_files, char *text, size_t size)
{
    const uint64_t most = gsh_limits_files();
    if (n_files <= most) {
        return true;
    }
    snprintf(text, size,
             "%" PRIu64 " PEs on this host take at least %" PRIu64
             " open files of one process, and %" PRIu64 " are possible: raise ulimit -n",
             n_pes, n_files, most);
    return false;
}

const char *gsh_limits_hint(int error, struct gsh_limits_text *room)
{
    struct gsh_limits_text what;
    const uint64_t most = error == EAGAIN ? gsh_limits_threads(&what) : UINT64_MAX;
    room->text[0] = '\0';
    if (most != UINT64_MAX) {
        snprintf(room->text, sizeof(room->text),
                 " (of %" PRIu64 " threads that there may be: %.480s)", most, what.text);
    }
    return room->text;
}

uint64_t gsh_limits_files(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (uint64_t)limit.rlim_cur : UINT64_MAX;
}
