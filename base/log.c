/* SPDX-License-Identifier: Apache-2.0
 * The one sink of messages. Knows levels, subsystems and the calling thread's PE; callers decide
 * what to report. */
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/log_file.h"
#include "base/log_json.h"
#include "base/util.h"

/* Written once under the mutex, read without it: hence the relaxed atomic accesses. The words are
 * independent, so no order between them is needed. */
static pthread_mutex_t setup_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_set_up;
static int current_level = GSH_LOG_WARN;
static unsigned current_mask = GSH_LOG_ALL;
static int current_fd = STDERR_FILENO;
static bool is_json;
static const char *pattern_of_pes; /* of a file for each PE; NULL: current_fd is for all */
static const char *call_prefix;    /* NULL: calls have their own names */

static _Thread_local int current_pe = -1;

static const char *const subsys_names[] = {"init", "bootstrap", "heap", "device",
                                           "rma",  "sync",      "proxy"};

const char *gsh_log_subsys_name(unsigned bit)
{
    for (unsigned i = 0; i < GSH_ARRAY_LEN(subsys_names); i++) {
        if (bit == 1u << i) {
            return subsys_names[i];
        }
    }
    return NULL;
}

static void warn_of_file(int error, const char *name)
{
    if (error != 0) {
        errno = error;
        gsh_log(GSH_LOG_WARN, GSH_LOG_ALL, "GSHMEM_LOG_FILE=%s: cannot open (%m), using stderr",
                name);
    }
}

void gsh_log_setup(enum gsh_log_level level, unsigned subsys_mask, const char *path)
{
    int open_error = 0;
    char name[1024] = "";
    pthread_mutex_lock(&setup_mutex);
    if (!is_set_up) {
        is_set_up = true;
        if (path != NULL && gsh_log_file_is_per_pe(path)) {
            /* release: pairs with the acquire in sink_fd */
            __atomic_store_n(&pattern_of_pes, strdup(path), __ATOMIC_RELEASE);
        } else if (path != NULL && path[0]) {
            int fd = gsh_log_file_open(path, -1, name, sizeof(name));
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
    warn_of_file(open_error, name);
}

void gsh_log_use_json(void)
{
    __atomic_store_n(&is_json, true, __ATOMIC_RELAXED);
}

/* The descriptor of that PE's file, which is opened at the PE's first line. */
static int open_for_pe(const char *pattern, int pe)
{
    static struct opened {
        int pe, fd;
    } * opened;
    static size_t n_opened, room;
    char name[1024] = "";
    int fd = -1, error = 0;
    pthread_mutex_lock(&setup_mutex);
    for (size_t i = 0; i < n_opened && fd < 0; i++) {
        fd = opened[i].pe == pe ? opened[i].fd : -1;
    }
    if (fd < 0 && gsh_array_reserve(&opened, &room, n_opened + 1, sizeof(*opened))) {
        fd = gsh_log_file_open(pattern, pe, name, sizeof(name));
        error = fd < 0 ? errno : 0;
        fd = fd < 0 ? STDERR_FILENO : fd;
        opened[n_opened++] = (struct opened){pe, fd};
    }
    pthread_mutex_unlock(&setup_mutex);
    warn_of_file(error, name);
    return fd < 0 ? STDERR_FILENO : fd;
}

static int sink_fd(void)
{
    static _Thread_local int known_pe = -1, known_fd;
    const char *pattern = __atomic_load_n(&pattern_of_pes, __ATOMIC_ACQUIRE);
    if (pattern == NULL) {
        return __atomic_load_n(&current_fd, __ATOMIC_RELAXED);
    }
    if (current_pe < 0) {
        return STDERR_FILENO;
    }
    if (known_pe != current_pe) {
        known_fd = open_for_pe(pattern, current_pe);
        known_pe = current_pe;
    }
    return known_fd;
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
        if (n <= 0 && fd != STDERR_FILENO) {
            fd = STDERR_FILENO; /* a full disk: the line may say why the job ends */
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

static void write_json(const char *level, unsigned subsys, const char *text, size_t bytes)
{
    char line[4096];
    const char *topic = gsh_log_subsys_name(subsys);
    size_t used = gsh_log_json(line, sizeof(line), current_pe, level, topic != NULL ? topic : "all",
                               text, bytes);
    write_whole(sink_fd(), line, used);
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
    if (__atomic_load_n(&is_json, __ATOMIC_RELAXED)) {
        write_json(level_names[level], subsys, line + start, used - start);
    } else {
        line[used++] = '\n';
        write_whole(sink_fd(), line, used);
    }
    errno = saved_errno;
}

void gsh_log_text(const char *text)
{
    if (!gsh_log_enabled(GSH_LOG_ERROR, GSH_LOG_ALL)) {
        return;
    }
    if (!__atomic_load_n(&is_json, __ATOMIC_RELAXED)) {
        write_whole(sink_fd(), text, strlen(text));
        return;
    }
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        write_json("error", GSH_LOG_ALL, text, n);
        text += n + (text[n] == '\n');
    }
}
