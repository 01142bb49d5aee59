/* SPDX-License-Identifier: Apache-2.0
 * The channels of libgshmem_mscclpp for mscclpp.py, which compiles this file: C functions that take
 * and return pointers. A group owns all that is made with it. Functions return 0 or NULL on
 * failure; failure() then says why. */
#include <cuda_runtime.h>
#include <mscclpp/core.hpp>
#include <mscclpp/memory_channel.hpp>
#include <mscclpp/port_channel.hpp>
#include <algorithm>
#include <cstring>
#include <list>
#include <string>

using namespace mscclpp;

namespace
{

struct group {
    std::shared_ptr<TcpBootstrap> bootstrap;
    std::shared_ptr<Communicator> communicator;
    std::list<Connection> connections;
    std::list<RegisteredMemory> memories;
    std::list<MemoryChannel> memory_channels;
    std::list<std::shared_ptr<ProxyService>> services;
    std::list<PortChannel> port_channels;
};

thread_local std::string why;

template <class Function> auto guarded(Function function) -> decltype(function())
{
    try {
        return function();
    } catch (const std::exception &e) {
        why = e.what();
        return {};
    }
}

/* Each connection's peer, and its memory and a semaphore with it; all ranks do the same. */
struct pairing {
    RegisteredMemory own;
    std::vector<RegisteredMemory> theirs;
    std::vector<Semaphore> semaphores;
};

pairing pair_up(group *g, void *memory, size_t bytes, TransportFlags transports, void **connections,
                int n)
{
    pairing p;
    p.own = g->communicator->registerMemory(memory, bytes, transports);
    g->memories.push_back(p.own);
    std::vector<std::shared_future<RegisteredMemory>> memories;
    std::vector<std::shared_future<Semaphore>> semaphores;
    for (int i = 0; i < n; i++) {
        const Connection &connection = *static_cast<Connection *>(connections[i]);
        int rank = g->communicator->remoteRankOf(connection);
        g->communicator->sendMemory(p.own, rank);
        memories.push_back(g->communicator->recvMemory(rank));
        semaphores.push_back(g->communicator->buildSemaphore(connection, rank));
    }
    for (int i = 0; i < n; i++) {
        p.theirs.push_back(memories[(size_t)i].get());
        p.semaphores.push_back(semaphores[(size_t)i].get());
        g->memories.push_back(p.theirs.back());
    }
    return p;
}

TransportFlags transports_of(void **connections, int n)
{
    TransportFlags flags;
    for (int i = 0; i < n; i++)
        flags |= static_cast<Connection *>(connections[i])->transport();
    return flags;
}

template <class Handle> int copy_handle(const Handle &handle, void *out, size_t room)
{
    static_assert(std::is_trivially_copyable_v<Handle>);
    std::memcpy(out, &handle, std::min(room, sizeof handle));
    return (int)sizeof handle;
}

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED const char *gshmem_channels_failure(void)
{
    return why.c_str();
}

EXPORTED int gshmem_channels_unique_id(void *out)
{
    return guarded([&] {
        UniqueId id = TcpBootstrap::createUniqueId();
        std::memcpy(out, id.data(), id.size());
        return (int)id.size();
    });
}

/* trio: "ip:port" or "interface:ip:port", or NULL with an id. */
EXPORTED void *gshmem_channels_group(int rank, int n_ranks, const char *trio, const void *id)
{
    return guarded([&]() -> void * {
        auto g = std::make_unique<group>();
        g->bootstrap = std::make_shared<TcpBootstrap>(rank, n_ranks);
        if (trio != nullptr) {
            g->bootstrap->initialize(std::string(trio));
        } else {
            UniqueId unique;
            std::memcpy(unique.data(), id, unique.size());
            g->bootstrap->initialize(unique);
        }
        g->communicator = std::make_shared<Communicator>(g->bootstrap);
        return g.release();
    });
}

EXPORTED void gshmem_channels_end(void *g)
{
    for (auto &service : static_cast<group *>(g)->services)
        service->stopProxy();
    delete static_cast<group *>(g);
}

EXPORTED int gshmem_channels_barrier(void *g)
{
    return guarded([&] {
        static_cast<group *>(g)->bootstrap->barrier();
        return 1;
    });
}

EXPORTED int gshmem_channels_connect(void *of, const int *ranks, int n, int transport, void **out)
{
    group *g = static_cast<group *>(of);
    return guarded([&] {
        std::vector<std::shared_future<Connection>> made;
        for (int i = 0; i < n; i++)
            made.push_back(g->communicator->connect(
                EndpointConfig(static_cast<Transport>(transport)), ranks[i]));
        for (int i = 0; i < n; i++) {
            g->connections.push_back(made[(size_t)i].get());
            out[i] = &g->connections.back();
        }
        return 1;
    });
}

EXPORTED int gshmem_channels_memory(void *of, void *memory, size_t bytes, void **connections, int n,
                                    void **out)
{
    group *g = static_cast<group *>(of);
    return guarded([&] {
        pairing p = pair_up(g, memory, bytes, transports_of(connections, n), connections, n);
        for (size_t i = 0; i < (size_t)n; i++) {
            g->memory_channels.emplace_back(p.semaphores[i], p.theirs[i], p.own);
            out[i] = &g->memory_channels.back();
        }
        return 1;
    });
}

EXPORTED int gshmem_channels_memory_handle(const void *channel, void *out, size_t room)
{
    return guarded([&] {
        return copy_handle(static_cast<const MemoryChannel *>(channel)->deviceHandle(), out, room);
    });
}

EXPORTED void *gshmem_channels_service(void *of, int fifo_size)
{
    return guarded([&]() -> void * {
        static_cast<group *>(of)->services.push_back(std::make_shared<ProxyService>(fifo_size));
        return static_cast<group *>(of)->services.back().get();
    });
}

EXPORTED int gshmem_channels_run_service(void *service, int is_start)
{
    return guarded([&] {
        if (is_start)
            static_cast<ProxyService *>(service)->startProxy();
        else
            static_cast<ProxyService *>(service)->stopProxy();
        return 1;
    });
}

EXPORTED int gshmem_channels_port(void *of, void *service, void *memory, size_t bytes,
                                  void **connections, int n, void **out)
{
    group *g = static_cast<group *>(of);
    return guarded([&] {
        ProxyService *s = static_cast<ProxyService *>(service);
        pairing p = pair_up(g, memory, bytes, transports_of(connections, n), connections, n);
        MemoryId own = s->addMemory(p.own);
        for (size_t i = 0; i < (size_t)n; i++) {
            SemaphoreId semaphore = s->addSemaphore(p.semaphores[i]);
            g->port_channels.push_back(s->portChannel(semaphore, s->addMemory(p.theirs[i]), own));
            out[i] = &g->port_channels.back();
        }
        return 1;
    });
}

EXPORTED int gshmem_channels_port_handle(const void *channel, void *out, size_t room)
{
    return guarded([&] {
        return copy_handle(static_cast<const PortChannel *>(channel)->deviceHandle(), out, room);
    });
}
