/* SPDX-License-Identifier: Apache-2.0
 * Ranks at the rendezvous of start-up, which have the secret and may say anything else: each that
 * comes gets one answer, the partners of its own job or the reason why there are none, and the next
 * job begins afresh.
 *
 * The server's source is included and runs without its thread. Its gate is the input: which hello,
 * end or failure comes next. */
#include "bootstrap/uid_server.c"
#include "tests/fuzz/fuzz.h"

#include <sys/socket.h>

#define MAX_RANKS   12 /* a job of more is only refused, or never complete */
#define MAX_VISITS  48
#define SECRET_TEXT "the secret of this job"

struct visit {
    int fd; /* ours; -1: ended */
    int its_fd;
    bool is_join, is_watched;
    int tag;
    struct gsh_hello hello;
};

static struct fuzz_input in;
static struct visit visits[MAX_VISITS];
static int n_visits;
static uint8_t secret[GSH_SHA256_BYTES] = SECRET_TEXT;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    return 0;
}

/* ---- the gate ---- */

enum gsh_result gsh_gate_create(const struct gsh_address *at,
                                const uint8_t challenge[GSH_NONCE_BYTES], struct gsh_gate **out)
{
    (void)at, (void)challenge, (void)out;
    return GSH_ERR_SYSTEM;
}

void gsh_gate_destroy(struct gsh_gate **gate)
{
    *gate = NULL;
}

const struct gsh_address *gsh_gate_address(const struct gsh_gate *gate)
{
    (void)gate;
    return NULL;
}

void gsh_gate_set_secret(struct gsh_gate *gate, const uint8_t of[GSH_SHA256_BYTES])
{
    (void)gate, (void)of;
}

void gsh_gate_shut(struct gsh_gate *gate)
{
    (void)gate;
}

static struct visit *visit_of(int its_fd)
{
    for (int i = 0; i < n_visits; i++) {
        if (visits[i].its_fd == its_fd) {
            return &visits[i];
        }
    }
    return NULL;
}

enum gsh_result gsh_gate_watch(struct gsh_gate *gate, int fd, int tag)
{
    (void)gate;
    struct visit *v = visit_of(fd);
    FUZZ_CHECK(v != NULL && !v->is_watched && tag >= 0);
    v->tag = tag;
    v->is_watched = fuzz_take(&in, 1) != 0xfe; /* no memory in the kernel */
    return v->is_watched ? GSH_OK : GSH_ERR_SYSTEM;
}

/* The server closes it next. */
void gsh_gate_unwatch(struct gsh_gate *gate, int fd)
{
    (void)gate;
    struct visit *v = visit_of(fd);
    FUZZ_CHECK(v != NULL);
    v->is_watched = false;
    v->its_fd = -1;
}

static enum gsh_result come(struct gsh_gate_event *event)
{
    int fds[2];
    uint8_t no_challenge[GSH_NONCE_BYTES] = {0};
    if (n_visits == MAX_VISITS) {
        return GSH_ERR_TIMEOUT;
    }
    struct visit *v = &visits[n_visits++];
    unsigned shape = (unsigned)fuzz_take(&in, 1);
    *v = (struct visit){.fd = -1, .its_fd = -1};
    v->hello.kind = shape & 1 ? GSH_HELLO_LINK : GSH_HELLO_JOIN;
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
    fuzz_take_bytes(&in, v->hello.link, 2);
    v->hello.address.port[0] = (uint8_t)n_visits;
    gsh_hello_seal(&v->hello, secret, no_challenge);
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    struct visit *before = visit_of(fds[1]); /* one that was hung up on */
    if (before != NULL) {
        before->its_fd = -1;
    }
    v->fd = fds[0];
    v->its_fd = fds[1];
    v->is_join = v->hello.kind == GSH_HELLO_JOIN;
    *event = (struct gsh_gate_event){.tag = -1, .fd = fds[1], .hello = v->hello};
    return GSH_OK;
}

enum gsh_result gsh_gate_next(struct gsh_gate *gate, uint64_t deadline_ns,
                              struct gsh_gate_event *event)
{
    (void)gate, (void)deadline_ns;
    unsigned what = (unsigned)fuzz_take(&in, 1);
    if (in.bytes == 0 || what >= 250) {
        return GSH_ERR_TIMEOUT;
    }
    if (what >= 245) {
        errno = EMFILE;
        return GSH_ERR_SYSTEM;
    }
    for (int i = 0; i < n_visits && what >= 200; i++) { /* one that waits ends */
        struct visit *v = &visits[((int)what + i) % n_visits];
        if (v->is_watched) {
            *event = (struct gsh_gate_event){.tag = v->tag, .fd = -1};
            gsh_socket_close(&v->fd);
            return GSH_OK;
        }
    }
    return come(event);
}

/* ---- ---- */

static void check_partners(const struct visit *v, const struct gsh_answer *answer,
                           const uint8_t *payload)
{
    int rounds = gsh_uid_rounds((int)v->hello.n_ranks);
    FUZZ_CHECK(answer->bytes == (size_t)rounds * sizeof(struct gsh_partner));
    for (int k = 0; k < rounds; k++) {
        struct gsh_partner p;
        memcpy(&p, payload + (size_t)k * sizeof(p), sizeof(p));
        int from = p.address.port[0];
        FUZZ_CHECK(from >= 1 && from <= n_visits);
        const struct gsh_hello *h = &visits[from - 1].hello;
        FUZZ_CHECK(h->n_ranks == v->hello.n_ranks);
        FUZZ_CHECK(h->rank == (v->hello.rank + (1u << k)) % v->hello.n_ranks);
        FUZZ_CHECK(memcmp(p.link, h->link, sizeof(p.link)) == 0);
    }
}

/* What a visit has got by the end of its job. */
static void hear(struct visit *v)
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
        FUZZ_CHECK(answer.result < GSH_RESULT_COUNT && answer.bytes > 0);
        FUZZ_CHECK(memchr(payload, '\0', answer.bytes) == NULL);
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
    n_visits = 0;
    for (int first = 0; goes_on && in.bytes > 0; first = n_visits) {
        goes_on = serve_job(&s);
        forget_job(&s);
        for (int i = first; i < n_visits; i++) {
            hear(&visits[i]);
        }
    }
    forget_job(&s);
    return 0;
}
