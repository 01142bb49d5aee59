/* SPDX-License-Identifier: Apache-2.0
 * Launches for a communicator. */
#include "dialects/nccl/comm/launch.h"

#include <string.h>
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
    return error == 0 ? ncclSuccess
                      : gsh_nccl_fail(ncclUnhandledCudaError, "%s: CUDA refused a launch: error %d",
                                      call, error);
}

void gsh_nccl_enter_stream(struct ncclComm *comm, cudaStream_t stream)
{
    int settle = 0;
    /* an error comes back from the launch that follows */
    (void)gsh_nccl_stream_ops()->enter(&comm->chain, stream, &settle);
    if (settle) {
        gshmemx_layer_synchronize();
    }
}

void gsh_nccl_leave_stream(struct ncclComm *comm)
{
    if (comm->chain.is_open) {
        (void)gsh_nccl_stream_ops()->leave(&comm->chain);
    }
}
