/* SPDX-License-Identifier: Apache-2.0
 * What timeline.py looks for in the timeline: in a ring, messages in a group, a put with signal and
 * the wait for it, and a collective on a window's memory and on other memory. */
#include "tests/nccl/ranks.cuh"

enum { COUNT = 1000, ROUNDS = 3 };

static int run_rank(const test_rank *r)
{
    const int next = (r->rank + 1) % r->n, before = (r->rank + r->n - 1) % r->n;
    ncclComm_t comm;
    ncclWindow_t win = NULL;
    cudaStream_t stream;
    int *window = NULL, *other = NULL;
    OK(ncclCommInitRank(&comm, r->n, r->id, r->rank));
    CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(ncclMemAlloc((void **)&window, COUNT * sizeof(int)));
    OK(ncclCommWindowRegister(comm, window, COUNT * sizeof(int), &win, NCCL_WIN_COLL_SYMMETRIC));
    CUDA_OK(cudaMalloc((void **)&other, 2 * COUNT * sizeof(int)));
    CUDA_OK(cudaMemset(other, 0, 2 * COUNT * sizeof(int)));
    for (int i = 0; i < ROUNDS; i++) {
        ncclWaitSignalDesc_t from = {1, before, 0, 0};
        OK(ncclGroupStart());
        OK(ncclSend(other, COUNT, ncclInt, next, comm, stream));
        OK(ncclRecv(other + COUNT, COUNT, ncclInt, before, comm, stream));
        OK(ncclGroupEnd());
        OK(ncclPutSignal(other, COUNT, ncclInt, next, win, 0, 0, 0, 0, comm, stream));
        OK(ncclWaitSignal(1, &from, comm, stream));
    }
    OK(ncclBroadcast(window, window, COUNT, ncclInt, 0, comm, stream));
    OK(ncclAllReduce(other, other + COUNT, COUNT, ncclInt, ncclSum, comm, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    OK(ncclCommWindowDeregister(comm, win));
    OK(ncclMemFree(window));
    CUDA_OK(cudaFree(other));
    CUDA_OK(cudaStreamDestroy(stream));
    OK(ncclCommDestroy(comm));
    return 0;
}

int main(int argc, char **argv)
{
    return test_ranks(argc, argv, run_rank);
}
