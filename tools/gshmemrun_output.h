/* SPDX-License-Identifier: Apache-2.0
 * Forwards what a process prints: by whole lines, each with its tag if requested. A branch
 * (gshmemrun_hosts.h) reports its start and its end to its launcher by marks between the lines. */
#ifndef GSH_GSHMEMRUN_OUTPUT_H
#define GSH_GSHMEMRUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#define GSHMEMRUN_LINE_BYTES 65536 /* a longer line is forwarded in parts */

/* What a mark tells, besides the exit status at a branch's end. */
enum { GSHMEMRUN_NO_MARK = -2, GSHMEMRUN_STARTED = -1 };

/* stdout or stderr of one process. */
struct gshmemrun_stream {
    int fd; /* -1: ended */
    int to;
    int tag;          /* the PE's number before each line; -1: none */
    bool takes_marks; /* of a branch; they are not forwarded */
    int mark;         /* the last one received */
    char *rest;       /* [rest_bytes]: a line that has begun; NULL: none */
    size_t rest_bytes;
};

/* The command as the user knows it: gshmemrun, or oshrun, which calls gshmemrun. */
extern const char *gshmemrun_name;

/* One line on stderr, which begins with the command's name. */
void gshmemrun_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Waits until all is written. If our own output is no longer read it ends this process, as for any
 * program. */
void gshmemrun_write_all(int fd, const void *data, size_t bytes);
/* Some of what was for our stdout or stderr could not be written, which has been said. */
bool gshmemrun_has_lost_output(void);

/* In a branch, on its stdout, between whole lines: GSHMEMRUN_STARTED or the exit status. Needed
 * because an agent may not pass on the status, or may start nothing. */
void gshmemrun_send_mark(int mark);

/* Reads once; forwards whole lines (a carriage return ends one too: progress is shown with it). */
void gshmemrun_read_stream(struct gshmemrun_stream *s);
/* Reads what an ended process left. Does not wait for the end of the pipe: a process that it left
 * behind may hold that open for ever. */
void gshmemrun_drain_stream(struct gshmemrun_stream *s);

#endif
