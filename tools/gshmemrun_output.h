/* SPDX-License-Identifier: Apache-2.0
 * Handing on what a process prints: by whole lines, each with its tag when asked. A branch
 * (gshmemrun_hosts.h) tells its launcher of its start and its end among them, by marks. */
#ifndef GSH_GSHMEMRUN_OUTPUT_H
#define GSH_GSHMEMRUN_OUTPUT_H

#include <stddef.h>

#define GSHMEMRUN_LINE_BYTES 65536 /* a longer line is handed on in parts */

/* What a mark tells, besides the exit status at a branch's end. */
enum { GSHMEMRUN_NO_MARK = -2, GSHMEMRUN_STARTED = -1 };

/* stdout or stderr of one process. */
struct gshmemrun_stream {
    int fd; /* -1: ended */
    int to;
    int tag;  /* the PE's number before each line; -1: none */
    int mark; /* the last that came, which is not handed on */
    size_t used;
    char line[GSHMEMRUN_LINE_BYTES];
};

/* Waits until all is written. When nobody reads our own output any more it ends this process, as
 * that would end any program. */
void gshmemrun_write_all(int fd, const void *data, size_t bytes);

/* In a branch, on its stdout, between whole lines: GSHMEMRUN_STARTED or the exit status. An agent
 * need not hand on the status, or may start nothing; only this tells. */
void gshmemrun_send_mark(int mark);

/* Reads once; whole lines go on (a carriage return ends one too: progress is shown with it). */
void gshmemrun_read_stream(struct gshmemrun_stream *s);
/* What an ended process left; another one it has left behind may hold the pipe open for ever. */
void gshmemrun_drain_stream(struct gshmemrun_stream *s);

#endif
