/* SPDX-License-Identifier: Apache-2.0
 * The FIFO of triggers, the host's side: one thread takes out what any number of a device's threads
 * push. fifo_device.hpp has the protocol. */
#ifndef MSCCLPP_FIFO_HPP_
#define MSCCLPP_FIFO_HPP_

#include <cstdint>
#include <memory>
#include <string>

#include <mscclpp/errors.hpp>
#include <mscclpp/fifo_device.hpp>
#if !defined(GSHMEM_MSCCLPP_LIBRARY)
#include <mscclpp/channel_memory.hpp>
#include <mscclpp/gpu_utils.hpp>
#endif

namespace mscclpp
{

constexpr int DEFAULT_FIFO_SIZE = 512;
#define MSCCLPP_PROXY_FIFO_SIZE 512 /* the name of 0.3 */

namespace detail
{
/* What a FIFO lies in, all zeros. The program allocates it, inline: it knows its device. */
struct FifoMemory {
    std::shared_ptr<ProxyTrigger> triggers; /* of the host, mapped */
    std::shared_ptr<uint64_t> tail;         /* of the host, mapped */
    std::shared_ptr<uint64_t> head;         /* of the device: head, and tailCache behind it */
    std::shared_ptr<Watch> watch;           /* of the host, mapped */
};
/* InvalidUsage: size is no power of two, or above 2^30. */
void checkFifoSize(int size);
} // namespace detail

class Fifo
{
  public:
    /* On the calling thread's device. InvalidUsage: size is no power of two. */
    Fifo(int size = DEFAULT_FIFO_SIZE);
    Fifo(int size, detail::FifoMemory memory);
    ~Fifo();
    Fifo(const Fifo &) = delete;
    Fifo &operator=(const Fifo &) = delete;

    /* These three: one thread at a time. */

    /* Whether there is a trigger; it is the oldest one, without the FIFO's own bit, and stays where
     * it is. What its thread did before the push is seen afterwards. */
    bool poll(ProxyTrigger &trigger);
    /* The same as a return value: all zeros if there is none, like a trigger of zeros. */
    [[deprecated("a trigger may be all zeros: use poll(trigger)")]] ProxyTrigger poll();
    /* Takes out the oldest trigger. What the host did before is seen by the device's sync(). Only
     * after a poll() that found one. */
    void pop();
    /* How many have been taken out: the position of the oldest trigger. What the host did before it
     * took those out is seen afterwards. Any thread. */
    uint64_t tail() const;

    int size() const;
    FifoDeviceHandle deviceHandle() const;

    [[deprecated("does nothing: the tail is where the device reads it")]] void
    flushTail(bool sync = false);

    /* Not for programs: the page of waits for room, and for what the proxy does. */
    std::shared_ptr<detail::Watch> watch() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> pimpl_;
};

#if !defined(GSHMEM_MSCCLPP_LIBRARY)
namespace detail
{
inline FifoMemory allocateFifo(int size)
{
    checkFifoSize(size);
    FifoMemory memory;
    memory.triggers = mappedHost<ProxyTrigger>(static_cast<size_t>(size));
    memory.tail = mappedHost<uint64_t>();
    memory.head = deviceWords(32); /* head and tailCache in lines of their own */
    memory.watch = mappedHost<Watch>();
    return memory;
}
} // namespace detail

inline Fifo::Fifo(int size) : Fifo(size, detail::allocateFifo(size)) {}
#endif

} // namespace mscclpp

#endif
