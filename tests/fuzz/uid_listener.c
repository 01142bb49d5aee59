/* SPDX-License-Identifier: Apache-2.0
 * Strangers at a listener: any number of connections that say anything, in any pieces and any
 * order, with and without the secret. Only a whole hello with the right MAC is admitted, once, as
 * it was said; the listener goes on after everything else.
 *
 * Connections are socket pairs, and an eventfd stands for the listener. The listener never sleeps:
 * epoll_wait ends with an error when nothing is ready. */
#define gsh_socket_listen real_gsh_socket_listen
#define gsh_socket_accept real_gsh_socket_accept
#include "bootstrap/socket.c"
#undef gsh_socket_listen
#undef gsh_socket_accept
enum gsh_result gsh_socket_listen(const struct gsh_address *at, int *fd, struct gsh_address *bound);
enum gsh_result gsh_socket_accept(int listen_fd, int *fd);

#include "tests/fuzz/fuzz.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include "bootstrap/tcp_listener.h"

#define MAX_GUESTS 160

struct guest {
    int fd;        /* ours; -1: closed, or not come yet */
    int its_fd;    /* the listener's, until it has accepted it */
    size_t n_said; /* bytes of its hello */
    bool has_met;  /* it knows its challenge */
    struct gsh_hello hello, said;
    uint8_t challenge[GSH_NONCE_BYTES];
};

static const uint8_t secret[GSH_SHA256_BYTES] = "the secret of this job";
static const uint8_t link_challenge[GSH_NONCE_BYTES] = "of a link";
static struct guest guests[MAX_GUESTS];
static int n_come, n_accepted, listener_fd;
static bool is_full; /* no descriptor is left for the listener */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    return 0;
}

/* The same for the same input. */
ssize_t getrandom(void *out, size_t bytes, unsigned flags)
{
    (void)flags;
    memset(out, 0x40 + n_accepted, bytes);
    return (ssize_t)bytes;
}

enum gsh_result gsh_socket_listen(const struct gsh_address *at, int *fd, struct gsh_address *bound)
{
    *bound = *at;
    *fd = listener_fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
    return *fd >= 0 ? GSH_OK : GSH_ERR_SYSTEM;
}

enum gsh_result gsh_socket_accept(int listen_fd, int *fd)
{
    uint64_t one;
    if (is_full) {
        errno = EMFILE;
        return GSH_ERR_SYSTEM;
    }
    *fd = read(listen_fd, &one, sizeof(one)) == sizeof(one) ? guests[n_accepted++].its_fd : -1;
    return GSH_OK;
}

int epoll_wait(int epoll_fd, struct epoll_event *events, int n, int timeout)
{
    (void)timeout;
    int n_ready = epoll_pwait(epoll_fd, events, n, 0, NULL);
    if (n_ready == 0) {
        errno = EBADF;
        return -1;
    }
    return n_ready;
}

static void come(struct fuzz_input *in)
{
    uint64_t one = 1;
    int fds[2];
    if (n_come == MAX_GUESTS) {
        return;
    }
    struct guest *g = &guests[n_come++];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    memset(g, 0, sizeof(*g));
    g->fd = fds[0];
    g->its_fd = fds[1];
    g->hello.kind = 1 + (uint32_t)fuzz_take(in, 1) % 2;
    g->hello.rank = (uint32_t)n_come;
    FUZZ_CHECK(write(listener_fd, &one, sizeof(one)) == sizeof(one));
}

/* Reads what the listener has sent, and seals the hello with it. */
static void meet(struct guest *g, bool is_link)
{
    struct gsh_challenge challenge;
    size_t n = 0;
    if (g->has_met || g->fd < 0) {
        return;
    }
    if (!is_link) {
        (void)!gsh_socket_recv_some(g->fd, &challenge, sizeof(challenge), &n);
        g->has_met = n == sizeof(challenge);
        memcpy(g->challenge, challenge.nonce, sizeof(g->challenge));
    } else {
        g->has_met = true;
        memcpy(g->challenge, link_challenge, sizeof(g->challenge));
    }
    if (g->has_met) {
        gsh_hello_seal(&g->hello, secret, g->challenge);
    }
}

static void say(struct guest *g, const void *data, size_t n)
{
    size_t moved = 0;
    if (g->fd >= 0 && n > 0) {
        (void)!gsh_socket_send_some(g->fd, data, n, &moved);
        memcpy((char *)&g->said + gsh_min_u64(g->n_said, sizeof(g->said)), data,
               gsh_min_u64(moved, sizeof(g->said) - gsh_min_u64(g->n_said, sizeof(g->said))));
        g->n_said += moved;
    }
}

static void hear_out(struct gsh_tcp_listener *listener)
{
    struct gsh_tcp_listener_event event;
    while (gsh_tcp_listener_next(listener, 0, &event) == GSH_OK) {
        FUZZ_CHECK(event.tag == -1 && event.fd >= 0);
        FUZZ_CHECK(event.hello.rank >= 1 && event.hello.rank <= (uint32_t)n_come);
        struct guest *g = &guests[event.hello.rank - 1];
        FUZZ_CHECK(event.fd == g->its_fd && g->n_said >= sizeof(g->said));
        FUZZ_CHECK(memcmp(&event.hello, &g->said, sizeof(g->said)) == 0);
        FUZZ_CHECK(g->has_met && gsh_hello_is_true(&g->said, secret, g->challenge));
        close(event.fd);
        g->its_fd = -1;
    }
}

static void act(struct gsh_tcp_listener *listener, struct fuzz_input *in, bool is_link)
{
    unsigned what = (unsigned)fuzz_take(in, 1);
    uint8_t junk[256];
    struct guest *g = &guests[n_come > 0 ? (int)(fuzz_take(in, 1) % (unsigned)n_come) : 0];
    if (what % 8 == 0 || n_come == 0) {
        for (unsigned i = what >= 248 ? 40 : 1; i > 0; i--) {
            come(in);
        }
        return;
    }
    size_t n = fuzz_take(in, 1);
    switch (what % 8) {
    case 1:
        hear_out(listener);
        break;
    case 2:
        meet(g, is_link);
        break;
    case 3: /* the next part of the hello */
    case 4:
        meet(g, is_link);
        n = gsh_min_u64(n, sizeof(g->hello) - gsh_min_u64(g->n_said, sizeof(g->hello)));
        say(g, (char *)&g->hello + gsh_min_u64(g->n_said, sizeof(g->hello)), n);
        break;
    case 5:
        fuzz_take_bytes(in, junk, n % 120);
        say(g, junk, n % 120);
        break;
    case 6:
        gsh_socket_hang_up(&g->fd);
        break;
    default: /* descriptors run out, or no longer; or another hello, sealed for its challenge */
        is_full = what >= 248 ? !is_full : is_full;
        if (g->n_said == 0 && g->has_met) {
            fuzz_take_bytes(in, &g->hello.n_ranks, 4);
            gsh_hello_seal(&g->hello, secret, g->challenge);
        }
    }
}

/* First byte: bit 0, the listener is a link's. Then what guests do. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, bytes};
    struct gsh_address at = {.family = 4};
    struct gsh_tcp_listener *listener = NULL;
    bool is_link = fuzz_take(&in, 1) & 1;
    n_come = n_accepted = 0;
    is_full = false;
    FUZZ_CHECK(gsh_tcp_listener_create(&at, is_link ? link_challenge : NULL, &listener) == GSH_OK);
    gsh_tcp_listener_set_secret(listener, secret);
    for (int i = 0; i < 300 && in.bytes > 0; i++) {
        act(listener, &in, is_link);
    }
    hear_out(listener);
    gsh_tcp_listener_destroy(&listener);
    for (int i = 0; i < n_come; i++) {
        gsh_socket_close(&guests[i].fd);
        if (i >= n_accepted) {
            gsh_socket_close(&guests[i].its_fd);
        }
    }
    return 0;
}
