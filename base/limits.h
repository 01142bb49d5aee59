/* SPDX-License-Identifier: Apache-2.0
 * Limits of the system that a job with many PEs meets, so that it is told of them before it begins,
 * with the number and what to change. */
#ifndef GSH_LIMITS_H
#define GSH_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The caller's: libraries that a program opens have little room for variables of each thread. */
struct gsh_limits_text {
    char text[576];
};

/* The most threads, all processes together, that this process and its children can have, as far as
 * is known; UINT64_MAX: no limit is. *what: what sets it, and how to raise it. A limit on the
 * user's threads counts those of other programs, too, so creation may fail at fewer. */
uint64_t gsh_limits_threads(struct gsh_limits_text *what);

/* True: n more may be possible. Else text has a line, without its end. */
bool gsh_limits_have_threads(uint64_t n, char *text, size_t size);

/* True: this process may have so many open files, which n PEs take together. Else text has a line,
 * without its end. */
bool gsh_limits_have_files(uint64_t n_pes, uint64_t n_files, char *text, size_t size);

/* What to add to a message of a thread or process that could not be created, by its error number:
 * the limit that is likely to be why, or "". Returns room's text. */
const char *gsh_limits_hint(int error, struct gsh_limits_text *room);

/* How many files this process may have open. */
uint64_t gsh_limits_files(void);

#endif
