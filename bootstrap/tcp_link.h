/* SPDX-License-Identifier: Apache-2.0
 * Messages over TCP between processes that are in no job together. A process opens entries; the key
 * of one is plain bytes, which the user carries to other processes and which let their holder
 * connect. All entries of a process share one listener (tcp_listener.h) and one thread that admits;
 * each admitted connection has a thread that reads.
 *
 *   connector -> entry   struct gsh_hello, as for a link of start-up: rank is the entry's number,
 *                        n_ranks the connector's own number, for the entry's use
 *   entry -> connector   struct gsh_answer: GSH_OK, or GSH_ERR_PEER where the entry has closed
 *   either               struct gsh_frame with `bytes` bytes; call counts those of its direction
 *
 * Both sides have proved the key's secret then, and each frame is tagged under a key of its link
 * and direction. */
#ifndef GSH_TCP_LINK_H
#define GSH_TCP_LINK_H

#include "bootstrap/uid_wire.h"

#define GSH_TCP_LINK_MAX_BYTES ((size_t)(256 << 10)) /* of one message */

/* What travels. */
struct gsh_tcp_link_key {
    uint8_t magic[8];
    struct gsh_address address;
    uint8_t challenge[GSH_NONCE_BYTES];
    uint8_t secret[GSH_SHA256_BYTES];
    uint32_t number; /* of the entry */
};
_Static_assert(sizeof(struct gsh_tcp_link_key) == 80, "no padding");

struct gsh_tcp_entry;
struct gsh_tcp_link;

/* Of an entry. Called by a thread of each link, so by several at a time. */
struct gsh_tcp_entry_calls {
    /* A message of 1 to GSH_TCP_LINK_MAX_BYTES bytes; may send through the link. False: it is none
     * that this entry takes, and the link ends. */
    bool (*receive)(void *context, struct gsh_tcp_link *link, const void *data, size_t bytes);
    /* The last call for this link, if it had begun: the connector has closed it, or died. */
    void (*lost)(void *context, struct gsh_tcp_link *link);
};

/* Any thread. ifname, family: where the process listens, as in netif.h; the first entry's count.
 * Failures have a text. */
GSH_CHECK_RESULT enum gsh_result gsh_tcp_entry_open(const char *ifname, const char *family,
                                                    const struct gsh_tcp_entry_calls *calls,
                                                    void *context, struct gsh_tcp_entry **out,
                                                    struct gsh_tcp_link_key *key);
/* Ends its links and waits for their calls; not within one. Accepts NULL. */
void gsh_tcp_entry_close(struct gsh_tcp_entry **entry);

/* key: from anywhere. GSH_ERR_ARG: it is none. GSH_ERR_PEER: the entry has closed, or its process
 * is gone. Failures are kept by gsh_note. */
GSH_CHECK_RESULT enum gsh_result gsh_tcp_link_connect(const struct gsh_tcp_link_key *key,
                                                      uint32_t from, uint64_t timeout_ns,
                                                      struct gsh_tcp_link **out);
/* Accepts NULL. For the connector only. */
void gsh_tcp_link_close(struct gsh_tcp_link **link);

/* A word of the caller's, NULL at first. Of an entry's link: for its calls. */
void **gsh_tcp_link_own(struct gsh_tcp_link *link);
/* Keys that both ends make of their link's, and nobody else can: for what this end sends another
 * way, and for what it receives there. use: what for, a few letters. */
void gsh_tcp_link_derive(const struct gsh_tcp_link *link, const char *use,
                         uint8_t send_key[GSH_SIPHASH_KEY_BYTES],
                         uint8_t receive_key[GSH_SIPHASH_KEY_BYTES]);

/* What the connector gave. */
uint32_t gsh_tcp_link_from(const struct gsh_tcp_link *link);
/* Sends head and data as one message. Any thread; messages of several do not mix. After a failure
 * the link is lost. GSH_ERR_PEER, GSH_ERR_TIMEOUT, without a text. */
GSH_CHECK_RESULT enum gsh_result gsh_tcp_link_send(struct gsh_tcp_link *link, const void *head,
                                                   size_t head_bytes, const void *data,
                                                   size_t bytes, uint64_t timeout_ns);
/* For the connector, one thread at a time: the entry's next message, of at most `room` bytes.
 * GSH_ERR_TIMEOUT: nothing of it has come, unless the link is lost. */
GSH_CHECK_RESULT enum gsh_result gsh_tcp_link_receive(struct gsh_tcp_link *link, void *data,
                                                      size_t room, size_t *bytes,
                                                      uint64_t timeout_ns);
/* Whether receive would find a message, or that the other side has gone, without waiting for its
 * beginning. Any thread. */
bool gsh_tcp_link_has_message(const struct gsh_tcp_link *link);
/* Whether the other side is known to have gone, or a call has failed. Any thread. */
bool gsh_tcp_link_is_lost(struct gsh_tcp_link *link);

/* Of an entry's link, by any thread: the connector is to know, and `lost` will be called. */
void gsh_tcp_link_hang_up(struct gsh_tcp_link *link);

/* The parser of what travels outside connections. */
bool gsh_tcp_link_is_key(const void *data, size_t bytes, struct gsh_tcp_link_key *out);

#endif
