/* SPDX-License-Identifier: Apache-2.0
 * Switch channels, the host's side. They need multicast memory (NVLink SHARP), which this library
 * does not offer: isNvlsSupported() is false, and each way to make a connection throws
 * InvalidUsage. */
#ifndef MSCCLPP_SWITCH_CHANNEL_HPP_
#define MSCCLPP_SWITCH_CHANNEL_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <mscclpp/core.hpp>
#include <mscclpp/switch_channel_device.hpp>

#if !defined(GSHMEM_MSCCLPP_LIBRARY)
#include <mscclpp/gpu_utils.hpp>
#endif

namespace mscclpp
{

class NvlsConnection;

struct SwitchChannel {
  private:
    void *devicePtr_;
    std::shared_ptr<void> mcPtr_;
    size_t bufferSize_;

  public:
    SwitchChannel(void *devicePtr, std::shared_ptr<void> mcPtr, size_t bufferSize)
        : devicePtr_(devicePtr), mcPtr_(std::move(mcPtr)), bufferSize_(bufferSize)
    {
    }

    using DeviceHandle = SwitchChannelDeviceHandle;
    DeviceHandle deviceHandle() const
    {
        DeviceHandle handle = {};
        handle.devicePtr = devicePtr_;
        handle.mcPtr = mcPtr_.get();
        handle.bufferSize = bufferSize_;
        return handle;
    }
    void *getDevicePtr() { return devicePtr_; }
};

class NvlsConnection
{
  public:
    NvlsConnection() = delete;
    NvlsConnection(size_t bufferSize, int numDevices);
    NvlsConnection(const std::vector<char> &data);

    std::vector<char> serialize();
    /* devicePtr: a CUdeviceptr. */
    SwitchChannel bindAllocatedMemory(unsigned long long devicePtr, size_t size);
    size_t getMultiCastMinGranularity();
    void attachBarrier(int nRanks);
};

std::shared_ptr<NvlsConnection> connectNvlsCollective(std::shared_ptr<Communicator> comm,
                                                      std::vector<int> allRanks, size_t bufferSize);

} // namespace mscclpp

#endif
