/* SPDX-License-Identifier: Apache-2.0
 * Proves that programs in the names of 0.5 to 0.7 compile and run: every deprecated name, by one
 * rank that is connected with itself. Built twice: with -DMSCCLPP_COMPAT_05 ProxyChannel has no
 * memories and a handler may read ChannelTrigger; without it ProxyChannel is PortChannel. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <mscclpp/concurrency.hpp>
#include <mscclpp/nvls.hpp>
#include <mscclpp/nvls_device.hpp>
#include <mscclpp/packet.hpp>
#include <mscclpp/poll.hpp>
#include <mscclpp/proxy_channel.hpp>
#include <mscclpp/proxy_channel_device.hpp>
#include <mscclpp/sm_channel.hpp>
#include <mscclpp/sm_channel_device.hpp>
#include <gshmem/launch.h>

#include <type_traits>

#include "tests/test.h"

using namespace mscclpp;

constexpr int n_ints = 64;

static_assert(std::is_same_v<SmChannel, MemoryChannel> &&
              std::is_same_v<SmChannelDeviceHandle, MemoryChannelDeviceHandle> &&
              std::is_same_v<SmDevice2DeviceSemaphore, MemoryDevice2DeviceSemaphore> &&
              std::is_same_v<SmDevice2DeviceSemaphoreDeviceHandle,
                             MemoryDevice2DeviceSemaphoreDeviceHandle> &&
              std::is_same_v<SimpleProxyChannel, PortChannel> &&
              std::is_same_v<SimpleProxyChannelDeviceHandle, PortChannelDeviceHandle> &&
              std::is_same_v<BaseProxyChannel, BasePortChannel> &&
              std::is_same_v<BaseProxyChannelDeviceHandle, BasePortChannelDeviceHandle> &&
              std::is_same_v<DeviceHandle<SmChannel>, SmChannelDeviceHandle> &&
              std::is_same_v<DeviceHandle<SimpleProxyChannel>, SimpleProxyChannelDeviceHandle> &&
              std::is_same_v<DeviceHandle<ProxyChannel>, ProxyChannelDeviceHandle>);
static_assert(MSCCLPP_PROXY_FIFO_SIZE == DEFAULT_FIFO_SIZE && NUM_DEVICE_SYNCER_COUNTER == 3 &&
              ProxyHandlerResult::FlushFifoTailAndContinue == ProxyHandlerResult::Continue);
#if defined(MSCCLPP_COMPAT_05)
static_assert(std::is_same_v<ProxyChannel, BasePortChannel> &&
              std::is_same_v<ProxyChannelDeviceHandle, BasePortChannelDeviceHandle> &&
              sizeof(ChannelTrigger) == sizeof(ProxyTrigger));
#else
static_assert(std::is_same_v<ProxyChannel, PortChannel> &&
              std::is_same_v<ProxyChannelDeviceHandle, PortChannelDeviceHandle>);
#endif

/* All signals come back to the same channel. packets: of the channel's target. */
__global__ static void by_memory(SmChannelDeviceHandle channel, DeviceSyncer *syncer)
{
    const uint32_t t = threadIdx.x, n = blockDim.x;
    channel.put(0, 0, n_ints * sizeof(int), t, n);
    __syncthreads();
    if (t == 0) {
        channel.signal();
        channel.wait();
        channel.signalPacket();
        channel.semaphore_.signalPacket();
        channel.relaxedWait();
        channel.relaxedWait();
    }
    __syncthreads();
    channel.get(0, 0, n_ints * sizeof(int), t, n);
    __syncthreads();
    channel.putPackets(n_ints * sizeof(int), 0, n_ints * sizeof(int), t, n, 7);
    channel.getPackets(0, 0, n_ints * sizeof(int), t, n, 7);
    putPackets(channel.dst_, n_ints * sizeof(int), channel.src_, 0, n_ints * sizeof(int), t, n, 8);
    getPackets(channel.packetBuffer_, 0, channel.src_, 0, n_ints * sizeof(int), t, n, 8);
    LLPacket packet(make_uint2(1, 2), 9);
    mscclpp_assert_device(packet.flag1 == 9, "a packet's flag");
    POLL_MAYBE_JAILBREAK(packet.flag2 != 9, 10);
    OR_POLL_MAYBE_JAILBREAK(packet.flag1 != 9, packet.flag2 != 9, 10);
    syncer->sync((int)gridDim.x);
}

__global__ static void by_proxy(SimpleProxyChannelDeviceHandle channel,
                                BaseProxyChannelDeviceHandle base, MemoryId dst, MemoryId src)
{
    channel.put(0, 0, 16);
    channel.putWithSignal(16, 16);
    channel.wait();
    channel.putWithSignalAndFlush(32, 32, 16);
    while (!channel.poll()) {
    }
    channel.signal();
    channel.flush();
    channel.wait();
    base.put(dst, 48, src, 48, 16);
    base.flush();
}

static void run()
{
    auto bootstrap = std::make_shared<TcpBootstrap>(0, 1);
    bootstrap->initialize(TcpBootstrap::createUniqueId());
    Communicator communicator(bootstrap);
    /* behind its data the target has packets, which the rank sends itself */
    std::shared_ptr<int> source = detail::gpuCallocShared<int>(n_ints),
                         target = detail::gpuCallocShared<int>(3 * n_ints);
    const RegisteredMemory mine = communicator.registerMemory(source.get(), n_ints * sizeof(int),
                                                              Transport::CudaIpc),
                           inbox = communicator.registerMemory(
                               target.get(), 3 * n_ints * sizeof(int), Transport::CudaIpc);
    communicator.sendMemoryOnSetup(inbox, 0, 5);
    NonblockingFuture<RegisteredMemory> theirs = communicator.recvMemoryOnSetup(0, 5);
    NonblockingFuture<Connection> connection =
        communicator.connectOnSetup(0, 6, Transport::CudaIpc);
    std::shared_future<Connection> second = communicator.connect(0, 7, Transport::CudaIpc);
    /* in 0.7 and before connections were pointers */
    NonblockingFuture<std::shared_ptr<Connection>> pointer =
        communicator.connectOnSetup(0, 8, Transport::CudaIpc);
    communicator.setup();
    std::vector<std::shared_ptr<Connection>> pointers = {pointer.get(), connection.get()};
    CHECK(pointers[0]->transport() == Transport::CudaIpc &&
          Connection(pointers[1]) == connection.get() &&
          connection.get()->transport() == Transport::CudaIpc);
    CHECK(!(Connection(pointers[0]) == Connection(pointers[1])));
    CHECK_EQ(communicator.tagOf(pointers[0]), 8);
    CHECK_EQ(pointers[0]->getMaxWriteQueueSize(), -1);

    std::vector<int> values(n_ints), seen(n_ints);
    for (int i = 0; i < n_ints; i++)
        values[(size_t)i] = 3 * i + 1;
    gpuMemcpy(source.get(), values.data(), n_ints, cudaMemcpyHostToDevice);
    auto semaphore = std::make_shared<SmDevice2DeviceSemaphore>(communicator, pointers[1]);
    std::shared_ptr<int> copied = allocSharedCuda<int>(n_ints);
    memcpyCuda<int>(copied.get(), source.get(), n_ints, cudaMemcpyDeviceToDevice);
    std::shared_ptr<int[]> on_host = makeSharedCudaHost<int[]>(n_ints);
    memcpyCuda<int>(on_host.get(), copied.get(), n_ints, cudaMemcpyDeviceToHost);
    CHECK(std::equal(values.begin(), values.end(), on_host.get()));
    CHECK_EQ(*makeSharedCudaHost<int>(12), 12);
    CHECK_EQ(makeSharedCudaHost<int[]>(3)[2], 0);
    SmChannel memory(semaphore, theirs.get(), source.get(), target.get() + n_ints);
    auto syncer = detail::gpuCallocShared<DeviceSyncer>();
    CHECK(gshmem_launch(by_memory, 1, 32, 0, nullptr, deviceHandle(memory), syncer.get()) ==
          cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    gpuMemcpy(seen.data(), target.get(), n_ints, cudaMemcpyDeviceToHost);
    CHECK(seen == values);
    gpuMemcpy(seen.data(), source.get(), n_ints, cudaMemcpyDeviceToHost);
    CHECK(seen == values);

    gpuMemset(target.get(), 0, n_ints);
    ProxyService service;
    const SemaphoreId id = service.buildAndAddSemaphore(communicator, pointers[0]);
    const MemoryId src = service.addMemory(mine), dst = service.addMemory(theirs.get());
    SimpleProxyChannel simple(service.proxyChannel(id), dst, src);
    BaseProxyChannel base = service.proxyChannel(id);
#if defined(MSCCLPP_COMPAT_05)
    ProxyChannel channel = service.proxyChannel(id);
#else
    ProxyChannel channel = service.portChannel(id, dst, src);
#endif
    CHECK_EQ(deviceHandle(channel).semaphoreId_, id);
    service.startProxy();
    CHECK(gshmem_launch(by_proxy, 1, 1, 0, nullptr, deviceHandle(simple), deviceHandle(base), dst,
                        src) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    service.stopProxy();
    gpuMemcpy(seen.data(), target.get(), 16, cudaMemcpyDeviceToHost);
    CHECK(std::equal(seen.begin(), seen.begin() + 16, values.begin()));

    Fifo fifo;
    CHECK_EQ(fifo.poll().fst, 0);
    fifo.flushTail();
    fifo.flushTail(true);
#if defined(MSCCLPP_COMPAT_05)
    const ChannelTrigger made(TriggerData | TriggerFlag, 3, 64, 2, 32, 16, 9),
        read(ProxyTrigger(TriggerData | TriggerFlag, 3, 64, 2, 32, 16, 9));
    CHECK(made.value.fst == read.value.fst && made.value.snd == read.value.snd);
    CHECK(made.fields.size == 16 && made.fields.srcOffset == 32 && made.fields.dstOffset == 64 &&
          made.fields.srcMemoryId == 2 && made.fields.dstMemoryId == 3 && made.fields.type == 3 &&
          made.fields.chanId == 9 && made.fields.reserved == 0);
#endif
}

int main()
{
    try {
        run();
    } catch (const BaseError &e) {
        fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return test_result();
}
