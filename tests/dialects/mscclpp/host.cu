/* SPDX-License-Identifier: Apache-2.0
 * The host objects of MSCCL++'s names, between ranks: a bootstrap's messages and collective calls;
 * memory, connections and semaphores by a communicator, near and far, also with oneself; hosts that
 * signal each other; what goes wrong in each. Needs no kernel. host_ranks.hpp says how it starts.
 */
#include <netinet/in.h>
#include <sys/socket.h>

#include <mscclpp/core.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <mscclpp/semaphore.hpp>

#include "tests/dialects/mscclpp/host_ranks.hpp"

using namespace mscclpp;

/* ---- bootstrap ---- */

static void test_collective(Bootstrap &b, const Rank &r)
{
    std::vector<int> all(static_cast<size_t>(r.n), -1);
    CHECK_EQ(b.getRank(), r.rank);
    CHECK_EQ(b.getNranks(), r.n);
    CHECK_EQ(b.getNranksPerNode(), r.is_far ? 1 : r.n);
    CHECK_EQ(b.getNranksPerIpcDomain(), b.getNranksPerNode());
    all[static_cast<size_t>(r.rank)] = 100 + r.rank;
    b.allGather(all.data(), sizeof(int));
    for (int i = 0; i < r.n; i++) {
        CHECK_EQ(all[static_cast<size_t>(i)], 100 + i);
    }
    for (int root = 0; root < r.n; root++) {
        int64_t value = r.rank == root ? 7000 + root : 0;
        b.broadcast(&value, sizeof(value), root);
        CHECK_EQ(value, 7000 + root);
    }
    b.barrier();
    b.groupBarrier({r.rank});
    std::vector<int> backwards;
    for (int i = r.n - 1; i >= 0; i--) {
        backwards.push_back(i);
    }
    b.groupBarrier(backwards);
    CHECK(throws(ErrorCode::InvalidUsage, [&] { b.groupBarrier({r.n}); }));
}

/* Everybody sends to everybody, itself too, before anybody receives; tags in another order. */
static void test_messages(Bootstrap &b, const Rank &r)
{
    const size_t long_bytes = 3 << 20;
    for (int to = 0; to < r.n; to++) {
        for (int tag = 0; tag < 3; tag++) {
            int value = 1000 * r.rank + 10 * to + tag;
            b.send(&value, sizeof(value), to, tag);
            value += 5;
            b.send(&value, sizeof(value), to, tag);
        }
        std::vector<char> blob(long_bytes, static_cast<char>(r.rank + 1));
        b.send(blob, to, -4);
        b.send(std::vector<char>(), to, -4);
    }
    for (int from = 0; from < r.n; from++) {
        std::vector<char> blob;
        for (int tag = 2; tag >= 0; tag--) {
            int first = 0, second = 0;
            b.recv(&first, sizeof(first), from, tag);
            b.recv(&second, sizeof(second), from, tag);
            CHECK_EQ(first, 1000 * from + 10 * r.rank + tag);
            CHECK_EQ(second, first + 5);
        }
        b.recv(blob, from, -4);
        CHECK(blob == std::vector<char>(long_bytes, static_cast<char>(from + 1)));
        b.recv(blob, from, -4);
        CHECK(blob.empty());
    }
    int64_t value = 0;
    CHECK(throws(ErrorCode::InvalidUsage, [&] { b.send(&value, sizeof(value), r.n, 0); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { b.send(&value, -1, 0, 0); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { b.recv(&value, sizeof(value), -1, 0); }));
    /* of another size: it stays */
    b.send(&value, 4, r.rank, 9);
    CHECK(throws(ErrorCode::InvalidUsage, [&] { b.recv(&value, sizeof(value), r.rank, 9); }));
    b.recv(&value, 4, r.rank, 9);
}

/* ---- communicator ---- */

/* A bootstrap of the program's own, over another one. */
class Derived : public Bootstrap
{
  public:
    explicit Derived(std::shared_ptr<Bootstrap> b) : b_(std::move(b)) {}
    int getRank() const override { return b_->getRank(); }
    int getNranks() const override { return b_->getNranks(); }
    int getNranksPerNode() const override { return b_->getNranksPerNode(); }
    void send(void *data, int size, int peer, int tag) override { b_->send(data, size, peer, tag); }
    void recv(void *data, int size, int peer, int tag) override { b_->recv(data, size, peer, tag); }
    void allGather(void *all, int size) override { b_->allGather(all, size); }
    void barrier() override { b_->barrier(); }

  private:
    std::shared_ptr<Bootstrap> b_;
};

struct Pair {
    Connection connection;
    RegisteredMemory memory;
    Semaphore semaphore;
};

static constexpr size_t words = 200000; /* more than one message of a far connection */

/* Connections to all ranks, of memory of each rank in all others; futures are asked backwards. */
static std::vector<Pair> connect_all(Communicator &c, const Rank &r, const RegisteredMemory &mine,
                                     Transport transport, DeviceType type)
{
    std::vector<std::shared_future<Connection>> connections;
    std::vector<std::shared_future<RegisteredMemory>> memories;
    std::vector<Pair> pairs(static_cast<size_t>(r.n));
    for (int to = 0; to < r.n; to++) {
        connections.push_back(c.connect({transport, type, 17}, to, 3));
        c.sendMemory(mine, to, 3);
        memories.push_back(c.recvMemory(to, 3));
    }
    for (size_t i = pairs.size(); i-- > 0;) {
        pairs[i].memory = memories[i].get();
        pairs[i].connection = connections[i].get();
        CHECK_EQ(c.remoteRankOf(pairs[i].connection), i);
        CHECK_EQ(c.tagOf(pairs[i].connection), 3);
        CHECK_EQ(pairs[i].connection.getMaxWriteQueueSize(), 17);
        CHECK(pairs[i].connection.transport() == transport);
        CHECK(!pairs[i].connection.isLost());
        CHECK(is_carried_as_it_says(pairs[i].connection));
    }
    std::vector<std::shared_future<Semaphore>> semaphores;
    for (int to = 0; to < r.n; to++) {
        semaphores.push_back(c.buildSemaphore(pairs[static_cast<size_t>(to)].connection, to));
    }
    for (size_t i = 0; i < pairs.size(); i++) {
        pairs[i].semaphore = semaphores[i].get();
    }
    return pairs;
}

static void await(const uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) {
        usleep(10);
    }
}

/* While it lives, what the process prints to stderr is kept; then it is printed. */
class Printed
{
  public:
    Printed() : file_(tmpfile()), stderr_(dup(STDERR_FILENO))
    {
        CHECK(file_ != nullptr && dup2(fileno(file_), STDERR_FILENO) == STDERR_FILENO);
    }
    ~Printed()
    {
        dup2(stderr_, STDERR_FILENO);
        close(stderr_);
        fputs(text().c_str(), stderr);
        fclose(file_);
    }
    std::string text() const
    {
        std::string text(static_cast<size_t>(lseek(fileno(file_), 0, SEEK_END)), '\0');
        CHECK_EQ(pread(fileno(file_), text.data(), text.size(), 0), text.size());
        return text;
    }

  private:
    FILE *file_;
    int stderr_;
};

/* What the owner of memory has refused is told without a flush, by the next call and in the owner;
 * and after such a write no update tells that it has arrived. The token of each rank's semaphore
 * with the one before it has counted one signal. */
static void test_refused(Communicator &c, Pair &next, const Pair &before,
                         const RegisteredMemory &from)
{
    const Printed printed;
    c.bootstrap()->barrier();
    const RegisteredMemory &token = next.semaphore.remoteMemory();
    const uint64_t *const own = static_cast<uint64_t *>(before.semaphore.localMemory().data());
    const auto update_until_told = [&](uint64_t value) {
        std::string why;
        uint64_t last = 0;
        while (why.empty()) {
            last = 0;
            try {
                next.connection.updateAndSync(token, 0, &last, value);
                CHECK_EQ(last, value);
                usleep(100);
            } catch (const Error &e) {
                CHECK(e.getErrorCode() == ErrorCode::RemoteError);
                why = e.what();
            }
        }
        CHECK_EQ(last, 0);
        CHECK(why.find("Connection::updateAndSync: the other end did not carry out") == 0);
        CHECK(why.find("released") != std::string::npos);
    };
    next.connection.updateAndSync(next.memory, 8, nullptr, 9);
    update_until_told(2);
    next.connection.updateAndSync(token, 0, nullptr, 3); /* told, and it goes on */
    next.connection.flush();
    c.bootstrap()->barrier();
    CHECK_EQ(__atomic_load_n(own, __ATOMIC_ACQUIRE), 3);
    CHECK(printed.text().find("gshmem: mscclpp: another process's update at offset 8 of this "
                              "process's memory was not carried out: its owner has released it") !=
          std::string::npos);
    c.bootstrap()->barrier();

    next.connection.write(next.memory, 16, from, 0, 8);
    update_until_told(4);
    next.connection.updateAndSync(token, 0, nullptr, 5);
    next.connection.flush(); /* has no more to tell */
    c.bootstrap()->barrier();
    CHECK_EQ(__atomic_load_n(own, __ATOMIC_ACQUIRE), 3);
    CHECK(printed.text().find("another process's write at offset 16") != std::string::npos);
    c.bootstrap()->barrier();
    next.connection.updateAndSync(token, 0, nullptr, 6);
    next.connection.flush();
    c.bootstrap()->barrier();
    CHECK_EQ(__atomic_load_n(own, __ATOMIC_ACQUIRE), 6);
}

/* Each writes its own part of everybody's memory, and then everybody's token. */
static void test_writes(Communicator &c, const Rank &r, Transport transport, DeviceType type,
                        uint64_t *memory)
{
    const size_t part = words / static_cast<size_t>(r.n), me = static_cast<size_t>(r.rank);
    OwnPages<uint64_t> source(words);
    for (size_t i = 0; i < words; i++) {
        source[i] = i * 16 + me;
    }
    std::memset(memory, 0, words * sizeof(uint64_t));
    RegisteredMemory mine = c.registerMemory(memory, words * sizeof(uint64_t), transport);
    RegisteredMemory from = c.registerMemory(source.data(), words * sizeof(uint64_t), transport);
    std::vector<Pair> pairs = connect_all(c, r, mine, transport, type);
    for (Pair &p : pairs) {
        uint64_t outbound = 0;
        CHECK_EQ(p.memory.size(), words * sizeof(uint64_t));
        CHECK(p.memory.transports() == TransportFlags(transport));
        p.connection.write(p.memory, me * part * 8, from, me * part * 8, part * 8);
        p.connection.updateAndSync(p.semaphore.remoteMemory(), 0, &outbound, 1);
        CHECK_EQ(outbound, 1);
    }
    for (size_t i = 0; i < pairs.size(); i++) {
        await(static_cast<uint64_t *>(pairs[i].semaphore.localMemory().data()), 1);
        for (size_t k = i * part; k < (i + 1) * part; k++) {
            if (!CHECK_EQ(memory[k], k * 16 + i)) {
                break;
            }
        }
    }
    for (Pair &p : pairs) {
        p.connection.flush();
        p.connection.flush(20000000);
    }
    /* what is refused changes nothing */
    Pair &next = pairs[(me + 1) % pairs.size()];
    const size_t bytes = words * sizeof(uint64_t);
    uint64_t unchanged = 3;
    CHECK(throws(ErrorCode::InvalidUsage,
                 [&] { next.connection.write(next.memory, 8, from, 0, bytes); }));
    CHECK(throws(ErrorCode::InvalidUsage,
                 [&] { next.connection.write(next.memory, 0, from, UINT64_MAX, 8); }));
    CHECK(throws(ErrorCode::InvalidUsage,
                 [&] { next.connection.updateAndSync(next.memory, 4, &unchanged, 9); }));
    CHECK(throws(ErrorCode::InvalidUsage,
                 [&] { next.connection.updateAndSync(next.memory, bytes, &unchanged, 9); }));
    CHECK_EQ(unchanged, 3);
    c.bootstrap()->barrier();
    CHECK_EQ(memory[0], 0 * 16 + 0);
    /* released by its owner: a far write is refused, and the connection goes on */
    mine = pairs[me].memory = RegisteredMemory(); /* what it got from itself is a copy */
    c.bootstrap()->barrier();
    if (transport != Transport::CudaIpc && !r.is_thread && r.n > 1) {
        std::string why;
        next.connection.write(next.memory, 0, from, 0, 8);
        CHECK(throws(
            ErrorCode::RemoteError, [&] { next.connection.flush(); }, &why));
        CHECK(why.find("released") != std::string::npos);
        next.connection.flush();
        test_refused(c, next, pairs[(me + pairs.size() - 1) % pairs.size()], from);
    }
    std::vector<char> stale;
    if (r.n > 1) {
        stale = next.memory.serialize();
    }
    next.memory = RegisteredMemory();
    for (Pair &p : pairs) {
        p.memory = RegisteredMemory();
    }
    c.bootstrap()->barrier();
    if (transport == Transport::CudaIpc && r.n > 1) {
        CHECK(throws(ErrorCode::RemoteError, [&] { RegisteredMemory::deserialize(stale); }));
    }
    c.bootstrap()->barrier();
}

/* In each round every rank writes a word into everybody's memory, signals, and has all of theirs
 * behind their signals: by wait and by poll. */
static void test_host_semaphores(Communicator &c, const Rank &r, Transport far)
{
    const size_t n = static_cast<size_t>(r.n), me = static_cast<size_t>(r.rank);
    const EndpointConfig on_cpu(far, DeviceType::CPU);
    OwnPages<uint64_t> come(n), source(1);
    RegisteredMemory mine = c.registerMemory(come.data(), n * 8, far),
                     from = c.registerMemory(source.data(), 8, far);
    std::vector<Pair> pairs = connect_all(c, r, mine, on_cpu.transport, on_cpu.device.type);
    std::vector<std::unique_ptr<Host2HostSemaphore>> ends;
    for (size_t i = 0; i < n; i++) {
        if (i % 2 == me % 2) { /* both ends choose the same way */
            ends.push_back(std::make_unique<Host2HostSemaphore>(pairs[i].semaphore));
        } else {
            ends.push_back(std::make_unique<Host2HostSemaphore>(c, pairs[i].connection));
        }
        CHECK(ends[i]->connection() == pairs[i].connection);
        CHECK(!ends[i]->poll());
        CHECK(throws(ErrorCode::Timeout, [&] { ends[i]->wait(10); }));
    }
    c.bootstrap()->barrier();
    for (uint64_t round = 1; round <= 20; round++) {
        source[0] = round * 100 + me;
        for (size_t i = 0; i < n; i++) {
            ends[i]->connection().write(pairs[i].memory, me * 8, from, 0, 8);
            ends[i]->signal();
        }
        for (size_t i = 0; i < n; i++) {
            if (round % 2 == 0) {
                ends[i]->wait(-1);
            } else {
                while (!ends[i]->poll()) {
                    usleep(10);
                }
            }
            CHECK_EQ(come[i], round * 100 + i);
            CHECK(!ends[i]->poll());
        }
        c.bootstrap()->barrier();
    }
    ends[me]->signal();
    ends[me]->signal();
    ends[me]->wait(-1);
    ends[me]->wait(-1);
    CHECK(throws(ErrorCode::Timeout, [&] { ends[me]->wait(0); }));
    /* whose ends are a GPU's */
    const Endpoint of_gpu = c.context()->createEndpoint(far),
                   near = c.context()->createEndpoint(Transport::CudaIpc);
    for (const Endpoint &end : {of_gpu, near}) {
        const Connection own = c.context()->connect(end, end);
        const SemaphoreStub stub(own), other(own);
        CHECK(throws(ErrorCode::InvalidUsage,
                     [&] { Host2HostSemaphore wrong{Semaphore(stub, other)}; }));
    }
    c.bootstrap()->barrier();
}

/* The n-th call meets the n-th, whatever is asked first. */
static void test_order(Communicator &c, const Rank &r)
{
    const int to = (r.rank + 1) % r.n, from = (r.rank + r.n - 1) % r.n;
    GpuBuffer<int> buffer(64);
    std::vector<RegisteredMemory> mine;
    std::vector<std::shared_future<RegisteredMemory>> theirs;
    for (size_t i = 1; i <= 5; i++) {
        mine.push_back(c.registerMemory(buffer.data(), i * 8, AllTransports));
        c.sendMemory(mine.back(), to, static_cast<int>(i % 2));
        theirs.push_back(c.recvMemory(from, static_cast<int>(i % 2)));
    }
    for (size_t i = 5; i >= 1; i--) {
        CHECK_EQ(theirs[i - 1].get().size(), i * 8);
    }
    CHECK(throws(ErrorCode::InvalidUsage, [&] { c.recvMemory(r.n); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { c.sendMemory(mine[0], -1); }));
    c.bootstrap()->barrier();
}

/* Ranks that know nothing but an address; rank 0 may come last. */
static void test_address(Bootstrap &b, const Rank &r)
{
    struct sockaddr_in at = {};
    socklen_t bytes = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
          bind(fd, reinterpret_cast<struct sockaddr *>(&at), sizeof(at)) == 0 &&
          getsockname(fd, reinterpret_cast<struct sockaddr *>(&at), &bytes) == 0);
    int port = ntohs(at.sin_port), sum = 1;
    b.broadcast(&port, sizeof(port), 0);
    TcpBootstrap second(r.rank, r.n);
    second.initialize((r.rank % 2 ? "lo:127.0.0.1:" : "127.0.0.1:") + std::to_string(port), 60);
    second.broadcast(&sum, sizeof(sum), r.n - 1);
    std::vector<int> all(static_cast<size_t>(r.n), sum);
    second.allGather(all.data(), sizeof(int));
    CHECK_EQ(all[0], 1);
    second.barrier();
    close(fd); /* while it was bound, nobody else was given the port */
}

/* The last rank's process ends, with connections to all others: their calls say so. */
static void test_loss(Communicator &c, const Rank &r, uint64_t *memory)
{
    const TransportFlags all = Transport::CudaIpc | Transport::Ethernet | Transport::IB5;
    const int last = r.n - 1;
    std::vector<Connection> connections;
    std::vector<std::unique_ptr<Host2HostSemaphore>> awaited;
    std::vector<std::shared_future<RegisteredMemory>> memories;
    RegisteredMemory mine = c.registerMemory(memory, words * sizeof(uint64_t), all);
    for (int to = r.rank == last ? 0 : last; to < (r.rank == last ? last : r.n); to++) {
        auto far = c.connect(Transport::Ethernet, to, 50);
        connections.push_back(far.get());
        for (const Transport by : {Transport::Ethernet, Transport::IB5}) {
            const Connection hosts = c.connect({by, DeviceType::CPU}, to, 53).get();
            awaited.push_back(std::make_unique<Host2HostSemaphore>(c, hosts));
            connections.push_back(hosts);
        }
        if (!r.is_far) {
            connections.push_back(c.connect(Transport::CudaIpc, to, 51).get());
        }
        c.sendMemory(mine, to, 52);
        memories.push_back(c.recvMemory(to, 52));
        memories.back().wait();
    }
    c.bootstrap()->barrier();
    if (r.rank == last) {
        std::fflush(nullptr);
        _exit(test_result()); /* as a process that dies */
    }
    for (const auto &end : awaited) {
        CHECK(throws(ErrorCode::RemoteError, [&] { end->wait(-1); }));
    }
    auto never = c.recvMemory(last, 77);
    CHECK(throws(ErrorCode::RemoteError, [&] { never.get(); }));
    for (Connection &lost : connections) {
        while (!lost.isLost()) {
            usleep(1000);
        }
        CHECK(throws(ErrorCode::RemoteError, [&] {
            lost.write(memories[0].get(), 0, mine, 0, 8);
            lost.flush();
        }));
    }
    int value = 0;
    CHECK(throws(ErrorCode::RemoteError, [&] {
        for (;;) { /* the first may still find room on the way */
            c.bootstrap()->send(&value, sizeof(value), last, 0);
        }
    }));
}

static int run(const Rank &r)
{
    auto bootstrap = std::make_shared<TcpBootstrap>(r.rank, r.n);
    int nothing = 0;
    CHECK(throws(ErrorCode::InvalidUsage, [&] { bootstrap->barrier(); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { bootstrap->send(&nothing, 4, 0, 0); }));
    bootstrap->initialize(r.id, 60);
    CHECK(bootstrap->getUniqueId() == r.id);
    CHECK(throws(ErrorCode::InvalidUsage, [&] { bootstrap->initialize(r.id); }));
    test_collective(*bootstrap, r);
    test_messages(*bootstrap, r);
    test_address(*bootstrap, r);

    Communicator c(std::make_shared<Derived>(bootstrap));
    test_order(c, r);
    test_host_semaphores(c, r, Transport::Ethernet);
    test_host_semaphores(c, r, Transport::IB1);
    GpuBuffer<uint64_t> buffer(words);
    OwnPages<uint64_t> ordinary(words + 1);
    if (!r.is_far) {
        test_writes(c, r, Transport::CudaIpc, DeviceType::GPU, buffer.data());
        test_writes(c, r, Transport::CudaIpc, DeviceType::GPU, ordinary.data() + 1);
        if (r.is_pe) {
            uint64_t *symmetric = static_cast<uint64_t *>(gshmem_malloc(words * sizeof(uint64_t)));
            test_writes(c, r, Transport::CudaIpc, DeviceType::GPU, symmetric);
            test_writes(c, r, Transport::IB2, DeviceType::GPU, symmetric);
            gshmem_free(symmetric);
        }
    } else if (r.n > 1) {
        auto next = c.connect(Transport::CudaIpc, (r.rank + 1) % r.n, 8);
        auto previous = c.connect(Transport::CudaIpc, (r.rank + r.n - 1) % r.n, 8);
        CHECK(throws(ErrorCode::InvalidUsage, [&] { next.get(); }));
        CHECK(throws(ErrorCode::InvalidUsage, [&] { previous.get(); }));
    }
    test_writes(c, r, Transport::IB0, DeviceType::GPU, buffer.data());
    test_writes(c, r, Transport::Ethernet, DeviceType::CPU, ordinary.data() + 1);

    bootstrap->barrier();
    if (!r.is_pe && !r.is_thread && r.n > 1) {
        test_loss(c, r, buffer.data());
    }
    return test_result();
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, run);
}
