/* SPDX-License-Identifier: Apache-2.0
 * Exchanges of descriptors. A rank has a link to each rank that it has met. */
#define _GNU_SOURCE 1
#include "bootstrap/fdpass.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/array.h"
#include "base/limits.h"
#include "base/private_fd.h"
#include "base/util.h"
#include "bootstrap/descriptor.h"
#include "bootstrap/uds.h"
#include "bootstrap/socket.h"

/* How long to wait before the next try with a full receiver or a listener that is not there yet. */
#define RETRY_MS 1
/* Between looks at what may have ended the job. */
#define HEED_MS 100

static const char what[] = "passing descriptors";

struct kept {
    struct kept *next;
    struct gsh_fdpass_message message;
    int fd; /* -1: none */
};

enum link_state {
    LINK_NONE,
    LINK_OPEN, /* both sides have proved themselves */
    LINK_GONE  /* the rank has died or left */
};

struct link {
    int rank;
    enum link_state state;
    int fd;                               /* OPEN; else -1 */
    struct gsh_uds_connection connection; /* NONE, to a higher rank */
    struct kept *kept;                    /* arrived, oldest first; not yet wanted */
};

struct gsh_fdpass {
    struct gsh_uds_key of;
    int rank;
    uint64_t timeout_ns;
    struct gsh_uds_listener *listener; /* NULL: shut */
    struct link *links;                /* [n_links], in order of meeting */
    struct pollfd *polls;              /* [n_links + 2]; the listener's, and the heeded one */
    int n_links;
    size_t links_room, polls_room;
    int heeded; /* gsh_fdpass_heed's */
    bool (*has_ended)(void *context);
    void *context;
};

/* The rest of one exchange. */
struct exchange {
    const int *ranks;
    int n;
    uint64_t tag;
    int my_fd;
    int *fds_out;
    int *links;                    /* [n] indexes; -1: own rank */
    bool *has_sent, *has_received; /* [n] */
    int n_to_send, n_to_receive;
};

bool gsh_fdpass_is_message(const void *data, size_t bytes, bool has_fd,
                           struct gsh_fdpass_message *out)
{
    struct gsh_fdpass_message m;
    if (bytes != sizeof(m)) {
        return false;
    }
    memcpy(&m, data, sizeof(m));
    *out = m;
    switch (m.kind) {
    case GSH_FDPASS_NONE:
        return !has_fd && m.result == GSH_OK;
    case GSH_FDPASS_DESCRIPTOR: /* one that did not arrive is reported as such */
        return m.result == GSH_OK;
    case GSH_FDPASS_FAILED:
        return !has_fd && m.result > GSH_OK && m.result < GSH_RESULT_COUNT;
    default:
        return false;
    }
}

enum gsh_result gsh_fdpass_create(const uint8_t job[16], int rank, uint64_t timeout_ns,
                                  struct gsh_fdpass **out)
{
    struct gsh_fdpass *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory to pass descriptors");
    }
    gsh_uds_key(&f->of, job, "fdpass");
    f->rank = rank;
    f->timeout_ns = timeout_ns;
    f->heeded = -1;
    enum gsh_result r = gsh_uds_listen(&f->of, rank, &f->listener);
    if (r != GSH_OK) {
        r = gsh_note(r, "socket to pass descriptors: %s", strerror(errno));
        gsh_fdpass_destroy(&f);
        return r;
    }
    *out = f;
    return GSH_OK;
}

void gsh_fdpass_heed(struct gsh_fdpass *f, int fd, bool (*has_ended)(void *context), void *context)
{
    f->heeded = fd;
    f->has_ended = has_ended;
    f->context = context;
}

int gsh_fdpass_rank(const struct gsh_fdpass *f)
{
    return f->rank;
}

enum gsh_result gsh_fdpass_check_room(int n, int more)
{
    /* a connection and a descriptor for each, and a few of init's own until they arrive */
    int most = 2 * n + 4 + more, got = 0, error = 0;
    int *fds = malloc((size_t)most * sizeof(*fds));
    if (fds == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory to pass descriptors");
    }
    while (got < most && (fds[got] = eventfd(0, EFD_CLOEXEC)) >= 0) {
        got++;
    }
    error = errno;
    for (int i = 0; i < got; i++) {
        close(fds[i]);
    }
    free(fds);
    if (got < most) {
        return gsh_note(GSH_ERR_SYSTEM,
                        "passing descriptors among %d processes takes %d more open files, and %d "
                        "are possible: %s (ulimit -n)",
                        n + 1, most, got, strerror(error));
    }
    return GSH_OK;
}

static void drop_first(struct link *l)
{
    struct kept *k = l->kept;
    l->kept = k->next;
    gsh_socket_close(&k->fd);
    free(k);
}

void gsh_fdpass_destroy(struct gsh_fdpass **fdpass)
{
    struct gsh_fdpass *f = *fdpass;
    *fdpass = NULL;
    if (f == NULL) {
        return;
    }
    gsh_uds_close(&f->listener);
    for (int i = 0; i < f->n_links; i++) {
        gsh_socket_close(&f->links[i].fd);
        gsh_socket_close(&f->links[i].connection.fd);
        while (f->links[i].kept != NULL) {
            drop_first(&f->links[i]);
        }
    }
    free(f->links);
    free(f->polls);
    explicit_bzero(&f->of, sizeof(f->of));
    free(f);
}

void gsh_fdpass_shut(struct gsh_fdpass *f)
{
    gsh_uds_close(&f->listener);
}

/* The index of a rank's link, made if need be; -1: no memory. */
static int link_of(struct gsh_fdpass *f, int rank)
{
    for (int i = 0; i < f->n_links; i++) {
        if (f->links[i].rank == rank) {
            return i;
        }
    }
    const size_t n = (size_t)f->n_links + 1;
    if (!gsh_array_reserve(&f->links, &f->links_room, n, sizeof(*f->links)) ||
        !gsh_array_reserve(&f->polls, &f->polls_room, n + 2, sizeof(*f->polls))) {
        return -1;
    }
    f->links[f->n_links] = (struct link){.rank = rank, .fd = -1, .connection = {.fd = -1}};
    return f->n_links++;
}

/* ---- one message ---- */

/* *is_sent is false when the receiver is full. */
static enum gsh_result send_message(struct link *l, struct gsh_fdpass_message m, int fd,
                                    bool *is_sent)
{
    enum gsh_result r = gsh_descriptor_send(l->fd, &m, sizeof(m), fd, is_sent);
    if (r == GSH_ERR_PEER) {
        return gsh_uds_fail(r, what, l->rank);
    }
    return r == GSH_OK ? r : gsh_fail_errno(r, "sending a descriptor to PE %d", l->rank);
}

/* Receives one message; *has_one is false if none waits, or if the link has ended. */
static enum gsh_result receive_message(struct link *l, struct gsh_fdpass_message *m, int *fd,
                                       bool *has_one)
{
    ssize_t n;
    uint8_t bytes[sizeof(*m) + 1];
    *has_one = false;
    enum gsh_result r = gsh_descriptor_receive(l->fd, bytes, sizeof(bytes), &n, fd);
    if (r != GSH_OK) {
        return gsh_fail_errno(r, "receiving a descriptor");
    }
    if (n < 0) {
        return GSH_OK;
    }
    if (n == 0) {
        l->state = LINK_GONE;
        gsh_socket_close(&l->fd);
        return GSH_OK;
    }
    if (!gsh_fdpass_is_message(bytes, (size_t)n, *fd >= 0, m)) {
        gsh_socket_close(fd);
        return gsh_fail(GSH_ERR_BUG, "passing descriptors: PE %d sent what is no message", l->rank);
    }
    if (m->kind == GSH_FDPASS_DESCRIPTOR && *fd < 0) {
        return gsh_note(GSH_ERR_SYSTEM,
                        "the descriptor PE %d sent did not arrive: has this process all of the "
                        "%llu open files that it may have? (ulimit -n)",
                        l->rank, (unsigned long long)gsh_limits_files());
    }
    *has_one = true;
    return GSH_OK;
}

/* Keeps all that has come over a link. */
static enum gsh_result receive_all(struct link *l)
{
    struct kept **last = &l->kept;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    while (l->state == LINK_OPEN) {
        struct gsh_fdpass_message m;
        int fd;
        bool has_one;
        enum gsh_result r = receive_message(l, &m, &fd, &has_one);
        if (r != GSH_OK || !has_one) {
            return r;
        }
        struct kept *k = malloc(sizeof(*k));
        if (k == NULL) {
            gsh_socket_close(&fd);
            return gsh_fail(GSH_ERR_NOMEM, "no memory to keep a descriptor");
        }
        *k = (struct kept){.message = m, .fd = fd};
        *last = k;
        last = &k->next;
    }
    return GSH_OK;
}

/* ---- an exchange ---- */

static void open_link(struct gsh_fdpass *f, int link, int fd)
{
    f->links[link].state = LINK_OPEN;
    f->links[link].fd = fd;
    gsh_private_fd_add(fd);
}

static enum gsh_result admit_all(struct gsh_fdpass *f)
{
    for (;;) {
        int fd = -1, from = -1;
        enum gsh_result r = f->listener != NULL ? gsh_uds_accept(f->listener, &fd, &from) : GSH_OK;
        if (r != GSH_OK) {
            return gsh_note(r, "socket to pass descriptors: %s", strerror(errno));
        }
        if (fd < 0) {
            return GSH_OK;
        }
        int link = from < f->rank ? link_of(f, from) : -1;
        if (link < 0 || f->links[link].state != LINK_NONE) {
            gsh_socket_close(&fd);
        } else {
            open_link(f, link, fd);
        }
    }
}

/* Goes on with the connection to a higher rank. */
static enum gsh_result connect_link(struct gsh_fdpass *f, int link)
{
    struct link *l = &f->links[link];
    bool is_in = false;
    enum gsh_result r = gsh_uds_connect(&l->connection, &f->of, f->rank, l->rank);
    if (r == GSH_ERR_PEER) {
        return GSH_OK; /* not there yet */
    }
    if (r == GSH_OK && l->connection.has_sent_hello) {
        r = gsh_uds_receive_answer(&l->connection, &f->of, &is_in);
    }
    if (r != GSH_OK) {
        return gsh_uds_fail(r, what, l->rank);
    }
    if (is_in) {
        open_link(f, link, l->connection.fd);
        l->connection = (struct gsh_uds_connection){.fd = -1};
    }
    return GSH_OK;
}

static enum gsh_result link_up(struct gsh_fdpass *f, struct exchange *x)
{
    enum gsh_result r = admit_all(f);
    for (int i = 0; i < x->n && r == GSH_OK; i++) {
        if (x->links[i] >= 0 && x->ranks[i] > f->rank && f->links[x->links[i]].state == LINK_NONE) {
            r = connect_link(f, x->links[i]);
        }
    }
    return r;
}

/* Takes the exchange's message from those kept. What came before it is of an exchange in which this
 * rank failed. */
static enum gsh_result deliver(struct link *l, struct exchange *x, int i)
{
    struct kept *k = l->kept;
    while (k != NULL && k->message.tag != x->tag) {
        k = k->next;
    }
    if (k == NULL) {
        return l->state == LINK_GONE ? gsh_uds_fail(GSH_ERR_PEER, what, l->rank) : GSH_OK;
    }
    while (l->kept != k) {
        drop_first(l);
    }
    struct gsh_fdpass_message m = k->message;
    x->fds_out[i] = k->fd;
    k->fd = -1;
    drop_first(l);
    x->has_received[i] = true;
    x->n_to_receive--;
    if (m.kind == GSH_FDPASS_FAILED) {
        return gsh_note(GSH_ERR_PEER, "passing descriptors: failed on PE %d: %s", l->rank,
                        gsh_result_name((enum gsh_result)m.result));
    }
    return GSH_OK;
}

static enum gsh_result send_to(struct link *l, struct exchange *x, int i)
{
    bool is_sent;
    struct gsh_fdpass_message m = {.kind = x->my_fd >= 0 ? GSH_FDPASS_DESCRIPTOR : GSH_FDPASS_NONE,
                                   .tag = x->tag};
    if (l->state == LINK_GONE) {
        return gsh_uds_fail(GSH_ERR_PEER, what, l->rank);
    }
    enum gsh_result r = send_message(l, m, x->my_fd, &is_sent);
    if (r == GSH_OK && is_sent) {
        x->has_sent[i] = true;
        x->n_to_send--;
    }
    return r;
}

/* Moves what can be moved now. */
static enum gsh_result move_all(struct gsh_fdpass *f, struct exchange *x)
{
    enum gsh_result r = GSH_OK;
    for (int i = 0; i < x->n && r == GSH_OK; i++) {
        struct link *l = x->links[i] >= 0 ? &f->links[x->links[i]] : NULL;
        if (l == NULL || l->state == LINK_NONE) {
            continue;
        }
        if (!x->has_received[i]) {
            r = deliver(l, x, i);
        }
        if (r == GSH_OK && !x->has_sent[i]) {
            r = send_to(l, x, i);
        }
    }
    return r;
}

static enum gsh_result fail_late(const struct gsh_fdpass *f, const struct exchange *x)
{
    int i = 0;
    while (i < x->n - 1 && x->has_received[i] && x->has_sent[i]) {
        i++;
    }
    return gsh_fail(GSH_ERR_TIMEOUT, "passing descriptors: PE %d did not %s within %g s",
                    x->ranks[i], x->has_received[i] ? "take one" : "send one",
                    (double)f->timeout_ns * 1e-9);
}

/* Whether something is awaited that no descriptor announces: room for a message on an open link, or
 * a listener. A lower rank's connection comes to this one's listener, and an answer to its hello.
 */
static bool is_unannounced(const struct gsh_fdpass *f, const struct exchange *x)
{
    for (int i = 0; i < x->n; i++) {
        const struct link *l = x->links[i] >= 0 ? &f->links[x->links[i]] : NULL;
        if (l != NULL && !x->has_sent[i] &&
            (l->state != LINK_NONE || (l->rank > f->rank && !l->connection.has_sent_hello))) {
            return true;
        }
    }
    return false;
}

/* Waits until something can be done, and takes what has come. */
static enum gsh_result wait_and_receive(struct gsh_fdpass *f, const struct exchange *x,
                                        uint64_t deadline_ns)
{
    enum gsh_result r = GSH_OK;
    int n = f->n_links, wait_ms = gsh_deadline_poll_ms(deadline_ns);
    if (wait_ms == 0) {
        return fail_late(f, x);
    }
    if (is_unannounced(f, x)) {
        wait_ms = gsh_poll_ms_at_most(wait_ms, RETRY_MS);
    }
    if (f->listener != NULL) {
        wait_ms = gsh_uds_poll_ms(f->listener, wait_ms);
    }
    for (int i = 0; i < n; i++) {
        f->polls[i] = (struct pollfd){.fd = f->links[i].fd, .events = POLLIN};
    }
    for (int i = 0; i < x->n; i++) {
        const struct link *l = x->links[i] >= 0 ? &f->links[x->links[i]] : NULL;
        if (l != NULL && l->connection.has_sent_hello) {
            f->polls[x->links[i]].fd = l->connection.fd;
        }
    }
    f->polls[n] =
        (struct pollfd){.fd = f->listener != NULL ? gsh_uds_fd(f->listener) : -1, .events = POLLIN};
    f->polls[n + 1] = (struct pollfd){.fd = f->heeded, .events = POLLIN};
    const int slice_ms = f->heeded >= 0 ? gsh_poll_ms_at_most(wait_ms, HEED_MS) : wait_ms;
    const int n_ready = poll(f->polls, (nfds_t)n + 2, slice_ms);
    if (n_ready < 0 && errno != EINTR) {
        return gsh_fail_errno(GSH_ERR_SYSTEM, "waiting for descriptors");
    }
    if (f->heeded >= 0 && (n_ready <= 0 || f->polls[n + 1].revents != 0) &&
        f->has_ended(f->context)) {
        return GSH_ERR_PEER;
    }
    for (int i = 0; i < n && r == GSH_OK; i++) {
        if (f->links[i].state == LINK_OPEN && f->polls[i].revents != 0) {
            r = receive_all(&f->links[i]);
        }
    }
    return r;
}

static enum gsh_result run(struct gsh_fdpass *f, struct exchange *x)
{
    uint64_t deadline_ns = gsh_deadline_in(f->timeout_ns);
    for (;;) {
        enum gsh_result r = link_up(f, x);
        if (r == GSH_OK) {
            r = move_all(f, x);
        }
        if (r == GSH_OK && x->n_to_send == 0 && x->n_to_receive == 0) {
            return GSH_OK;
        }
        if (r == GSH_OK) {
            r = wait_and_receive(f, x, deadline_ns);
        }
        if (r != GSH_OK) {
            return r;
        }
    }
}

/* The others must not wait for a rank that has failed. Those that have its message already need no
 * notice. */
static void tell_failure(struct gsh_fdpass *f, const struct exchange *x, enum gsh_result failure)
{
    struct gsh_fdpass_message m = {
        .kind = GSH_FDPASS_FAILED, .result = (uint32_t)failure, .tag = x->tag};
    for (int i = 0; i < x->n; i++) {
        struct link *l = x->links[i] >= 0 ? &f->links[x->links[i]] : NULL;
        if (l != NULL && l->state == LINK_OPEN && !x->has_sent[i]) {
            (void)!send(l->fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }
}

enum gsh_result gsh_fdpass_exchange(struct gsh_fdpass *f, const int *ranks, int n, uint64_t tag,
                                    int my_fd, int *fds_out)
{
    if (n < 1) {
        return GSH_OK;
    }
    bool *flags = calloc(2 * (size_t)n, sizeof(*flags));
    int *links = calloc((size_t)n, sizeof(*links));
    struct exchange x = {.ranks = ranks,
                         .n = n,
                         .tag = tag,
                         .my_fd = my_fd,
                         .fds_out = fds_out,
                         .links = links,
                         .has_sent = flags,
                         .has_received = flags != NULL ? flags + n : NULL};
    bool is_ready = flags != NULL && links != NULL;
    memset(fds_out, -1, (size_t)n * sizeof(*fds_out));
    for (int i = 0; i < n && is_ready; i++) {
        bool is_own = ranks[i] == f->rank;
        flags[i] = flags[n + i] = is_own;
        x.n_to_send += !is_own;
        links[i] = is_own ? -1 : link_of(f, ranks[i]);
        is_ready = is_own || links[i] >= 0;
    }
    x.n_to_receive = x.n_to_send;
    enum gsh_result r =
        is_ready ? run(f, &x) : gsh_fail(GSH_ERR_NOMEM, "no memory to pass descriptors");
    if (r != GSH_OK && is_ready) {
        tell_failure(f, &x, r);
    }
    for (int i = 0; i < n && r != GSH_OK && is_ready; i++) {
        gsh_socket_close(&fds_out[i]);
    }
    free(flags);
    free(links);
    return r;
}
