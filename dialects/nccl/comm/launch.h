/* SPDX-License-Identifier: Apache-2.0
 * Launches for a communicator: the tables of its PE's device, and the order between the streams
 * that its calls use. */
#ifndef GSH_NCCL_LAUNCH_H
#define GSH_NCCL_LAUNCH_H

#include "dialects/nccl/comm/comm.h"

/* This dialect's kernels and stream operations, for the device of the calling thread's PE. */
const struct gsh_nccl_kernels *gsh_nccl_kernels(void);
const struct gsh_nccl_stream_ops *gsh_nccl_stream_ops(void);
/* Loads the layer's kernels: see kernels/args.h. */
ncclResult_t gsh_nccl_prepare(const char *call);
/* The result of one of their launches. */
ncclResult_t gsh_nccl_launched(const char *call, int error);

/* Called before work of comm goes onto the stream: orders it after comm's work on other streams. If
 * CUDA reports an error, the launch that follows returns it. */
void gsh_nccl_enter_stream(struct ncclComm *comm, cudaStream_t stream);
/* The work has been enqueued. Does nothing after a call that enqueued none. */
void gsh_nccl_leave_stream(struct ncclComm *comm);

#endif
