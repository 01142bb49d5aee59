/* SPDX-License-Identifier: Apache-2.0
 * See post.h. */
#include "proxy/ucx/post.h"

#include <string.h>

#include "proxy/ucx/call.h"

static ucs_status_ptr_t post(struct gsh_ucx_peer *peer, struct gsh_ucx_message *m,
                             size_t packed_bytes, const void *data, size_t bytes)
{
    ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb = {.send = gsh_ucx_sent},
        .user_data = m,
    };
    if (peer->ep == NULL) {
        return UCS_STATUS_PTR(UCS_ERR_CANCELED);
    }
    if (bytes > 0) {
        return ucp_am_send_nbx(peer->ep, GSH_UCX_ID_SPLIT, m->packed, packed_bytes, data, bytes,
                               &param);
    }
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    return ucp_am_send_nbx(peer->ep, GSH_UCX_ID_PACKED, NULL, 0, m->packed, packed_bytes, &param);
}

static uint8_t *append(uint8_t *to, const void *from, size_t bytes)
{
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
    return to + bytes;
}

bool gsh_ucx_send_as(struct gsh_ucx_call *call, enum gsh_ucx_kind kind, const void *header,
                     size_t header_bytes, const void *data, size_t bytes)
{
    struct gsh_ucx_message *m = (struct gsh_ucx_message *)call;
    struct gsh_ucx_peer *peer = call->peer;
    struct gsh_ucx_wire wire = {.from_pe = gsh_ucx_own_number(peer),
                                .header_bytes = (uint16_t)header_bytes,
                                .kind = (uint8_t)kind,
                                .sequence = peer->send_sequence++};
    const size_t all_bytes = bytes;
    uint8_t *packed_header = m->packed + sizeof(wire);
    uint8_t *packed_data = append(packed_header, header, header_bytes), *end = packed_data;
    if (bytes <= (size_t)(m->packed + sizeof(m->packed) - end)) {
        end = append(end, data, bytes);
        bytes = 0;
    }
    wire.tag =
        gsh_ucx_tag(gsh_ucx_send_key(peer), peer->pe, &wire, packed_header, packed_data, all_bytes);
    memcpy(m->packed, &wire, sizeof(wire));
    return gsh_ucx_posted(call, post(peer, m, (size_t)(end - m->packed), data, bytes));
}

void gsh_ucx_tell(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind)
{
    struct gsh_ucx *u = peer->ucx;
    struct gsh_ucx_wire wire = {.from_pe = gsh_ucx_own_number(peer), .kind = (uint8_t)kind};
    if (peer->ep == NULL || gsh_ucx_reserve_one(u, &u->messages) != GSH_OK) {
        return;
    }
    struct gsh_ucx_message *m = (struct gsh_ucx_message *)gsh_ucx_begin(&u->messages, peer, NULL);
    wire.sequence = ++peer->n_controls;
    wire.tag = gsh_ucx_tag(gsh_ucx_send_key(peer), peer->pe, &wire, NULL, NULL, 0);
    memcpy(m->packed, &wire, sizeof(wire));
    (void)gsh_ucx_posted(&m->call, post(peer, m, sizeof(wire), NULL, 0));
}
