/* SPDX-License-Identifier: Apache-2.0
 * The calling CUDA thread: the variables of cpu.h. */
#ifndef GSH_THREAD_H
#define GSH_THREAD_H

#include "cpu.h"

/* The calling CUDA thread; in host code ends the process and names the call. */
struct gsh_cpu_thread *gsh_need_thread(const char *what);

#endif
