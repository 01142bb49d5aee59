/* SPDX-License-Identifier: Apache-2.0
 * See gshmemrun_output.h. */
#define _GNU_SOURCE 1
#include "tools/gshmemrun_output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bootstrap/socket.h"

#define MARK "\001gshmemrun " /* and a number, and the line's end */

static bool has_lost_output;

bool gshmemrun_has_lost_output(void)
{
    return has_lost_output;
}

/* Of a process. Said once. */
static void lose_output(int fd)
{
    const char *why = strerror(errno);
    if (!has_lost_output) {
        has_lost_output = true; /* first: the line may be lost, too */
        gshmemrun_say("cannot write to %s, so output is lost: %s",
                      fd == STDOUT_FILENO ? "stdout" : "stderr", why);
    }
}

void gshmemrun_write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            (void)poll(&p, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            if (errno == EPIPE && fd <= STDERR_FILENO) {
                signal(SIGPIPE, SIG_DFL);
                raise(SIGPIPE);
            }
            if (fd <= STDERR_FILENO) {
                lose_output(fd);
            }
            return;
        } else if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
}

const char *gshmemrun_name = "gshmemrun";

void gshmemrun_say(const char *format, ...)
{
    char text[8192];
    va_list args;
    size_t used = (size_t)snprintf(text, sizeof(text), "%.32s: ", gshmemrun_name);
    va_start(args, format);
    vsnprintf(text + used, sizeof(text) - 1 - used, format, args);
    va_end(args);
    strcat(text, "\n");
    fputs(text, stderr); /* at once: others may print there */
}

void gshmemrun_send_mark(int mark)
{
    char line[sizeof(MARK) + 16];
    int n = snprintf(line, sizeof(line), MARK "%d\n", mark);
    gshmemrun_write_all(STDOUT_FILENO, line, (size_t)n);
}

/* The number of the mark whose digits begin here; false: there is no such mark. Looks at nothing
 * from the end on, which must be the end of a line. */
static bool read_mark(const char *at, const char *end, int *mark)
{
    bool is_negative = at < end && *at == '-';
    int number = 0;
    at += is_negative;
    if (at == end || end - at > 3) {
        return false;
    }
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') {
            return false;
        }
        number = 10 * number + (*at - '0');
    }
    *mark = is_negative ? -number : number;
    return true;
}

/* Removes the marks from the lines; returns how many bytes remain. */
static size_t take_marks(struct gshmemrun_stream *s, char *lines, size_t bytes)
{
    char *mark, *end, *from = lines;
    while ((mark = memmem(from, (size_t)(lines + bytes - from), MARK, strlen(MARK))) != NULL &&
           (end = memchr(mark, '\n', (size_t)(lines + bytes - mark))) != NULL) {
        from = end + 1;
        if (read_mark(mark + strlen(MARK), end, &s->mark)) {
            memmove(mark, from, (size_t)(lines + bytes - from));
            bytes -= (size_t)(from - mark);
            from = mark;
        }
    }
    return bytes;
}

/* Forwards whole lines; each gets its tag. */
static void hand_on(struct gshmemrun_stream *s, char *lines, size_t bytes)
{
    if (s->takes_marks) {
        bytes = take_marks(s, lines, bytes);
    }
    char tag[16] = "";
    if (s->tag >= 0) {
        snprintf(tag, sizeof(tag), "[%d] ", s->tag);
    }
    size_t tag_bytes = strlen(tag);
    for (size_t at = 0; at < bytes && tag_bytes > 0;) {
        static char out[GSHMEMRUN_LINE_BYTES + 16]; /* the stack may be small */
        const char *end = memchr(lines + at, '\n', bytes - at);
        size_t n = end != NULL ? (size_t)(end - lines) + 1 - at : bytes - at;
        /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): its length goes with it */
        memcpy(out, tag, tag_bytes);
        memcpy(out + tag_bytes, lines + at, n);
        gshmemrun_write_all(s->to, out, tag_bytes + n);
        at += n;
    }
    if (tag_bytes == 0) {
        gshmemrun_write_all(s->to, lines, bytes);
    }
}

/* All streams read into this one: few have a line that has begun, and need memory of their own. */
static char buffer[GSHMEMRUN_LINE_BYTES];

static void put_rest(struct gshmemrun_stream *s)
{
    if (s->rest_bytes > 0) {
        memcpy(buffer, s->rest, s->rest_bytes);
    }
    free(s->rest);
    s->rest = NULL;
}

static void keep_rest(struct gshmemrun_stream *s, char *from, size_t bytes)
{
    s->rest = bytes > 0 ? malloc(bytes) : NULL;
    if (bytes > 0 && s->rest == NULL) {
        hand_on(s, from, bytes); /* no memory: in two parts */
        bytes = 0;
    }
    if (bytes > 0) {
        memcpy(s->rest, from, bytes);
    }
    s->rest_bytes = bytes;
}

static void end_stream(struct gshmemrun_stream *s)
{
    size_t used = s->rest_bytes;
    put_rest(s);
    if (used > 0 && used < GSHMEMRUN_LINE_BYTES) {
        buffer[used++] = '\n';
    }
    hand_on(s, buffer, used);
    s->rest_bytes = 0;
    gsh_socket_close(&s->fd);
}

void gshmemrun_read_stream(struct gshmemrun_stream *s)
{
    size_t used = s->rest_bytes;
    ssize_t n = read(s->fd, buffer + used, GSHMEMRUN_LINE_BYTES - used);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n <= 0) {
        end_stream(s);
        return;
    }
    put_rest(s);
    used += (size_t)n;
    size_t whole = used;
    while (whole > 0 && buffer[whole - 1] != '\n' && buffer[whole - 1] != '\r') {
        whole--;
    }
    if (whole == 0 && used == GSHMEMRUN_LINE_BYTES) {
        whole = used;
    }
    if (whole > 0) {
        hand_on(s, buffer, whole);
    }
    keep_rest(s, buffer + whole, used - whole);
}

void gshmemrun_drain_stream(struct gshmemrun_stream *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    while (s->fd >= 0 && poll(&p, 1, 0) > 0) {
        gshmemrun_read_stream(s);
    }
    if (s->fd >= 0) {
        end_stream(s);
    }
}
