/* SPDX-License-Identifier: Apache-2.0
 * A listening socket that admits only visitors that prove knowledge of an id's secret. Strangers,
 * garbage and hanging connections only cost a place for a while: a newcomer takes the place of the
 * oldest silent one. All gates of a process use at most an eighth of its descriptors, or 8 each.
 * Used by the rendezvous, and by each rank while its links are made; they interpret an admitted
 * hello. */
#ifndef GSH_GATE_H
#define GSH_GATE_H

#include "bootstrap/uid_wire.h"

struct gsh_gate;

/* Listens at `at` (port 0: any). With a challenge (links) every visitor must answer that one; with
 * NULL each visitor gets its own. */
GSH_CHECK_RESULT enum gsh_result gsh_gate_create(const struct gsh_address *at,
                                                 const uint8_t challenge[GSH_NONCE_BYTES],
                                                 struct gsh_gate **out);
void gsh_gate_destroy(struct gsh_gate **gate);
/* The address for visitors. */
const struct gsh_address *gsh_gate_address(const struct gsh_gate *gate);
/* The process needs n descriptors in all, for other things than visitors: these take fewer, if that
 * leaves fewer, but still 8. */
void gsh_gate_leave_files(struct gsh_gate *gate, int n);
/* Separate, since the rendezvous knows its own address before the secret. */
void gsh_gate_set_secret(struct gsh_gate *gate, const uint8_t secret[GSH_SHA256_BYTES]);

/* Also report whenever fd, which the caller keeps, is closed or has input; tag >= 0 names it. */
GSH_CHECK_RESULT enum gsh_result gsh_gate_watch(struct gsh_gate *gate, int fd, int tag);
/* Must come before fd is closed: a forked child may keep it open. */
void gsh_gate_unwatch(struct gsh_gate *gate, int fd);

struct gsh_gate_event {
    int tag;                /* a watched descriptor is readable; -1: a visitor was admitted: */
    int fd;                 /* the caller's from now on */
    struct gsh_hello hello; /* what it said */
};

/* By any thread: the gate admits no more visitors, and gsh_gate_next fails. */
void gsh_gate_shut(struct gsh_gate *gate);

/* Waits for the next event. GSH_ERR_TIMEOUT past the deadline, without a text. */
GSH_CHECK_RESULT enum gsh_result gsh_gate_next(struct gsh_gate *gate, uint64_t deadline_ns,
                                               struct gsh_gate_event *event);

#endif
