/* SPDX-License-Identifier: Apache-2.0
 * All-gather over port channels: each rank's proxy writes its part into all other ranks' memory. A
 * block for each peer asks for that, and waits for the peer's part. */
#include <mscclpp/port_channel.hpp>

#include "ranks.hpp"

constexpr int count = 4096;

__global__ void all_gather(const mscclpp::PortChannelDeviceHandle *channels, int rank)
{
    const int peer = (int)blockIdx.x;
    if (peer == rank || threadIdx.x != 0)
        return;
    mscclpp::PortChannelDeviceHandle channel = channels[peer];
    channel.putWithSignalAndFlush((uint64_t)rank * count * sizeof(int), count * sizeof(int));
    channel.wait();
}

static int run(const Ranks &r)
{
    mscclpp::GpuBuffer<int> all((size_t)(r.n * count));
    const auto mine = r.communicator->registerMemory(all.data(), all.bytes(), r.transport);
    const auto connections = connect(r);
    const auto targets = exchange(r, mine);
    mscclpp::ProxyService service;
    const mscclpp::MemoryId source = service.addMemory(mine);
    std::vector<mscclpp::PortChannel> channels;
    std::vector<mscclpp::DeviceHandle<mscclpp::PortChannel>> handles((size_t)r.n);
    const auto semaphores = build_semaphores(r, connections);
    for (size_t peer = 0; peer < (size_t)r.n; peer++) {
        if ((int)peer == r.rank)
            continue;
        const mscclpp::SemaphoreId id = service.addSemaphore(semaphores[peer]);
        channels.push_back(service.portChannel(id, service.addMemory(targets[peer]), source));
        handles[peer] = mscclpp::deviceHandle(channels.back());
    }
    const auto on_device = to_device(handles);

    std::vector<int> values((size_t)(r.n * count));
    for (int i = 0; i < count; i++)
        values[(size_t)(r.rank * count + i)] = r.rank * count + i;
    mscclpp::gpuMemcpy(all.data() + r.rank * count, values.data() + r.rank * count, (size_t)count,
                       cudaMemcpyHostToDevice);
    service.startProxy();
    r.bootstrap->barrier();
    LAUNCH(all_gather, r.n, 32, nullptr, on_device.get(), r.rank);
    MSCCLPP_CUDATHROW(cudaDeviceSynchronize());
    r.bootstrap->barrier();
    service.stopProxy();

    mscclpp::gpuMemcpy(values.data(), all.data(), values.size(), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (size_t i = 0; i < values.size(); i++)
        wrong += values[i] != (int)i;
    return wrong;
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, run);
}
