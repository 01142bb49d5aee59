// SPDX-License-Identifier: Apache-2.0
#include <mscclpp/port_channel.hpp>

#include <atomic>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "dialects/mscclpp/channel/watch.h"

namespace mscclpp
{

namespace
{

constexpr size_t most_semaphores = 1 << TriggerBitsSemaphoreId,
                 most_memories = 1 << TriggerBitsMemoryId;

struct channel_entry {
    std::shared_ptr<Host2DeviceSemaphore> semaphore;
    std::shared_ptr<uint64_t> flush_done;
    int n_unflushed;  /* writes; this and the next: only the proxy's thread uses them */
    bool is_flushing; /* flush_done will be written by the connection's copies */
};

} // namespace

/* The vectors have room for all from the start: the proxy's thread reads what is below the numbers
 * while another adds, and stores the number with release. */
struct ProxyService::Impl {
    std::vector<channel_entry> semaphores;
    std::vector<RegisteredMemory> memories;
    std::atomic<size_t> n_semaphores{0}, n_memories{0};
    std::shared_ptr<Proxy> proxy;

    channel_entry &entry(SemaphoreId id)
    {
        if (id >= n_semaphores.load(std::memory_order_acquire)) {
            throw Error("there is no semaphore " + std::to_string(id) + " in this ProxyService",
                        ErrorCode::InvalidUsage);
        }
        return semaphores[id];
    }
    const RegisteredMemory &memory(MemoryId id) const
    {
        if (id >= n_memories.load(std::memory_order_acquire)) {
            throw Error("there is no memory " + std::to_string(id) + " in this ProxyService",
                        ErrorCode::InvalidUsage);
        }
        return memories[id];
    }
    std::string name(SemaphoreId id)
    {
        return id < n_semaphores.load(std::memory_order_acquire)
                   ? detail::name_of("port channel", semaphores[id].semaphore->connection())
                   : "";
    }
    void flush(channel_entry &e)
    {
        e.semaphore->connection().flush();
        e.n_unflushed = 0;
        e.is_flushing = false;
    }
    /* Signals if asked to, and publishes the position once all before is complete: behind the
     * copies where the connection can do that, so that the next trigger need not wait. */
    void flush_position(channel_entry &e, uint64_t position, bool is_to_signal)
    {
        uint64_t *const done = e.flush_done.get();
        if (done != nullptr) {
            const bool is_under_way =
                is_to_signal ? e.semaphore->signalAndFlushInto(done, position + 1)
                             : e.semaphore->connection().flushInto(done, position + 1, nullptr, 0);
            e.is_flushing |= is_under_way;
            e.n_unflushed += is_under_way;
            if (is_under_way) {
                return;
            }
        }
        if (is_to_signal) {
            e.semaphore->signal();
        }
        flush(e);
        if (done != nullptr) {
            /* Pairs with the acquire of the device's flush. */
            __atomic_store_n(done, position + 1, __ATOMIC_RELEASE);
        }
    }
    /* Nothing writes flush_done any more. */
    void end_flushes()
    {
        for (size_t i = 0; i < n_semaphores.load(std::memory_order_acquire); i++) {
            if (semaphores[i].is_flushing) {
                flush(semaphores[i]);
            }
        }
    }
    ProxyHandlerResult handle(ProxyTrigger trigger, uint64_t position)
    {
        const auto &f = trigger.fields;
        if (f.type == 0) {
            return ProxyHandlerResult::Continue; /* it asks for nothing */
        }
        channel_entry &e = entry(static_cast<SemaphoreId>(f.semaphoreId));
        Connection &connection = e.semaphore->connection();
        if (f.type & TriggerData) {
            connection.write(memory(static_cast<MemoryId>(f.dstMemoryId)), f.dstOffset,
                             memory(static_cast<MemoryId>(f.srcMemoryId)), f.srcOffset, f.size);
            e.n_unflushed++;
        }
        if (f.type & TriggerSync) {
            flush_position(e, position, (f.type & TriggerFlag) != 0);
        } else if (f.type & TriggerFlag) {
            e.semaphore->signal();
            e.n_unflushed++;
        }
        if (const int most = connection.getMaxWriteQueueSize(); most > 0 && e.n_unflushed >= most) {
            flush(e);
        }
        return ProxyHandlerResult::Continue;
    }
};

ProxyService::ProxyService(std::shared_ptr<Fifo> fifo, std::function<void()> threadInit)
    : pimpl_(std::make_shared<Impl>())
{
    pimpl_->semaphores.reserve(most_semaphores);
    pimpl_->memories.reserve(most_memories);
    const std::weak_ptr<Impl> weak = pimpl_; /* the FIFO's page may live longer */
    detail::name_flushes(fifo->watch(), [weak](uint32_t semaphore) {
        const std::shared_ptr<Impl> service = weak.lock();
        return service ? service->name(semaphore) : std::string();
    });
    Impl *const impl = pimpl_.get();
    Fifo *const triggers = fifo.get();
    pimpl_->proxy = std::make_shared<Proxy>(
        [impl, triggers](ProxyTrigger trigger) { return impl->handle(trigger, triggers->tail()); },
        std::move(threadInit), std::move(fifo));
}

ProxyService::~ProxyService()
{
    try {
        stopProxy(); /* channels may hold the proxy longer than this */
    } catch (...) {  /* has been printed */
    }
}

SemaphoreId ProxyService::addSemaphore(std::shared_ptr<Host2DeviceSemaphore> semaphore,
                                       std::shared_ptr<uint64_t> flushDonePos)
{
    const size_t n = pimpl_->n_semaphores.load(std::memory_order_relaxed);
    if (n == most_semaphores) {
        throw Error("a ProxyService has " + std::to_string(n) + " semaphores at most",
                    ErrorCode::InvalidUsage);
    }
    pimpl_->semaphores.push_back({std::move(semaphore), std::move(flushDonePos), 0, false});
    pimpl_->n_semaphores.store(n + 1, std::memory_order_release);
    return static_cast<SemaphoreId>(n);
}

MemoryId ProxyService::addMemory(RegisteredMemory memory)
{
    const size_t n = pimpl_->n_memories.load(std::memory_order_relaxed);
    if (n == most_memories) {
        throw Error("a ProxyService has " + std::to_string(n) + " memories at most",
                    ErrorCode::InvalidUsage);
    }
    pimpl_->memories.push_back(std::move(memory));
    pimpl_->n_memories.store(n + 1, std::memory_order_release);
    return static_cast<MemoryId>(n);
}

MemoryId ProxyService::nextMemoryId(uint32_t count) const
{
    const size_t n = pimpl_->n_memories.load(std::memory_order_relaxed);
    if (count > most_memories - n) {
        throw Error("a ProxyService has " + std::to_string(most_memories) + " memories at most",
                    ErrorCode::InvalidUsage);
    }
    return static_cast<MemoryId>(n);
}

std::shared_ptr<Host2DeviceSemaphore> ProxyService::semaphore(SemaphoreId id) const
{
    return pimpl_->entry(id).semaphore;
}

BasePortChannel ProxyService::basePortChannel(SemaphoreId id)
{
    const channel_entry &e = pimpl_->entry(id);
    return BasePortChannel(id, e.semaphore, pimpl_->proxy, e.flush_done);
}

BasePortChannel ProxyService::proxyChannel(SemaphoreId id)
{
    return basePortChannel(id);
}

PortChannel ProxyService::portChannel(SemaphoreId id, MemoryId dst, MemoryId src)
{
    return PortChannel(basePortChannel(id), dst, src);
}

void ProxyService::startProxy(bool blocking)
{
    pimpl_->proxy->start(blocking);
}

void ProxyService::stopProxy()
{
    std::exception_ptr error;
    try {
        pimpl_->proxy->stop();
    } catch (...) {
        error = std::current_exception();
    }
    try {
        pimpl_->end_flushes();
    } catch (...) {
        error = error ? error : std::current_exception();
    }
    if (error) {
        std::rethrow_exception(error);
    }
}

/* ---- channels -------------------------------------------------------------------------------- */

BasePortChannel::BasePortChannel(SemaphoreId semaphoreId,
                                 std::shared_ptr<Host2DeviceSemaphore> semaphore,
                                 std::shared_ptr<Proxy> proxy,
                                 std::shared_ptr<uint64_t> flushDonePos)
    : semaphoreId_(semaphoreId), semaphore_(std::move(semaphore)), proxy_(std::move(proxy)),
      flushDonePos_(std::move(flushDonePos))
{
    if (!semaphore_ || !proxy_) {
        throw Error("a port channel needs a semaphore and a proxy", ErrorCode::InvalidUsage);
    }
}

BasePortChannelDeviceHandle BasePortChannel::deviceHandle() const
{
    return BasePortChannelDeviceHandle(semaphoreId_, semaphore_->deviceHandle(),
                                       proxy_->fifo()->deviceHandle(), flushDonePos_.get());
}

PortChannel::PortChannel(SemaphoreId semaphoreId, std::shared_ptr<Host2DeviceSemaphore> semaphore,
                         std::shared_ptr<Proxy> proxy, MemoryId dst, MemoryId src,
                         std::shared_ptr<uint64_t> flushDonePos)
    : BasePortChannel(semaphoreId, std::move(semaphore), std::move(proxy), std::move(flushDonePos)),
      dst_(dst), src_(src)
{
}

PortChannel::PortChannel(BasePortChannel channel, MemoryId dst, MemoryId src)
    : BasePortChannel(std::move(channel)), dst_(dst), src_(src)
{
}

PortChannelDeviceHandle PortChannel::deviceHandle() const
{
    return PortChannelDeviceHandle(semaphoreId_, semaphore_->deviceHandle(),
                                   proxy_->fifo()->deviceHandle(), dst_, src_, flushDonePos_.get());
}

} // namespace mscclpp
