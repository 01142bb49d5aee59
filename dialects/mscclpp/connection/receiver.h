/* SPDX-License-Identifier: Apache-2.0
 * The end of far connections where data arrive: carries out what the other end asks for, on memory
 * that this process has registered for it. One for each endpoint; a thread for each connection.
 *
 *   sender -> receiver   a Request; a write is followed by its data
 *   receiver -> sender   a Reply for each Flush, after all that came before it
 *
 * A request that cannot be carried out leaves memory as it is; the next reply tells of the first.
 */
#ifndef GSH_MSCCLPP_RECEIVER_H
#define GSH_MSCCLPP_RECEIVER_H

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

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
    uint64_t flush;
    uint32_t is_failed, zero;
    char why[GSHMEMX_LAYER_HEAD - 16]; /* ends with a NUL */
};
static_assert(sizeof(Reply) == GSHMEMX_LAYER_HEAD);

constexpr size_t far_part_bytes = GSHMEMX_LAYER_MESSAGE - GSHMEMX_LAYER_HEAD;

class Receiver
{
  public:
    /* Fills in the key for the other end. */
    explicit Receiver(std::array<uint8_t, GSHMEMX_LAYER_ENTRY_KEY> &key);
    ~Receiver();
    Receiver(const Receiver &) = delete;
    Receiver &operator=(const Receiver &) = delete;

  private:
    static bool on_message(void *context, void *link, const void *data, size_t bytes);
    static void on_loss(void *context, void *link);
    bool take(void *link, const Request &request, const char *data, size_t bytes);
    void note_failure(void *link, const std::string &why);

    void *entry_ = nullptr;
    void *copies_ = nullptr;
    std::mutex mutex_;
    std::map<void *, std::string> failures_; /* the first since the last reply */
};

} // namespace mscclpp

#endif
