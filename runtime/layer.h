/* SPDX-License-Identifier: Apache-2.0
 * What the dialects ask of the runtime besides the public API; not for users' programs. Each call
 * is about the calling thread's PE, after device set-up, unless it says otherwise. `call` is what
 * messages call it; a failure is printed, and gshmemx_error_string has its words. */
#ifndef GSH_LAYER_H
#define GSH_LAYER_H

#include <stddef.h>
#include <stdint.h>
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

/* Whether the bytes lie in one allocation of the heap, or in memory that all PEs have registered:
 * then all PEs have them, at the same offset. No exchange. */
int gshmemx_layer_is_symmetric(const void *memory, size_t bytes);
/* Collective over the team: memory of the program's becomes symmetric for its members, at *alias on
 * this one; sizes are the same on all. On any failure all get an error, and nothing has changed. */
int gshmemx_layer_register(const char *call, gshmem_team_t team, void *memory, size_t bytes,
                           void **alias);
/* Collective over the team that registered it; no member uses it any more. */
int gshmemx_layer_unregister(const char *call, gshmem_team_t team, void *alias, size_t bytes);

/* Memory of this process that register takes as it is: of the device that init would choose, where
 * it has not yet run. Any thread, with or without a PE, for both. What a team has registered keeps
 * its part of what is freed. */
int gshmemx_layer_alloc(const char *call, size_t bytes, void **memory);
int gshmemx_layer_free(const char *call, void *memory);

/* One turn of a wait for PE `target` to make that call: backs off; ends the job when the time limit
 * has passed, or when it is ending. Zeroes at first. */
struct gshmemx_layer_wait {
    uint64_t start_ns;
    unsigned turn;
};
void gshmemx_layer_wait_turn(const char *call, int target, struct gshmemx_layer_wait *wait);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
