/* SPDX-License-Identifier: Apache-2.0
 * See memory.h. */
#include "proxy/engine/memory.h"

#include "base/copy.h"
#include "proxy/engine/failure.h"

static bool is_ok(struct gsh_proxy *proxy, enum gsh_result r, const char *operation)
{
    if (r != GSH_OK) {
        gsh_engine_fail(proxy, proxy->options.my_pe, r, operation, gsh_last_error());
    }
    return r == GSH_OK;
}

static bool has_memory(struct gsh_proxy *proxy)
{
    if (!proxy->has_memory) {
        gsh_engine_fail(proxy, proxy->options.my_pe, GSH_ERR_STATE, "a request",
                        "the request arrived before device set-up");
    }
    return proxy->has_memory;
}

bool gsh_memory_in(struct gsh_proxy *proxy, void *heap_dest, const void *source, size_t bytes)
{
    const struct gsh_proxy_memory *m = &proxy->memory;
    if (bytes == 0) {
        return true;
    }
    if (!has_memory(proxy)) {
        return false;
    }
    if (!m->is_host) {
        return is_ok(proxy, m->copy_in(m->context, heap_dest, source, bytes), "a copy to memory");
    }
    gsh_copy_to_shared(heap_dest, source, bytes);
    return true;
}

bool gsh_memory_out(struct gsh_proxy *proxy, void *dest, const void *heap_source, size_t bytes)
{
    const struct gsh_proxy_memory *m = &proxy->memory;
    if (bytes == 0) {
        return true;
    }
    if (!has_memory(proxy)) {
        return false;
    }
    if (!m->is_host) {
        return is_ok(proxy, m->copy_out(m->context, dest, heap_source, bytes),
                     "a copy from memory");
    }
    gsh_copy_from_shared(dest, heap_source, bytes);
    return true;
}

bool gsh_memory_scatter(struct gsh_proxy *proxy, void *heap_dest, int64_t stride,
                        const void *packed, uint64_t elem_bytes, uint64_t nelems)
{
    uint8_t *dest = heap_dest;
    const uint8_t *source = packed;
    if (stride == 1 || nelems == 1) {
        return gsh_memory_in(proxy, dest, source, elem_bytes * nelems);
    }
    for (uint64_t i = 0; i < nelems; i++) {
        if (!gsh_memory_in(proxy, dest, source, elem_bytes)) {
            return false;
        }
        dest += stride * (int64_t)elem_bytes;
        source += elem_bytes;
    }
    return true;
}

bool gsh_memory_gather(struct gsh_proxy *proxy, void *packed, const void *heap_source,
                       int64_t stride, uint64_t elem_bytes, uint64_t nelems)
{
    uint8_t *dest = packed;
    const uint8_t *source = heap_source;
    if (stride == 1 || nelems == 1) {
        return gsh_memory_out(proxy, dest, source, elem_bytes * nelems);
    }
    for (uint64_t i = 0; i < nelems; i++) {
        if (!gsh_memory_out(proxy, dest, source, elem_bytes)) {
            return false;
        }
        dest += elem_bytes;
        source += stride * (int64_t)elem_bytes;
    }
    return true;
}

bool gsh_memory_amo(struct gsh_proxy *proxy, int amo_op, void *address, size_t word_bytes,
                    uint64_t operand, uint64_t cond, uint64_t *old)
{
    const struct gsh_proxy_memory *m = &proxy->memory;
    return has_memory(proxy) &&
           is_ok(proxy, m->amo(m->context, amo_op, address, word_bytes, operand, cond, old),
                 "an atomic operation");
}
