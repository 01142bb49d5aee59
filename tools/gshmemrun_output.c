/* SPDX-License-Identifier: Apache-2.0
 * See gshmemrun_output.h. */
#define _GNU_SOURCE 1
#include "tools/gshmemrun_output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bootstrap/socket.h"

#define MARK "\001gshmemrun " /* and a number, and the line's end */

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
            return;
        } else if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
}

void gshmemrun_send_mark(int mark)
{
    char line[sizeof(MARK) + 16];
    int n = snprintf(line, sizeof(line), MARK "%d\n", mark);
    gshmemrun_write_all(STDOUT_FILENO, line, (size_t)n);
}

/* Removes the marks from the first `bytes` of the buffer; returns how many bytes remain. */
static size_t take_marks(struct gshmemrun_stream *s, size_t bytes)
{
    char *mark, *end;
    while ((mark = memmem(s->line, bytes, MARK, strlen(MARK))) != NULL &&
           (end = memchr(mark, '\n', (size_t)(s->line + bytes - mark))) != NULL) {
        s->mark = (int)strtol(mark + strlen(MARK), NULL, 10);
        end++;
        memmove(mark, end, (size_t)(s->line + s->used - end));
        s->used -= (size_t)(end - mark);
        bytes -= (size_t)(end - mark);
    }
    return bytes;
}

/* Forwards the first `bytes` of the buffer, which are whole lines; each gets its tag. */
static void hand_on(struct gshmemrun_stream *s, size_t bytes)
{
    bytes = take_marks(s, bytes);
    char tag[16] = "";
    if (s->tag >= 0) {
        snprintf(tag, sizeof(tag), "[%d] ", s->tag);
    }
    size_t tag_bytes = strlen(tag);
    for (size_t at = 0; at < bytes && tag_bytes > 0;) {
        char out[GSHMEMRUN_LINE_BYTES + 16];
        const char *end = memchr(s->line + at, '\n', bytes - at);
        size_t n = end != NULL ? (size_t)(end - s->line) + 1 - at : bytes - at;
        memcpy(out, tag, tag_bytes);
        memcpy(out + tag_bytes, s->line + at, n);
        gshmemrun_write_all(s->to, out, tag_bytes + n);
        at += n;
    }
    if (tag_bytes == 0) {
        gshmemrun_write_all(s->to, s->line, bytes);
    }
    memmove(s->line, s->line + bytes, s->used - bytes);
    s->used -= bytes;
}

static void end_stream(struct gshmemrun_stream *s)
{
    if (s->used > 0 && s->used < GSHMEMRUN_LINE_BYTES) {
        s->line[s->used++] = '\n';
    }
    hand_on(s, s->used);
    gsh_socket_close(&s->fd);
}

void gshmemrun_read_stream(struct gshmemrun_stream *s)
{
    ssize_t n = read(s->fd, s->line + s->used, GSHMEMRUN_LINE_BYTES - s->used);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (n <= 0) {
        end_stream(s);
        return;
    }
    s->used += (size_t)n;
    size_t whole = s->used;
    while (whole > 0 && s->line[whole - 1] != '\n' && s->line[whole - 1] != '\r') {
        whole--;
    }
    if (whole == 0 && s->used == GSHMEMRUN_LINE_BYTES) {
        whole = s->used;
    }
    if (whole > 0) {
        hand_on(s, whole);
    }
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
