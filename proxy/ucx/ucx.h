/* SPDX-License-Identifier: Apache-2.0
 * Inside the UCX plug-in: one transport, its peers, and the requests that UCX has not finished yet.
 * One UCX context and worker per PE. Everything here runs under the proxy's lock.
 *
 * A peer goes UNUSED -> USED -> (BROKEN ->) LOST or, when it takes leave in good order, LEFT.
 * Nothing is reported where an error is found, which may be deep inside a call of UCX: the peer
 * becomes BROKEN, and the next progress() tells `lost` and then ends its operations. */
#ifndef GSH_UCX_H
#define GSH_UCX_H

#include <ucp/api/ucp.h>

#include "proxy/transport.h"
#include "proxy/ucx/plugin.h"

#define GSH_UCX_MESSAGE_MAX \
    (8192 - 256)                /* with UCX's headers one fragment on TCP and shared memory */
#define GSH_UCX_PACKED_MAX 1024 /* messages up to here are sent as one piece */
#define GSH_UCX_PIECE      (UINT64_C(4) << 20) /* longer puts and gets show signs of life */

enum gsh_ucx_state {
    GSH_UCX_UNUSED,
    GSH_UCX_USED,   /* has an endpoint */
    GSH_UCX_BROKEN, /* an error was seen; its reason is kept, `lost` not told yet */
    GSH_UCX_LOST,
    GSH_UCX_LEFT, /* said so itself; what fails from now on is no news */
};

/* Doubly linked ring of struct gsh_ucx_call; the head is one without a call. */
struct gsh_ucx_link {
    struct gsh_ucx_link *next, *prev;
};

/* Records of one size; given back to the system only with the transport. */
struct gsh_ucx_pool {
    size_t record_bytes;
    struct gsh_ucx_call *free; /* chained by link.next */
    struct gsh_ucx_slab *slabs;
};

/* One request of UCX. It outlives the operation when UCX is slow to give it back. */
struct gsh_ucx_call {
    struct gsh_ucx_link link; /* in peer->calls */
    struct gsh_ucx_pool *pool;
    struct gsh_ucx_peer *peer;
    struct gsh_op *op; /* NULL: nobody waits */
    bool is_flush;
    bool is_piece;    /* of carry.c */
    bool is_with_ucx; /* its callback will come; else the peer's answer, or its end */
    uint8_t *dest;    /* of a get by messages, and the bytes that have not come */
    uint64_t left;
};

/* For messages: UCX may still read this after the call that sent it. */
struct gsh_ucx_message {
    struct gsh_ucx_call call;
    uint8_t packed[GSH_UCX_PACKED_MAX];
};

/* A region of a peer. */
struct gsh_ucx_remote {
    uint64_t off, bytes;
    uint64_t address; /* there */
    ucp_rkey_h rkey;  /* NULL until the first use */
    void *key;        /* as it came: packed by UCX */
};

/* A region of this PE. */
struct gsh_ucx_region {
    uint64_t off, bytes;
    uint8_t *memory;
    ucp_mem_h memh;
    void *key;
};

/* A message that came before its turn. */
struct gsh_ucx_early {
    struct gsh_ucx_early *next; /* by sequence number */
    uint64_t sequence;
    uint8_t kind;
    size_t header_bytes, bytes;
    _Alignas(max_align_t) uint8_t content[]; /* header, then data */
};

struct gsh_ucx_peer {
    struct gsh_ucx *ucx;
    int pe;
    enum gsh_ucx_state state;
    bool is_heard;        /* since the last tick */
    unsigned quiet_ticks; /* without a sign of life */
    bool is_bye_answered;
    ucp_ep_h ep; /* NULL: none */
    void *address;
    size_t used_index; /* in ucx->used */

    struct gsh_ucx_remote *remotes; /* by off */
    size_t n_remotes, remotes_room, last_remote;
    bool is_unflushed; /* put to since the last flush was posted */
    unsigned n_flushes;
    struct gsh_ucx_link calls;

    uint64_t send_sequence, receive_sequence; /* of the next message */
    struct gsh_ucx_early *early;

    bool is_carried; /* its memory is reached by messages only: carry.c */
    bool is_carrying;
    unsigned n_pieces; /* with UCX */
    struct gsh_ucx_transfer *transfers, **transfers_end;
    struct gsh_ucx_peer *next_carrying;

    struct gsh_ucx_peer *next_broken;
    char reason[256];
};

struct gsh_ucx {
    struct gsh_transport base;
    const struct gsh_ucx_core *core;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;

    struct gsh_ucx_peer **peers; /* [n_pes], made when first heard of */
    struct gsh_ucx_peer **used;  /* those with an endpoint */
    size_t n_used, used_room;
    struct gsh_ucx_peer *broken;
    struct gsh_ucx_peer *carrying; /* those that may have transfers */

    struct gsh_ucx_region *regions;
    size_t n_regions, regions_room;

    struct gsh_ucx_pool calls, messages;

    int event_fd; /* both of the next */
    int timer_fd;
    uint64_t tick_ns, next_tick_ns; /* tick_ns 0: nobody is watched */
    size_t tick_cursor;
    unsigned turn;
    bool is_clock_due;
    bool is_in_progress, is_leaving;
    bool has_lost;   /* a peer with an endpoint */
    char lanes[256]; /* the newest that was logged */
};

/* ---- endpoint.c: peers, their endpoints, and their loss ---- */

/* pe's record, made when there is none; NULL: out of memory, or pe is no PE. */
struct gsh_ucx_peer *gsh_ucx_peer(struct gsh_ucx *u, int pe);
/* The peer, ready to be sent to. GSH_ERR_PEER: lost, and told. GSH_OK with a NULL ep: broken. */
GSH_CHECK_RESULT enum gsh_result gsh_ucx_use(struct gsh_ucx *u, int pe, struct gsh_ucx_peer **out);
/* The peer cannot be used any more; told at the end of progress(). May be called from anywhere. */
void gsh_ucx_break(struct gsh_ucx_peer *peer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For the reason that UCX gives. */
void gsh_ucx_break_for(struct gsh_ucx_peer *peer, ucs_status_t status);
/* Tells and buries the broken ones. */
void gsh_ucx_bury(struct gsh_ucx *u);
void gsh_ucx_free_peers(struct gsh_ucx *u);
enum gsh_result gsh_ucx_set_peer(struct gsh_transport *t, int pe, const void *blob, size_t bytes);

/* What the user has said about networks, for reports: "" or ", with UCX_TLS=..." */
#define GSH_UCX_SETTINGS_MAX 192
const char *gsh_ucx_settings(char text[GSH_UCX_SETTINGS_MAX]);

/* ---- call.c: requests of UCX ---- */

/* n records can be taken. */
GSH_CHECK_RESULT enum gsh_result gsh_ucx_reserve(struct gsh_ucx *u, struct gsh_ucx_pool *pool,
                                                 size_t n);
static inline enum gsh_result gsh_ucx_reserve_one(struct gsh_ucx *u, struct gsh_ucx_pool *pool)
{
    return pool->free ? GSH_OK : gsh_ucx_reserve(u, pool, 1);
}
/* One of the reserved ones. */
struct gsh_ucx_call *gsh_ucx_begin(struct gsh_ucx_pool *pool, struct gsh_ucx_peer *peer,
                                   struct gsh_op *op);
/* It ends by the peer's answer. */
void gsh_ucx_await(struct gsh_ucx_call *call);
/* The answer came: the operation is told. */
void gsh_ucx_end_call(struct gsh_ucx_call *call);
/* Takes what UCX answered to it; whether it is pending. The call may be gone. */
bool gsh_ucx_posted(struct gsh_ucx_call *call, ucs_status_ptr_t answer);
/* For struct ucp_request_param_t, with the call as user data. */
void gsh_ucx_sent(void *request, ucs_status_t status, void *call);
/* Ends all of a lost peer's operations. */
void gsh_ucx_end_calls(struct gsh_ucx_peer *peer);
void gsh_ucx_free_pool(struct gsh_ucx_pool *pool);

/* An operation of n calls, of which the last one to end calls done. */
void gsh_ucx_op_start(struct gsh_op *op, size_t n);
/* That many of them ended at once; whether any is left. */
bool gsh_ucx_op_posted(struct gsh_op *op, size_t n_complete);
/* That many ended later, or never began: the last calls done. */
void gsh_ucx_op_end(struct gsh_op *op, size_t n, enum gsh_result r);

/* ---- region.c ---- */

enum gsh_result gsh_ucx_add_region(struct gsh_transport *t, void *memory, uint64_t off,
                                   uint64_t bytes, const void **key, size_t *key_bytes);
enum gsh_result gsh_ucx_make_region(struct gsh_transport *t, uint64_t off, uint64_t bytes,
                                    void **memory, const void **key, size_t *key_bytes);
enum gsh_result gsh_ucx_remove_region(struct gsh_transport *t, uint64_t off);
enum gsh_result gsh_ucx_add_peer_region(struct gsh_transport *t, int pe, uint64_t off,
                                        uint64_t bytes, const void *key, size_t key_bytes);
enum gsh_result gsh_ucx_remove_peer_region(struct gsh_transport *t, int pe, uint64_t off);
void *gsh_ucx_map_peer_region(struct gsh_transport *t, int pe, uint64_t off);
/* The region of peer that holds off; NULL: none. */
struct gsh_ucx_remote *gsh_ucx_search_remote(struct gsh_ucx_peer *peer, uint64_t off);
static inline struct gsh_ucx_remote *gsh_ucx_find_remote(struct gsh_ucx_peer *peer, uint64_t off)
{
    size_t i = peer->last_remote; /* most often it is this one again */
    if (i < peer->n_remotes && off >= peer->remotes[i].off &&
        off - peer->remotes[i].off < peer->remotes[i].bytes)
        return &peer->remotes[i];
    return gsh_ucx_search_remote(peer, off);
}
/* Whether all of [off, off + bytes) is in regions of peer; if not, that is an error. */
GSH_CHECK_RESULT enum gsh_result gsh_ucx_check_remote(struct gsh_ucx_peer *peer, uint64_t off,
                                                      uint64_t bytes);
/* This PE's memory at off, and how much of it there is in one piece; NULL: none. */
uint8_t *gsh_ucx_find_own(const struct gsh_ucx *u, uint64_t off, uint64_t *bytes);
void gsh_ucx_free_remotes(struct gsh_ucx_peer *peer);
void gsh_ucx_free_regions(struct gsh_ucx *u);

/* ---- rma.c ---- */

/* remote->rkey is there; false: the peer is broken. */
bool gsh_ucx_open_key(struct gsh_ucx_peer *peer, struct gsh_ucx_remote *remote);
/* For an operation to a peer that is broken: ends in the next progress, when the loss has been
 * told. */
GSH_CHECK_RESULT enum gsh_result gsh_ucx_post_to_broken(struct gsh_ucx_peer *peer,
                                                        struct gsh_op *op, bool *is_pending);

enum gsh_result gsh_ucx_put(struct gsh_transport *t, int pe, uint64_t off, const void *source,
                            uint64_t bytes, struct gsh_op *op, bool *is_pending);
enum gsh_result gsh_ucx_get(struct gsh_transport *t, int pe, uint64_t off, void *dest,
                            uint64_t bytes, struct gsh_op *op, bool *is_pending);
enum gsh_result gsh_ucx_flush(struct gsh_transport *t, int pe, struct gsh_op *op, bool *is_pending);

/* ---- message.c ---- */

/* What stands before every message. The kinds from PING on have no sequence, header or data. */
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
    GSH_UCX_BYE_ANSWER
};

GSH_CHECK_RESULT enum gsh_result gsh_ucx_listen(struct gsh_ucx *u);
enum gsh_result gsh_ucx_send(struct gsh_transport *t, int pe, const void *header,
                             size_t header_bytes, const void *data, size_t bytes, struct gsh_op *op,
                             bool *is_pending);
/* A message of a kind with a sequence to a peer with an endpoint, by a call that gsh_ucx_begin has
 * taken from u->messages. Whether it is pending; data stay until it is not. */
bool gsh_ucx_send_as(struct gsh_ucx_call *call, enum gsh_ucx_kind kind, const void *header,
                     size_t header_bytes, const void *data, size_t bytes);
/* Nothing happens when it cannot be sent: the peer is broken then. */
void gsh_ucx_tell(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind);
void gsh_ucx_free_early(struct gsh_ucx_peer *peer);

/* ---- carry.c: put, get and flush as messages, to peers that are reached by no other way ----
 */

struct gsh_ucx_range {
    uint64_t off, bytes; /* GOT: from where in the get's dest; FLUSH: nothing */
    uint64_t token;      /* of the asker; comes back in the answer */
};

/* lanes: the ways to the peer, "tcp/eth0, ..." */
bool gsh_ucx_must_carry(const struct gsh_ucx *u, const char *lanes);
/* These three: the peer has an endpoint, and the range is in its regions. */
GSH_CHECK_RESULT enum gsh_result gsh_ucx_carry_put(struct gsh_ucx_peer *peer, uint64_t off,
                                                   const void *source, uint64_t bytes,
                                                   struct gsh_op *op, bool *is_pending);
GSH_CHECK_RESULT enum gsh_result gsh_ucx_carry_get(struct gsh_ucx_peer *peer, uint64_t off,
                                                   void *dest, uint64_t bytes, struct gsh_op *op,
                                                   bool *is_pending);
GSH_CHECK_RESULT enum gsh_result gsh_ucx_carry_flush(struct gsh_ucx_peer *peer, struct gsh_op *op,
                                                     bool *is_pending);
/* A message of one of its kinds, in order. */
void gsh_ucx_carry_arrived(struct gsh_ucx_peer *peer, enum gsh_ucx_kind kind, const void *header,
                           size_t header_bytes, const void *data, size_t bytes);
/* Posts what UCX has room for; how much that was. */
unsigned gsh_ucx_carry_on(struct gsh_ucx *u);
/* The peer is lost: what has not been posted ends. */
void gsh_ucx_end_transfers(struct gsh_ucx_peer *peer);
void gsh_ucx_free_transfers(struct gsh_ucx_peer *peer);

/* ---- life.c: who is still there, and taking leave ---- */

GSH_CHECK_RESULT enum gsh_result gsh_ucx_open_events(struct gsh_ucx *u);
void gsh_ucx_close_events(struct gsh_ucx *u);
/* A peer has its first endpoint: from now on somebody is watched. */
void gsh_ucx_watch(struct gsh_ucx *u);
/* Called by every progress(). */
void gsh_ucx_tick(struct gsh_ucx *u);
/* Tells every peer that has an endpoint, and closes them; bounded in time. */
void gsh_ucx_leave(struct gsh_ucx *u);

#endif
