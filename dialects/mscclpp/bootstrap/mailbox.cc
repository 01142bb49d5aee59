// SPDX-License-Identifier: Apache-2.0
#include "dialects/mscclpp/bootstrap/mailbox.h"

#include <cstring>

namespace mscclpp
{

void Mailbox::add(int from, int tag, std::vector<char> message)
{
    std::lock_guard<std::mutex> hold(mutex_);
    messages_[{from, tag}].push_back(std::move(message));
    changed_.notify_all();
}

void Mailbox::end(int from)
{
    std::lock_guard<std::mutex> hold(mutex_);
    ended_.insert(from);
    changed_.notify_all();
}

bool Mailbox::has_ended(int from)
{
    std::lock_guard<std::mutex> hold(mutex_);
    return ended_.count(from) > 0;
}

Mailbox::Found Mailbox::take(int from, int tag, void *data, size_t size,
                             std::chrono::milliseconds wait, size_t *has)
{
    std::unique_lock<std::mutex> hold(mutex_);
    std::deque<std::vector<char>> &queue = messages_[{from, tag}];
    changed_.wait_for(hold, wait, [&] { return !queue.empty() || ended_.count(from) > 0; });
    if (queue.empty()) {
        return Found::Nothing;
    }
    *has = queue.front().size();
    if (*has != size) {
        return Found::OtherSize;
    }
    if (size > 0) {
        std::memcpy(data, queue.front().data(), size);
    }
    queue.pop_front();
    return Found::Message;
}

} // namespace mscclpp
