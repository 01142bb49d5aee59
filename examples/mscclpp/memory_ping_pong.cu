/* SPDX-License-Identifier: Apache-2.0
 * Ping-pong over a memory channel: the kernels of two ranks write into each other's memory. */
#include <mscclpp/memory_channel.hpp>

#include "ranks.hpp"

constexpr int count = 1024, rounds = 10;

__global__ void ping_pong(mscclpp::MemoryChannelDeviceHandle channel, int *mine, const int *theirs,
                          int rank, int *wrong)
{
    for (int round = 0; round < rounds; round++) {
        if (round % 2 == rank) {
            for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x)
                mine[i] = round * count + i;
            __syncthreads();
            channel.put(0, 0, count * sizeof(int), threadIdx.x, blockDim.x);
            __syncthreads();
            if (threadIdx.x == 0)
                channel.signal();
        } else {
            if (threadIdx.x == 0)
                channel.wait();
            __syncthreads();
            for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x)
                if (theirs[i] != round * count + i)
                    atomicAdd(wrong, 1);
            __syncthreads();
        }
    }
}

static int run(const Ranks &r)
{
    const int peer = 1 - r.rank;
    if (r.rank > 1)
        return 0;
    const mscclpp::Connection connection = r.communicator->connect(r.transport, peer).get();
    const mscclpp::Semaphore semaphore = r.communicator->buildSemaphore(connection, peer).get();
    mscclpp::GpuBuffer<int> mine(count), theirs(count), wrong(1);
    const mscclpp::RegisteredMemory source = r.communicator->registerMemory(
                                        mine.data(), mine.bytes(), r.transport),
                                    inbox = r.communicator->registerMemory(
                                        theirs.data(), theirs.bytes(), r.transport);
    r.communicator->sendMemory(inbox, peer);
    const mscclpp::RegisteredMemory target = r.communicator->recvMemory(peer).get();
    const mscclpp::MemoryChannel channel(semaphore, target, source);

    LAUNCH(ping_pong, 1, 128, nullptr, mscclpp::deviceHandle(channel), mine.data(), theirs.data(),
           r.rank, wrong.data());
    MSCCLPP_CUDATHROW(cudaDeviceSynchronize());
    int n_wrong = -1;
    mscclpp::gpuMemcpy(&n_wrong, wrong.data(), 1, cudaMemcpyDeviceToHost);
    return n_wrong;
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, run);
}
