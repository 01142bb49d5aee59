// SPDX-License-Identifier: Apache-2.0
// Ranks that have started up by gshmem's unique id. Collective calls are those of start-up; for
// messages each rank has an entry, whose key the others get at start-up, and a rank connects to
// another one's when it first sends to it.
#include <mscclpp/core.hpp>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <map>
#include <mutex>

#include <mscclpp/env.hpp>

#include "dialects/mscclpp/base/check.h"
#include "dialects/mscclpp/base/host.h"
#include "dialects/mscclpp/base/waiting.h"
#include "dialects/mscclpp/bootstrap/mailbox.h"

namespace mscclpp
{

namespace
{

static_assert(sizeof(gshmemx_uniqueid_t) <= UniqueIdBytes, "gshmem's id is the id");

// Of an id that stands for a text.
const char text_mark[] = "gshmem at ";

// What each rank tells the others at start-up.
struct Contact {
    uint8_t key[GSHMEMX_LAYER_ENTRY_KEY];
    uint64_t host;
    gshmemx_layer_pe_name pe;
};

// Of a part of a message.
struct Head {
    uint64_t total, at;
    int32_t tag, zero;
    uint8_t rest[GSHMEMX_LAYER_HEAD - 24];
};
static_assert(sizeof(Head) == GSHMEMX_LAYER_HEAD);
constexpr size_t part_bytes = GSHMEMX_LAYER_MESSAGE - GSHMEMX_LAYER_HEAD;

} // namespace

class TcpBootstrap::Impl
{
  public:
    Impl(int rank, int nRanks) : rank_(rank), nRanks_(nRanks)
    {
        if (nRanks < 1 || rank < 0 || rank >= nRanks) {
            refuse("TcpBootstrap: rank " + std::to_string(rank) + " of " + std::to_string(nRanks));
        }
    }
    ~Impl()
    {
        for (Peer &peer : peers_) {
            gshmemx_layer_link_close(peer.link);
        }
        gshmemx_layer_entry_close(entry_);
        gshmemx_layer_ranks_end(ranks_);
    }
    Impl(const Impl &) = delete;
    Impl &operator=(const Impl &) = delete;

    void start(const UniqueId &id, int64_t timeoutSec);
    void start(const std::string &text, int64_t timeoutSec);
    void send(const void *data, size_t bytes, int to, int tag);
    void receive(void *data, size_t bytes, int from, int tag);
    void all_gather(void *all, size_t bytes);
    void barrier();

    const int rank_;
    const int nRanks_;
    int nRanksPerNode_ = 0;
    UniqueId id_ = {};

  private:
    struct Peer {
        Contact contact = {};
        int pe = -1;      // of this process's job
        std::mutex mutex; // for sending
        void *link = nullptr;
    };
    // What of the message under way has come over a link; for its thread alone.
    struct Partial {
        std::vector<char> bytes;
        size_t total = 0;
    };

    void begin(int64_t timeoutSec);
    void exchange_contacts();
    void need_start(const char *call) const;
    void need_rank(const char *call, int rank) const;
    void *link_to(Peer &peer, int rank);
    static bool on_message(void *context, void *link, const void *data, size_t bytes);
    static void on_loss(void *context, void *link);
    bool take(void *link, const Head &head, const char *data, size_t bytes);

    uint64_t timeout_ns_ = 0;
    void *ranks_ = nullptr;
    void *entry_ = nullptr;
    std::vector<Peer> peers_;
    std::mutex collective_;
    std::mutex partials_mutex_;
    std::map<void *, Partial> partials_;
    Mailbox mailbox_;
};

// ---- start-up ----

void TcpBootstrap::Impl::begin(int64_t timeoutSec)
{
    if (ranks_ != nullptr) {
        refuse("TcpBootstrap: initialize was called before");
    }
    offer_settings();
    timeout_ns_ = timeoutSec > 0 ? static_cast<uint64_t>(timeoutSec) * 1000000000 : 0;
}

void TcpBootstrap::Impl::start(const UniqueId &id, int64_t timeoutSec)
{
    const char *text = reinterpret_cast<const char *>(id.data());
    if (std::memcmp(text, text_mark, sizeof(text_mark) - 1) == 0) {
        const char *begin = text + sizeof(text_mark) - 1;
        start(std::string(begin, strnlen(begin, id.size() - sizeof(text_mark) + 1)), timeoutSec);
    } else {
        gshmemx_uniqueid_t made;
        const waiting wait("TcpBootstrap::initialize");
        begin(timeoutSec);
        std::memcpy(&made, id.data(), sizeof(made));
        check(gshmemx_layer_ranks_start(&made, rank_, nRanks_, timeout_ns_, &ranks_),
              "TcpBootstrap::initialize of rank " + std::to_string(rank_));
        exchange_contacts();
    }
    id_ = id;
}

void TcpBootstrap::Impl::start(const std::string &text, int64_t timeoutSec)
{
    const waiting wait("TcpBootstrap::initialize");
    begin(timeoutSec);
    check(gshmemx_layer_ranks_start_at(text.c_str(), rank_, nRanks_, timeout_ns_, &ranks_),
          "TcpBootstrap::initialize of rank " + std::to_string(rank_));
    exchange_contacts();
}

void TcpBootstrap::Impl::exchange_contacts()
{
    Contact mine = {};
    std::vector<Contact> contacts(static_cast<size_t>(nRanks_));
    check(gshmemx_layer_entry_open(on_message, on_loss, this, false, &entry_, mine.key),
          "TcpBootstrap::initialize");
    mine.host = own_host();
    gshmemx_layer_name_pe(&mine.pe);
    check(gshmemx_layer_ranks_allgather(ranks_, &mine, sizeof(mine), contacts.data()),
          "TcpBootstrap::initialize");
    peers_ = std::vector<Peer>(static_cast<size_t>(nRanks_));
    for (size_t i = 0; i < contacts.size(); i++) {
        peers_[i].contact = contacts[i];
        peers_[i].pe = gshmemx_layer_find_pe(&contacts[i].pe);
        nRanksPerNode_ += contacts[i].host == mine.host;
    }
    // Only now may messages come: everybody has somewhere to put them.
    check(gshmemx_layer_ranks_barrier(ranks_), "TcpBootstrap::initialize");
}

void TcpBootstrap::Impl::need_start(const char *call) const
{
    if (ranks_ == nullptr) {
        refuse(std::string("TcpBootstrap::") + call + " before initialize");
    }
}

void TcpBootstrap::Impl::need_rank(const char *call, int rank) const
{
    need_start(call);
    if (rank < 0 || rank >= nRanks_) {
        refuse(std::string("TcpBootstrap::") + call + ": there is no rank " + std::to_string(rank));
    }
}

// ---- messages ----

// Called with the peer's mutex held.
void *TcpBootstrap::Impl::link_to(Peer &peer, int rank)
{
    if (peer.link == nullptr) {
        check(gshmemx_layer_link_connect(peer.contact.key, static_cast<uint32_t>(rank_), false,
                                         timeout_ns_, &peer.link),
              "rank " + std::to_string(rank));
    }
    return peer.link;
}

void TcpBootstrap::Impl::send(const void *data, size_t bytes, int to, int tag)
{
    const char *from = static_cast<const char *>(data);
    need_rank("send", to);
    if (to == rank_) {
        mailbox_.add(rank_, tag, std::vector<char>(from, from + bytes));
        return;
    }
    Peer &peer = peers_[static_cast<size_t>(to)];
    std::lock_guard<std::mutex> hold(peer.mutex);
    void *link = link_to(peer, to);
    Head head = {};
    head.total = bytes;
    head.tag = tag;
    do {
        const size_t part = std::min(part_bytes, bytes - head.at);
        check(gshmemx_layer_link_send(link, &head, from + head.at, part, timeout_ns_),
              "TcpBootstrap::send to rank " + std::to_string(to));
        head.at += part;
    } while (head.at < bytes);
}

bool TcpBootstrap::Impl::on_message(void *context, void *link, const void *data, size_t bytes)
{
    Head head;
    if (bytes < sizeof(head)) {
        return false;
    }
    std::memcpy(&head, data, sizeof(head));
    return static_cast<Impl *>(context)->take(
        link, head, static_cast<const char *>(data) + sizeof(head), bytes - sizeof(head));
}

bool TcpBootstrap::Impl::take(void *link, const Head &head, const char *data, size_t bytes)
{
    const uint32_t from = gshmemx_layer_link_from(link);
    if (from >= static_cast<uint32_t>(nRanks_) || head.total > INT_MAX ||
        bytes > head.total - std::min(head.at, head.total) || (bytes == 0 && head.total > 0)) {
        return false;
    }
    std::unique_lock<std::mutex> hold(partials_mutex_);
    Partial &partial = partials_[link];
    hold.unlock(); // its place in the map stays
    if (head.at != partial.bytes.size() || (head.at > 0 && head.total != partial.total)) {
        return false;
    }
    partial.total = head.total;
    partial.bytes.insert(partial.bytes.end(), data, data + bytes);
    if (partial.bytes.size() == head.total) {
        mailbox_.add(static_cast<int>(from), head.tag, std::move(partial.bytes));
        partial.bytes = {};
    }
    return true;
}

void TcpBootstrap::Impl::on_loss(void *context, void *link)
{
    Impl *impl = static_cast<Impl *>(context);
    impl->mailbox_.end(static_cast<int>(gshmemx_layer_link_from(link)));
}

void TcpBootstrap::Impl::receive(void *data, size_t bytes, int from, int tag)
{
    using clock = std::chrono::steady_clock;
    const clock::time_point begin = clock::now();
    const std::string what =
        "TcpBootstrap::recv from rank " + std::to_string(from) + " with tag " + std::to_string(tag);
    need_rank("recv", from);
    const waiting wait("TcpBootstrap::recv", peers_[static_cast<size_t>(from)].pe);
    for (bool is_watched = from == rank_;;) {
        size_t has = 0;
        // Before the look, so that what came first is not missed.
        const bool has_ended = mailbox_.has_ended(from);
        const Mailbox::Found found =
            mailbox_.take(from, tag, data, bytes, std::chrono::milliseconds(100), &has);
        if (found == Mailbox::Found::Message) {
            return;
        }
        if (found == Mailbox::Found::OtherSize) {
            refuse(what + ": it sent " + std::to_string(has) + " bytes, not " +
                   std::to_string(bytes));
        }
        if (has_ended) {
            throw Error(what + ": it has died or left", ErrorCode::RemoteError);
        }
        if (timeout_ns_ > 0 &&
            clock::now() - begin > std::chrono::nanoseconds(static_cast<int64_t>(timeout_ns_))) {
            throw Error(what + ": nothing came in time", ErrorCode::Timeout);
        }
        if (!is_watched) { // a rank that has sent nothing yet may die, too
            Peer &peer = peers_[static_cast<size_t>(from)];
            std::unique_lock<std::mutex> hold(peer.mutex, std::try_to_lock);
            if (hold.owns_lock() && gshmemx_layer_link_is_lost(link_to(peer, from))) {
                mailbox_.end(from);
                is_watched = true;
            }
        }
    }
}

// ---- collective calls ----

void TcpBootstrap::Impl::all_gather(void *all, size_t bytes)
{
    need_start("allGather");
    const waiting wait("TcpBootstrap::allGather");
    std::lock_guard<std::mutex> hold(collective_);
    const char *own = static_cast<const char *>(all) + bytes * static_cast<size_t>(rank_);
    const std::vector<char> mine(own, own + bytes);
    check(gshmemx_layer_ranks_allgather(ranks_, mine.data(), bytes, all),
          "TcpBootstrap::allGather");
}

void TcpBootstrap::Impl::barrier()
{
    need_start("barrier");
    const waiting wait("TcpBootstrap::barrier");
    std::lock_guard<std::mutex> hold(collective_);
    check(gshmemx_layer_ranks_barrier(ranks_), "TcpBootstrap::barrier");
}

// ---- the class of core.hpp ----

UniqueId TcpBootstrap::createUniqueId()
{
    UniqueId id = {};
    offer_settings();
    const std::string &text = env()->commId;
    if (!text.empty()) {
        if (text.size() + sizeof(text_mark) > id.size()) {
            refuse("MSCCLPP_COMM_ID=" + text + " is too long");
        }
        std::memcpy(id.data(), text_mark, sizeof(text_mark) - 1);
        std::memcpy(id.data() + sizeof(text_mark) - 1, text.data(), text.size());
        return id;
    }
    gshmemx_uniqueid_t made = GSHMEMX_UNIQUEID_INITIALIZER;
    if (gshmemx_get_uniqueid(&made) != 0) {
        throw Error(std::string("TcpBootstrap::createUniqueId: ") + gshmemx_layer_why(),
                    ErrorCode::SystemError);
    }
    std::memcpy(id.data(), &made, sizeof(made));
    return id;
}

TcpBootstrap::TcpBootstrap(int rank, int nRanks) : pimpl_(std::make_unique<Impl>(rank, nRanks)) {}

TcpBootstrap::~TcpBootstrap() = default;

UniqueId TcpBootstrap::getUniqueId() const
{
    return pimpl_->id_;
}

void TcpBootstrap::initialize(UniqueId uniqueId, int64_t timeoutSec)
{
    pimpl_->start(uniqueId, timeoutSec);
}

void TcpBootstrap::initialize(const std::string &ifIpPortTrio, int64_t timeoutSec)
{
    pimpl_->start(ifIpPortTrio, timeoutSec);
}

int TcpBootstrap::getRank() const
{
    return pimpl_->rank_;
}

int TcpBootstrap::getNranks() const
{
    return pimpl_->nRanks_;
}

int TcpBootstrap::getNranksPerNode() const
{
    return pimpl_->nRanksPerNode_;
}

namespace
{

size_t size_of(const char *call, int size)
{
    if (size < 0) {
        refuse(std::string("TcpBootstrap::") + call + " of " + std::to_string(size) + " bytes");
    }
    return static_cast<size_t>(size);
}

} // namespace

void TcpBootstrap::send(void *data, int size, int peer, int tag)
{
    pimpl_->send(data, size_of("send", size), peer, tag);
}

void TcpBootstrap::recv(void *data, int size, int peer, int tag)
{
    pimpl_->receive(data, size_of("recv", size), peer, tag);
}

void TcpBootstrap::allGather(void *allData, int size)
{
    pimpl_->all_gather(allData, size_of("allGather", size));
}

void TcpBootstrap::barrier()
{
    pimpl_->barrier();
}

void TcpBootstrap::broadcast(void *data, int size, int root)
{
    Bootstrap::broadcast(data, size, root);
}

} // namespace mscclpp
