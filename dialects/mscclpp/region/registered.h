/* SPDX-License-Identifier: Apache-2.0
 * Registered memory, this process's and other processes'. */
#ifndef GSH_MSCCLPP_REGISTERED_H
#define GSH_MSCCLPP_REGISTERED_H

#include <array>
#include <cstdint>
#include <memory>
#include <shared_mutex>

#include <mscclpp/core.hpp>

#include "runtime/layer.h"

namespace mscclpp
{

struct RegisteredMemory::Impl {
    void *data = nullptr;  /* nullptr: not mapped here */
    uint64_t original = 0; /* its address in its owner; never followed elsewhere */
    size_t size = 0;
    TransportFlags transports;
    uint64_t host = 0, process = 0; /* its owner's */
    uint64_t id = 0;                /* random: who knows it may write there by a far connection */
    bool has_range = false;         /* others on the host can map it */
    std::array<uint8_t, GSHMEMX_LAYER_RANGE_KEY> range_key = {};
    bool is_own = false;
    mutable std::shared_mutex use; /* shared by those who access it for the program, see Use */
    bool is_freed = false;         /* what was registered is no more; behind use */
    void *range = nullptr;         /* its owner's: until released */
    void *opened = nullptr;        /* others': until closed */

    ~Impl();
};

/* Registers memory of this process. keep: lives as long as the registration. */
std::shared_ptr<RegisteredMemory::Impl> register_memory(void *ptr, size_t size,
                                                        TransportFlags transports);

/* While one lives, the memory is not freed by note_freed. A copy that a GPU has only been asked for
 * may be later. */
class Use
{
  public:
    explicit Use(const RegisteredMemory::Impl &memory) : hold_(memory.use), memory_(memory) {}
    bool is_freed() const { return memory_.is_freed; }
    /* Throws if it has been freed. */
    void need(const char *call) const;

  private:
    std::shared_lock<std::shared_mutex> hold_;
    const RegisteredMemory::Impl &memory_;
};

/* These bytes of this process are about to be freed. Waits for the uses of what is registered of
 * them; those that come later are refused. */
void note_freed(const char *begin, size_t bytes);

/* Calls use(memory) if this process has that memory registered, which it stays meanwhile; false: it
 * has not. */
bool with_registered(uint64_t id, void (*use)(void *context, const RegisteredMemory::Impl &memory),
                     void *context);

} // namespace mscclpp

#endif
