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
/* Reductions of 8-bit floating-point numbers, as the public calls on a stream are of other types:
 * in float, rounded as gshmem/float8.h has it. */
enum gshmemx_layer_float8 { GSHMEMX_LAYER_E4M3, GSHMEMX_LAYER_E5M2 };
enum gshmemx_layer_op {
    GSHMEMX_LAYER_SUM,
    GSHMEMX_LAYER_PROD,
    GSHMEMX_LAYER_MAX,
    GSHMEMX_LAYER_MIN
};
int gshmemx_layer_reduce_on_stream(enum gshmemx_layer_float8 type, enum gshmemx_layer_op op,
                                   gshmem_team_t team, void *dest, const void *source,
                                   size_t nreduce, gshmemx_stream_t stream);
int gshmemx_layer_reducescatter_on_stream(enum gshmemx_layer_float8 type, enum gshmemx_layer_op op,
                                          gshmem_team_t team, void *dest, const void *source,
                                          size_t nreduce, gshmemx_stream_t stream);
/* Waits until this PE's device has done all that its streams were given. */
void gshmemx_layer_synchronize(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
