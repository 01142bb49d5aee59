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

/* Work of comm is about to go on the stream: its work on other streams comes first. Fails if there
 * is no such stream: the base's calls would end the job. */
ncclResult_t gsh_nccl_enter_stream(const char *call, struct ncclComm *comm, cudaStream_t stream);
/* For a launch that carries out calls on several streams. add: false: no memory. join: enters one
 * of them, *stream, and orders the earlier work of the others before what follows on it; fails if
 * only some of them are captured. part: later work of the others comes after the launch. */
bool gsh_nccl_streams_add(struct gsh_nccl_streams *streams, cudaStream_t stream);
ncclResult_t gsh_nccl_streams_join(const char *call, struct ncclComm *comm,
                                   const struct gsh_nccl_streams *streams, cudaStream_t *stream);
int gsh_nccl_streams_part(const struct gsh_nccl_streams *streams, cudaStream_t stream);
/* The work has been enqueued. Does nothing after a call that enqueued none. */
void gsh_nccl_leave_stream(struct ncclComm *comm);

#endif
