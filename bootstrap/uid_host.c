/* SPDX-License-Identifier: Apache-2.0
 * By unique id: an exchange by which a rank gets the blobs of its host's ranks alone, and a value
 * of all, in the rounds of host_leg.h. */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>
#include "bootstrap/gather.h"
#include "bootstrap/host_leg.h"
#include "bootstrap/leg.h"
#include "bootstrap/uid_impl.h"

/* Those that this rank has, by ascending position. */
struct held {
    struct gsh_host_leg leg;
    size_t bytes; /* of a blob */
    uint8_t *blobs;
    size_t n_blobs;
};

/* Puts what the receiver of this round lacks behind each other; returns how many. */
static size_t pick(const struct held *held, int distance, uint8_t *into)
{
    size_t n_picked = 0, index = 0;
    int position = 0; /* of the blob at index */
    for (int its = distance - 1;
         (its = gsh_host_leg_position(&held->leg, its)) < held->leg.n && its < 2 * distance;) {
        for (; position < its - distance; index++) {
            position = gsh_host_leg_position(&held->leg, position);
        }
        memcpy(into + n_picked++ * held->bytes, held->blobs + index * held->bytes, held->bytes);
    }
    return n_picked;
}

/* Hands out those of the host. */
static void sort_out(const struct held *held, int rank, struct gsh_host_ranks host, uint8_t *theirs)
{
    const int n = held->leg.n;
    const uint8_t *blob = held->blobs;
    for (int position = 0; position < n; position = gsh_host_leg_position(&held->leg, position)) {
        const int index = gsh_host_ranks_index(&host, (rank - position + n) % n);
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
        const size_t n = (size_t)gsh_host_leg_blocks(&in_host, leg.distance);
        most = n > most ? n : most;
        all += n;
    }
    const size_t message = value_bytes + most * bytes;
    g->held = (struct held){.leg = in_host, .bytes = bytes};
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
        const size_t n = pick(&g.held, leg.distance, g.go), part = n * bytes;
        memcpy(g.value, value, value_bytes);
        r = gsh_uid_round(u, "allgather", leg.round, g.head, value_bytes + part, g.come,
                          value_bytes + part, deadline_ns);
        if (r == GSH_OK) {
            gsh_uid_fold(value, g.come, value_bytes, fold);
            memcpy(g.held.blobs + g.held.n_blobs * bytes, g.come + value_bytes, part);
            g.held.n_blobs += n;
        }
    }
    if (r == GSH_OK) {
        sort_out(&g.held, b->rank, gsh_host_range(b), theirs);
    }
    explicit_bzero(g.head, g.room); /* a value may be secret */
    free(g.head);
    return r;
}
