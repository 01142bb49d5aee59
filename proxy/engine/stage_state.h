/* SPDX-License-Identifier: Apache-2.0
 * Staging's state: of the proxy, of each peer, of each piece under way. stage.h explains how it
 * works.
 */
#ifndef GSH_STAGE_STATE_H
#define GSH_STAGE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proxy/copy_streams.h"
#include "proxy/list.h"
#include "proxy/engine/messages.h"
#include "proxy/proxy.h"
#include "proxy/transport.h"

struct gsh_engine_peer;
struct gsh_proxy;
struct gsh_task;

/* The offset of slots and buffers among the transport's regions: beyond every heap. */
#define GSH_STAGE_OFF (UINT64_C(1) << 62)
/* Small buffers. An in's also has room for the old value of an AMO. */
#define GSH_STAGE_SMALL_OUTS 32
#define GSH_STAGE_SMALL_INS  GSH_COPY_STREAM_AMOS_MAX
/* Outs of puts to one peer; the rest of a put waits in the peer's queue. */
#define GSH_STAGE_OUTS_MAX 16
/* The pipeline makes chunks no smaller than this. */
#define GSH_STAGE_CHUNK_LEAST 65536u

/* WANTs of one peer that are not answered: more than its buffers, and its gets. */
#define GSH_STAGE_WANTS_MAX (2 * GSH_PROXY_STAGE_BUFFERS_MAX)

#define GSH_STAGE_UNEQUAL "it stages larger pieces: GSHMEM_STAGE_CHUNK is not the same on all PEs"

/* A piece of data on its way out. */
struct gsh_stage_out {
    struct gsh_link order;  /* in peer->stage.puts; an answer is in no list */
    struct gsh_link local;  /* in a queue for buffers, or in `copying` */
    struct gsh_link remote; /* in peer->stage.asked or placed */
    struct gsh_engine_peer *peer;
    struct gsh_task *task;     /* the task whose source is read; NULL: an answer */
    struct gsh_message header; /* of the message that it becomes */
    const uint8_t *source;
    int64_t source_stride; /* IPUT, ELEMENTS: in elements; else 0 */
    uint64_t bytes;
    uint64_t number; /* of a put */
    uint64_t ticket; /* COPYING: the job's */
    uint64_t needed; /* PLACED: puts to be flushed */
    uint8_t *buffer; /* small or of chunks; NULL: none */
    uint64_t slot;   /* offset in the peer's region; UINT64_MAX: none */
    bool is_chunk, is_copying, is_copied, is_being_put;
    struct gsh_op op;
    uint64_t issued_ns; /* observe.h */
};

/* A message on which copy streams are at work. */
struct gsh_stage_in {
    struct gsh_link link; /* in the list of its state */
    struct gsh_engine_peer *peer;
    struct gsh_message header;
    struct gsh_task *task; /* of an answer: what asked for it, and which part it is */
    uint64_t at, n;
    uint64_t bytes;
    uint64_t ticket;
    uint8_t *data; /* QUEUED: malloc's; STARTED: a small buffer, or the slot */
};

/* In each peer. */
struct gsh_stage_peer {
    struct gsh_link puts;     /* its outs that are puts, by number */
    struct gsh_link asked;    /* outs whose WANT is not answered, in order */
    struct gsh_link placed;   /* PLACED outs, in order of `needed` */
    struct gsh_link flushing; /* in stage.flushing: `placed` is not empty */
    struct gsh_link wanting;  /* in stage.wanting: n_wants > 0 */
    uint64_t n_begun;         /* numbers given out */
    unsigned n_puts;          /* in `puts` */
    unsigned n_buffers;       /* held by outs to it */
    unsigned n_wants;         /* its WANTs that are not answered */
    unsigned n_answers;       /* outs that answer its gets */
    unsigned n_ins; /* its messages on which copy streams are at work, or that wait for them */
    uint64_t slots_bytes; /* of the peer's region; 0: not known yet */
    uint8_t *slots_here;  /* the peer's region, mapped and pinned; NULL: not */
    bool is_told;         /* it has the key of this PE's region */
};

struct gsh_stage {
    const struct gsh_copy_stream_ops *ops; /* NULL: there are no copy streams */
    void *copy_streams;
    bool has_chunks; /* larger pieces may be staged */
    uint64_t chunk_bytes;
    unsigned n_chunks; /* slots, and as many buffers */
    uint64_t n_started[GSH_COPY_STREAMS], n_ended[GSH_COPY_STREAMS]; /* jobs */

    uint8_t *region; /* slots, then buffers; the transport's */
    bool is_pinned;
    const void *key;
    size_t key_bytes;
    uint8_t *small; /* of the copy streams */
    uint8_t *free_slots[GSH_PROXY_STAGE_BUFFERS_MAX], *free_chunks[GSH_PROXY_STAGE_BUFFERS_MAX];
    uint8_t *free_outs[GSH_STAGE_SMALL_OUTS], *free_ins[GSH_STAGE_SMALL_INS];
    unsigned n_free_slots, n_free_chunks, n_free_outs, n_free_ins;
    int slot_of[GSH_PROXY_STAGE_BUFFERS_MAX]; /* 1 + the PE that has been granted it, or 0 */

    struct gsh_link queued_small, queued_chunks; /* outs without a buffer */
    struct gsh_link copying;                     /* outs, in the order of their tickets */
    struct gsh_link flushing, wanting;           /* peers */
    struct gsh_link queued_ins, started_ins;
};

/* Lists only. */
static inline void gsh_stage_peer_init(struct gsh_stage_peer *peer)
{
    gsh_link_init(&peer->puts);
    gsh_link_init(&peer->asked);
    gsh_link_init(&peer->placed);
    gsh_link_init(&peer->flushing);
    gsh_link_init(&peer->wanting);
}

/* Whether puts up to this number have been sent to the peer. */
static inline bool gsh_stage_is_sent(const struct gsh_stage_peer *peer, uint64_t number)
{
    return gsh_link_is_alone(&peer->puts) ||
           GSH_HOLDER(struct gsh_stage_out, order, peer->puts.next)->number > number;
}

#endif
