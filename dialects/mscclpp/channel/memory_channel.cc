// SPDX-License-Identifier: Apache-2.0
#include <mscclpp/memory_channel.hpp>

#include <utility>

namespace mscclpp
{

BaseMemoryChannel::BaseMemoryChannel(std::shared_ptr<MemoryDevice2DeviceSemaphore> semaphore)
    : semaphore_(std::move(semaphore))
{
    if (!semaphore_) {
        throw Error("a memory channel without a semaphore", ErrorCode::InvalidUsage);
    }
}

BaseMemoryChannelDeviceHandle BaseMemoryChannel::deviceHandle() const
{
    return BaseMemoryChannelDeviceHandle(semaphore_->deviceHandle());
}

MemoryChannel::MemoryChannel(std::shared_ptr<MemoryDevice2DeviceSemaphore> semaphore,
                             RegisteredMemory dst, void *src, void *packetBuffer)
    : BaseMemoryChannel(std::move(semaphore)), dst_(std::move(dst)), srcPtr_(src),
      packetBuffer_(packetBuffer)
{
    if (dst_.data() == nullptr) {
        throw Error("a memory channel to memory that is not mapped here: it is another host's, or "
                    "not shared by CudaIpc",
                    ErrorCode::InvalidUsage);
    }
}

MemoryChannel::MemoryChannel(std::shared_ptr<MemoryDevice2DeviceSemaphore> semaphore,
                             RegisteredMemory dst, RegisteredMemory src, void *packetBuffer)
    : MemoryChannel(std::move(semaphore), std::move(dst), src.data(), packetBuffer)
{
    srcBytes_ = src.size();
    src_ = std::move(src);
}

MemoryChannelDeviceHandle MemoryChannel::deviceHandle() const
{
    return MemoryChannelDeviceHandle(semaphore_->deviceHandle(), dst_.data(), srcPtr_,
                                     packetBuffer_, dst_.size(), srcBytes_);
}

} // namespace mscclpp
