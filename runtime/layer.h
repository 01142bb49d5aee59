/* SPDX-License-Identifier: Apache-2.0
 * What the dialects ask of the runtime besides the public API; not for users' programs. Each call
 * is about the calling thread's PE, after device set-up. */
#ifndef GSH_LAYER_H
#define GSH_LAYER_H

#include <stddef.h>
#include "gshmem/types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct gsh_state;

/* The state that kernels of this PE work on (device/state.h), in host memory; *bytes: its size. It
 * lives, unchanged, until finalize. A copy that kernels can read serves as theirs. */
const struct gsh_state *gshmemx_layer_state(size_t *bytes);
/* The CUDA device that this PE's kernels run on, by its number in this process; -1: the CPU device.
 */
int gshmemx_layer_cuda_device(void);
/* Waits until this PE's device has done all that its streams were given. */
void gshmemx_layer_synchronize(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
