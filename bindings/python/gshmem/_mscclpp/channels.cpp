/* SPDX-License-Identifier: Apache-2.0
 * The objects of libgshmem_mscclpp for mscclpp.py, which compiles this file: C functions that take
 * and return pointers to them. An object lives as long as the communicator that it was made with;
 * bootstraps, services, and memories from bytes belong to none and live as long as the process.
 * Functions return 0 or NULL on failure; failure() then says why. What a call checks, and what it
 * waits for, <mscclpp/core.hpp> and its siblings say. */
#include <cuda_runtime.h>
#include <mscclpp/core.hpp>
#include <mscclpp/fifo.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <mscclpp/memory_channel.hpp>
#include <mscclpp/port_channel.hpp>
#include <mscclpp/switch_channel.hpp>
#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <string>

using namespace mscclpp;

namespace
{

/* Keeps objects; several threads of Python may make some. */
class objects
{
  public:
    template <class Object> Object *keep(std::shared_ptr<Object> object)
    {
        std::lock_guard<std::mutex> guard(lock_);
        objects_.push_front(object); /* the last one made goes first */
        return object.get();
    }
    template <class Object> Object *keep(Object object)
    {
        return keep(std::make_shared<Object>(std::move(object)));
    }

  private:
    std::mutex lock_;
    std::list<std::shared_ptr<void>> objects_;
};

struct communicator {
    Communicator of;
    objects kept;
    explicit communicator(std::shared_ptr<Bootstrap> bootstrap) : of(std::move(bootstrap)) {}
};

struct bootstrap {
    std::shared_ptr<TcpBootstrap> of;
};

objects &of_process()
{
    static objects *kept = new objects; /* threads of services may outlive main */
    return *kept;
}

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

communicator *as_communicator(void *c)
{
    return static_cast<communicator *>(c);
}

template <class Object> const Object &as(const void *object)
{
    return *static_cast<const Object *>(object);
}

template <class Object> Object &as(void *object)
{
    return *static_cast<Object *>(object);
}

template <class Handle> int copy_handle(const Handle &handle, void *out, size_t room)
{
    static_assert(std::is_trivially_copyable_v<Handle>);
    std::memcpy(out, &handle, std::min(room, sizeof handle));
    return (int)sizeof handle;
}

TransportFlags flags_of(unsigned bits)
{
    TransportFlags flags;
    for (unsigned i = 0; i < (unsigned)Transport::NumTransports; i++) {
        if ((bits >> i & 1) != 0)
            flags |= static_cast<Transport>(i);
    }
    return flags;
}

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

/* A function that returns 1 if `...` throws nothing. */
#define DOES(name, parameters, ...)                \
    EXPORTED int gshmem_channels_##name parameters \
    {                                              \
        return guarded([&] {                       \
            __VA_ARGS__;                           \
            return 1;                              \
        });                                        \
    }

/* One that returns a pointer to an object. */
#define MAKES(name, parameters, ...)                             \
    EXPORTED void *gshmem_channels_##name parameters             \
    {                                                            \
        return guarded([&]() -> void * { return __VA_ARGS__; }); \
    }

/* One that copies the bytes of a handle and returns how many they are. */
#define HANDLE(name, Type)                                                                       \
    EXPORTED int gshmem_channels_##name##_handle(const void *object, void *out, size_t room)     \
    {                                                                                            \
        return guarded([&] { return copy_handle(as<Type>(object).deviceHandle(), out, room); }); \
    }

EXPORTED const char *gshmem_channels_failure(void)
{
    return why.c_str();
}

/* ---- bootstraps ---- */

DOES(unique_id, (void *out), UniqueId id = TcpBootstrap::createUniqueId();
     std::memcpy(out, id.data(), id.size()))
MAKES(bootstrap, (int rank, int n_ranks),
      of_process().keep(bootstrap{std::make_shared<TcpBootstrap>(rank, n_ranks)}))
DOES(start_at, (void *b, const char *trio, int64_t timeout_s),
     as<bootstrap>(b).of->initialize(std::string(trio), timeout_s))
DOES(start_by, (void *b, const void *id, int64_t timeout_s), UniqueId unique;
     std::memcpy(unique.data(), id, unique.size());
     as<bootstrap>(b).of->initialize(unique, timeout_s))
DOES(barrier, (void *b), as<bootstrap>(b).of->barrier())
DOES(all_gather, (void *b, void *all, int bytes), as<bootstrap>(b).of->allGather(all, bytes))

DOES(send, (void *b, void *data, int bytes, int rank, int tag),
     as<bootstrap>(b).of->send(data, bytes, rank, tag))
DOES(recv, (void *b, void *data, int bytes, int rank, int tag),
     as<bootstrap>(b).of->recv(data, bytes, rank, tag))
/* *out: a number. */
DOES(ranks_per_node, (void *b, int *out), *out = as<bootstrap>(b).of->getNranksPerNode())

/* ---- communicators ---- */

MAKES(communicator, (void *b), new communicator(as<bootstrap>(b).of))

EXPORTED void gshmem_channels_end(void *c)
{
    delete as_communicator(c);
}

MAKES(register_memory, (void *c, void *memory, size_t bytes, unsigned transports),
      as_communicator(c)->kept.keep(as_communicator(c)->of.registerMemory(memory, bytes,
                                                                          flags_of(transports))))
DOES(send_memory, (void *c, const void *memory, int rank, int tag),
     as_communicator(c)->of.sendMemory(as<RegisteredMemory>(memory), rank, tag))
MAKES(recv_memory, (void *c, int rank, int tag),
      as_communicator(c)->kept.keep(as_communicator(c)->of.recvMemory(rank, tag)))
MAKES(connect, (void *c, int transport, int device_type, int device, int rank, int tag),
      as_communicator(c)->kept.keep(as_communicator(c)->of.connect(
          EndpointConfig(static_cast<Transport>(transport),
                         Device(static_cast<DeviceType>(device_type), device)),
          rank, tag)))
MAKES(build_semaphore, (void *c, const void *connection, int rank, int tag),
      as_communicator(c)->kept.keep(
          as_communicator(c)->of.buildSemaphore(as<Connection>(connection), rank, tag)))
MAKES(get_memory, (void *c, const void *future),
      as_communicator(c)->kept.keep(as<std::shared_future<RegisteredMemory>>(future).get()))
MAKES(get_connection, (void *c, const void *future),
      as_communicator(c)->kept.keep(as<std::shared_future<Connection>>(future).get()))
MAKES(get_semaphore, (void *c, const void *future),
      as_communicator(c)->kept.keep(as<std::shared_future<Semaphore>>(future).get()))
DOES(rank_and_tag_of, (void *c, const void *connection, int *out),
     out[0] = as_communicator(c)->of.remoteRankOf(as<Connection>(connection));
     out[1] = as_communicator(c)->of.tagOf(as<Connection>(connection)))

/* ---- memory ---- */

/* out: address, bytes, transports. */
DOES(memory_facts, (const void *memory, uint64_t *out),
     const auto &m = as<RegisteredMemory>(memory);
     out[0] = (uint64_t)(uintptr_t)m.data(); out[1] = m.size();
     out[2] = m.transports().toBitset().to_ulong())

EXPORTED int gshmem_channels_serialize(const void *memory, void *out, size_t room)
{
    return guarded([&] {
        const std::vector<char> bytes = as<RegisteredMemory>(memory).serialize();
        std::memcpy(out, bytes.data(), std::min(room, bytes.size()));
        return (int)bytes.size();
    });
}

MAKES(deserialize, (const char *bytes, size_t n),
      of_process().keep(RegisteredMemory::deserialize(std::vector<char>(bytes, bytes + n))))

/* ---- connections ---- */

/* out: this end's transport, the other's. */
DOES(connection_facts, (const void *connection, int *out),
     out[0] = (int)as<Connection>(connection).transport();
     out[1] = (int)as<Connection>(connection).remoteTransport())
DOES(write,
     (void *connection, const void *dst, uint64_t dst_off, const void *src, uint64_t src_off,
      uint64_t bytes),
     as<Connection>(connection)
         .write(as<RegisteredMemory>(dst), dst_off, as<RegisteredMemory>(src), src_off, bytes))
DOES(update, (void *connection, const void *dst, uint64_t dst_off, uint64_t *src, uint64_t value),
     as<Connection>(connection).updateAndSync(as<RegisteredMemory>(dst), dst_off, src, value))
DOES(flush, (void *connection, int64_t timeout_us), as<Connection>(connection).flush(timeout_us))

/* ---- semaphores ---- */

MAKES(semaphore_part, (void *c, void *semaphore, int part),
      part == 0   ? (void *)as_communicator(c)->kept.keep(as<Semaphore>(semaphore).connection())
      : part == 1 ? (void *)as_communicator(c)->kept.keep(as<Semaphore>(semaphore).localMemory())
                  : (void *)as_communicator(c)->kept.keep(as<Semaphore>(semaphore).remoteMemory()))
MAKES(memory_semaphore, (void *c, const void *semaphore),
      as_communicator(c)->kept.keep(MemoryDevice2DeviceSemaphore(as<Semaphore>(semaphore))))
HANDLE(memory_semaphore, MemoryDevice2DeviceSemaphore)
MAKES(device_semaphore, (void *c, const void *semaphore),
      as_communicator(c)->kept.keep(Host2DeviceSemaphore(as<Semaphore>(semaphore))))
HANDLE(device_semaphore, Host2DeviceSemaphore)
DOES(device_semaphore_signal, (void *semaphore), as<Host2DeviceSemaphore>(semaphore).signal())
MAKES(host_semaphore, (void *c, const void *semaphore),
      as_communicator(c)->kept.keep(Host2HostSemaphore(as<Semaphore>(semaphore))))
DOES(host_semaphore_signal, (void *semaphore), as<Host2HostSemaphore>(semaphore).signal())
DOES(host_semaphore_poll, (void *semaphore, int *out),
     *out = as<Host2HostSemaphore>(semaphore).poll())
DOES(host_semaphore_wait, (void *semaphore, int64_t n_polls),
     as<Host2HostSemaphore>(semaphore).wait(n_polls))

/* ---- channels ---- */

MAKES(memory, (void *c, const void *semaphore, const void *dst, const void *src, void *packets),
      as_communicator(c)->kept.keep(MemoryChannel(as<Semaphore>(semaphore),
                                                  as<RegisteredMemory>(dst),
                                                  as<RegisteredMemory>(src), packets)))
HANDLE(memory, MemoryChannel)
MAKES(service, (int fifo_size), of_process().keep(std::make_shared<ProxyService>(fifo_size)))
DOES(run_service, (void *service, int is_start),
     if (is_start != 0) as<ProxyService>(service).startProxy();
     else as<ProxyService>(service).stopProxy())
/* *out: the number. */
DOES(add_semaphore, (void *service, const void *semaphore, unsigned *out),
     *out = (unsigned)as<ProxyService>(service).addSemaphore(as<Semaphore>(semaphore)))
DOES(build_and_add_semaphore, (void *service, void *c, const void *connection, unsigned *out),
     *out = (unsigned)as<ProxyService>(service).buildAndAddSemaphore(as_communicator(c)->of,
                                                                     as<Connection>(connection)))
DOES(add_memory, (void *service, const void *memory, unsigned *out),
     *out = (unsigned)as<ProxyService>(service).addMemory(as<RegisteredMemory>(memory)))
MAKES(base_port, (void *service, unsigned semaphore),
      of_process().keep(as<ProxyService>(service).basePortChannel((SemaphoreId)semaphore)))
HANDLE(base_port, BasePortChannel)
MAKES(port, (void *service, unsigned semaphore, unsigned dst, unsigned src),
      of_process().keep(as<ProxyService>(service).portChannel((SemaphoreId)semaphore, (MemoryId)dst,
                                                              (MemoryId)src)))
HANDLE(port, PortChannel)

/* ---- FIFOs: of a program that takes its kernels' triggers out by itself ---- */

MAKES(fifo, (int size), of_process().keep(std::make_shared<Fifo>(size)))
HANDLE(fifo, Fifo)
/* out: whether there is one, its two words. */
DOES(fifo_poll, (void *fifo, uint64_t *out), ProxyTrigger trigger = {};
     out[0] = as<Fifo>(fifo).poll(trigger); out[1] = trigger.fst; out[2] = trigger.snd)
DOES(fifo_pop, (void *fifo), as<Fifo>(fifo).pop())
DOES(fifo_tail, (const void *fifo, uint64_t *out), *out = as<Fifo>(fifo).tail())

/* ---- switch channels, which throw without multicast memory ---- */

DOES(nvls_supported, (int *out), *out = isNvlsSupported())
DOES(connect_nvls, (void *c, const int *ranks, int n, size_t bytes),
     connectNvlsCollective(std::shared_ptr<Communicator>(std::shared_ptr<void>(),
                                                         &as_communicator(c)->of),
                           std::vector<int>(ranks, ranks + n), bytes))
DOES(nvls_connection, (size_t bytes, int n_devices), NvlsConnection(bytes, n_devices))
