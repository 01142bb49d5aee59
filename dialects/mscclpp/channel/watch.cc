// SPDX-License-Identifier: Apache-2.0
#include "dialects/mscclpp/channel/watch.h"

#include <chrono>
#include <cstdio>
#include <iterator>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "dialects/mscclpp/base/check.h"
#include "runtime/layer.h"

extern "C" [[noreturn]] void gshmemx_cpu_refuse(const char *why); /* also where there is a GPU */

namespace mscclpp
{
namespace detail
{

namespace
{

struct entry {
    std::weak_ptr<Watch> page;
    std::string who, over;
    std::function<std::string()> why_over;
    std::function<std::string(uint32_t)> name_flush;
};

/* Never destroyed: its thread outlives main. */
struct watcher {
    std::mutex mutex;
    std::list<entry> entries;
    bool has_thread = false;
};

watcher &the_watcher()
{
    static watcher *const w = new watcher;
    return *w;
}

std::string what_of(const Watch &page)
{
    const std::string wanted = std::to_string(page.wanted), seen = std::to_string(page.seen);
    switch (static_cast<Awaited>(static_cast<uint32_t>(page.what) & ((1u << awaitedBits) - 1))) {
    case Awaited::Signal:
        return ", wait " + wanted + ", seen " + seen;
    case Awaited::Packet:
        return ", packet with flag " + wanted + ", seen " + seen;
    case Awaited::Room:
        return ", push of trigger " + wanted + ", taken out " + seen;
    case Awaited::Consumed:
        return ", sync until taken out " + wanted + ", seen " + seen;
    case Awaited::Flush:
        return ", flush until done " + wanted + ", seen " + seen;
    case Awaited::Nothing:
        break;
    }
    return "";
}

std::string who_of(const Watch &page, const entry &e)
{
    const uint32_t above = static_cast<uint32_t>(page.what) >> awaitedBits;
    const bool is_flush = page.what == flushOf(above);
    const std::string name = is_flush && e.name_flush ? e.name_flush(above) : "";
    return name.empty() ? e.who : name;
}

[[noreturn]] void report(const Watch &page, const entry &e)
{
    char limit[64];
    std::snprintf(limit, sizeof limit, ": waited %.1f s", static_cast<double>(page.limitNs) / 1e9);
    gshmemx_cpu_refuse(
        (who_of(page, e) + what_of(page) + (e.over.empty() ? limit : ": " + e.over)).c_str());
}

/* Whether the page still lives. */
bool look(entry &e)
{
    const std::shared_ptr<Watch> page = e.page.lock();
    if (!page) {
        return false;
    }
    /* pairs with the kernel's release in lookAround */
    if (__atomic_load_n(&page->state, __ATOMIC_ACQUIRE) == 2) {
        report(*page, e);
    }
    if (e.over.empty() && e.why_over) {
        e.over = e.why_over();
        if (!e.over.empty()) {
            __atomic_store_n(&page->ended, 1u, __ATOMIC_RELEASE);
        }
    }
    return true;
}

void run(watcher &w)
{
    std::unique_lock<std::mutex> hold(w.mutex);
    while (!w.entries.empty()) {
        std::list<entry> gone; /* they may hold connections, whose end takes time */
        for (auto e = w.entries.begin(); e != w.entries.end();) {
            const auto next = std::next(e);
            if (!look(*e)) {
                gone.splice(gone.end(), w.entries, e);
            }
            e = next;
        }
        hold.unlock();
        gone.clear();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        hold.lock();
    }
    w.has_thread = false;
}

void change(const std::shared_ptr<Watch> &page, const std::string &why, uint32_t ended)
{
    watcher &w = the_watcher();
    std::lock_guard<std::mutex> hold(w.mutex);
    for (entry &e : w.entries) {
        if (e.page.lock() == page) {
            e.over = why;
        }
    }
    __atomic_store_n(&page->ended, ended, __ATOMIC_RELEASE);
}

} // namespace

uint64_t wait_limit_ns()
{
    uint64_t ns = 0;
    check(gshmemx_layer_wait_timeout(&ns), "a time limit");
    return ns;
}

void watch(const std::shared_ptr<Watch> &page, std::string who,
           std::function<std::string()> why_over)
{
    __atomic_store_n(&page->limitNs, wait_limit_ns(), __ATOMIC_RELEASE);
    watcher &w = the_watcher();
    std::lock_guard<std::mutex> hold(w.mutex);
    w.entries.push_back({page, std::move(who), "", std::move(why_over), nullptr});
    if (!w.has_thread) {
        std::thread(run, std::ref(w)).detach();
        w.has_thread = true;
    }
}

void name_flushes(const std::shared_ptr<Watch> &page, std::function<std::string(uint32_t)> name)
{
    watcher &w = the_watcher();
    std::lock_guard<std::mutex> hold(w.mutex);
    for (entry &e : w.entries) {
        if (e.page.lock() == page) {
            e.name_flush = name;
        }
    }
}

std::string name_of(const char *what, const Connection &connection)
{
    if (connection.remoteRank() < 0) {
        return std::string(what) + (connection.remoteTransport() == Transport::CudaIpc
                                        ? " to a near process"
                                        : " to a far process");
    }
    return "PE " + std::to_string(connection.localRank()) + ", " + what + " to rank " +
           std::to_string(connection.remoteRank());
}

void end_waits(const std::shared_ptr<Watch> &page, const std::string &why)
{
    change(page, why, 1);
}

void resume_waits(const std::shared_ptr<Watch> &page)
{
    change(page, "", 0);
}

} // namespace detail
} // namespace mscclpp
