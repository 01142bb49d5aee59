/* SPDX-License-Identifier: Apache-2.0
 * A message as a JSON object (RFC 8259) of one line. Its members, always all of them and in this
 * order:
 *   time       text: when the line was written, UTC, as 2026-01-31T23:59:59.123456Z
 *   host       text: the host's name
 *   pid, tid   numbers: the process's and the thread's, as Linux counts them
 *   pe         number: the PE that the thread acts for; null: it has none
 *   level      text: error, warning, info or trace
 *   subsystem  text: init, bootstrap, heap, device, rma, sync or proxy; all: none in particular
 *   message    text: what the text format has after the level. A byte that is not UTF-8 is U+FFFD,
 *              and what is longer than a line has room for is cut */
#ifndef GSH_LOG_JSON_H
#define GSH_LOG_JSON_H

#include <stddef.h>

/* Writes the object and a line feed to out, and returns its length, which is below size; size is
 * at least 1024. pe: -1: none. */
size_t gsh_log_json(char *out, size_t size, int pe, const char *level, const char *subsystem,
                    const char *message, size_t bytes);

#endif
