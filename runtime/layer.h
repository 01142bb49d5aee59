/* SPDX-License-Identifier: Apache-2.0
 * What the dialects ask of the runtime besides the public API; not for users' programs. A call
 * without a PE among its arguments is about the calling thread's, after device set-up, unless it
 * says otherwise. `call` is what messages call it; a failure is printed, and gshmemx_error_string
 * has its words. */
#ifndef GSH_LAYER_H
#define GSH_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gshmem/types.h"
#include "gshmemx.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct gsh_state;

/* ---- PEs beside the calling thread's own ---- */

/* As gshmemx_init_attr, but the calling thread goes on to speak for whom it spoke before: the new
 * PE is *pe, for the calls below. device: number of the CUDA device it takes, or -1 for init's own
 * choice. Collective as init is, so PEs of one job need a thread each. */
int gshmemx_layer_init(unsigned flags, const gshmemx_init_attr_t *attr, int device, void **pe);
/* Ends it, in whatever thread, when no thread speaks for it any more; collective as finalize. */
void gshmemx_layer_finalize(void *pe);
/* Nobody will use the id. If this process has made it, what serves it ends. Before init, too. */
void gshmemx_layer_drop_uniqueid(const gshmemx_uniqueid_t *id);
/* The calling thread's PE, or NULL. */
void *gshmemx_layer_pe(void);

/* Whom a thread spoke for, and which device was current. */
struct gshmemx_layer_turn {
    void *pe, *before;
    int state;
    bool entered;
    int device;
};
/* The calling thread speaks for pe, and pe's device is its current one, until it leaves. device: on
 * the CPU device, the number that cudaSetDevice knows it by. Turns nest. */
void gshmemx_layer_enter(void *pe, int device, struct gshmemx_layer_turn *turn);
void gshmemx_layer_leave(const struct gshmemx_layer_turn *turn);
/* The calling thread's current device, before or after init: CUDA's number of it, or on the CPU
 * device what cudaSetDevice was last given; -1: there is none. */
int gshmemx_layer_current_device(void);

/* Of the process: appends what the dialect knows of a word in pe's memory that was waited for in
 * vain, and of the PE that was to write it, or -1, to the line that says so: text is "" before, and
 * begins with a space. In any thread; it must not wait for others. */
void gshmemx_layer_explain_by(void (*explain)(void *pe, const void *address, int peer, char *text,
                                              size_t bytes));

/* ---- the calling thread's PE ---- */

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
/* This PE's kernels that wait, now or later, leave: their threads end in the midst of their
 * functions. The library's own ones too, for collectives on streams and for host calls, which then
 * return without a result. Streams drain as far as kernels wait in the library's calls alone; one
 * that has left has done any part of its work, and teams, locks and words that it worked on are of
 * no use. Meanwhile the PE does not hear that the job ends; if the process exits so, nobody says
 * that the PE has not been finalized, but its peers, who lose it. off: kernels wait again; after
 * gshmemx_layer_synchronize all that waited have left. By any thread. */
void gshmemx_layer_leave_kernels(bool on);
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
