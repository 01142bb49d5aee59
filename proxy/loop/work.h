/* SPDX-License-Identifier: Apache-2.0
 * Operations of the loop transport: under way, or complete but not reported; their progress. */
#ifndef GSH_LOOP_WORK_H
#define GSH_LOOP_WORK_H

#include "proxy/list.h"
#include "proxy/loop/port.h"
#include "proxy/loop/region.h"
#include "proxy/transport.h"

/* What a PE gives the others. A pointer means something in one process only. */
struct gsh_loop_address {
    uint64_t port;
    uint64_t process; /* gsh_process_id */
};

enum gsh_loop_kind { GSH_LOOP_PUT, GSH_LOOP_GET, GSH_LOOP_FLUSH, GSH_LOOP_SEND };

/* An operation under way. */
struct gsh_loop_work {
    struct gsh_link link;
    enum gsh_loop_kind kind;
    int pe;
    unsigned path;     /* PUT, FLUSH */
    struct gsh_op *op; /* NULL: already reported complete */
    enum gsh_result result;
    uint64_t sequence; /* flush: waits for puts before it on its path */
    unsigned delay;    /* calls of progress that will still skip it */
    uint8_t *remote, *local;
    uint64_t bytes;
    const void *header; /* SEND */
    size_t header_bytes;
    uint8_t *copy; /* PUT: of the source, once op was reported complete */
};

struct gsh_loop_peer {
    struct gsh_loop_port *port;
    bool is_lost;
    struct gsh_loop_region *regions;
    struct gsh_link sends; /* in order */
};

struct gsh_loop {
    struct gsh_transport base;
    struct gsh_loop_port *port;
    struct gsh_loop_address address;
    bool is_armed; /* nothing has been requested since */
    uint64_t random;
    uint64_t sequence;
    struct gsh_loop_region *regions; /* own; a region's memory is its key */
    struct gsh_link works;           /* puts, gets, flushes */
    struct gsh_link told;            /* complete; done is to be called */
    struct gsh_loop_peer peers[];
};

static inline struct gsh_loop *gsh_loop_of(struct gsh_transport *t)
{
    return (struct gsh_loop *)t;
}

/* Rows of struct gsh_transport_ops. */
enum gsh_result gsh_loop_put(struct gsh_transport *t, int pe, unsigned path, uint64_t off,
                             const void *source, uint64_t bytes, struct gsh_op *op,
                             bool *is_pending);
enum gsh_result gsh_loop_get(struct gsh_transport *t, int pe, uint64_t off, void *dest,
                             uint64_t bytes, struct gsh_op *op, bool *is_pending);
enum gsh_result gsh_loop_flush(struct gsh_transport *t, int pe, unsigned path, struct gsh_op *op,
                               bool *is_pending);
enum gsh_result gsh_loop_send(struct gsh_transport *t, int pe, const void *header,
                              size_t header_bytes, const void *data, size_t bytes,
                              struct gsh_op *op, bool *is_pending);
void gsh_loop_lose(struct gsh_transport *t, int pe, const char *reason);
unsigned gsh_loop_progress(struct gsh_transport *t);
bool gsh_loop_arm(struct gsh_transport *t);
/* Tells no PE. */
void gsh_loop_free_works(struct gsh_link *works);

#endif
