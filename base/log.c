/* SPDX-License-Identifier: Apache-2.0
 * The one sink of messages. Knows levels, subsystems and the calling thread's PE; callers decide
 * what to report. */
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "base/util.h"

#define MAX_LINKS 40 /* one after another, as many as the system follows */

/* Written once under the mutex, read without it: hence the relaxed atomic accesses. The words are
 * independent, so no order between them is needed. */
static pthread_mutex_t setup_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_set_up;
static int current_level = GSH_LOG_WARN;
static unsigned current_mask = GSH_LOG_ALL;
static int current_fd = STDERR_FILENO;
static const char *call_prefix; /* NULL: calls have their own names */

static _Thread_local int current_pe = -1;

static void append(char *out, size_t size, size_t *used, const char *text)
{
    size_t n = gsh_min_u64(strlen(text), size - 1 - *used);
    memcpy(out + *used, text, n);
    *used += n;
    out[*used] = '\0';
}

/* Writes pattern to out with %h and %p filled in. */
static void expand_path(const char *pattern, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const char *p = pattern; *p; p++) {
        char piece[256] = {*p, '\0'};
        if (p[0] == '%' && p[1] == 'h') {
            if (gethostname(piece, sizeof(piece) - 1) != 0) {
                strcpy(piece, "host");
            }
            p++;
        } else if (p[0] == '%' && p[1] == 'p') {
            snprintf(piece, sizeof(piece), "%d", (int)getpid());
            p++;
        }
        append(out, size, &used, piece);
    }
}

/* The file that the link at path names, if the link is of root (/dev/stderr) or of this user, in
 * path. What is looked at is what is followed: the name may lead elsewhere by then. In /proc, where
 * nobody else can make links, they lead to what has no name: *is_final. False: not to be followed;
 * errno says why. */
static bool follow_link(char path[PATH_MAX], bool *is_final)
{
    char target[PATH_MAX];
    struct stat link;
    struct statfs system;
    ssize_t n = -1;
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool is_ours = fstat(fd, &link) == 0 && fstatfs(fd, &system) == 0 &&
                   (link.st_uid == geteuid() || link.st_uid == 0);
    *is_final = is_ours && system.f_type == PROC_SUPER_MAGIC;
    if (is_ours && !*is_final) {
        n = readlinkat(fd, "", target, sizeof(target) - 1);
    }
    close(fd);
    const char *slash = strrchr(path, '/');
    size_t dir_bytes = n > 0 && target[0] != '/' && slash != NULL ? (size_t)(slash - path) + 1 : 0;
    if (n <= 0 || dir_bytes + (size_t)n >= PATH_MAX) {
        errno = ELOOP;
        return *is_final;
    }
    memcpy(path + dir_bytes, target, (size_t)n);
    path[dir_bytes + (size_t)n] = '\0';
    return true;
}

/* Its name can be predicted: in a folder that others may write to, it must not lead elsewhere. */
static int open_log(const char *name)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    char path[PATH_MAX];
    bool is_final = false;
    snprintf(path, sizeof(path), "%s", name);
    int fd = open(path, flags | O_NOFOLLOW, 0644);
    for (int i = 0; i < MAX_LINKS && fd < 0 && errno == ELOOP && follow_link(path, &is_final);
         i++) {
        fd = open(path, flags | (is_final ? 0 : O_NOFOLLOW), 0644);
    }
    return fd;
}

void gsh_log_setup(enum gsh_log_level level, unsigned subsys_mask, const char *path)
{
    int open_error = 0;
    char expanded[1024] = "";
    pthread_mutex_lock(&setup_mutex);
    if (!is_set_up) {
        is_set_up = true;
        if (path != NULL && path[0]) {
            expand_path(path, expanded, sizeof(expanded));
            int fd = open_log(expanded);
            if (fd < 0) {
                open_error = errno;
            } else {
                __atomic_store_n(&current_fd, fd, __ATOMIC_RELAXED);
            }
        }
        __atomic_store_n(&current_mask, subsys_mask, __ATOMIC_RELAXED);
        __atomic_store_n(&current_level, (int)level, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&setup_mutex);
    if (open_error) {
        errno = open_error;
        gsh_log(GSH_LOG_WARN, GSH_LOG_ALL, "GSHMEM_DEBUG_FILE=%s: cannot open (%m), using stderr",
                expanded);
    }
}

void gsh_log_set_pe(int pe)
{
    current_pe = pe;
}

bool gsh_log_enabled(enum gsh_log_level level, enum gsh_log_subsys subsys)
{
    if ((int)level > __atomic_load_n(&current_level, __ATOMIC_RELAXED)) {
        return false;
    }
    return level <= GSH_LOG_WARN || (__atomic_load_n(&current_mask, __ATOMIC_RELAXED) & subsys);
}

static void write_whole(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, text, bytes);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break; /* nowhere left to report it */
        }
        text += n;
        bytes -= (size_t)n;
    }
}

void gsh_log_set_prefix(const char *prefix)
{
    __atomic_store_n(&call_prefix, prefix, __ATOMIC_RELEASE); /* pairs with the acquire below */
}

/* Puts the prefix into the names of calls in line[from, used); returns the new length. */
static size_t rename_calls(char *line, size_t from, size_t used, size_t room, const char *prefix)
{
    static const char ours[] = "gshmem", only_ours[] = "gshmemx_run"; /* no dialect has it */
    const size_t n = sizeof(ours) - 1, bytes = strlen(prefix);
    for (size_t i = from; i + n < used; i++) {
        bool begins = i == 0 || (!isalnum((unsigned char)line[i - 1]) && line[i - 1] != '_');
        bool is_call = (line[i + n] == '_' || (line[i + n] == 'x' && line[i + n + 1] == '_')) &&
                       strncmp(line + i, only_ours, strlen(only_ours)) != 0;
        if (begins && is_call && strncmp(line + i, ours, n) == 0 && used - n + bytes < room) {
            memmove(line + i + bytes, line + i + n, used - i - n);
            memcpy(line + i, prefix, bytes);
            used = used - n + bytes;
            i += bytes;
        }
    }
    return used;
}

void gsh_log_rename(const char *text, char *out, size_t room)
{
    const char *prefix = __atomic_load_n(&call_prefix, __ATOMIC_ACQUIRE);
    snprintf(out, room, "%s", text);
    if (prefix != NULL) {
        out[rename_calls(out, 0, strlen(out), room - 1, prefix)] = '\0';
    }
}

void gsh_log(enum gsh_log_level level, enum gsh_log_subsys subsys, const char *format, ...)
{
    static const char *const level_names[] = {"", "error", "warning", "info", "trace"};
    if (level == GSH_LOG_NONE || !gsh_log_enabled(level, subsys)) {
        return;
    }
    int saved_errno = errno;
    char line[2048], pe_label[24] = "";
    if (current_pe >= 0) {
        snprintf(pe_label, sizeof(pe_label), "PE %d: ", current_pe);
    }
    size_t used =
        (size_t)snprintf(line, sizeof(line), "gshmem: %s%s: ", pe_label, level_names[level]);
    const size_t start = used;
    va_list args;
    va_start(args, format);
    errno = saved_errno; /* for %m */
    int n = vsnprintf(line + used, sizeof(line) - used, format, args);
    va_end(args);
    used += n < 0 ? 0 : gsh_min_u64((uint64_t)n, sizeof(line) - used - 2);
    const char *prefix = __atomic_load_n(&call_prefix, __ATOMIC_ACQUIRE);
    if (prefix != NULL) {
        line[used] = '\0';
        used = rename_calls(line, start, used, sizeof(line) - 2, prefix);
    }
    line[used++] = '\n';
    write_whole(__atomic_load_n(&current_fd, __ATOMIC_RELAXED), line, used);
    errno = saved_errno;
}
