/* SPDX-License-Identifier: Apache-2.0
 * The NCCL layer's speed, compared with NCCL's: this source builds with either, unchanged.
 *
 *     PROGRAM [--quick] [--no-gin|--gin] [--against FILE]
 *
 * One rank per GPU, two on the CPU device, each a thread. It prints rows of a name, bytes and
 * microseconds: the median of rank 0's samples. FILE holds the output of the same program built
 * with the other library; each row then ends with the ratio of this time to that one. Work on a
 * stream is timed between events around 20 calls; kernels, over 20 launches of 50 barriers or one
 * exchange each; host calls, by the host's clock. --gin: GIN's
 * rows alone. */
#include <algorithm>
#include <chrono>
#include <cuda_runtime.h>
#include <map>
#include <nccl.h>
#include <nccl_device.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#if defined(__CUDACC__)
#define LAUNCH(kernel, blocks, threads, stream, ...) \
    kernel<<<blocks, threads, 0, stream>>>(__VA_ARGS__)
#else
#define LAUNCH(kernel, blocks, threads, stream, ...) \
    (void)gshmem_launch(kernel, blocks, threads, 0, stream, __VA_ARGS__)
#endif
#define NEED(call, good)                                                       \
    do {                                                                       \
        if ((call) != (good)) {                                                \
            fprintf(stderr, "%s:%d: %s: failed\n", __FILE__, __LINE__, #call); \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)
#define NCCL(call) NEED(call, ncclSuccess)
#define CUDA(call) NEED(call, cudaSuccess)

constexpr int calls = 20, barriers = 50;

static pthread_barrier_t meeting;
static std::map<std::string, double> against;
static bool is_quick, has_gin = true, is_gin_alone;

struct rank {
    ncclComm_t comm;
    int rank, n;
    cudaStream_t stream;
    char *memory;
    ncclWindow_t win;
    size_t half; /* of the window */
    ncclDevComm dev;
};

static void row(const rank *r, const char *name, size_t bytes, std::vector<double> samples)
{
    if (r->rank != 0)
        return;
    std::sort(samples.begin(), samples.end());
    const double us = samples[samples.size() / 2];
    const std::string key = std::string(name) + " " + std::to_string(bytes);
    printf("%s %.3f", key.c_str(), us);
    if (against.count(key) != 0)
        printf(" %.2f", us / against[key]);
    printf("\n");
    fflush(stdout);
}

template <class F>
static void time_on_stream(const rank *r, const char *name, size_t bytes, int per_call, F call)
{
    const int n_samples = is_quick ? 2 : 15;
    std::vector<double> samples;
    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    for (int i = 0; i <= n_samples; i++) {
        float ms = 0;
        pthread_barrier_wait(&meeting);
        call(); /* the ranks' streams meet here, if it is a collective */
        CUDA(cudaEventRecord(begin, r->stream));
        for (int k = 0; k < calls; k++)
            call();
        CUDA(cudaEventRecord(end, r->stream));
        CUDA(cudaStreamSynchronize(r->stream));
        CUDA(cudaEventElapsedTime(&ms, begin, end));
        if (i > 0)
            samples.push_back(1e3 * ms / calls / per_call);
    }
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(end));
    row(r, name, bytes, samples);
}

template <class F> static void time_on_host(const rank *r, const char *name, size_t bytes, F call)
{
    std::vector<double> samples;
    for (int i = 0; i <= (is_quick ? 2 : 15); i++) {
        pthread_barrier_wait(&meeting);
        const auto begin = std::chrono::steady_clock::now();
        call();
        const std::chrono::duration<double, std::micro> us =
            std::chrono::steady_clock::now() - begin;
        if (i > 0)
            samples.push_back(us.count());
    }
    row(r, name, bytes, samples);
}

/* ---- kernels --------------------------------------------------------------------------------- */

__global__ void barrier_kernel(ncclDevComm dev)
{
    ncclLsaBarrierSession<ncclCoopCta> bar{ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x};
    for (int i = 0; i < barriers; i++)
        bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
}

__global__ void all_reduce_kernel(ncclDevComm dev, ncclWindow_t win, size_t offset, size_t count)
{
    ncclLsaBarrierSession<ncclCoopCta> bar{ncclCoopCta(), dev, ncclTeamTagLsa(), blockIdx.x};
    bar.sync(ncclCoopCta(), cuda::memory_order_relaxed);
    const size_t step = (size_t)blockDim.x * gridDim.x * dev.lsaSize;
    size_t i = threadIdx.x + (size_t)blockDim.x * (dev.lsaRank + blockIdx.x * dev.lsaSize);
    for (; i < count; i += step) {
        float sum = 0;
        for (int peer = 0; peer < dev.lsaSize; peer++)
            sum += ((float *)ncclGetLsaPointer(win, offset, peer))[i];
        for (int peer = 0; peer < dev.lsaSize; peer++)
            ((float *)ncclGetLsaPointer(win, offset, peer))[i] = sum;
    }
    bar.sync(ncclCoopCta(), cuda::memory_order_release);
}

__global__ void all_to_all_kernel(ncclDevComm dev, ncclWindow_t win, size_t out, size_t bytes)
{
    ncclGin gin{dev, 0};
    const uint64_t before = gin.readSignal(0);
    ncclGinBarrierSession<ncclCoopCta> bar{ncclCoopCta(), gin, ncclTeamWorld(dev),
                                           dev.railGinBarrier, blockIdx.x};
    bar.sync(ncclCoopCta(), cuda::memory_order_relaxed, ncclGinFenceLevel::Relaxed);
    for (int peer = (int)threadIdx.x; peer < dev.nRanks; peer += (int)blockDim.x)
        gin.put(ncclTeamWorld(dev), peer, win, out + dev.rank * bytes, win, peer * bytes, bytes,
                ncclGin_SignalInc{0});
    gin.waitSignal(ncclCoopCta(), 0, before + dev.nRanks);
    gin.flush(ncclCoopCta());
}

/* ---- rows ------------------------------------------------------------------------------------ */

static std::vector<size_t> sizes(size_t first, size_t last)
{
    std::vector<size_t> v;
    if (is_quick)
        return {first};
    for (size_t bytes = first; bytes <= last; bytes *= 8)
        v.push_back(bytes);
    return v;
}

static void time_kernels(const rank *r)
{
    const int blocks = is_quick ? 2 : 16, threads = is_quick ? 64 : 512;
    time_on_stream(r, "lsa_barrier", 0, barriers,
                   [&] { LAUNCH(barrier_kernel, 1, threads, r->stream, r->dev); });
    for (size_t bytes : sizes(4096, r->half))
        time_on_stream(r, "lsa_all_reduce", bytes, 1, [&] {
            LAUNCH(all_reduce_kernel, blocks, threads, r->stream, r->dev, r->win, 0,
                   bytes / sizeof(float));
        });
}

static void time_gin(const rank *r)
{
    std::vector<size_t> blocks = sizes(8, 1 << 20);
    if (!is_quick) /* nccl-tests calls twice as much of two ranks 16 KiB, and 4 MiB */
        blocks.insert(blocks.end(),
                      {8 << 10, 16 << 10, 64 << 10, 128 << 10, 1 << 20, 2 << 20, 4 << 20});
    for (size_t bytes : blocks)
        time_on_stream(r, "gin_all_to_all", bytes, 1, [&] {
            LAUNCH(all_to_all_kernel, 1, 64, r->stream, r->dev, r->win, r->half, bytes);
        });
}

static void time_calls(const rank *r)
{
    char *in = r->memory, *out = r->memory + r->half;
    const int peer = r->rank ^ 1;
    for (size_t bytes : sizes(8, r->half / r->n)) {
        const size_t count = bytes / sizeof(float);
        time_on_stream(r, "all_reduce", bytes, 1, [&] {
            NCCL(ncclAllReduce(in, out, count, ncclFloat, ncclSum, r->comm, r->stream));
        });
        time_on_stream(r, "all_gather", bytes, 1,
                       [&] { NCCL(ncclAllGather(in, out, count, ncclFloat, r->comm, r->stream)); });
        time_on_stream(r, "reduce_scatter", bytes, 1, [&] {
            NCCL(ncclReduceScatter(in, out, count, ncclFloat, ncclSum, r->comm, r->stream));
        });
        time_on_stream(r, "all_to_all", bytes, 1,
                       [&] { NCCL(ncclAlltoAll(in, out, count, ncclFloat, r->comm, r->stream)); });
    }
    std::vector<size_t> pair_sizes = sizes(8, r->half);
    if (!is_quick)
        pair_sizes.insert(pair_sizes.end(), {64 << 10, 64 << 20});
    for (size_t bytes : pair_sizes) {
        const size_t count = bytes / sizeof(float);
        if (r->n % 2 == 0)
            time_on_stream(r, "send_recv", bytes, 1, [&] {
                NCCL(ncclGroupStart());
                NCCL(ncclSend(in, count, ncclFloat, peer, r->comm, r->stream));
                NCCL(ncclRecv(out, count, ncclFloat, peer, r->comm, r->stream));
                NCCL(ncclGroupEnd());
            });
    }
    time_on_host(r, "window", 2 * r->half, [&] {
        ncclWindow_t win;
        NCCL(
            ncclCommWindowRegister(r->comm, r->memory, 2 * r->half, &win, NCCL_WIN_COLL_SYMMETRIC));
        NCCL(ncclCommWindowDeregister(r->comm, win));
    });
    /* memory that is no window yet */
    const size_t fresh_bytes = is_quick ? 1 << 17 : 1 << 30;
    void *fresh = NULL;
    NCCL(ncclMemAlloc(&fresh, fresh_bytes));
    time_on_host(r, "window_fresh", fresh_bytes, [&] {
        ncclWindow_t win;
        NCCL(ncclCommWindowRegister(r->comm, fresh, fresh_bytes, &win, NCCL_WIN_COLL_SYMMETRIC));
        NCCL(ncclCommWindowDeregister(r->comm, win));
    });
    NCCL(ncclMemFree(fresh));
    time_on_host(r, "dev_comm", 0, [&] {
        ncclDevCommRequirements reqs;
        ncclDevComm dev;
        memset(&reqs, 0, sizeof reqs);
        reqs.lsaBarrierCount = 16;
        NCCL(ncclDevCommCreate(r->comm, &reqs, &dev));
        NCCL(ncclDevCommDestroy(r->comm, &dev));
    });
}

static void run(const ncclUniqueId *id, int number, int n)
{
    rank r = {};
    int n_gpus = 0;
    if (cudaGetDeviceCount(&n_gpus) == cudaSuccess && n_gpus > 0)
        CUDA(cudaSetDevice(number % n_gpus));
    r.rank = number;
    r.n = n;
    r.half = is_quick ? 1 << 16 : 64 << 20;
    NCCL(ncclCommInitRank(&r.comm, n, *id, number));
    NCCL(ncclMemAlloc((void **)&r.memory, 2 * r.half));
    CUDA(cudaMemset(r.memory, 0, 2 * r.half));
    NCCL(ncclCommWindowRegister(r.comm, r.memory, 2 * r.half, &r.win, NCCL_WIN_COLL_SYMMETRIC));
    CUDA(cudaStreamCreate(&r.stream));
    ncclDevCommRequirements reqs;
    memset(&reqs, 0, sizeof reqs);
    reqs.lsaBarrierCount = 16;
    if (has_gin) {
        reqs.railGinBarrierCount = 1;
        reqs.ginSignalCount = 1;
    }
    NCCL(ncclDevCommCreate(r.comm, &reqs, &r.dev));
    if (!is_gin_alone)
        time_kernels(&r);
    if (has_gin)
        time_gin(&r);
    if (!is_gin_alone)
        time_calls(&r);
    CUDA(cudaStreamDestroy(r.stream));
    NCCL(ncclDevCommDestroy(r.comm, &r.dev));
    NCCL(ncclCommWindowDeregister(r.comm, r.win));
    NCCL(ncclMemFree(r.memory));
    NCCL(ncclCommDestroy(r.comm));
}

static bool read_rows(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[200], name[100];
    size_t bytes = 0;
    double us = 0;
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "%99s %zu %lf", name, &bytes, &us) == 3)
            against[std::string(name) + " " + std::to_string(bytes)] = us;
    if (f != NULL)
        fclose(f);
    return !against.empty();
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            is_quick = true;
        } else if (strcmp(argv[i], "--no-gin") == 0) { /* NCCL has GIN on some networks only */
            has_gin = false;
        } else if (strcmp(argv[i], "--gin") == 0) {
            is_gin_alone = true;
        } else if (strcmp(argv[i], "--against") == 0 && i + 1 < argc) {
            if (!read_rows(argv[++i])) {
                fprintf(stderr, "%s: no rows\n", argv[i]);
                return 1;
            }
        } else {
            fprintf(stderr, "usage: %s [--quick] [--no-gin|--gin] [--against FILE]\n", argv[0]);
            return 1;
        }
    }
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n < 2)
        n = 2;
    ncclUniqueId id;
    NCCL(ncclGetUniqueId(&id));
    pthread_barrier_init(&meeting, NULL, (unsigned)n);
    std::vector<std::thread> threads;
    for (int i = 0; i < n; i++)
        threads.emplace_back([&, i] { run(&id, i, n); });
    for (std::thread &t : threads)
        t.join();
    return 0;
}
