/* SPDX-License-Identifier: Apache-2.0
 * See check.h. */
#include "proxy/engine/check.h"

/* Far beyond every heap, and small enough that no span overflows. */
#define STRIDE_MAX (INT64_C(1) << 48)

static const char wrong_length[] = "its length is not that of its kind";
static const char outside[] = "its range is not in the heap";
static const char no_operation[] = "its operation is none, or its word not aligned";
static const char no_elements[] = "its elements are not in the heap, or too many";

static bool is_in_heap(const struct gsh_proxy *proxy, uint64_t off, uint64_t bytes)
{
    return !proxy->has_memory || gsh_proxy_is_in_heap(proxy, off, bytes);
}

static bool is_word(const struct gsh_proxy *proxy, uint64_t off, uint64_t bytes)
{
    return off % bytes == 0 && is_in_heap(proxy, off, bytes);
}

static const char *amo_fault(const struct gsh_proxy *proxy, const struct gsh_message *m)
{
    bool is_right = gsh_amo_exists(m->amo_op, m->word_bytes) && m->off % m->word_bytes == 0;
    return !is_right ? no_operation : !is_word(proxy, m->off, m->word_bytes) ? outside : NULL;
}

static const char *put_signal_fault(const struct gsh_proxy *proxy, const struct gsh_message *m,
                                    size_t bytes)
{
    bool is_right = (m->amo_op == GSH_AMO_SET || m->amo_op == GSH_AMO_ADD) && m->amo.off % 8 == 0;
    bool is_inside = is_in_heap(proxy, m->off, bytes) && is_word(proxy, m->amo.off, 8);
    return !is_right ? no_operation : !is_inside ? outside : NULL;
}

/* One message's elements; their memory, too, unless there is none yet. */
static bool are_elements(const struct gsh_proxy *proxy, const struct gsh_message *m)
{
    uint64_t size = m->strided.elem_bytes, n = m->strided.nelems, max = proxy->data_max;
    int64_t stride = n == 1 ? 1 : m->strided.stride;
    if (size == 0 || n == 0 || size > max || n > max / size || stride < 1 || stride > STRIDE_MAX) {
        return false;
    }
    return is_in_heap(proxy, m->off, ((n - 1) * (uint64_t)stride + 1) * size);
}

static const char *get_fault(const struct gsh_proxy *proxy, const struct gsh_message *m)
{
    if (m->bytes > proxy->data_max && !proxy->stage.has_chunks) {
        return GSH_STAGE_UNEQUAL;
    }
    return m->bytes == 0 || !is_in_heap(proxy, m->off, m->bytes) ? outside : NULL;
}

static bool has_data(unsigned kind)
{
    switch (kind) {
    case GSH_MESSAGE_RUNTIME:
    case GSH_MESSAGE_NOTICE:
    case GSH_MESSAGE_PUT:
    case GSH_MESSAGE_PUT_SIGNAL:
    case GSH_MESSAGE_IPUT:
    case GSH_MESSAGE_DATA:
    case GSH_MESSAGE_ELEMENTS:
    case GSH_MESSAGE_GRANT:
        return true;
    default:
        return false;
    }
}

const char *gsh_message_fault(const struct gsh_engine_peer *peer, const struct gsh_message *m,
                              size_t bytes)
{
    const struct gsh_proxy *proxy = peer->proxy;
    if (m->acks > peer->sent - peer->acked) {
        return "it acknowledges more than was sent";
    }
    if (bytes > (has_data(m->kind) ? proxy->data_max : 0) ||
        (m->kind == GSH_MESSAGE_NOTICE && bytes > GSH_PROXY_NOTICE_MAX)) {
        return wrong_length;
    }
    switch (m->kind) {
    case GSH_MESSAGE_AMO:
        return amo_fault(proxy, m);
    case GSH_MESSAGE_PUT:
        return is_in_heap(proxy, m->off, bytes) ? NULL : outside;
    case GSH_MESSAGE_PUT_SIGNAL:
        return put_signal_fault(proxy, m, bytes);
    case GSH_MESSAGE_IPUT:
        return !are_elements(proxy, m)                              ? no_elements
               : bytes != m->strided.elem_bytes * m->strided.nelems ? wrong_length
                                                                    : NULL;
    case GSH_MESSAGE_GET:
        return get_fault(proxy, m);
    case GSH_MESSAGE_IGET:
        return are_elements(proxy, m) ? NULL : no_elements;
    case GSH_MESSAGE_STAGED_PUT:
        return m->staged.bytes > 0 && is_in_heap(proxy, m->off, m->staged.bytes) ? NULL : outside;
    default:
        return NULL;
    }
}

unsigned gsh_message_answers(const struct gsh_message *m)
{
    switch (m->kind) {
    case GSH_MESSAGE_VALUE:
    case GSH_MESSAGE_DATA:
    case GSH_MESSAGE_ELEMENTS:
        return m->kind;
    case GSH_MESSAGE_STAGED_DATA:
        return GSH_MESSAGE_DATA;
    default:
        return 0;
    }
}
