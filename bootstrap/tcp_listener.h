/* SPDX-License-Identifier: Apache-2.0
 * A listening socket that admits only clients that prove knowledge of an id's secret. Strangers,
 * garbage and hanging connections only hold a connection for a while: a newcomer replaces the
 * oldest silent one. All listeners of a process use at most an eighth of its descriptors, or 8
 * each. Used by the rendezvous, and by each rank while its links are made; they interpret an
 * admitted hello. */
#ifndef GSH_TCP_LISTENER_H
#define GSH_TCP_LISTENER_H

#include "bootstrap/uid_wire.h"

struct gsh_tcp_listener;

/* Listens at `at` (port 0: any). With a challenge (links) every client must answer that one; with
 * NULL each client gets its own. */
GSH_CHECK_RESULT enum gsh_result gsh_tcp_listener_create(const struct gsh_address *at,
                                                         const uint8_t challenge[GSH_NONCE_BYTES],
                                                         struct gsh_tcp_listener **out);
void gsh_tcp_listener_destroy(struct gsh_tcp_listener **listener);
/* The address for clients. */
const struct gsh_address *gsh_tcp_listener_address(const struct gsh_tcp_listener *listener);
/* The process needs n descriptors in all, for other things than clients: these take fewer, if that
 * leaves fewer, but still 8. */
void gsh_tcp_listener_leave_files(struct gsh_tcp_listener *listener, int n);
/* Children that are forked from now on do not hold it open. */
void gsh_tcp_listener_keep_from_children(struct gsh_tcp_listener *listener);
/* Separate, since the rendezvous knows its own address before the secret. */
void gsh_tcp_listener_set_secret(struct gsh_tcp_listener *listener,
                                 const uint8_t secret[GSH_SHA256_BYTES]);

/* Also report whenever fd, which the caller keeps, is closed or has input; tag >= 0 names it. */
GSH_CHECK_RESULT enum gsh_result gsh_tcp_listener_add(struct gsh_tcp_listener *listener, int fd,
                                                      int tag);
/* Must come before fd is closed: a forked child may keep it open. */
void gsh_tcp_listener_remove(struct gsh_tcp_listener *listener, int fd);

struct gsh_tcp_listener_event {
    int tag;                /* a watched descriptor is readable; -1: a client was admitted: */
    int fd;                 /* the caller's from now on */
    struct gsh_hello hello; /* what it said */
    uint8_t challenge[GSH_NONCE_BYTES]; /* which it answered */
};

/* By any thread: the listener admits no more clients, and gsh_tcp_listener_next fails. */
void gsh_tcp_listener_shutdown(struct gsh_tcp_listener *listener);

/* Waits for the next event. GSH_ERR_TIMEOUT past the deadline, without a text. Clients for whom
 * there is no descriptor wait; GSH_ERR_SYSTEM with EMFILE when there is none at the
 * GSH_ACCEPT_LOOKSth look, and at each one after that. */
GSH_CHECK_RESULT enum gsh_result gsh_tcp_listener_next(struct gsh_tcp_listener *listener,
                                                       uint64_t deadline_ns,
                                                       struct gsh_tcp_listener_event *event);

#endif
