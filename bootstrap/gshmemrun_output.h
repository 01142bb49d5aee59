/* SPDX-License-Identifier: Apache-2.0
 * Handing on what a process prints: by whole lines, each with its tag when asked. */
#ifndef GSH_GSHMEMRUN_OUTPUT_H
#define GSH_GSHMEMRUN_OUTPUT_H

#include <stddef.h>

#define GSHMEMRUN_LINE_BYTES 65536 /* a longer line is handed on in parts */

/* stdout or stderr of one process. */
struct gshmemrun_stream {
    int fd; /* -1: ended */
    int to;
    int tag; /* the PE's number before each line; -1: none */
    size_t used;
    char line[GSHMEMRUN_LINE_BYTES];
};

/* Waits until all is written. When nobody reads our own output any more it ends this process, as
 * that would end any program. */
void gshmemrun_write_all(int fd, const void *data, size_t bytes);

/* Reads once; whole lines go on (a carriage return ends one too: progress is shown with it). */
void gshmemrun_read_stream(struct gshmemrun_stream *s);
/* What an ended process left; another one it has left behind may hold the pipe open for ever. */
void gshmemrun_drain_stream(struct gshmemrun_stream *s);

#endif
