/* SPDX-License-Identifier: Apache-2.0
 * A thread that calls the program's handler with each trigger of its FIFO, in the order of their
 * positions. */
#ifndef MSCCLPP_PROXY_HPP_
#define MSCCLPP_PROXY_HPP_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <mscclpp/fifo.hpp>

namespace mscclpp
{

enum class ProxyHandlerResult {
    Continue, /* the trigger is taken out */
    Stop,     /* the same, and the thread ends */
    /* The names of 0.5. The tail needs no flush. */
    FlushFifoTailAndContinue = Continue,
};

/* Sees the trigger before it is taken out: a device's sync() for it comes after the handler. What
 * the thread that pushed it did before is seen.
 *
 * A handler that throws stops the thread: the text is printed, waits in kernels for this FIFO end
 * with it, and stop() throws it on. The trigger stays, and the handler gets it again if the proxy
 * is started again. */
using ProxyHandler = std::function<ProxyHandlerResult(ProxyTrigger)>;

class Proxy
{
  public:
    /* threadInit is called first in the thread, each time it starts: it may choose the device and
     * where the thread runs. The FIFO is on the calling thread's device. */
    Proxy(ProxyHandler handler, std::function<void()> threadInit, int fifoSize = DEFAULT_FIFO_SIZE);
    Proxy(ProxyHandler handler, int fifoSize = DEFAULT_FIFO_SIZE);
    Proxy(ProxyHandler handler, std::function<void()> threadInit, std::shared_ptr<Fifo> fifo);
    /* Stops it; what the handler threw has been printed. */
    ~Proxy();

    /* blocking: returns once threadInit has. InvalidUsage: it runs. */
    void start(bool blocking = false);
    /* The thread handles all triggers that have been pushed, unless the handler stops or throws,
     * and ends. Kernels that still push do so for the next start. Throws what the handler or
     * threadInit has thrown. Without a start: no effect. */
    void stop();

    std::shared_ptr<Fifo> fifo();

    struct Impl;

  private:
    std::unique_ptr<Impl> pimpl_;
};

#if !defined(GSHMEM_MSCCLPP_LIBRARY)
namespace detail
{
/* The thread's device is that of the thread that makes the proxy. */
inline std::function<void()> threadInitHere()
{
    int device = 0;
    MSCCLPP_CUDATHROW(cudaGetDevice(&device));
    return [device] { MSCCLPP_CUDATHROW(cudaSetDevice(device)); };
}
} // namespace detail

inline Proxy::Proxy(ProxyHandler handler, std::function<void()> threadInit, int fifoSize)
    : Proxy(std::move(handler), std::move(threadInit), std::make_shared<Fifo>(fifoSize))
{
}
inline Proxy::Proxy(ProxyHandler handler, int fifoSize)
    : Proxy(std::move(handler), detail::threadInitHere(), fifoSize)
{
}
#endif

} // namespace mscclpp

#endif
