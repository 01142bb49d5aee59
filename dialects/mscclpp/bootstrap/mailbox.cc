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
    const std::pair<int, int> key(from, tag);
    changed_.wait_for(hold, wait,
                      [&] { return messages_.count(key) > 0 || ended_.count(from) > 0; });
    const auto found = messages_.find(key);
    if (found == messages_.end()) {
        return Found::Nothing;
    }
    std::deque<std::vector<char>> &queue = found->second;
    *has = queue.front().size();
    if (*has != size) {
        return Found::OtherSize;
    }
    if (size > 0) {
        std::memcpy(data, queue.front().data(), size);
    }
    queue.pop_front();
    if (queue.empty()) { /* programs use many tags, each once */
        messages_.erase(found);
    }
    return Found::Message;
}

} // namespace mscclpp
