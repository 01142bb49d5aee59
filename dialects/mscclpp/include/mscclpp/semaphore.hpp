/* SPDX-License-Identifier: Apache-2.0
 * Semaphores, the host's side; semaphore_device.hpp has their guarantees. Each is one end of a
 * pair: the other end's signals arrive here, and signal() goes there.
 *
 * The constructors take a core semaphore, or a communicator and one of its connections: the n-th
 * semaphore on a connection then meets the other end's n-th, and the constructor waits for it. Each
 * counts signals from 0, so a core semaphore is for one of them on each side. */
#ifndef MSCCLPP_SEMAPHORE_HPP_
#define MSCCLPP_SEMAPHORE_HPP_

#include <cstdint>
#include <memory>

#include <mscclpp/core.hpp>
#include <mscclpp/semaphore_device.hpp>
#if !defined(GSHMEM_MSCCLPP_LIBRARY)
#include <mscclpp/channel_memory.hpp>
#include <mscclpp/gpu_utils.hpp>
#endif

namespace mscclpp
{

namespace detail
{
/* What a device's end needs besides the tokens, all zeros; the program allocates it, inline. */
struct SemaphoreMemory {
    std::shared_ptr<uint64_t> expected; /* of the device */
    std::shared_ptr<Watch> watch;       /* of the host, mapped */
};
/* As the constructors say. */
Semaphore buildSemaphore(Communicator &communicator, const Connection &connection);
/* The device that has this end's token; -1: the calling thread's. */
int deviceOf(const Semaphore &semaphore);
} // namespace detail

/* A host signals, by its connection; a device waits. */
class Host2DeviceSemaphore
{
  public:
    Host2DeviceSemaphore(const Semaphore &semaphore);
    Host2DeviceSemaphore(Communicator &communicator, const Connection &connection);
    Host2DeviceSemaphore(const Semaphore &semaphore, detail::SemaphoreMemory memory);
    ~Host2DeviceSemaphore();

    Connection &connection();
    /* After all earlier writes of the connection. One thread at a time. */
    void signal();
    /* Not for programs: signal and Connection::flushInto, or false. */
    bool signalAndFlushInto(uint64_t *done, uint64_t value);

    using DeviceHandle = Host2DeviceSemaphoreDeviceHandle;
    DeviceHandle deviceHandle() const;

  private:
    struct Impl;
    std::shared_ptr<Impl> pimpl_;
};

/* A host signals, a host waits. The connection's ends are in host memory: DeviceType::CPU. */
class Host2HostSemaphore
{
  public:
    /* InvalidUsage: the connection's transport is CudaIpc. */
    Host2HostSemaphore(const Semaphore &semaphore);
    Host2HostSemaphore(Communicator &communicator, const Connection &connection);
    ~Host2HostSemaphore();

    Connection &connection();
    void signal();
    /* Takes a signal if there is one. poll and wait: one thread at a time. */
    bool poll();
    /* Until there is one, for at most so many polls (negative: any number). Timeout: they are over,
     * or GSHMEM_WAIT_TIMEOUT is. */
    void wait(int64_t maxSpinCount = 10000000);

  private:
    struct Impl;
    std::shared_ptr<Impl> pimpl_;
};

/* A device signals, by its mapping of the other end's token; a device waits. */
class MemoryDevice2DeviceSemaphore
{
  public:
    /* InvalidUsage: this process has no mapping of the other end: it is far. */
    MemoryDevice2DeviceSemaphore(const Semaphore &semaphore);
    MemoryDevice2DeviceSemaphore(Communicator &communicator, const Connection &connection);
    MemoryDevice2DeviceSemaphore(const Semaphore &semaphore, detail::SemaphoreMemory memory);
    ~MemoryDevice2DeviceSemaphore();

    Connection &connection();

    using DeviceHandle = MemoryDevice2DeviceSemaphoreDeviceHandle;
    DeviceHandle deviceHandle() const;

  private:
    struct Impl;
    std::shared_ptr<Impl> pimpl_;
};

using SmDevice2DeviceSemaphore [[deprecated("today's name is MemoryDevice2DeviceSemaphore")]] =
    MemoryDevice2DeviceSemaphore;

#if !defined(GSHMEM_MSCCLPP_LIBRARY)
namespace detail
{
inline SemaphoreMemory allocateSemaphore(const Semaphore &semaphore)
{
    CudaDeviceGuard guard(deviceOf(semaphore));
    return {deviceWords(1), mappedHost<Watch>()};
}
} // namespace detail

inline Host2DeviceSemaphore::Host2DeviceSemaphore(const Semaphore &semaphore)
    : Host2DeviceSemaphore(semaphore, detail::allocateSemaphore(semaphore))
{
}
inline Host2DeviceSemaphore::Host2DeviceSemaphore(Communicator &communicator,
                                                  const Connection &connection)
    : Host2DeviceSemaphore(detail::buildSemaphore(communicator, connection))
{
}
inline MemoryDevice2DeviceSemaphore::MemoryDevice2DeviceSemaphore(const Semaphore &semaphore)
    : MemoryDevice2DeviceSemaphore(semaphore, detail::allocateSemaphore(semaphore))
{
}
inline MemoryDevice2DeviceSemaphore::MemoryDevice2DeviceSemaphore(Communicator &communicator,
                                                                  const Connection &connection)
    : MemoryDevice2DeviceSemaphore(detail::buildSemaphore(communicator, connection))
{
}
#endif

} // namespace mscclpp

#endif
