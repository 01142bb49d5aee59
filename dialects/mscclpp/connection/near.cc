// SPDX-License-Identifier: Apache-2.0
// Between processes that map each other's memory, or within one.
#include "dialects/mscclpp/connection/connection.h"

#include "dialects/mscclpp/base/check.h"

namespace mscclpp
{

namespace
{

class NearConnection : public BaseConnection
{
  public:
    NearConnection(std::shared_ptr<Context> context, std::shared_ptr<Endpoint::Impl> local,
                   std::shared_ptr<Endpoint::Impl> remote, void *copies)
        : BaseConnection(std::move(context), std::move(local), std::move(remote)), copies_(copies)
    {
        check(gshmemx_layer_process_watch(remote_->process_key.data(), &watch_), "connect");
    }
    ~NearConnection() override { gshmemx_layer_process_forget(watch_); }

    void write(const RegisteredMemory::Impl &dst, uint64_t dst_offset,
               const RegisteredMemory::Impl &src, uint64_t src_offset, uint64_t size) override
    {
        need_peer("write");
        check(gshmemx_layer_copies_add(copies_, address(dst, dst_offset), address(src, src_offset),
                                       size),
              "Connection::write");
    }
    void update(const RegisteredMemory::Impl &dst, uint64_t dst_offset, uint64_t value) override
    {
        need_peer("updateAndSync");
        check(gshmemx_layer_copies_store(
                  copies_, reinterpret_cast<uint64_t *>(address(dst, dst_offset)), value),
              "Connection::updateAndSync");
    }
    void flush(uint64_t timeout_ns) override
    {
        check(gshmemx_layer_copies_wait(copies_, timeout_ns), "Connection::flush");
    }
    bool is_lost() override { return gshmemx_layer_process_has_ended(watch_); }

  private:
    static char *address(const RegisteredMemory::Impl &memory, uint64_t offset)
    {
        if (memory.data == nullptr) {
            refuse("Connection: the memory is not mapped in this process");
        }
        return static_cast<char *>(memory.data) + offset;
    }
    void need_peer(const char *call)
    {
        if (is_lost()) {
            throw Error(std::string("Connection::") + call + ": the other end's process has ended",
                        ErrorCode::RemoteError);
        }
    }

    void *const copies_; // the context's
    void *watch_ = nullptr;
};

} // namespace

std::shared_ptr<BaseConnection> connect_near(std::shared_ptr<Context> context,
                                             std::shared_ptr<Endpoint::Impl> local,
                                             std::shared_ptr<Endpoint::Impl> remote, void *copies)
{
    if (remote->host != local->host) {
        refuse("connect: " + std::to_string(Transport::CudaIpc) +
               " needs both ends on one host; IB0 to IB7 and Ethernet do not");
    }
    return std::make_shared<NearConnection>(std::move(context), std::move(local), std::move(remote),
                                            copies);
}

} // namespace mscclpp
