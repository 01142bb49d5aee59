/* SPDX-License-Identifier: Apache-2.0
 * Channels of the MSCCL++ layer between two ranks, which this program starts as two processes, one
 * for each GPU: each row is one figure.
 *
 * usage: mscclpp [--quick]: few repetitions and small sizes, to see that it runs */
#include <mscclpp/concurrency_device.hpp>
#include <mscclpp/core.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <mscclpp/memory_channel.hpp>
#include <mscclpp/port_channel.hpp>
#include <gshmem/launch.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace mscclpp;

static bool is_quick;
static int my_rank;

/* ---- kernels --------------------------------------------------------------------------------- */

/* What orders a push after what the thread did before; AS_CALLED is push() itself. */
enum pushing { AS_CALLED, NOTHING, FENCE_SYSTEM, FENCE_GPU, RELEASE_STORE };

/* A push of one thread, with another fence. */
__device__ static void push_otherwise(FifoDeviceHandle fifo, pushing how)
{
    using namespace gshmem::detail;
    if (how == FENCE_SYSTEM)
        fence_acq_rel();
    else if (how == FENCE_GPU)
        fence_gpu();
    const uint64_t cached = load_relaxed(fifo.tailCache),
                   position = atomic_add(fifo.head, (uint64_t)1);
    if (position - cached >= (uint64_t)fifo.size)
        FifoDeviceHandle::awaitRoom(fifo, position, -1);
#if defined(__CUDA_ARCH__)
    if (how == RELEASE_STORE) {
        asm volatile("st.release.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(
                         __cvta_generic_to_global(fifo.triggers + (position & fifo.sizeMask))),
                     "l"(position), "l"(mscclpp::detail::lapOf(position, fifo.sizeShift))
                     : "memory");
        return;
    }
#endif
    fifo.write(position, ProxyTrigger(position, 0));
}

/* Each thread pushes n triggers, and stores a word before each. */
__global__ static void push(FifoDeviceHandle fifo, int n, pushing how, uint32_t *words)
{
    for (int i = 0; i < n; i++) {
        if (words != nullptr)
            words[threadIdx.x + (uint32_t)(i % 64) * blockDim.x] = (uint32_t)i;
        if (how == AS_CALLED)
            fifo.push(ProxyTrigger((uint64_t)i, 0), -1);
        else
            push_otherwise(fifo, how);
    }
}

__global__ static void signal_hops(MemoryChannelDeviceHandle channel, int me, int n,
                                   bool is_relaxed)
{
    for (int i = 0; i < n; i++) {
        if (i % 2 == me && is_relaxed)
            channel.relaxedSignal();
        else if (i % 2 == me)
            channel.signal();
        else if (is_relaxed)
            channel.relaxedWait(-1);
        else
            channel.wait(-1);
    }
}

template <class Packet>
__global__ static void packet_hops(MemoryChannelDeviceHandle channel, int me, int n, uint32_t base)
{
    Packet *const to = static_cast<Packet *>(channel.dst_);
    for (int i = 0; i < n; i++) {
        const uint32_t flag = base + (uint32_t)i + 1;
        if (i % 2 == me)
            to->write(flag, flag);
        else
            channel.unpackPacket<Packet>(0, flag);
    }
}

/* Both ends put at a time; `syncer` joins the blocks. */
__global__ static void put_both(MemoryChannelDeviceHandle channel, uint64_t bytes, int n,
                                DeviceSyncer *syncer)
{
    const uint32_t t = threadIdx.x + blockIdx.x * blockDim.x, all = blockDim.x * gridDim.x;
    for (int i = 0; i < n; i++) {
        channel.put(0, bytes, t, all);
        syncer->sync((int)gridDim.x, -1);
        if (t == 0) {
            channel.signal();
            channel.wait(-1);
        }
        syncer->sync((int)gridDim.x, -1);
    }
}

__global__ static void port_both(PortChannelDeviceHandle channel, uint64_t bytes, int n)
{
    for (int i = 0; i < n; i++) {
        channel.putWithSignalAndFlush(0, 0, bytes, -1);
        channel.wait(-1);
    }
}

/* One all-reduce of n_words packed floats by two ranks: packets to the peer, sums of what comes.
 * The calls use two halves of the packet buffer in turn; calls is the device's count of them. */
__global__ static void all_reduce(MemoryChannelDeviceHandle channel, float *data, uint64_t bytes,
                                  uint32_t *calls, uint32_t *arrived)
{
    const uint32_t flag = *calls + 1, t = threadIdx.x + blockIdx.x * blockDim.x,
                   all = blockDim.x * gridDim.x;
    const uint64_t part = (flag & 1) * 2 * bytes, n = bytes / 8;
    LL16Packet *const to = reinterpret_cast<LL16Packet *>(static_cast<char *>(channel.dst_) + part);
    const uint64_t first = part / sizeof(LL16Packet);
    float2 *const values = reinterpret_cast<float2 *>(data);
    for (uint64_t i = t; i < n; i += all) {
        const float2 v = values[i];
        to[i].write(__float_as_uint(v.x), __float_as_uint(v.y), flag);
    }
    for (uint64_t i = t; i < n; i += all) {
        const uint2 v = channel.unpackPacket<LL16Packet>(first + i, flag);
        values[i].x += __uint_as_float(v.x);
        values[i].y += __uint_as_float(v.y);
    }
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(arrived, 1u) == gridDim.x - 1) { /* the last block */
        *arrived = 0;
        *calls = flag;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct ends {
    std::shared_ptr<TcpBootstrap> bootstrap;
    std::unique_ptr<Communicator> communicator;
    Connection connection;
    std::unique_ptr<GpuBuffer<>> mine, theirs, packets;
    RegisteredMemory my_memory, peer_memory, peer_packets;
    std::vector<RegisteredMemory> sent; /* the peer uses them while they live here */
    std::unique_ptr<CudaStreamWithFlags> stream;
};

static double now_us()
{
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static void row(const char *name, double value, const char *unit)
{
    if (my_rank == 0)
        std::printf("%-52s %10.3f %s\n", name, value, unit);
    std::fflush(stdout);
}

/* How long launch takes, from its begin on both ranks to its end here, us. */
template <class Launch> static double time_us(ends &e, Launch run)
{
    double best = 1e30;
    for (int k = 0; k < (is_quick ? 1 : 3); k++) {
        e.bootstrap->barrier();
        const double begin = now_us();
        run();
        MSCCLPP_CUDATHROW(cudaStreamSynchronize(*e.stream));
        const double took = now_us() - begin;
        best = took < best ? took : best;
    }
    return best;
}

/* The same for one of n equal steps: the difference of two runs, without what a launch costs. */
template <class Launch> static double step_us(ends &e, int n, Launch run)
{
    const double few = time_us(e, [&] { run(n / 4); }), many = time_us(e, [&] { run(n); });
    return (many - few) / (n - n / 4);
}

static void push_rows(ends &e)
{
    Proxy proxy([](ProxyTrigger) { return ProxyHandlerResult::Continue; });
    proxy.start(true);
    const FifoDeviceHandle fifo = proxy.fifo()->deviceHandle();
    const int n = is_quick ? 400 : 20000;
    GpuBuffer<uint32_t> words(64 * 128);
    const auto measure = [&](const char *name, int threads, pushing how, uint32_t *stored) {
        const double us = step_us(e, n, [&](int steps) {
            gshmem_launch(push, 1, threads, 0, *e.stream, fifo, steps, how, stored);
        });
        row(name, us / threads, "us");
    };
    measure("FIFO push, 1 thread, a trigger", 1, AS_CALLED, nullptr);
    measure("FIFO push, 32 threads, a trigger", 32, AS_CALLED, nullptr);
    measure("FIFO push, 128 threads, a trigger", 128, AS_CALLED, nullptr);
    measure("... 1 thread, a word stored before each", 1, AS_CALLED, words.data());
    measure("... 1 thread, ordered by nothing", 1, NOTHING, nullptr);
    measure("... 1 thread, by fence.acq_rel.sys", 1, FENCE_SYSTEM, nullptr);
    measure("... 1 thread, by fence.acq_rel.gpu", 1, FENCE_GPU, nullptr);
    measure("... 1 thread, by a release store", 1, RELEASE_STORE, nullptr);
    MSCCLPP_CUDATHROW(cudaStreamSynchronize(*e.stream));
    proxy.stop();
}

static void memory_rows(ends &e)
{
    const Semaphore semaphore = e.communicator->buildSemaphore(e.connection, 1 - my_rank).get();
    const auto d2d = std::make_shared<MemoryDevice2DeviceSemaphore>(semaphore);
    MemoryChannel channel(d2d, e.peer_memory, e.my_memory),
        packets(d2d, e.peer_packets, e.my_memory, e.packets->data());
    const int n = is_quick ? 40 : 4000;
    for (const bool is_relaxed : {false, true})
        row(is_relaxed ? "semaphore, relaxed signal and wait, one hop"
                       : "semaphore, signal and wait, one hop",
            step_us(e, n,
                    [&](int steps) {
                        gshmem_launch(signal_hops, 1, 1, 0, *e.stream, channel.deviceHandle(),
                                      my_rank, steps, is_relaxed);
                    }),
            "us");
    uint32_t flag = 0;
    const auto hops = [&](auto kernel, int steps) {
        gshmem_launch(kernel, 1, 1, 0, *e.stream, packets.deviceHandle(), my_rank, steps, flag);
        flag += (uint32_t)steps;
    };
    row("packets LL8, one hop",
        step_us(e, n, [&](int steps) { hops(packet_hops<LL8Packet>, steps); }), "us");
    row("packets LL16, one hop",
        step_us(e, n, [&](int steps) { hops(packet_hops<LL16Packet>, steps); }), "us");

    GpuBuffer<DeviceSyncer> syncer(1);
    for (const uint64_t bytes : {(uint64_t)1 << 10, (uint64_t)1 << 20, (uint64_t)1 << 27}) {
        if (bytes > e.mine->bytes())
            continue;
        const int blocks = is_quick ? 2 : bytes <= 1024 ? 1 : bytes <= 1 << 20 ? 32 : 64;
        const int threads = is_quick ? 32 : bytes <= 1024 ? 64 : 1024;
        const double us =
            step_us(e,
                    is_quick           ? 8
                    : bytes >= 1 << 27 ? 20
                                       : 400,
                    [&](int steps) {
                        gshmem_launch(put_both, blocks, threads, 0, *e.stream,
                                      channel.deviceHandle(), bytes, steps, syncer.data());
                    });
        char name[64];
        std::snprintf(name, sizeof name, "memory channel, put both directions, %llu KiB",
                      (unsigned long long)bytes / 1024);
        row(name, us, "us");
        if (bytes > 1 << 20)
            row(name, (double)bytes / us / 1000, "GB/s");
    }

    GpuBuffer<uint32_t> counts(2);
    for (const uint64_t bytes : {2048u, 8192u, 32768u}) {
        const int blocks = is_quick ? 1 : bytes <= 8192 ? 4 : 8, threads = is_quick ? 32 : 512;
        /* The flags of the calls before with another size may lie anywhere. */
        gpuMemset(e.packets->data(), 0, e.packets->bytes());
        gpuMemset(counts.data(), 0, 8);
        e.bootstrap->barrier();
        const int in_graph = is_quick ? 4 : 100;
        const auto launch = [&] {
            gshmem_launch(all_reduce, blocks, threads, 0, *e.stream, packets.deviceHandle(),
                          reinterpret_cast<float *>(e.mine->data()), bytes, counts.data(),
                          counts.data() + 1);
        };
        char name[64];
        std::snprintf(name, sizeof name, "all-reduce by packets, %llu KiB, in a graph",
                      (unsigned long long)bytes / 1024);
#if defined(__CUDACC__)
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        MSCCLPP_CUDATHROW(cudaStreamBeginCapture(*e.stream, cudaStreamCaptureModeThreadLocal));
        for (int i = 0; i < in_graph; i++)
            launch();
        MSCCLPP_CUDATHROW(cudaStreamEndCapture(*e.stream, &graph));
        MSCCLPP_CUDATHROW(cudaGraphInstantiate(&exec, graph, 0));
        time_us(e, [&] { cudaGraphLaunch(exec, *e.stream); });
        row(name,
            step_us(e, 20,
                    [&](int steps) {
                        for (int i = 0; i < steps; i++)
                            cudaGraphLaunch(exec, *e.stream);
                    }) /
                in_graph,
            "us");
        cudaGraphExecDestroy(exec);
        cudaGraphDestroy(graph);
#else
        row(name,
            step_us(e, in_graph,
                    [&](int steps) {
                        for (int i = 0; i < steps; i++)
                            launch();
                    }),
            "us, no graph");
#endif
    }
}

static void port_rows(ends &e)
{
    ProxyService service;
    const SemaphoreId id = service.buildAndAddSemaphore(*e.communicator, e.connection);
    const MemoryId source = service.addMemory(e.my_memory),
                   target = service.addMemory(e.peer_memory);
    const PortChannel channel = service.portChannel(id, target, source);
    service.startProxy(true);
    for (const uint64_t bytes :
         {(uint64_t)4, (uint64_t)1 << 20, (uint64_t)1 << 24, (uint64_t)1 << 27}) {
        if (bytes > e.mine->bytes())
            continue;
        const double us = step_us(e,
                                  is_quick           ? 8
                                  : bytes >= 1 << 27 ? 20
                                                     : 400,
                                  [&](int steps) {
                                      gshmem_launch(port_both, 1, 1, 0, *e.stream,
                                                    channel.deviceHandle(), bytes, steps);
                                  });
        char name[64];
        std::snprintf(name, sizeof name, "port channel, both directions, %llu B, with flush",
                      (unsigned long long)bytes);
        row(name, us, "us");
        if (bytes > 4)
            row(name, (double)bytes / us / 1000, "GB/s");
    }
    service.stopProxy();
}

/* ---- start ----------------------------------------------------------------------------------- */

static void run(const UniqueId &id)
{
    int n_devices = 0;
    MSCCLPP_CUDATHROW(cudaGetDeviceCount(&n_devices));
    MSCCLPP_CUDATHROW(cudaSetDevice(my_rank % n_devices));
    ends e;
    e.bootstrap = std::make_shared<TcpBootstrap>(my_rank, 2);
    e.bootstrap->initialize(id);
    e.communicator = std::make_unique<Communicator>(e.bootstrap);
    e.connection = e.communicator->connect(Transport::CudaIpc, 1 - my_rank).get();
    e.mine = std::make_unique<GpuBuffer<>>(is_quick ? 1 << 20 : 1 << 27);
    e.theirs = std::make_unique<GpuBuffer<>>(e.mine->bytes());
    e.packets = std::make_unique<GpuBuffer<>>(1 << 18);
    e.my_memory =
        e.communicator->registerMemory(e.mine->data(), e.mine->bytes(), Transport::CudaIpc);
    for (GpuBuffer<> *const memory : {e.theirs.get(), e.packets.get()}) {
        e.sent.push_back(
            e.communicator->registerMemory(memory->data(), memory->bytes(), Transport::CudaIpc));
        e.communicator->sendMemory(e.sent.back(), 1 - my_rank);
        (memory == e.theirs.get() ? e.peer_memory : e.peer_packets) =
            e.communicator->recvMemory(1 - my_rank).get();
    }
    e.stream = std::make_unique<CudaStreamWithFlags>(cudaStreamNonBlocking);
    push_rows(e);
    memory_rows(e);
    port_rows(e);
    e.bootstrap->barrier();
}

int main(int argc, char **argv)
{
    is_quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
    int ends[2];
    if (pipe(ends) != 0)
        return 1;
    const pid_t child = fork(); /* before CUDA */
    my_rank = child == 0;
    UniqueId id = {};
    try {
        if (child != 0) {
            id = TcpBootstrap::createUniqueId();
            if (write(ends[1], id.data(), id.size()) != (ssize_t)id.size())
                return 1;
        } else if (read(ends[0], id.data(), id.size()) != (ssize_t)id.size()) {
            return 1;
        }
        run(id);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "rank %d: %s\n", my_rank, e.what());
        _exit(1);
    }
    if (child == 0)
        return 0;
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
