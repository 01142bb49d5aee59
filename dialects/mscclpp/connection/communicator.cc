// SPDX-License-Identifier: Apache-2.0
// Serialized objects over a bootstrap. What a call is to receive it receives when its future is
// asked, after what earlier calls with that rank and tag are to receive.
#include <mscclpp/core.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "dialects/mscclpp/base/check.h"
#include "dialects/mscclpp/base/waiting.h"
#include "dialects/mscclpp/connection/connection.h"

namespace mscclpp
{

namespace
{

// Unlike those of programs that send by the same bootstrap.
int own_tag(int tag)
{
    return static_cast<int>(static_cast<unsigned>(tag) ^ 0x4d530000u);
}

using Bytes = std::vector<char>;

// A message to be received.
struct Awaited {
    std::mutex mutex;
    bool is_asked = false;
    std::shared_ptr<Awaited> before; // of the same rank and tag; nullptr once it has come
    Bytes bytes;
    std::exception_ptr failure;
    std::function<Bytes()> receive;

    // Earlier ones first, and each once.
    void fetch()
    {
        std::lock_guard<std::mutex> hold(mutex);
        if (is_asked) {
            return;
        }
        is_asked = true;
        std::vector<std::shared_ptr<Awaited>> chain; // the latest first
        for (std::shared_ptr<Awaited> p = std::move(before); p; p = p->before) {
            chain.push_back(p);
        }
        while (!chain.empty()) {
            chain.back()->fetch();
            chain.pop_back();
        }
        try {
            bytes = receive();
        } catch (...) {
            failure = std::current_exception();
        }
        receive = nullptr;
    }
    Bytes get()
    {
        fetch();
        if (failure) {
            std::rethrow_exception(failure);
        }
        return bytes;
    }
};

} // namespace

struct Communicator::Impl {
    std::shared_ptr<Bootstrap> bootstrap;
    std::shared_ptr<Context> context;

    // Shared with futures, which may outlive the communicator.
    struct Known {
        std::mutex mutex;
        std::map<BaseConnection *, std::pair<Connection, std::pair<int, int>>> connections;
    };
    std::shared_ptr<Known> known = std::make_shared<Known>();

    std::mutex mutex;
    std::map<std::pair<int, int>, std::shared_ptr<Awaited>> latest; // by rank and tag

    void need_rank(const char *call, int rank) const
    {
        if (rank < 0 || rank >= bootstrap->getNranks()) {
            refuse(std::string("Communicator::") + call + ": there is no rank " +
                   std::to_string(rank));
        }
    }
    std::shared_ptr<Awaited> await(int rank, int tag)
    {
        auto awaited = std::make_shared<Awaited>();
        awaited->receive = [b = bootstrap, rank, tag] {
            Bytes bytes;
            b->recv(bytes, rank, own_tag(tag));
            return bytes;
        };
        std::lock_guard<std::mutex> hold(mutex);
        std::shared_ptr<Awaited> &last = latest[{rank, tag}];
        awaited->before = last;
        last = awaited;
        return awaited;
    }
    std::pair<int, int> find(const char *call, BaseConnection *connection)
    {
        std::lock_guard<std::mutex> hold(known->mutex);
        const auto found = known->connections.find(connection);
        if (found == known->connections.end()) {
            refuse(std::string("Communicator::") + call + ": this communicator did not make it");
        }
        return found->second.second;
    }
};

Communicator::Communicator(std::shared_ptr<Bootstrap> bootstrap, std::shared_ptr<Context> context)
    : pimpl_(std::make_unique<Impl>())
{
    if (!bootstrap) {
        refuse("Communicator: the bootstrap is nullptr");
    }
    pimpl_->bootstrap = std::move(bootstrap);
    pimpl_->context = context ? std::move(context) : Context::create();
}

Communicator::~Communicator() = default;

std::shared_ptr<Bootstrap> Communicator::bootstrap()
{
    return pimpl_->bootstrap;
}

std::shared_ptr<Context> Communicator::context()
{
    return pimpl_->context;
}

RegisteredMemory Communicator::registerMemory(void *ptr, size_t size, TransportFlags transports)
{
    return pimpl_->context->registerMemory(ptr, size, transports);
}

void Communicator::sendMemory(RegisteredMemory memory, int remoteRank, int tag)
{
    pimpl_->need_rank("sendMemory", remoteRank);
    pimpl_->bootstrap->send(memory.serialize(), remoteRank, own_tag(tag));
}

std::shared_future<RegisteredMemory> Communicator::recvMemory(int remoteRank, int tag)
{
    pimpl_->need_rank("recvMemory", remoteRank);
    return std::async(std::launch::deferred,
                      [awaited = pimpl_->await(remoteRank, tag)] {
                          const waiting wait("Communicator::recvMemory");
                          return RegisteredMemory::deserialize(awaited->get());
                      })
        .share();
}

std::shared_future<Connection> Communicator::connect(const EndpointConfig &localConfig,
                                                     int remoteRank, int tag)
{
    pimpl_->need_rank("connect", remoteRank);
    return connect(pimpl_->context->createEndpoint(localConfig), remoteRank, tag);
}

std::shared_future<Connection> Communicator::connect(const Endpoint &localEndpoint, int remoteRank,
                                                     int tag)
{
    pimpl_->need_rank("connect", remoteRank);
    pimpl_->bootstrap->send(localEndpoint.serialize(), remoteRank, own_tag(tag));
    return std::async(
               std::launch::deferred,
               [awaited = pimpl_->await(remoteRank, tag), context = pimpl_->context,
                known = pimpl_->known, own_rank = pimpl_->bootstrap->getRank(), localEndpoint,
                remoteRank, tag] {
                   const waiting wait("Communicator::connect");
                   const Endpoint remote = Endpoint::deserialize(awaited->get());
                   Connection connection = context->connect(localEndpoint, remote);
                   connection.impl_->own_rank = own_rank;
                   connection.impl_->remote_rank = remoteRank;
                   std::lock_guard<std::mutex> hold(known->mutex);
                   known->connections[connection.impl_.get()] = {connection, {remoteRank, tag}};
                   return connection;
               })
        .share();
}

std::shared_future<Semaphore> Communicator::buildSemaphore(const Connection &connection,
                                                           int remoteRank, int tag)
{
    pimpl_->need_rank("buildSemaphore", remoteRank);
    SemaphoreStub local(connection);
    pimpl_->bootstrap->send(local.serialize(), remoteRank, own_tag(tag));
    return std::async(std::launch::deferred,
                      [awaited = pimpl_->await(remoteRank, tag), local] {
                          const waiting wait("Communicator::buildSemaphore");
                          return Semaphore(local, SemaphoreStub::deserialize(awaited->get()));
                      })
        .share();
}

int Communicator::remoteRankOf(const Connection &connection)
{
    return pimpl_->find("remoteRankOf", connection.impl_.get()).first;
}

int Communicator::tagOf(const Connection &connection)
{
    return pimpl_->find("tagOf", connection.impl_.get()).second;
}

void Communicator::sendMemoryOnSetup(RegisteredMemory memory, int remoteRank, int tag)
{
    sendMemory(memory, remoteRank, tag);
}

NonblockingFuture<RegisteredMemory> Communicator::recvMemoryOnSetup(int remoteRank, int tag)
{
    return recvMemory(remoteRank, tag);
}

} // namespace mscclpp
