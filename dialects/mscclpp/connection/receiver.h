/* SPDX-License-Identifier: Apache-2.0
 * The end of far connections where data arrive: carries out what the other end asks for, on memory
 * that this process has registered for it. One for each endpoint; a thread for each connection.
 *
 *   sender -> receiver   a Request; a write is followed by its data
 *   receiver -> sender   a Reply for each Flush, after all that came before it; and one without a
 *                        flush, at once, for the first request between two of those that was not
 *                        carried out
 *
 * A request that cannot be carried out leaves memory as it is, and this process prints a line.
 * After such a write no update is carried out until the next flush: it would tell that the write's
 * data have arrived. */
#ifndef GSH_MSCCLPP_RECEIVER_H
#define GSH_MSCCLPP_RECEIVER_H

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

#include <mscclpp/core.hpp>

#include "runtime/layer.h"

namespace mscclpp
{

struct Request {
    enum Kind : uint32_t { Write = 0x4d535701, Update, Flush };

    uint32_t kind;
    uint32_t transport; /* by which the memory must be registered */
    uint64_t memory;    /* its id */
    uint64_t offset;
    uint64_t value; /* Write: bytes; Update: the word; Flush: the flush's number */
    uint8_t rest[GSHMEMX_LAYER_HEAD - 32];
};
static_assert(sizeof(Request) == GSHMEMX_LAYER_HEAD);

struct Reply {
    uint64_t flush;                   /* 0: of none, a request has not been carried out */
    char why[GSHMEMX_LAYER_HEAD - 8]; /* in that case; ends with a NUL */
};
static_assert(sizeof(Reply) == GSHMEMX_LAYER_HEAD);

constexpr size_t far_part_bytes = GSHMEMX_LAYER_MESSAGE - GSHMEMX_LAYER_HEAD;

class Receiver
{
  public:
    /* Fills in the key for the other end. may_use_ucx: as in layer.h. */
    Receiver(std::array<uint8_t, GSHMEMX_LAYER_ENTRY_KEY> &key, bool may_use_ucx);
    ~Receiver();
    Receiver(const Receiver &) = delete;
    Receiver &operator=(const Receiver &) = delete;

  private:
    static bool on_message(void *context, void *link, const void *data, size_t bytes);
    static void on_loss(void *context, void *link);
    bool take(void *link, const Request &request, const char *data, size_t bytes);
    bool note_failure(void *link, const Request &request, const char *why);
    bool has_lost_a_write(void *link);

    void *entry_ = nullptr;
    void *copies_ = nullptr;
    std::mutex mutex_;
    std::map<void *, bool> failed_; /* since the last flush; true: a write is among them */
};

} // namespace mscclpp

#endif
