/* SPDX-License-Identifier: Apache-2.0
 * TCP with time limits: connect, and whole messages sent and received at once in both directions.
 * All descriptors are non-blocking and close-on-exec; no call raises SIGPIPE. Failures get no text
 * here, since only the caller knows who is at the other end; errno is kept. uid.c and
 * tcp_listener.c interpret the bytes. */
#ifndef GSH_SOCKET_H
#define GSH_SOCKET_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"
#include "base/util.h"

/* An IP address and port as it travels: bytes in network order, no padding. */
struct gsh_address {
    uint8_t family; /* 4 or 6; 0: none */
    uint8_t zero;
    uint8_t port[2];
    uint8_t ip[16]; /* IPv4: the first four */
};
_Static_assert(sizeof(struct gsh_address) == 20, "travels between PEs");

#define GSH_ADDRESS_TEXT 64
/* "10.0.0.1:5000" or "[fd00::1]:5000" */
const char *gsh_address_text(const struct gsh_address *address, char text[GSH_ADDRESS_TEXT]);

/* The same text, with a port that is not 0; false: it is none. */
bool gsh_address_from_text(const char *text, struct gsh_address *out);

/* A time limit as a deadline by gsh_now_ns; 0 is none. */
static inline uint64_t gsh_deadline_in(uint64_t timeout_ns)
{
    return timeout_ns ? gsh_now_ns() + timeout_ns : 0;
}

/* What is left, for poll: milliseconds rounded up; -1 without a limit; 0 when it has passed. */
int gsh_deadline_poll_ms(uint64_t deadline_ns);
/* The shorter of two times for poll; limit_ms: -1 without a limit. */
static inline int gsh_poll_ms_at_most(int limit_ms, int most_ms)
{
    return limit_ms < 0 || limit_ms > most_ms ? most_ms : limit_ms;
}

/* bound receives the address with the port that was assigned. */
GSH_CHECK_RESULT enum gsh_result gsh_socket_listen(const struct gsh_address *at, int *fd,
                                                   struct gsh_address *bound);
/* A listener that finds no descriptor for a client leaves it in the kernel's queue, and looks no
 * earlier than that for whether there is one: else it would find the client again, for ever. */
#define GSH_ACCEPT_RETRY_NS UINT64_C(10000000)
/* To have looked in vain so often is a failure. Looks are counted, since a busy machine may let
 * seconds pass between two. */
#define GSH_ACCEPT_LOOKS 200
/* Whether a call that makes a descriptor has failed, with this errno, because the process or the
 * system has no more of them, or no memory for one: that may pass. */
static inline bool gsh_error_is_no_descriptor(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

/* *fd is -1 if no connection waits. */
GSH_CHECK_RESULT enum gsh_result gsh_socket_accept(int listen_fd, int *fd);
GSH_CHECK_RESULT enum gsh_result gsh_socket_connect(const struct gsh_address *to,
                                                    uint64_t deadline_ns, int *fd);
GSH_CHECK_RESULT enum gsh_result gsh_socket_local_address(int fd, struct gsh_address *out);
/* Closes *fd unless it is negative, and makes it -1; private_fd.h's are forgotten. */
void gsh_socket_close(int *fd);
/* The same, and ends the connection even if a forked child also has the descriptor. */
void gsh_socket_hang_up(int *fd);

/* One direction of a transfer. */
struct gsh_socket_part {
    int fd;
    void *data; /* only read when sending */
    size_t bytes;
    size_t done;
    bool may_lag;   /* sending: return as soon as the other part is complete */
    bool is_broken; /* written on failure: this side failed */
};

/* Sends all of out and receives all of in, as soon as either is possible, so two ranks that send to
 * each other never deadlock. GSH_ERR_PEER when a side is closed or reset, GSH_ERR_TIMEOUT past the
 * deadline. Either may have 0 bytes. */
GSH_CHECK_RESULT enum gsh_result
gsh_socket_exchange(struct gsh_socket_part *out, struct gsh_socket_part *in, uint64_t deadline_ns);
GSH_CHECK_RESULT enum gsh_result gsh_socket_send(int fd, const void *data, size_t bytes,
                                                 uint64_t deadline_ns);
GSH_CHECK_RESULT enum gsh_result gsh_socket_recv(int fd, void *data, size_t bytes,
                                                 uint64_t deadline_ns);
/* As much as can be moved without waiting; *moved may be 0. */
GSH_CHECK_RESULT enum gsh_result gsh_socket_send_some(int fd, const void *data, size_t bytes,
                                                      size_t *moved);
GSH_CHECK_RESULT enum gsh_result gsh_socket_recv_some(int fd, void *data, size_t bytes,
                                                      size_t *moved);

#ifdef GSH_FAULTS
/* Makes this thread's call'th system call from here on (1 is the next one) fail with EIO; 0: none.
 * Returns whether the previously chosen call was reached. */
bool gsh_socket_fail_at(unsigned call);
#endif

#endif
