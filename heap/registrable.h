/* SPDX-License-Identifier: Apache-2.0
 * Memory of a process, outside any heap, that can be registered with a heap in place: for programs
 * that allocate memory before there is a heap. Independent of any PE. */
#ifndef GSH_REGISTRABLE_H
#define GSH_REGISTRABLE_H

#include "heap/memory.h"

/* Any thread, for all of these. options: of the memory; its devices are copied. bytes: any number.
 * Failures are kept by gsh_note. */
GSH_CHECK_RESULT enum gsh_result gsh_registrable_alloc(const struct gsh_memory_ops *ops,
                                                       const struct gsh_memory_options *options,
                                                       uint64_t bytes, void **out);
/* Frees the memory that begins at ptr. Heaps with which it is registered keep their part of it.
 * GSH_ERR_ARG: none begins there. */
GSH_CHECK_RESULT enum gsh_result gsh_registrable_free(void *ptr);
/* For host memory: a descriptor, which the caller closes, of the file that holds all of [addr, addr
 * + bytes), from *at on; -1: not such memory. */
int gsh_registrable_fd(uint64_t addr, uint64_t bytes, uint64_t *at);

#endif
