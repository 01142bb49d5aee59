// SPDX-License-Identifier: Apache-2.0
// Between processes that map each other's memory, or within one.
#include "dialects/mscclpp/connection/connection.h"

#include <atomic>
#include <chrono>
#include <optional>

#include "dialects/mscclpp/base/check.h"

namespace mscclpp
{

namespace
{

class NearConnection : public BaseConnection
{
  public:
    NearConnection(std::shared_ptr<Context> context, std::shared_ptr<Endpoint::Impl> local,
                   std::shared_ptr<Endpoint::Impl> remote, void *copies)
        : BaseConnection(std::move(context), std::move(local), std::move(remote)), copies_(copies)
    {
        check(gshmemx_layer_process_watch(remote_->process_key.data(), &watch_), "connect");
    }
    ~NearConnection() override { gshmemx_layer_process_forget(watch_); }

    void write(const RegisteredMemory::Impl &dst, uint64_t dst_offset,
               const RegisteredMemory::Impl &src, uint64_t src_offset, uint64_t size) override
    {
        need_peer("write");
        const Use use(dst);
        use.need("Connection::write to dst");
        std::optional<Use> too;
        if (&src != &dst) {
            too.emplace(src);
            too->need("Connection::write from src");
        }
        check(gshmemx_layer_copies_add(copies_, address(dst, dst_offset), address(src, src_offset),
                                       size),
              "Connection::write");
    }
    void update(const RegisteredMemory::Impl &dst, uint64_t dst_offset, uint64_t value) override
    {
        need_peer("updateAndSync");
        const Use use(dst);
        use.need("Connection::updateAndSync");
        check(gshmemx_layer_copies_store(
                  copies_, reinterpret_cast<uint64_t *>(address(dst, dst_offset)), value),
              "Connection::updateAndSync");
    }
    bool flush_into(uint64_t *done, uint64_t value, const RegisteredMemory::Impl *dst,
                    uint64_t new_value) override
    {
        if (dst == nullptr) {
            check(gshmemx_layer_copies_store(copies_, done, value), "Connection::flush");
            return true;
        }
        need_peer("updateAndSync");
        const Use use(*dst);
        use.need("Connection::updateAndSync");
        uint64_t *const words[2] = {reinterpret_cast<uint64_t *>(address(*dst, 0)), done};
        const uint64_t values[2] = {new_value, value};
        check(gshmemx_layer_copies_store_two(copies_, words, values), "Connection::updateAndSync");
        return true;
    }
    void flush(uint64_t timeout_ns) override
    {
        check(gshmemx_layer_copies_wait(copies_, timeout_ns), "Connection::flush");
    }
    bool is_lost() override
    {
        if (!is_lost_.load(std::memory_order_relaxed) && gshmemx_layer_process_has_ended(watch_)) {
            is_lost_.store(true, std::memory_order_relaxed);
        }
        return is_lost_.load(std::memory_order_relaxed);
    }

    const char *carrier() const override { return "memory"; }

  private:
    static char *address(const RegisteredMemory::Impl &memory, uint64_t offset)
    {
        if (memory.data == nullptr) {
            refuse("Connection: the memory is not mapped in this process");
        }
        return static_cast<char *>(memory.data) + offset;
    }
    // Asking is a system call, so it is done once in a millisecond. What a dead process has shared
    // stays mapped: what is written meanwhile harms nobody.
    void need_peer(const char *call)
    {
        const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
        const bool is_to_ask = now >= next_look_.load(std::memory_order_relaxed);
        if (is_to_ask) {
            using ticks = std::chrono::steady_clock::duration;
            next_look_.store(now + ticks(std::chrono::milliseconds(1)).count(),
                             std::memory_order_relaxed);
        }
        if (is_to_ask ? is_lost() : is_lost_.load(std::memory_order_relaxed)) {
            throw Error(std::string("Connection::") + call + ": the other end's process has ended",
                        ErrorCode::RemoteError);
        }
    }

    void *const copies_; // the context's
    void *watch_ = nullptr;
    std::atomic<bool> is_lost_{false};
    std::atomic<std::chrono::steady_clock::rep> next_look_{0};
};

} // namespace

std::shared_ptr<BaseConnection> connect_near(std::shared_ptr<Context> context,
                                             std::shared_ptr<Endpoint::Impl> local,
                                             std::shared_ptr<Endpoint::Impl> remote, void *copies)
{
    if (remote->host != local->host) {
        refuse("connect: " + std::to_string(Transport::CudaIpc) +
               " needs both ends on one host; IB0 to IB7 and Ethernet do not");
    }
    return std::make_shared<NearConnection>(std::move(context), std::move(local), std::move(remote),
                                            copies);
}

} // namespace mscclpp
