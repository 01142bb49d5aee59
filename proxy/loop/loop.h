/* SPDX-License-Identifier: Apache-2.0
 * Parts of the loop transport: the ports where its threads meet, and lists of regions. Private to
 * it. */
#ifndef GSH_LOOP_H
#define GSH_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/base/result.h"

/* ---- ports: one for each PE, kept until everybody who knows it has gone ---- */

struct gsh_loop_letter {
    struct gsh_loop_letter *next;
    size_t header_bytes, bytes;
    uint8_t data[]; /* header, then data */
};

struct gsh_loop_letters {
    struct gsh_loop_letter *head, *tail;
};

struct gsh_loop_port {
    uint64_t magic;
    int n_holders;         /* atomic */
    pthread_rwlock_t life; /* held shared while others are at the PE's memory */
    bool is_gone;          /* under life */
    pthread_mutex_t lock;  /* of all that follows */
    bool is_armed;         /* the next letter makes event_fd readable */
    int event_fd;
    int n_pes;
    struct gsh_loop_letters from[];
};

#define GSH_LOOP_PORT_MAGIC 0x67736820706f7274u

/* NULL: errno says why. Held by its maker. */
struct gsh_loop_port *gsh_loop_port_create(int n_pes);
void gsh_loop_port_hold(struct gsh_loop_port *port);
void gsh_loop_port_release(struct gsh_loop_port *port); /* accepts NULL */
/* The PE's memory stays until leave. False: it has ended, there is nothing to leave. */
bool gsh_loop_port_enter(struct gsh_loop_port *port);
void gsh_loop_port_leave(struct gsh_loop_port *port);
/* Its PE ends: no copy from or to it is under way or begins any more. */
void gsh_loop_port_close(struct gsh_loop_port *port);
/* Copies the message. False: no memory. */
bool gsh_loop_port_post(struct gsh_loop_port *port, int from_pe, const void *header,
                        size_t header_bytes, const void *data, size_t bytes);
/* NULL: there is none. The letter is the caller's. */
struct gsh_loop_letter *gsh_loop_port_take(struct gsh_loop_port *port, int from_pe);
/* False: there are letters. */
bool gsh_loop_port_arm(struct gsh_loop_port *port);
/* As a letter does. */
void gsh_loop_port_stir(struct gsh_loop_port *port);

/* ---- regions of one heap, which lie in memory as their offsets say ---- */

struct gsh_loop_region {
    struct gsh_loop_region *next;
    uint64_t off, bytes;
    uint8_t *memory;
    void *made; /* the memory, when it is the region's own */
};

/* NULL: no memory, noted. */
struct gsh_loop_region *gsh_loop_region_add(struct gsh_loop_region **regions, uint8_t *memory,
                                            uint64_t off, uint64_t bytes);
/* The same of memory of its own, freed with the region. */
struct gsh_loop_region *gsh_loop_region_make(struct gsh_loop_region **regions, uint64_t off,
                                             uint64_t bytes);
GSH_CHECK_RESULT enum gsh_result gsh_loop_region_remove(struct gsh_loop_region **regions,
                                                        uint64_t off);
void gsh_loop_region_remove_all(struct gsh_loop_region **regions);
/* NULL: some of the range is in no region. */
uint8_t *gsh_loop_region_find(const struct gsh_loop_region *regions, uint64_t off, uint64_t bytes);

#endif
