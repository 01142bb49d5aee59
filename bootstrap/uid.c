/* SPDX-License-Identifier: Apache-2.0
 * A rank of a job started by unique id: it asks the rendezvous for its partners, links up with them
 * over TCP, and exchanges blobs in O(log n) rounds.
 *
 * In round k a rank sends to rank + 2^k and receives from rank - 2^k (modulo n). Allgather (Bruck):
 * slot j of a rank's buffer is the blob of rank - j; before round k the first 2^k slots are filled,
 * and they are what the receiver needs for its next 2^k. Barrier: the same with empty blobs.
 * Combine: one value in each round, also of groups; gather_combine: that, and then the slots. leg.h
 * has these rounds. gather_host is in uid_host.c, a round in uid_round.c. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/log.h"
#include "base/private_fd.h"
#include "bootstrap/leg.h"
#include "bootstrap/tcp_listener.h"
#include "bootstrap/uid.h"
#include "bootstrap/uid_ask.h"
#include "bootstrap/uid_impl.h"
#include "bootstrap/uid_join.h"

/* ---- exchange ---- */

/* The blobs of all and, if value_bytes is not 0, what fold makes of all values: in each message the
 * value comes first. */
static enum gsh_result gather(struct gsh_uid_rank *u, const void *mine, size_t bytes, void *all_out,
                              void *value, size_t value_bytes,
                              void (*fold)(void *into, const void *from))
{
    const size_t n = (size_t)u->base.size, rank = (size_t)u->base.rank;
    const size_t room = sizeof(struct gsh_frame) + value_bytes + n * bytes + value_bytes;
    uint64_t deadline_ns = gsh_deadline_in(u->base.timeout_ns);
    enum gsh_result r = gsh_uid_check_alive(u, "allgather");
    if (r != GSH_OK) {
        return r;
    }
    struct gsh_frame *head = malloc(room);
    if (head == NULL) {
        return gsh_uid_fail_for_memory(u, n, bytes);
    }
    char *own_value = (char *)(head + 1), *slots = own_value + value_bytes;
    *head = (struct gsh_frame){.kind = value_bytes > 0 ? GSH_FRAME_BOTH : GSH_FRAME_DATA,
                               .call = ++u->n_calls,
                               .bytes = value_bytes + bytes};
    if (bytes > 0) {
        memcpy(slots, mine, bytes);
    }
    for (struct gsh_leg leg = {0}; r == GSH_OK && gsh_leg_next(&leg, u->base.size, (int)rank, 1);) {
        const size_t part = (size_t)leg.blocks * bytes;
        char *into = slots + (size_t)leg.distance * bytes;
        if (value_bytes > 0) {
            memcpy(own_value, value, value_bytes);
        }
        r = gsh_uid_round(u, "allgather", leg.round, head, value_bytes + part, into,
                          value_bytes + part, deadline_ns);
        if (r == GSH_OK && value_bytes > 0) { /* their blobs belong where their value has come */
            gsh_uid_fold(value, into, value_bytes, fold);
            memmove(into, into + value_bytes, part);
        }
    }
    for (size_t j = 0; j < n && bytes > 0 && r == GSH_OK; j++) {
        memcpy((char *)all_out + (rank + n - j) % n * bytes, slots + j * bytes, bytes);
    }
    if (value_bytes > 0) {
        explicit_bzero(head, room); /* a value may be secret */
    }
    free(head);
    return r;
}

static enum gsh_result uid_allgather(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                     void *all_out)
{
    return gather((struct gsh_uid_rank *)b, mine, bytes, all_out, NULL, 0, NULL);
}

static enum gsh_result uid_gather_combine(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                          void *all_out, void *value, size_t value_bytes,
                                          void (*fold)(void *into, const void *from))
{
    return gather((struct gsh_uid_rank *)b, mine, bytes, all_out, value, value_bytes, fold);
}

static enum gsh_result uid_barrier(struct gsh_bootstrap *b)
{
    struct gsh_uid_rank *u = (struct gsh_uid_rank *)b;
    uint64_t deadline_ns = gsh_deadline_in(b->timeout_ns);
    enum gsh_result r = gsh_uid_check_alive(u, "barrier");
    if (r != GSH_OK) {
        return r;
    }
    struct gsh_frame head = {.kind = GSH_FRAME_DATA, .call = ++u->n_calls};
    for (struct gsh_leg leg = {0}; r == GSH_OK && gsh_leg_next(&leg, b->size, b->rank, 1);) {
        r = gsh_uid_round(u, "barrier", leg.round, &head, 0, NULL, 0, deadline_ns);
    }
    return r;
}

static enum gsh_result uid_combine_groups(struct gsh_bootstrap *b, void *mine, size_t bytes,
                                          void (*fold)(void *into, const void *from), int width)
{
    struct gsh_uid_rank *u = (struct gsh_uid_rank *)b;
    uint64_t deadline_ns = gsh_deadline_in(b->timeout_ns);
    enum gsh_result r = gsh_uid_check_alive(u, "vote");
    if (r != GSH_OK) {
        return r;
    }
    struct {
        struct gsh_frame head;
        uint8_t value[GSH_COMBINE_MAX_BYTES];
    } out = {.head = {.kind = GSH_FRAME_COMBINE, .call = ++u->n_calls, .bytes = bytes}};
    struct gsh_leg leg = gsh_leg_of_groups(width);
    while (r == GSH_OK && gsh_leg_next(&leg, b->size, b->rank, 1)) {
        uint64_t theirs[GSH_COMBINE_MAX_BYTES / sizeof(uint64_t)] = {0};
        memcpy(out.value, mine, bytes);
        r = gsh_uid_round(u, "vote", leg.round, &out.head, bytes, theirs, bytes, deadline_ns);
        if (r == GSH_OK) {
            fold(mine, theirs);
        }
    }
    return r;
}

static enum gsh_result uid_combine(struct gsh_bootstrap *b, void *mine, size_t bytes,
                                   void (*fold)(void *into, const void *from))
{
    return uid_combine_groups(b, mine, bytes, fold, 1);
}

static bool uid_has_lost(struct gsh_bootstrap *b)
{
    struct gsh_uid_rank *u = (struct gsh_uid_rank *)b;
    struct pollfd links[2 * GSH_UID_MAX_ROUNDS];
    bool has_lost = u->is_failed;
    for (int k = 0; k < u->rounds; k++) {
        links[2 * (size_t)k] = (struct pollfd){.fd = u->out[k], .events = POLLRDHUP};
        links[2 * (size_t)k + 1] = (struct pollfd){.fd = u->in[k], .events = POLLRDHUP};
    }
    (void)poll(links, 2 * (nfds_t)u->rounds, 0);
    for (int i = 0; i < 2 * u->rounds; i++) {
        has_lost = has_lost || (links[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    }
    return has_lost;
}

/* Without a launcher a process cannot end another here; its partners notice at their next call. */
static void uid_abort(struct gsh_bootstrap *b, int status, const char *message)
{
    struct gsh_uid_rank *u = (struct gsh_uid_rank *)b;
    if (b->launcher != NULL) {
        b->launcher->ops->abort(b->launcher, status, message);
    } else if (!u->is_failed) {
        gsh_uid_send_notice(u, GSH_ERR_PEER, b->rank);
    }
}

static void uid_destroy(struct gsh_bootstrap *b)
{
    struct gsh_uid_rank *u = (struct gsh_uid_rank *)b;
    if (u == NULL) {
        return;
    }
    for (int k = 0; k < GSH_UID_MAX_ROUNDS; k++) {
        gsh_socket_hang_up(&u->out[k]);
        gsh_socket_hang_up(&u->in[k]);
    }
    gsh_uid_asking_destroy(&b->asking);
    gsh_tcp_listener_destroy(&u->listener);
    explicit_bzero(u->secret, sizeof(u->secret));
    explicit_bzero(u->out_keys, sizeof(u->out_keys));
    explicit_bzero(u->in_keys, sizeof(u->in_keys));
    explicit_bzero(b->shared_key, sizeof(b->shared_key));
    if (b->launcher != NULL) {
        b->launcher->ops->destroy(b->launcher);
    }
    free(u);
}

static const struct gsh_bootstrap_ops uid_ops = {
    .name = "uid",
    .allgather = uid_allgather,
    .barrier = uid_barrier,
    .combine = uid_combine,
    .combine_groups = uid_combine_groups,
    .gather_combine = uid_gather_combine,
    .gather_hosts = gsh_uid_gather_hosts,
    .gather_host = gsh_uid_gather_host,
    .has_lost = uid_has_lost,
    .abort = uid_abort,
    .destroy = uid_destroy,
};

/* ---- joining ---- */

/* The rendezvous' own limit begins a little later, when the first PE comes. It should end first,
 * since it can say who is missing. */
#define RENDEZVOUS_GRACE_NS UINT64_C(1000000000)

/* Connects to all partners and says hello. Waits for no rank: their kernels accept. */
static enum gsh_result connect_out(struct gsh_uid_rank *u, const struct gsh_partner *partners,
                                   struct gsh_hello *hellos, uint64_t deadline_ns)
{
    for (int k = 0; k < u->rounds; k++) {
        struct gsh_hello *hello = &hellos[k];
        *hello = (struct gsh_hello){.kind = GSH_HELLO_LINK,
                                    .rank = (uint32_t)u->base.rank,
                                    .n_ranks = (uint32_t)u->base.size,
                                    .round = (uint32_t)k};
        enum gsh_result r = gsh_random(hello->nonce, sizeof(hello->nonce));
        if (r != GSH_OK) {
            return r;
        }
        gsh_hello_seal(hello, u->secret, partners[k].link);
        gsh_link_keys(hello, u->secret, &u->out_keys[k]);
        r = gsh_socket_connect(&partners[k].address, deadline_ns, &u->out[k]);
        if (r == GSH_OK) {
            gsh_private_fd_add(u->out[k]);
            r = gsh_socket_send(u->out[k], hello, sizeof(*hello), deadline_ns);
            gsh_uid_count_sent(u, sizeof(*hello));
        }
        if (r != GSH_OK) {
            char text[GSH_ADDRESS_TEXT];
            if (r == GSH_ERR_TIMEOUT) {
                return gsh_fail(r, "start-up: PE %d at %s took no connection within %g s",
                                gsh_uid_partner(u, k, 1),
                                gsh_address_text(&partners[k].address, text), gsh_uid_timeout_s(u));
            }
            return gsh_fail_errno(r, "start-up: cannot reach PE %d at %s", gsh_uid_partner(u, k, 1),
                                  gsh_address_text(&partners[k].address, text));
        }
    }
    return GSH_OK;
}

static enum gsh_result fail_missing(const struct gsh_uid_rank *u, const bool *has_answered,
                                    enum gsh_result r)
{
    for (int k = 0; k < u->rounds && r == GSH_ERR_TIMEOUT; k++) {
        if (u->in[k] < 0) {
            return gsh_fail(r, "start-up: PE %d did not link up within %g s",
                            gsh_uid_partner(u, k, -1), gsh_uid_timeout_s(u));
        }
        if (!has_answered[k]) {
            return gsh_fail(r, "start-up: PE %d did not answer within %g s",
                            gsh_uid_partner(u, k, 1), gsh_uid_timeout_s(u));
        }
    }
    return gsh_fail_errno(r, "start-up: waiting for partners");
}

/* Admits a partner of the other direction; returns whether it was one. */
static bool admit(struct gsh_uid_rank *u, struct gsh_tcp_listener_event *event)
{
    uint32_t k = event->hello.round;
    if (event->hello.kind != GSH_HELLO_LINK || k >= (uint32_t)u->rounds ||
        (int)event->hello.rank != gsh_uid_partner(u, (int)k, -1) || u->in[k] >= 0 ||
        !gsh_answer_send(event->fd, &event->hello, u->secret, GSH_OK, NULL, 0)) {
        gsh_socket_hang_up(&event->fd);
        return false;
    }
    gsh_uid_count_sent(u, sizeof(struct gsh_answer) + GSH_SHA256_BYTES);
    u->in[k] = event->fd;
    gsh_link_keys(&event->hello, u->secret, &u->in_keys[k]);
    gsh_private_fd_add(event->fd);
    return true;
}

static enum gsh_result receive_answer(struct gsh_uid_rank *u, int k, const struct gsh_hello *hello,
                                      uint64_t deadline_ns)
{
    struct gsh_answer answer;
    char payload[GSH_ANSWER_MAX_PAYLOAD];
    enum gsh_result r = gsh_answer_recv(u->out[k], hello, u->secret, &answer, payload, deadline_ns);
    if (r == GSH_OK) {
        return r;
    }
    return gsh_fail(r, "start-up: PE %d %s", gsh_uid_partner(u, k, 1),
                    r == GSH_ERR_TIMEOUT ? "did not link up in time"
                    : r == GSH_ERR_ARG   ? "did not prove the job's secret"
                                         : "died or left");
}

/* Handles both directions at once: no rank may wait for one that waits for another's answer, and
 * the death of a partner must end the wait. */
static enum gsh_result link_up(struct gsh_uid_rank *u, const struct gsh_partner *partners,
                               uint64_t deadline_ns)
{
    struct gsh_hello hellos[GSH_UID_MAX_ROUNDS];
    bool has_answered[GSH_UID_MAX_ROUNDS] = {false};
    enum gsh_result r = connect_out(u, partners, hellos, deadline_ns);
    for (int k = 0; k < u->rounds && r == GSH_OK; k++) {
        if ((r = gsh_tcp_listener_add(u->listener, u->out[k], k)) != GSH_OK) {
            r = fail_missing(u, has_answered, r);
        }
    }
    for (int n_left = 2 * u->rounds; n_left > 0 && r == GSH_OK;) {
        struct gsh_tcp_listener_event event;
        r = gsh_tcp_listener_next(u->listener, deadline_ns, &event);
        if (r != GSH_OK) {
            return fail_missing(u, has_answered, r);
        }
        if (event.tag < 0) {
            n_left -= admit(u, &event);
        } else if (!has_answered[event.tag]) {
            has_answered[event.tag] = true;
            r = receive_answer(u, event.tag, &hellos[event.tag], deadline_ns);
            n_left--;
        } else {
            r = gsh_fail(GSH_ERR_PEER, "start-up: PE %d died or left",
                         gsh_uid_partner(u, event.tag, 1));
        }
    }
    for (int k = 0; k < u->rounds && r == GSH_OK; k++) { /* else partners that end would wake it */
        gsh_tcp_listener_remove(u->listener, u->out[k]);
    }
    return r;
}

static void derive_shared_key(struct gsh_uid_rank *u)
{
    struct gsh_hmac h;
    gsh_hmac_init(&h, u->secret, sizeof(u->secret));
    gsh_hmac_update(&h, "job", 3); /* unlike any text of the handshake */
    gsh_hmac_finish(&h, u->base.shared_key);
    explicit_bzero(&h, sizeof(h));
}

enum gsh_result gsh_bootstrap_uid_create(const struct gsh_uid *id, int rank, int n_ranks,
                                         const struct gsh_uid_options *options,
                                         struct gsh_bootstrap **out)
{
    struct gsh_uid_content content;
    struct gsh_welcome welcome = {0};
    uint64_t deadline_ns = gsh_deadline_in(options->timeout_ns);
    enum gsh_result r = gsh_uid_decode(id, &content);
    if (r != GSH_OK) {
        return r;
    }
    struct gsh_uid_rank *u = calloc(1, sizeof(*u));
    if (u == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for start-up over TCP");
    }
    u->base = (struct gsh_bootstrap){
        .ops = &uid_ops, .rank = rank, .size = n_ranks, .timeout_ns = options->timeout_ns};
    u->rounds = n_ranks > 0 && n_ranks <= GSH_UID_MAX_RANKS ? gsh_uid_rounds(n_ranks) : 0;
    memcpy(u->secret, content.secret, sizeof(u->secret));
    explicit_bzero(content.secret, sizeof(content.secret));
    derive_shared_key(u);
    memset(u->out, -1, sizeof(u->out));
    memset(u->in, -1, sizeof(u->in));
    struct gsh_uid_join join = {.rank = rank,
                                .n_ranks = n_ranks,
                                .rounds = u->rounds,
                                .secret = u->secret,
                                .ifname = options->ifname,
                                .timeout_ns = options->timeout_ns,
                                .most_direct = options->most_direct,
                                .host = options->host};
    r = gsh_uid_join(&join, &content.address,
                     deadline_ns == 0 ? 0 : deadline_ns + RENDEZVOUS_GRACE_NS, &welcome);
    u->listener = join.listener;
    u->base.counts = join.sent;
    u->base.hosts = join.hosts;
    if (r == GSH_OK) {
        r = link_up(u, welcome.partners, deadline_ns);
    }
    if (r == GSH_OK) {
        r = gsh_uid_asking_create(rank, n_ranks, u->secret, welcome.partners, &u->base.asked,
                                  &u->listener, &u->base.asking);
    }
    gsh_tcp_listener_destroy(&u->listener);
    if (r != GSH_OK) {
        uid_destroy(&u->base);
    } else {
        *out = &u->base;
    }
    return r;
}
