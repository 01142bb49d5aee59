/* SPDX-License-Identifier: Apache-2.0
 * Shared by the tests of the NCCL layer: ranks, started in three ways, as by a program written for
 * NCCL.
 *
 *     PROGRAM processes N    N processes, which share an id through memory
 *     PROGRAM threads N      N threads of this process, likewise
 *     gshmemrun -n N [--threads] PROGRAM    gshmem runs before the first communicator
 *
 * With -DTEST_OTHER_NCCL nvcc builds the tests that say so against another NCCL, without gshmem:
 * then the first two ways exist (beside_nccl.sh). */
#ifndef GSH_TEST_RANKS_CUH
#define GSH_TEST_RANKS_CUH

#include <cuda_runtime.h>
#include <nccl.h>
#if !defined(TEST_OTHER_NCCL)
#include <gshmem_device.cuh>
#endif
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
#include "tests/test.h"

struct test_rank {
    int rank, n;
    bool is_launched; /* gshmem was already running */
    ncclUniqueId id;
};
typedef int rank_main(const test_rank *r);

#define OK(call) test_nccl((call), #call, __FILE__, __LINE__)
/* Ends the program: otherwise others would wait for this rank. */
static inline void test_nccl(ncclResult_t r, const char *what, const char *file, int line)
{
    if (r == ncclSuccess)
        return;
    fprintf(stderr, "%s:%d: %s: %s: %s\n", file, line, what, ncclGetErrorString(r),
            ncclGetLastError(NULL));
    fflush(NULL);
    _exit(1);
}
#define CUDA_OK(call) OK((call) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError)

static inline void test_choose_gpu(int rank)
{
#ifdef __CUDACC__
    int n = 0;
    if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0)
        CUDA_OK(cudaSetDevice(rank % n));
#else
    (void)rank;
#endif
}

struct test_meeting {
    pthread_barrier_t barrier;
    ncclUniqueId id;
};

static inline int test_rank_run(test_meeting *m, int rank, int n, rank_main *f)
{
    test_rank r = {rank, n, false, {}};
    test_choose_gpu(rank);
    if (rank == 0)
        OK(ncclGetUniqueId(&m->id));
    pthread_barrier_wait(&m->barrier);
    r.id = m->id;
    return f(&r);
}

static inline test_meeting *test_meet(int n)
{
    void *p =
        mmap(NULL, sizeof(test_meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    test_meeting *m = p == MAP_FAILED ? NULL : (test_meeting *)p;
    pthread_barrierattr_t attr;
    if (m == NULL || pthread_barrierattr_init(&attr) != 0 ||
        pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) != 0 ||
        pthread_barrier_init(&m->barrier, &attr, (unsigned)n) != 0)
        exit(1);
    return m;
}

#if defined(TEST_OTHER_NCCL)
static inline int test_run(rank_main *, int, char **)
{
    fprintf(stderr, "usage: PROGRAM processes|threads N\n");
    return 2;
}
#else
static rank_main *test_main_of_rank;

static inline int test_launched(int, char **)
{
    gshmem_init();
    test_rank r = {gshmem_my_pe(), gshmem_n_pes(), true, {}};
    test_choose_gpu(r.rank);
    OK(ncclGetUniqueId(&r.id));
    const int failed = test_main_of_rank(&r);
    gshmem_finalize();
    return failed;
}

static inline int test_run(rank_main *f, int argc, char **argv)
{
    test_main_of_rank = f;
    return gshmemx_run(test_launched, argc, argv);
}
#endif

static inline int test_ranks(int argc, char **argv, rank_main *f)
{
    const int n = argc > 2 ? atoi(argv[2]) : 0;
    int failed = 0;
    if (n < 1) {
        failed = test_run(f, argc, argv);
    } else if (strcmp(argv[1], "threads") == 0) {
        test_meeting *m = test_meet(n);
        std::vector<std::thread> threads;
        std::vector<int> results(n, 1);
        for (int i = 0; i < n; i++)
            threads.emplace_back([&, i] { results[i] = test_rank_run(m, i, n, f); });
        for (std::thread &t : threads)
            t.join();
        for (int result : results)
            failed |= result;
    } else {
        test_meeting *m = test_meet(n);
        for (int i = 0; i < n; i++)
            if (fork() == 0)
                exit(test_rank_run(m, i, n, f) | test_result());
        for (int i = 0; i < n; i++) {
            int status = 1;
            wait(&status);
            failed |= status != 0;
        }
    }
    return failed | test_result();
}

#endif
