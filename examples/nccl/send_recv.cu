/* SPDX-License-Identifier: Apache-2.0
 * A ring of sends and receives: each rank's block goes round until all have seen it, added up on
 * the way by the host. The program has no kernel of its own. */
#include "ranks.cuh"

constexpr size_t count = 50000;

static int run(ncclComm_t comm, int rank, int n)
{
    const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
    int *mine, *theirs;
    cudaStream_t stream;
    CUDA(cudaMalloc((void **)&mine, count * sizeof(int)));
    CUDA(cudaMalloc((void **)&theirs, count * sizeof(int)));
    CUDA(cudaStreamCreate(&stream));

    std::vector<int> host(count), sum(count);
    for (size_t i = 0; i < count; i++)
        sum[i] = host[i] = rank * 10 + (int)(i % 10);
    CUDA(cudaMemcpy(mine, host.data(), count * sizeof(int), cudaMemcpyDefault));
    for (int step = 1; step < n; step++) {
        NCCL(ncclGroupStart());
        NCCL(ncclSend(mine, count, ncclInt, next, comm, stream));
        NCCL(ncclRecv(theirs, count, ncclInt, previous, comm, stream));
        NCCL(ncclGroupEnd());
        CUDA(cudaStreamSynchronize(stream));
        CUDA(cudaMemcpy(host.data(), theirs, count * sizeof(int), cudaMemcpyDefault));
        for (size_t i = 0; i < count; i++)
            sum[i] += host[i];
        int *received = theirs;
        theirs = mine;
        mine = received;
    }

    int wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += sum[i] != n * (n - 1) / 2 * 10 + n * (int)(i % 10);
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(mine));
    CUDA(cudaFree(theirs));
    return wrong;
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, run);
}
