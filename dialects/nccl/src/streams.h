/* SPDX-License-Identifier: Apache-2.0
 * What this dialect needs of streams besides launches of its kernels: order between the streams on
 * which a communicator's calls are, and waits for signals. Compiled for the CPU device and, where
 * there is nvcc, for CUDA. Compiles as C17 and CUDA. */
#ifndef GSH_NCCL_STREAMS_H
#define GSH_NCCL_STREAMS_H

#include <stddef.h>
#include <stdint.h>
#include "gshmem/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gsh_state;

/* Waits until so many more signals have come: `awaited` counts what has been waited for in all, so
 * that a graph may be replayed. */
struct gsh_nccl_wait {
    const struct gsh_state *state;
    uint64_t *signal, *awaited; /* of one rank */
    uint64_t n;
    int32_t rank, pe;
};

/* The calls of a communicator so far. */
struct gsh_nccl_trail {
    gshmemx_stream_t stream; /* the latest call's */
    uint64_t capture;        /* the graph that this one's was captured into; 0: none */
    void *event;             /* what comes after the latest call; NULL: not recorded */
    int has_stream;
    int is_marked; /* each call is followed by the event from now on */
    int is_open;   /* entered and not left: only then is the stream sure to live, */
    int is_alive;  /* or where it was given together with the calls that come next */
};

/* A device's. They return 0 or an error of CUDA's. */
struct gsh_nccl_stream_ops {
    int (*wait)(const struct gsh_nccl_wait *args, gshmemx_stream_t stream);
    /* A call comes on the stream: what the trail has comes first, but where one of them is captured
     * into a graph that the other is not part of: order between graphs is the program's. *settle:
     * the host has to wait for the device, the first time that the stream changes, if the program
     * may have destroyed the stream before. */
    int (*enter)(struct gsh_nccl_trail *trail, gshmemx_stream_t stream, int *settle);
    /* The call has been enqueued. */
    int (*leave)(struct gsh_nccl_trail *trail);
    void (*end)(struct gsh_nccl_trail *trail);
    /* What `before` has been given comes before what `after` is given next. */
    int (*join)(gshmemx_stream_t before, gshmemx_stream_t after);
    /* All of them are captured into one graph, or none is. */
    int (*is_one_capture)(const gshmemx_stream_t *streams, size_t n);
    /* Whether the calling thread may make calls that are no stream's work while some stream is
     * captured; returns what was before, for the call that ends it. */
    int (*exchange_capture_mode)(int mode);
    int relaxed; /* the mode in which it may */
};
extern const struct gsh_nccl_stream_ops gsh_nccl_stream_ops_cpu;
extern const struct gsh_nccl_stream_ops gsh_nccl_stream_ops_cuda;

#ifdef __cplusplus
}
#endif

#endif
