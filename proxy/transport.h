/* SPDX-License-Identifier: Apache-2.0
 * How bytes reach a far PE: the table of one transport. The proxy is its only caller, holds its own
 * lock around every call, and calls progress() until what it waits for has happened. Nothing here
 * blocks. Transports know nothing of rings, heaps, teams, or of the order between operations beyond
 * what is said here.
 *
 * Order: put and get are unordered. flush(pe, path) completes when every put to pe on that path
 * that was posted before it is visible at pe to its CPU, and to everything that its CPU then
 * notifies; it need not wait for puts on other paths. A path is a number below GSH_TRANSPORT_PATHS.
 * Messages from one PE to one other arrive in the order in which they were sent; they are not
 * ordered with put and get. */
#ifndef GSH_TRANSPORT_H
#define GSH_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"

struct gsh_transport;

/* In the caller's memory, which the caller must not touch until `done` has been called (from
 * progress(), or within the call that was given it). r other than GSH_OK: the peer is lost, and
 * `lost` has been called. A peer that was only silent may still read source and write dest until
 * the transport is destroyed. */
struct gsh_op {
    void (*done)(struct gsh_op *op, enum gsh_result r);
    void *transport[2]; /* the transport's own */
};

struct gsh_transport_events {
    void *context;
    /* A message; header and data are valid during the call only, and may be at any address.
     * Operations may be started from it; progress() is not called. */
    void (*message)(void *context, int from_pe, const void *header, size_t header_bytes,
                    const void *data, size_t bytes);
    /* A peer can no longer be reached; reason is the transport's. is_silent: because it has not
     * answered for timeout_ns. At most once per peer. */
    void (*lost)(void *context, int pe, bool is_silent, const char *reason);
    /* Only if the transport learns late: an operation, or an answer, needs the address of pe, which
     * has not been set, or which the transport has not kept. The caller sets it before this
     * returns. GSH_ERR_PEER, GSH_ERR_TIMEOUT: it cannot be had, so pe is lost; any other failure is
     * the operation's. NULL: all addresses are set before. */
    enum gsh_result (*learn)(void *context, int pe);
    /* The same for a region: an operation needs the one of pe that has this offset. The caller adds
     * it, unless there is none. NULL: all regions are added before. */
    enum gsh_result (*learn_region)(void *context, int pe, uint64_t off);
};

struct gsh_transport_options {
    int my_pe, n_pes;
    const char *name;     /* "ucx" or "loop" */
    const char *plugin;   /* file name of the UCX plug-in */
    uint64_t timeout_ns;  /* how long to wait for a peer that does not answer */
    uint64_t loop_seed;   /* of the loop transport: GSHMEM_LOOP_SEED */
    uint8_t key[16];      /* the job's, for messages over a network that others reach */
    int n_expected;       /* about so many of the n_pes will be used; 0: all */
    bool is_for_messages; /* no regions, puts and gets: a network is asked for less */
    struct gsh_transport_events events;
};

/* How two processes that are in no job together know each other. Each has numbers of its own for
 * those that it reaches; the pair's keys are known to both, and to nobody else. */
struct gsh_transport_pairing {
    uint32_t as; /* this process's number there */
    uint8_t send_key[16], receive_key[16];
};

#define GSH_TRANSPORT_PATHS      48
#define GSH_TRANSPORT_HEADER_MAX 256 /* bytes of a message's header */

struct gsh_transport_ops {
    const char *name;
    size_t message_max; /* bytes of header and data of one message, together; at least 4096 */

    /* This PE's address, to be carried to every other PE; owned by t. */
    enum gsh_result (*address)(struct gsh_transport *t, const void **blob, size_t *bytes);
    /* The address of another PE, copied. The first operation connects. Before any operation to that
     * PE, or within events.learn. */
    enum gsh_result (*set_peer)(struct gsh_transport *t, int pe, const void *blob, size_t bytes);

    /* The same for a process that is not of this job, which pe will stand for. NULL as a function:
     * never. */
    enum gsh_result (*set_pair)(struct gsh_transport *t, int pe,
                                const struct gsh_transport_pairing *pairing, const void *blob,
                                size_t bytes);

    /* Memory of this PE that others put to and get from, and that is a fast source and dest here:
     * host memory, or GPU memory if reads_cuda. [memory, memory + bytes) has offset off in the
     * heap. key is for the other PEs; owned by t until the region is removed. Regions do not
     * overlap; an operation may span several. */
    enum gsh_result (*add_region)(struct gsh_transport *t, void *memory, uint64_t off,
                                  uint64_t bytes, const void **key, size_t *key_bytes);
    /* The same for memory that the transport makes, page-aligned, of the kind that peers reach
     * fastest. Freed by remove_region, or at the latest by destroy. */
    enum gsh_result (*make_region)(struct gsh_transport *t, uint64_t off, uint64_t bytes,
                                   void **memory, const void **key, size_t *key_bytes);
    enum gsh_result (*remove_region)(struct gsh_transport *t, uint64_t off);
    enum gsh_result (*add_peer_region)(struct gsh_transport *t, int pe, uint64_t off,
                                       uint64_t bytes, const void *key, size_t key_bytes);
    /* With events.learn_region also of one that was not added. */
    enum gsh_result (*remove_peer_region)(struct gsh_transport *t, int pe, uint64_t off);
    /* Where this process can read and write a region that pe has made, until it is removed here,
     * even after pe has ended; NULL: nowhere. NULL as a function: never. */
    void *(*map_peer_region)(struct gsh_transport *t, int pe, uint64_t off);

    /* Makes memory that is not a region as fast a source and dest. NULL as a function: it already
     * is. */
    enum gsh_result (*pin)(struct gsh_transport *t, void *memory, uint64_t bytes, void **pin);
    void (*unpin)(struct gsh_transport *t, void *pin);

    /* *is_pending false: already complete, done is not called. put: source may be reused. get: the
     * data have arrived. An offset outside pe's regions is GSH_ERR_ARG. */
    enum gsh_result (*put)(struct gsh_transport *t, int pe, unsigned path, uint64_t off,
                           const void *source, uint64_t bytes, struct gsh_op *op, bool *is_pending);
    enum gsh_result (*get)(struct gsh_transport *t, int pe, uint64_t off, void *dest,
                           uint64_t bytes, struct gsh_op *op, bool *is_pending);
    enum gsh_result (*flush)(struct gsh_transport *t, int pe, unsigned path, struct gsh_op *op,
                             bool *is_pending);
    /* Complete: header and data may be reused. It need not have arrived. */
    enum gsh_result (*send)(struct gsh_transport *t, int pe, const void *header,
                            size_t header_bytes, const void *data, size_t bytes, struct gsh_op *op,
                            bool *is_pending);

    /* The caller knows that the peer is lost: what is under way to it ends as if the transport had
     * found that, at the latest in the next progress(). May call `lost`. The others go on. */
    void (*lose)(struct gsh_transport *t, int pe, const char *reason);

    unsigned (*progress)(struct gsh_transport *t); /* how much happened; 0: nothing */
    /* A descriptor that becomes readable when progress() has something to do; -1: none, poll. */
    int (*event_fd)(struct gsh_transport *t);
    /* Before sleeping on event_fd: true if nothing is left to do now. */
    bool (*arm)(struct gsh_transport *t);

    /* No PE needs this one any more (a barrier came first). Accepts a half-made transport. */
    void (*destroy)(struct gsh_transport *t);

    /* It calls events.learn, so that it keeps nothing for PEs that are never talked to. */
    bool learns_late;
};

/* First member of every kind's own struct. */
struct gsh_transport {
    const struct gsh_transport_ops *ops;
    struct gsh_transport_options options;
    bool reads_cuda; /* regions, sources and dests may be memory of a CUDA device */
};

/* The reference: memcpy between PEs of one process. Operations complete late and in an order
 * shuffled by `GSHMEM_LOOP_SEED`, to catch code that relies on more than the contract. */
GSH_CHECK_RESULT enum gsh_result
gsh_transport_loop_create(const struct gsh_transport_options *options, struct gsh_transport **out);

/* UCX, in a plug-in that is opened here. GSH_ERR_UNSUPPORTED with a reason kept by gsh_note, if it
 * does not exist. */
GSH_CHECK_RESULT enum gsh_result
gsh_transport_ucx_create(const struct gsh_transport_options *options, struct gsh_transport **out);

/* For reports: the plug-in's version of UCX; NULL, with a reason kept by gsh_note, if none. */
const char *gsh_transport_ucx_version(const char *plugin);

#endif
