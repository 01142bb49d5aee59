/* SPDX-License-Identifier: Apache-2.0
 * How processes of a job on one node connect to each other: a rank's door is a SOCK_SEQPACKET
 * socket with an abstract name that only holders of the job's secret can compute. Each name is
 * derived by itself, so whoever has seen one cannot take another before its rank does.
 *
 *   visitor -> door   connects; goes no further unless the door is of its own user
 *   door              drops a visitor of another user at once
 *   visitor -> door   struct gsh_door_hello, with a MAC over the door's name, ranks and a nonce
 *   door -> visitor   struct gsh_door_answer, a MAC over the hello
 *
 * Then each side knows that the other is of its user and has the secret, which does not travel.
 * Only then may anything else be sent. The connection belongs to the callers, who need no MAC on
 * it: the kernel lets nobody into it. Nothing here waits, and failures get no text but by
 * gsh_door_fail. One thread at a time uses a door. */
#ifndef GSH_DOOR_H
#define GSH_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/keys.h"
#include "base/result.h"

#define GSH_DOOR_MAC_BYTES   32
#define GSH_DOOR_NONCE_BYTES 16

struct gsh_door;

/* What travels. */
struct gsh_door_hello {
    uint32_t magic;
    int32_t from, to; /* ranks */
    uint8_t nonce[GSH_DOOR_NONCE_BYTES];
    uint8_t mac[GSH_DOOR_MAC_BYTES];
};
_Static_assert(sizeof(struct gsh_door_hello) == 60, "no padding");

struct gsh_door_answer {
    uint8_t mac[GSH_DOOR_MAC_BYTES];
};

/* Whose doors: one purpose of one job ("monitor", "fdpass"). */
struct gsh_door_of {
    const char *purpose; /* a literal */
    uint8_t key[GSH_KEY_BYTES];
    uint8_t secret[GSH_SECRET_BYTES];
};
void gsh_door_of(struct gsh_door_of *of, const uint8_t secret[GSH_SECRET_BYTES],
                 const char *purpose);

/* Opens this rank's door. GSH_ERR_SYSTEM with errno. */
GSH_CHECK_RESULT enum gsh_result gsh_door_open(const struct gsh_door_of *of, int rank,
                                               struct gsh_door **out);
/* Visitors that have not been admitted are dropped. Not needed by admitted ones. */
void gsh_door_close(struct gsh_door **door);

/* Can be polled for input: there is something for gsh_door_admit to do. */
int gsh_door_fd(const struct gsh_door *door);

/* Goes on with all that have come. *fd is the next visitor that has proved itself, and *from its
 * rank, >= 0; -1: none for now. Strangers take no time of others: the oldest goes when descriptors
 * or places run out. GSH_ERR_SYSTEM with errno when there is no descriptor for a visitor. */
GSH_CHECK_RESULT enum gsh_result gsh_door_admit(struct gsh_door *door, int *fd, int *from);

/* A visit to another rank's door. */
struct gsh_visit {
    int fd; /* -1: not begun */
    bool has_knocked;
    struct gsh_door_hello hello;
};

/* Only makes the descriptor, so that nothing can be missing later; *visit is {.fd = -1} before. */
GSH_CHECK_RESULT enum gsh_result gsh_visit_begin(struct gsh_visit *visit);
/* Connects and says hello, unless that is done; begins the visit if need be. If has_knocked is
 * still false, the door's queue is full: try again. GSH_ERR_PEER: there is no such door (yet).
 * GSH_ERR_ARG with EPERM: it is another user's. After a failure the visit is {.fd = -1} again. */
GSH_CHECK_RESULT enum gsh_result gsh_visit_knock(struct gsh_visit *visit,
                                                 const struct gsh_door_of *of, int from, int to);
/* When fd has input: the answer. *is_in: it was right, and fd is the caller's. GSH_ERR_PEER: the
 * door closed. GSH_ERR_ARG with EPROTO: it does not have the secret. Closes fd on failure. */
GSH_CHECK_RESULT enum gsh_result gsh_visit_hear(struct gsh_visit *visit,
                                                const struct gsh_door_of *of, bool *is_in);

/* Composes the text of a failed visit to PE `to`; what: what for. Returns r. */
enum gsh_result gsh_door_fail(enum gsh_result r, const char *what, int to);

/* The parsers of what travels: `bytes` bytes came in `data`, from any process of this user. */
bool gsh_door_is_true_hello(const struct gsh_door_of *of, int to, const void *data, size_t bytes,
                            struct gsh_door_hello *out);
bool gsh_door_is_true_answer(const struct gsh_door_of *of, const struct gsh_door_hello *hello,
                             const void *data, size_t bytes);

#endif
