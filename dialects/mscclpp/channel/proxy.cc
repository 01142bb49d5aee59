// SPDX-License-Identifier: Apache-2.0
#include <mscclpp/proxy.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <future>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <thread>
#include <time.h>
#include <utility>

#include "dialects/mscclpp/base/waiting.h"
#include "dialects/mscclpp/channel/watch.h"

namespace mscclpp
{

struct Proxy::Impl {
    ProxyHandler handler;
    std::function<void()> thread_init;
    std::shared_ptr<Fifo> fifo;
    std::thread thread;
    std::atomic<bool> is_to_stop{false}, is_over{true};
    std::exception_ptr error; /* of the thread; read once it is joined */
    std::promise<void> started;
};

namespace
{

/* Polls that find nothing after the request to stop, before the thread ends: a push that has its
 * position already comes meanwhile. */
constexpr int last_looks = 1000;

/* Between two polls in vain: at first nothing, for the shortest way; then others get the core, and
 * after 50 ms without triggers the thread sleeps, 20 us at a time. */
class idle
{
  public:
    void found() { n_ = 0; }
    void wait()
    {
        n_++;
        if (n_ < 1024) {
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
        } else if (n_ == 1024) {
            since_ = std::chrono::steady_clock::now();
        } else if (n_ % 16 != 0 || std::chrono::steady_clock::now() - since_ < limit) {
            sched_yield();
        } else {
            const timespec nap = {0, 20000};
            nanosleep(&nap, nullptr);
            n_--; /* stays here */
        }
    }

  private:
    static constexpr std::chrono::milliseconds limit{50};
    uint64_t n_ = 0;
    std::chrono::steady_clock::time_point since_;
};

std::string text_of(std::exception_ptr error)
{
    try {
        std::rethrow_exception(error);
    } catch (const std::exception &e) {
        return e.what();
    } catch (...) {
        return "something that is no std::exception";
    }
}

void handle_all(Proxy::Impl &p)
{
    idle pause;
    for (int looks = 0; looks < last_looks;) {
        /* Before the poll: what was pushed before the request is found. */
        const bool is_to_stop = p.is_to_stop.load(std::memory_order_acquire);
        ProxyTrigger trigger;
        if (p.fifo->poll(trigger)) {
            const ProxyHandlerResult result = p.handler(trigger);
            p.fifo->pop();
            if (result == ProxyHandlerResult::Stop) {
                return;
            }
            looks = 0;
            pause.found();
        } else {
            looks = is_to_stop ? looks + 1 : 0;
            pause.wait();
        }
    }
}

} // namespace

static void run(Proxy::Impl &p, const std::shared_ptr<detail::Watch> &page)
{
    prctl(PR_SET_TIMERSLACK, 1000ul);
    bool has_started = false;
    try {
        if (p.thread_init) {
            p.thread_init();
        }
        p.started.set_value();
        has_started = true;
        handle_all(p);
    } catch (...) {
        p.error = std::current_exception();
        const std::string why = text_of(p.error);
        std::fprintf(stderr, "gshmem: mscclpp: %s threw, and the proxy stops at trigger %llu: %s\n",
                     has_started ? "a proxy's handler" : "a proxy's threadInit",
                     (unsigned long long)p.fifo->tail(), why.c_str());
        detail::end_waits(page, "the proxy has stopped: " + why);
        if (!has_started) {
            p.started.set_exception(p.error);
        }
    }
    p.is_over.store(true, std::memory_order_release);
}

Proxy::Proxy(ProxyHandler handler, std::function<void()> threadInit, std::shared_ptr<Fifo> fifo)
{
    if (!handler || !fifo) {
        throw Error("a proxy needs a handler and a FIFO", ErrorCode::InvalidUsage);
    }
    pimpl_ = std::make_unique<Impl>();
    pimpl_->handler = std::move(handler);
    pimpl_->thread_init = std::move(threadInit);
    pimpl_->fifo = std::move(fifo);
}

Proxy::~Proxy()
{
    if (pimpl_) {
        try {
            stop();
        } catch (...) { /* has been printed */
        }
    }
}

void Proxy::start(bool blocking)
{
    Impl &p = *pimpl_;
    if (!p.is_over.load(std::memory_order_acquire)) {
        throw Error("Proxy::start: it runs", ErrorCode::InvalidUsage);
    }
    if (p.thread.joinable()) {
        p.thread.join();
    }
    const std::shared_ptr<detail::Watch> page = p.fifo->watch();
    p.error = nullptr;
    p.is_to_stop.store(false, std::memory_order_relaxed);
    p.is_over.store(false, std::memory_order_relaxed);
    p.started = std::promise<void>();
    std::future<void> started = p.started.get_future();
    detail::resume_waits(page);
    p.thread = std::thread([&p, page] { run(p, page); });
    if (blocking) {
        const waiting wait("Proxy::start");
        started.get();
    }
}

void Proxy::stop()
{
    Impl &p = *pimpl_;
    if (!p.thread.joinable()) {
        return;
    }
    p.is_to_stop.store(true, std::memory_order_release);
    {
        const waiting wait("Proxy::stop");
        p.thread.join();
    }
    if (p.error) {
        std::rethrow_exception(std::exchange(p.error, nullptr));
    }
}

std::shared_ptr<Fifo> Proxy::fifo()
{
    return pimpl_->fifo;
}

} // namespace mscclpp
