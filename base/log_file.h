/* SPDX-License-Identifier: Apache-2.0
 * The files that messages go to (base/own_file.h). */
#ifndef GSH_LOG_FILE_H
#define GSH_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the pattern holds %r, so that each PE has a file of its own. */
bool gsh_log_file_is_per_pe(const char *pattern);

/* The first % of the pattern that begins none of %h, %p, %r and %%; NULL: there is none. */
const char *gsh_log_file_bad_token(const char *pattern);

/* Opens the file for appending, and creates it; name gets the pattern with %h (host name), %p
 * (process id), %r (pe) and %% filled in. -1: errno says why not. Any thread. */
int gsh_log_file_open(const char *pattern, int pe, char *name, size_t size);

#endif
