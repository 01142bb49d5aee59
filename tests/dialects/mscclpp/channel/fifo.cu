/* SPDX-License-Identifier: Apache-2.0
 * Proves the FIFO of triggers and its proxy, in one process without a PE: triggers of any bits,
 * also zeros; more pushing threads than slots, in blocks, warps and alone, over many laps; none
 * lost, none twice, each thread's in its order; what was written before a push is seen by the
 * handler, and what the handler wrote by sync() and poll(). A proxy that stops, one whose handler
 * stops it or throws, and one that is started again. Sizes that are refused; a wait for room that
 * ends at the time limit.
 *
 * usage: fifo [soak [triggers]]: so many from 32 threads instead, a million if not given
 *        fifo room: the wait for room alone, in this process, which it ends */
#include <mscclpp/fifo.hpp>
#include <mscclpp/proxy.hpp>
#include <gshmem/launch.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "tests/test.h"

using mscclpp::Fifo;
using mscclpp::FifoDeviceHandle;
using mscclpp::Proxy;
using mscclpp::ProxyHandlerResult;
using mscclpp::ProxyTrigger;

/* What thread t pushes as its number i: fst (t, i), snd a function of both without the last bit. */
__host__ __device__ static inline uint64_t mixed(uint64_t fst)
{
    return (fst * 0x9e3779b97f4a7c15u) & ~(1ull << 63);
}

/* Each thread pushes n triggers; data[t * n + i] is written before trigger (t, i) is pushed, and
 * replies[t * n + i] is the handler's, seen after sync() or poll() of each 8th one. */
__global__ static void push_all(FifoDeviceHandle fifo, uint32_t n, uint32_t *data,
                                const uint32_t *replies, uint32_t *n_wrong)
{
    const uint32_t t = threadIdx.x + blockIdx.x * blockDim.x;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t fst = (uint64_t)t << 32 | i;
        data[t * n + i] = t + i + 1;
        const uint64_t position = fifo.push(ProxyTrigger(fst, mixed(fst)), -1);
        if (i % 8 == 7) {
            if (i % 16 == 7)
                fifo.sync(position, -1);
            else
                while (!fifo.poll(position)) {
                }
            if (replies[t * n + i] != t + 2 * i + 1 || !fifo.poll(position))
                atomicAdd(n_wrong, 1u);
        }
    }
}

/* Only the odd lanes push, and lane 31 pushes alone in between. */
__global__ static void push_divergent(FifoDeviceHandle fifo, uint32_t n)
{
    const uint32_t t = threadIdx.x + blockIdx.x * blockDim.x;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t fst = (uint64_t)t << 32 | i;
        if (t % 2 == 1)
            fifo.push(ProxyTrigger(fst, mixed(fst)), -1);
        else if (t % 32 == 30)
            fifo.push(ProxyTrigger(fst, mixed(fst)), -1);
    }
}

__global__ static void push_zeros(FifoDeviceHandle fifo, int n)
{
    for (int i = 0; i < n; i++)
        fifo.push(ProxyTrigger(0, 0), -1);
}

template <class Kernel, class... Args>
static void launch(Kernel kernel, int blocks, int threads, Args... args)
{
    CHECK(gshmem_launch(kernel, blocks, threads, 0, nullptr, args...) == cudaSuccess);
}

template <class Type> static Type *device_memory(size_t n)
{
    Type *p = nullptr;
    CHECK(cudaMallocHost(&p, n * sizeof(Type)) == cudaSuccess);
    memset(p, 0, n * sizeof(Type));
    return p;
}

/* Takes out and checks what threads push; done once each of them has pushed n. */
struct checker {
    std::vector<uint32_t> next;
    uint32_t n;
    const uint32_t *data;
    uint32_t *replies;
    uint64_t left;

    checker(uint32_t n_threads, uint32_t n_each, const uint32_t *data_, uint32_t *replies_)
        : next(n_threads), n(n_each), data(data_), replies(replies_),
          left((uint64_t)n_threads * n_each)
    {
    }
    void take(ProxyTrigger trigger)
    {
        const uint32_t t = (uint32_t)(trigger.fst >> 32), i = (uint32_t)trigger.fst;
        if (!CHECK(t < next.size()))
            return;
        CHECK_EQ(i, next[t]++);
        CHECK(trigger.snd == mixed(trigger.fst));
        if (data != nullptr) {
            CHECK_EQ(data[t * n + i], t + i + 1);
            replies[t * n + i] = t + 2 * i + 1;
        }
        left--;
    }
};

static void test_push(int size, int blocks, int threads, uint32_t n)
{
    const uint32_t n_threads = (uint32_t)(blocks * threads);
    uint32_t *data = device_memory<uint32_t>((size_t)n_threads * n),
             *replies = device_memory<uint32_t>((size_t)n_threads * n),
             *n_wrong = device_memory<uint32_t>(1);
    Fifo fifo(size);
    CHECK_EQ(fifo.size(), size);
    CHECK_EQ(fifo.deviceHandle().size, size);
    checker check(n_threads, n, data, replies);
    launch(push_all, blocks, threads, fifo.deviceHandle(), n, data, replies, n_wrong);
    ProxyTrigger trigger;
    while (check.left > 0) {
        if (!fifo.poll(trigger)) {
            sched_yield();
            continue;
        }
        check.take(trigger);
        fifo.pop();
    }
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(!fifo.poll(trigger));
    CHECK_EQ(fifo.tail(), (uint64_t)n_threads * n);
    CHECK_EQ(*n_wrong, 0);
    cudaFreeHost(data);
    cudaFreeHost(replies);
    cudaFreeHost(n_wrong);
}

static void test_divergent(int size)
{
    const uint32_t n_threads = 64, n = 20;
    Fifo fifo(size);
    checker check(n_threads, n, nullptr, nullptr);
    check.left = (uint64_t)(n_threads / 2 + n_threads / 32) * n;
    launch(push_divergent, 2, 32, fifo.deviceHandle(), n);
    ProxyTrigger trigger;
    while (check.left > 0) {
        if (fifo.poll(trigger)) {
            check.take(trigger);
            fifo.pop();
        }
    }
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

/* Zeros over several laps; the slot of the lap before is not taken for a new trigger. */
static void test_zeros()
{
    Fifo fifo(4);
    ProxyTrigger trigger(1, 1);
    for (int round = 0; round < 5; round++) {
        CHECK(!fifo.poll(trigger));
        launch(push_zeros, 1, 1, fifo.deviceHandle(), 3);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        for (int i = 0; i < 3; i++) {
            trigger = ProxyTrigger(1, 1);
            CHECK(fifo.poll(trigger) && trigger.fst == 0 && trigger.snd == 0);
            fifo.pop();
        }
    }
}

static void test_sizes()
{
    for (int size : {0, -1, 3, 100, 513}) {
        bool is_refused = false;
        try {
            Fifo fifo(size);
        } catch (const mscclpp::Error &e) {
            is_refused = e.getErrorCode() == mscclpp::ErrorCode::InvalidUsage;
        }
        CHECK(is_refused);
    }
    const ProxyTrigger t(mscclpp::TriggerFlag | mscclpp::TriggerSync, 511, 0xfffffffe, 257,
                         0x80000001, 0xfffffffd, 1023);
    CHECK(t.fields.size == 0xfffffffd && t.fields.srcOffset == 0x80000001 &&
          t.fields.dstOffset == 0xfffffffe && t.fields.srcMemoryId == 257 &&
          t.fields.dstMemoryId == 511 && t.fields.type == 6 && t.fields.semaphoreId == 1023 &&
          t.fields.reserved == 0);
}

/* All that has been pushed is handled before stop returns. */
static void test_proxy()
{
    const uint32_t n_threads = 64, n = 40;
    uint32_t *data = device_memory<uint32_t>(n_threads * n),
             *replies = device_memory<uint32_t>(n_threads * n),
             *n_wrong = device_memory<uint32_t>(1);
    checker check(n_threads, n, data, replies);
    std::atomic<int> n_inits{0};
    Proxy proxy(
        [&](ProxyTrigger trigger) {
            check.take(trigger);
            return ProxyHandlerResult::Continue;
        },
        [&] { n_inits++; }, 16);
    proxy.stop(); /* not started: nothing */
    proxy.start(true);
    CHECK_EQ(n_inits.load(), 1);
    launch(push_all, 2, 32, proxy.fifo()->deviceHandle(), n, data, replies, n_wrong);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    launch(push_zeros, 1, 1, proxy.fifo()->deviceHandle(), 0);
    proxy.stop();
    CHECK_EQ(check.left, 0);
    CHECK_EQ(*n_wrong, 0);
    CHECK_EQ(proxy.fifo()->tail(), (uint64_t)n_threads * n);
}

static void test_pending()
{
    int n = 0;
    Proxy proxy([&](ProxyTrigger) {
        n++;
        return ProxyHandlerResult::Continue;
    });
    CHECK_EQ(proxy.fifo()->size(), mscclpp::DEFAULT_FIFO_SIZE);
    launch(push_zeros, 1, 1, proxy.fifo()->deviceHandle(), 300);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    proxy.start();
    proxy.stop();
    CHECK_EQ(n, 300);
}

/* Whoever sees by the tail how many have been taken out sees what the handler did. */
static void test_tail()
{
    int n = 0;
    Proxy proxy([&](ProxyTrigger) {
        n++;
        return ProxyHandlerResult::Continue;
    });
    proxy.start();
    launch(push_zeros, 1, 1, proxy.fifo()->deviceHandle(), 20);
    while (proxy.fifo()->tail() < 20)
        sched_yield();
    CHECK_EQ(n, 20);
    proxy.stop();
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

/* A handler that stops, then one that throws: nothing is lost, and it goes on after a new start. */
static void test_stop_and_throw()
{
    std::vector<uint64_t> seen;
    bool is_to_throw = true;
    Proxy proxy([&](ProxyTrigger trigger) {
        if (trigger.fst == 3 && is_to_throw) {
            is_to_throw = false;
            throw std::runtime_error("the third one");
        }
        seen.push_back(trigger.fst);
        return trigger.fst == 1 ? ProxyHandlerResult::Stop : ProxyHandlerResult::Continue;
    });
    uint32_t *data = device_memory<uint32_t>(6);
    launch(push_all, 1, 1, proxy.fifo()->deviceHandle(), 6, data, data, data);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    proxy.start();
    proxy.stop();
    CHECK_EQ(seen.size(), 2);
    proxy.start();
    std::string text;
    try {
        proxy.stop();
    } catch (const std::runtime_error &e) {
        text = e.what();
    }
    CHECK_STR(text.c_str(), "the third one");
    CHECK_EQ(seen.size(), 3);
    proxy.start();
    bool is_refused = false;
    try {
        proxy.start();
    } catch (const mscclpp::Error &e) {
        is_refused = e.getErrorCode() == mscclpp::ErrorCode::InvalidUsage;
    }
    CHECK(is_refused);
    proxy.stop();
    CHECK_EQ(seen.size(), 6);
    for (size_t i = 0; i < seen.size(); i++)
        CHECK_EQ(seen[i], i);
}

/* Does not return. */
static void push_without_room(Fifo &fifo)
{
    launch(push_zeros, 1, 1, fifo.deviceHandle(), fifo.size() + 1);
    cudaDeviceSynchronize();
}

#if !defined(__SANITIZE_THREAD__) /* they fork */
/* In a process of its own, before this one has a device: a push waits for room that nobody makes,
 * and a flush for a proxy whose handler has thrown; or the limit is no time. What it prints. */
enum class stuck { room, thrown, no_time };
static std::string run_stuck(stuck what)
{
    int ends[2];
    if (!CHECK(pipe(ends) == 0))
        return "";
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        static const char *const limits[] = {"300ms", "0", "soon"};
        setenv("GSHMEM_WAIT_TIMEOUT", limits[(int)what], 1);
        alarm(600);
        if (what == stuck::no_time) {
            try {
                Fifo fifo(4);
            } catch (const mscclpp::Error &e) {
                fprintf(stderr, "%s\n", e.what());
                _exit(e.getErrorCode() == mscclpp::ErrorCode::InvalidUsage ? 1 : 0);
            }
            _exit(0);
        }
        Fifo fifo(4);
        Proxy proxy([](ProxyTrigger) -> ProxyHandlerResult {
            throw mscclpp::Error("no such thing", mscclpp::ErrorCode::InvalidUsage);
        });
        if (what == stuck::room) {
            push_without_room(fifo);
        } else {
            proxy.start();
            launch(push_zeros, 1, 1, proxy.fifo()->deviceHandle(), 600);
        }
        cudaDeviceSynchronize();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char piece[512];
    for (ssize_t n; (n = read(ends[0], piece, sizeof(piece))) > 0;)
        text.append(piece, (size_t)n);
    close(ends[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    return text;
}

static void check_contains(const std::string &text, const char *part)
{
    if (!CHECK(text.find(part) != std::string::npos))
        fprintf(stderr, "not there: %s\nthere: %s\n", part, text.c_str());
}
#endif

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "soak") == 0) {
        const uint32_t n = argc > 2 ? (uint32_t)atoi(argv[2]) : 1000000;
        test_push(512, 1, 32, n / 32);
        return test_result();
    }
    if (argc > 1 && strcmp(argv[1], "room") == 0) {
        setenv("GSHMEM_WAIT_TIMEOUT", "300ms", 1);
        Fifo fifo(4);
        push_without_room(fifo);
        return 0;
    }
#if !defined(__SANITIZE_THREAD__) /* it forks */
    check_contains(run_stuck(stuck::room),
                   "a FIFO of 4 triggers, push of trigger 4, taken out 0: waited 0.3 s");
    check_contains(run_stuck(stuck::thrown), "the proxy has stopped: no such thing");
    check_contains(run_stuck(stuck::no_time), "GSHMEM_WAIT_TIMEOUT=soon");
#endif
    test_sizes();
    test_zeros();
    test_push(1, 1, 1, 16);
    test_push(1, 1, 64, 2);
    test_push(2, 3, 33, 3);
    test_push(16, 2, 64, 8);
    test_push(512, 2, 96, 16);
    test_divergent(8);
    test_divergent(64);
    test_proxy();
    test_pending();
    test_tail();
    test_stop_and_throw();
    return test_result();
}
