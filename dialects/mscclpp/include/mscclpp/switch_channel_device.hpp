/* SPDX-License-Identifier: Apache-2.0
 * Switch channels as kernels see them. They need multicast memory, which this library does not
 * offer: connectNvlsCollective fails on the host (switch_channel.hpp), and isNvlsSupported() is
 * false. The names exist so that programs that ask first compile; a kernel that calls one without a
 * valid handle stops with a fault. */
#ifndef MSCCLPP_SWITCH_CHANNEL_DEVICE_HPP_
#define MSCCLPP_SWITCH_CHANNEL_DEVICE_HPP_

#include <cstddef>
#include <cstdint>
#include "device.hpp"
#include "semaphore_device.hpp"

#if defined(MSCCLPP_DEVICE_COMPILE)
#include <stdlib.h>
#endif

namespace mscclpp
{

struct SwitchChannelDeviceHandle {
    void *devicePtr;
    void *mcPtr;
    size_t bufferSize;
    SwitchDevice2DeviceSemaphoreDeviceHandle barrier_;

#if defined(MSCCLPP_DEVICE_COMPILE)
    template <typename T> MSCCLPP_DEVICE_INLINE T reduce(uint64_t)
    {
        fault();
        return T();
    }
    template <typename T> MSCCLPP_DEVICE_INLINE void broadcast(uint64_t, const T &)
    {
        fault();
    }
    template <typename VectorType, typename AccumT = void>
    static MSCCLPP_DEVICE_INLINE VectorType multimemLoadReduce(VectorType *)
    {
        fault();
        return VectorType();
    }
    template <typename VectorType, typename T>
    static MSCCLPP_DEVICE_INLINE void multimemStore(const VectorType &, T *)
    {
        fault();
    }
    template <typename TValue, typename T>
    static MSCCLPP_DEVICE_INLINE void multimemStoreReduce(const TValue &, T *)
    {
        fault();
    }
    MSCCLPP_DEVICE_INLINE SwitchDevice2DeviceSemaphoreDeviceHandle barrier() const
    {
        return barrier_;
    }

  private:
    static MSCCLPP_DEVICE_INLINE void fault()
    {
#if defined(__CUDA_ARCH__)
        __trap();
#elif !defined(__CUDACC__)
        gshmem::detail::gshmemx_cpu_refuse(
            "a kernel used a switch channel, which needs multicast memory");
#endif
    }
#endif
};

using DeviceMulticastPointerDeviceHandle = SwitchChannelDeviceHandle; /* the name of 0.5 */

} // namespace mscclpp

#endif
