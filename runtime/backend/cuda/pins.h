/* SPDX-License-Identifier: Apache-2.0
 * Pages of the program's host memory that are pinned for buffers of gshmemx_buffer_register: one
 * table in a process, since CUDA pins for all of its PEs. Any thread may call.
 *
 * A page is pinned by this table while a buffer has a byte on it, and only if CUDA did not know it
 * when its first buffer came: what the program has pinned itself is never touched. CUDA undoes
 * whole registrations only, so when a buffer goes whose page another one shares, the registration
 * is undone and the other's pages are pinned again: for a moment they are not. */
#ifndef GSH_CUDA_PINS_H
#define GSH_CUDA_PINS_H

#ifdef GSH_HAVE_CUDA

#include <stddef.h>
#include "runtime/base/cuda.h"

/* Pins the pages of a buffer; all of them or, if the result is an error, none. A context is
 * current. CUDA_ERROR_INVALID_VALUE: no memory is there. */
CUresult gsh_cuda_pin_pages(const struct gsh_cuda *cuda, void *memory, size_t bytes);
/* Undoes one pin_pages of the same memory; without one it does nothing. */
void gsh_cuda_unpin_pages(const struct gsh_cuda *cuda, void *memory, size_t bytes);

#endif
#endif
