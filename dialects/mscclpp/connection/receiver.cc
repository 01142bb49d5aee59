// SPDX-License-Identifier: Apache-2.0
#include "dialects/mscclpp/connection/receiver.h"

#include <cstdio>
#include <cstring>

#include "dialects/mscclpp/base/check.h"
#include "dialects/mscclpp/region/registered.h"

namespace mscclpp
{

Receiver::Receiver(std::array<uint8_t, GSHMEMX_LAYER_ENTRY_KEY> &key, bool may_use_ucx)
{
    check(gshmemx_layer_copies_create(&copies_), "createEndpoint");
    const int outcome =
        gshmemx_layer_entry_open(on_message, on_loss, this, may_use_ucx, &entry_, key.data());
    if (outcome != GSHMEMX_LAYER_DONE) {
        gshmemx_layer_copies_destroy(copies_);
    }
    check(outcome, "createEndpoint");
}

Receiver::~Receiver()
{
    gshmemx_layer_entry_close(entry_);
    gshmemx_layer_copies_destroy(copies_);
}

// Tells both processes of the first since the last flush; false: the link has ended.
bool Receiver::note_failure(void *link, const Request &request, const char *why)
{
    const bool is_write = request.kind == Request::Write;
    {
        std::lock_guard<std::mutex> hold(mutex_);
        const auto [failed, is_first] = failed_.emplace(link, is_write);
        failed->second |= is_write;
        if (!is_first) {
            return true;
        }
    }
    std::fprintf(stderr,
                 "gshmem: mscclpp: another process's %s at offset %llu of this process's memory "
                 "was not carried out: %s\n",
                 is_write ? "write" : "update", (unsigned long long)request.offset, why);
    Reply reply = {};
    std::strncpy(reply.why, why, sizeof(reply.why) - 1);
    return gshmemx_layer_link_send(link, &reply, nullptr, 0, gshmemx_layer_timeout_ns()) ==
           GSHMEMX_LAYER_DONE;
}

bool Receiver::has_lost_a_write(void *link)
{
    std::lock_guard<std::mutex> hold(mutex_);
    const auto failed = failed_.find(link);
    return failed != failed_.end() && failed->second;
}

void Receiver::on_loss(void *context, void *link)
{
    Receiver *receiver = static_cast<Receiver *>(context);
    std::lock_guard<std::mutex> hold(receiver->mutex_);
    receiver->failed_.erase(link);
}

bool Receiver::on_message(void *context, void *link, const void *data, size_t bytes)
{
    Request request;
    if (bytes < sizeof(request)) {
        return false;
    }
    std::memcpy(&request, data, sizeof(request));
    return static_cast<Receiver *>(context)->take(
        link, request, static_cast<const char *>(data) + sizeof(request), bytes - sizeof(request));
}

namespace
{

// One request, and why it was not carried out.
struct Work {
    const Request &request;
    const char *data;
    void *copies;
    const char *why;
};

void carry_out(void *context, const RegisteredMemory::Impl &memory)
{
    Work &work = *static_cast<Work *>(context);
    const Request &request = work.request;
    const bool is_write = request.kind == Request::Write;
    const uint64_t bytes = is_write ? request.value : sizeof(uint64_t);
    char *to = static_cast<char *>(memory.data) + request.offset;
    const Use use(memory);
    if (use.is_freed()) {
        work.why = "its owner has freed it";
    } else if (request.transport >= static_cast<uint32_t>(Transport::NumTransports) ||
               !memory.transports.has(static_cast<Transport>(request.transport))) {
        work.why = "the memory is not for this transport";
    } else if (request.offset > memory.size || bytes > memory.size - request.offset) {
        work.why = "beyond the memory's end";
    } else if (!is_write && (reinterpret_cast<uintptr_t>(to) & 7) != 0) {
        work.why = "an update at no multiple of 8";
    } else {
        const int outcome =
            is_write ? gshmemx_layer_copies_add(work.copies, to, work.data, bytes)
                     : gshmemx_layer_copies_store(work.copies, reinterpret_cast<uint64_t *>(to),
                                                  request.value);
        if (outcome != GSHMEMX_LAYER_DONE ||
            gshmemx_layer_copies_wait(work.copies, 0) != GSHMEMX_LAYER_DONE) {
            work.why = "a copy failed";
        }
    }
}

} // namespace

bool Receiver::take(void *link, const Request &request, const char *data, size_t bytes)
{
    if (request.kind == Request::Flush) {
        Reply reply = {};
        reply.flush = request.value;
        {
            std::lock_guard<std::mutex> hold(mutex_);
            failed_.erase(link);
        }
        return bytes == 0 &&
               gshmemx_layer_link_send(link, &reply, nullptr, 0, gshmemx_layer_timeout_ns()) ==
                   GSHMEMX_LAYER_DONE;
    }
    if ((request.kind != Request::Write && request.kind != Request::Update) ||
        bytes != (request.kind == Request::Write ? request.value : 0)) {
        return false;
    }
    Work work = {request, data, copies_, nullptr};
    if (request.kind == Request::Update && has_lost_a_write(link)) {
        return true; // has been told
    }
    if (!with_registered(request.memory, carry_out, &work)) {
        work.why = "its owner has released it";
    }
    return work.why == nullptr || note_failure(link, request, work.why);
}

} // namespace mscclpp
