/* SPDX-License-Identifier: Apache-2.0
 * Proves that two processes connect by what they tell each other through a socket of their own: no
 * bootstrap, no communicator, no unique id, no launcher. Contexts, endpoints, memories and
 * semaphores travel as bytes; then hosts write, kernels use memory and port channels, near and far;
 * bytes of another kind are refused, and a process that ends is noticed. */
#include <mscclpp/core.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <mscclpp/memory_channel.hpp>
#include <mscclpp/port_channel.hpp>
#include <mscclpp/semaphore.hpp>
#include <gshmem/launch.h>

#include <sys/socket.h>

#include "tests/dialects/mscclpp/host_ranks.hpp"

using namespace mscclpp;

static constexpr int n_ints = 1000;

/* ---- the program's own way to the other process ---- */

static void must(bool is_done, const char *what)
{
    if (!is_done) {
        std::perror(what);
        _exit(1); /* the other process then reads nothing, and ends, too */
    }
}

/* Both processes call it; the messages are small, so neither waits to send. */
static std::vector<char> trade(int fd, const std::vector<char> &mine)
{
    uint32_t bytes = (uint32_t)mine.size();
    must(send(fd, &bytes, sizeof(bytes), MSG_NOSIGNAL) == (ssize_t)sizeof(bytes), "send");
    must(send(fd, mine.data(), mine.size(), MSG_NOSIGNAL) == (ssize_t)mine.size(), "send");
    must(recv(fd, &bytes, sizeof(bytes), MSG_WAITALL) == (ssize_t)sizeof(bytes), "recv");
    std::vector<char> theirs(bytes);
    must(recv(fd, theirs.data(), bytes, MSG_WAITALL) == (ssize_t)bytes, "recv");
    return theirs;
}

static void meet(int fd)
{
    CHECK_EQ(trade(fd, {'m'}).size(), 1);
}

/* ---- what they do ---- */

__global__ static void check(const int *inbox, int first, uint32_t *n_wrong)
{
    for (int i = (int)threadIdx.x; i < n_ints; i += (int)blockDim.x)
        if (inbox[i] != first + i)
            atomicAdd(n_wrong, 1u);
}

__global__ static void by_memory(MemoryChannelDeviceHandle channel)
{
    channel.put(0, 0, n_ints * sizeof(int), threadIdx.x, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0) {
        channel.signal();
        channel.wait(-1);
    }
}

__global__ static void by_port(PortChannelDeviceHandle channel)
{
    channel.putWithSignalAndFlush(0, 0, n_ints * sizeof(int), -1);
    channel.wait(-1);
}

static Semaphore make_semaphore(int fd, const Connection &connection)
{
    const SemaphoreStub mine(connection);
    return Semaphore(mine, SemaphoreStub::deserialize(trade(fd, mine.serialize())));
}

/* One of the two ends, with all that is on it. */
struct end {
    int fd, number; /* 0 or 1 */
    std::shared_ptr<Context> context = Context::create();
    Transport transport;
    Connection connection;
    GpuBuffer<int> mine{n_ints}, inbox{n_ints};
    RegisteredMemory mine_memory, inbox_memory, their_inbox;
    CudaStreamWithFlags stream{cudaStreamNonBlocking};
    uint32_t *n_wrong = nullptr;

    end(int fd_, int number_, Transport transport_)
        : fd(fd_), number(number_), transport(transport_)
    {
        const Endpoint own = context->createEndpoint(transport);
        const Endpoint their = Endpoint::deserialize(trade(fd, own.serialize()));
        CHECK(their.transport() == transport && their.hostHash() == own.hostHash() &&
              their.pidHash() != own.pidHash());
        connection = context->connect(own, their);
        CHECK(is_carried_as_it_says(connection));
        mine_memory = context->registerMemory(mine.data(), mine.bytes(), transport);
        inbox_memory = context->registerMemory(inbox.data(), inbox.bytes(), transport);
        const std::vector<char> theirs = trade(fd, inbox_memory.serialize());
        CHECK(throws(ErrorCode::InvalidUsage, [&] { Endpoint::deserialize(theirs); }));
        CHECK(throws(ErrorCode::InvalidUsage, [&] { SemaphoreStub::deserialize(theirs); }));
        their_inbox = RegisteredMemory::deserialize(theirs);
        CHECK(their_inbox.size() == inbox.bytes());
        MSCCLPP_CUDATHROW(cudaMallocHost(&n_wrong, sizeof(*n_wrong)));
        *n_wrong = 0;
    }
    ~end() { (void)cudaFreeHost(n_wrong); }

    static int first_of(int number, int round) { return number * 10000 + round * 2000; }
    /* Both inboxes are free. */
    void fill(int round)
    {
        std::vector<int> values(n_ints);
        for (int i = 0; i < n_ints; i++)
            values[(size_t)i] = first_of(number, round) + i;
        gpuMemcpy(mine.data(), values.data(), n_ints, cudaMemcpyHostToDevice);
        meet(fd);
    }
    void expect(int round)
    {
        CHECK(gshmem_launch(check, 1, 64, 0, stream, inbox.data(), first_of(1 - number, round),
                            n_wrong) == cudaSuccess);
        CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        CHECK_EQ(*n_wrong, 0);
        meet(fd);
    }

    void by_hosts(int round)
    {
        fill(round);
        connection.write(their_inbox, 0, mine_memory, 0, mine.bytes());
        connection.flush();
        meet(fd);
        expect(round);
    }
    void by_memory_channel(int round)
    {
        const MemoryChannel channel(make_semaphore(fd, connection), their_inbox, mine_memory);
        fill(round);
        CHECK(gshmem_launch(by_memory, 1, 64, 0, stream, deviceHandle(channel)) == cudaSuccess);
        CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        expect(round);
    }
    void by_port_channel(int round)
    {
        ProxyService service(16);
        const MemoryId target = service.addMemory(their_inbox),
                       source = service.addMemory(mine_memory);
        const PortChannel channel = service.portChannel(
            service.addSemaphore(make_semaphore(fd, connection)), target, source);
        service.startProxy(true);
        fill(round);
        CHECK(gshmem_launch(by_port, 1, 1, 0, stream, deviceHandle(channel)) == cudaSuccess);
        CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
        expect(round);
        service.stopProxy();
    }
};

/* Hosts that signal each other need words of the host's. */
static void by_host_semaphores(int fd)
{
    auto context = Context::create();
    const Endpoint own = context->createEndpoint({Transport::Ethernet, DeviceType::CPU});
    const Connection connection =
        context->connect(own, Endpoint::deserialize(trade(fd, own.serialize())));
    Host2HostSemaphore semaphore(make_semaphore(fd, connection));
    for (int i = 0; i < 3; i++) {
        semaphore.signal();
        semaphore.wait(-1);
    }
    meet(fd);
    CHECK(!semaphore.poll());
}

static int run(int fd, int number)
{
    end near(fd, number, Transport::CudaIpc), far(fd, number, Transport::Ethernet),
        ucx(fd, number, Transport::IB0);
    near.by_hosts(1);
    far.by_hosts(2);
    near.by_memory_channel(3);
    near.by_port_channel(4);
    far.by_port_channel(5);
    ucx.by_hosts(6);
    ucx.by_port_channel(7);
    by_host_semaphores(fd);
    meet(fd);
    if (number == 1) {
        std::fflush(nullptr);
        _exit(test_result()); /* as a process that dies, with connections */
    }
    for (end *e : {&near, &far, &ucx}) {
        while (!e->connection.isLost())
            usleep(1000);
        CHECK(throws(ErrorCode::RemoteError, [&] {
            e->connection.write(e->their_inbox, 0, e->mine_memory, 0, 8);
            e->connection.flush();
        }));
    }
    return test_result();
}

/* Where UCX must be there and is not, IB0 to IB7 are refused; the others work. */
static int run_without_ucx()
{
    auto context = Context::create();
    std::string why;
    CHECK(throws(
        ErrorCode::InvalidUsage, [&] { context->createEndpoint(Transport::IB0); }, &why));
    CHECK(why.find("GSHMEM_TRANSPORT is ucx") != std::string::npos);
    for (const Transport transport : {Transport::Ethernet, Transport::CudaIpc}) {
        const Endpoint own = context->createEndpoint(transport);
        CHECK(is_carried_as_it_says(context->connect(own, own)));
    }
    return test_result();
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "without-ucx") == 0) {
        return run_without_ucx();
    }
    int ends[2], failed = 0;
    pid_t children[2];
    alarm(600);
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    for (int number = 0; number < 2; number++) {
        children[number] = fork();
        if (children[number] == 0) {
            close(ends[1 - number]);
            alarm(600); /* the parent's ends the parent alone */
            int result = 1;
            try {
                result = run(ends[number], number);
            } catch (const std::exception &e) {
                std::fprintf(stderr, "process %d: %s\n", number, e.what());
            }
            std::fflush(nullptr);
            _exit(result);
        }
    }
    close(ends[0]);
    close(ends[1]);
    for (const pid_t child : children) {
        int status = 1;
        failed |= waitpid(child, &status, 0) != child || status != 0;
    }
    return failed;
}
