/* SPDX-License-Identifier: Apache-2.0
 * What Connection of core.hpp stands for: one class for each route. */
#ifndef GSH_MSCCLPP_CONNECTION_H
#define GSH_MSCCLPP_CONNECTION_H

#include <memory>

#include <mscclpp/core.hpp>

#include "dialects/mscclpp/connection/endpoint.h"
#include "dialects/mscclpp/region/registered.h"

namespace mscclpp
{

using MemoryImpl = std::shared_ptr<RegisteredMemory::Impl>;

class BaseConnection
{
  public:
    BaseConnection(std::shared_ptr<Context> context, std::shared_ptr<Endpoint::Impl> local,
                   std::shared_ptr<Endpoint::Impl> remote)
        : context_(std::move(context)), local_(std::move(local)), remote_(std::move(remote)),
          remote_pe(gshmemx_layer_find_pe(&remote_->pe))
    {
    }
    virtual ~BaseConnection() = default;

    /* Arguments are checked: the bytes lie in both memories, dst's word is aligned. */
    virtual void write(const RegisteredMemory::Impl &dst, uint64_t dst_offset,
                       const RegisteredMemory::Impl &src, uint64_t src_offset, uint64_t size) = 0;
    virtual void update(const RegisteredMemory::Impl &dst, uint64_t dst_offset, uint64_t value) = 0;
    virtual void flush(uint64_t timeout_ns) = 0;
    /* The same without waiting: *done, of this process, becomes value once all earlier writes and
     * updates are complete, after the update if dst is given. False: this route cannot. */
    virtual bool flush_into(uint64_t *done, uint64_t value, const RegisteredMemory::Impl *dst,
                            uint64_t new_value)
    {
        (void)done;
        (void)value;
        (void)dst;
        (void)new_value;
        return false;
    }
    virtual bool is_lost() = 0;
    virtual const char *carrier() const = 0; /* as Connection::carrier */

    const std::shared_ptr<Context> context_;
    const std::shared_ptr<Endpoint::Impl> local_, remote_;
    const int remote_pe; // the other end's, for hang reports; -1: it is none of this job
    int own_rank = -1, remote_rank = -1; // of the communicator that made it
};

std::shared_ptr<BaseConnection> connect_near(std::shared_ptr<Context> context,
                                             std::shared_ptr<Endpoint::Impl> local,
                                             std::shared_ptr<Endpoint::Impl> remote, void *copies);
std::shared_ptr<BaseConnection> connect_far(std::shared_ptr<Context> context,
                                            std::shared_ptr<Endpoint::Impl> local,
                                            std::shared_ptr<Endpoint::Impl> remote);

} // namespace mscclpp

#endif
