/* SPDX-License-Identifier: Apache-2.0
 * What a model adapter shows the others of this machine, and how it reaches them: its sheet, a page
 * of shared memory with keys, pieces of memory and the states of its queues.
 *
 * PEs of one process find each other's ports in a list of the process; those of another process
 * open its sheet and its files by their descriptors in /proc, and map them. What a sheet says is
 * checked before it is used, and no address of another process's is.
 *
 * A port's lock keeps its pieces while somebody copies; copies take it shared, so it orders no copy
 * before another. */
#ifndef GSH_MODEL_SHEET_H
#define GSH_MODEL_SHEET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"

#define GSH_MODEL_KEYS       64
#define GSH_MODEL_PIECES     4096
#define GSH_MODEL_QUEUES_MAX (1u << 20)
#define GSH_MODEL_LETTERS    64u /* immediates that a queue holds, a power of two */

enum gsh_model_right {
    GSH_MODEL_LOCAL_WRITE = 1,
    GSH_MODEL_REMOTE_WRITE = 2,
    GSH_MODEL_REMOTE_READ = 4,
    GSH_MODEL_REMOTE_ATOMIC = 8,
};

/* Written by its owner. value: 0: no key. is_everything: all addresses of the owner's process, for
 * its own queues alone. */
struct gsh_model_key {
    uint32_t value, domain, rights, is_everything;
};

/* [off, off + bytes) of a key's addresses, which a file has from file_off on. */
struct gsh_model_piece {
    uint64_t generation; /* atomic; 0: free. The owner writes it last, and first when it goes */
    uint64_t off, bytes, file_off;
    uint32_t key; /* its value */
    int32_t fd;   /* the owner's descriptor; -1: only this process reaches it */
};

enum gsh_model_state {
    GSH_MODEL_RESET,
    GSH_MODEL_INIT,
    GSH_MODEL_TO_RECEIVE,
    GSH_MODEL_TO_SEND,
    GSH_MODEL_ERROR,
};

/* A queue as the other end sees it. Its owner writes all but letters and n_letters, which the other
 * end does. */
struct gsh_model_link {
    uint32_t state; /* enum gsh_model_state; atomic */
    int32_t pe;
    uint32_t peer_number, domain;
    uint32_t n_receives, n_letters; /* posted and used so far; atomic */
    uint32_t letters[GSH_MODEL_LETTERS];
};

struct gsh_model_sheet {
    uint32_t magic, n_links;
    uint64_t id; /* of the port, in its process */
    struct gsh_model_key keys[GSH_MODEL_KEYS];
    struct gsh_model_piece pieces[GSH_MODEL_PIECES];
    struct gsh_model_link links[];
};

struct gsh_model_port {
    struct gsh_model_port *next; /* the process's list */
    struct gsh_model_sheet *sheet;
    size_t sheet_bytes;
    int fd; /* the sheet's; -1: the job is one process */
    /* As in the adapter's options. */
    enum gsh_result (*copy)(void *context, void *dest, const void *source, uint64_t bytes);
    void *context;
    unsigned users; /* under the list's lock */
    uint64_t id, n_generations;
    pthread_rwlock_t lock;
    bool is_closed;                       /* under lock */
    uint8_t *address[GSH_MODEL_PIECES];   /* of each piece, in this process */
    uint64_t owned_off[GSH_MODEL_PIECES]; /* of the region that it is part of */
};

/* NULL: no memory, noted. */
struct gsh_model_port *gsh_model_port_create(uint32_t n_links, bool is_one_process);
/* Nobody reaches its memory any more. */
void gsh_model_port_close(struct gsh_model_port *port);
void gsh_model_port_release(struct gsh_model_port *port); /* accepts NULL */

/* A new key's value; 0: there is no room. */
uint32_t gsh_model_add_key(struct gsh_model_port *port, uint32_t domain, uint32_t rights,
                           bool is_everything);
/* Memory of this process at these addresses of the key. */
GSH_CHECK_RESULT enum gsh_result gsh_model_bind(struct gsh_model_port *port, uint32_t key,
                                                void *memory, uint64_t off, uint64_t bytes);
GSH_CHECK_RESULT enum gsh_result gsh_model_unbind(struct gsh_model_port *port, uint32_t key,
                                                  uint64_t off);

/* ---- another PE's, or the own one ---- */

/* What a PE tells the others. */
struct gsh_model_address {
    uint64_t process, id;
    uint32_t key, n_links;
    int32_t pid, fd;
};

/* Of one PE, seen from another. */
struct gsh_model_view {
    struct gsh_model_port *port;   /* in this process; else NULL, and: */
    struct gsh_model_sheet *sheet; /* of either kind */
    size_t sheet_bytes;
    uint32_t n_links;
    int32_t pid;
    struct gsh_model_mapping {
        uint64_t generation; /* 0: not mapped */
        uint8_t *address;
        uint64_t bytes, slack;
    } * mappings; /* [GSH_MODEL_PIECES] */
};

GSH_CHECK_RESULT enum gsh_result gsh_model_view_open(struct gsh_model_view *view, int pe,
                                                     const struct gsh_model_address *address);
void gsh_model_view_close(struct gsh_model_view *view); /* accepts zeros */
/* The PE's memory stays until leave, which must not be called if this is false: it has ended. */
bool gsh_model_view_enter(struct gsh_model_view *view);
void gsh_model_view_leave(struct gsh_model_view *view);
/* The view's PE has its memory in a device: only gsh_model_view_copy reaches it. */
static inline bool gsh_model_view_is_device(const struct gsh_model_view *view)
{
    return view->port != NULL && view->port->copy != NULL;
}
/* To or from memory that find has found there, of a device. */
static inline bool gsh_model_view_copy(const struct gsh_model_view *view, void *dest,
                                       const void *source, uint64_t bytes)
{
    return view->port->copy(view->port->context, dest, source, bytes) == GSH_OK;
}
/* Where the bytes from that address of the key lie, and how many of them in one piece, at most
 * `bytes`. NULL: the key does not exist, is of another domain, lacks a right, or has nothing there.
 * is_own: the view is of the own port. Between enter and leave. */
uint8_t *gsh_model_view_find(struct gsh_model_view *view, bool is_own, uint32_t key,
                             uint32_t domain, uint32_t rights, uint64_t address, uint64_t bytes,
                             uint64_t *found);

#endif
