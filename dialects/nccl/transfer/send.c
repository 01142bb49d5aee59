/* SPDX-License-Identifier: Apache-2.0
 * Sends and receives. */
#include "dialects/nccl/base/type.h"
#include "dialects/nccl/coll/begin.h"
#include "dialects/nccl/group/group.h"
#include "dialects/nccl/transfer/transfer.h"

static ncclResult_t run(const struct gsh_nccl_call *c)
{
    const struct gsh_nccl_message *m = &c->message;
    return gsh_nccl_transfer_add(c->name, c->comm, m->buffer, m->bytes, m->peer, m->is_send,
                                 m->stream);
}

static struct gsh_nccl_load load_of(const struct gsh_nccl_call *c)
{
    const struct gsh_nccl_message *m = &c->message;
    const size_t bytes = m->peer != c->comm->rank ? m->bytes : 0;
    return (struct gsh_nccl_load){.kind = GSH_NCCL_LOAD_TRANSFER,
                                  .out_bytes = m->is_send ? bytes : 0,
                                  .in_bytes = m->is_send ? 0 : bytes};
}

/* m: all but bytes. */
static ncclResult_t submit(const char *name, ncclComm_t comm, struct gsh_nccl_message m,
                           size_t count, ncclDataType_t type)
{
    ncclResult_t r = gsh_nccl_check_data(name, comm, type, m.peer, count);
    if (r == ncclSuccess && count > 0 && m.buffer == NULL) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: the buffer is NULL", name);
    }
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    m.bytes = count * gsh_nccl_type_bytes(type);
    struct gsh_nccl_call c = {.name = name,
                              .family = GSH_NCCL_MESSAGE,
                              .run = run,
                              .gatherer = &gsh_nccl_transfers,
                              .comm = comm,
                              .load_of = load_of,
                              .message = m};
    return gsh_nccl_submit(r, &c);
}

ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return submit(
        "ncclSend", comm,
        (struct gsh_nccl_message){
            .buffer = (void *)(uintptr_t)sendbuff, .peer = peer, .is_send = true, .stream = stream},
        count, datatype);
}

ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return submit("ncclRecv", comm,
                  (struct gsh_nccl_message){.buffer = recvbuff, .peer = peer, .stream = stream},
                  count, datatype);
}
