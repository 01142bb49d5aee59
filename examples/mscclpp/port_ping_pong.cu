/* SPDX-License-Identifier: Apache-2.0
 * Ping-pong over a port channel: one thread asks, the host's proxy moves the data, by whatever way
 * leads to the other rank. */
#include <mscclpp/port_channel.hpp>

#include "ranks.hpp"

constexpr int count = 1024, rounds = 10;

__global__ void ping_pong(mscclpp::PortChannelDeviceHandle channel, int *mine, const int *theirs,
                          int rank, int *wrong)
{
    for (int round = 0; round < rounds; round++) {
        if (round % 2 == rank) {
            for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x)
                mine[i] = round * count + i;
            __syncthreads();
            if (threadIdx.x == 0)
                channel.putWithSignalAndFlush(0, 0, count * sizeof(int));
            __syncthreads();
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
    mscclpp::ProxyService service;
    const mscclpp::Connection connection = r.communicator->connect(r.transport, peer).get();
    const mscclpp::SemaphoreId id = service.buildAndAddSemaphore(*r.communicator, connection);
    mscclpp::GpuBuffer<int> mine(count), theirs(count), wrong(1);
    const mscclpp::RegisteredMemory source = r.communicator->registerMemory(
                                        mine.data(), mine.bytes(), r.transport),
                                    inbox = r.communicator->registerMemory(
                                        theirs.data(), theirs.bytes(), r.transport);
    r.communicator->sendMemory(inbox, peer);
    const mscclpp::MemoryId target = service.addMemory(r.communicator->recvMemory(peer).get());
    const mscclpp::PortChannel channel = service.portChannel(id, target, service.addMemory(source));

    service.startProxy();
    LAUNCH(ping_pong, 1, 128, nullptr, mscclpp::deviceHandle(channel), mine.data(), theirs.data(),
           r.rank, wrong.data());
    MSCCLPP_CUDATHROW(cudaDeviceSynchronize());
    r.bootstrap->barrier(); /* the peer's proxy has sent what this kernel waited for */
    service.stopProxy();
    int n_wrong = -1;
    mscclpp::gpuMemcpy(&n_wrong, wrong.data(), 1, cudaMemcpyDeviceToHost);
    return n_wrong;
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, run);
}
