/* SPDX-License-Identifier: Apache-2.0
 * A sum over all ranks by packets of all pairs: each sends its values to each other as packets,
 * whose flags say that they have come, and adds what it receives. There is no signal and no fence.
 * Calls use two parts of the packet buffers in turn: a rank that has all packets of a call knows
 * that the others have read those of the call before. */
#include <mscclpp/memory_channel.hpp>

#include "ranks.hpp"

constexpr int count = 512, calls = 8, packets = count / 2;

/* Packets from peer p lie at p * packets of the part. */
__global__ void all_reduce(const mscclpp::MemoryChannelDeviceHandle *channels, float *data,
                           int rank, int n, uint32_t call)
{
    const uint32_t part = (call & 1) * (uint32_t)(n * packets), flag = call + 1;
    for (int i = (int)threadIdx.x; i < n * packets; i += (int)blockDim.x) {
        const int peer = i / packets, at = i % packets;
        if (peer == rank)
            continue;
        mscclpp::MemoryChannelDeviceHandle channel = channels[peer];
        mscclpp::LLPacket *const to =
            static_cast<mscclpp::LLPacket *>(channel.dst_) + part + rank * packets;
        to[at].write(__float_as_uint(data[2 * at]), __float_as_uint(data[2 * at + 1]), flag);
    }
    __syncthreads(); /* data have been read */
    for (int at = (int)threadIdx.x; at < packets; at += (int)blockDim.x) {
        float low = data[2 * at], high = data[2 * at + 1];
        for (int step = 1; step < n; step++) {
            const int peer = (rank + step) % n;
            mscclpp::MemoryChannelDeviceHandle channel = channels[peer];
            const uint2 v = channel.unpackPacket(part + peer * packets + at, flag);
            low += __uint_as_float(v.x);
            high += __uint_as_float(v.y);
        }
        data[2 * at] = low;
        data[2 * at + 1] = high;
    }
}

static int run(const Ranks &r)
{
    mscclpp::GpuBuffer<float> data(count);
    mscclpp::GpuBuffer<> inbox((size_t)(2 * r.n * packets) * sizeof(mscclpp::LLPacket));
    const auto source = r.communicator->registerMemory(data.data(), data.bytes(), r.transport),
               packet_memory =
                   r.communicator->registerMemory(inbox.data(), inbox.bytes(), r.transport);
    const auto connections = connect(r);
    const auto targets = exchange(r, packet_memory);
    const auto semaphores = build_semaphores(r, connections);
    std::vector<mscclpp::MemoryChannel> channels;
    std::vector<mscclpp::DeviceHandle<mscclpp::MemoryChannel>> handles((size_t)r.n);
    for (size_t peer = 0; peer < (size_t)r.n; peer++) {
        if ((int)peer == r.rank)
            continue;
        channels.emplace_back(semaphores[peer], targets[peer], source, inbox.data());
        handles[peer] = mscclpp::deviceHandle(channels.back());
    }
    const auto on_device = to_device(handles);

    std::vector<float> values((size_t)count);
    for (size_t i = 0; i < values.size(); i++)
        values[i] = (float)(r.rank + (int)i);
    mscclpp::gpuMemcpy(data.data(), values.data(), values.size(), cudaMemcpyHostToDevice);
    for (uint32_t call = 0; call < calls; call++)
        LAUNCH(all_reduce, 1, 128, nullptr, on_device.get(), data.data(), r.rank, r.n, call);
    MSCCLPP_CUDATHROW(cudaDeviceSynchronize());
    mscclpp::gpuMemcpy(values.data(), data.data(), values.size(), cudaMemcpyDeviceToHost);

    /* The sum once, then n times as much in each call. */
    int wrong = 0;
    for (size_t i = 0; i < values.size(); i++) {
        float expected = (float)(r.n * (r.n - 1) / 2 + r.n * (int)i);
        for (int call = 1; call < calls; call++)
            expected *= (float)r.n;
        wrong += values[i] != expected;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, run);
}
