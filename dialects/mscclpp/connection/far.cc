// SPDX-License-Identifier: Apache-2.0
// By messages to the other end's receiver (receiver.h), which its process carries out.
#include "dialects/mscclpp/connection/connection.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dialects/mscclpp/base/check.h"

namespace mscclpp
{

namespace
{

class FarConnection : public BaseConnection
{
  public:
    FarConnection(std::shared_ptr<Context> context, std::shared_ptr<Endpoint::Impl> local,
                  std::shared_ptr<Endpoint::Impl> remote)
        : BaseConnection(std::move(context), std::move(local), std::move(remote)),
          timeout_ns_(gshmemx_layer_timeout_ns())
    {
        const bool may_use_ucx =
            is_ib(local_->config.transport) && is_ib(remote_->config.transport);
        check(gshmemx_layer_link_connect(remote_->entry_key.data(), 0, may_use_ucx, timeout_ns_,
                                         &link_),
              "connect");
        const int outcome = gshmemx_layer_copies_create(&copies_);
        if (outcome != GSHMEMX_LAYER_DONE) {
            gshmemx_layer_link_close(link_);
        }
        check(outcome, "connect");
    }
    ~FarConnection() override
    {
        gshmemx_layer_link_close(link_);
        gshmemx_layer_copies_destroy(copies_);
    }

    void write(const RegisteredMemory::Impl &dst, uint64_t dst_offset,
               const RegisteredMemory::Impl &src, uint64_t src_offset, uint64_t size) override
    {
        need_success("Connection::write");
        const char *from = static_cast<const char *>(src.data) + src_offset;
        std::lock_guard<std::mutex> hold(send_);
        staged_.resize(far_part_bytes);
        for (uint64_t at = 0; at < size;) {
            const uint64_t part = std::min<uint64_t>(far_part_bytes, size - at);
            {
                const Use use(src);
                use.need("Connection::write from src");
                // The source may be in a GPU's memory.
                check(gshmemx_layer_copies_add(copies_, staged_.data(), from + at, part),
                      "Connection::write");
                check(gshmemx_layer_copies_wait(copies_, timeout_ns_), "Connection::write");
            }
            ask(Request::Write, dst.id, dst_offset + at, part, staged_.data(), part);
            at += part;
        }
    }
    void update(const RegisteredMemory::Impl &dst, uint64_t dst_offset, uint64_t value) override
    {
        need_success("Connection::updateAndSync");
        std::lock_guard<std::mutex> hold(send_);
        ask(Request::Update, dst.id, dst_offset, value, nullptr, 0);
    }
    void flush(uint64_t timeout_ns) override;
    bool is_lost() override { return gshmemx_layer_link_is_lost(link_); }
    const char *carrier() const override { return gshmemx_layer_link_carrier(link_); }

  private:
    void ask(Request::Kind kind, uint64_t memory, uint64_t offset, uint64_t value, const char *data,
             size_t bytes)
    {
        Request request = {};
        request.kind = kind;
        request.transport = static_cast<uint32_t>(remote_->config.transport);
        request.memory = memory;
        request.offset = offset;
        request.value = value;
        check(gshmemx_layer_link_send(link_, &request, data, bytes, timeout_ns_), "Connection");
        if (kind != Request::Flush) {
            n_unflushed_.fetch_add(1, std::memory_order_relaxed);
        }
    }

    void take_reply(const char *call, uint64_t timeout_ns);
    void throw_failure(const char *call);
    void need_success(const char *call);

    const uint64_t timeout_ns_;
    void *link_ = nullptr;
    std::mutex send_; // for these two, and the order of requests
    void *copies_ = nullptr;
    std::vector<char> staged_;
    std::mutex flush_; // for is_flushing_; who has set it has what comes after it
    std::condition_variable flushed_;
    bool is_flushing_ = false;
    uint64_t n_asked_ = 0, n_answered_ = 0;
    std::atomic<uint64_t> n_unflushed_{0}; // requests of which no flush has told yet
    std::string failure_; // the first that the other end has told, and no call has thrown
};

void FarConnection::take_reply(const char *call, uint64_t timeout_ns)
{
    Reply reply;
    size_t bytes = 0;
    check(gshmemx_layer_link_receive(link_, &reply, sizeof(reply), &bytes, timeout_ns), call);
    if (bytes != sizeof(reply) || (reply.flush != 0 && reply.flush != n_answered_ + 1)) {
        throw Error(std::string(call) + ": the other end sent what is no reply",
                    ErrorCode::RemoteError);
    }
    if (reply.flush != 0) {
        n_answered_ = reply.flush;
    } else if (failure_.empty()) {
        reply.why[sizeof(reply.why) - 1] = '\0';
        failure_ = std::string("the other end did not carry out a write or update: ") + reply.why;
    }
}

void FarConnection::throw_failure(const char *call)
{
    if (!failure_.empty()) {
        throw Error(std::string(call) + ": " + std::exchange(failure_, ""), ErrorCode::RemoteError);
    }
}

// Throws what the other end has told of earlier requests meanwhile; during another thread's flush
// that one does. Where a flush has told of all of them there is nothing to look for.
void FarConnection::need_success(const char *call)
{
    std::lock_guard<std::mutex> hold(flush_);
    if (!is_flushing_ && (n_unflushed_.load(std::memory_order_relaxed) > 0 || !failure_.empty())) {
        while (gshmemx_layer_link_has_reply(link_)) {
            take_reply(call, timeout_ns_);
        }
        throw_failure(call);
    }
}

void FarConnection::flush(uint64_t timeout_ns)
{
    using clock = std::chrono::steady_clock;
    const clock::time_point end =
        clock::now() + std::chrono::nanoseconds(timeout_ns > 0 ? timeout_ns : UINT64_C(1) << 60);
    std::unique_lock<std::mutex> hold(flush_);
    if (!flushed_.wait_until(hold, end, [this] { return !is_flushing_; })) {
        throw Error("Connection::flush: another thread's flush did not end in time",
                    ErrorCode::Timeout);
    }
    is_flushing_ = true;
    hold.unlock();
    const std::shared_ptr<void> at_end(nullptr, [this](void *) {
        std::lock_guard<std::mutex> hold_again(flush_);
        is_flushing_ = false;
        flushed_.notify_one();
    });
    uint64_t n_told = 0;
    {
        std::lock_guard<std::mutex> hold_send(send_);
        n_told = n_unflushed_.load(std::memory_order_relaxed);
        ask(Request::Flush, 0, 0, ++n_asked_, nullptr, 0);
    }
    // Earlier ones may have been given up.
    for (const uint64_t mine = n_asked_; n_answered_ < mine;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::nanoseconds>(end - clock::now()).count();
        take_reply("Connection::flush", left > 0 ? static_cast<uint64_t>(left) : 1);
    }
    n_unflushed_.fetch_sub(n_told, std::memory_order_relaxed);
    throw_failure("Connection::flush");
}

} // namespace

std::shared_ptr<BaseConnection> connect_far(std::shared_ptr<Context> context,
                                            std::shared_ptr<Endpoint::Impl> local,
                                            std::shared_ptr<Endpoint::Impl> remote)
{
    return std::make_shared<FarConnection>(std::move(context), std::move(local), std::move(remote));
}

} // namespace mscclpp
