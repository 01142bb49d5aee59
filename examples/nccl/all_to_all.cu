/* SPDX-License-Identifier: Apache-2.0
 * An all-to-all in a kernel, by GIN: each thread puts one part of this rank's data to its peer,
 * with a signal; once as many signals as ranks have arrived, so have all parts. For ranks on other
 * nodes the same call uses the network. The second kernel uses loads and stores for ranks that
 * those reach and GIN for the others, between barriers of both. */
#include "ranks.cuh"
#include <nccl_device.h>

constexpr int threads = 64;
constexpr size_t count = 300; /* elements for each rank */

__global__ void all_to_all(ncclDevComm dev, ncclWindow_t win, size_t in, size_t out, size_t bytes)
{
    ncclGin gin{dev, 0};
    const ncclGinSignal_t signal = 0;
    const uint64_t before = gin.readSignal(signal);

    ncclGinBarrierSession<ncclCoopCta> bar{ncclCoopCta(), gin, ncclTeamWorld(dev),
                                           dev.railGinBarrier, blockIdx.x};
    bar.sync(ncclCoopCta(), cuda::memory_order_relaxed, ncclGinFenceLevel::Relaxed);

    for (int peer = (int)threadIdx.x; peer < dev.nRanks; peer += (int)blockDim.x)
        gin.put(ncclTeamWorld(dev), peer, win, out + dev.rank * bytes, win, in + peer * bytes,
                bytes, ncclGin_SignalInc{signal});

    gin.waitSignal(ncclCoopCta(), signal, before + dev.nRanks);
    gin.flush(ncclCoopCta());
}

__global__ void hybrid_all_to_all(ncclDevComm dev, ncclWindow_t win, size_t in, size_t out,
                                  size_t bytes)
{
    ncclGin gin{dev, 0};
    const ncclGinSignal_t signal = 1;
    const uint64_t before = gin.readSignal(signal);
    const ncclTeam world = ncclTeamWorld(dev), lsa = ncclTeamLsa(dev);

    ncclBarrierSession<ncclCoopCta> bar{ncclCoopCta(), ncclTeamTagWorld(), gin, blockIdx.x};
    bar.sync(ncclCoopCta(), cuda::memory_order_relaxed, ncclGinFenceLevel::Relaxed);

    for (int peer = (int)threadIdx.x; peer < dev.nRanks; peer += (int)blockDim.x)
        if (!ncclTeamRankIsMember(lsa, world, peer))
            gin.put(world, peer, win, out + dev.rank * bytes, win, in + peer * bytes, bytes,
                    ncclGin_SignalInc{signal});
    for (int i = 0; i < lsa.nRanks; i++) {
        const int peer = ncclTeamRankToWorld(dev, lsa, i);
        const int *from = (const int *)ncclGetLocalPointer(win, in + peer * bytes);
        int *to = (int *)ncclGetLsaPointer(win, out + dev.rank * bytes, i);
        for (size_t k = threadIdx.x; k < bytes / sizeof(int); k += blockDim.x)
            to[k] = from[k];
    }

    gin.waitSignal(ncclCoopCta(), signal, before + dev.nRanks - lsa.nRanks);
    gin.flush(ncclCoopCta());
    bar.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::Relaxed);
}

static int check(const int *data, int rank, int n, int round)
{
    std::vector<int> host(n * count);
    int wrong = 0;
    CUDA(cudaMemcpy(host.data(), data, n * count * sizeof(int), cudaMemcpyDefault));
    for (int from = 0; from < n; from++)
        for (size_t i = 0; i < count; i++)
            wrong += host[from * count + i] != round * 7 + from * 1000000 + rank * 1000 + (int)i;
    return wrong;
}

static int run(ncclComm_t comm, int rank, int n)
{
    const size_t bytes = count * sizeof(int), part = n * bytes;
    char *data;
    ncclWindow_t win;
    NCCL(ncclMemAlloc((void **)&data, 2 * part));
    NCCL(ncclCommWindowRegister(comm, data, 2 * part, &win, NCCL_WIN_COLL_SYMMETRIC));

    ncclDevCommRequirements reqs;
    ncclDevComm dev;
    memset(&reqs, 0, sizeof reqs);
    reqs.barrierCount = 1;
    reqs.railGinBarrierCount = 1;
    reqs.ginSignalCount = 2;
    NCCL(ncclDevCommCreate(comm, &reqs, &dev));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));

    int wrong = 0;
    for (int round = 0; round < 4; round++) {
        std::vector<int> host(n * count);
        for (int to = 0; to < n; to++)
            for (size_t i = 0; i < count; i++)
                host[to * count + i] = round * 7 + rank * 1000000 + to * 1000 + (int)i;
        CUDA(cudaMemcpy(data, host.data(), part, cudaMemcpyDefault));
        if (round % 2 == 0)
            LAUNCH(all_to_all, 1, threads, stream, dev, win, 0, part, bytes);
        else
            LAUNCH(hybrid_all_to_all, 1, threads, stream, dev, win, 0, part, bytes);
        CUDA(cudaStreamSynchronize(stream));
        wrong += check((const int *)(data + part), rank, n, round);
    }
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
