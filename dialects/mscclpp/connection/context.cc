// SPDX-License-Identifier: Apache-2.0
// Contexts, the ends that they make, and the connections between those.
#include <mscclpp/core.hpp>

#include <mutex>

#include "dialects/mscclpp/base/bytes.h"
#include "dialects/mscclpp/base/check.h"
#include "dialects/mscclpp/base/traced.h"
#include "dialects/mscclpp/base/waiting.h"
#include "dialects/mscclpp/connection/connection.h"

namespace mscclpp
{

// ---- endpoints ----

Endpoint::Endpoint(std::shared_ptr<Impl> pimpl) : pimpl_(std::move(pimpl)) {}

namespace
{

template <class Pointer> auto &need(const Pointer &pointer, const char *what)
{
    if (!pointer) {
        refuse(std::string(what) + " that nobody has made");
    }
    return *pointer;
}

} // namespace

const EndpointConfig &Endpoint::config() const
{
    return need(pimpl_, "an Endpoint").config;
}

Transport Endpoint::transport() const
{
    return config().transport;
}

const Device &Endpoint::device() const
{
    return config().device;
}

uint64_t Endpoint::hostHash() const
{
    return need(pimpl_, "an Endpoint").host;
}

uint64_t Endpoint::pidHash() const
{
    return need(pimpl_, "an Endpoint").process;
}

int Endpoint::maxWriteQueueSize() const
{
    return config().maxWriteQueueSize;
}

std::vector<char> Endpoint::serialize() const
{
    const Impl &e = need(pimpl_, "an Endpoint");
    Writer out(mark_of_endpoint);
    out.add(static_cast<uint32_t>(e.config.transport));
    out.add(static_cast<uint32_t>(e.config.device.type));
    out.add(static_cast<int32_t>(e.config.device.id));
    out.add(static_cast<int32_t>(e.config.maxWriteQueueSize));
    out.add(e.host);
    out.add(e.process);
    out.add(e.process_key);
    out.add(e.entry_key);
    out.add(e.pe);
    return out.take();
}

Endpoint Endpoint::deserialize(const std::vector<char> &data)
{
    Reader in(data, mark_of_endpoint, "an Endpoint");
    auto e = std::make_shared<Impl>();
    e->config.transport =
        static_cast<Transport>(in.read_below(static_cast<uint32_t>(Transport::NumTransports)));
    e->config.device.type = static_cast<DeviceType>(in.read_below(3));
    e->config.device.id = in.read<int32_t>();
    e->config.maxWriteQueueSize = in.read<int32_t>();
    e->host = in.read<uint64_t>();
    e->process = in.read<uint64_t>();
    e->process_key = in.read<ProcessKey>();
    e->entry_key = in.read<decltype(e->entry_key)>();
    e->pe = in.read<gshmemx_layer_pe_name>();
    in.expect_end();
    return Endpoint(e);
}

// ---- contexts ----

struct Context::Impl {
    std::mutex mutex;
    void *copies = nullptr; // of near connections, made by the first

    ~Impl() { gshmemx_layer_copies_destroy(copies); }

    void *need_copies()
    {
        std::lock_guard<std::mutex> hold(mutex);
        if (copies == nullptr) {
            check(gshmemx_layer_copies_create(&copies), "connect");
        }
        return copies;
    }
};

Context::Context() : pimpl_(std::make_unique<Impl>())
{
    offer_settings();
}

Context::~Context() = default;

std::shared_ptr<Context> Context::create()
{
    return std::shared_ptr<Context>(new Context());
}

RegisteredMemory Context::registerMemory(void *ptr, size_t size, TransportFlags transports)
{
    return RegisteredMemory(register_memory(ptr, size, transports));
}

Endpoint Context::createEndpoint(EndpointConfig config)
{
    auto e = std::make_shared<Endpoint::Impl>();
    if (config.transport != Transport::CudaIpc && !is_far(config.transport)) {
        refuse("createEndpoint: the transport is " + std::to_string(config.transport) +
               "; CudaIpc, IB0 to IB7 and Ethernet are possible");
    }
    if (config.device.type == DeviceType::Unknown) {
        refuse("createEndpoint: the device is neither a CPU nor a GPU");
    }
    e->config = config;
    e->host = own_host();
    e->process = own_process();
    e->process_key = own_process_key();
    gshmemx_layer_name_pe(&e->pe);
    e->is_own = true;
    if (is_far(config.transport)) {
        e->receiver = std::make_unique<Receiver>(e->entry_key, is_ib(config.transport));
    }
    return Endpoint(e);
}

Connection Context::connect(const Endpoint &localEndpoint, const Endpoint &remoteEndpoint)
{
    const Endpoint::Impl &local = need(localEndpoint.pimpl_, "an Endpoint"),
                         &remote = need(remoteEndpoint.pimpl_, "an Endpoint");
    if (!local.is_own) {
        refuse("connect: the local endpoint is another process's");
    }
    if (is_far(local.config.transport) != is_far(remote.config.transport)) {
        refuse("connect: one end is " + std::to_string(local.config.transport) + ", the other " +
               std::to_string(remote.config.transport));
    }
    if (is_far(local.config.transport)) {
        return Connection(
            connect_far(shared_from_this(), localEndpoint.pimpl_, remoteEndpoint.pimpl_));
    }
    return Connection(connect_near(shared_from_this(), localEndpoint.pimpl_, remoteEndpoint.pimpl_,
                                   pimpl_->need_copies()));
}

// ---- connections ----

Connection::Connection(std::shared_ptr<BaseConnection> impl) : impl_(std::move(impl)) {}

namespace
{

void check_bytes(const char *call, const char *which, const RegisteredMemory &memory,
                 uint64_t offset, uint64_t size)
{
    if (offset > memory.size() || size > memory.size() - offset) {
        refuse(std::string(call) + ": " + std::to_string(size) + " bytes from " +
               std::to_string(offset) + " on end beyond " + which + "'s " +
               std::to_string(memory.size()) + " bytes");
    }
}

void check_transport(const char *call, const char *which, const RegisteredMemory &memory,
                     Transport transport)
{
    if (!memory.transports().has(transport)) {
        refuse(std::string(call) + ": " + which + " is not registered for " +
               std::to_string(transport));
    }
}

} // namespace

void Connection::write(RegisteredMemory dst, uint64_t dstOffset, RegisteredMemory src,
                       uint64_t srcOffset, uint64_t size)
{
    BaseConnection &c = need(impl_, "a Connection");
    check_bytes("Connection::write", "dst", dst, dstOffset, size);
    check_bytes("Connection::write", "src", src, srcOffset, size);
    check_transport("Connection::write", "dst", dst, remoteTransport());
    check_transport("Connection::write", "src", src, transport());
    if (dst.pimpl_->process != c.remote_->process) {
        refuse("Connection::write: dst is not memory of the other end's process");
    }
    if (src.pimpl_->data == nullptr) {
        refuse("Connection::write: src is not in this process's memory");
    }
    const traced slice(traced::write("Connection::write", dst.pimpl_->id, dstOffset, size));
    if (size > 0) {
        c.write(*dst.pimpl_, dstOffset, *src.pimpl_, srcOffset, size);
    }
}

void Connection::checkUpdate(const RegisteredMemory &dst, uint64_t dstOffset) const
{
    const BaseConnection &c = need(impl_, "a Connection");
    check_bytes("Connection::updateAndSync", "dst", dst, dstOffset, sizeof(uint64_t));
    check_transport("Connection::updateAndSync", "dst", dst, remoteTransport());
    if (dst.pimpl_->process != c.remote_->process) {
        refuse("Connection::updateAndSync: dst is not memory of the other end's process");
    }
    if (((dst.pimpl_->original + dstOffset) & 7) != 0) {
        refuse("Connection::updateAndSync: the word is not aligned to 8 bytes");
    }
}

void Connection::updateAndSync(RegisteredMemory dst, uint64_t dstOffset, uint64_t *src,
                               uint64_t newValue)
{
    checkUpdate(dst, dstOffset);
    const traced slice(
        traced::update("Connection::updateAndSync", dst.pimpl_->id, dstOffset, newValue));
    impl_->update(*dst.pimpl_, dstOffset, newValue);
    if (src != nullptr) {
        *src = newValue; // after a failure a semaphore signals with this number once more
    }
}

bool Connection::flushInto(uint64_t *done, uint64_t value, const RegisteredMemory *dst,
                           uint64_t newValue)
{
    if (dst != nullptr) {
        checkUpdate(*dst, 0);
    }
    const traced slice(
        dst != nullptr ? traced::update("Connection::updateAndSync", dst->pimpl_->id, 0, newValue)
                       : traced::call("Connection::flush"));
    return need(impl_, "a Connection")
        .flush_into(done, value, dst != nullptr ? dst->pimpl_.get() : nullptr, newValue);
}

void Connection::flush(int64_t timeoutUsec)
{
    const traced slice(traced::call("Connection::flush"));
    BaseConnection &connection = need(impl_, "a Connection");
    const waiting wait("Connection::flush", connection.remote_pe);
    connection.flush(timeoutUsec < 0 ? gshmemx_layer_timeout_ns()
                                     : static_cast<uint64_t>(timeoutUsec) * 1000);
}

Transport Connection::transport() const
{
    return need(impl_, "a Connection").local_->config.transport;
}

Transport Connection::remoteTransport() const
{
    return need(impl_, "a Connection").remote_->config.transport;
}

std::shared_ptr<Context> Connection::context() const
{
    return need(impl_, "a Connection").context_;
}

const Device &Connection::localDevice() const
{
    return need(impl_, "a Connection").local_->config.device;
}

int Connection::getMaxWriteQueueSize() const
{
    return need(impl_, "a Connection").local_->config.maxWriteQueueSize;
}

std::string Connection::carrier() const
{
    return need(impl_, "a Connection").carrier();
}

bool Connection::isLost() const
{
    return need(impl_, "a Connection").is_lost();
}

int Connection::localRank() const
{
    return need(impl_, "a Connection").own_rank;
}

int Connection::remoteRank() const
{
    return need(impl_, "a Connection").remote_rank;
}

int Connection::remotePe() const
{
    return need(impl_, "a Connection").remote_pe;
}

} // namespace mscclpp
