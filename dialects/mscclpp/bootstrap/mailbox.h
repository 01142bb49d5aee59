/* SPDX-License-Identifier: Apache-2.0
 * What has come for a rank and has not been received yet, by sender and tag. Threads of the library
 * fill it, any thread takes from it. */
#ifndef GSH_MSCCLPP_MAILBOX_H
#define GSH_MSCCLPP_MAILBOX_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace mscclpp
{

class Mailbox
{
  public:
    enum class Found { Message, Nothing, OtherSize };

    void add(int from, int tag, std::vector<char> message);
    /* No more messages come from that rank. */
    void end(int from);
    bool has_ended(int from);
    /* Waits at most so long for the next message, and takes it if it has `size` bytes; *has: how
     * many it has. */
    Found take(int from, int tag, void *data, size_t size, std::chrono::milliseconds wait,
               size_t *has);

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::pair<int, int>, std::deque<std::vector<char>>> messages_;
    std::set<int> ended_;
};

} // namespace mscclpp

#endif
