/* SPDX-License-Identifier: Apache-2.0
 * How processes of a job on one node connect to each other: a rank's listener is a SOCK_SEQPACKET
 * socket with an abstract name that only holders of the job's secret can compute. Each name is
 * derived separately, so a process that has seen one name cannot bind another rank's before that
 * rank does.
 *
 *   client -> listener   connects; goes no further unless the listener is its own user's
 *   listener             drops a client of another user at once
 *   client -> listener   struct gsh_uds_hello: a MAC over the listener's name, ranks, a nonce
 *   listener -> client   struct gsh_uds_answer, a MAC over the hello
 *
 * Then each side knows that the other is of its user and has the secret, which does not travel.
 * Only then may anything else be sent. The connection then belongs to the callers. They need no MAC
 * on it, since the kernel lets no third process into it. Nothing here waits. Failures have no text,
 * unless the caller calls gsh_uds_fail. One thread at a time uses a listener. */
#ifndef GSH_UDS_H
#define GSH_UDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/keys.h"
#include "base/result.h"

#define GSH_UDS_MAC_BYTES   32
#define GSH_UDS_NONCE_BYTES 16

struct gsh_uds_listener;

/* What travels. */
struct gsh_uds_hello {
    uint32_t magic;
    int32_t from, to; /* ranks */
    uint8_t nonce[GSH_UDS_NONCE_BYTES];
    uint8_t mac[GSH_UDS_MAC_BYTES];
};
_Static_assert(sizeof(struct gsh_uds_hello) == 60, "no padding");

struct gsh_uds_answer {
    uint8_t mac[GSH_UDS_MAC_BYTES];
};

/* Whose listeners: one purpose of one job ("monitor", "fdpass"). */
struct gsh_uds_key {
    const char *purpose; /* a literal */
    uint8_t key[GSH_KEY_BYTES];
    uint8_t secret[GSH_SECRET_BYTES];
};
void gsh_uds_key(struct gsh_uds_key *of, const uint8_t secret[GSH_SECRET_BYTES],
                 const char *purpose);

/* Opens this rank's listener. GSH_ERR_SYSTEM with errno. */
GSH_CHECK_RESULT enum gsh_result gsh_uds_listen(const struct gsh_uds_key *of, int rank,
                                                struct gsh_uds_listener **out);
/* Clients that have not been admitted are dropped. Not needed by admitted ones. */
void gsh_uds_close(struct gsh_uds_listener **listener);

/* Can be polled for input: there is something for gsh_uds_accept to do. */
int gsh_uds_fd(const struct gsh_uds_listener *listener);

/* How long to poll gsh_uds_fd before gsh_uds_accept must be called again in any case, at most
 * limit_ms; -1: no limit. */
int gsh_uds_poll_ms(const struct gsh_uds_listener *listener, int limit_ms);

/* Goes on with all that have come. *fd is the next client that has proved itself, and *from its
 * rank, >= 0; -1: none for now. Strangers take no time of others: the oldest that says nothing goes
 * when descriptors or client records run out. Clients for whom there is no descriptor wait;
 * GSH_ERR_SYSTEM with errno when there is none at the GSH_ACCEPT_LOOKSth look. */
GSH_CHECK_RESULT enum gsh_result gsh_uds_accept(struct gsh_uds_listener *listener, int *fd,
                                                int *from);

/* A connection to another rank's listener. */
struct gsh_uds_connection {
    int fd; /* -1: not begun */
    bool has_sent_hello;
    struct gsh_uds_hello hello;
};

/* Only makes the descriptor, so that nothing can be missing later; *connection is {.fd = -1}
 * before. */
GSH_CHECK_RESULT enum gsh_result gsh_uds_connection_create(struct gsh_uds_connection *connection);
/* Connects and says hello, unless that is done; makes the descriptor if need be. If has_sent_hello
 * is still false, the listener's queue is full: try again. GSH_ERR_PEER: there is no such listener
 * (yet). GSH_ERR_ARG with EPERM: it is another user's. After a failure the connection is {.fd = -1}
 * again. */
GSH_CHECK_RESULT enum gsh_result gsh_uds_connect(struct gsh_uds_connection *connection,
                                                 const struct gsh_uds_key *of, int from, int to);
/* When fd has input: the answer. *is_in: it was right, and fd is the caller's. GSH_ERR_PEER: the
 * listener closed. GSH_ERR_ARG with EPROTO: it does not have the secret. Closes fd on failure. */
GSH_CHECK_RESULT enum gsh_result gsh_uds_receive_answer(struct gsh_uds_connection *connection,
                                                        const struct gsh_uds_key *of, bool *is_in);

/* Composes the text of a failed connection to PE `to`; what: what for. Returns r. */
enum gsh_result gsh_uds_fail(enum gsh_result r, const char *what, int to);

/* The parsers of what travels: `bytes` bytes came in `data`, from any process of this user. */
bool gsh_uds_is_true_hello(const struct gsh_uds_key *of, int to, const void *data, size_t bytes,
                           struct gsh_uds_hello *out);
bool gsh_uds_is_true_answer(const struct gsh_uds_key *of, const struct gsh_uds_hello *hello,
                            const void *data, size_t bytes);

#endif
