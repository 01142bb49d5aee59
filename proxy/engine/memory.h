/* SPDX-License-Identifier: Apache-2.0
 * Accesses this PE's memory on behalf of far PEs: directly if host code can, else through the
 * runtime's table. Complete on return; stage.h handles memory with copy streams. */
#ifndef GSH_MEMORY_H
#define GSH_MEMORY_H

#include "proxy/engine/state.h"

/* False: failed, and reported as a failure of PE pe's operation. The heap side goes through the
 * table, unless host code can access it. */
bool gsh_memory_in(struct gsh_proxy *proxy, void *heap_dest, const void *source, size_t bytes);
bool gsh_memory_out(struct gsh_proxy *proxy, void *dest, const void *heap_source, size_t bytes);
/* Elements between strided heap memory and a packed buffer. */
bool gsh_memory_scatter(struct gsh_proxy *proxy, void *heap_dest, int64_t stride,
                        const void *packed, uint64_t elem_bytes, uint64_t nelems);
bool gsh_memory_gather(struct gsh_proxy *proxy, void *packed, const void *heap_source,
                       int64_t stride, uint64_t elem_bytes, uint64_t nelems);
bool gsh_memory_amo(struct gsh_proxy *proxy, int amo_op, void *address, size_t word_bytes,
                    uint64_t operand, uint64_t cond, uint64_t *old);

#endif
