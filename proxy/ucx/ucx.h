/* SPDX-License-Identifier: Apache-2.0
 * Inside the UCX plug-in: one transport, its peers, and the requests that UCX has not finished yet.
 * One UCX context and worker per PE. Everything here runs under the proxy's lock.
 *
 * A peer goes UNUSED -> USED -> (BROKEN ->) LOST or, if it leaves normally, LEFT. An error may be
 * found deep inside a call of UCX, so nothing is reported there: the peer becomes BROKEN, and the
 * next progress() calls `lost` and then ends its operations. */
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
    GSH_UCX_BROKEN, /* an error was seen; its reason is kept, `lost` not yet called */
    GSH_UCX_LOST,
    GSH_UCX_LEFT, /* the peer said so itself; later failures are expected */
};

/* Doubly linked ring of struct gsh_ucx_call; the head is one without a call. */
struct gsh_ucx_link {
    struct gsh_ucx_link *next, *prev;
};

/* Records of one size, freed only with the transport. */
struct gsh_ucx_pool {
    size_t record_bytes;
    struct gsh_ucx_call *free; /* chained by link.next */
    struct gsh_ucx_slab *slabs;
    struct gsh_ucx_call **records; /* all of them, by index */
    size_t n_records, records_room;
};

/* One request of UCX. It outlives the operation if UCX is slow to return it. */
struct gsh_ucx_call {
    struct gsh_ucx_link link; /* in peer->calls */
    struct gsh_ucx_pool *pool;
    uint32_t index, generation; /* its token; the generation grows with each use */
    struct gsh_ucx_peer *peer;
    struct gsh_op *op; /* NULL: no caller waits */
    bool is_flush;
    uint8_t path;         /* of a flush */
    bool is_piece;        /* of carry.h */
    bool is_with_ucx;     /* its callback will come; otherwise the peer's answer, or its end */
    bool is_awaited;      /* the peer's answer may come */
    uint8_t *dest;        /* of a get by messages; else NULL */
    uint64_t total, left; /* its bytes, and those that have not come */
};

/* For messages: UCX may still read this after the call that sent it. */
struct gsh_ucx_message {
    struct gsh_ucx_call call;
    uint8_t packed[GSH_UCX_PACKED_MAX];
};

/* A region of a peer. */
struct gsh_ucx_remote {
    uint64_t off, bytes;
    uint64_t address;       /* there */
    ucp_rkey_h rkey;        /* NULL until the first use */
    ucp_rkey_h *path_rkeys; /* [GSH_TRANSPORT_PATHS], likewise, of endpoints of paths; or NULL */
    void *key;              /* as it came: packed by UCX */
};

/* A region of this PE. */
struct gsh_ucx_region {
    uint64_t off, bytes;
    uint8_t *memory;
    ucp_mem_h memh;
    void *key;
};

/* Which numbers have been seen: the newest, and bit i: newest - i. */
struct gsh_ucx_window {
    uint64_t newest, seen;
};

/* A message that arrived before its turn. */
struct gsh_ucx_early {
    struct gsh_ucx_early *next; /* by sequence number */
    uint64_t sequence;
    uint8_t kind;
    size_t header_bytes, bytes;
    _Alignas(max_align_t) uint8_t content[]; /* header, then data */
};

/* Puts that are flushed separately: the network reports completion only for each endpoint. */
struct gsh_ucx_path {
    ucp_ep_h ep;       /* NULL: none yet; path 0 has the peer's */
    bool is_unflushed; /* put to since the last flush was posted */
    unsigned n_flushes;
};

struct gsh_ucx_peer {
    struct gsh_ucx *ucx;
    int pe;
    enum gsh_ucx_state state;
    bool is_heard;        /* since the last tick */
    unsigned quiet_ticks; /* without a sign of life */
    bool is_bye_answered;
    struct gsh_transport_pairing *pairing; /* a process of no job; NULL: a PE of this one */
    ucp_ep_h ep;                           /* NULL: none */
    void *address;                         /* NULL: not known, or events.learn gives it again */
    size_t used_index;                     /* in ucx->used */

    struct gsh_ucx_remote *remotes; /* by off */
    size_t n_remotes, remotes_room, last_remote;
    struct gsh_ucx_path path_0, *other_paths; /* gsh_ucx_path; [n_other_paths], from path 1 on */
    unsigned n_other_paths;
    struct gsh_ucx_link calls;

    uint64_t send_sequence, receive_sequence; /* of the next message */
    uint64_t n_controls;                      /* sent, of the kinds without a sequence */
    struct gsh_ucx_window controls;           /* received */
    struct gsh_ucx_early *early, *last_early;
    size_t n_early, early_bytes;
    uint64_t gap; /* the sequence that early ones wait for, and for how long */
    unsigned gap_ticks;
    bool is_refused; /* it has sent what no PE sends; its data are no longer taken */

    bool is_carried; /* only messages reach its memory: carry.h */
    bool is_carrying;
    unsigned n_pieces; /* with UCX */
    struct gsh_ucx_transfer *transfers, **transfers_end;
    struct gsh_ucx_peer *next_carrying;

    struct gsh_ucx_peer *next_broken;
    bool is_silent; /* broken: it has not answered for the options' timeout_ns */
    char *reason;   /* broken or lost; NULL: as expected */
};
_Static_assert(sizeof(struct gsh_ucx_peer) <= 288, "docs/internals/many-nodes.md");

/* NULL: nothing has used this path to the peer. */
static inline struct gsh_ucx_path *gsh_ucx_path(struct gsh_ucx_peer *peer, unsigned path)
{
    if (path == 0) {
        return &peer->path_0;
    }
    return path <= peer->n_other_paths ? &peer->other_paths[path - 1] : NULL;
}

struct gsh_ucx {
    struct gsh_transport base;
    const struct gsh_ucx_core *core;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;

    struct gsh_ucx_peer **peers; /* [n_pes], made on first use */
    struct gsh_ucx_peer **used;  /* those with an endpoint */
    size_t n_used, used_room;
    struct gsh_ucx_peer *broken;
    struct gsh_ucx_peer *carrying; /* those that may have transfers */

    struct gsh_ucx_region *regions;
    size_t n_regions, regions_room;

    struct gsh_ucx_pool calls, messages;

    int event_fd; /* both of the next */
    int timer_fd;
    uint64_t tick_ns, next_tick_ns; /* tick_ns 0: no peer is watched */
    size_t tick_cursor;
    unsigned n_polls;
    bool is_clock_due;
    bool is_in_progress, is_leaving;
    bool has_rma;       /* puts and gets may be UCX's own; else all are messages */
    bool has_lost;      /* a peer with an endpoint */
    bool is_deaf;       /* UCX could not be armed: never again */
    uint64_t n_ignored; /* messages that were not of this job */
    unsigned n_unknown; /* messages that are fetched before it is known who has sent them */
    char lanes[256];    /* the newest that was logged */
};

#endif
