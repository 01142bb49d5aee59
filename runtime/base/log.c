/* SPDX-License-Identifier: Apache-2.0
 * The one sink of messages. Knows levels, subsystems and the calling thread's PE; what is worth
 * saying is decided by the callers. */
#include "runtime/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "runtime/base/util.h"

/* Written once under the mutex; read without it, hence the relaxed atomic accesses. Each word
 * stands for itself, so no order between them is needed. */
static pthread_mutex_t setup_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_set_up;
static int current_level = GSH_LOG_WARN;
static unsigned current_mask = GSH_LOG_ALL;
static int current_fd = STDERR_FILENO;

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

void gsh_log_setup(enum gsh_log_level level, unsigned subsys_mask, const char *path)
{
    int open_error = 0;
    char expanded[1024] = "";
    pthread_mutex_lock(&setup_mutex);
    if (!is_set_up) {
        is_set_up = true;
        if (path != NULL && path[0]) {
            expand_path(path, expanded, sizeof(expanded));
            int fd = open(expanded, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
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
            break; /* nowhere left to complain to */
        }
        text += n;
        bytes -= (size_t)n;
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
    va_list args;
    va_start(args, format);
    errno = saved_errno; /* for %m */
    int n = vsnprintf(line + used, sizeof(line) - used, format, args);
    va_end(args);
    used += n < 0 ? 0 : gsh_min_u64((uint64_t)n, sizeof(line) - used - 2);
    line[used++] = '\n';
    write_whole(__atomic_load_n(&current_fd, __ATOMIC_RELAXED), line, used);
    errno = saved_errno;
}
