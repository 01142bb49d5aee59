/* SPDX-License-Identifier: Apache-2.0
 * Proves at compile time that the names of channels exist, with the shapes that programs rely on:
 * today's and earlier ones, in kernels and on the host. */
#include <mscclpp/atomic_device.hpp>
#include <mscclpp/bulk_device.hpp>
#include <mscclpp/concurrency.hpp>
#include <mscclpp/copy_device.hpp>
#include <mscclpp/nvls.hpp>
#include <mscclpp/packet.hpp>
#include <mscclpp/poll.hpp>
#include <mscclpp/proxy_channel.hpp>
#include <mscclpp/sm_channel.hpp>

#include <type_traits>

using namespace mscclpp;

/* ---- handles are plain values with public members -------------------------------------------- */

template <class Handle>
constexpr bool is_plain =
    std::is_trivially_copyable_v<Handle> &&std::is_default_constructible_v<Handle>;
static_assert(is_plain<FifoDeviceHandle> && is_plain<ProxyTrigger> &&
              is_plain<MemoryChannelDeviceHandle> && is_plain<BaseMemoryChannelDeviceHandle> &&
              is_plain<PortChannelDeviceHandle> && is_plain<BasePortChannelDeviceHandle> &&
              is_plain<Host2DeviceSemaphoreDeviceHandle> &&
              is_plain<MemoryDevice2DeviceSemaphoreDeviceHandle> &&
              is_plain<SwitchChannelDeviceHandle>);
static_assert(sizeof(ProxyTrigger) == 16 && alignof(ProxyTrigger) == 16 &&
              sizeof(LL16Packet) == 16 && alignof(LL16Packet) == 16 && sizeof(LL8Packet) == 8 &&
              alignof(LL8Packet) == 8 && sizeof(BulkBarrier) == 8);
static_assert(std::is_same_v<LLPacket, LL16Packet> &&
              std::is_same_v<PacketPayload<LL16Packet>, uint2> &&
              std::is_same_v<PacketPayload<LL8Packet>, uint32_t>);
static_assert(
    std::is_same_v<DeviceHandle<MemoryChannel>, MemoryChannelDeviceHandle> &&
    std::is_same_v<DeviceHandle<BaseMemoryChannel>, BaseMemoryChannelDeviceHandle> &&
    std::is_same_v<DeviceHandle<PortChannel>, PortChannelDeviceHandle> &&
    std::is_same_v<DeviceHandle<BasePortChannel>, BasePortChannelDeviceHandle> &&
    std::is_same_v<DeviceHandle<SwitchChannel>, SwitchChannelDeviceHandle> &&
    std::is_same_v<DeviceHandle<Host2DeviceSemaphore>, Host2DeviceSemaphoreDeviceHandle> &&
    std::is_same_v<DeviceHandle<MemoryDevice2DeviceSemaphore>,
                   MemoryDevice2DeviceSemaphoreDeviceHandle>);
static_assert(
    std::is_same_v<decltype(FifoDeviceHandle::triggers), ProxyTrigger *> &&
    std::is_same_v<decltype(FifoDeviceHandle::head), uint64_t *> &&
    std::is_same_v<decltype(FifoDeviceHandle::tail), uint64_t *> &&
    std::is_same_v<decltype(FifoDeviceHandle::tailCache), uint64_t *> &&
    std::is_same_v<decltype(FifoDeviceHandle::size), int> &&
    std::is_same_v<decltype(MemoryChannelDeviceHandle::dst_), void *> &&
    std::is_same_v<decltype(MemoryChannelDeviceHandle::src_), void *> &&
    std::is_same_v<decltype(MemoryChannelDeviceHandle::packetBuffer_), void *> &&
    std::is_same_v<decltype(PortChannelDeviceHandle::dst_), MemoryId> &&
    std::is_same_v<decltype(BasePortChannelDeviceHandle::semaphoreId_), SemaphoreId> &&
    std::is_same_v<decltype(BasePortChannelDeviceHandle::flushDonePos_), uint64_t *> &&
    std::is_same_v<decltype(MemoryDevice2DeviceSemaphoreDeviceHandle::inboundToken), uint64_t *> &&
    std::is_same_v<decltype(MemoryDevice2DeviceSemaphoreDeviceHandle::remoteInboundToken),
                   uint64_t *>);
static_assert(
    std::is_same_v<decltype(FifoDeviceHandle::sizeMask), uint32_t> &&
    std::is_same_v<decltype(FifoDeviceHandle::sizeShift), uint32_t> &&
    std::is_same_v<decltype(PortChannelDeviceHandle::src_), MemoryId> &&
    std::is_same_v<decltype(PortChannelDeviceHandle::fifo_), FifoDeviceHandle> &&
    std::is_same_v<decltype(PortChannelDeviceHandle::semaphore_),
                   Host2DeviceSemaphoreDeviceHandle> &&
    std::is_same_v<decltype(MemoryChannelDeviceHandle::semaphore_),
                   MemoryDevice2DeviceSemaphoreDeviceHandle> &&
    std::is_same_v<decltype(MemoryDevice2DeviceSemaphoreDeviceHandle::expectedInboundToken),
                   uint64_t *> &&
    std::is_same_v<decltype(Host2DeviceSemaphoreDeviceHandle::inboundToken), uint64_t *> &&
    std::is_same_v<decltype(Host2DeviceSemaphoreDeviceHandle::expectedInboundToken), uint64_t *> &&
    std::is_same_v<decltype(SwitchChannelDeviceHandle::devicePtr), void *> &&
    std::is_same_v<decltype(SwitchChannelDeviceHandle::mcPtr), void *> &&
    std::is_same_v<decltype(SwitchChannelDeviceHandle::bufferSize), size_t> &&
    std::is_same_v<decltype(SwitchChannelDeviceHandle::barrier_),
                   SwitchDevice2DeviceSemaphoreDeviceHandle> &&
    std::is_same_v<SemaphoreId, uint32_t> && std::is_same_v<MemoryId, uint32_t> &&
    std::is_same_v<TriggerType, uint64_t> &&
    std::is_same_v<ProxyHandler, std::function<ProxyHandlerResult(ProxyTrigger)>> &&
    ProxyHandlerResult::Continue != ProxyHandlerResult::Stop);
static_assert(TriggerData == 1 && TriggerFlag == 2 && TriggerSync == 4 && TriggerBitsSize == 32 &&
              TriggerBitsOffset == 32 && TriggerBitsMemoryId == 9 && TriggerBitsType == 3 &&
              TriggerBitsSemaphoreId == 10 && TriggerBitsFifoReserved == 1 &&
              DEFAULT_FIFO_SIZE == 512);

/* ---- host classes ---------------------------------------------------------------------------- */

static_assert(std::is_abstract_v<BaseProxyService> &&
              std::is_base_of_v<BaseProxyService, ProxyService> &&
              std::is_base_of_v<BasePortChannel, PortChannel> &&
              std::is_base_of_v<BaseMemoryChannel, MemoryChannel>);
static_assert(
    std::is_constructible_v<Proxy, ProxyHandler> &&
    std::is_constructible_v<Proxy, ProxyHandler, int> &&
    std::is_constructible_v<Proxy, ProxyHandler, std::function<void()>, int> &&
    std::is_constructible_v<Fifo> && std::is_constructible_v<Fifo, int> &&
    std::is_constructible_v<MemoryChannel, Semaphore, RegisteredMemory, RegisteredMemory, void *> &&
    std::is_constructible_v<MemoryChannel, std::shared_ptr<MemoryDevice2DeviceSemaphore>,
                            RegisteredMemory, RegisteredMemory> &&
    std::is_constructible_v<NvlsConnection, size_t, int> &&
    std::is_constructible_v<NvlsConnection, const std::vector<char> &> &&
    std::is_constructible_v<BaseMemoryChannel, const Semaphore &> &&
    std::is_constructible_v<BaseMemoryChannel, std::shared_ptr<MemoryDevice2DeviceSemaphore>> &&
    std::is_constructible_v<Host2HostSemaphore, const Semaphore &> &&
    std::is_constructible_v<Host2DeviceSemaphore, const Semaphore &> &&
    std::is_constructible_v<MemoryDevice2DeviceSemaphore, const Semaphore &> &&
    std::is_constructible_v<MemoryDevice2DeviceSemaphore, Communicator &, const Connection &> &&
    std::is_constructible_v<Host2HostSemaphore, Communicator &, const Connection &> &&
    std::is_constructible_v<Host2DeviceSemaphore, Communicator &, const Connection &>);

/* A member function of exactly that type. */
#define IS(name, ...) static_assert(sizeof(static_cast<__VA_ARGS__>(&name)) > 0)
IS(Fifo::poll, bool (Fifo::*)(ProxyTrigger &));
IS(Fifo::pop, void (Fifo::*)());
IS(Fifo::tail, uint64_t (Fifo::*)() const);
IS(Fifo::size, int (Fifo::*)() const);
IS(Fifo::deviceHandle, FifoDeviceHandle (Fifo::*)() const);
IS(Proxy::start, void (Proxy::*)(bool));
IS(Proxy::stop, void (Proxy::*)());
IS(Proxy::fifo, std::shared_ptr<Fifo> (Proxy::*)());
IS(BaseProxyService::startProxy, void (BaseProxyService::*)(bool));
IS(BaseProxyService::stopProxy, void (BaseProxyService::*)());
IS(ProxyService::buildAndAddSemaphore,
   SemaphoreId (ProxyService::*)(Communicator &, const Connection &));
IS(ProxyService::addSemaphore, SemaphoreId (ProxyService::*)(const Semaphore &));
IS(ProxyService::addSemaphore,
   SemaphoreId (ProxyService::*)(std::shared_ptr<Host2DeviceSemaphore>));
IS(ProxyService::addMemory, MemoryId (ProxyService::*)(RegisteredMemory));
IS(ProxyService::nextMemoryId, MemoryId (ProxyService::*)(uint32_t) const);
IS(ProxyService::semaphore,
   std::shared_ptr<Host2DeviceSemaphore> (ProxyService::*)(SemaphoreId) const);
IS(ProxyService::basePortChannel, BasePortChannel (ProxyService::*)(SemaphoreId));
IS(ProxyService::portChannel, PortChannel (ProxyService::*)(SemaphoreId, MemoryId, MemoryId));
IS(Host2DeviceSemaphore::connection, Connection &(Host2DeviceSemaphore::*)());
IS(Host2DeviceSemaphore::signal, void (Host2DeviceSemaphore::*)());
IS(Host2HostSemaphore::connection, Connection &(Host2HostSemaphore::*)());
IS(Host2HostSemaphore::signal, void (Host2HostSemaphore::*)());
IS(Host2HostSemaphore::poll, bool (Host2HostSemaphore::*)());
IS(Host2HostSemaphore::wait, void (Host2HostSemaphore::*)(int64_t));
IS(MemoryDevice2DeviceSemaphore::connection, Connection &(MemoryDevice2DeviceSemaphore::*)());
IS(Host2DeviceSemaphore::deviceHandle,
   Host2DeviceSemaphoreDeviceHandle (Host2DeviceSemaphore::*)() const);
IS(MemoryDevice2DeviceSemaphore::deviceHandle,
   MemoryDevice2DeviceSemaphoreDeviceHandle (MemoryDevice2DeviceSemaphore::*)() const);
IS(MemoryChannel::deviceHandle, MemoryChannelDeviceHandle (MemoryChannel::*)() const);
IS(BaseMemoryChannel::deviceHandle, BaseMemoryChannelDeviceHandle (BaseMemoryChannel::*)() const);
IS(PortChannel::deviceHandle, PortChannelDeviceHandle (PortChannel::*)() const);
IS(BasePortChannel::deviceHandle, BasePortChannelDeviceHandle (BasePortChannel::*)() const);
IS(SwitchChannel::deviceHandle, SwitchChannelDeviceHandle (SwitchChannel::*)() const);
IS(NvlsConnection::serialize, std::vector<char> (NvlsConnection::*)());
IS(NvlsConnection::bindAllocatedMemory,
   SwitchChannel (NvlsConnection::*)(unsigned long long, size_t));
IS(NvlsConnection::getMultiCastMinGranularity, size_t (NvlsConnection::*)());
IS(NvlsConnection::attachBarrier, void (NvlsConnection::*)(int));
IS(SwitchChannel::getDevicePtr, void *(SwitchChannel::*)());
IS(connectNvlsCollective,
   std::shared_ptr<NvlsConnection> (*)(std::shared_ptr<Communicator>, std::vector<int>, size_t));
#undef IS

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#if !defined(__CUDACC__) /* nvcc warns by itself */
static_assert(std::is_same_v<SmChannel, MemoryChannel> &&
              std::is_same_v<ProxyChannel, PortChannel> &&
              std::is_same_v<BaseProxyChannel, BasePortChannel> &&
              std::is_same_v<SmDevice2DeviceSemaphore, MemoryDevice2DeviceSemaphore> &&
              std::is_same_v<SmChannelDeviceHandle, MemoryChannelDeviceHandle>);
#endif
#pragma GCC diagnostic pop
static_assert(std::is_same_v<SimpleProxyChannel, PortChannel> &&
              std::is_same_v<SimpleProxyChannelDeviceHandle, PortChannelDeviceHandle>);

/* ---- in kernels ------------------------------------------------------------------------------ */

__global__ static void every_call(MemoryChannelDeviceHandle m, PortChannelDeviceHandle p,
                                  BasePortChannelDeviceHandle b, SwitchChannelDeviceHandle s,
                                  void *memory, DeviceSyncer *syncer, DeviceSemaphore *semaphore)
{
    const uint32_t t = threadIdx.x, n = blockDim.x;
    m.put<8, false>(0, 0, 64, t, n);
    m.put(0, 64, t, n);
    m.get<4>(0, 0, 64, t, n);
    m.get(0, 64, t, n);
    m.write<int>(0, m.read<int>(1));
    m.putPackets(0, 0, 64, t, n, 1);
    m.putPackets<LL8Packet>(0, 0, 64, t, n, 1);
    const uint2 two = m.unpackPacket(0, 1);
    const uint32_t one = m.unpackPacket<LL8Packet>(0, 1, -1);
    m.unpackPackets(0, 0, 64, t, n, 1);
    m.getPackets<LL8Packet>(0, 0, 64, t, n, 1);
    m.signal();
    m.relaxedSignal();
    m.signalPacket();
    m.wait();
    m.relaxedWait(100);
    m.semaphore_.wait(m.poll());
    p.put(0, 0, 64);
    p.put(0, 64);
    p.signal();
    p.putWithSignal(0, 0, 64);
    p.putWithSignal(0, 64);
    p.putWithSignalAndFlush(0, 0, 64);
    p.putWithSignalAndFlush(0, 64);
    p.flush();
    p.wait(p.poll());
    b.put(1, 0, 0, 0, 64);
    b.put(1, 0, 0, 64);
    b.putWithSignal(1, 0, 0, 0, 64);
    b.putWithSignalAndFlush(MemoryId(1), uint64_t(0), MemoryId(0), uint64_t(0), uint64_t(64));
    b.fifo_.sync(b.fifo_.push({TriggerFlag, 0, 0, 0, 0, 1, 5}));
    if (b.fifo_.poll(7))
        b.semaphore_.wait();
    copy(memory, m.src_, 64, t, n);
    copyToPackets<LL16Packet>(memory, m.src_, 64, t, n, 1);
    copyFromPackets<LL8Packet>(m.src_, memory, 64, t, n, 1);
    write<uint32_t>(memory, 0, read<uint32_t>(memory, 1) + two.x + one);
    syncer->sync((int)gridDim.x);
    semaphore->set(1);
    semaphore->acquire();
    semaphore->release();
    ProxyTrigger trigger(3, 4);
    trigger.fst = trigger.fields.size + trigger.fields.srcOffset + trigger.fields.dstOffset +
                  trigger.fields.srcMemoryId + trigger.fields.dstMemoryId;
    trigger.snd = trigger.fields.type + trigger.fields.semaphoreId + trigger.fields.reserved;
    b.fifo_.push(trigger, 10);
    LL16Packet packet;
    packet.write(1, 2, 3);
    packet.write((uint64_t)1, 3);
    packet.write(packet.read(3, 10), packet.flag1 + packet.flag2);
    uint2 pair;
    LL8Packet small(packet.readOnce(3, pair), 3);
    small.write(packet.data1 + packet.data2, 3);
    uint32_t single;
    if (small.readOnce(3, single) || small.read(3, 10) == small.data + small.flag)
        small.clear();
    packet.clear();
    uint64_t *const word = static_cast<uint64_t *>(memory);
    atomicStore(word, atomicFetchAdd(word, (uint64_t)1, memoryOrderRelaxed), memoryOrderRelease);
    POLL_MAYBE_JAILBREAK((atomicLoad<uint64_t, scopeDevice>(word, memoryOrderAcquire) == 0), 1000);
    OR_POLL_MAYBE_JAILBREAK(*word == 1, *word == 2, 1000);
    MSCCLPP_ASSERT_DEVICE(*word != 3, "a text");
    s.broadcast<float>(0, s.reduce<float>(0));
    s.barrier().signal();
    s.barrier().wait();
    s.barrier().relaxedSignal();
    s.barrier().relaxedWait();
    SwitchChannelDeviceHandle::multimemStore(
        SwitchChannelDeviceHandle::multimemLoadReduce(static_cast<uint32_t *>(memory)),
        static_cast<uint32_t *>(memory));
    SwitchChannelDeviceHandle::multimemStoreReduce(one, static_cast<uint32_t *>(memory));
#if MSCCLPP_BULK_AVAILABLE
    __shared__ BulkBarrier barrier;
    barrier.init(2);
    barrier.relaxedInit();
    barrier.expect(16);
    barrier.arrive();
    barrier.arriveAndExpect(16);
    uint32_t phase = barrier.poll(0);
    barrier.wait(phase);
    bulkLoad(s.devicePtr, memory, 16, barrier);
    bulkFence();
    bulkStore(memory, s.devicePtr, 16);
    bulkReduceStore<float, BulkRedOp::Add>(memory, s.devicePtr, 16);
    bulkReduceStore<uint32_t>(memory, s.devicePtr, 16);
    bulkReduceStore<__nv_bfloat16>(memory, s.devicePtr, 16);
    bulkStoreCommit();
    bulkStoreWaitSource<1>();
    bulkStoreWait<0>();
    barrier.invalidate();
#endif
}

int main()
{
    (void)every_call;
    return 0;
}
