/* SPDX-License-Identifier: Apache-2.0
 * The program's host memory that is pinned for buffers of gshmemx_buffer_register: one table in a
 * process, since CUDA pins for all of its PEs. Any thread may call.
 *
 * CUDA refuses a copy that begins in one registration and ends outside it, and so each buffer lies
 * in one. It has just the buffer's bytes: CUDA refuses registrations that overlap, not those that
 * only share a page, whether they are another buffer's or the program's. Where the program has
 * pinned all of a buffer, nothing is done; its pin must stay while the buffer is registered. Where
 * it has pinned a part, the buffer is refused.
 *
 * Buffers overlap only if they are of different PEs. Those that do, directly or through others, are
 * in one registration, which is undone and made anew for what is left or added when one comes or
 * goes: for a moment they are not pinned. The same bytes once more change nothing. */
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
