/* SPDX-License-Identifier: Apache-2.0
 * Proves channels between ranks that share nothing but a unique id (host_ranks.hpp): memory
 * channels where they are near (put, get, packets, bulk copies), port channels also where they take
 * themselves for hosts of their own (put, packets, all threads of a block flushing one channel);
 * each rank with itself; in a job, memory from gshmem_malloc; triggers that ask for what is not
 * there; memories and semaphores added while the proxy runs; memories released and freed while
 * triggers wait; and waits that end since the other one
 * of two processes has died or the time is over (stuck.py).
 *
 * usage: channels processes|hosts|threads|far-threads N, or gshmemrun channels
 *        channels late 1: what is added alone
 *        channels stuck WHAT processes|hosts 2, or gshmemrun channels stuck WHAT */
#include <mscclpp/atomic_device.hpp>
#include <mscclpp/bulk_device.hpp>
#include <mscclpp/core.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <mscclpp/memory_channel.hpp>
#include <mscclpp/poll_device.hpp>
#include <mscclpp/port_channel.hpp>
#include <mscclpp/semaphore.hpp>
#include <mscclpp/switch_channel.hpp>
#include <gshmem/launch.h>

#include <memory>
#include <sched.h>
#include <signal.h>

#include "tests/dialects/mscclpp/host_ranks.hpp"

using namespace mscclpp;

constexpr int n_ints = 1000, n_rounds = 6;
constexpr int n_payload = n_ints / 2; /* of packets that take as many bytes as n_ints do */
constexpr uint32_t first_flag = 0xabcd0000;

__device__ static int value_of(int rank, int round, int i)
{
    return rank * 100000 + round * 5000 + i;
}

__device__ static void fill(int *values, int rank, int round)
{
    for (int i = (int)threadIdx.x; i < n_ints; i += (int)blockDim.x)
        values[i] = value_of(rank, round, i);
}

__device__ static void check(const int *values, int rank, int round, uint32_t *n_wrong)
{
    for (int i = (int)threadIdx.x; i < n_ints; i += (int)blockDim.x)
        if (values[i] != value_of(rank, round, i))
            atomicAdd(n_wrong, 1u);
}

/* Each block is the channel to one peer; both sides put, signal and wait in each round. theirs:
 * what came, one part for each peer; the peer puts into its part of it. */
__global__ static void exchange_by_memory(const MemoryChannelDeviceHandle *channels,
                                          const int *peers, int *mine, const int *theirs, int me,
                                          uint32_t *n_wrong)
{
    MemoryChannelDeviceHandle channel = channels[blockIdx.x];
    const int peer = peers[blockIdx.x];
    int *const source = mine + blockIdx.x * n_ints;
    for (int round = 0; round < n_rounds; round++) {
        fill(source, me, round);
        __syncthreads();
        channel.put((uint64_t)me * n_ints * 4, (uint64_t)blockIdx.x * n_ints * 4, n_ints * 4,
                    threadIdx.x, blockDim.x);
        __syncthreads();
        if (threadIdx.x == 0) {
            channel.signal();
            channel.wait(-1);
        }
        __syncthreads();
        check(theirs + peer * n_ints, peer, round, n_wrong);
        __syncthreads();
        if (threadIdx.x == 0) { /* read: the peer may write again */
            channel.signal();
            channel.wait(-1);
        }
        __syncthreads();
    }
}

/* Both sides have a signal of the other's; one thread. */
template <class Channel> __device__ static void meet(Channel &channel)
{
    channel.signal();
    channel.wait(-1);
}

/* Each fills the part of its own memory that is the peer's to read. */
__global__ static void exchange_by_get(const MemoryChannelDeviceHandle *channels, const int *peers,
                                       int *mine, int *theirs, int me, uint32_t *n_wrong)
{
    MemoryChannelDeviceHandle channel = channels[blockIdx.x];
    const int peer = peers[blockIdx.x];
    for (int round = 0; round < n_rounds; round++) {
        fill(theirs + peer * n_ints, me, round);
        __syncthreads();
        if (threadIdx.x == 0)
            meet(channel);
        __syncthreads();
        channel.get((uint64_t)me * n_ints * 4, (uint64_t)blockIdx.x * n_ints * 4, n_ints * 4,
                    threadIdx.x, blockDim.x);
        __syncthreads();
        check(mine + blockIdx.x * n_ints, peer, round, n_wrong);
        if (threadIdx.x == 0)
            meet(channel);
        __syncthreads();
    }
}

/* The bulk-copy engine writes into the peer's memory; in odd rounds it adds the same once more. */
__global__ static void exchange_by_bulk(const MemoryChannelDeviceHandle *channels, const int *peers,
                                        int *, const int *theirs, int me, uint32_t *n_wrong)
{
#if MSCCLPP_BULK_AVAILABLE
    __shared__ __align__(128) int tile[n_ints];
    MemoryChannelDeviceHandle channel = channels[blockIdx.x];
    const int peer = peers[blockIdx.x];
    char *const to = static_cast<char *>(channel.dst_) + me * sizeof(tile);
    for (int round = 0; round < n_rounds; round++) {
        fill(tile, me, round);
        bulkFence();
        __syncthreads();
        if (threadIdx.x == 0) {
            bulkStore(to, tile, sizeof(tile));
            bulkStoreCommit();
            bulkStoreWait<0>();
            if (round % 2 == 1) {
                bulkReduceStore<uint32_t>(to, tile, sizeof(tile));
                bulkStoreCommit();
                bulkStoreWait<0>();
            }
            meet(channel);
        }
        __syncthreads();
        for (int i = (int)threadIdx.x; i < n_ints; i += (int)blockDim.x)
            if (theirs[peer * n_ints + i] != value_of(peer, round, i) * (1 + round % 2))
                atomicAdd(n_wrong, 1u);
        __syncthreads();
        if (threadIdx.x == 0)
            meet(channel);
        __syncthreads();
    }
#else
    (void)channels, (void)peers, (void)theirs, (void)me, (void)n_wrong;
#endif
}

/* The flags alone say that they have come. */
__global__ static void exchange_by_packets(const MemoryChannelDeviceHandle *channels,
                                           const int *peers, int *mine, int *, int me,
                                           uint32_t *n_wrong)
{
    MemoryChannelDeviceHandle channel = channels[blockIdx.x];
    const int peer = peers[blockIdx.x];
    const uint32_t t = threadIdx.x, n = blockDim.x, bytes = n_payload * sizeof(int);
    const uint64_t at = (uint64_t)blockIdx.x * n_ints * 4;
    for (int round = 0; round < n_rounds; round++) {
        const uint32_t flag = first_flag + (uint32_t)round;
        fill(mine + blockIdx.x * n_ints, me, round);
        __syncthreads();
        if (round % 2 == 0) {
            channel.putPackets<LL16Packet>((uint64_t)me * n_ints * 4, at, bytes, t, n, flag);
            channel.unpackPackets<LL16Packet>((uint64_t)peer * n_ints * 4, at + bytes, bytes, t, n,
                                              flag, -1);
        } else {
            channel.putPackets<LL8Packet>((uint64_t)me * n_ints * 4, at, bytes, t, n, flag);
            channel.unpackPackets<LL8Packet>((uint64_t)peer * n_ints * 4, at + bytes, bytes, t, n,
                                             flag, -1);
        }
        __syncthreads();
        for (int i = (int)t; i < n_payload; i += (int)n)
            if (mine[blockIdx.x * n_ints + n_payload + i] != value_of(peer, round, i))
                atomicAdd(n_wrong, 1u);
        if (t == 0)
            meet(channel);
        __syncthreads();
    }
}

__global__ static void exchange_by_port(const PortChannelDeviceHandle *channels, const int *peers,
                                        int *mine, const int *theirs, int me, uint32_t *n_wrong)
{
    PortChannelDeviceHandle channel = channels[blockIdx.x];
    const int peer = peers[blockIdx.x];
    int *const source = mine + blockIdx.x * n_ints;
    for (int round = 0; round < n_rounds; round++) {
        fill(source, me, round);
        __syncthreads();
        if (threadIdx.x == 0) {
            const uint64_t to = (uint64_t)me * n_ints * 4, from = (uint64_t)blockIdx.x * n_ints * 4;
            if (round % 2 == 0) {
                channel.put(to, from, 400);
                channel.putWithSignal(to + 400, from + 400, n_ints * 4 - 400);
                channel.flush(-1);
            } else {
                channel.putWithSignalAndFlush(to, from, n_ints * 4, -1);
            }
            channel.wait(-1);
        }
        __syncthreads();
        check(theirs + peer * n_ints, peer, round, n_wrong);
        fill(source, -1, 0); /* flushed: it may be used again */
        __syncthreads();
        if (threadIdx.x == 0) {
            channel.signal();
            channel.wait(-1);
        }
        __syncthreads();
    }
}

/* As exchange_by_packets, but a copy of the proxy's brings them: there is no signal with it. */
__global__ static void packets_by_port(const PortChannelDeviceHandle *channels, const int *peers,
                                       int *mine, int *theirs, int me, uint32_t *n_wrong)
{
    PortChannelDeviceHandle channel = channels[blockIdx.x];
    const int peer = peers[blockIdx.x];
    int *const source = mine + blockIdx.x * n_ints, *const come = theirs + peer * n_ints;
    for (int round = 0; round < n_rounds; round++) {
        const uint32_t flag = first_flag + n_rounds + (uint32_t)round;
        for (int i = (int)threadIdx.x; i < n_payload / 2; i += (int)blockDim.x) {
            const uint2 value =
                make_uint2(value_of(me, round, 2 * i), value_of(me, round, 2 * i + 1));
            if (round % 2 == 0) {
                reinterpret_cast<LL16Packet *>(source)[i].write(value, flag);
            } else {
                reinterpret_cast<LL8Packet *>(source)[2 * i].write(value.x, flag);
                reinterpret_cast<LL8Packet *>(source)[2 * i + 1].write(value.y, flag);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0)
            channel.put((uint64_t)me * n_ints * 4, (uint64_t)blockIdx.x * n_ints * 4, n_ints * 4);
        for (int i = (int)threadIdx.x; i < n_payload / 2; i += (int)blockDim.x) {
            uint2 value;
            if (round % 2 == 0) {
                value = reinterpret_cast<LL16Packet *>(come)[i].read(flag, -1);
            } else {
                value.x = reinterpret_cast<LL8Packet *>(come)[2 * i].read(flag, -1);
                value.y = reinterpret_cast<LL8Packet *>(come)[2 * i + 1].read(flag, -1);
            }
            if ((int)value.x != value_of(peer, round, 2 * i) ||
                (int)value.y != value_of(peer, round, 2 * i + 1))
                atomicAdd(n_wrong, 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            channel.flush(-1);
            meet(channel);
        }
        __syncthreads();
    }
}

/* Each thread puts and flushes a part of its own by the block's one channel. */
__global__ static void flush_together(const PortChannelDeviceHandle *channels, const int *peers,
                                      int *mine, int *theirs, int me, uint32_t *n_wrong)
{
    PortChannelDeviceHandle channel = channels[blockIdx.x];
    const int peer = peers[blockIdx.x], part = n_ints / (int)blockDim.x,
              begin = (int)threadIdx.x * part,
              end = threadIdx.x + 1 == blockDim.x ? n_ints : begin + part;
    const uint64_t bytes = (uint64_t)(end - begin) * 4, to = (uint64_t)(me * n_ints + begin) * 4;
    int *const source = mine + blockIdx.x * n_ints;
    for (int round = 0; round < n_rounds; round++) {
        for (int i = begin; i < end; i++)
            source[i] = value_of(me, round, i);
        const uint64_t from = (uint64_t)((int)blockIdx.x * n_ints + begin) * 4;
        if (threadIdx.x % 2 == 0) {
            channel.put(to, from, bytes);
            channel.flush(-1);
        } else {
            channel.putWithSignalAndFlush(to, from, bytes, -1);
        }
        for (int i = begin; i < end; i++)
            source[i] = -1; /* flushed: it may be used again */
        if (threadIdx.x % 2 != 0)
            channel.wait(-1);
        __syncthreads();
        if (threadIdx.x == 0)
            meet(channel);
        __syncthreads();
        check(theirs + peer * n_ints, peer, round, n_wrong);
        __syncthreads();
        if (threadIdx.x == 0)
            meet(channel);
        __syncthreads();
    }
}

/* What comes of a trigger with these numbers is the host's affair. */
__global__ static void ask(BasePortChannelDeviceHandle channel, MemoryId dst, MemoryId src,
                           uint64_t bytes)
{
    channel.put(dst, 0, src, 0, bytes);
}

/* Waits for nothing. */
__global__ static void ask_for_all(BasePortChannelDeviceHandle channel, uint64_t bytes)
{
    channel.fifo_.push(
        {TriggerData | TriggerFlag | TriggerSync, 0, 0, 1, 0, bytes, channel.semaphoreId_});
}

/* Writes through what the host adds meanwhile, as soon as its numbers are there, which order
 * nothing: that of the target, above that of the semaphore, and 1 more. Then says so beside it. */
__global__ static void use_late(BasePortChannelDeviceHandle channel, uint32_t *numbers,
                                uint64_t bytes)
{
    uint32_t seen = 0;
    POLL_MAYBE_JAILBREAK(
        (seen = atomicLoad<uint32_t, scopeSystem>(numbers, memoryOrderRelaxed)) == 0, -1);
    channel.semaphoreId_ = (seen - 1) % 1024;
    const MemoryId target = (seen - 1) / 1024;
    const uint64_t position =
        channel.fifo_.push({TriggerData, target, 0, 0, 0, bytes, channel.semaphoreId_});
    channel.fifo_.sync(position, -1);
    atomicStore<uint32_t, scopeSystem>(numbers + 1, 1, memoryOrderRelaxed);
}

__global__ static void signal_once(MemoryChannelDeviceHandle channel)
{
    channel.signal();
}

__global__ static void wait_twice(MemoryChannelDeviceHandle channel)
{
    channel.wait(-1);
    channel.wait(-1);
}

/* ---- the host's part ------------------------------------------------------------------------- */

static std::shared_ptr<int> allocate(const Rank &r, size_t bytes)
{
    if (!r.is_pe)
        return GpuBuffer<int>(bytes / sizeof(int)).memory();
    return std::shared_ptr<int>(static_cast<int *>(gshmem_malloc(bytes)), gshmem_free);
}

struct everything {
    std::shared_ptr<TcpBootstrap> bootstrap;
    std::unique_ptr<Communicator> communicator;
    std::vector<int> peers; /* itself, too */
    std::vector<Connection> connections;
    size_t bytes;
    std::shared_ptr<int> mine, theirs;
    RegisteredMemory mine_memory;
    std::vector<RegisteredMemory> their_memories;

    explicit everything(const Rank &r)
    {
        bootstrap = std::make_shared<TcpBootstrap>(r.rank, r.n);
        bootstrap->initialize(r.id);
        communicator = std::make_unique<Communicator>(bootstrap);
        const Transport transport = r.is_far ? far_transport() : Transport::CudaIpc;
        bytes = (size_t)(r.n * n_ints) * sizeof(int);
        mine = allocate(r, bytes);
        theirs = allocate(r, bytes);
        mine_memory = communicator->registerMemory(mine.get(), bytes, transport);
        const RegisteredMemory inbox = communicator->registerMemory(theirs.get(), bytes, transport);
        std::vector<std::shared_future<Connection>> coming;
        std::vector<std::shared_future<RegisteredMemory>> memories;
        for (int peer = 0; peer < r.n; peer++) {
            peers.push_back(peer);
            coming.push_back(communicator->connect(transport, peer));
            communicator->sendMemory(inbox, peer);
            memories.push_back(communicator->recvMemory(peer));
        }
        for (int peer = 0; peer < r.n; peer++) {
            connections.push_back(coming[(size_t)peer].get());
            their_memories.push_back(memories[(size_t)peer].get());
        }
    }
};

template <class Handle> struct on_device {
    std::vector<Handle> handles;
    std::vector<int> peers;
    Handle *device_handles = nullptr;
    int *device_peers = nullptr;
    uint32_t *n_wrong = nullptr;

    void copy(const std::vector<int> &all_peers)
    {
        peers = all_peers;
        MSCCLPP_CUDATHROW(cudaMalloc(&device_handles, handles.size() * sizeof(Handle)));
        MSCCLPP_CUDATHROW(cudaMalloc(&device_peers, peers.size() * sizeof(int)));
        MSCCLPP_CUDATHROW(cudaMallocHost(&n_wrong, sizeof(uint32_t)));
        gpuMemcpy(device_handles, handles.data(), handles.size(), cudaMemcpyHostToDevice);
        gpuMemcpy(device_peers, peers.data(), peers.size(), cudaMemcpyHostToDevice);
    }
    ~on_device()
    {
        cudaFree(device_handles);
        cudaFree(device_peers);
        cudaFreeHost(n_wrong);
    }
};

template <class Kernel, class Handle>
static void exchange(Kernel kernel, const Rank &r, everything &all, on_device<Handle> &channels)
{
    *channels.n_wrong = 0;
    all.bootstrap->barrier();
    /* Of its own: the kernels of all ranks have to run at a time, also where these are threads. */
    CudaStreamWithFlags stream(cudaStreamNonBlocking);
    CHECK(gshmem_launch(kernel, (int)channels.handles.size(), 64, 0, stream,
                        channels.device_handles, channels.device_peers, all.mine.get(),
                        all.theirs.get(), r.rank, channels.n_wrong) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK_EQ(*channels.n_wrong, 0);
    all.bootstrap->barrier();
}

static void by_memory(const Rank &r, everything &all)
{
    std::vector<std::shared_future<Semaphore>> coming;
    for (const int peer : all.peers)
        coming.push_back(all.communicator->buildSemaphore(all.connections[(size_t)peer], peer));
    std::vector<MemoryChannel> channels;
    on_device<DeviceHandle<MemoryChannel>> device;
    for (const int peer : all.peers) {
        channels.emplace_back(coming[(size_t)peer].get(), all.their_memories[(size_t)peer],
                              all.mine_memory, all.theirs.get());
        device.handles.push_back(deviceHandle(channels.back()));
        CHECK(device.handles.back().dstBytes_ == all.bytes &&
              device.handles.back().srcBytes_ == all.bytes);
    }
    device.copy(all.peers);
    exchange(exchange_by_memory, r, all, device);
    exchange(exchange_by_get, r, all, device);
    exchange(exchange_by_packets, r, all, device);
    exchange(exchange_by_bulk, r, all, device);
}

static void by_port(const Rank &r, everything &all)
{
    ProxyService service(16);
    const MemoryId source = service.addMemory(all.mine_memory);
    std::vector<PortChannel> channels;
    on_device<DeviceHandle<PortChannel>> device;
    std::vector<std::shared_future<Semaphore>> coming;
    for (const int peer : all.peers)
        coming.push_back(all.communicator->buildSemaphore(all.connections[(size_t)peer], peer));
    for (const int peer : all.peers) {
        CHECK_EQ(service.nextMemoryId(), (uint32_t)peer + 1);
        const MemoryId target = service.addMemory(all.their_memories[(size_t)peer]);
        const SemaphoreId id = service.addSemaphore(coming[(size_t)peer].get());
        channels.push_back(service.portChannel(id, target, source));
        device.handles.push_back(deviceHandle(channels.back()));
    }
    service.startProxy(true);
    device.copy(all.peers);
    exchange(exchange_by_port, r, all, device);
    exchange(packets_by_port, r, all, device);
    exchange(flush_together, r, all, device);
    service.stopProxy();
}

/* Each is refused by the handler: the service stops, and stopProxy throws what was wrong. */
static void wrong_triggers(const Rank &r, everything &all)
{
    CudaStreamWithFlags stream(cudaStreamNonBlocking);
    const auto refuses = [&](SemaphoreId semaphore, MemoryId dst, MemoryId src, uint64_t bytes) {
        ProxyService service(4);
        CHECK_EQ(service.addMemory(all.mine_memory), 0);
        CHECK_EQ(service.addMemory(all.their_memories[(size_t)r.rank]), 1);
        CHECK_EQ(service.buildAndAddSemaphore(*all.communicator, all.connections[(size_t)r.rank]),
                 0);
        BasePortChannel channel = service.basePortChannel(0);
        BasePortChannelDeviceHandle handle = channel.deviceHandle();
        handle.semaphoreId_ = semaphore;
        CHECK(gshmem_launch(ask, 1, 1, 0, stream, handle, dst, src, bytes) == cudaSuccess);
        CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        service.startProxy();
        CHECK(throws(ErrorCode::InvalidUsage, [&] { service.stopProxy(); }));
    };
    refuses(1, 1, 0, 16);
    refuses(0, 2, 0, 16);
    refuses(0, 1, 511, 16);
    refuses(0, 1, 0, all.bytes + 4);
    ProxyService other(4);
    CHECK(throws(ErrorCode::InvalidUsage, [&] { other.basePortChannel(0); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { other.portChannel(7, 0, 0); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { ProxyService odd(3); }));
    const std::shared_ptr<MemoryDevice2DeviceSemaphore> none;
    CHECK(throws(ErrorCode::InvalidUsage, [&] { BaseMemoryChannel channel(none); }));
}

/* What a stopped service has in its FIFO when its target is released, or freed while it is
 * registered, and when its source is freed: a far owner refuses what it has released or freed,
 * nobody copies from or to what has been freed here, and near ones keep what they have mapped.
 * Without an error all of it is done. */
static void memory_goes(const Rank &r, everything &all)
{
    enum { RELEASED, FREED, SOURCE_FREED };
    const size_t peer = (size_t)((r.rank + 1) % r.n), before = (size_t)((r.rank + r.n - 1) % r.n);
    const Transport transport = r.is_far ? far_transport() : Transport::CudaIpc;
    const bool is_in_process = r.is_thread || r.n == 1;
    CudaStreamWithFlags stream(cudaStreamNonBlocking);
    for (const int what : {RELEASED, FREED, SOURCE_FREED}) {
        GpuBuffer<int> from(n_ints), inbox(n_ints);
        std::vector<int> values(n_ints, 100 + r.rank), seen(n_ints);
        gpuMemcpy(from.data(), values.data(), n_ints);
        RegisteredMemory registered =
            all.communicator->registerMemory(inbox.data(), inbox.bytes(), transport);
        all.communicator->sendMemory(registered, (int)before, 60);
        RegisteredMemory target = all.communicator->recvMemory((int)peer, 60).get();
        ProxyService service(4);
        CHECK_EQ(service.addMemory(target), 0);
        CHECK_EQ(service.addMemory(
                     all.communicator->registerMemory(from.data(), from.bytes(), transport)),
                 1);
        target = RegisteredMemory();
        auto coming = all.communicator->buildSemaphore(all.connections[peer], (int)peer);
        Semaphore other; /* with the rank of which this one is the peer */
        if (before != peer)
            other = all.communicator->buildSemaphore(all.connections[before], (int)before).get();
        CHECK_EQ(service.addSemaphore(coming.get()), 0);
        CHECK(gshmem_launch(ask_for_all, 1, 1, 0, stream, deviceHandle(service.basePortChannel(0)),
                            (uint64_t)from.bytes()) == cudaSuccess);
        CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        all.bootstrap->barrier();
        if (what == RELEASED)
            registered = RegisteredMemory();
        else
            (what == FREED ? inbox : from) = GpuBuffer<int>(1);
        all.bootstrap->barrier();
        service.startProxy(true);
        std::string why;
        if (what == SOURCE_FREED || (what == FREED && is_in_process && !r.is_far)) {
            CHECK(throws(
                ErrorCode::InvalidUsage, [&] { service.stopProxy(); }, &why));
            CHECK(why.find("freed") != std::string::npos);
        } else if (r.is_far && (what == FREED || !is_in_process)) {
            CHECK(throws(
                ErrorCode::RemoteError, [&] { service.stopProxy(); }, &why));
            CHECK(why.find(what == FREED ? "freed" : "released") != std::string::npos);
        } else {
            service.stopProxy();
        }
        all.bootstrap->barrier();
        if (what == RELEASED && (!r.is_far || is_in_process)) {
            gpuMemcpy(seen.data(), inbox.data(), n_ints, cudaMemcpyDeviceToHost);
            CHECK(seen == std::vector<int>(n_ints, 100 + (int)before));
        }
        all.connections[peer].flush(); /* it works on */
    }
}

/* The proxy runs, and so does a kernel, when semaphore 1 and memory 1 are added. */
static void add_late(const Rank &r, everything &all)
{
    ProxyService service(4);
    Connection &own = all.connections[(size_t)r.rank];
    service.addMemory(all.mine_memory);
    service.buildAndAddSemaphore(*all.communicator, own);
    const auto second = std::make_shared<Host2DeviceSemaphore>(*all.communicator, own);
    service.startProxy(true);
    uint32_t *numbers = nullptr;
    MSCCLPP_CUDATHROW(cudaMallocHost(&numbers, 2 * sizeof(*numbers)));
    numbers[0] = numbers[1] = 0;
    std::vector<int> values(n_ints, 4711 + r.rank), seen(n_ints);
    gpuMemcpy(all.mine.get(), values.data(), n_ints, cudaMemcpyHostToDevice);
    const BasePortChannel channel = service.basePortChannel(0);
    CudaStreamWithFlags stream(cudaStreamNonBlocking);
    CHECK(gshmem_launch(use_late, 1, 1, 0, stream, channel.deviceHandle(), numbers,
                        (uint64_t)(n_ints * 4)) == cudaSuccess);
    const SemaphoreId semaphore = service.addSemaphore(second, nullptr);
    const MemoryId target = service.addMemory(all.their_memories[(size_t)r.rank]);
    CHECK(semaphore == 1 && target == 1);
    __atomic_store_n(numbers, target * 1024 + semaphore + 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(numbers + 1, __ATOMIC_RELAXED) == 0)
        sched_yield(); /* no call that another thread may take for an order */
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    own.flush();
    gpuMemcpy(seen.data(), all.theirs.get(), n_ints, cudaMemcpyDeviceToHost);
    CHECK(seen == values);
    service.stopProxy();
    MSCCLPP_CUDATHROW(cudaFreeHost(numbers));
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int run(const Rank &r)
{
    everything all(r);
    CHECK(!isNvlsSupported());
    CHECK(throws(ErrorCode::InvalidUsage, [&] {
        connectNvlsCollective(nullptr, {0, 1}, 1 << 20);
    }));
    CHECK(throws(ErrorCode::InvalidUsage, [] { NvlsConnection(1 << 20, 2); }));
    CHECK(throws(ErrorCode::InvalidUsage, [] { NvlsConnection(std::vector<char>(64)); }));
    if (r.is_far) {
        const Semaphore semaphore =
            all.communicator->buildSemaphore(all.connections[(size_t)r.rank], r.rank).get();
        CHECK(
            throws(ErrorCode::InvalidUsage, [&] { MemoryDevice2DeviceSemaphore near(semaphore); }));
    } else {
        by_memory(r, all);
    }
    by_port(r, all);
    wrong_triggers(r, all);
    memory_goes(r, all);
    add_late(r, all);
    all.bootstrap->barrier();
    return test_result();
}

static int run_late(const Rank &r)
{
    everything all(r);
    add_late(r, all);
    return test_result();
}

/* ---- waits that end ------------------------------------------------------------------------- */

__global__ static void put_for_ever(PortChannelDeviceHandle channel)
{
    for (;;) {
        channel.putWithSignal(0, 64);
        channel.flush(-1);
    }
}

__global__ static void wait_at_port(PortChannelDeviceHandle channel)
{
    channel.wait(-1);
}

__global__ static void wait_for_packet(MemoryChannelDeviceHandle channel, bool is_large)
{
    if (is_large)
        channel.unpackPackets<LL16Packet>(0, 0, 64, threadIdx.x, blockDim.x, first_flag, -1);
    else
        channel.unpackPacket<LL8Packet>(3, first_flag, -1);
}

static std::string awaited; /* what rank 0 waits for: a word, "-silent" behind it */

/* Rank 0 waits for what never comes: since rank 1's process ends, or its thread if it is a PE of a
 * job of threads, or "silent": does nothing. The wait is to end rank 0's process, or the job. A
 * memory channel's signal is the second one: the first comes. */
static int run_stuck(const Rank &r)
{
    everything &all = *new everything(r); /* a thread that ends closes none of its connections */
    const size_t peer = (size_t)(1 - r.rank);
    const std::string what = awaited.substr(0, awaited.find('-'));
    const bool is_silent = what != awaited;
    const Semaphore semaphore =
        all.communicator->buildSemaphore(all.connections[peer], (int)peer).get();
    ProxyService service(16);
    const bool is_port = what == "port" || what == "flush";
    MemoryChannel memory;
    PortChannel port;
    if (is_port) {
        const MemoryId source = service.addMemory(all.mine_memory),
                       target = service.addMemory(all.their_memories[peer]);
        port = service.portChannel(service.addSemaphore(semaphore), target, source);
        if (!is_silent) /* nobody takes the triggers out otherwise */
            service.startProxy(true);
    } else {
        memory =
            MemoryChannel(semaphore, all.their_memories[peer], all.mine_memory, all.theirs.get());
        if (what == "signal" && r.rank == 1)
            CHECK(gshmem_launch(signal_once, 1, 1, 0, nullptr, deviceHandle(memory)) ==
                  cudaSuccess);
    }
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    all.bootstrap->barrier();
    if (r.rank == 1 && !is_silent && r.is_thread)
        pthread_exit(nullptr);
    if (r.rank == 1 && !is_silent)
        kill(getpid(), SIGKILL);
    if (r.rank == 1) {
        while (!all.connections[peer].isLost())
            usleep(1000);
        _exit(0);
    }
    if (what == "signal")
        (void)gshmem_launch(wait_twice, 1, 1, 0, nullptr, deviceHandle(memory));
    else if (what == "packet" || what == "packets")
        (void)gshmem_launch(wait_for_packet, 1, 8, 0, nullptr, deviceHandle(memory),
                            what == "packets");
    else if (what == "port")
        (void)gshmem_launch(wait_at_port, 1, 1, 0, nullptr, deviceHandle(port));
    else if (what == "flush")
        (void)gshmem_launch(put_for_ever, 1, 1, 0, nullptr, deviceHandle(port));
    else
        CHECK(!"a word of this kind");
    (void)cudaDeviceSynchronize();
    std::fprintf(stderr, "the wait has returned\n");
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "late") == 0) {
        char threads[] = "threads";
        argv[1] = threads;
        return run_ranks(argc, argv, run_late);
    }
    if (argc > 2 && strcmp(argv[1], "stuck") == 0) {
        awaited = argv[2];
        argv[2] = argv[0];
        return run_ranks(argc - 2, argv + 2, run_stuck);
    }
    return run_ranks(argc, argv, run);
}
