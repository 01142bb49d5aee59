/* SPDX-License-Identifier: Apache-2.0
 * What this dialect needs of streams besides launching its kernels: order between the streams that
 * a communicator's calls use, and waits for signals. Compiled for the CPU device and, where there
 * is nvcc, for CUDA. Compiles as C17 and CUDA. */
#ifndef GSH_NCCL_STREAMS_H
#define GSH_NCCL_STREAMS_H

#include <stddef.h>
#include <stdint.h>
#include "gshmem/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gsh_state;

/* Waits until n more signals have arrived: `awaited` counts all that has been waited for, so a
 * graph may be replayed. */
struct gsh_nccl_wait {
    const struct gsh_state *state;
    uint64_t *signal, *awaited; /* of one rank */
    uint64_t n;
    int32_t rank, pe;
    uint32_t site; /* of the call in the program (runtime/layer.h), for reports; 0: not known */
};

/* The calls of a communicator so far. An event is recorded after each, at some 0.3 us: later the
 * program may have destroyed the stream, and what else the stream orders, such as the legacy
 * stream all blocking ones, is none of the communicator's. Waiting for other communicators' work
 * would deadlock ranks that make their calls in different orders. */
struct gsh_nccl_stream_chain {
    gshmemx_stream_t stream;   /* the latest call's outside graphs, */
    uint64_t id;               /* and of that stream, */
    int has_stream;            /* if there has been one */
    void *event;               /* follows that call, */
    int lost;                  /* but for this CUDA error: calls on other streams fail with it */
    gshmemx_stream_t captured; /* the latest captured call's */
    uint64_t capture;          /* the graph that it was captured into; 0: there has been none */
    int has_call;              /* of either kind, since the rank last waited for its work */
    int is_open;               /* entered and not left, by a call */
    int is_captured;           /* that is captured */
};

/* cudaErrorInvalidResourceHandle: what they return for a stream that does not exist. */
enum { GSH_NCCL_NO_STREAM = 400 };

/* The functions of a device. They return 0 or a CUDA error. */
struct gsh_nccl_stream_ops {
    int (*prepare)(void); /* as in args.h */
    int (*wait)(const struct gsh_nccl_wait *args, gshmemx_stream_t stream);
    /* A call is about to go onto the stream: orders it after the chain. It does not if one of the
     * two is captured into a graph of which the other is no part, since the program orders
     * graphs. */
    int (*enter)(struct gsh_nccl_stream_chain *chain, gshmemx_stream_t stream);
    /* The call has been enqueued. */
    int (*leave)(struct gsh_nccl_stream_chain *chain);
    /* Waits for the chain's calls and for nothing else. 0: it cannot, since a graph may run, or
     * CUDA has failed. */
    int (*await)(struct gsh_nccl_stream_chain *chain);
    void (*end)(struct gsh_nccl_stream_chain *chain);
    /* Orders earlier work on `before` ahead of later work on `after`. */
    int (*join)(gshmemx_stream_t before, gshmemx_stream_t after);
    /* Records the program's event. */
    int (*record)(void *event, gshmemx_stream_t stream);
    /* Whether all of them are captured into one graph, or none is. */
    int (*is_one_capture)(const gshmemx_stream_t *streams, size_t n);
    /* Sets whether the calling thread may make calls outside streams while some stream is captured;
     * returns the previous mode, to be restored by the next call. */
    int (*exchange_capture_mode)(int mode);
    int relaxed; /* the mode that allows it */
};
extern const struct gsh_nccl_stream_ops gsh_nccl_stream_ops_cpu;
extern const struct gsh_nccl_stream_ops gsh_nccl_stream_ops_cuda;

#ifdef __cplusplus
}
#endif

#endif
