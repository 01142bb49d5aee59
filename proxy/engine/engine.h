/* SPDX-License-Identifier: Apache-2.0
 * The proxy's insides: its state, and what its files ask of each other. Private to proxy/ and its
 * tests. Everything here is under the proxy's lock, unless it says otherwise.
 *
 * A task is a request on its way: submitted, then in its peer's queue while something holds it up,
 * then issued, then done. Order is kept for each peer by counters:
 * - `puts_posted` native puts, of which the oldest `puts_flushed` are seen at the peer;
 * - `sent` messages that change memory, of which the peer has carried out the oldest `acked`.
 * A FENCE marks the peers with traffic of its source; the next task to such a peer is issued only
 * when all native puts before it are flushed, and native tasks from then on only when all
 * messages before it are acknowledged. Messages need no more: they are carried out in order.
 * A QUIET puts a MARK into each peer with traffic of its source. The mark goes through the queue,
 * waits in flush_wait until the puts before it are flushed, then in ack_wait until the messages
 * before it are acknowledged. Nothing waits for marks but their QUIET. A put_signal too large for
 * one message is a native put, and its signal, which waits in flush_wait.
 * Puts whose source must be copied out of memory first are sent later than they are issued; where
 * it says above that something waits for flushes, it waits for these, too (stage.h). */
#ifndef GSH_ENGINE_H
#define GSH_ENGINE_H

#include <pthread.h>
#include "proxy/engine/list.h"
#include "proxy/engine/mailbox.h"
#include "proxy/engine/messages.h"
#include "proxy/proxy.h"
#include "proxy/ring/reader.h"
#include "proxy/stage/stage.h"
#include "runtime/base/atomic.h"
#include "runtime/base/lock.h"

/* Operations that only the engine makes. */
enum {
    GSH_TASK_MARK = GSH_FAR_OPS,
    GSH_TASK_SIGNAL /* amo_op, remote_off, operand: of a put_signal whose put went before */
};

#define GSH_SOURCE_HOST GSH_RING_MAX_RINGS /* other sources: the ring's number */

/* Messages to one peer that it has not acknowledged; bounds what it must hold. */
#define GSH_UNACKED_MAX 1024
/* GET and IGET messages to one peer that are not answered: as many large buffers there. */
#define GSH_GETS_MAX 8
/* Messages that the transport has not taken yet, before tasks must wait. Answers and acks may go
 * beyond it: their number is bounded by what the peers may ask. */
#define GSH_OUTS_MAX 256
/* Posted by host threads and not complete, before the next must wait. */
#define GSH_POSTED_MAX 1024

struct gsh_task {
    struct gsh_request request; /* first */
    struct gsh_op op;           /* of the native put or get */
    struct gsh_proxy *proxy;
    struct gsh_task *quiet;   /* MARK: whose */
    uint64_t needed;          /* in flush_wait: puts; in ack_wait: messages */
    uint64_t needed_staged;   /* in flush_wait: puts of stage.h */
    uint64_t at;              /* bytes or elements for which messages are sent, of several */
    uint32_t outstanding;     /* QUIET: its marks; gets by messages: answers to come; puts by
                               * stage.h: copies to come */
    uint8_t source;           /* a ring's number, or GSH_SOURCE_HOST */
    bool needs_fence;         /* a FENCE came between it and the one before */
    bool is_posted;           /* host's: nobody waits for it, it goes back to its pool */
    bool is_done;             /* for whoever submitted it */
    struct gsh_link flight;   /* host's: in proxy.flight until it is done */
    uint64_t flight_sequence; /* host's: grows */
};

struct gsh_peer {
    int pe;
    uint8_t last_op;  /* the newest issued, for reports */
    bool needs_fence; /* the next task to it does */
    bool is_flushing; /* flush_op is the transport's */
    uint32_t sources; /* bit s: source s may have traffic to it */
    uint32_t to_ack;  /* its messages carried out here, of which it has not been told */
    uint32_t n_gets;  /* GET and IGET messages not answered */
    uint64_t puts_posted, puts_flushed, flush_target;
    uint64_t sent, acked;
    uint64_t native_after; /* native tasks wait until so many messages are acknowledged */
    struct gsh_queue queue, flush_wait, ack_wait;
    struct gsh_op flush_op;
    struct gsh_stage_peer stage;
    struct gsh_proxy *proxy;
    struct gsh_link active;  /* in proxy.active: something here is not known to be seen there */
    struct gsh_link waiting; /* in proxy.waiting: a queue is not empty */
    struct gsh_link acking;  /* in proxy.acking: to_ack > 0 */
};

/* A message on its way out. */
struct gsh_out {
    struct gsh_op op;
    struct gsh_proxy *proxy;
    struct gsh_out *next;  /* in a free list */
    struct gsh_task *task; /* done when the message is sent, or NULL */
    int pe;
    bool is_large;
    struct gsh_message header;
    uint8_t data[]; /* GSH_RING_INLINE_MAX bytes; large: as many as a message takes */
};

/* Objects of one kind, allocated several at a time, kept until the proxy is destroyed. */
struct gsh_pool {
    struct gsh_pool_slab *slabs;
    void *free; /* each begins with the next one's address */
    size_t object_bytes, per_slab;
};

struct gsh_ring_entry {
    struct gsh_task task;
    struct gsh_ring_window *window;
};

struct gsh_ring_window {
    struct gsh_ring_reader reader;
    struct gsh_ring_entry *entry; /* requests [head, tail), at i % n_entries */
    uint64_t n_entries, head, tail;
};

struct gsh_proxy {
    struct gsh_lock lock;
    struct gsh_proxy_options options;
    struct gsh_transport *transport;
    bool has_memory;
    bool is_native; /* the transport reads and writes the heap, and sources and dests */
    struct gsh_proxy_memory memory;
    uint8_t *heap_base;
    uint64_t heap_bytes; /* the same on every PE */
    size_t data_max;     /* of a message */

    struct gsh_peer **peers; /* [n_pes], made at the first need */
    struct gsh_link active, waiting, acking;
    unsigned n_pending; /* operations that the transport has not completed */
    unsigned n_outs;    /* messages among them */
    struct gsh_pool tasks, small_outs, large_outs, stage_outs, stage_ins;
    struct gsh_stage stage;

    struct gsh_ring_window *rings[GSH_RING_MAX_RINGS];
    int n_rings;
    unsigned n_ring_tasks; /* in their windows */

    struct gsh_link flight; /* tasks of the host, by flight_sequence */
    uint64_t flight_sequence;
    unsigned n_posted; /* tasks in it whose thread does not wait */
    unsigned n_calls_until_round;

    struct gsh_mailbox mailbox;

    enum gsh_result failure; /* GSH_OK, or why everything stopped */
    bool is_closing;         /* failures are not reported any more */
    int lost_pe;             /* told by the transport, not yet reported; -1: none */
    char lost_reason[200];

    /* ---- of the thread; see thread.c ---- */
    pthread_t thread;
    bool has_thread;
    int event_fd;
    struct gsh_ring_wake wake;
    uint32_t is_stopping; /* these two are atomic, outside the lock */
    uint32_t is_asleep;
    /* Calls of host threads, and their rounds in which something happened; written under the lock,
     * read without. */
    uint32_t n_host_calls;
    uint64_t n_requests;       /* of host threads, tokens aside, that the engine has; likewise */
    uint32_t n_waiting;        /* host threads that make rounds until something is done; likewise */
    uint64_t n_sleeps, n_naps; /* the thread's, for tests */
};

/* Whether it is symmetric, seen from the heap's base. */
static inline bool gsh_proxy_is_in_heap(const struct gsh_proxy *proxy, uint64_t off, uint64_t bytes)
{
    return bytes == 0 || (off < proxy->heap_bytes && bytes <= proxy->heap_bytes - off);
}

/* ---- engine.c: order ---- */

/* Takes the task over; request, source and proxy are set. Calls request.done when it is done. */
void gsh_engine_submit(struct gsh_proxy *proxy, struct gsh_task *task);
/* Nothing holds up a native task to the peer. */
static inline bool gsh_engine_is_open(const struct gsh_peer *peer)
{
    return !peer->queue.head && !peer->needs_fence && peer->acked >= peer->native_after;
}
/* The peer has room for one more message that it must acknowledge. */
static inline bool gsh_engine_may_send(const struct gsh_peer *peer)
{
    return peer->sent - peer->acked < GSH_UNACKED_MAX;
}
/* Everything that can go on now: rings, transport, queues, acks. How much happened. While nothing
 * does the transport is asked up to n_polls times, at least once. */
unsigned gsh_engine_round(struct gsh_proxy *proxy, unsigned n_polls);
/* NULL: no memory, reported. */
struct gsh_peer *gsh_engine_peer(struct gsh_proxy *proxy, int pe);
/* Starts a flush unless one is under way. True: it is complete already. */
bool gsh_engine_flush(struct gsh_peer *peer);
/* Takes the peer from the list of the active if nothing is outstanding there. */
void gsh_engine_settle(struct gsh_peer *peer);
static inline void gsh_engine_activate(struct gsh_peer *peer, unsigned source)
{
    peer->sources |= 1u << source;
    if (gsh_link_is_alone(&peer->active))
        gsh_link_append(&peer->proxy->active, &peer->active);
}

/* ---- fault.c ---- */

/* Everything stops, and options.fail is told, the first time. reason NULL: what the transport said
 * of the peer, else this thread's last error. */
void gsh_engine_fail(struct gsh_proxy *proxy, int pe, enum gsh_result r, const char *operation,
                     const char *reason);
/* The same, naming the task's operation and its symmetric address. */
void gsh_task_fail(struct gsh_task *task, enum gsh_result r, const char *reason);
/* Reports a lost peer that no operation has reported. */
void gsh_engine_report_lost(struct gsh_proxy *proxy);
void gsh_engine_lost(void *context, int pe, const char *reason);

/* ---- carry.c: carrying out tasks ---- */

/* False: it cannot go on now; call again. True: it is issued, and may be gone. */
bool gsh_task_issue(struct gsh_peer *peer, struct gsh_task *task);
/* On this PE itself; complete on return. */
void gsh_task_run_here(struct gsh_task *task);
/* The end of what the transport carries out. */
void gsh_task_native_done(struct gsh_op *op, enum gsh_result r);
/* By the transport's put or get, rather than by messages. */
bool gsh_task_is_native(const struct gsh_task *task);
bool gsh_task_changes_memory(const struct gsh_task *task);

static inline void gsh_task_done(struct gsh_task *task)
{
    task->request.done(&task->request);
}

/* ---- messages.c: from and to other proxies ---- */

/* NULL: too many are under way; try again later. An answer or ack always gets one, or the proxy
 * fails. */
struct gsh_out *gsh_out_take(struct gsh_proxy *proxy, bool is_large, bool is_answer);
/* Sends header and data; out goes back to its pool by itself. data: out->data, or memory that stays
 * until out->task is done. */
void gsh_out_send(struct gsh_peer *peer, struct gsh_out *out, const void *data, size_t bytes);
/* A piece of a get, of so many bytes or elements in all, is in its dest. */
void gsh_message_take_part(struct gsh_peer *peer, struct gsh_task *task, uint64_t total);
/* One more message of the peer has been carried out. */
void gsh_message_count_to_ack(struct gsh_peer *peer);
/* The answer to a fetching AMO. */
void gsh_message_answer_value(struct gsh_peer *peer, const struct gsh_message *m, uint64_t old);
bool gsh_message_changes_memory(unsigned kind);
void gsh_message_arrived(void *context, int from_pe, const void *header, size_t header_bytes,
                         const void *data, size_t bytes);
/* Tells every peer how many of its messages have been carried out. */
void gsh_message_send_acks(struct gsh_proxy *proxy);

/* ---- memory.c: this PE's memory ---- */

/* False: failed, and reported as a failure of PE pe's operation. heap means: through the
 * table, except where host code can do it itself. */
bool gsh_memory_in(struct gsh_proxy *proxy, void *heap_dest, const void *source, size_t bytes);
bool gsh_memory_out(struct gsh_proxy *proxy, void *dest, const void *heap_source, size_t bytes);
/* Elements between strided heap memory and a packed buffer. */
bool gsh_memory_scatter(struct gsh_proxy *proxy, void *heap_dest, int64_t stride,
                        const void *packed, uint64_t elem_bytes, uint64_t nelems);
bool gsh_memory_gather(struct gsh_proxy *proxy, void *packed, const void *heap_source,
                       int64_t stride, uint64_t elem_bytes, uint64_t nelems);
bool gsh_memory_amo(struct gsh_proxy *proxy, int amo_op, void *address, size_t word_bytes,
                    uint64_t operand, uint64_t cond, uint64_t *old);

/* ---- pool.c ---- */

void gsh_pool_init(struct gsh_pool *pool, size_t object_bytes, size_t per_slab);
void *gsh_pool_grow_and_take(struct gsh_pool *pool);
/* NULL: no memory. */
static inline void *gsh_pool_take(struct gsh_pool *pool)
{
    void **object = pool->free;
    if (!object)
        return gsh_pool_grow_and_take(pool);
    pool->free = *object;
    return object;
}
static inline void gsh_pool_give(struct gsh_pool *pool, void *object)
{
    *(void **)object = pool->free;
    pool->free = object;
}
void gsh_pool_empty(struct gsh_pool *pool);

/* ---- rings.c ---- */

unsigned gsh_rings_drain(struct gsh_proxy *proxy);
unsigned gsh_rings_retire(struct gsh_proxy *proxy);
void gsh_rings_destroy(struct gsh_proxy *proxy);

/* ---- thread.c ---- */

/* One turn of a spin that never sleeps: pauses, and now and then yields. */
static inline void gsh_spin(unsigned *turn)
{
    unsigned t = (*turn)++ % 80; /* of which gsh_backoff makes 64 pauses, 16 yields */
    gsh_backoff(&t);
}

/* First; the event may then be used. */
enum gsh_result gsh_thread_create_event(struct gsh_proxy *proxy);
void gsh_thread_destroy_event(struct gsh_proxy *proxy);
enum gsh_result gsh_thread_start(struct gsh_proxy *proxy);
void gsh_thread_stop(struct gsh_proxy *proxy);
/* The thread is about to look again at rings and transport. Any thread, with or without the lock.
 */
void gsh_thread_wake(struct gsh_proxy *proxy);

#endif
