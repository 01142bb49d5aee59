/* SPDX-License-Identifier: Apache-2.0
 * The host objects of MSCCL++'s names in one process, by a Context alone: errors, the environment,
 * utilities, transports, device memory, local connections near and far, semaphores; bytes that are
 * no object's; ranks that do not come. Needs no kernel and no bootstrap. */
#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <numeric>
#include <sstream>
#include <sys/socket.h>
#include <thread>
#include <unordered_set>

#include <mscclpp/core.hpp>
#include <mscclpp/env.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <mscclpp/numa.hpp>
#include <mscclpp/utils.hpp>

#include "tests/dialects/mscclpp/host_ranks.hpp"
#include "tests/dialects/mscclpp/names_host.hpp"

using namespace mscclpp;

/* ---- errors, env, utils, numa ---- */

static void test_errors()
{
    const Error error("what", ErrorCode::Timeout);
    CHECK(error.getErrorCode() == ErrorCode::Timeout);
    CHECK(std::string(error.what()).find("what") == 0);
    CHECK(std::string(error.what()).find("Timeout") != std::string::npos);
    CHECK_STR(errorToString(ErrorCode::RemoteError).c_str(), "RemoteError");
    const SysError system("open", ENOENT);
    CHECK_EQ(system.getErrorCode(), ENOENT);
    CHECK(std::string(system.what()).find(strerror(ENOENT)) != std::string::npos);
    CHECK_EQ(CudaError("x", 7).getErrorCode(), 7);
    CHECK_EQ(CuError("x", 8).getErrorCode(), 8);
    CHECK_EQ(IbError("x", 9).getErrorCode(), 9);
    try {
        MSCCLPP_CUDATHROW(cudaMemcpy(nullptr, nullptr, 8, cudaMemcpyDefault));
        CHECK(false);
    } catch (const BaseError &e) {
        CHECK_EQ(e.getErrorCode(), cudaErrorInvalidValue);
        CHECK(std::string(e.what()).find("cudaMemcpy") != std::string::npos);
    }
    (void)cudaGetLastError();
}

static void test_env()
{
    /* before the first call */
    setenv("MSCCLPP_HCA_DEVICES", "mlx5_7,mlx5_2", 1);
    setenv("MSCCLPP_FORCE_DISABLE_NVLS", "1", 1);
    setenv("MSCCLPP_IB_GID_INDEX", "3", 1);
    unsetenv("MSCCLPP_HOSTID");
    CHECK(env() == env());
    CHECK_STR(env()->hcaDevices.c_str(), "mlx5_7,mlx5_2");
    CHECK(env()->forceDisableNvls);
    CHECK(!env()->ncclSymmetricMemory);
    CHECK_EQ(env()->ibGidIndex, 3);
    CHECK(env()->hostid.empty());
}

/* A child, so that its alarm is its own. */
static void test_timers()
{
    Timer timer;
    CHECK_EQ(timer.timeout_, -1);
    const int64_t first = timer.elapsed();
    while (timer.elapsed() == first) {
    }
    CHECK(first >= 0 && timer.elapsed() > first);
    timer.start_ -= std::chrono::seconds(100);
    CHECK(timer.elapsed() >= 100000000);
    timer.reset();
    CHECK(timer.elapsed() < 100000000);
    int lines[2] = {-1, -1}, status = 0;
    CHECK(pipe(lines) == 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(lines[1], STDOUT_FILENO);
        dup2(lines[1], STDERR_FILENO);
        {
            const Timer replaced(600);
            const ScopedTimer scoped("the scope");
        }
        std::fflush(nullptr);
        const Timer limit(1); /* the first one's alarm went with it */
        for (;;) {
            pause();
        }
    }
    close(lines[1]);
    std::string text;
    char part[256];
    for (ssize_t n; (n = read(lines[0], part, sizeof(part))) > 0;) {
        text.append(part, static_cast<size_t>(n));
    }
    close(lines[0]);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
          WTERMSIG(status) == SIGABRT);
    CHECK(text.find("the scope: ") == 0 && text.find(" us\n") != std::string::npos);
    CHECK(text.find("the time of a Timer is over") != std::string::npos);
}

static void test_utils()
{
    CHECK_EQ(getIBDeviceCount(), 2);
    CHECK_STR(getIBDeviceName(Transport::IB1).c_str(), "mlx5_2");
    CHECK(getIBTransportByDeviceName("mlx5_7") == Transport::IB0);
    CHECK(throws(ErrorCode::InvalidUsage, [] { getIBDeviceName(Transport::IB2); }));
    CHECK(throws(ErrorCode::InvalidUsage, [] { getIBDeviceName(Transport::Ethernet); }));
    CHECK(throws(ErrorCode::InvalidUsage, [] { getIBTransportByDeviceName("eth0"); }));
    char name[256];
    CHECK_EQ(gethostname(name, sizeof(name)), 0);
    CHECK(std::string(name).find(getHostName(256, '.')) == 0);
    CHECK(getHostName(3, '.').size() <= 2);
    CHECK(throws(ErrorCode::InvalidUsage, [] { getDeviceNumaNode(-1); }));
    CHECK(getDeviceNumaNode(0) >= -1);
    CHECK(throws(ErrorCode::InvalidUsage, [] { numaBind(-1); }));
    CHECK(throws(ErrorCode::InvalidUsage, [] { numaBind(100000); }));
    std::thread([] {
        if (access("/sys/devices/system/node/node0/cpulist", R_OK) == 0) {
            numaBind(0);
        }
    }).join();
    CHECK(!isFabricMemHandleAvailable());
    CHECK(!isNvlsSupported());
    CHECK_STR(version().c_str(), "0.10.0");
    CHECK(throws(ErrorCode::ExecutorError, [] { ExecutionPlan plan("plan.json"); }));
    CHECK(throws(ErrorCode::ExecutorError, [] { Executor executor(nullptr); }));
}

static void test_transports()
{
    const TransportFlags some = Transport::IB0 | Transport::CudaIpc;
    std::ostringstream out;
    CHECK(NoTransports.none());
    CHECK_EQ(AllIBTransports.count(), 8);
    CHECK_EQ(AllTransports.count(), 10);
    CHECK(some.has(Transport::IB0) && !some.has(Transport::IB1));
    CHECK((some & AllIBTransports) == TransportFlags(Transport::IB0));
    CHECK((some ^ Transport::IB0) == TransportFlags(Transport::CudaIpc));
    CHECK((~some).has(Transport::Ethernet) && !(~some).has(Transport::CudaIpc));
    TransportFlags more = some;
    more |= Transport::Ethernet;
    CHECK(more != some && more.any() && !more.all());
    std::unordered_set<TransportFlags> set = {some, more, some};
    CHECK_EQ(set.size(), 2);
    out << Transport::CudaIpc << " " << DeviceType::GPU << " " << Device(DeviceType::GPU, 3);
    CHECK_STR(out.str().c_str(), "IPC GPU GPU3");
}

/* ---- device memory ---- */

static void test_gpu_memory()
{
    GpuBuffer<int> buffer(1000);
    CHECK_EQ(buffer.nelems(), 1000);
    CHECK_EQ(buffer.bytes(), 4000);
    CHECK(buffer.memory().get() == buffer.data());
    CHECK(buffer.deviceId() >= 0);
    CHECK(isCuMemMapAllocated(buffer.data()) && isCuMemMapAllocated(buffer.data() + 999));
    std::vector<int> host(1000, 1);
    CHECK(!isCuMemMapAllocated(host.data()));
    gpuMemcpy(host.data(), buffer.data(), 1000);
    CHECK(std::count(host.begin(), host.end(), 0) == 1000);
    std::iota(host.begin(), host.end(), 5);
    CudaStreamWithFlags stream(cudaStreamNonBlocking);
    gpuMemcpyAsync(buffer.data(), host.data(), 1000, stream);
    MSCCLPP_CUDATHROW(cudaStreamSynchronize(stream));
    std::vector<int> back(1000);
    gpuMemcpy(back.data(), buffer.data(), 1000, cudaMemcpyDeviceToHost);
    CHECK(back == host);
    CHECK(throws(ErrorCode::InvalidUsage, [&] { stream.set(cudaStreamDefault); }));
    CHECK(throws(ErrorCode::InvalidUsage, [] { GpuBuffer<char> none(0); }));
    CHECK(throws(ErrorCode::InvalidUsage, [] { detail::gpuCallocShared<int64_t>(SIZE_MAX / 4); }));
    auto shared = detail::gpuCallocShared<int64_t>();
    auto unique = detail::gpuCallocUnique<int64_t>(7);
    auto pinned = detail::gpuCallocHostShared<int64_t>(3);
    auto pinned_too = detail::gpuCallocHostUnique<int64_t>();
    CHECK_EQ(pinned.get()[2] + *pinned_too, 0);
    cudaStream_t first;
    {
        GpuStream s = gpuStreamPool()->getStream(), other = gpuStreamPool()->getStream();
        GpuStream copy = s;
        first = s;
        CHECK(first == copy && first != other);
    }
    GpuStream s = gpuStreamPool()->getStream();
    CHECK(s == first || s.deviceId() >= 0);
    CudaDeviceGuard device(0);
    gpuMemset(shared.get(), 1, 8);
}

/* ---- connections within the process ---- */

static void test_local(Transport transport, bool is_to_itself)
{
    auto context = Context::create();
    const Endpoint a = context->createEndpoint(transport),
                   b = is_to_itself ? a : context->createEndpoint(transport);
    const Endpoint sent = Endpoint::deserialize(b.serialize());
    CHECK(sent.transport() == transport);
    CHECK_EQ(sent.hostHash(), a.hostHash());
    CHECK_EQ(sent.pidHash(), a.pidHash());
    Connection there = context->connect(a, sent), back = context->connect(b, a);
    CHECK(there.context() == context);
    CHECK(there.localDevice().type == DeviceType::GPU);
    CHECK(there.remoteTransport() == transport);

    OwnPages<char> from(100000, 7), to(100000, 1);
    RegisteredMemory source = context->registerMemory(from.data(), from.size(), transport),
                     dest = RegisteredMemory::deserialize(
                         context->registerMemory(to.data(), to.size(), transport).serialize());
    CHECK(dest.data() == to.data() && dest.originalDataPtr() == to.data());
    there.write(dest, 10, source, 0, 0);
    there.write(dest, 10, source, 20, 99980);
    there.flush();
    CHECK(to[9] == 1 && to[10] == 7 && to[99989] == 7 && to[99990] == 1);

    SemaphoreStub stub_a(there), stub_b(back);
    Semaphore at_a(stub_a, SemaphoreStub::deserialize(stub_b.serialize())),
        at_b(stub_b, SemaphoreStub::deserialize(stub_a.serialize()));
    uint64_t count = 0;
    at_a.connection().updateAndSync(at_a.remoteMemory(), 0, &count, 5);
    there.flush();
    CHECK_EQ(*static_cast<uint64_t *>(at_b.localMemory().data()), 5);
    CHECK_EQ(*static_cast<uint64_t *>(at_a.localMemory().data()), 0);

    /* flushes of several threads */
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] {
            for (int k = 0; k < 20; k++) {
                there.write(dest, 0, source, 0, 8);
                there.flush();
            }
        });
    }
    for (std::thread &t : threads) {
        t.join();
    }
}

static void test_refused()
{
    auto context = Context::create();
    OwnPages<char> bytes(64);
    char on_stack[64];
    const TransportFlags near = Transport::CudaIpc;
    RegisteredMemory memory = context->registerMemory(bytes.data(), 64, near);
    RegisteredMemory far = context->registerMemory(bytes.data(), 64, Transport::IB3);
    CHECK(throws(ErrorCode::InvalidUsage, [&] { context->registerMemory(nullptr, 8, near); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { context->registerMemory(bytes.data(), 0, near); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { context->registerMemory(on_stack, 64, near); }));
    CHECK(throws(ErrorCode::InvalidUsage,
                 [&] { context->registerMemory(bytes.data(), SIZE_MAX, near); }));
    for (const size_t size : {SIZE_MAX, size_t{1} << 45}) {
        CHECK(throws(ErrorCode::InvalidUsage,
                     [&] { context->registerMemory(bytes.data(), size, Transport::IB3); }));
    }
    CHECK(throws(ErrorCode::InvalidUsage, [&] { context->createEndpoint(Transport::Unknown); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] {
        context->createEndpoint({Transport::IB0, DeviceType::Unknown});
    }));
    const Endpoint ipc = context->createEndpoint(Transport::CudaIpc),
                   ib = context->createEndpoint(Transport::IB3),
                   foreign = Endpoint::deserialize(ib.serialize());
    CHECK(throws(ErrorCode::InvalidUsage, [&] { context->connect(ipc, ib); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { context->connect(foreign, ib); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { context->connect(Endpoint(), ib); }));
    Connection c = context->connect(ib, ib), none;
    CHECK(throws(ErrorCode::InvalidUsage, [&] { c.write(memory, 0, far, 0, 8); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { c.write(far, 0, memory, 0, 8); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { c.write(far, 60, far, 0, 8); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { none.flush(); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { (void)RegisteredMemory().data(); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { (void)Semaphore().localMemory(); }));
    Connection on_cpu =
        context->connect(context->createEndpoint({Transport::CudaIpc, DeviceType::CPU}), ipc);
    CHECK(throws(ErrorCode::InvalidUsage, [&] { SemaphoreStub stub(on_cpu); }));

    /* an end that is gone */
    std::vector<char> gone;
    {
        gone = context->createEndpoint(Transport::Ethernet).serialize();
    }
    CHECK(
        throws(ErrorCode::RemoteError, [&] { context->connect(ib, Endpoint::deserialize(gone)); }));
    const std::vector<char> stale = far.serialize();
    far = RegisteredMemory();
    CHECK(throws(ErrorCode::RemoteError, [&] { RegisteredMemory::deserialize(stale); }));
}

/* Each change of the bytes is refused, or makes an object that is; none does harm. */
template <class Object> static void test_bytes(const std::vector<char> &good)
{
    uint64_t random = 3;
    auto is_refused = [](const std::vector<char> &bytes) {
        return throws(ErrorCode::InvalidUsage, [&] { Object::deserialize(bytes); });
    };
    for (size_t n = 0; n < good.size(); n++) {
        CHECK(is_refused(std::vector<char>(good.begin(), good.begin() + static_cast<long>(n))));
    }
    std::vector<char> longer = good;
    longer.push_back(0);
    CHECK(is_refused(longer));
    CHECK(is_refused(std::vector<char>(good.size(), 'x')));
    for (int i = 0; i < 500; i++) {
        std::vector<char> bytes = good;
        bytes[test_random(&random) % bytes.size()] ^=
            static_cast<char>(1u << test_random(&random) % 8);
        try {
            Object::deserialize(bytes);
        } catch (const BaseError &) {
        }
    }
}

static void test_garbage()
{
    auto context = Context::create();
    OwnPages<char> bytes(64);
    const Endpoint end = context->createEndpoint(Transport::CudaIpc);
    const Connection connection = context->connect(end, end);
    const SemaphoreStub stub(connection);
    const RegisteredMemory memory = context->registerMemory(bytes.data(), 64, AllTransports);
    test_bytes<Endpoint>(end.serialize());
    test_bytes<Endpoint>(context->createEndpoint(Transport::IB7).serialize());
    test_bytes<RegisteredMemory>(memory.serialize());
    test_bytes<SemaphoreStub>(stub.serialize());
    CHECK(throws(ErrorCode::InvalidUsage, [&] { SemaphoreStub::deserialize(memory.serialize()); }));
}

/* ---- ranks that do not come, and texts that are no addresses ---- */

/* A port that nobody listens at, at least a moment ago. */
static int free_port()
{
    sockaddr_in at = {};
    socklen_t bytes = sizeof at;
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(fd, (const sockaddr *)&at, bytes) == 0);
    CHECK(getsockname(fd, (sockaddr *)&at, &bytes) == 0);
    close(fd);
    return ntohs(at.sin_port);
}

/* Another process may take the port first. */
static void initialize_by_text(TcpBootstrap &text)
{
    for (int n = 0;; n++) {
        try {
            text.initialize("lo:127.0.0.1:" + std::to_string(free_port()), 30);
            return;
        } catch (const mscclpp::Error &) {
            if (n == 9)
                throw;
        }
    }
}

/* It waits for others as briefly as a busy machine lets it start. */
static std::shared_ptr<TcpBootstrap> make_impatient()
{
    for (int64_t limit_s = 2;; limit_s *= 4) {
        auto impatient = std::make_shared<TcpBootstrap>(0, 1);
        try {
            impatient->initialize(TcpBootstrap::createUniqueId(), limit_s);
            return impatient;
        } catch (const mscclpp::Error &) {
            if (limit_s > 30)
                throw;
        }
    }
}

static void test_alone()
{
    TcpBootstrap none(1, 2), first(0, 2), text(0, 1);
    CHECK(throws(ErrorCode::InvalidUsage, [] { TcpBootstrap(2, 2); }));
    CHECK(throws(ErrorCode::InvalidUsage, [&] { none.initialize(UniqueId{}, 1); }));
    for (const char *wrong : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000",
                              "localhost:5000", "lo:127.0.0.1", "lo:lo:127.0.0.1:5000"}) {
        CHECK(throws(ErrorCode::InvalidUsage, [&] { text.initialize(std::string(wrong), 1); }));
    }
    CHECK(throws(ErrorCode::Timeout, [&] { first.initialize(TcpBootstrap::createUniqueId(), 1); }));
    initialize_by_text(text);
    text.barrier();
    /* what nobody sends */
    Communicator c(make_impatient());
    auto never = c.recvMemory(0);
    CHECK(throws(ErrorCode::Timeout, [&] { never.get(); }));
    CHECK(throws(ErrorCode::Timeout, [&] { never.get(); })); /* again, at once */
    CHECK(throws(ErrorCode::InvalidUsage, [] { Communicator nobody(nullptr); }));
    int value = 0;
    text.send(&value, 4, 0, 1);
    text.recv(&value, 4, 0, 1);
}

/* The other of two ranks takes what it is sent, and never answers. */
class Unanswered : public Bootstrap
{
  public:
    int getRank() const override { return 0; }
    int getNranks() const override { return 2; }
    int getNranksPerNode() const override { return 2; }
    void send(void *, int, int, int) override { n_sent++; }
    void recv(void *, int, int peer, int) override
    {
        throw Error("rank " + std::to_string(peer) + " does not answer", ErrorCode::Timeout);
    }
    void allGather(void *, int) override {}
    void barrier() override {}
    int n_sent = 0;
};

/* Each future fails in time, again and again, and those behind it, too; nothing is half made. */
static void test_unanswered()
{
    auto bootstrap = std::make_shared<Unanswered>();
    Communicator c(bootstrap);
    OwnPages<char> bytes(64);
    const RegisteredMemory memory = c.registerMemory(bytes.data(), 64, AllTransports);
    const Endpoint end = c.context()->createEndpoint(Transport::CudaIpc);
    const Connection own = c.context()->connect(end, end);
    auto near = c.connect(Transport::CudaIpc, 1), far = c.connect(Transport::Ethernet, 1);
    c.sendMemory(memory, 1);
    auto theirs = c.recvMemory(1);
    auto semaphore = c.buildSemaphore(own, 1);
    CHECK(bootstrap->n_sent > 0);
    for (int again = 0; again < 2; again++) {
        CHECK(throws(ErrorCode::Timeout, [&] { semaphore.get(); }));
        CHECK(throws(ErrorCode::Timeout, [&] { theirs.get(); }));
        CHECK(throws(ErrorCode::Timeout, [&] { far.get(); }));
        CHECK(throws(ErrorCode::Timeout, [&] { near.get(); }));
    }
    CHECK(throws(ErrorCode::InvalidUsage, [&] { c.remoteRankOf(own); }));
}

int main()
{
    alarm(600);
    test_env();
    test_errors();
    test_timers();
    test_utils();
    test_transports();
    test_gpu_memory();
    for (const Transport transport : {Transport::CudaIpc, Transport::IB3, Transport::Ethernet}) {
        test_local(transport, false);
        test_local(transport, true);
    }
    test_refused();
    test_garbage();
    test_alone();
    test_unanswered();
    return test_result();
}
