/* SPDX-License-Identifier: Apache-2.0
 * Messages to other proxies, the acknowledgements that go with them, and answers. */
#ifndef GSH_OUTBOX_H
#define GSH_OUTBOX_H

#include "proxy/engine/messages.h"
#include "proxy/engine/state.h"

/* A message on its way out. */
struct gsh_out {
    struct gsh_op op;
    struct gsh_proxy *proxy;
    struct gsh_out *next;  /* in a free list */
    struct gsh_task *task; /* done when the message is sent, or NULL */
    int pe;
    bool is_large;
    uint64_t begun_ns, bytes; /* observe.h; bytes: of its data */
    struct gsh_message header;
    uint8_t data[]; /* GSH_REQUEST_INLINE_MAX bytes; large: as many as a message takes */
};

/* The pools of messages; proxy->data_max is set. */
void gsh_outbox_init(struct gsh_proxy *proxy);
/* NULL: too many are under way; try again later. An answer or ack always gets one, or the proxy
 * fails. */
struct gsh_out *gsh_out_take(struct gsh_proxy *proxy, bool is_large, bool is_answer);
/* Sends header and data; out then returns to its pool. data: out->data, or memory that stays valid
 * until out->task is done. */
void gsh_out_send(struct gsh_engine_peer *peer, struct gsh_out *out, const void *data,
                  size_t bytes);
/* For an answer to the peer's message. NULL: the proxy has failed. */
struct gsh_out *gsh_out_take_answer(struct gsh_engine_peer *peer, const struct gsh_message *m,
                                    enum gsh_message_kind kind, bool is_large);
/* The answer to a fetching AMO. */
void gsh_out_answer_value(struct gsh_engine_peer *peer, const struct gsh_message *m, uint64_t old);
/* One more message of the peer has been carried out. */
void gsh_out_count_to_ack(struct gsh_engine_peer *peer);
/* Tells every peer how many of its messages have been carried out. */
void gsh_out_send_acks(struct gsh_proxy *proxy);

#endif
