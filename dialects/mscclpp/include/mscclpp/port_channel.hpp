/* SPDX-License-Identifier: Apache-2.0
 * Port channels, the host's side: a service whose proxy carries out what kernels push
 * (port_channel_device.hpp). */
#ifndef MSCCLPP_PORT_CHANNEL_HPP_
#define MSCCLPP_PORT_CHANNEL_HPP_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <mscclpp/core.hpp>
#include <mscclpp/port_channel_device.hpp>
#include <mscclpp/proxy.hpp>
#include <mscclpp/semaphore.hpp>

namespace mscclpp
{

namespace detail
{
/* Where a connection's flushes are published, zero, of the calling thread's device; nullptr: in
 * mapped host memory, which the program allocates. */
std::shared_ptr<uint64_t> flushWord(const Connection &connection);
} // namespace detail

struct BasePortChannel;
struct PortChannel;

/* What a Communicator's user starts and stops; programs derive services of their own from it. */
class BaseProxyService
{
  public:
    BaseProxyService() = default;
    virtual ~BaseProxyService() = default;
    virtual void startProxy(bool blocking = false) = 0;
    virtual void stopProxy() = 0;
};

/* Carries out triggers of the types TriggerData (a write from memory srcMemoryId to dstMemoryId by
 * the semaphore's connection), TriggerFlag (a signal) and TriggerSync (a flush), in that order if
 * one has several. A number that is none of these, or a range beyond a memory, is the handler's
 * InvalidUsage: the service stops as Proxy says.
 *
 * add...: before or while it runs, by one thread at a time. */
class ProxyService : public BaseProxyService
{
  public:
    /* On the calling thread's device. InvalidUsage: fifoSize is no power of two. */
    ProxyService(int fifoSize = DEFAULT_FIFO_SIZE);
    ProxyService(std::shared_ptr<Fifo> fifo, std::function<void()> threadInit);
    ~ProxyService() override;

    /* InvalidUsage: there are 2^10 of them, and of memories 2^9. */
    SemaphoreId buildAndAddSemaphore(Communicator &communicator, const Connection &connection);
    SemaphoreId addSemaphore(const Semaphore &semaphore);
    SemaphoreId addSemaphore(std::shared_ptr<Host2DeviceSemaphore> semaphore);
    SemaphoreId addSemaphore(std::shared_ptr<Host2DeviceSemaphore> semaphore,
                             std::shared_ptr<uint64_t> flushDonePos);
    MemoryId addMemory(RegisteredMemory memory);
    /* What addMemory returns next. */
    MemoryId nextMemoryId(uint32_t count = 1) const;

    /* InvalidUsage: there is no such number. */
    std::shared_ptr<Host2DeviceSemaphore> semaphore(SemaphoreId id) const;
    BasePortChannel basePortChannel(SemaphoreId id);
    PortChannel portChannel(SemaphoreId id, MemoryId dst, MemoryId src);
    /* The name of 0.5. */
    BasePortChannel proxyChannel(SemaphoreId id);

    /* Proxy::start and stop. */
    void startProxy(bool blocking = false) override;
    void stopProxy() override;

    struct Impl;

  private:
    std::shared_ptr<Impl> pimpl_;
};

/* A channel lives as long as a kernel uses its handle. */
struct BasePortChannel {
  protected:
    SemaphoreId semaphoreId_ = 0;
    std::shared_ptr<Host2DeviceSemaphore> semaphore_;
    std::shared_ptr<Proxy> proxy_;
    std::shared_ptr<uint64_t> flushDonePos_;

  public:
    BasePortChannel() = default;
    /* flushDonePos: where the proxy publishes flushes, host memory that the device maps, or of a
     * near connection also memory of the device; nullptr: the proxy's handler completes them before
     * it returns. */
    BasePortChannel(SemaphoreId semaphoreId, std::shared_ptr<Host2DeviceSemaphore> semaphore,
                    std::shared_ptr<Proxy> proxy, std::shared_ptr<uint64_t> flushDonePos = nullptr);
    BasePortChannel(const BasePortChannel &other) = default;
    BasePortChannel &operator=(const BasePortChannel &other) = default;

    using DeviceHandle = BasePortChannelDeviceHandle;
    DeviceHandle deviceHandle() const;
};

struct PortChannel : public BasePortChannel {
  private:
    MemoryId dst_ = 0;
    MemoryId src_ = 0;

  public:
    PortChannel() = default;
    PortChannel(SemaphoreId semaphoreId, std::shared_ptr<Host2DeviceSemaphore> semaphore,
                std::shared_ptr<Proxy> proxy, MemoryId dst, MemoryId src,
                std::shared_ptr<uint64_t> flushDonePos = nullptr);
    /* The form of 0.5. */
    PortChannel(BasePortChannel channel, MemoryId dst, MemoryId src);
    PortChannel(const PortChannel &other) = default;
    PortChannel &operator=(const PortChannel &other) = default;

    using DeviceHandle = PortChannelDeviceHandle;
    DeviceHandle deviceHandle() const;
};

using BaseProxyChannel [[deprecated("today's name is BasePortChannel")]] = BasePortChannel;
#if defined(MSCCLPP_COMPAT_05)
/* In 0.5 the name without "Simple" had no memories. */
using ProxyChannel = BasePortChannel;
#else
using ProxyChannel [[deprecated("today's name is PortChannel")]] = PortChannel;
#endif
using SimpleProxyChannel = PortChannel; /* the name of 0.5 */

#if !defined(GSHMEM_MSCCLPP_LIBRARY)
inline ProxyService::ProxyService(int fifoSize)
    : ProxyService(std::make_shared<Fifo>(fifoSize), detail::threadInitHere())
{
}
inline SemaphoreId ProxyService::addSemaphore(std::shared_ptr<Host2DeviceSemaphore> semaphore)
{
    std::shared_ptr<uint64_t> word = detail::flushWord(semaphore->connection());
    return addSemaphore(std::move(semaphore), word ? word : detail::mappedHost<uint64_t>());
}
inline SemaphoreId ProxyService::addSemaphore(const Semaphore &semaphore)
{
    return addSemaphore(std::make_shared<Host2DeviceSemaphore>(semaphore));
}
inline SemaphoreId ProxyService::buildAndAddSemaphore(Communicator &communicator,
                                                      const Connection &connection)
{
    return addSemaphore(std::make_shared<Host2DeviceSemaphore>(communicator, connection));
}
#endif

} // namespace mscclpp

#endif
