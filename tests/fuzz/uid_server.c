/* SPDX-License-Identifier: Apache-2.0
 * Ranks at the rendezvous of start-up, which have the secret and may say anything else: each that
 * comes gets one answer, the partners of its own job, with hosts that are theirs, or the reason why
 * there are none, and the next job begins afresh.
 *
 * The server's source is included and runs without its thread. Its listener is the input: which
 * hello, end or failure comes next, and what a relay brings. */
#include "bootstrap/uid_server.c"
#include "tests/fuzz/fuzz.h"

#include <sys/socket.h>

#define MAX_RANKS       12 /* a job of more is only refused, or never complete */
#define MAX_CONNECTIONS 48
#define SECRET_TEXT     "the secret of this job"

struct connection {
    int fd; /* ours; -1: ended */
    int its_fd;
    bool is_join, is_watched;
    int tag;
    struct gsh_hello hello;
};

static struct fuzz_input in;
static struct connection connections[MAX_CONNECTIONS];
static int n_connections;
static uint8_t secret[GSH_SHA256_BYTES] = SECRET_TEXT;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    return 0;
}

/* ---- the listener ---- */

enum gsh_result gsh_tcp_listener_create(const struct gsh_address *at,
                                        const uint8_t challenge[GSH_NONCE_BYTES],
                                        struct gsh_tcp_listener **out)
{
    (void)at, (void)challenge, (void)out;
    return GSH_ERR_SYSTEM;
}

void gsh_tcp_listener_destroy(struct gsh_tcp_listener **listener)
{
    *listener = NULL;
}

const struct gsh_address *gsh_tcp_listener_address(const struct gsh_tcp_listener *listener)
{
    (void)listener;
    return NULL;
}

void gsh_tcp_listener_set_secret(struct gsh_tcp_listener *listener,
                                 const uint8_t of[GSH_SHA256_BYTES])
{
    (void)listener, (void)of;
}

void gsh_tcp_listener_shutdown(struct gsh_tcp_listener *listener)
{
    (void)listener;
}

static struct connection *connection_of(int its_fd)
{
    for (int i = 0; i < n_connections; i++) {
        if (connections[i].its_fd == its_fd) {
            return &connections[i];
        }
    }
    return NULL;
}

enum gsh_result gsh_tcp_listener_add(struct gsh_tcp_listener *listener, int fd, int tag)
{
    (void)listener;
    struct connection *v = connection_of(fd);
    FUZZ_CHECK(v != NULL && !v->is_watched && tag >= 0);
    v->tag = tag;
    v->is_watched = fuzz_take(&in, 1) != 0xfe; /* no memory in the kernel */
    return v->is_watched ? GSH_OK : GSH_ERR_SYSTEM;
}

/* The server closes it next. */
void gsh_tcp_listener_remove(struct gsh_tcp_listener *listener, int fd)
{
    (void)listener;
    struct connection *v = connection_of(fd);
    FUZZ_CHECK(v != NULL);
    v->is_watched = false;
    v->its_fd = -1;
}

/* The hello of another rank, which may come by a relay. NULL: there is no more room. */
static struct connection *make_hello(void)
{
    const uint8_t no_challenge[GSH_NONCE_BYTES] = {0};
    if (n_connections == MAX_CONNECTIONS) {
        return NULL;
    }
    struct connection *v = &connections[n_connections++];
    unsigned shape = (unsigned)fuzz_take(&in, 1);
    *v = (struct connection){.fd = -1, .its_fd = -1};
    v->hello.kind = shape & 1 ? GSH_HELLO_LINK : GSH_HELLO_JOIN;
    if (shape & 64) {
        v->hello.kind = shape & 1 ? GSH_HELLO_LOST : GSH_HELLO_RELAY;
    }
    if (shape & 2) { /* any numbers, but few ranks or too many */
        v->hello.kind = (uint32_t)fuzz_take(&in, 4);
        v->hello.rank = (uint32_t)fuzz_take(&in, 4);
        v->hello.n_ranks = (uint32_t)fuzz_take(&in, 4);
        if (v->hello.n_ranks > MAX_RANKS && v->hello.n_ranks <= GSH_UID_MAX_RANKS) {
            v->hello.n_ranks %= MAX_RANKS;
        }
    } else {
        v->hello.n_ranks = 1 + (shape >> 2) % MAX_RANKS;
        v->hello.rank = (uint32_t)fuzz_take(&in, 1) % (v->hello.n_ranks + 1);
    }
    v->hello.host[0] = shape & 128 ? (uint8_t)(fuzz_take(&in, 1) % 4) : 1;
    fuzz_take_bytes(&in, v->hello.link, 2);
    v->hello.address.port[0] = (uint8_t)n_connections;
    gsh_hello_seal(&v->hello, secret, no_challenge);
    return v;
}

static enum gsh_result come(struct gsh_tcp_listener_event *event)
{
    int fds[2];
    struct connection *v = make_hello();
    if (v == NULL) {
        return GSH_ERR_TIMEOUT;
    }
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    struct connection *before = connection_of(fds[1]); /* one that was hung up on */
    if (before != NULL) {
        before->its_fd = -1;
    }
    v->fd = fds[0];
    v->its_fd = fds[1];
    v->is_join = v->hello.kind == GSH_HELLO_JOIN || v->hello.kind == GSH_HELLO_RELAY;
    *event = (struct gsh_tcp_listener_event){.tag = -1, .fd = fds[1], .hello = v->hello};
    return GSH_OK;
}

/* A rank that waits says more, which only a relay may, or a part of it. */
static void say_more(const struct connection *v)
{
    const unsigned cut = (unsigned)fuzz_take(&in, 1);
    const struct connection *brought = make_hello();
    size_t moved;
    if (brought != NULL) {
        const size_t bytes = sizeof(brought->hello) - (cut > 200 ? cut - 200 : 0);
        (void)!gsh_socket_send_some(v->fd, &brought->hello, bytes, &moved);
    }
}

enum gsh_result gsh_tcp_listener_next(struct gsh_tcp_listener *listener, uint64_t deadline_ns,
                                      struct gsh_tcp_listener_event *event)
{
    (void)listener, (void)deadline_ns;
    unsigned what = (unsigned)fuzz_take(&in, 1);
    if (in.bytes == 0 || what >= 250) {
        return GSH_ERR_TIMEOUT;
    }
    if (what >= 245) {
        errno = EMFILE;
        return GSH_ERR_SYSTEM;
    }
    for (int i = 0, n = n_connections; i < n && what >= 150;
         i++) { /* one that waits ends, or not */
        struct connection *v = &connections[((int)what + i) % n];
        if (v->is_watched) {
            *event = (struct gsh_tcp_listener_event){.tag = v->tag, .fd = -1};
            if (what >= 200) {
                gsh_socket_close(&v->fd);
            } else {
                say_more(v);
            }
            return GSH_OK;
        }
    }
    return come(event);
}

/* ---- ---- */

static void check_partners(const struct connection *v, const struct gsh_answer *answer,
                           const uint8_t *payload)
{
    struct gsh_welcome welcome;
    struct gsh_host_layout hosts = {0};
    const int rounds = gsh_uid_rounds((int)v->hello.n_ranks), n = (int)v->hello.n_ranks;
    const size_t bytes = gsh_welcome_bytes(rounds);
    FUZZ_CHECK(answer->bytes >= bytes && answer->bytes <= bytes + sizeof(hosts.runs));
    memcpy(&welcome, payload, bytes);
    FUZZ_CHECK(welcome.host_ranks <= v->hello.n_ranks);
    hosts.most = (int)welcome.host_ranks;
    hosts.dealt_ranks = (int)welcome.dealt_ranks;
    hosts.n_runs = (int)((answer->bytes - bytes) / sizeof(hosts.runs[0]));
    memcpy(hosts.runs, payload + bytes, answer->bytes - bytes);
    if (hosts.n_runs == 0 && hosts.most > 0) {
        hosts = gsh_host_layout_regular(n, hosts.most);
    }
    int number;
    const struct gsh_host_ranks its = gsh_host_layout_find(&hosts, n, (int)v->hello.rank, &number);
    for (int k = 0; k < rounds; k++) {
        const struct gsh_partner p = welcome.partners[k];
        int from = p.address.port[0];
        FUZZ_CHECK(from >= 1 && from <= n_connections);
        const struct gsh_hello *h = &connections[from - 1].hello;
        FUZZ_CHECK(h->n_ranks == v->hello.n_ranks);
        FUZZ_CHECK(h->rank == (v->hello.rank + (1u << k)) % v->hello.n_ranks);
        FUZZ_CHECK(memcmp(p.link, h->link, sizeof(p.link)) == 0);
        FUZZ_CHECK(welcome.host_ranks == 0 || (h->host[0] == v->hello.host[0]) ==
                                                  (gsh_host_ranks_index(&its, (int)h->rank) >= 0));
    }
}

/* What a connection has got by the end of its job. */
static void hear(struct connection *v)
{
    uint8_t payload[GSH_ANSWER_MAX_PAYLOAD];
    struct gsh_answer answer;
    if (v->fd < 0) {
        return;
    }
    FUZZ_CHECK(v->its_fd < 0 || !v->is_join); /* no connection is left */
    enum gsh_result r = gsh_answer_recv(v->fd, &v->hello, secret, &answer, payload, 1);
    FUZZ_CHECK(v->is_join ? r == GSH_OK : r == GSH_ERR_PEER);
    if (r == GSH_OK && answer.result == GSH_OK) {
        check_partners(v, &answer, payload);
    } else if (r == GSH_OK) {
        /* A relay is told first, in two bytes, whom it has brought. */
        const size_t at = v->hello.kind == GSH_HELLO_RELAY ? sizeof(uint16_t) : 0;
        FUZZ_CHECK(answer.result < GSH_RESULT_COUNT && answer.bytes > at);
        FUZZ_CHECK(memchr(payload + at, '\0', answer.bytes - at) == NULL);
    }
    gsh_socket_close(&v->fd);
}

/* Jobs of one id, one after the other, until the input ends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct server s = {.timeout_ns = 1000000000, .serves_again = true};
    bool goes_on = true;
    in = (struct fuzz_input){data, bytes};
    memcpy(s.secret, secret, sizeof(secret));
    n_connections = 0;
    for (int first = 0; goes_on && in.bytes > 0; first = n_connections) {
        goes_on = serve_job(&s);
        forget_job(&s);
        for (int i = first; i < n_connections; i++) {
            hear(&connections[i]);
        }
    }
    forget_job(&s);
    return 0;
}
