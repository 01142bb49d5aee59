/* SPDX-License-Identifier: Apache-2.0
 * One thread drives several GPUs: it makes a communicator for each at once, and groups its calls
 * for all of them, so that none waits for another. The same program runs without a GPU.
 *
 *     PROGRAM N    N ranks */
#include <cuda_runtime.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define NCCL(call)                                                      \
    do {                                                                \
        const ncclResult_t result_ = (call);                            \
        if (result_ != ncclSuccess) {                                   \
            fprintf(stderr, "%s: %s\n", #call, ncclGetLastError(NULL)); \
            return 1;                                                   \
        }                                                               \
    } while (0)
#define CUDA(call)                                  \
    do {                                            \
        if ((call) != cudaSuccess) {                \
            fprintf(stderr, "%s: failed\n", #call); \
            return 1;                               \
        }                                           \
    } while (0)

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 2, count = 1 << 16;
    std::vector<ncclComm_t> comms(n);
    std::vector<cudaStream_t> streams(n);
    std::vector<float *> in(n), out(n);
    std::vector<float> host(count);

    for (int i = 0; i < n; i++) {
        CUDA(cudaSetDevice(i));
        CUDA(cudaStreamCreate(&streams[i]));
        CUDA(cudaMalloc((void **)&in[i], count * sizeof(float)));
        CUDA(cudaMalloc((void **)&out[i], count * sizeof(float)));
        for (int k = 0; k < count; k++)
            host[k] = (float)(i + k % 7);
        CUDA(cudaMemcpy(in[i], host.data(), count * sizeof(float), cudaMemcpyDefault));
    }
    NCCL(ncclCommInitAll(comms.data(), n, NULL));

    NCCL(ncclGroupStart());
    for (int i = 0; i < n; i++)
        NCCL(ncclAllReduce(in[i], out[i], count, ncclFloat, ncclSum, comms[i], streams[i]));
    NCCL(ncclGroupEnd());

    int wrong = 0;
    for (int i = 0; i < n; i++) {
        CUDA(cudaSetDevice(i));
        CUDA(cudaStreamSynchronize(streams[i]));
        CUDA(cudaMemcpy(host.data(), out[i], count * sizeof(float), cudaMemcpyDefault));
        for (int k = 0; k < count; k++)
            wrong += host[k] != (float)(n * (n - 1) / 2 + n * (k % 7));
        CUDA(cudaFree(in[i]));
        CUDA(cudaFree(out[i]));
        CUDA(cudaStreamDestroy(streams[i]));
    }
    for (int i = 0; i < n; i++)
        NCCL(ncclCommDestroy(comms[i]));
    printf("%s\n", wrong ? "wrong" : "right");
    return wrong != 0;
}
