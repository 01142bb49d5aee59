/* SPDX-License-Identifier: Apache-2.0
 * Host memory of the program that is pinned for buffers of gshmemx_buffer_register. There is one
 * table in a process, because CUDA pins memory for all PEs of the process. Any thread may call.
 *
 * CUDA refuses a copy that begins in one registration and ends outside it, so each buffer lies in
 * one registration. The registration has exactly the buffer's bytes: CUDA refuses registrations
 * that overlap, whether another buffer's or the program's, but not those that only share a page. If
 * the program has pinned all of a buffer, nothing is done; that pin must stay while the buffer is
 * registered. If it has pinned only a part, the buffer is refused.
 *
 * Buffers overlap only if they belong to different PEs. Buffers that overlap, directly or through
 * others, share one registration. When one comes or goes, the registration is undone and made anew
 * for the present ones, so for a moment they are not pinned. Registering the same bytes once more
 * changes nothing. */
#ifndef GSH_CUDA_PINS_H
#define GSH_CUDA_PINS_H

#ifdef GSH_HAVE_CUDA

#include <stddef.h>
#include "base/cuda.h"

/* Pins a buffer; if the result is an error nothing has changed. A context is current.
 * CUDA_ERROR_INVALID_VALUE: no memory is there. CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED: the
 * program has pinned a part of it. */
CUresult gsh_cuda_pin_memory(const struct gsh_cuda *cuda, void *memory, size_t bytes);
/* Undoes one pin_memory of the same bytes; without one it does nothing. */
void gsh_cuda_unpin_memory(const struct gsh_cuda *cuda, void *memory, size_t bytes);

#endif
#endif
