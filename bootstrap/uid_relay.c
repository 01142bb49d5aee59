/* SPDX-License-Identifier: Apache-2.0
 * See uid_relay.h. */
#define _GNU_SOURCE 1
#include "bootstrap/uid_relay.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define AGAIN_NS 1000000 /* between tries, while the relay's name is taken and nobody listens */

/* ---- a member ---- */

/* False past the deadline. */
static bool wait_for_input(int fd, uint64_t deadline_ns)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n;
    while ((n = poll(&p, 1, gsh_deadline_poll_ms(deadline_ns))) < 0 && errno == EINTR) {
    }
    return n > 0;
}

/* One message of at most `bytes`; its length, or 0 if the other side has closed. */
static size_t receive(int fd, void *out, size_t bytes)
{
    ssize_t n;
    while ((n = recv(fd, out, bytes, MSG_DONTWAIT)) < 0 && errno == EINTR) {
    }
    return n > 0 ? (size_t)n : 0;
}

/* GSH_ERR_PEER: the relay with this name is not there yet, or no more; GSH_ERR_NOMEM: it has no
 * place. */
static enum gsh_result follow(struct gsh_relay *relay, int name, uint64_t deadline_ns,
                              struct gsh_address *at)
{
    struct gsh_uds_connection c = {.fd = -1};
    struct gsh_relay_greeting greeting;
    bool is_in = false;
    enum gsh_result r = gsh_uds_connect(&c, &relay->key, relay->rank, name);
    if (r == GSH_OK && !c.has_sent_hello) {
        gsh_socket_close(&c.fd);
        return GSH_ERR_PEER; /* its queue is full */
    }
    while (r == GSH_OK && !is_in) {
        r = wait_for_input(c.fd, deadline_ns) ? gsh_uds_receive_answer(&c, &relay->key, &is_in)
                                              : GSH_ERR_TIMEOUT;
    }
    if (r == GSH_OK && !wait_for_input(c.fd, deadline_ns)) {
        r = GSH_ERR_TIMEOUT;
    }
    if (r == GSH_OK && receive(c.fd, &greeting, sizeof(greeting)) != sizeof(greeting)) {
        r = GSH_ERR_PEER;
    }
    if (r == GSH_OK && greeting.at.family == 0) {
        r = GSH_ERR_NOMEM;
    }
    if (r != GSH_OK) {
        gsh_socket_close(&c.fd);
        return r;
    }
    *at = greeting.at;
    relay->fd = c.fd;
    return GSH_OK;
}

static void derive_key(struct gsh_relay *relay, const uint8_t secret[GSH_SHA256_BYTES])
{
    struct gsh_hmac h;
    uint8_t digest[GSH_SHA256_BYTES];
    _Static_assert(GSH_SECRET_BYTES <= GSH_SHA256_BYTES, "is the digest's beginning");
    gsh_hmac_init(&h, secret, GSH_SHA256_BYTES);
    gsh_hmac_update(&h, "relay", 5); /* unlike any text of the handshake */
    gsh_hmac_finish(&h, digest);
    gsh_uds_key(&relay->key, digest, "relay");
    explicit_bzero(&h, sizeof(h));
    explicit_bzero(digest, sizeof(digest));
}

enum gsh_relay_role gsh_relay_enter(struct gsh_relay *relay, const uint8_t secret[GSH_SHA256_BYTES],
                                    int rank, uint64_t deadline_ns, struct gsh_address *at)
{
    const struct timespec nap = {.tv_nsec = AGAIN_NS};
    relay->rank = rank;
    derive_key(relay, secret);
    for (int i = 0; i < GSH_UID_MEMBERS; i++) {
        relay->members[i] = (struct gsh_relay_member){.fd = -1, .index = -1};
    }
    for (int name = 0; gsh_deadline_poll_ms(deadline_ns) != 0;) {
        if (gsh_uds_listen(&relay->key, name, &relay->listener) == GSH_OK) {
            return GSH_RELAY_LEADS;
        }
        if (errno != EADDRINUSE) {
            return GSH_RELAY_NONE;
        }
        enum gsh_result r = follow(relay, name, deadline_ns, at);
        if (r == GSH_ERR_NOMEM) {
            name++;
            continue;
        }
        if (r != GSH_ERR_PEER) {
            return r == GSH_OK ? GSH_RELAY_FOLLOWS : GSH_RELAY_NONE;
        }
        nanosleep(&nap, NULL);
    }
    return GSH_RELAY_NONE;
}

enum gsh_result gsh_relay_ask(struct gsh_relay *relay, const struct gsh_hello *hello,
                              struct gsh_answer *answer, void *payload, uint64_t deadline_ns)
{
    struct gsh_relay_answer got;
    const size_t head = offsetof(struct gsh_relay_answer, payload);
    if (send(relay->fd, hello, sizeof(*hello), MSG_NOSIGNAL) != (ssize_t)sizeof(*hello)) {
        return GSH_ERR_PEER;
    }
    if (!wait_for_input(relay->fd, deadline_ns)) {
        return GSH_ERR_TIMEOUT;
    }
    const size_t n = receive(relay->fd, &got, sizeof(got));
    if (n < head || got.bytes > sizeof(got.payload) || n != head + got.bytes) {
        return GSH_ERR_PEER;
    }
    *answer = (struct gsh_answer){.result = got.result, .bytes = got.bytes};
    memcpy(payload, got.payload, got.bytes);
    return GSH_OK;
}

/* ---- the relay ---- */

struct relaying {
    struct gsh_relay *relay;
    int fd; /* to the rendezvous */
    const uint8_t *challenge, *secret;
    const struct gsh_hello *own;
    uint64_t deadline_ns;
};

/* A place for a member; NULL: all have been taken. */
static struct gsh_relay_member *free_member(struct gsh_relay *relay)
{
    for (int i = 0; i < GSH_UID_MEMBERS; i++) {
        if (relay->members[i].fd < 0 && relay->members[i].index < 0) {
            return &relay->members[i];
        }
    }
    return NULL;
}

/* A failure shows when the answer is read. */
static void tell_rendezvous(const struct relaying *x, struct gsh_hello *hello)
{
    gsh_hello_seal(hello, x->secret, x->challenge);
    (void)!gsh_socket_send(x->fd, hello, sizeof(*hello), x->deadline_ns);
}

static enum gsh_result admit_members(const struct relaying *x)
{
    enum gsh_result r;
    struct gsh_relay *relay = x->relay;
    struct gsh_relay_greeting greeting = {.at = x->own->address};
    int fd, from;
    memset(greeting.at.port, 0, sizeof(greeting.at.port));
    while ((r = gsh_uds_accept(relay->listener, &fd, &from)) == GSH_OK && fd >= 0) {
        struct gsh_relay_member *member = free_member(relay);
        const struct gsh_relay_greeting full = {.at = {.family = 0}};
        if (send(fd, member != NULL ? &greeting : &full, sizeof(greeting), MSG_NOSIGNAL) !=
                (ssize_t)sizeof(greeting) ||
            member == NULL) {
            gsh_socket_close(&fd);
            continue;
        }
        *member = (struct gsh_relay_member){.fd = fd, .rank = from, .index = -1};
    }
    return r;
}

/* Its hello, or its end. */
static void receive_from_member(const struct relaying *x, struct gsh_relay_member *member)
{
    struct gsh_hello hello;
    const size_t n = receive(member->fd, &hello, sizeof(hello));
    if (n == sizeof(hello) && member->index < 0 && hello.kind == GSH_HELLO_JOIN &&
        (int)hello.rank == member->rank) {
        tell_rendezvous(x, &hello);
        member->hello = hello;
        member->index = x->relay->n_brought++;
        return;
    }
    gsh_socket_close(&member->fd);
    if (member->index >= 0) {
        struct gsh_hello lost = member->hello;
        lost.kind = GSH_HELLO_LOST;
        tell_rendezvous(x, &lost); /* which may have answered all, this one, too */
    }
}

/* Until the rendezvous has something to say. */
static enum gsh_result bring_members(const struct relaying *x)
{
    struct gsh_relay *relay = x->relay;
    for (;;) {
        struct pollfd polls[GSH_UID_MEMBERS + 2];
        for (int i = 0; i < GSH_UID_MEMBERS; i++) {
            polls[i] = (struct pollfd){.fd = relay->members[i].fd, .events = POLLIN};
        }
        polls[GSH_UID_MEMBERS] = (struct pollfd){.fd = x->fd, .events = POLLIN};
        polls[GSH_UID_MEMBERS + 1] =
            (struct pollfd){.fd = gsh_uds_fd(relay->listener), .events = POLLIN};
        int wait_ms = gsh_deadline_poll_ms(x->deadline_ns);
        if (wait_ms == 0) {
            return GSH_ERR_TIMEOUT;
        }
        int n = poll(polls, GSH_UID_MEMBERS + 2, gsh_uds_poll_ms(relay->listener, wait_ms));
        if (n < 0 && errno != EINTR) {
            return GSH_ERR_SYSTEM;
        }
        if (n > 0 && polls[GSH_UID_MEMBERS].revents != 0) {
            return GSH_OK;
        }
        for (int i = 0; n > 0 && i < GSH_UID_MEMBERS; i++) {
            if (relay->members[i].fd >= 0 && polls[i].revents != 0) {
                receive_from_member(x, &relay->members[i]);
            }
        }
        enum gsh_result r = admit_members(x);
        if (r != GSH_OK) {
            return r;
        }
    }
}

/* A member that is gone is missed by its partners. */
static void hand_on(const struct gsh_relay_member *member, const struct gsh_answer *answer,
                    const void *payload)
{
    struct gsh_relay_answer out = {.result = answer->result, .bytes = answer->bytes};
    memcpy(out.payload, payload, answer->bytes);
    (void)!send(member->fd, &out, offsetof(struct gsh_relay_answer, payload) + out.bytes,
                MSG_NOSIGNAL);
}

/* The one whose hello had this index. */
static const struct gsh_relay_member *find_member(const struct gsh_relay *relay, int index)
{
    int i = 0;
    while (relay->members[i].index != index) {
        i++;
    }
    return &relay->members[i];
}

/* Leaves the text of a failure. */
static enum gsh_result take_brought(struct gsh_answer *answer, void *payload, uint16_t *brought)
{
    if (answer->bytes < sizeof(*brought)) {
        return GSH_ERR_ARG; /* as of one without the secret */
    }
    memcpy(brought, payload, sizeof(*brought));
    answer->bytes -= (uint32_t)sizeof(*brought);
    memmove(payload, (uint8_t *)payload + sizeof(*brought), answer->bytes);
    return GSH_OK;
}

enum gsh_result gsh_relay_serve(struct gsh_relay *relay, int fd,
                                const uint8_t challenge[GSH_NONCE_BYTES],
                                const uint8_t secret[GSH_SHA256_BYTES],
                                const struct gsh_hello *hello, struct gsh_answer *answer,
                                void *payload, uint64_t deadline_ns)
{
    const struct relaying x = {.relay = relay,
                               .fd = fd,
                               .challenge = challenge,
                               .secret = secret,
                               .own = hello,
                               .deadline_ns = deadline_ns};
    enum gsh_result r = bring_members(&x);
    if (r == GSH_OK) {
        r = gsh_answer_recv(fd, hello, secret, answer, payload, deadline_ns);
    }
    uint16_t brought = UINT16_MAX;
    if (r == GSH_OK && answer->result != GSH_OK) {
        r = take_brought(answer, payload, &brought);
    }
    for (int i = 0; i < relay->n_brought && r == GSH_OK; i++) {
        const struct gsh_relay_member *member = find_member(relay, i);
        struct gsh_answer its = *answer;
        uint8_t data[GSH_ANSWER_MAX_PAYLOAD];
        if ((brought & 1u << i) == 0) {
            continue;
        }
        memcpy(data, payload, its.bytes);
        if (answer->result == GSH_OK) {
            r = gsh_answer_recv(fd, &member->hello, secret, &its, data, deadline_ns);
        }
        if (r == GSH_OK) {
            hand_on(member, &its, data);
        }
    }
    return r;
}

void gsh_relay_leave(struct gsh_relay *relay)
{
    for (int i = 0; i < GSH_UID_MEMBERS && relay->listener != NULL; i++) {
        gsh_socket_close(&relay->members[i].fd);
    }
    gsh_uds_close(&relay->listener);
    gsh_socket_close(&relay->fd);
    explicit_bzero(&relay->key, sizeof(relay->key));
}
