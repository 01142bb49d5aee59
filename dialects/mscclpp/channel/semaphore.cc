// SPDX-License-Identifier: Apache-2.0
#include <mscclpp/semaphore.hpp>

#include <chrono>
#include <sched.h>
#include <optional>
#include <string>
#include <utility>

#include "dialects/mscclpp/base/waiting.h"
#include "dialects/mscclpp/channel/watch.h"

namespace mscclpp
{

namespace
{

/* Watches the waits of this end: they end when the other is lost. */
void watch_semaphore(const std::shared_ptr<detail::Watch> &page, const char *what,
                     const Connection &connection)
{
    detail::watch(page, detail::name_of(what, connection), [connection] {
        return connection.isLost() ? "its process has died or exited" : std::string();
    });
}

uint64_t *word_of(const RegisteredMemory &memory)
{
    return static_cast<uint64_t *>(memory.data());
}

} // namespace

Semaphore detail::buildSemaphore(Communicator &communicator, const Connection &connection)
{
    return communicator
        .buildSemaphore(connection, communicator.remoteRankOf(connection),
                        communicator.tagOf(connection))
        .get();
}

int detail::deviceOf(const Semaphore &semaphore)
{
    const Device device = Semaphore(semaphore).connection().localDevice();
    return device.type == DeviceType::GPU ? device.id : -1;
}

/* ---- host to device -------------------------------------------------------------------------- */

struct Host2DeviceSemaphore::Impl {
    Semaphore semaphore;
    detail::SemaphoreMemory memory;
    uint64_t n_sent = 0;
};

Host2DeviceSemaphore::Host2DeviceSemaphore(const Semaphore &semaphore,
                                           detail::SemaphoreMemory memory)
    : pimpl_(std::make_shared<Impl>(Impl{semaphore, std::move(memory)}))
{
    watch_semaphore(pimpl_->memory.watch, "port channel", connection());
}

Host2DeviceSemaphore::~Host2DeviceSemaphore() = default;

Connection &Host2DeviceSemaphore::connection()
{
    return pimpl_->semaphore.connection();
}

void Host2DeviceSemaphore::signal()
{
    connection().updateAndSync(pimpl_->semaphore.remoteMemory(), 0, &pimpl_->n_sent,
                               pimpl_->n_sent + 1);
}

bool Host2DeviceSemaphore::signalAndFlushInto(uint64_t *done, uint64_t value)
{
    const bool is_possible =
        connection().flushInto(done, value, &pimpl_->semaphore.remoteMemory(), pimpl_->n_sent + 1);
    pimpl_->n_sent += is_possible;
    return is_possible;
}

Host2DeviceSemaphoreDeviceHandle Host2DeviceSemaphore::deviceHandle() const
{
    return {word_of(pimpl_->semaphore.localMemory()), pimpl_->memory.expected.get(),
            pimpl_->memory.watch.get()};
}

/* ---- host to host ---------------------------------------------------------------------------- */

struct Host2HostSemaphore::Impl {
    Semaphore semaphore;
    uint64_t n_sent = 0, n_taken = 0;
};

Host2HostSemaphore::Host2HostSemaphore(const Semaphore &semaphore)
    : pimpl_(std::make_shared<Impl>(Impl{semaphore}))
{
    if (connection().transport() == Transport::CudaIpc) {
        throw Error("a Host2HostSemaphore over CudaIpc: its ends are in the GPUs' memory",
                    ErrorCode::InvalidUsage);
    }
    if (connection().localDevice().type != DeviceType::CPU) {
        throw Error("a Host2HostSemaphore on a connection of a GPU: its endpoint is to be a CPU's",
                    ErrorCode::InvalidUsage);
    }
}

Host2HostSemaphore::Host2HostSemaphore(Communicator &communicator, const Connection &connection)
    : Host2HostSemaphore(detail::buildSemaphore(communicator, connection))
{
}

Host2HostSemaphore::~Host2HostSemaphore() = default;

Connection &Host2HostSemaphore::connection()
{
    return pimpl_->semaphore.connection();
}

void Host2HostSemaphore::signal()
{
    connection().updateAndSync(pimpl_->semaphore.remoteMemory(), 0, &pimpl_->n_sent,
                               pimpl_->n_sent + 1);
}

bool Host2HostSemaphore::poll()
{
    /* Pairs with the release of whatever writes the token. */
    const uint64_t come =
        __atomic_load_n(word_of(pimpl_->semaphore.localMemory()), __ATOMIC_ACQUIRE);
    if (come <= pimpl_->n_taken) {
        return false;
    }
    pimpl_->n_taken++;
    return true;
}

void Host2HostSemaphore::wait(int64_t maxSpinCount)
{
    const uint64_t limit = detail::wait_limit_ns();
    const auto begun = std::chrono::steady_clock::now();
    const auto fail = [this](const std::string &why, ErrorCode code) {
        const uint64_t seen = pimpl_->n_taken;
        throw Error("Host2HostSemaphore, wait " + std::to_string(seen + 1) + ", seen " +
                        std::to_string(seen) + ": " + why,
                    code);
    };
    std::optional<waiting> wait; /* in the list once it takes long */
    for (int64_t spins = 0; !poll(); spins++) {
        if (maxSpinCount >= 0 && spins == maxSpinCount) {
            fail(std::to_string(spins) + " polls in vain", ErrorCode::Timeout);
        }
        if (spins % 1024 != 1023) {
            continue;
        }
        if (!wait) {
            wait.emplace("Host2HostSemaphore::wait", connection().remotePe());
        }
        if (connection().isLost()) {
            if (poll()) { /* its last signal */
                return;
            }
            fail("the other end has died or exited", ErrorCode::RemoteError);
        }
        const auto waited = std::chrono::steady_clock::now() - begun;
        if (limit != 0 && waited >= std::chrono::nanoseconds(limit)) {
            fail("GSHMEM_WAIT_TIMEOUT has passed", ErrorCode::Timeout);
        }
        sched_yield();
    }
}

/* ---- device to device ------------------------------------------------------------------------ */

struct MemoryDevice2DeviceSemaphore::Impl {
    Semaphore semaphore;
    detail::SemaphoreMemory memory;
};

MemoryDevice2DeviceSemaphore::MemoryDevice2DeviceSemaphore(const Semaphore &semaphore,
                                                           detail::SemaphoreMemory memory)
    : pimpl_(std::make_shared<Impl>(Impl{semaphore, std::move(memory)}))
{
    if (connection().transport() != Transport::CudaIpc ||
        word_of(semaphore.remoteMemory()) == nullptr) {
        throw Error("a memory channel's semaphore needs a connection by CudaIpc: kernels write the "
                    "other end's memory themselves",
                    ErrorCode::InvalidUsage);
    }
    watch_semaphore(pimpl_->memory.watch, "memory channel", connection());
}

MemoryDevice2DeviceSemaphore::~MemoryDevice2DeviceSemaphore() = default;

Connection &MemoryDevice2DeviceSemaphore::connection()
{
    return pimpl_->semaphore.connection();
}

MemoryDevice2DeviceSemaphoreDeviceHandle MemoryDevice2DeviceSemaphore::deviceHandle() const
{
    return {word_of(pimpl_->semaphore.localMemory()), pimpl_->memory.expected.get(),
            word_of(pimpl_->semaphore.remoteMemory()), pimpl_->memory.watch.get()};
}

} // namespace mscclpp
