/* SPDX-License-Identifier: Apache-2.0
 * Launches for a communicator. */
#include "dialects/nccl/comm/launch.h"

#include <string.h>
#include "base/array.h"
#include "gshmemx.h"
#include "runtime/layer.h"

const struct gsh_nccl_kernels *gsh_nccl_kernels(void)
{
#if GSH_NCCL_HAVE_CUDA
    return strcmp(gshmemx_device_name(), "cpu") == 0 ? &gsh_nccl_kernels_cpu
                                                     : &gsh_nccl_kernels_cuda;
#else
    return &gsh_nccl_kernels_cpu;
#endif
}

const struct gsh_nccl_stream_ops *gsh_nccl_stream_ops(void)
{
#if GSH_NCCL_HAVE_CUDA
    if (gsh_nccl_kernels() != &gsh_nccl_kernels_cpu) {
        return &gsh_nccl_stream_ops_cuda;
    }
#endif
    return &gsh_nccl_stream_ops_cpu;
}

ncclResult_t gsh_nccl_prepare(const char *call)
{
    int error = gsh_nccl_kernels()->prepare();
    if (error == 0) {
        error = gsh_nccl_stream_ops()->prepare();
    }
    return error == 0 ? ncclSuccess
                      : gsh_nccl_fail(ncclUnhandledCudaError,
                                      "%s: CUDA cannot load the kernels: error %d", call, error);
}

ncclResult_t gsh_nccl_launched(const char *call, int error)
{
    if (error == GSH_NCCL_NO_STREAM) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: the stream does not exist, or has been destroyed", call);
    }
    return error == 0 ? ncclSuccess
                      : gsh_nccl_fail(ncclUnhandledCudaError, "%s: CUDA refused a launch: error %d",
                                      call, error);
}

/* Found once: a communicator's PE stays on its device. */
static const struct gsh_nccl_stream_ops *ops_of(struct ncclComm *comm)
{
    if (comm->stream_ops == NULL) {
        comm->stream_ops = gsh_nccl_stream_ops();
    }
    return comm->stream_ops;
}

ncclResult_t gsh_nccl_enter_stream(const char *call, struct ncclComm *comm, cudaStream_t stream)
{
    return gsh_nccl_launched(call, ops_of(comm)->enter(&comm->chain, stream));
}

void gsh_nccl_leave_stream(struct ncclComm *comm)
{
    if (comm->chain.is_open) {
        (void)ops_of(comm)->leave(&comm->chain);
    }
}

/* ---- several streams ---- */

bool gsh_nccl_streams_add(struct gsh_nccl_streams *streams, cudaStream_t stream)
{
    for (size_t i = streams->n; i > 0; i--) {
        if (streams->all[i - 1] == stream) {
            return true;
        }
    }
    if (!gsh_array_reserve(&streams->all, &streams->room, streams->n + 1, sizeof(*streams->all))) {
        return false;
    }
    streams->all[streams->n++] = stream;
    return true;
}

/* The stream of the communicator's latest call, if it is among them. */
static cudaStream_t main_stream(const struct ncclComm *comm, const struct gsh_nccl_streams *streams)
{
    for (size_t i = 0; i < streams->n; i++) {
        if (comm->chain.has_stream && comm->chain.stream == streams->all[i]) {
            return streams->all[i];
        }
    }
    return streams->all[0];
}

/* The other streams' work comes first, or waits for the main stream's from now on. */
static int join_others(const struct gsh_nccl_streams *streams, cudaStream_t main, bool come_first)
{
    int error = 0;
    for (size_t i = 0; i < streams->n && error == 0; i++) {
        cudaStream_t other = streams->all[i];
        if (other != main) {
            error =
                gsh_nccl_stream_ops()->join(come_first ? other : main, come_first ? main : other);
        }
    }
    return error;
}

ncclResult_t gsh_nccl_streams_join(const char *call, struct ncclComm *comm,
                                   const struct gsh_nccl_streams *streams, cudaStream_t *stream)
{
    if (streams->n > 1 && !gsh_nccl_stream_ops()->is_one_capture(streams->all, streams->n)) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: the streams of a group are captured into one graph, or none is",
                             call);
    }
    *stream = main_stream(comm, streams);
    ncclResult_t r = gsh_nccl_enter_stream(call, comm, *stream);
    return r == ncclSuccess ? gsh_nccl_launched(call, join_others(streams, *stream, true)) : r;
}

int gsh_nccl_streams_part(const struct gsh_nccl_streams *streams, cudaStream_t stream)
{
    return join_others(streams, stream, false);
}
