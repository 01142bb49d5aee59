/* SPDX-License-Identifier: Apache-2.0
 * Changes to a heap's offset allocator (offset.h), by the one thread in a collective call: each
 * holds offset_lock exclusively, because other threads may query the allocator at the same time. */
#ifndef GSH_OFFSET_LOCKED_H
#define GSH_OFFSET_LOCKED_H

#include "heap/heap_impl.h"

/* As the functions of offset.h. grow and shrink: to the size of physical memory. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_offset_prepare(struct gsh_heap *heap, uint64_t size);
GSH_CHECK_RESULT enum gsh_result gsh_heap_offset_grow(struct gsh_heap *heap);
GSH_CHECK_RESULT enum gsh_result gsh_heap_offset_alloc(struct gsh_heap *heap, uint64_t bytes,
                                                       uint64_t align, uint64_t *off);
GSH_CHECK_RESULT enum gsh_result gsh_heap_offset_free(struct gsh_heap *heap, uint64_t off);
void gsh_heap_offset_shrink(struct gsh_heap *heap);

#endif
