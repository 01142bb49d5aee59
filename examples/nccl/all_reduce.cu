/* SPDX-License-Identifier: Apache-2.0
 * An all-reduce in a kernel, by loads and stores: each thread of each rank adds the same elements
 * of all ranks and writes the sums to all. Each block uses a barrier before and after. */
#include "ranks.cuh"
#include <nccl_device.h>

constexpr int blocks = 2, threads = 64;
constexpr size_t count = 10000;

template <class T>
__global__ void all_reduce(ncclDevComm dev, ncclWindow_t win, size_t offset, size_t n)
{
    ncclLsaBarrierSession<ncclCoopCta> bar{ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x};
    bar.sync(ncclCoopCta(), cuda::memory_order_relaxed);

    const size_t step = (size_t)blockDim.x * gridDim.x * dev.lsaSize;
    size_t i = threadIdx.x + (size_t)blockDim.x * (dev.lsaRank + blockIdx.x * dev.lsaSize);
    for (; i < n; i += step) {
        T sum = 0;
        for (int peer = 0; peer < dev.lsaSize; peer++)
            sum += ((T *)ncclGetLsaPointer(win, offset, peer))[i];
        for (int peer = 0; peer < dev.lsaSize; peer++)
            ((T *)ncclGetLsaPointer(win, offset, peer))[i] = sum;
    }

    bar.sync(ncclCoopCta(), cuda::memory_order_release);
}

static int run(ncclComm_t comm, int rank, int n)
{
    float *data;
    ncclWindow_t win;
    NCCL(ncclMemAlloc((void **)&data, count * sizeof(float)));
    NCCL(ncclCommWindowRegister(comm, data, count * sizeof(float), &win, NCCL_WIN_COLL_SYMMETRIC));

    ncclDevCommRequirements reqs;
    ncclDevComm dev;
    memset(&reqs, 0, sizeof reqs);
    reqs.lsaBarrierCount = blocks;
    NCCL(ncclDevCommCreate(comm, &reqs, &dev));

    std::vector<float> host(count);
    for (size_t i = 0; i < count; i++)
        host[i] = (float)(i % 1000 + rank);
    CUDA(cudaMemcpy(data, host.data(), count * sizeof(float), cudaMemcpyDefault));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    LAUNCH(all_reduce<float>, blocks, threads, stream, dev, win, 0, count);
    CUDA(cudaStreamSynchronize(stream));

    int wrong = 0;
    CUDA(cudaMemcpy(host.data(), data, count * sizeof(float), cudaMemcpyDefault));
    for (size_t i = 0; i < count; i++)
        wrong += host[i] != (float)(i % 1000 * n + n * (n - 1) / 2);
    CUDA(cudaStreamDestroy(stream));
    NCCL(ncclDevCommDestroy(comm, &dev));
    NCCL(ncclCommWindowDeregister(comm, win));
    NCCL(ncclMemFree(data));
    return wrong;
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, run);
}
