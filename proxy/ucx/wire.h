/* SPDX-License-Identifier: Apache-2.0
 * Messages on the wire, and how the receiver knows that a PE of its job has sent one. UCX listens
 * on ports that anybody on the network may reach, so what arrives may come from a stranger.
 *
 * Each message carries a tag: SipHash under the job's key of what precedes the tag on the wire, the
 * receiver, the number of data bytes, the header, and the data if they are short; or under the keys
 * of a pair, one for each direction, with the numbers that the two have for each other. A message
 * with another tag is dropped and changes nothing. So is one that has been here before: messages
 * with a sequence are carried out in its order, each once; each of the others has a number of its
 * own, and a window remembers which were seen.
 *
 * The tag keeps strangers from injecting, replaying, reflecting and cutting off messages. It does
 * not hide anything, and it does not protect long data from somebody who can change the packets of
 * the job itself; nor UCX's own messages below ours. */
#ifndef GSH_UCX_WIRE_H
#define GSH_UCX_WIRE_H

#include "base/siphash.h"
#include "proxy/ucx/ucx.h"

enum { GSH_UCX_ID_PACKED, GSH_UCX_ID_SPLIT }; /* all in the data; our header as UCX's */

/* The kinds from PING on have no header or data; their sequence is the number of their own. */
enum gsh_ucx_kind {
    GSH_UCX_DATA,
    /* carry.c's, with a struct gsh_ucx_range as header: */
    GSH_UCX_PUT,
    GSH_UCX_GET,
    GSH_UCX_GOT,
    GSH_UCX_FLUSH,
    GSH_UCX_FLUSHED,
    GSH_UCX_PING,
    GSH_UCX_PONG,
    GSH_UCX_BYE,
    GSH_UCX_BYE_ANSWER,
    GSH_UCX_KINDS
};

/* What precedes every message. */
struct gsh_ucx_wire {
    uint32_t from_pe;
    uint16_t header_bytes;
    uint8_t kind; /* enum gsh_ucx_kind */
    uint8_t reserved;
    uint64_t sequence;
    uint64_t tag;
};
_Static_assert(sizeof(struct gsh_ucx_wire) == 24, "gsh_ucx_wire is wire");

/* Data up to here are under the tag. They are always packed, so the sender's copy is what is sent
 * even if a PE changes their source meanwhile. */
#define GSH_UCX_TAGGED_MAX 256
_Static_assert(sizeof(struct gsh_ucx_wire) + GSH_TRANSPORT_HEADER_MAX + GSH_UCX_TAGGED_MAX <=
                   GSH_UCX_PACKED_MAX,
               "fits");

/* wire->tag is not looked at. header: at most GSH_TRANSPORT_HEADER_MAX bytes; data: read only up to
 * GSH_UCX_TAGGED_MAX bytes. */
static inline uint64_t gsh_ucx_tag(const uint8_t key[GSH_SIPHASH_KEY_BYTES], int to_pe,
                                   const struct gsh_ucx_wire *wire, const void *header,
                                   const void *data, size_t bytes)
{
    uint8_t text[sizeof(*wire) + GSH_TRANSPORT_HEADER_MAX + GSH_UCX_TAGGED_MAX];
    struct gsh_ucx_wire head = *wire;
    size_t n = sizeof(head);
    head.tag = (uint64_t)(uint32_t)to_pe << 32 | (uint32_t)bytes; /* in the tag's place */
    memcpy(text, &head, sizeof(head));
    if (wire->header_bytes > 0) {
        memcpy(text + n, header, wire->header_bytes);
        n += wire->header_bytes;
    }
    if (bytes > 0 && bytes <= GSH_UCX_TAGGED_MAX) {
        memcpy(text + n, data, bytes);
        n += bytes;
    }
    return gsh_siphash(key, text, n);
}

/* By which the peer knows this process: its PE, or its number in the pair. */
static inline uint32_t gsh_ucx_own_number(const struct gsh_ucx_peer *peer)
{
    return peer->pairing != NULL ? peer->pairing->as : (uint32_t)peer->ucx->base.options.my_pe;
}

static inline const uint8_t *gsh_ucx_send_key(const struct gsh_ucx_peer *peer)
{
    return peer->pairing != NULL ? peer->pairing->send_key : peer->ucx->base.options.key;
}

/* The tag of a message that says that it is from a peer with this number. */
static inline uint64_t gsh_ucx_tag_of(const struct gsh_ucx *u, const struct gsh_ucx_wire *wire,
                                      const void *header, const void *data, size_t bytes)
{
    const struct gsh_ucx_peer *from = u->peers[wire->from_pe];
    if (from != NULL && from->pairing != NULL) {
        return gsh_ucx_tag(from->pairing->receive_key, (int)from->pairing->as, wire, header, data,
                           bytes);
    }
    return gsh_ucx_tag(u->base.options.key, u->base.options.my_pe, wire, header, data, bytes);
}

/* Whether this is the number's first arrival; numbers begin at 1. Those that are more than 64
 * before the newest are too late. */
static inline bool gsh_ucx_is_first(struct gsh_ucx_window *window, uint64_t number)
{
    if (number > window->newest) {
        uint64_t by = number - window->newest;
        window->seen = (by < 64 ? window->seen << by : 0) | 1;
        window->newest = number;
        return true;
    }
    uint64_t back = window->newest - number;
    if (number == 0 || back >= 64 || (window->seen >> back & 1) != 0) {
        return false;
    }
    window->seen |= UINT64_C(1) << back;
    return true;
}

#endif
