/* SPDX-License-Identifier: Apache-2.0
 * Staging: data of memory that host code or the network cannot reach go through pinned buffers of
 * the two proxies, in pieces, so that piece k is copied out of the source's memory while piece k-1
 * travels and piece k-2 is copied into the dest's. Private to proxy/; state of the engine, and like
 * it under the proxy's lock.
 *
 * A proxy with lanes (lanes.h) touches its PE's memory by their jobs only:
 * - an `out` copies a piece out of memory and sends it: of puts (the task's source), or of the
 *   answer to a peer's get. QUEUED -> COPYING -> (PLACED ->) sent.
 * - an `in` does to memory what a message asks, and brings what a get has asked for.
 *   QUEUED -> STARTED -> ended: only then is the message acknowledged, or the get's piece there.
 *   All ins are in one lane, so messages are carried out in the order in which they came, and
 *   acknowledged in it: fences, quiets and signals need nothing more at the target.
 *
 * A piece of at most one message is copied to a small buffer and goes in its message. Larger ones
 * (chunks) go from a buffer of the sender to a slot of the receiver, which is memory that the
 * transport has made and knows as a region at GSH_STAGE_OFF of every PE's:
 *
 *     sender                                    receiver
 *     takes a buffer; starts the copy; WANT  -> has a slot, now or later: GRANT
 *     copy ended and granted: puts to the slot
 *     the put is flushed: STAGED_PUT or _DATA -> starts the copy from the slot; when it has ended
 * the frees the buffer                           slot is free for whoever wants one next
 *
 * A sender therefore never overruns a receiver. Whoever waits for a slot holds a buffer already,
 * and a slot that is granted needs nothing further to become free again: no circle of waiting. One
 * peer gets at most three quarters of the buffers, so one that does not answer stops no other.
 *
 * Where the transport can map the receiver's slots (shared memory), the sender needs no buffer and
 * no put: it waits for the slot first, and copies straight into it.
 *
 * Order at the sender: outs of puts to one peer are numbered; a fence waits until all are sent, a
 * quiet's mark and the signal of a large put until those before it are. What is sent is then
 * ordered as messages are (engine.h). */
#ifndef GSH_STAGE_H
#define GSH_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proxy/lanes.h"
#include "proxy/engine/list.h"
#include "proxy/engine/messages.h"
#include "proxy/proxy.h"
#include "proxy/transport.h"

struct gsh_peer;
struct gsh_proxy;
struct gsh_task;

/* Where slots and buffers lie among the transport's regions: beyond every heap. */
#define GSH_STAGE_OFF (UINT64_C(1) << 62)
/* Small buffers. An in's has room for the old value of an AMO, too. */
#define GSH_STAGE_SMALL_OUTS 32
#define GSH_STAGE_SMALL_INS  GSH_LANE_AMOS_MAX
/* Outs of puts to one peer; the rest of a put waits in the peer's queue. */
#define GSH_STAGE_OUTS_MAX 16
/* Chunks are not made smaller than this for the sake of the pipeline. */
#define GSH_STAGE_CHUNK_LEAST 65536u

#define GSH_STAGE_UNEQUAL "it stages larger pieces: GSHMEM_STAGE_CHUNK is not the same on all PEs"

/* A piece of data on its way out. */
struct gsh_stage_out {
    struct gsh_link order;  /* in peer->stage.puts; an answer is in no list */
    struct gsh_link local;  /* in a queue for buffers, or in `copying` */
    struct gsh_link remote; /* in peer->stage.asked or placed */
    struct gsh_peer *peer;
    struct gsh_task *task;     /* whose source is read; NULL: an answer */
    struct gsh_message header; /* of the message that it becomes */
    const uint8_t *source;
    int64_t source_stride; /* IPUT, ELEMENTS: in elements; else 0 */
    uint64_t bytes;
    uint64_t number; /* of a put */
    uint64_t ticket; /* COPYING: the job's */
    uint64_t needed; /* PLACED: puts to be flushed */
    uint8_t *buffer; /* small or of chunks; NULL: none */
    uint64_t slot;   /* offset in the peer's region; UINT64_MAX: none */
    bool is_chunk, is_copied, is_being_put;
    struct gsh_op op;
};

/* A message on which lanes are at work. */
struct gsh_stage_in {
    struct gsh_link link; /* in the list of its state */
    struct gsh_peer *peer;
    struct gsh_message header;
    uint64_t bytes;
    uint64_t ticket;
    uint8_t *data; /* QUEUED: malloc's; STARTED: a small buffer, or the slot */
};

/* In each peer. */
struct gsh_stage_peer {
    struct gsh_link puts;     /* its outs that are puts, by number */
    struct gsh_link asked;    /* outs whose WANT is not answered, in the order of asking */
    struct gsh_link placed;   /* PLACED outs, in order of `needed` */
    struct gsh_link flushing; /* in stage.flushing: `placed` is not empty */
    struct gsh_link wanting;  /* in stage.wanting: n_wants > 0 */
    uint64_t n_begun;         /* numbers given out */
    unsigned n_puts;          /* in `puts` */
    unsigned n_buffers;       /* held by outs to it */
    unsigned n_wants;         /* its WANTs that are not answered */
    uint8_t *slots_here;      /* the peer's region, mapped and pinned; NULL: not */
    bool is_told;             /* it has the key of this PE's region */
};

struct gsh_stage {
    const struct gsh_lane_ops *ops; /* NULL: there are no lanes */
    void *lanes;
    bool has_chunks; /* larger pieces may be staged */
    uint64_t chunk_bytes;
    unsigned n_chunks;                                 /* slots, and as many buffers */
    uint64_t n_started[GSH_LANES], n_ended[GSH_LANES]; /* jobs */

    uint8_t *region; /* slots, then buffers; the transport's */
    bool is_pinned;
    const void *key;
    size_t key_bytes;
    uint8_t *small; /* of the lanes */
    size_t small_bytes;
    uint8_t *free_slots[GSH_PROXY_STAGE_BUFFERS_MAX], *free_chunks[GSH_PROXY_STAGE_BUFFERS_MAX];
    uint8_t *free_outs[GSH_STAGE_SMALL_OUTS], *free_ins[GSH_STAGE_SMALL_INS];
    unsigned n_free_slots, n_free_chunks, n_free_outs, n_free_ins;

    struct gsh_link queued_small, queued_chunks; /* outs without a buffer */
    struct gsh_link copying;                     /* outs, in the order of their tickets */
    struct gsh_link flushing, wanting;           /* peers */
    struct gsh_link queued_ins, started_ins;
};

/* ---- stage.c: set-up, buffers, progress ---- */

/* Lists only; of a proxy and of a peer. */
void gsh_stage_init(struct gsh_stage *stage);
void gsh_stage_peer_init(struct gsh_stage_peer *peer);
/* proxy->memory, its transport and its options are set. */
GSH_CHECK_RESULT enum gsh_result gsh_stage_create(struct gsh_proxy *proxy);
/* Jobs under way end first. Nothing is staged any more. Accepts a half-made one. The region stays
 * until the transport ends: peers that were told of it may be at it yet. */
void gsh_stage_destroy(struct gsh_proxy *proxy);
/* Everything that can go on; how much happened. While jobs are under way it is never 0, for nothing
 * else would wake the proxy. */
unsigned gsh_stage_round(struct gsh_proxy *proxy);
/* Jobs are under way. */
bool gsh_stage_is_busy(const struct gsh_stage *stage);
/* Counts a job that has just been started, or fails the proxy. */
bool gsh_stage_started(struct gsh_proxy *proxy, enum gsh_lane lane, enum gsh_result r);
/* A WANT: answered now, or when a slot is free. */
void gsh_stage_wanted(struct gsh_peer *peer, const struct gsh_message *m);
void gsh_stage_free_slot(struct gsh_proxy *proxy, uint8_t *slot);

/* ---- out.c ---- */

/* These begin what they can; false: not all of it, call again. */
bool gsh_stage_put(struct gsh_peer *peer, struct gsh_task *task); /* PUT, large PUT_SIGNAL */
bool gsh_stage_iput(struct gsh_peer *peer, struct gsh_task *task);
/* In one message; amo_op is the signal's. */
bool gsh_stage_put_signal(struct gsh_peer *peer, struct gsh_task *task, int amo_op);
/* Of a get, bytes at most that are asked for at once: a message's or a chunk's. */
uint64_t gsh_stage_piece(const struct gsh_proxy *proxy, uint64_t total, uint64_t left);
/* To GET and IGET. */
void gsh_stage_answer(struct gsh_peer *peer, const struct gsh_message *m);
/* Whether puts up to this number have been sent to the peer. */
bool gsh_stage_is_sent(const struct gsh_peer *peer, uint64_t number);
void gsh_stage_granted(struct gsh_peer *peer, const struct gsh_message *m, const void *key,
                       size_t key_bytes);
unsigned gsh_stage_progress_outs(struct gsh_proxy *proxy);

/* ---- in.c ---- */

/* A message for which this PE's memory is touched; its data are copied. */
void gsh_stage_take(struct gsh_peer *peer, const struct gsh_message *m, const void *data,
                    size_t bytes);
unsigned gsh_stage_progress_ins(struct gsh_proxy *proxy);

#endif
