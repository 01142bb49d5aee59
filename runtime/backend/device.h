/* SPDX-License-Identifier: Apache-2.0
 * What the host side asks of a device: one table of functions, a CPU and a CUDA row. Front ends
 * (rma.c, amo.c, wait.c, stream.c) check arguments and form peer addresses; rows trust them.
 * Addresses are mapped addresses on this PE, so these calls are about near PEs, where nothing else
 * is said. "Host-initiated" calls are complete on return. */
#ifndef GSH_DEVICE_H
#define GSH_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "device/kernels.h"
#include "device/state.h"
#include "runtime/base/result.h"

struct gsh_instance;
struct gsh_lane_ops;
struct gsh_request;
struct gsh_team;
struct CUstream_st;
typedef struct CUstream_st *gsh_stream;

/* An integer type as waits compare it. */
struct gsh_word_kind {
    uint8_t bytes; /* 2, 4 or 8 */
    bool is_signed;
};

/* A put-with-signal's second half, or a signal alone. */
struct gsh_signal_arg {
    uint64_t *address; /* mapped; NULL: no signal */
    uint64_t value;
    int op; /* GSHMEM_SIGNAL_ */
};

/* What a wait on a stream waits for. */
struct gsh_wait_arg {
    void *ivars;
    size_t nelems;
    const int *status; /* device-readable or NULL */
    int cmp;
    struct gsh_word_kind kind;
    uint64_t value;     /* the bits, used when values is NULL */
    const void *values; /* device-readable, [nelems] */
    const char *call;   /* for the report */
};

struct gsh_device_ops {
    const char *name; /* "cpu" or "cuda" */

    /* Uploads the state block to every registered module. */
    enum gsh_result (*upload)(struct gsh_instance *pe, const struct gsh_state *state);
    /* Fills one module loaded through the driver (CUDA; CPU: unsupported). */
    enum gsh_result (*module_init)(struct gsh_instance *pe, void *module, bool is_library);
    void (*finish)(struct gsh_instance *pe);
    /* Makes page-aligned host memory accessible to this PE's kernels until it is unmapped; gives
     * the address they use. */
    enum gsh_result (*map_host)(struct gsh_instance *pe, void *memory, size_t bytes,
                                uint64_t *device_address);
    void (*unmap_host)(struct gsh_instance *pe, void *memory); /* also when it never was */

    /* host-initiated */
    enum gsh_result (*copy)(struct gsh_instance *pe, void *dest, const void *source, size_t bytes);
    /* Non-blocking: complete after quiet. */
    enum gsh_result (*copy_nbi)(struct gsh_instance *pe, void *dest, const void *source,
                                size_t bytes);
    /* Element i of elem_bytes from source + i * sst to dest + i * dst, strides in elements. */
    enum gsh_result (*copy_strided)(struct gsh_instance *pe, void *dest, const void *source,
                                    ptrdiff_t dst, ptrdiff_t sst, size_t elem_bytes, size_t nelems);
    /* p: one element of 1, 2, 4 or 8 bytes. It may be seen only after quiet. */
    enum gsh_result (*store)(struct gsh_instance *pe, void *dest, uint64_t bits, size_t bytes);
    /* Reads nelems consecutive elements into out. Each is read by one acquire load: pairs with any
     * signal's release. Works while the user's kernels fill the device. */
    enum gsh_result (*load)(struct gsh_instance *pe, const void *source, size_t elem_bytes,
                            size_t nelems, void *out);
    /* A word of 4 or 8 bytes; old may be NULL. Takes effect after this PE's earlier host-initiated
     * calls, non-blocking ones included, so it is also a put's signal. */
    enum gsh_result (*amo)(struct gsh_instance *pe, enum gsh_amo_op op, void *address, size_t bytes,
                           uint64_t operand, uint64_t cond, uint64_t *old);
    enum gsh_result (*quiet)(struct gsh_instance *pe); /* also serves fence */
    /* Waits for this PE's kernels and for all that its streams were given. */
    enum gsh_result (*synchronize)(struct gsh_instance *pe);

    /* As copy and amo, on this PE's own memory for far PEs, by the proxy: without waiting for what
     * host threads have asked. old is never NULL; after a set it is anything. */
    enum gsh_result (*proxy_copy)(struct gsh_instance *pe, void *dest, const void *source,
                                  size_t bytes);
    enum gsh_result (*proxy_amo)(struct gsh_instance *pe, enum gsh_amo_op op, void *address,
                                 size_t bytes, uint64_t operand, uint64_t cond, uint64_t *old);

    /* The same without waiting, until finish; its context is pe. NULL: the memory is the host's. */
    const struct gsh_lane_ops *proxy_lanes;

    /* on a stream */
    enum gsh_result (*stream_copy)(struct gsh_instance *pe, void *dest, const void *source,
                                   size_t bytes, struct gsh_signal_arg signal, gsh_stream stream);
    enum gsh_result (*stream_copy_strided)(struct gsh_instance *pe, void *dest, const void *source,
                                           ptrdiff_t dst, ptrdiff_t sst, size_t elem_bytes,
                                           size_t nelems, gsh_stream stream);
    enum gsh_result (*stream_store)(struct gsh_instance *pe, void *dest, uint64_t bits,
                                    size_t bytes, gsh_stream stream);
    enum gsh_result (*stream_wait)(struct gsh_instance *pe, const struct gsh_wait_arg *wait,
                                   gsh_stream stream);
    /* is_barrier: quiet first. */
    enum gsh_result (*stream_sync)(struct gsh_instance *pe, const struct gsh_team *team,
                                   bool is_barrier, gsh_stream stream);
    enum gsh_result (*stream_quiet)(struct gsh_instance *pe, gsh_stream stream);
    /* An operation on a far PE, in the stream's order: it takes its turn behind all that the stream
     * asked of that PE before, and a put is seen there before the stream goes on; a signal may
     * still be on its way. The request is copied; its local side is as the user gave it. */
    enum gsh_result (*stream_far)(struct gsh_instance *pe, const char *call,
                                  const struct gsh_request *request, gsh_stream stream);
    enum gsh_result (*stream_synchronize)(struct gsh_instance *pe, gsh_stream stream);
};

/* Fill pe->device and pe->device_ops, choose the device and make its context current. The
 * counterpart is device_ops->finish, which accepts a half-made device. */
GSH_CHECK_RESULT enum gsh_result gsh_device_cpu_init(struct gsh_instance *pe);
GSH_CHECK_RESULT enum gsh_result gsh_device_cuda_init(struct gsh_instance *pe);

#endif
