/* SPDX-License-Identifier: Apache-2.0
 * Reports of what a kernel does wrong, which name the kernel and the block. */
#ifndef GSH_CPU_REPORT_H
#define GSH_CPU_REPORT_H

#include "block_state.h"

/* Reports a broken promise by the running block; does not return. */
void gsh_block_fatal(struct gsh_cpu_block *block, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
/* Reports which threads wait where; does not return. */
void gsh_block_fatal_stuck(struct gsh_cpu_block *block) __attribute__((noreturn));
/* Whether a thread waits for one that has exited. */
bool gsh_block_is_stuck(const struct gsh_cpu_block *block);

#endif
