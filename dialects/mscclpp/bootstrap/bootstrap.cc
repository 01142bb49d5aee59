// SPDX-License-Identifier: Apache-2.0
// What every Bootstrap has from sends and receives.
#include <mscclpp/core.hpp>

#include <algorithm>

#include "dialects/mscclpp/base/check.h"
#include "dialects/mscclpp/base/waiting.h"

namespace mscclpp
{

namespace
{

// Unlike those of programs.
constexpr int tag_of_group = 0x47530001, tag_of_broadcast = 0x47530002;

} // namespace

int Bootstrap::getNranksPerIpcDomain() const
{
    return getNranksPerNode();
}

void Bootstrap::broadcast(void *data, int size, int root)
{
    if (root < 0 || root >= getNranks()) {
        refuse("broadcast: there is no rank " + std::to_string(root));
    }
    if (getRank() != root) {
        const waiting wait("Bootstrap::broadcast");
        recv(data, size, root, tag_of_broadcast);
        return;
    }
    for (int rank = 0; rank < getNranks(); rank++) {
        if (rank != root) {
            send(data, size, rank, tag_of_broadcast);
        }
    }
}

// Each round a rank hears of twice as many as before.
void Bootstrap::groupBarrier(const std::vector<int> &ranks)
{
    const size_t n = ranks.size();
    const size_t me =
        static_cast<size_t>(std::find(ranks.begin(), ranks.end(), getRank()) - ranks.begin());
    if (me == n) {
        refuse("groupBarrier: rank " + std::to_string(getRank()) + " is not in the group");
    }
    const waiting wait("Bootstrap::groupBarrier");
    for (size_t by = 1; by < n; by *= 2) {
        char token = 0;
        send(&token, sizeof(token), ranks[(me + by) % n], tag_of_group);
        recv(&token, sizeof(token), ranks[(me + n - by) % n], tag_of_group);
    }
}

void Bootstrap::send(const std::vector<char> &data, int peer, int tag)
{
    size_t size = data.size();
    if (size > INT32_MAX) {
        refuse("a message of " + std::to_string(size) + " bytes is too long");
    }
    send(&size, static_cast<int>(sizeof(size)), peer, tag);
    if (size > 0) {
        send(const_cast<char *>(data.data()), static_cast<int>(size), peer, tag);
    }
}

void Bootstrap::recv(std::vector<char> &data, int peer, int tag)
{
    size_t size = 0;
    recv(&size, static_cast<int>(sizeof(size)), peer, tag);
    if (size > INT32_MAX) {
        throw Error("rank " + std::to_string(peer) + " announces " + std::to_string(size) +
                        " bytes, which no message has",
                    ErrorCode::RemoteError);
    }
    data.resize(size);
    if (size > 0) {
        recv(data.data(), static_cast<int>(size), peer, tag);
    }
}

} // namespace mscclpp
