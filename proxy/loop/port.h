/* SPDX-License-Identifier: Apache-2.0
 * Ports, where the loop transport's threads meet: one for each PE, kept until every thread that
 * knows it has gone. */
#ifndef GSH_LOOP_PORT_H
#define GSH_LOOP_PORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gsh_loop_port;

struct gsh_loop_letter {
    struct gsh_loop_letter *next;
    struct gsh_loop_port *sender; /* held */
    size_t header_bytes, bytes;
    uint8_t data[]; /* header, then data */
};

struct gsh_loop_letters {
    struct gsh_loop_letter *head, *tail;
};

struct gsh_loop_port {
    uint64_t magic;
    int n_holders;         /* atomic */
    pthread_rwlock_t life; /* held shared while others access the PE's memory */
    bool is_gone;          /* under life */
    pthread_mutex_t lock;  /* protects all that follows */
    uint32_t n_letters;    /* atomic: read without the lock, too */
    bool is_armed;         /* the next letter makes event_fd readable */
    int event_fd;
    int n_pes;
    struct gsh_loop_letters from[];
};

#define GSH_LOOP_PORT_MAGIC 0x67736820706f7274u

/* NULL: errno says why. The maker holds it. */
struct gsh_loop_port *gsh_loop_port_create(int n_pes);
void gsh_loop_port_hold(struct gsh_loop_port *port);
void gsh_loop_port_release(struct gsh_loop_port *port); /* accepts NULL */
/* The PE's memory stays until leave. False: the PE has ended, and leave must not be called. */
bool gsh_loop_port_enter(struct gsh_loop_port *port);
void gsh_loop_port_leave(struct gsh_loop_port *port);
/* Its PE ends: on return no copy from or to it is under way, and none will begin; its letters are
 * gone. */
void gsh_loop_port_close(struct gsh_loop_port *port);
/* Copies the message. The port has been entered. False: no memory. */
bool gsh_loop_port_post(struct gsh_loop_port *port, int from_pe, struct gsh_loop_port *sender,
                        const void *header, size_t header_bytes, const void *data, size_t bytes);
/* Costs no lock. False: none was there when the caller looked. */
bool gsh_loop_port_has_letters(const struct gsh_loop_port *port);
/* NULL: there is none. The caller owns the letter, and holds its sender. */
struct gsh_loop_letter *gsh_loop_port_take(struct gsh_loop_port *port, int from_pe);
/* False: there are letters. */
bool gsh_loop_port_arm(struct gsh_loop_port *port);
/* Wakes the PE as a letter does. */
void gsh_loop_port_stir(struct gsh_loop_port *port);

#endif
