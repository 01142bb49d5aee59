/* SPDX-License-Identifier: Apache-2.0
 * By unique id: an exchange by which a rank gets the blobs of its host's ranks alone, and a value
 * of all, in the rounds of host_leg.h; and before, where the rendezvous does not say which ranks
 * are of a host, one by which all learn it, as parts of ranks that follow one another. */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>
#include "bootstrap/gather.h"
#include "bootstrap/host_leg.h"
#include "bootstrap/host_table.h"
#include "bootstrap/leg.h"
#include "bootstrap/uid_impl.h"

/* Those that this rank has, by ascending position. */
struct held {
    struct gsh_host_leg leg;
    int rank;
    size_t bytes; /* of a blob */
    uint8_t *blobs;
    size_t n_blobs;
};

/* Puts what the receiver of this round lacks behind each other; returns how many. */
static size_t pick(const struct held *held, const struct gsh_leg *round, uint8_t *into)
{
    const int distance = round->distance;
    size_t n_picked = 0, index = 0;
    int position = 0; /* of the blob at index */
    for (int its = distance - 1;
         (its = gsh_host_leg_position(&held->leg, round->to, its)) < held->leg.n &&
         its < 2 * distance;) {
        for (; position < its - distance; index++) {
            position = gsh_host_leg_position(&held->leg, held->rank, position);
        }
        memcpy(into + n_picked++ * held->bytes, held->blobs + index * held->bytes, held->bytes);
    }
    return n_picked;
}

/* Hands out those of the host. */
static void sort_out(const struct held *held, struct gsh_host_ranks host, uint8_t *theirs)
{
    const int n = held->leg.n;
    const uint8_t *blob = held->blobs;
    for (int position = 0; position < n;
         position = gsh_host_leg_position(&held->leg, held->rank, position)) {
        const int index = gsh_host_ranks_index(&host, (held->rank - position + n) % n);
        if (index >= 0) {
            memcpy(theirs + (size_t)index * held->bytes, blob, held->bytes);
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
    const struct gsh_host_leg in_host = gsh_host_leg_of(&b->hosts, b->size);
    size_t most = 0, all = 1;
    for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, b->size, b->rank, 1);) {
        const size_t come = (size_t)gsh_host_leg_blocks(&in_host, b->rank, leg.distance),
                     go = (size_t)gsh_host_leg_blocks(&in_host, leg.to, leg.distance);
        most = come > most ? come : most;
        most = go > most ? go : most;
        all += come;
    }
    const size_t message = value_bytes + most * bytes;
    g->held = (struct held){.leg = in_host, .rank = b->rank, .bytes = bytes};
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

enum gsh_result gsh_uid_gather_host(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                    void *theirs, void *value, size_t value_bytes,
                                    void (*fold)(void *into, const void *from))
{
    struct gsh_uid_rank *u = (struct gsh_uid_rank *)b;
    const uint64_t deadline_ns = gsh_deadline_in(b->timeout_ns);
    struct host_gather g;
    enum gsh_result r = gsh_uid_check_alive(u, "allgather");
    if (r != GSH_OK) {
        return r;
    }
    if (!make_host_gather(&g, b, bytes, value_bytes)) {
        return gsh_uid_fail_for_memory(u, (size_t)b->hosts.most, bytes);
    }
    *g.head = (struct gsh_frame){
        .kind = GSH_FRAME_HOST, .call = ++u->n_calls, .bytes = value_bytes + bytes};
    memcpy(g.held.blobs, mine, bytes);
    g.held.n_blobs = 1;
    for (struct gsh_leg leg = {0}; r == GSH_OK && gsh_leg_next(&leg, b->size, b->rank, 1);) {
        const size_t n = (size_t)gsh_host_leg_blocks(&g.held.leg, b->rank, leg.distance);
        const size_t part = n * bytes, part_out = pick(&g.held, &leg, g.go) * bytes;
        memcpy(g.value, value, value_bytes);
        r = gsh_uid_round(u, "allgather", leg.round, g.head, value_bytes + part_out, g.come,
                          value_bytes + part, deadline_ns);
        if (r == GSH_OK) {
            gsh_uid_fold(value, g.come, value_bytes, fold);
            memcpy(g.held.blobs + g.held.n_blobs * bytes, g.come + value_bytes, part);
            g.held.n_blobs += n;
        }
    }
    if (r == GSH_OK) {
        sort_out(&g.held, gsh_host_range(b), theirs);
    }
    explicit_bzero(g.head, g.room); /* a value may be secret */
    free(g.head);
    return r;
}

/* ---- who is of which host ---- */

/* Of the ranks that end with this one, in ascending order, behind a frame. */
struct parts {
    struct gsh_frame *head;
    struct gsh_host_part *of; /* as many as ranks fit */
    size_t n;
};

/* The parts of the last n ranks come to lie behind `into`'s frame; returns how many. */
static size_t cut(const struct parts *parts, uint32_t n, struct parts *into)
{
    size_t first = parts->n;
    uint32_t got = 0;
    while (got < n) {
        got += parts->of[--first].ranks;
    }
    into->n = parts->n - first;
    memcpy(into->of, parts->of + first, into->n * sizeof(*into->of));
    into->of[0].ranks -= got - n;
    return into->n;
}

static bool are_good(const struct parts *parts, uint32_t n)
{
    uint64_t got = 0;
    for (size_t i = 0; i < parts->n; i++) {
        got += parts->of[i].ranks;
        if (parts->of[i].ranks == 0) {
            return false;
        }
    }
    return got == n;
}

/* What has come is of the ranks before. */
static void prepend(struct parts *parts, const struct parts *come)
{
    const size_t last = come->n - 1;
    const bool is_same =
        memcmp(come->of[last].host, parts->of[0].host, sizeof(parts->of[0].host)) == 0;
    const size_t n = come->n - is_same;
    parts->of[0].ranks += is_same ? come->of[last].ranks : 0;
    memmove(parts->of + n, parts->of, parts->n * sizeof(*parts->of));
    memcpy(parts->of, come->of, n * sizeof(*parts->of));
    parts->n += n;
}

/* A round: first how many parts go and come, then these. */
static enum gsh_result swap_parts(struct gsh_uid_rank *u, const struct gsh_leg *leg,
                                  struct parts *go, struct parts *come, uint64_t deadline_ns)
{
    static const char call[] = "hosts";
    struct {
        struct gsh_frame head;
        uint64_t n;
    } count = {.head = {.kind = GSH_FRAME_DATA, .call = u->n_calls, .bytes = sizeof(count.n)},
               .n = go->n};
    uint64_t n = 0;
    enum gsh_result r = gsh_uid_round(u, call, leg->round, &count.head, sizeof(count.n), &n,
                                      sizeof(n), deadline_ns);
    come->n = n;
    if (r == GSH_OK && (n < 1 || n > (uint64_t)leg->blocks)) {
        gsh_uid_send_notice(u, GSH_ERR_BUG, u->base.rank);
        return gsh_fail(GSH_ERR_BUG, "hosts: PE %d tells of %llu", leg->from,
                        (unsigned long long)n);
    }
    *go->head = (struct gsh_frame){
        .kind = GSH_FRAME_DATA, .call = u->n_calls, .bytes = sizeof(struct gsh_host_part)};
    if (r == GSH_OK) {
        r = gsh_uid_round(u, call, leg->round, go->head, go->n * sizeof(*go->of), come->of,
                          come->n * sizeof(*come->of), deadline_ns);
    }
    if (r == GSH_OK && !are_good(come, (uint32_t)leg->blocks)) {
        gsh_uid_send_notice(u, GSH_ERR_BUG, u->base.rank);
        r = gsh_fail(GSH_ERR_BUG, "hosts: PE %d tells of other PEs", leg->from);
    }
    return r;
}

/* Room for n parts. */
static bool make_parts(struct parts *parts, size_t n)
{
    parts->head = malloc(sizeof(*parts->head) + n * sizeof(*parts->of));
    parts->of = (struct gsh_host_part *)(parts->head + 1);
    return parts->head != NULL;
}

enum gsh_result gsh_uid_gather_hosts(struct gsh_bootstrap *b, uint64_t host,
                                     struct gsh_host_table *out)
{
    struct gsh_uid_rank *u = (struct gsh_uid_rank *)b;
    const uint64_t deadline_ns = gsh_deadline_in(b->timeout_ns);
    struct parts all = {0}, go = {0}, come = {0};
    const size_t n = (size_t)b->size;
    enum gsh_result r = gsh_uid_check_alive(u, "hosts");
    if (r != GSH_OK) {
        return r;
    }
    if (!make_parts(&all, n) || !make_parts(&go, n) || !make_parts(&come, n)) {
        r = gsh_uid_fail_for_memory(u, n, sizeof(struct gsh_host_part));
    } else {
        all.n = 1;
        all.of[0].ranks = 1;
        memcpy(all.of[0].host, &host, sizeof(host));
        u->n_calls++;
    }
    for (struct gsh_leg leg = {0}; r == GSH_OK && gsh_leg_next(&leg, b->size, b->rank, 1);) {
        (void)cut(&all, (uint32_t)leg.blocks, &go);
        r = swap_parts(u, &leg, &go, &come, deadline_ns);
        if (r == GSH_OK) {
            prepend(&all, &come);
        }
    }
    if (r == GSH_OK &&
        gsh_host_table_make(out, b->size, all.of, (b->rank + 1) % b->size) != GSH_OK) {
        r = gsh_uid_fail_for_memory(u, n, sizeof(struct gsh_host_part));
    }
    free(all.head);
    free(go.head);
    free(come.head);
    return r;
}
