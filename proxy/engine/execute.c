/* SPDX-License-Identifier: Apache-2.0
 * See execute.h. */
#include "proxy/engine/execute.h"

#include "base/util.h"
#include "proxy/engine/failure.h"
#include "proxy/engine/memory.h"
#include "proxy/engine/task.h"

/* Elements of this PE's strided copies are packed here. */
#define PACK_BYTES 4096

static bool copy_here(struct gsh_proxy *proxy, void *dest, const void *source, uint64_t bytes)
{
    uint8_t packed[PACK_BYTES];
    if (proxy->memory.is_host) {
        return gsh_memory_in(proxy, dest, source, bytes);
    }
    for (uint64_t at = 0; at < bytes; at += sizeof(packed)) {
        uint64_t n = gsh_min_u64(bytes - at, sizeof(packed));
        if (!gsh_memory_out(proxy, packed, (const uint8_t *)source + at, n) ||
            !gsh_memory_in(proxy, (uint8_t *)dest + at, packed, n)) {
            return false;
        }
    }
    return true;
}

static bool put_here(struct gsh_proxy *proxy, void *here, const struct gsh_request *q)
{
    if (gsh_request_is_inline(q)) {
        return gsh_memory_in(proxy, here, q->inline_data, q->bytes);
    }
    return copy_here(proxy, here, q->local, q->bytes);
}

static bool copy_strided_here(struct gsh_proxy *proxy, uint8_t *dest, int64_t dst,
                              const uint8_t *source, int64_t sst, uint64_t size, uint64_t nelems)
{
    uint8_t packed[PACK_BYTES];
    uint64_t n;
    for (uint64_t at = 0; at < nelems; at += n) {
        n = gsh_min_u64(nelems - at, sizeof(packed) / size);
        if (!gsh_memory_gather(proxy, packed, source + (int64_t)at * sst * (int64_t)size, sst, size,
                               n) ||
            !gsh_memory_scatter(proxy, dest + (int64_t)at * dst * (int64_t)size, dst, packed, size,
                                n)) {
            return false;
        }
    }
    return true;
}

static bool execute(struct gsh_proxy *proxy, struct gsh_request *q)
{
    uint8_t *here = proxy->heap_base + q->remote_off;
    uint64_t old = 0;
    switch (q->op) {
    case GSH_FAR_PUT:
    case GSH_FAR_P:
        return put_here(proxy, here, q);
    case GSH_FAR_GET:
        return copy_here(proxy, q->local, here, q->bytes);
    case GSH_FAR_G:
        return gsh_memory_out(proxy, &q->value, here, q->word_bytes);
    case GSH_FAR_AMO:
        return gsh_memory_amo(proxy, q->amo_op, here, q->word_bytes, q->operand, q->cond,
                              &q->value);
    case GSH_FAR_IPUT:
        return copy_strided_here(proxy, here, q->remote_stride, q->local, q->local_stride,
                                 q->elem_bytes, q->nelems);
    case GSH_FAR_IGET:
        return copy_strided_here(proxy, q->local, q->local_stride, here, q->remote_stride,
                                 q->elem_bytes, q->nelems);
    case GSH_FAR_PUT_SIGNAL:
        return put_here(proxy, here, q) &&
               gsh_memory_amo(proxy, gsh_amo_of_signal(q->sig_op), proxy->heap_base + q->sig_off, 8,
                              q->signal, 0, &old);
    default:
        return false;
    }
}

void gsh_task_execute(struct gsh_task *task)
{
    if (execute(task->proxy, &task->request)) {
        gsh_task_done(task);
    } else {
        gsh_task_fail(task, GSH_ERR_BUG, NULL);
    }
}
