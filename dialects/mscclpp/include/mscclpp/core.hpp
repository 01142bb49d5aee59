/* SPDX-License-Identifier: Apache-2.0
 * The host objects of channels: how ranks meet (Bootstrap), what they let each other access
 * (RegisteredMemory), and between which of them data move (Connection), with or without a
 * Communicator to make them.
 *
 * Connections and memories belong to pairs of processes. No job of gshmem is needed: two ends that
 * exchange the bytes of their endpoints by any means can connect, in two processes or in one. What
 * serialize() returns is a key: who holds it can connect, or access the memory, until the owner
 * releases it.
 *
 * Transport::CudaIpc is the near route: the other end's memory is mapped here. IB0..IB7 and
 * Ethernet are the far route, an authenticated TCP connection between the two ends, whichever of
 * them is named; writes are carried out by a thread of the process that owns the memory.
 *
 * All calls throw the exceptions of errors.hpp. Objects may be copied; copies are the same object.
 * Different objects may be used by different threads at the same time, and one Connection by
 * several. Waits for another process end with ErrorCode::Timeout after GSHMEM_BOOTSTRAP_TIMEOUT,
 * unless a call takes a limit of its own, and with ErrorCode::RemoteError once it is known to have
 * died. */
#ifndef MSCCLPP_CORE_HPP_
#define MSCCLPP_CORE_HPP_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <future>
#include <iosfwd>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <mscclpp/errors.hpp>
#include <mscclpp/version.hpp>

namespace mscclpp
{

/* ---- how ranks meet ---- */

constexpr size_t UniqueIdBytes = 128;
using UniqueId = std::array<uint8_t, UniqueIdBytes>;

/* Programs may derive from it. Collective calls come in the same order on all ranks. */
class Bootstrap
{
  public:
    Bootstrap() = default;
    virtual ~Bootstrap() = default;

    virtual int getRank() const = 0;
    virtual int getNranks() const = 0;
    virtual int getNranksPerNode() const = 0;
    /* How many ranks can map each other's GPU memory: those of a node, unless overridden. */
    virtual int getNranksPerIpcDomain() const;

    /* Messages between two ranks are told apart by their tags, and keep their order within one. */
    virtual void send(void *data, int size, int peer, int tag) = 0;
    virtual void recv(void *data, int size, int peer, int tag) = 0;
    /* allData: size bytes of each rank, in rank order; the caller's own are in place. */
    virtual void allGather(void *allData, int size) = 0;
    virtual void barrier() = 0;
    /* The root's size bytes come to all ranks. */
    virtual void broadcast(void *data, int size, int root);

    /* Collective over these ranks, in the same order everywhere. */
    void groupBarrier(const std::vector<int> &ranks);
    /* Of any length, which travels along. */
    void send(const std::vector<char> &data, int peer, int tag);
    void recv(std::vector<char> &data, int peer, int tag);
};

/* Ranks that meet over TCP, by gshmem's own start-up. Messages are authenticated by a secret in the
 * unique id. With "ip:port" there is no secret but that text: any process that knows it and reaches
 * the port can join, so use it only on trusted networks. */
class TcpBootstrap : public Bootstrap
{
  public:
    /* Serves a rendezvous in this process until all ranks have met. */
    static UniqueId createUniqueId();

    TcpBootstrap(int rank, int nRanks);
    ~TcpBootstrap();

    /* Of initialize; zeros before. */
    UniqueId getUniqueId() const;

    /* Collective; timeoutSec is also the limit of each later wait. */
    void initialize(UniqueId uniqueId, int64_t timeoutSec = 30);
    /* "ip:port" or "interface:ip:port", IPv6 in brackets: rank 0 listens there. */
    void initialize(const std::string &ifIpPortTrio, int64_t timeoutSec = 30);

    int getRank() const override;
    int getNranks() const override;
    int getNranksPerNode() const override;
    void send(void *data, int size, int peer, int tag) override;
    void recv(void *data, int size, int peer, int tag) override;
    void allGather(void *allData, int size) override;
    void barrier() override;
    void broadcast(void *data, int size, int root) override;
    using Bootstrap::recv;
    using Bootstrap::send;

    class Impl;

  private:
    std::unique_ptr<Impl> pimpl_;
};

/* ---- routes and devices ---- */

enum class Transport {
    Unknown,
    CudaIpc,
    IB0,
    IB1,
    IB2,
    IB3,
    IB4,
    IB5,
    IB6,
    IB7,
    Ethernet,
    NumTransports,
};

const std::string TransportNames[] = {"UNK", "IPC", "IB0", "IB1", "IB2", "IB3",
                                      "IB4", "IB5", "IB6", "IB7", "ETH", "NUM"};

namespace detail
{
const size_t TransportFlagsSize = 12;
static_assert(TransportFlagsSize == static_cast<size_t>(Transport::NumTransports) + 1);
using TransportFlagsBase = std::bitset<TransportFlagsSize>;
} // namespace detail

/* A set of transports. */
class TransportFlags : private detail::TransportFlagsBase
{
  public:
    TransportFlags() = default;
    TransportFlags(Transport transport);

    bool has(Transport transport) const;
    bool none() const;
    bool any() const;
    bool all() const;
    size_t count() const;

    TransportFlags &operator|=(TransportFlags other);
    TransportFlags operator|(TransportFlags other) const;
    TransportFlags operator|(Transport transport) const;
    TransportFlags &operator&=(TransportFlags other);
    TransportFlags operator&(TransportFlags other) const;
    TransportFlags operator&(Transport transport) const;
    TransportFlags &operator^=(TransportFlags other);
    TransportFlags operator^(TransportFlags other) const;
    TransportFlags operator^(Transport transport) const;
    TransportFlags operator~() const;
    bool operator==(TransportFlags other) const;
    bool operator!=(TransportFlags other) const;

    detail::TransportFlagsBase toBitset() const;

  private:
    TransportFlags(detail::TransportFlagsBase flags);
};

inline TransportFlags operator|(Transport a, Transport b)
{
    return TransportFlags(a) | b;
}
inline TransportFlags operator&(Transport a, Transport b)
{
    return TransportFlags(a) & b;
}
inline TransportFlags operator^(Transport a, Transport b)
{
    return TransportFlags(a) ^ b;
}

extern const TransportFlags NoTransports;
extern const TransportFlags AllIBTransports;
extern const TransportFlags AllTransports;

enum class DeviceType {
    Unknown,
    CPU,
    GPU,
};

/* id: of a GPU, as CUDA numbers it; -1: the current one. */
struct Device {
    DeviceType type;
    int id;

    Device() : Device(DeviceType::Unknown) {}
    Device(DeviceType type_, int id_ = -1) : type(type_), id(id_) {}
};

/* What one end of a connection is to be. The values of `ib` are kept and otherwise ignored. */
struct EndpointConfig {
    struct Ib {
        enum class Mode {
            Default,
            Host,
            HostNoAtomic,
        };
        static const int DefaultPort = -1;
        static const int DefaultGidIndex = -1;
        static const int DefaultMaxCqSize = 1024;
        static const int DefaultMaxCqPollNum = 256;
        static const int DefaultMaxSendWr = 8192;
        static const int DefaultMaxRecvWr = 16;
        static const int DefaultMaxWrPerSend = 64;

        int deviceIndex;
        int port;
        int gidIndex;
        int maxCqSize;
        int maxCqPollNum;
        int maxSendWr;
        int maxRecvWr;
        int maxWrPerSend;
        Mode mode;

        Ib(int deviceIndex_ = -1, int port_ = DefaultPort, int gidIndex_ = DefaultGidIndex,
           int maxCqSize_ = DefaultMaxCqSize, int maxCqPollNum_ = DefaultMaxCqPollNum,
           int maxSendWr_ = DefaultMaxSendWr, int maxRecvWr_ = DefaultMaxRecvWr,
           int maxWrPerSend_ = DefaultMaxWrPerSend, Mode mode_ = Mode::Default)
            : deviceIndex(deviceIndex_), port(port_), gidIndex(gidIndex_), maxCqSize(maxCqSize_),
              maxCqPollNum(maxCqPollNum_), maxSendWr(maxSendWr_), maxRecvWr(maxRecvWr_),
              maxWrPerSend(maxWrPerSend_), mode(mode_)
        {
        }
    };

    Transport transport;
    Device device;
    int maxWriteQueueSize; /* -1: no limit; a proxy flushes a connection after so many writes */
    Ib ib;

    EndpointConfig(Transport transport_ = Transport::Unknown, Device device_ = DeviceType::GPU,
                   int maxWriteQueueSize_ = -1, Ib ib_ = {})
        : transport(transport_), device(device_), maxWriteQueueSize(maxWriteQueueSize_), ib(ib_)
    {
    }
};

/* ---- what two processes share ---- */

class Context;
class Connection;
class RegisteredMemory;
class SemaphoreStub;
class Semaphore;

/* One end of a connection to be. Its process can be reached while it, or a connection made from it,
 * lives. */
class Endpoint
{
  public:
    Endpoint() = default;

    const EndpointConfig &config() const;
    Transport transport() const;
    const Device &device() const;
    /* The same for processes that can be near each other: by MSCCLPP_HOSTID if it is set. */
    uint64_t hostHash() const;
    /* The same for ends in one process. */
    uint64_t pidHash() const;
    int maxWriteQueueSize() const;

    std::vector<char> serialize() const;
    /* InvalidUsage: these bytes are no endpoint's. */
    static Endpoint deserialize(const std::vector<char> &data);

    struct Impl;

  private:
    Endpoint(std::shared_ptr<Impl> pimpl);
    std::shared_ptr<Impl> pimpl_;

    friend class Context;
    friend class Connection;
};

/* Memory that other processes may access while this object, or a copy of it, lives in its owner.
 * Does not own the memory. */
class RegisteredMemory
{
  public:
    RegisteredMemory() = default;
    ~RegisteredMemory();

    /* The memory as this process accesses it; nullptr: it is another host's, or shared by no
     * transport with a mapping. */
    void *data() const;
    /* Its address in its owner. */
    void *originalDataPtr() const;
    size_t size() const;
    TransportFlags transports() const;

    std::vector<char> serialize() const;
    /* InvalidUsage: these bytes are no memory's. RemoteError: its owner has released it, or died.
     */
    static RegisteredMemory deserialize(const std::vector<char> &data);

    struct Impl;

  private:
    RegisteredMemory(std::shared_ptr<Impl> pimpl);
    std::shared_ptr<Impl> pimpl_;

    friend class Context;
    friend class Connection;
    friend class SemaphoreStub;
    friend class Semaphore;
};

class BaseConnection;

/* Moves data from this end's memory to the other end's. */
class Connection
{
  public:
    Connection() = default;
    Connection(std::shared_ptr<BaseConnection> impl);
    virtual ~Connection() = default;

    /* Returns once src may be reused (far) or the copy is under way (near); flush completes it.
     * InvalidUsage: beyond either memory; dst is not the other end's or not for this transport. */
    void write(RegisteredMemory dst, uint64_t dstOffset, RegisteredMemory src, uint64_t srcOffset,
               uint64_t size);
    /* *src and the word at dst become newValue; who sees it there also sees all earlier writes of
     * this connection. If it throws, neither changes. */
    void updateAndSync(RegisteredMemory dst, uint64_t dstOffset, uint64_t *src, uint64_t newValue);
    /* Until all earlier writes and updates are complete at the other end. timeoutUsec < 0: the
     * general time limit.
     *
     * A write or update that the other end refused, since its memory is gone, is a RemoteError of
     * the first call that learns of it: this one, or an earlier write or updateAndSync, which then
     * does nothing itself. The other end's process prints a line. After such a write no update
     * arrives until a flush. */
    void flush(int64_t timeoutUsec = -1);
    /* Not for programs: the same without waiting. *done, of this process, becomes value once all
     * earlier writes and updates are complete, after the word at dst has become newValue if dst is
     * given. False: nothing has been done, since the route cannot do this. */
    bool flushInto(uint64_t *done, uint64_t value, const RegisteredMemory *dst, uint64_t newValue);

    Transport transport() const;
    Transport remoteTransport() const;
    std::shared_ptr<Context> context() const;
    const Device &localDevice() const;
    int getMaxWriteQueueSize() const;
    /* Whether the other end's process is known to have died or to have left. */
    bool isLost() const;
    /* What carries the data: "memory", "UCX" or "TCP". */
    std::string carrier() const;
    /* The two ends' ranks in the communicator that made it; -1: none did. */
    int localRank() const;
    int remoteRank() const;

    bool operator==(const Connection &other) const { return impl_ == other.impl_; }

    /* The forms of 0.7 and before, where connections were shared pointers. */
    Connection(const std::shared_ptr<Connection> &connection)
    {
        if (connection) {
            impl_ = connection->impl_;
        }
    }
    operator std::shared_ptr<Connection>() const { return std::make_shared<Connection>(*this); }
    Connection *operator->() { return this; }
    const Connection *operator->() const { return this; }

  private:
    void checkUpdate(const RegisteredMemory &dst, uint64_t dstOffset) const;
    int remotePe() const; /* of this process's job; -1: it is none */

    std::shared_ptr<BaseConnection> impl_;

    friend class Context;
    friend class Communicator;
    friend class SemaphoreStub;
    friend class Semaphore;
    friend class Host2HostSemaphore;
};

class Context : public std::enable_shared_from_this<Context>
{
  public:
    static std::shared_ptr<Context> create();
    ~Context();

    /* Any memory of this process: GpuBuffer's and gpuCalloc's, gshmem_malloc's, cudaMalloc's, on
     * the CPU device all but the stack. There, ordinary memory for CudaIpc changes its pages in
     * this call and when its last registration goes, so no thread may write to those pages
     * meanwhile: where other threads run, let it have whole pages (GpuBuffer, cudaMalloc, mmap).
     * InvalidUsage: no memory is there, or size is 0. */
    RegisteredMemory registerMemory(void *ptr, size_t size, TransportFlags transports);
    Endpoint createEndpoint(EndpointConfig config);
    /* Neither waits nor needs the other end to call it first. Two ends of this process may connect,
     * also an end with itself. */
    Connection connect(const Endpoint &localEndpoint, const Endpoint &remoteEndpoint);

    struct Impl;

  private:
    Context();
    std::unique_ptr<Impl> pimpl_;

    friend class Endpoint;
    friend class RegisteredMemory;
    friend class SemaphoreStub;
};

/* ---- semaphores ---- */

/* One end's half of a pair of tokens, 64-bit words that count signals. */
class SemaphoreStub
{
  public:
    /* Makes this end's token, on the connection's device, and registers it. */
    SemaphoreStub(const Connection &connection);

    /* The token, of 8 bytes. */
    const RegisteredMemory &memory() const;

    std::vector<char> serialize() const;
    static SemaphoreStub deserialize(const std::vector<char> &data);

    struct Impl;

  private:
    SemaphoreStub(std::shared_ptr<Impl> pimpl);
    std::shared_ptr<Impl> pimpl_;

    friend class Semaphore;
};

/* Both tokens of a pair: the other end counts up localMemory(), this end remoteMemory(). */
class Semaphore
{
  public:
    Semaphore() = default;
    Semaphore(const SemaphoreStub &localStub, const SemaphoreStub &remoteStub);

    Connection &connection();
    const RegisteredMemory &localMemory() const;
    const RegisteredMemory &remoteMemory() const;

    struct Impl;

  private:
    std::shared_ptr<Impl> pimpl_;
};

/* ---- what goes to devices ---- */

template <typename T> using DeviceHandle = typename T::DeviceHandle;

template <typename T> DeviceHandle<std::remove_reference_t<T>> deviceHandle(T &&t)
{
    return t.deviceHandle();
}

template <typename T> using PacketPayload = typename T::Payload;

template <typename T> using NonblockingFuture = std::shared_future<T>;

namespace detail
{
/* Of a connection, and for programs of 0.7 and before of a pointer to one. */
struct OldConnectionFuture : std::shared_future<Connection> {
    OldConnectionFuture(std::shared_future<Connection> future)
        : std::shared_future<Connection>(std::move(future))
    {
    }
    operator std::shared_future<std::shared_ptr<Connection>>() const
    {
        return std::async(std::launch::deferred,
                          [future = std::shared_future<Connection>(*this)] {
                              return std::make_shared<Connection>(future.get());
                          })
            .share();
    }
};
} // namespace detail

/* ---- all of it over a bootstrap ---- */

/* What is sent leaves at once; what is received is waited for by get() of the future, which first
 * takes what earlier calls with that rank and tag are to receive. So the n-th call of one rank
 * meets the n-th of the other. A rank may connect with, and send to, itself. */
class Communicator
{
  public:
    Communicator(std::shared_ptr<Bootstrap> bootstrap, std::shared_ptr<Context> context = nullptr);
    ~Communicator();

    std::shared_ptr<Bootstrap> bootstrap();
    std::shared_ptr<Context> context();

    RegisteredMemory registerMemory(void *ptr, size_t size, TransportFlags transports);
    void sendMemory(RegisteredMemory memory, int remoteRank, int tag = 0);
    std::shared_future<RegisteredMemory> recvMemory(int remoteRank, int tag = 0);

    std::shared_future<Connection> connect(const EndpointConfig &localConfig, int remoteRank,
                                           int tag = 0);
    std::shared_future<Connection> connect(const Endpoint &localEndpoint, int remoteRank,
                                           int tag = 0);
    std::shared_future<Semaphore> buildSemaphore(const Connection &connection, int remoteRank,
                                                 int tag = 0);

    /* Of a connection that connect has made, once its future has been asked. */
    int remoteRankOf(const Connection &connection);
    int tagOf(const Connection &connection);

    [[deprecated("futures take its place")]] void setup() {}
    [[deprecated("use sendMemory")]] void sendMemoryOnSetup(RegisteredMemory memory, int remoteRank,
                                                            int tag);
    [[deprecated("use recvMemory")]] NonblockingFuture<RegisteredMemory>
    recvMemoryOnSetup(int remoteRank, int tag);
    [[deprecated("use connect")]] detail::OldConnectionFuture
    connectOnSetup(int remoteRank, int tag, EndpointConfig localConfig)
    {
        return connect(localConfig, remoteRank, tag);
    }
    [[deprecated("the configuration comes first")]] detail::OldConnectionFuture
    connect(int remoteRank, int tag, EndpointConfig localConfig)
    {
        return connect(localConfig, remoteRank, tag);
    }

    struct Impl;

  private:
    std::unique_ptr<Impl> pimpl_;
};

} // namespace mscclpp

namespace std
{

std::string to_string(const mscclpp::Transport &transport);
std::string to_string(const mscclpp::Device &device);

template <> struct hash<mscclpp::TransportFlags> {
    size_t operator()(const mscclpp::TransportFlags &flags) const;
};

} // namespace std

namespace mscclpp
{

std::ostream &operator<<(std::ostream &out, const Transport &transport);
std::ostream &operator<<(std::ostream &out, const DeviceType &deviceType);
std::ostream &operator<<(std::ostream &out, const Device &device);

} // namespace mscclpp

#endif
