/* SPDX-License-Identifier: Apache-2.0
 * Messages over UCX between processes that are in no job together. A process has one transport for
 * all of them, which the first call opens, and a thread that drives it. Two processes that have
 * something to tell each other are a pair, with keys of its own; any number of links share it.
 *
 * What makes a pair and its links travels by another way, which the caller has, and which has
 * authenticated both: each side's numbers for the pair and the link, its address, and the keys. A
 * link's messages arrive whole and in order.
 * What has been sent and not been received is bounded by a window: a sender waits for its receiver.
 *
 *   either -> other   struct gsh_pair_piece as header: DATA with a piece of a message; TAKEN; HELLO
 *                     and its answer; CLOSE behind the last message, and its answer
 *
 * Any thread may call any of these. Failures are kept by gsh_note, unless no text is promised. */
#ifndef GSH_PAIRS_H
#define GSH_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"

#define GSH_PAIR_MESSAGE_MAX ((size_t)(256 << 10)) /* bytes of head and data */
#define GSH_PAIR_HEAD_MAX    ((size_t)64)
#define GSH_PAIR_ADDRESS_MAX ((size_t)(32 << 10))
#define GSH_PAIR_ID_BYTES    16

struct gsh_pairs_options {
    const char *plugin;  /* file name of the UCX plug-in */
    uint64_t timeout_ns; /* how long to wait for a process that does not answer */
    uint64_t spin_ns;    /* how long the thread polls before it sleeps */
};

struct gsh_pair_link;

/* Opens UCX, once in a process; the options of the first call count. GSH_ERR_UNSUPPORTED: it cannot
 * be had, now and later. *address stays as it is. */
GSH_CHECK_RESULT enum gsh_result gsh_pairs_open(const struct gsh_pairs_options *options,
                                                const void **address, size_t *bytes);

/* A pair that this process has begun with the process of that id, and that has not been lost, and
 * the number that its other side has for this process; 0: none. */
uint32_t gsh_pair_find(const uint8_t id[GSH_PAIR_ID_BYTES], uint32_t *as);
/* Whether the other side of this pair, which it has begun, has that number for this process. */
bool gsh_pair_is_begun_by(uint32_t pair, uint32_t as);
/* A number for a new pair. */
GSH_CHECK_RESULT enum gsh_result gsh_pair_reserve(uint32_t *pair);
/* It is one now. as: the other side's number for this process. id: NULL: the other side began it.
 * address: from anywhere, up to GSH_PAIR_ADDRESS_MAX. */
GSH_CHECK_RESULT enum gsh_result gsh_pair_set(uint32_t pair, uint32_t as,
                                              const uint8_t id[GSH_PAIR_ID_BYTES],
                                              const uint8_t send_key[16],
                                              const uint8_t receive_key[16], const void *address,
                                              size_t bytes);

/* A link, and its number. is_lost: NULL, or whether the other way knows that the other process has
 * gone; called now and then by threads that wait. */
GSH_CHECK_RESULT enum gsh_result gsh_pair_link_create(bool (*is_lost)(void *context), void *context,
                                                      struct gsh_pair_link **link,
                                                      uint64_t *number);
/* Its pair, and its number there. */
void gsh_pair_link_bind(struct gsh_pair_link *link, uint32_t pair, uint64_t number_there);
/* Returns once the other side has answered over UCX. */
GSH_CHECK_RESULT enum gsh_result gsh_pair_link_greet(struct gsh_pair_link *link,
                                                     uint64_t timeout_ns);
/* As gsh_tcp_link_send: one message of head and data, which may be reused when this returns.
 * GSH_ERR_PEER, GSH_ERR_TIMEOUT, without a text. */
GSH_CHECK_RESULT enum gsh_result gsh_pair_link_send(struct gsh_pair_link *link, const void *head,
                                                    size_t head_bytes, const void *data,
                                                    size_t bytes, uint64_t timeout_ns);
/* One thread at a time: the next message, of at most `room` bytes. GSH_ERR_PEER: none will come.
 * timeout_ns 0: none. Without a text. */
GSH_CHECK_RESULT enum gsh_result gsh_pair_link_receive(struct gsh_pair_link *link, void *data,
                                                       size_t room, size_t *bytes,
                                                       uint64_t timeout_ns);
/* Whether a message is there, or none will come. */
bool gsh_pair_link_has_message(struct gsh_pair_link *link);
/* The other side has gone, by the caller's knowledge: messages that are there can be received. */
void gsh_pair_link_lose(struct gsh_pair_link *link);
bool gsh_pair_link_is_lost(struct gsh_pair_link *link);
/* Why its pair was lost, for texts: "" if it was not. */
const char *gsh_pair_link_reason(struct gsh_pair_link *link, char text[256]);
/* Nothing will be sent any more. Waits until all that was has been received, at most so long,
 * unless the link is lost. */
void gsh_pair_link_finish(struct gsh_pair_link *link, uint64_t timeout_ns);
/* No other call is under way. Accepts NULL. */
void gsh_pair_link_destroy(struct gsh_pair_link **link);

/* Of a message's header, from anywhere. */
enum gsh_pair_kind {
    GSH_PAIR_DATA = 0x70616901, /* value: bytes of the whole message; at: where the piece begins */
    GSH_PAIR_TAKEN,             /* value: bytes received, of all messages */
    GSH_PAIR_HELLO,
    GSH_PAIR_HELLO_ANSWER,
    GSH_PAIR_CLOSE,
    GSH_PAIR_CLOSE_ANSWER
};
struct gsh_pair_piece {
    uint32_t kind, at;
    uint64_t link; /* the receiver's number */
    uint64_t value;
};
_Static_assert(sizeof(struct gsh_pair_piece) == 24, "no padding");

#endif
