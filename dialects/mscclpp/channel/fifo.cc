// SPDX-License-Identifier: Apache-2.0
#include <mscclpp/fifo.hpp>

#include <utility>

#include "dialects/mscclpp/channel/watch.h"

namespace mscclpp
{

struct Fifo::Impl {
    detail::FifoMemory memory;
    int size;
    uint32_t shift;
    uint64_t taken; /* what is in memory.tail, which only this side writes */
};

void detail::checkFifoSize(int size)
{
    if (size < 1 || size > 1 << 30 || (size & (size - 1)) != 0) {
        throw Error("a FIFO of " + std::to_string(size) +
                        " triggers: its size is a power of two, at most 2^30",
                    ErrorCode::InvalidUsage);
    }
}

Fifo::Fifo(int size, detail::FifoMemory memory)
{
    detail::checkFifoSize(size);
    pimpl_ = std::make_unique<Impl>();
    pimpl_->memory = std::move(memory);
    pimpl_->size = size;
    pimpl_->shift = static_cast<uint32_t>(__builtin_ctz(static_cast<unsigned>(size)));
    pimpl_->taken = 0;
    detail::watch(pimpl_->memory.watch, "a FIFO of " + std::to_string(size) + " triggers", nullptr);
}

Fifo::~Fifo() = default;

bool Fifo::poll(ProxyTrigger &trigger)
{
    const uint64_t at = pimpl_->taken;
    ProxyTrigger *const slot = pimpl_->memory.triggers.get() + (at & (uint64_t)(pimpl_->size - 1));
    /* Pairs with push's fence. A device writes both words at once, or this one second. */
    const uint64_t snd = __atomic_load_n(&slot->snd, __ATOMIC_ACQUIRE);
    if ((snd & detail::lapBit) != detail::lapOf(at, pimpl_->shift)) {
        return false;
    }
    trigger.fst = __atomic_load_n(&slot->fst, __ATOMIC_RELAXED);
    trigger.snd = snd & ~detail::lapBit;
    return true;
}

ProxyTrigger Fifo::poll()
{
    ProxyTrigger trigger(0, 0);
    poll(trigger);
    return trigger;
}

void Fifo::pop()
{
    /* Pairs with sync() and poll() of the device. */
    __atomic_store_n(pimpl_->memory.tail.get(), ++pimpl_->taken, __ATOMIC_RELEASE);
}

uint64_t Fifo::tail() const
{
    return __atomic_load_n(pimpl_->memory.tail.get(), __ATOMIC_ACQUIRE); /* pairs with pop() */
}

int Fifo::size() const
{
    return pimpl_->size;
}

void Fifo::flushTail(bool) {}

std::shared_ptr<detail::Watch> Fifo::watch() const
{
    return pimpl_->memory.watch;
}

FifoDeviceHandle Fifo::deviceHandle() const
{
    FifoDeviceHandle handle;
    handle.triggers = pimpl_->memory.triggers.get();
    handle.head = pimpl_->memory.head.get();
    handle.tail = pimpl_->memory.tail.get();
    handle.tailCache = pimpl_->memory.head.get() + 16;
    handle.size = pimpl_->size;
    handle.sizeMask = static_cast<uint32_t>(pimpl_->size) - 1;
    handle.sizeShift = pimpl_->shift;
    handle.watch_ = pimpl_->memory.watch.get();
    return handle;
}

} // namespace mscclpp
