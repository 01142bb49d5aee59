/* SPDX-License-Identifier: Apache-2.0
 * Memory channels, the host's side: a semaphore, and the memories of both ends. They have to live
 * while a kernel uses a handle. memory_channel_device.hpp has what kernels do with it. */
#ifndef MSCCLPP_MEMORY_CHANNEL_HPP_
#define MSCCLPP_MEMORY_CHANNEL_HPP_

#include <cstddef>
#include <memory>
#include <utility>

#include <mscclpp/core.hpp>
#include <mscclpp/memory_channel_device.hpp>
#include <mscclpp/semaphore.hpp>

namespace mscclpp
{

struct BaseMemoryChannel {
  protected:
    std::shared_ptr<MemoryDevice2DeviceSemaphore> semaphore_;

  public:
    BaseMemoryChannel() = default;
    BaseMemoryChannel(std::shared_ptr<MemoryDevice2DeviceSemaphore> semaphore);
    BaseMemoryChannel(const Semaphore &semaphore);
    BaseMemoryChannel(const BaseMemoryChannel &other) = default;
    BaseMemoryChannel &operator=(const BaseMemoryChannel &other) = default;

    using DeviceHandle = BaseMemoryChannelDeviceHandle;
    DeviceHandle deviceHandle() const;
};

struct MemoryChannel : public BaseMemoryChannel {
  private:
    RegisteredMemory dst_;
    RegisteredMemory src_;
    void *srcPtr_ = nullptr;
    void *packetBuffer_ = nullptr;
    size_t srcBytes_ = 0; /* 0: not known */

  public:
    MemoryChannel() = default;
    /* dst: of the other end, src: of this one. packetBuffer: this end's memory in which the other
     * end writes packets, which unpackPackets reads. InvalidUsage: dst is not mapped here. */
    MemoryChannel(std::shared_ptr<MemoryDevice2DeviceSemaphore> semaphore, RegisteredMemory dst,
                  RegisteredMemory src, void *packetBuffer = nullptr);
    MemoryChannel(const Semaphore &semaphore, RegisteredMemory dst, RegisteredMemory src,
                  void *packetBuffer = nullptr);
    /* The form of 0.7 and before. */
    MemoryChannel(std::shared_ptr<MemoryDevice2DeviceSemaphore> semaphore, RegisteredMemory dst,
                  void *src, void *packetBuffer = nullptr);

    using DeviceHandle = MemoryChannelDeviceHandle;
    DeviceHandle deviceHandle() const;
};

using SmChannel [[deprecated("today's name is MemoryChannel")]] = MemoryChannel;

#if !defined(GSHMEM_MSCCLPP_LIBRARY)
inline BaseMemoryChannel::BaseMemoryChannel(const Semaphore &semaphore)
    : BaseMemoryChannel(std::make_shared<MemoryDevice2DeviceSemaphore>(semaphore))
{
}
inline MemoryChannel::MemoryChannel(const Semaphore &semaphore, RegisteredMemory dst,
                                    RegisteredMemory src, void *packetBuffer)
    : MemoryChannel(std::make_shared<MemoryDevice2DeviceSemaphore>(semaphore), std::move(dst),
                    std::move(src), packetBuffer)
{
}
#endif

} // namespace mscclpp

#endif
