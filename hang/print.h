/* SPDX-License-Identifier: Apache-2.0
 * A job's report, for people and for programs; docs/guide/hangs.md describes both. */
#ifndef GSH_HANG_PRINT_H
#define GSH_HANG_PRINT_H

#include <stdio.h>
#include "hang/record.h"

void gsh_hang_print_text(FILE *out, const struct gsh_hang_job *job);
/* The same in one piece, for one write; the caller frees it. NULL: no memory. */
char *gsh_hang_text(const struct gsh_hang_job *job);
/* One line. */
void gsh_hang_print_json(FILE *out, const struct gsh_hang_job *job);
/* Likewise: a process of some job does not answer, nor does any other. */
void gsh_hang_print_silence_json(FILE *out, int os_pid);

#endif
