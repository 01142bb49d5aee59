/* SPDX-License-Identifier: Apache-2.0
 * Shared by these examples: ranks, each a thread with a GPU of its own, or a process. They are
 * programs for NCCL: they also build unchanged with NCCL's own headers and library.
 *
 *     PROGRAM N              N threads
 *     PROGRAM N processes    N processes */
#ifndef RANKS_CUH
#define RANKS_CUH

#include <cuda_runtime.h>
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

/* nvcc's launch, which a C++ compiler for the CPU device does not support. */
#if defined(__CUDACC__)
#define LAUNCH(kernel, blocks, threads, stream, ...) \
    kernel<<<blocks, threads, 0, stream>>>(__VA_ARGS__)
#else
#define LAUNCH(kernel, blocks, threads, stream, ...) \
    (void)gshmem_launch(kernel, blocks, threads, 0, stream, __VA_ARGS__)
#endif

#define NCCL(call)                                                           \
    do {                                                                     \
        const ncclResult_t result_ = (call);                                 \
        if (result_ != ncclSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, ncclGetErrorString(result_)); \
            _exit(1);                                                        \
        }                                                                    \
    } while (0)
#define CUDA(call)                                  \
    do {                                            \
        if ((call) != cudaSuccess) {                \
            fprintf(stderr, "%s: failed\n", #call); \
            _exit(1);                               \
        }                                           \
    } while (0)

/* A rank's part of the example: 0 if all was right. */
typedef int rank_main(ncclComm_t comm, int rank, int n);

struct meeting {
    pthread_barrier_t barrier;
    ncclUniqueId id;
};

static inline int run_rank(meeting *m, int rank, int n, rank_main *f)
{
    int n_gpus = 0;
    if (cudaGetDeviceCount(&n_gpus) == cudaSuccess && n_gpus > 0)
        CUDA(cudaSetDevice(rank % n_gpus));
    if (rank == 0)
        NCCL(ncclGetUniqueId(&m->id));
    pthread_barrier_wait(&m->barrier); /* now all have the id */
    ncclComm_t comm;
    NCCL(ncclCommInitRank(&comm, n, m->id, rank));
    const int wrong = f(comm, rank, n);
    NCCL(ncclCommDestroy(comm));
    return wrong;
}

static inline int run_ranks(int argc, char **argv, rank_main *f)
{
    const int n = argc > 1 ? atoi(argv[1]) : 2;
    meeting *m =
        (meeting *)mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attr;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&m->barrier, &attr, (unsigned)n);
    int wrong = 0;
    if (argc > 2) {
        for (int i = 0; i < n; i++)
            if (fork() == 0)
                exit(run_rank(m, i, n, f) != 0);
        for (int i = 0; i < n; i++) {
            int status = 1;
            wait(&status);
            wrong |= status != 0;
        }
    } else {
        std::vector<std::thread> threads;
        std::vector<int> results(n, 1);
        for (int i = 0; i < n; i++)
            threads.emplace_back([&, i] { results[i] = run_rank(m, i, n, f); });
        for (std::thread &t : threads)
            t.join();
        for (int r : results)
            wrong |= r;
    }
    printf("%s\n", wrong ? "wrong" : "right");
    return wrong;
}

#endif
