/* SPDX-License-Identifier: Apache-2.0
 * A rank of a job started by unique id: it asks the rendezvous for its partners, links up with them
 * over TCP, and exchanges blobs in O(log n) rounds.
 *
 * In round k a rank sends to rank + 2^k and receives from rank - 2^k (modulo n). Allgather (Bruck):
 * slot j of a rank's buffer is the blob of rank - j; before round k the first 2^k slots are filled,
 * and they are what the receiver needs for its next 2^k. Barrier: the same with empty blobs.
 * Combine: one value in each round, also of groups; gather_combine: that, and then the slots. leg.h
 * has these rounds. gather_host: the value, and those slots alone that host_leg.h names.
 *
 * A rank that fails in a call sends a notice naming the culprit over all its links and closes its
 * sending side; a rank that waits for it passes the notice on, so all ranks return within O(log n)
 * hops. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/log.h"
#include "base/private_fd.h"
#include "bootstrap/host_leg.h"
#include "bootstrap/leg.h"
#include "bootstrap/tcp_listener.h"
#include "bootstrap/uid.h"
#include "bootstrap/uid_ask.h"
#include "bootstrap/uid_join.h"

struct uid_bootstrap {
    struct gsh_bootstrap base;
    struct gsh_tcp_listener *listener; /* only while links are made; then base.asking has it */
    uint8_t secret[GSH_SHA256_BYTES];
    int rounds;
    int out[GSH_UID_MAX_ROUNDS]; /* to rank + 2^k */
    int in[GSH_UID_MAX_ROUNDS];  /* from rank - 2^k */
    struct gsh_link_keys out_keys[GSH_UID_MAX_ROUNDS], in_keys[GSH_UID_MAX_ROUNDS];
    bool is_mid_frame[GSH_UID_MAX_ROUNDS]; /* out[k] has received part of a frame */
    uint32_t n_calls;
    bool is_failed;
};

static int partner(const struct uid_bootstrap *u, int round, int direction)
{
    int64_t n = u->base.size;
    return (int)((u->base.rank + n + direction * ((int64_t)1 << round)) % n);
}

static double timeout_s(const struct uid_bootstrap *u)
{
    return (double)u->base.timeout_ns * 1e-9;
}

static void count_sent(struct uid_bootstrap *u, size_t bytes)
{
    u->base.counts.messages++;
    u->base.counts.bytes += bytes;
}

/* ---- exchange ---- */

static void send_notice(struct uid_bootstrap *u, enum gsh_result r, int culprit)
{
    struct gsh_frame notice = {
        .kind = GSH_FRAME_NOTICE, .call = (uint32_t)r, .bytes = (uint64_t)culprit};
    size_t moved;
    u->is_failed = true;
    for (int k = 0; k < u->rounds; k++) {
        if (u->out[k] >= 0 && !u->is_mid_frame[k]) {
            notice.tag = gsh_frame_tag(&notice, NULL, 0, u->out_keys[k].of_client);
            (void)!gsh_socket_send_some(u->out[k], &notice, sizeof(notice), &moved);
        }
        if (u->in[k] >= 0) {
            notice.tag = gsh_frame_tag(&notice, NULL, 0, u->in_keys[k].of_acceptor);
            (void)!gsh_socket_send_some(u->in[k], &notice, sizeof(notice), &moved);
        }
        if (u->out[k] >= 0) {
            (void)shutdown(u->out[k], SHUT_WR);
        }
        if (u->in[k] >= 0) {
            (void)shutdown(u->in[k], SHUT_WR);
        }
    }
}

/* A rank whose send to a partner fails may find that partner's notice on the same link. */
static bool find_notice(const struct uid_bootstrap *u, int k, struct gsh_frame *out)
{
    size_t moved;
    struct gsh_frame f;
    if (gsh_socket_recv_some(u->out[k], &f, sizeof(f), &moved) != GSH_OK || moved != sizeof(f) ||
        f.kind != GSH_FRAME_NOTICE ||
        f.tag != gsh_frame_tag(&f, NULL, 0, u->out_keys[k].of_acceptor)) {
        return false;
    }
    *out = f;
    return true;
}

static enum gsh_result fail_for_loss(const struct uid_bootstrap *u, const char *call, int culprit)
{
    static const char format[] = "%s: PE %d died or left";
    return u->base.may_lose_ranks ? gsh_note(GSH_ERR_PEER, format, call, culprit)
                                  : gsh_fail(GSH_ERR_PEER, format, call, culprit);
}

static enum gsh_result fail_by_notice(struct uid_bootstrap *u, const char *call,
                                      const struct gsh_frame *notice)
{
    enum gsh_result r = notice->call > GSH_OK && notice->call < GSH_RESULT_COUNT
                            ? (enum gsh_result)notice->call
                            : GSH_ERR_PEER;
    int culprit = (int)notice->bytes;
    send_notice(u, r, culprit);
    if (r == GSH_ERR_PEER) {
        return fail_for_loss(u, call, culprit);
    }
    return gsh_fail(r, "%s: failed on PE %d: %s", call, culprit, gsh_result_name(r));
}

static enum gsh_result fail_exchange(struct uid_bootstrap *u, const char *call, enum gsh_result r,
                                     int round, const struct gsh_socket_part *out,
                                     const struct gsh_socket_part *in)
{
    int saved = errno;
    struct gsh_frame notice;
    int culprit =
        out->is_broken || in->done == in->bytes ? partner(u, round, 1) : partner(u, round, -1);
    if (r == GSH_ERR_PEER && out->is_broken && find_notice(u, round, &notice)) {
        return fail_by_notice(u, call, &notice);
    }
    if (r == GSH_ERR_PEER) {
        send_notice(u, r, culprit);
        return fail_for_loss(u, call, culprit);
    }
    if (r == GSH_ERR_TIMEOUT) {
        send_notice(u, r, culprit);
        return gsh_fail(r, "%s: nothing from PE %d for %g s", call, culprit, timeout_s(u));
    }
    send_notice(u, GSH_ERR_PEER, u->base.rank);
    errno = saved;
    return gsh_fail_errno(r, "%s: link with PE %d", call, culprit);
}

static enum gsh_result check_tag(struct uid_bootstrap *u, const char *call, int round,
                                 const struct gsh_frame *theirs, const void *data, size_t bytes)
{
    if (theirs->tag == gsh_frame_tag(theirs, data, bytes, u->in_keys[round].of_client)) {
        return GSH_OK;
    }
    send_notice(u, GSH_ERR_BUG, u->base.rank);
    return gsh_fail(GSH_ERR_BUG, "%s: what came from PE %d is not what it has sent", call,
                    partner(u, round, -1));
}

static enum gsh_result check_frame(struct uid_bootstrap *u, const char *call, int round,
                                   const struct gsh_frame *mine, const struct gsh_frame *theirs)
{
    int from = partner(u, round, -1);
    if (theirs->kind == GSH_FRAME_NOTICE) {
        enum gsh_result r = check_tag(u, call, round, theirs, NULL, 0);
        return r == GSH_OK ? fail_by_notice(u, call, theirs) : r;
    }
    if (theirs->kind == mine->kind && theirs->call == mine->call && theirs->bytes == mine->bytes) {
        return GSH_OK;
    }
    send_notice(u, GSH_ERR_SYMMETRY, from);
    if (theirs->kind != mine->kind || theirs->call != mine->call) {
        return gsh_fail(GSH_ERR_BUG, "%s: PE %d is in another start-up call than this PE", call,
                        from);
    }
    return gsh_fail(GSH_ERR_SYMMETRY, "%s: PE %d gives %llu bytes, this PE %llu", call, from,
                    (unsigned long long)theirs->bytes, (unsigned long long)mine->bytes);
}

/* One round: sends `mine` with the out_bytes that follow it, receives a frame and in_bytes. The
 * whole frame is sent before the partner's is checked, so a notice may follow it. */
static enum gsh_result do_round(struct uid_bootstrap *u, const char *call, int k,
                                struct gsh_frame *mine, size_t out_bytes, void *in_data,
                                size_t in_bytes, uint64_t deadline_ns)
{
    struct gsh_frame theirs;
    struct gsh_socket_part out = {
        .fd = u->out[k], .data = mine, .bytes = sizeof(*mine) + out_bytes, .may_lag = true};
    struct gsh_socket_part head = {.fd = u->in[k], .data = &theirs, .bytes = sizeof(theirs)};
    struct gsh_socket_part in = {.fd = u->in[k], .data = in_data, .bytes = in_bytes};
    mine->tag = gsh_frame_tag(mine, mine + 1, out_bytes, u->out_keys[k].of_client);
    enum gsh_result r = gsh_socket_exchange(&out, &head, deadline_ns);
    u->is_mid_frame[k] = out.done > 0 && out.done < out.bytes;
    if (r != GSH_OK) {
        return fail_exchange(u, call, r, k, &out, &head);
    }
    r = check_frame(u, call, k, mine, &theirs);
    if (r != GSH_OK) {
        return r;
    }
    out.may_lag = false;
    r = gsh_socket_exchange(&out, &in, deadline_ns);
    u->is_mid_frame[k] = out.done < out.bytes;
    if (r == GSH_OK) {
        count_sent(u, out.bytes);
    }
    return r == GSH_OK ? check_tag(u, call, k, &theirs, in_data, in_bytes)
                       : fail_exchange(u, call, r, k, &out, &in);
}

static enum gsh_result check_alive(const struct uid_bootstrap *u, const char *call)
{
    if (!u->is_failed) {
        return GSH_OK;
    }
    return gsh_fail(GSH_ERR_PEER, "%s: an earlier start-up call of this job failed", call);
}

static enum gsh_result fail_for_memory(struct uid_bootstrap *u, size_t n, size_t bytes)
{
    send_notice(u, GSH_ERR_NOMEM, u->base.rank);
    return gsh_fail(GSH_ERR_NOMEM, "allgather: no memory for %zu times %zu bytes", n, bytes);
}

static void fold_theirs(void *value, const void *theirs, size_t bytes,
                        void (*fold)(void *into, const void *from))
{
    uint64_t aligned[GSH_GATHER_MAX_VALUE / sizeof(uint64_t)];
    memcpy(aligned, theirs, bytes);
    fold(value, aligned);
    explicit_bzero(aligned, sizeof(aligned)); /* a value may be secret */
}

/* The blobs of all and, if value_bytes is not 0, what fold makes of all values: in each message the
 * value comes first. */
static enum gsh_result gather(struct uid_bootstrap *u, const void *mine, size_t bytes,
                              void *all_out, void *value, size_t value_bytes,
                              void (*fold)(void *into, const void *from))
{
    const size_t n = (size_t)u->base.size, rank = (size_t)u->base.rank;
    const size_t room = sizeof(struct gsh_frame) + value_bytes + n * bytes + value_bytes;
    uint64_t deadline_ns = gsh_deadline_in(u->base.timeout_ns);
    enum gsh_result r = check_alive(u, "allgather");
    if (r != GSH_OK) {
        return r;
    }
    struct gsh_frame *head = malloc(room);
    if (head == NULL) {
        return fail_for_memory(u, n, bytes);
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
        r = do_round(u, "allgather", leg.round, head, value_bytes + part, into, value_bytes + part,
                     deadline_ns);
        if (r == GSH_OK && value_bytes > 0) { /* their blobs belong where their value has come */
            fold_theirs(value, into, value_bytes, fold);
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
    return gather((struct uid_bootstrap *)b, mine, bytes, all_out, NULL, 0, NULL);
}

static enum gsh_result uid_gather_combine(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                          void *all_out, void *value, size_t value_bytes,
                                          void (*fold)(void *into, const void *from))
{
    return gather((struct uid_bootstrap *)b, mine, bytes, all_out, value, value_bytes, fold);
}

/* ---- the blobs of this rank's host (host_leg.h) ---- */

/* Those that this rank has, by ascending position. */
struct held {
    int n, host_ranks; /* ranks */
    size_t bytes;      /* of a blob */
    uint8_t *blobs;
    size_t n_blobs;
};

/* Puts what the receiver of this round lacks behind each other; returns how many. */
static size_t pick(const struct held *held, int distance, uint8_t *into)
{
    size_t n_picked = 0, index = 0;
    int position = 0; /* of the blob at index */
    for (int its = distance - 1;
         (its = gsh_host_leg_position(held->n, held->host_ranks, its)) < held->n &&
         its < 2 * distance;) {
        for (; position < its - distance; index++) {
            position = gsh_host_leg_position(held->n, held->host_ranks, position);
        }
        memcpy(into + n_picked++ * held->bytes, held->blobs + index * held->bytes, held->bytes);
    }
    return n_picked;
}

/* Hands out those of the host. */
static void sort_out(const struct held *held, int rank, uint8_t *theirs)
{
    const int n = held->n, first = rank / held->host_ranks * held->host_ranks;
    const uint8_t *blob = held->blobs;
    for (int position = 0; position < n;
         position = gsh_host_leg_position(n, held->host_ranks, position)) {
        const int its = (rank - position + n) % n;
        if (its >= first && its < first + held->host_ranks) {
            memcpy(theirs + (size_t)(its - first) * held->bytes, blob, held->bytes);
        }
        blob += held->bytes;
    }
}

/* Memory for a gather: what is sent, what comes, and what is held. */
struct host_gather {
    struct gsh_frame *head; /* before the value and the blobs that go */
    uint8_t *value, *go, *come;
    struct held held;
    size_t room;
};

static bool make_host_gather(struct host_gather *g, const struct gsh_bootstrap *b, size_t bytes,
                             size_t value_bytes)
{
    size_t most = 0, all = 1;
    for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, b->size, b->rank, 1);) {
        const size_t n = (size_t)gsh_host_leg_blocks(b->size, b->host_ranks, leg.distance);
        most = n > most ? n : most;
        all += n;
    }
    const size_t message = value_bytes + most * bytes;
    g->held = (struct held){.n = b->size, .host_ranks = b->host_ranks, .bytes = bytes};
    g->room = sizeof(*g->head) + 2 * message + all * bytes;
    g->head = malloc(g->room);
    if (g->head == NULL) {
        return false;
    }
    g->value = (uint8_t *)(g->head + 1);
    g->go = g->value + value_bytes;
    g->come = g->value + message;
    g->held.blobs = g->come + message;
    return true;
}

static enum gsh_result uid_gather_host(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                       void *theirs, void *value, size_t value_bytes,
                                       void (*fold)(void *into, const void *from))
{
    struct uid_bootstrap *u = (struct uid_bootstrap *)b;
    const uint64_t deadline_ns = gsh_deadline_in(b->timeout_ns);
    struct host_gather g;
    enum gsh_result r = check_alive(u, "allgather");
    if (r != GSH_OK) {
        return r;
    }
    if (!make_host_gather(&g, b, bytes, value_bytes)) {
        return fail_for_memory(u, (size_t)b->host_ranks, bytes);
    }
    *g.head = (struct gsh_frame){
        .kind = GSH_FRAME_HOST, .call = ++u->n_calls, .bytes = value_bytes + bytes};
    memcpy(g.held.blobs, mine, bytes);
    g.held.n_blobs = 1;
    for (struct gsh_leg leg = {0}; r == GSH_OK && gsh_leg_next(&leg, b->size, b->rank, 1);) {
        const size_t n = pick(&g.held, leg.distance, g.go), part = n * bytes;
        memcpy(g.value, value, value_bytes);
        r = do_round(u, "allgather", leg.round, g.head, value_bytes + part, g.come,
                     value_bytes + part, deadline_ns);
        if (r == GSH_OK) {
            fold_theirs(value, g.come, value_bytes, fold);
            memcpy(g.held.blobs + g.held.n_blobs * bytes, g.come + value_bytes, part);
            g.held.n_blobs += n;
        }
    }
    if (r == GSH_OK) {
        sort_out(&g.held, b->rank, theirs);
    }
    explicit_bzero(g.head, g.room); /* a value may be secret */
    free(g.head);
    return r;
}

static enum gsh_result uid_barrier(struct gsh_bootstrap *b)
{
    struct uid_bootstrap *u = (struct uid_bootstrap *)b;
    uint64_t deadline_ns = gsh_deadline_in(b->timeout_ns);
    enum gsh_result r = check_alive(u, "barrier");
    if (r != GSH_OK) {
        return r;
    }
    struct gsh_frame head = {.kind = GSH_FRAME_DATA, .call = ++u->n_calls};
    for (struct gsh_leg leg = {0}; r == GSH_OK && gsh_leg_next(&leg, b->size, b->rank, 1);) {
        r = do_round(u, "barrier", leg.round, &head, 0, NULL, 0, deadline_ns);
    }
    return r;
}

static enum gsh_result uid_combine_groups(struct gsh_bootstrap *b, void *mine, size_t bytes,
                                          void (*fold)(void *into, const void *from), int width)
{
    struct uid_bootstrap *u = (struct uid_bootstrap *)b;
    uint64_t deadline_ns = gsh_deadline_in(b->timeout_ns);
    enum gsh_result r = check_alive(u, "vote");
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
        r = do_round(u, "vote", leg.round, &out.head, bytes, theirs, bytes, deadline_ns);
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
    struct uid_bootstrap *u = (struct uid_bootstrap *)b;
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

/* A process cannot end another here; its partners notice at their next call. */
static void uid_abort(struct gsh_bootstrap *b, int status, const char *message)
{
    struct uid_bootstrap *u = (struct uid_bootstrap *)b;
    (void)status;
    (void)message;
    if (!u->is_failed) {
        send_notice(u, GSH_ERR_PEER, b->rank);
    }
}

static void uid_destroy(struct gsh_bootstrap *b)
{
    struct uid_bootstrap *u = (struct uid_bootstrap *)b;
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
    free(u);
}

static const struct gsh_bootstrap_ops uid_ops = {
    .name = "uid",
    .allgather = uid_allgather,
    .barrier = uid_barrier,
    .combine = uid_combine,
    .combine_groups = uid_combine_groups,
    .gather_combine = uid_gather_combine,
    .gather_host = uid_gather_host,
    .has_lost = uid_has_lost,
    .abort = uid_abort,
    .destroy = uid_destroy,
};

/* ---- joining ---- */

/* The rendezvous' own limit begins a little later, when the first PE comes. It should end first,
 * since it can say who is missing. */
#define RENDEZVOUS_GRACE_NS UINT64_C(1000000000)

/* Connects to all partners and says hello. Waits for no rank: their kernels accept. */
static enum gsh_result connect_out(struct uid_bootstrap *u, const struct gsh_partner *partners,
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
            count_sent(u, sizeof(*hello));
        }
        if (r != GSH_OK) {
            char text[GSH_ADDRESS_TEXT];
            if (r == GSH_ERR_TIMEOUT) {
                return gsh_fail(r, "start-up: PE %d at %s took no connection within %g s",
                                partner(u, k, 1), gsh_address_text(&partners[k].address, text),
                                timeout_s(u));
            }
            return gsh_fail_errno(r, "start-up: cannot reach PE %d at %s", partner(u, k, 1),
                                  gsh_address_text(&partners[k].address, text));
        }
    }
    return GSH_OK;
}

static enum gsh_result fail_missing(const struct uid_bootstrap *u, const bool *has_answered,
                                    enum gsh_result r)
{
    for (int k = 0; k < u->rounds && r == GSH_ERR_TIMEOUT; k++) {
        if (u->in[k] < 0) {
            return gsh_fail(r, "start-up: PE %d did not link up within %g s", partner(u, k, -1),
                            timeout_s(u));
        }
        if (!has_answered[k]) {
            return gsh_fail(r, "start-up: PE %d did not answer within %g s", partner(u, k, 1),
                            timeout_s(u));
        }
    }
    return gsh_fail_errno(r, "start-up: waiting for partners");
}

/* Admits a partner of the other direction; returns whether it was one. */
static bool admit(struct uid_bootstrap *u, struct gsh_tcp_listener_event *event)
{
    uint32_t k = event->hello.round;
    if (event->hello.kind != GSH_HELLO_LINK || k >= (uint32_t)u->rounds ||
        (int)event->hello.rank != partner(u, (int)k, -1) || u->in[k] >= 0 ||
        !gsh_answer_send(event->fd, &event->hello, u->secret, GSH_OK, NULL, 0)) {
        gsh_socket_hang_up(&event->fd);
        return false;
    }
    count_sent(u, sizeof(struct gsh_answer) + GSH_SHA256_BYTES);
    u->in[k] = event->fd;
    gsh_link_keys(&event->hello, u->secret, &u->in_keys[k]);
    gsh_private_fd_add(event->fd);
    return true;
}

static enum gsh_result receive_answer(struct uid_bootstrap *u, int k, const struct gsh_hello *hello,
                                      uint64_t deadline_ns)
{
    struct gsh_answer answer;
    char payload[GSH_ANSWER_MAX_PAYLOAD];
    enum gsh_result r = gsh_answer_recv(u->out[k], hello, u->secret, &answer, payload, deadline_ns);
    if (r == GSH_OK) {
        return r;
    }
    return gsh_fail(r, "start-up: PE %d %s", partner(u, k, 1),
                    r == GSH_ERR_TIMEOUT ? "did not link up in time"
                    : r == GSH_ERR_ARG   ? "did not prove the job's secret"
                                         : "died or left");
}

/* Handles both directions at once: no rank may wait for one that waits for another's answer, and
 * the death of a partner must end the wait. */
static enum gsh_result link_up(struct uid_bootstrap *u, const struct gsh_partner *partners,
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
            r = gsh_fail(GSH_ERR_PEER, "start-up: PE %d died or left", partner(u, event.tag, 1));
        }
    }
    for (int k = 0; k < u->rounds && r == GSH_OK; k++) { /* else partners that end would wake it */
        gsh_tcp_listener_remove(u->listener, u->out[k]);
    }
    return r;
}

static void derive_shared_key(struct uid_bootstrap *u)
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
    struct uid_bootstrap *u = calloc(1, sizeof(*u));
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
    u->base.host_ranks = (int)welcome.host_ranks;
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
