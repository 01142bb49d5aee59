// SPDX-License-Identifier: Apache-2.0
// Tokens come from blocks that all semaphores of a process share. A token is never given twice,
// since the other end may still signal it; a block goes with its last one.
#include <mscclpp/core.hpp>
#include <mscclpp/port_channel.hpp>

#include <cstdlib>
#include <mutex>

#include "dialects/mscclpp/base/bytes.h"
#include "dialects/mscclpp/base/check.h"
#include "dialects/mscclpp/connection/endpoint.h"

namespace mscclpp
{

namespace
{

constexpr size_t token_stride = 64, block_bytes = 64 << 10;

// Zeros. On the device; or on the host, which no other process maps.
std::shared_ptr<char> make_block(bool is_host)
{
    if (is_host) {
        char *memory = static_cast<char *>(std::aligned_alloc(token_stride, block_bytes));
        if (memory == nullptr) {
            throw Error("no host memory for semaphores", ErrorCode::SystemError);
        }
        std::memset(memory, 0, block_bytes);
        return std::shared_ptr<char>(memory, [](char *p) { std::free(p); });
    }
    void *memory = nullptr, *copies = nullptr;
    if (gshmemx_layer_alloc("a semaphore's tokens", block_bytes, &memory) != 0) {
        throw Error(std::string("no device memory for semaphores: ") + gshmemx_layer_why(),
                    ErrorCode::SystemError);
    }
    std::shared_ptr<char> block(static_cast<char *>(memory),
                                [](char *p) { (void)gshmemx_layer_free("a semaphore", p); });
    const std::vector<char> zeros(block_bytes);
    check(gshmemx_layer_copies_create(&copies), "a semaphore's tokens");
    int outcome = gshmemx_layer_copies_add(copies, memory, zeros.data(), block_bytes);
    if (outcome == GSHMEMX_LAYER_DONE) {
        outcome = gshmemx_layer_copies_wait(copies, 0);
    }
    gshmemx_layer_copies_destroy(copies);
    check(outcome, "a semaphore's tokens");
    return block;
}

struct Pool {
    std::mutex mutex;
    struct {
        std::shared_ptr<char> block;
        size_t used = block_bytes;
    } kinds[2];
    int device = -1; // of the device's block
};

// Shares ownership of its block.
std::shared_ptr<uint64_t> make_token(bool is_host)
{
    static Pool *pool = new Pool(); // outlives objects of static duration
    std::lock_guard<std::mutex> hold(pool->mutex);
    auto &kind = pool->kinds[is_host];
    const int device = gshmemx_layer_current_device();
    if (kind.used == block_bytes || (!is_host && device != pool->device)) {
        kind.block = make_block(is_host);
        kind.used = 0;
        pool->device = is_host ? pool->device : device;
    }
    char *token = kind.block.get() + kind.used;
    kind.used += token_stride;
    return std::shared_ptr<uint64_t>(kind.block, reinterpret_cast<uint64_t *>(token));
}

} // namespace

std::shared_ptr<uint64_t> detail::flushWord(const Connection &connection)
{
    return is_far(connection.transport()) ? nullptr : make_token(false);
}

struct SemaphoreStub::Impl {
    Connection connection; // the local one's
    std::shared_ptr<uint64_t> token;
    RegisteredMemory memory;
};

struct Semaphore::Impl {
    Connection connection;
    std::shared_ptr<SemaphoreStub::Impl> local, remote;
};

SemaphoreStub::SemaphoreStub(std::shared_ptr<Impl> pimpl) : pimpl_(std::move(pimpl)) {}

SemaphoreStub::SemaphoreStub(const Connection &connection) : pimpl_(std::make_shared<Impl>())
{
    const bool is_host = connection.localDevice().type == DeviceType::CPU;
    if (is_host && !is_far(connection.transport())) {
        refuse("a semaphore on the CPU needs a far transport, not CudaIpc");
    }
    pimpl_->connection = connection;
    pimpl_->token = make_token(is_host);
    pimpl_->memory = connection.context()->registerMemory(pimpl_->token.get(), sizeof(uint64_t),
                                                          connection.transport());
}

const RegisteredMemory &SemaphoreStub::memory() const
{
    return pimpl_->memory;
}

std::vector<char> SemaphoreStub::serialize() const
{
    Writer out(mark_of_semaphore);
    out.add_bytes(pimpl_->memory.serialize());
    return out.take();
}

SemaphoreStub SemaphoreStub::deserialize(const std::vector<char> &data)
{
    Reader in(data, mark_of_semaphore, "a SemaphoreStub");
    auto stub = std::make_shared<Impl>();
    stub->memory = RegisteredMemory::deserialize(in.rest());
    if (stub->memory.size() != sizeof(uint64_t) ||
        reinterpret_cast<uintptr_t>(stub->memory.originalDataPtr()) % sizeof(uint64_t) != 0) {
        in.fail("are of no token");
    }
    return SemaphoreStub(stub);
}

Semaphore::Semaphore(const SemaphoreStub &localStub, const SemaphoreStub &remoteStub)
    : pimpl_(std::make_shared<Impl>())
{
    if (!localStub.pimpl_->token) {
        refuse("Semaphore: the local stub is another process's");
    }
    pimpl_->connection = localStub.pimpl_->connection;
    pimpl_->local = localStub.pimpl_;
    pimpl_->remote = remoteStub.pimpl_;
}

namespace
{

template <class Pointer> auto &need(const Pointer &pointer)
{
    if (!pointer) {
        refuse("a Semaphore that nobody has made");
    }
    return *pointer;
}

} // namespace

Connection &Semaphore::connection()
{
    return need(pimpl_).connection;
}

const RegisteredMemory &Semaphore::localMemory() const
{
    return need(pimpl_).local->memory;
}

const RegisteredMemory &Semaphore::remoteMemory() const
{
    return need(pimpl_).remote->memory;
}

} // namespace mscclpp
