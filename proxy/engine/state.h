/* SPDX-License-Identifier: Apache-2.0
 * The proxy's state, which all layers of the engine share: tasks, peers, the proxy. Private to
 * proxy/ and its tests. Everything here is under the proxy's lock, unless it says otherwise.
 * order.h explains the counters. */
#ifndef GSH_ENGINE_STATE_H
#define GSH_ENGINE_STATE_H

#include <pthread.h>
#include "proxy/list.h"
#include "base/lock.h"
#include "proxy/engine/outstanding.h"
#include "proxy/engine/mailbox.h"
#include "proxy/engine/pool.h"
#include "proxy/engine/stage_state.h"
#include "proxy/proxy.h"

struct gsh_ring_window;

/* Operations that only the engine makes. */
enum {
    GSH_TASK_MARK = GSH_FAR_OPS,
    GSH_TASK_SIGNAL /* amo_op, remote_off, operand: of a put_signal, after its put */
};

_Static_assert(GSH_CONTEXTS <= GSH_TRANSPORT_PATHS, "a path for each");

#define GSH_ENGINE_RINGS_MAX (GSH_RING_MAX_RINGS + GSH_CONTEXTS)
#define GSH_SOURCE_HOST      GSH_ENGINE_RINGS_MAX /* other sources: the ring's number */
_Static_assert(GSH_SOURCE_HOST < 64, "a bit for each source of a peer's tasks (peer.h)");

/* Messages to one peer that it has not acknowledged; bounds what it must hold. */
#define GSH_UNACKED_MAX 1024
/* Unanswered GET and IGET messages to one peer: as many large buffers there. */
#define GSH_GETS_MAX 8
/* Messages that the transport has not taken yet, before tasks must wait. Answers and acks may
 * exceed it: what the peers may ask bounds their number. */
#define GSH_OUTS_MAX 256
/* Messages of one peer's runtime that have arrived and have not been received, in bytes with their
 * overhead. */
#define GSH_RUNTIME_MESSAGE_MAX (UINT64_C(1) << 30)
/* Posted by host threads and not complete, before the next must wait. */
#define GSH_POSTED_MAX 1024

struct gsh_task {
    struct gsh_request request; /* first */
    struct gsh_op op;           /* of the native put or get */
    struct gsh_proxy *proxy;
    struct gsh_task *quiet;    /* MARK: whose */
    uint64_t needed;           /* in flush_wait: puts; in ack_wait: messages */
    uint64_t needed_staged;    /* in flush_wait: puts of staging */
    uint64_t at;               /* bytes or elements for which messages have been sent, if several */
    uint32_t outstanding;      /* QUIET: its marks; gets by messages: answers to come; staged
                                * puts: copies to come */
    uint8_t source;            /* a ring's number, or GSH_SOURCE_HOST */
    bool needs_fence;          /* a FENCE came between it and the one before */
    bool is_posted;            /* host's: no thread waits for it; it returns to its pool itself */
    bool is_done;              /* for the submitter */
    struct gsh_link in_flight; /* host's: in proxy.in_flight until it is done */
    uint64_t issue_sequence;   /* host's: grows */
    uint64_t begun_ns;  /* when it was taken over, and when the network was given its data; */
    uint64_t issued_ns; /* 0: nobody observes (observe.h) */
    uint64_t since_ns;  /* it was taken over, unless done by now (observe.h) */
};

/* A PE in one context: each has its own queues and puts, and never waits for another's. Messages,
 * staging and the peer's own requests belong to the main peer, the one in the default context. */
struct gsh_engine_peer {
    int pe;
    gsh_context ctx;
    bool needs_fence; /* the next task to it needs one */
    bool is_flushing; /* the transport has flush_op */
    uint64_t sources; /* bit s: source s may have traffic to it */
    uint64_t puts_posted, puts_flushed, flush_target;
    uint64_t newest_sent;   /* the number, by main's `sent`, of its newest message */
    uint64_t newest_staged; /* the number, by main's stage.n_begun, of its newest put of staging */
    uint64_t native_after;  /* native tasks wait until this many messages are acknowledged */
    struct gsh_queue queue, flush_wait, ack_wait;
    struct gsh_op flush_op;
    struct gsh_proxy *proxy;
    struct gsh_link active;  /* in proxy.active: something is not yet known to be visible there */
    struct gsh_link waiting; /* in proxy.waiting: a queue is not empty */
    struct gsh_engine_peer *main;    /* perhaps itself */
    struct gsh_engine_peer *sibling; /* in another context, in no order; main is the first */

    /* ---- of the main one ---- */
    uint8_t last_op; /* the newest issued, for reports */
    uint32_t to_ack; /* its messages carried out here but not yet acknowledged */
    uint32_t n_gets; /* GET and IGET messages not answered */
    uint64_t sent, acked;
    uint64_t mailbox_bytes; /* of its entry that waits to be received */
    struct gsh_stage_peer stage;
    struct gsh_link acking; /* in proxy.acking: to_ack > 0 */
};
_Static_assert(sizeof(struct gsh_engine_peer) <= 392, "docs/internals/many-nodes.md");

/* How far a peer's loss has gone, if the proxy outlives it: loss.h, drop.h. */
enum gsh_loss { GSH_LOSS_NONE, GSH_LOSS_NOTED, GSH_LOSS_GONE };

/* A region that does not begin where another one ends; or one that all far PEs have (learn.h). */
struct gsh_proxy_apart {
    uint64_t off, bytes;
};

struct gsh_proxy {
    struct gsh_lock lock;
    struct gsh_proxy_options options;
    struct gsh_transport *transport;
    bool has_memory;
    bool is_native; /* the transport reads and writes the heap, and sources and dests */
    struct gsh_proxy_memory memory;
    uint8_t *heap_base;
    uint64_t heap_bytes; /* the same on every PE, as are the regions apart from it */
    struct gsh_proxy_apart *apart;
    size_t n_apart, apart_room;
    size_t data_max; /* of a message */
    int *known;      /* PEs of which the transport may have told regions; only if it learns late */
    size_t n_known, known_room;
    struct gsh_proxy_apart *told; /* the regions whose keys are looked up */
    size_t n_told, told_room;

    /* By context, then [n_pes]; both made on first use, except the default context's array. */
    struct gsh_engine_peer **peers[GSH_CONTEXTS];
    struct gsh_link active, waiting, acking;
    unsigned n_pending; /* operations that the transport has not completed */
    unsigned n_outs;    /* messages among them */
    struct gsh_pool tasks, small_outs, large_outs, stage_outs, stage_ins;
    struct gsh_stage stage;

    struct gsh_ring_window *rings[GSH_ENGINE_RINGS_MAX];
    int n_rings;
    unsigned n_ring_tasks; /* in their windows */

    struct gsh_link in_flight[GSH_CONTEXTS]; /* tasks of the host, by issue_sequence */
    uint64_t issue_sequence;
    unsigned n_posted[GSH_CONTEXTS]; /* tasks in flight whose thread does not wait */
    unsigned n_calls_until_round;

    struct gsh_mailbox mailbox;
    struct gsh_outstanding_table asked;

    enum gsh_result failure; /* GSH_OK, or why everything stopped */
    bool is_closing;         /* failures are no longer reported */
    int lost_pe;             /* reported by the transport, but not by us yet; -1: none */
    bool is_lost_silent;
    char lost_reason[200];
    uint8_t *losses;  /* [n_pes], enum gsh_loss */
    unsigned n_noted; /* losses that are to be carried out */
    uint64_t
        n_dropped; /* requests of kernels to lost peers; written under the lock, read without */
    struct gsh_proxy_sent sent; /* messages of the runtime; atomic */

    /* ---- of the thread; see thread.h ---- */
    pthread_t thread;
    bool has_thread;
    int event_fd;
    struct gsh_ring_wake wake;
    uint32_t is_stopping; /* these two are atomic, outside the lock */
    uint32_t is_asleep;
    /* Calls of host threads, and their rounds in which something happened; written under the lock,
     * read without. */
    uint32_t n_host_calls;
    uint64_t n_requests[GSH_CONTEXTS]; /* of host threads, without tokens, that the engine has;
                                        * likewise */
    uint32_t n_waiting;        /* host threads that make rounds until something is done; likewise */
    uint64_t n_sleeps, n_naps; /* the thread's, for tests */
};

/* Whether the range is symmetric, as offsets from the heap's base. */
static inline bool gsh_proxy_is_in_heap(const struct gsh_proxy *proxy, uint64_t off, uint64_t bytes)
{
    bool is_inside = bytes == 0 || (off < proxy->heap_bytes && bytes <= proxy->heap_bytes - off);
    for (size_t i = 0; i < proxy->n_apart && !is_inside; i++) {
        const struct gsh_proxy_apart *a = &proxy->apart[i];
        is_inside = off >= a->off && off - a->off < a->bytes && bytes <= a->bytes - (off - a->off);
    }
    return is_inside;
}

#endif
