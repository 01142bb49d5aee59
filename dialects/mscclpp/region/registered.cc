// SPDX-License-Identifier: Apache-2.0
#include "dialects/mscclpp/region/registered.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dialects/mscclpp/base/bytes.h"
#include "dialects/mscclpp/base/check.h"
#include "dialects/mscclpp/base/host.h"

namespace mscclpp
{

namespace
{

// This process's, by id. Shared by those who write there for others, exclusive to add and remove.
struct Table {
    std::shared_mutex mutex;
    std::map<uint64_t, std::weak_ptr<RegisteredMemory::Impl>> memories;
    std::map<uint64_t, RegisteredMemory::Impl *> live;
};

// Never destroyed: threads of the library may come until the process has ended.
Table &table()
{
    static Table *once = new Table();
    return *once;
}

// Whether the host can read the byte; false also where the system does not say.
bool is_readable(uintptr_t address)
{
    char byte;
    const iovec here = {&byte, 1}, there = {reinterpret_cast<void *>(address), 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

// Whether memory that begins on the host also ends there, without a gap. Of a GPU's memory, which
// the host cannot read, the driver refuses what is not there.
bool is_whole(const void *memory, size_t size)
{
    const uintptr_t begin = reinterpret_cast<uintptr_t>(memory), end = begin + size;
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)), start = begin & -page;
    return end > begin && (!is_readable(begin) ||
                           msync(reinterpret_cast<void *>(start), end - start, MS_ASYNC) == 0);
}

} // namespace

RegisteredMemory::Impl::~Impl()
{
    if (is_own) {
        std::unique_lock<std::shared_mutex> hold(table().mutex);
        table().memories.erase(id);
        table().live.erase(id);
    }
    gshmemx_layer_range_release(range);
    gshmemx_layer_range_close(opened);
}

std::shared_ptr<RegisteredMemory::Impl> register_memory(void *ptr, size_t size,
                                                        TransportFlags transports)
{
    auto memory = std::make_shared<RegisteredMemory::Impl>();
    if (ptr == nullptr || size == 0) {
        refuse("registerMemory: " + std::to_string(size) + " bytes at " +
               (ptr == nullptr ? "nullptr" : "an address") + " are no memory");
    }
    if (!is_whole(ptr, size)) {
        refuse("registerMemory: no memory of " + std::to_string(size) + " bytes is at the address");
    }
    offer_settings();
    memory->data = ptr;
    memory->original = reinterpret_cast<uint64_t>(ptr);
    memory->size = size;
    memory->transports = transports;
    memory->host = own_host();
    memory->process = own_process();
    memory->id = random_number();
    if (transports.has(Transport::CudaIpc)) {
        check(gshmemx_layer_range_export(ptr, size, &memory->range, memory->range_key.data()),
              "registerMemory");
        memory->has_range = true;
    }
    if (transports.any()) { /* else it may be another PE's, by gshmem_ptr */
        gshmemx_layer_trace_memory(ptr, size, memory->id, true);
    }
    std::unique_lock<std::shared_mutex> hold(table().mutex);
    table().memories[memory->id] = memory;
    table().live[memory->id] = memory.get();
    memory->is_own = true;
    return memory;
}

bool with_registered(uint64_t id, void (*use)(void *context, const RegisteredMemory::Impl &memory),
                     void *context)
{
    std::shared_lock<std::shared_mutex> hold(table().mutex);
    const auto found = table().live.find(id);
    if (found == table().live.end()) {
        return false;
    }
    use(context, *found->second);
    return true;
}

void Use::need(const char *call) const
{
    if (memory_.is_freed) {
        refuse(std::string(call) + ": the memory has been freed while it was registered");
    }
}

void note_freed(const char *begin, size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    std::shared_lock<std::shared_mutex> hold(table().mutex); // none of them goes meanwhile
    for (const auto &[id, memory] : table().live) {
        const char *at = static_cast<const char *>(memory->data);
        if (at < begin + bytes && begin < at + memory->size) {
            std::unique_lock<std::shared_mutex> alone(memory->use);
            memory->is_freed = true;
        }
    }
}

// ---- the class of core.hpp ----

RegisteredMemory::RegisteredMemory(std::shared_ptr<Impl> pimpl) : pimpl_(std::move(pimpl)) {}

RegisteredMemory::~RegisteredMemory() = default;

namespace
{

template <class Pointer> const RegisteredMemory::Impl &need(const Pointer &memory)
{
    if (!memory) {
        refuse("a RegisteredMemory that nobody has registered");
    }
    return *memory;
}

} // namespace

void *RegisteredMemory::data() const
{
    return need(pimpl_).data;
}

void *RegisteredMemory::originalDataPtr() const
{
    return reinterpret_cast<void *>(need(pimpl_).original);
}

size_t RegisteredMemory::size() const
{
    return need(pimpl_).size;
}

TransportFlags RegisteredMemory::transports() const
{
    return need(pimpl_).transports;
}

std::vector<char> RegisteredMemory::serialize() const
{
    const Impl &m = need(pimpl_);
    Writer out(mark_of_memory);
    out.add(static_cast<uint32_t>(m.transports.toBitset().to_ulong()));
    out.add(static_cast<uint32_t>(m.has_range));
    out.add(m.original);
    out.add(static_cast<uint64_t>(m.size));
    out.add(m.host);
    out.add(m.process);
    out.add(m.id);
    out.add(m.range_key);
    return out.take();
}

RegisteredMemory RegisteredMemory::deserialize(const std::vector<char> &data)
{
    Reader in(data, mark_of_memory, "a RegisteredMemory");
    auto m = std::make_shared<Impl>();
    const uint32_t bits = in.read_below(1u << detail::TransportFlagsSize);
    for (size_t i = 0; i < detail::TransportFlagsSize; i++) {
        if ((bits >> i & 1) != 0) {
            m->transports |= TransportFlags(static_cast<Transport>(i));
        }
    }
    m->has_range = in.read_below(2) != 0;
    m->original = in.read<uint64_t>();
    m->size = in.read<uint64_t>();
    m->host = in.read<uint64_t>();
    m->process = in.read<uint64_t>();
    m->id = in.read<uint64_t>();
    m->range_key = in.read<decltype(m->range_key)>();
    in.expect_end();
    if (m->size == 0 || m->has_range != m->transports.has(Transport::CudaIpc)) {
        in.fail("contradict themselves");
    }
    if (m->host == own_host() && m->process == own_process()) {
        std::shared_lock<std::shared_mutex> hold(table().mutex);
        const auto found = table().memories.find(m->id);
        std::shared_ptr<Impl> own =
            found != table().memories.end() ? found->second.lock() : nullptr;
        hold.unlock();
        if (!own) {
            throw Error("RegisteredMemory::deserialize: this process has released that memory",
                        ErrorCode::RemoteError);
        }
        gshmemx_layer_trace_memory(own->data, own->size, own->id, false);
        return RegisteredMemory(own);
    }
    if (m->has_range && m->host == own_host()) {
        uint64_t bytes = 0; // the key's own account of it is what will be mapped
        static_assert(GSHMEMX_LAYER_RANGE_BYTES_AT + sizeof(bytes) <= GSHMEMX_LAYER_RANGE_KEY);
        std::memcpy(&bytes, m->range_key.data() + GSHMEMX_LAYER_RANGE_BYTES_AT, sizeof(bytes));
        if (bytes != m->size) {
            in.fail("contradict themselves");
        }
        check(gshmemx_layer_range_open(m->range_key.data(), &m->opened, &m->data),
              "RegisteredMemory::deserialize");
        gshmemx_layer_trace_memory(m->data, m->size, m->id, false);
    }
    return RegisteredMemory(m);
}

} // namespace mscclpp
