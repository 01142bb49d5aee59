/* SPDX-License-Identifier: Apache-2.0
 * The library's collective calls over the proxy's messages: an allgather, in rounds. In round k a
 * PE has the blocks of 2^k PEs, its own first, and sends them to the PE 2^k before it. A barrier
 * gathers nothing. A combine has the same rounds, with one block: the combined value of those 2^k
 * PEs. Both begin among the PEs of each node, over their pages, and have so fewer rounds (leg.h).
 * An allgather does not; PEs make one only after they have agreed to.
 *
 * Each round begins with a head of fixed length, so that PEs in different calls notice that and do
 * not misread each other's data. A head carries the smallest and the largest length seen so far;
 * after the last round all PEs have the same two. */
#include <stdlib.h>
#include <string.h>
#include "proxy/proxy.h"
#include "base/util.h"
#include "bootstrap/agree.h"
#include "bootstrap/leg.h"
#include "bootstrap/shm.h"
#include "runtime/instance/death.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/instance/message_tag.h"
#include "runtime/instance/end.h"
#include "runtime/init/net.h"
#include "runtime/instance/host_wait.h"

/* The first bytes of the data travel with it; that is all for a barrier or a vote of the heap. */
struct head {
    uint64_t least, most;
    int32_t least_pe, most_pe;
    uint8_t data[GSH_COMBINE_MAX_BYTES];
};
_Static_assert(sizeof(struct head) == 64, "heads are wire");

struct net_job {
    struct gsh_bootstrap b;
    struct gsh_bootstrap *base;
    struct gsh_instance *pe;
    uint64_t sequence; /* of calls, the same on all PEs */
    struct head seen;
};

/* One call's round. */
struct leg {
    struct net_job *job;
    struct gsh_leg at;
    uint64_t start_ns;
};

static uint64_t tag_of(const struct leg *leg)
{
    return GSH_NET_TAG(GSH_NET_JOB, leg->job->sequence, (unsigned)leg->at.round);
}

static enum gsh_result check_wait(void *context, int from_pe)
{
    struct leg *leg = context;
    struct gsh_instance *pe = leg->job->pe;
    const struct gsh_waiting what = {
        .call = gsh_waits_call(), .kind = GSH_WAITS_COLLECTIVE, .pe = from_pe, .team = -1};
    if (gsh_host_sync_check(pe, &leg->start_ns, &what)) {
        return gsh_fail(GSH_ERR_TIMEOUT, "%s%s: waited %.1f s for PE %d in a collective call",
                        what.call, gsh_waits_word_site().text, gsh_host_sync_limit_s(pe), from_pe);
    }
    return gsh_is_death(pe) ? gsh_note_death("a collective call") : GSH_OK;
}

static enum gsh_result send_part(struct leg *leg, const void *data, size_t bytes)
{
    return gsh_proxy_send(leg->job->pe->proxy, leg->at.to, tag_of(leg), data, bytes);
}

static enum gsh_result receive_part(struct leg *leg, void *data, size_t bytes)
{
    return gsh_proxy_receive(leg->job->pe->proxy, leg->at.from, tag_of(leg), data, bytes,
                             check_wait, leg);
}

static void merge(struct head *seen, const struct head *other)
{
    if (other->least < seen->least) {
        seen->least = other->least;
        seen->least_pe = other->least_pe;
    }
    if (other->most > seen->most) {
        seen->most = other->most;
        seen->most_pe = other->most_pe;
    }
}

/* data: the part that is not in the head travels in messages of the proxy's length. */
static enum gsh_result send_round(struct leg *leg, const uint8_t *data, size_t bytes)
{
    struct head head = leg->job->seen;
    bool is_same = head.least == head.most;
    size_t at = gsh_min_u64(bytes, sizeof(head.data)),
           max = gsh_proxy_message_max(leg->job->pe->proxy);
    if (is_same && bytes > 0) {
        memcpy(head.data, data, at);
    }
    enum gsh_result r = send_part(leg, &head, sizeof(head));
    for (; r == GSH_OK && is_same && at < bytes; at += max) {
        r = send_part(leg, data + at, gsh_min_u64(bytes - at, max));
    }
    return r;
}

static enum gsh_result receive_round(struct leg *leg, uint8_t *data, size_t bytes)
{
    struct head head;
    uint64_t wanted = leg->job->seen.least; /* before merging: of this PE's own call */
    size_t at = gsh_min_u64(bytes, sizeof(head.data)),
           max = gsh_proxy_message_max(leg->job->pe->proxy);
    enum gsh_result r = receive_part(leg, &head, sizeof(head));
    if (r != GSH_OK) {
        return r;
    }
    bool is_same =
        leg->job->seen.least == leg->job->seen.most && head.least == wanted && head.most == wanted;
    merge(&leg->job->seen, &head);
    if (is_same && bytes > 0) {
        memcpy(data, head.data, at);
    }
    for (; r == GSH_OK && is_same && at < bytes; at += max) {
        r = receive_part(leg, data + at, gsh_min_u64(bytes - at, max));
    }
    return r;
}

/* blocks[i] is that of PE me + i; blocks[0] is already there. */
static enum gsh_result gather(struct net_job *job, uint8_t *blocks, size_t bytes)
{
    struct leg leg = {.job = job};
    enum gsh_result r = GSH_OK;
    while (r == GSH_OK && gsh_leg_next(&leg.at, job->b.size, job->b.rank, -1)) {
        size_t part = (size_t)leg.at.blocks * bytes;
        leg.start_ns = 0;
        r = send_round(&leg, blocks, part);
        if (r == GSH_OK) {
            r = receive_round(&leg, blocks + (size_t)leg.at.distance * bytes, part);
        }
    }
    return r;
}

/* In a call's length: it is a combine. */
#define COMBINES (UINT64_C(1) << 59)
_Static_assert(2 * COMBINES <= GSH_SHM_MAX_LENGTH, "a length is told on the node, too");

/* Among the PEs of the node. If one is in another call, this PE's head says so. */
static enum gsh_result combine_on_node(struct net_job *job, uint64_t length, void *mine,
                                       size_t bytes, void (*fold)(void *into, const void *from))
{
    struct gsh_shm_other other;
    const enum gsh_result r =
        gsh_shm_combine(job->pe->node_bootstrap, length, mine, bytes, fold, &other);
    if (r == GSH_OK && other.pe >= 0) {
        const struct head its = {
            .least = other.length, .most = other.length, .least_pe = other.pe, .most_pe = other.pe};
        merge(&job->seen, &its);
    }
    return r;
}

/* bytes: 0 is a barrier. */
static enum gsh_result combine(struct net_job *job, uint64_t length, void *mine, size_t bytes,
                               void (*fold)(void *into, const void *from))
{
    const int width = job->pe->node_width;
    struct leg leg = {.job = job, .at = gsh_leg_of_groups(width)};
    enum gsh_result r = width > 1 ? combine_on_node(job, length, mine, bytes, fold) : GSH_OK;
    while (r == GSH_OK && gsh_leg_next(&leg.at, job->b.size, job->b.rank, -1)) {
        uint64_t theirs[GSH_COMBINE_MAX_BYTES / sizeof(uint64_t)] = {0};
        leg.start_ns = 0;
        r = send_round(&leg, mine, bytes);
        if (r == GSH_OK) {
            r = receive_round(&leg, (uint8_t *)theirs, bytes);
        }
        if (r == GSH_OK && bytes > 0 && job->seen.least == job->seen.most) {
            fold(mine, theirs);
        }
    }
    return r;
}

static enum gsh_result differ(const struct net_job *job)
{
    static const char text[] =
        "PE %d and PE %d are in different collective calls (malloc, free or finalize)";
    const struct head *seen = &job->seen;
    return job->b.rank == 0 ? gsh_fail(GSH_ERR_SYMMETRY, text, seen->least_pe, seen->most_pe)
                            : gsh_note(GSH_ERR_SYMMETRY, text, seen->least_pe, seen->most_pe);
}

static void begin(struct net_job *job, uint64_t length)
{
    job->sequence++;
    job->seen = (struct head){
        .least = length, .most = length, .least_pe = job->b.rank, .most_pe = job->b.rank};
}

static enum gsh_result end(struct net_job *job, enum gsh_result r)
{
    if (r != GSH_OK && r != GSH_ERR_TIMEOUT) {
        gsh_require_far(job->pe, "a collective call", r);
    }
    return r == GSH_OK && job->seen.least != job->seen.most ? differ(job) : r;
}

static enum gsh_result net_combine(struct gsh_bootstrap *b, void *mine, size_t bytes,
                                   void (*fold)(void *into, const void *from))
{
    struct net_job *job = (struct net_job *)b;
    const uint64_t length = bytes | COMBINES;
    begin(job, length);
    return end(job, combine(job, length, mine, bytes, fold));
}

static enum gsh_result net_allgather(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                     void *all_out)
{
    struct net_job *job = (struct net_job *)b;
    uint8_t *blocks = calloc((size_t)b->size, bytes > 0 ? bytes : 1);
    if (blocks == NULL) {
        return gsh_agree_abandon(
            b,
            gsh_fail(GSH_ERR_NOMEM, "no memory to gather %zu bytes from %d PEs", bytes, b->size));
    }
    memcpy(blocks, mine, bytes);
    begin(job, bytes);
    enum gsh_result r = end(job, gather(job, blocks, bytes));
    for (int i = 0; r == GSH_OK && i < b->size; i++) {
        int from = (b->rank + i) % b->size;
        memcpy((uint8_t *)all_out + (size_t)from * bytes, blocks + (size_t)i * bytes, bytes);
    }
    free(blocks);
    return r;
}

static enum gsh_result net_barrier(struct gsh_bootstrap *b)
{
    struct net_job *job = (struct net_job *)b;
    begin(job, 0);
    return end(job, combine(job, 0, NULL, 0, NULL));
}

static void net_abort(struct gsh_bootstrap *b, int status, const char *message)
{
    struct net_job *job = (struct net_job *)b;
    job->base->ops->abort(job->base, status, message);
}

static void net_destroy(struct gsh_bootstrap *b)
{
    free(b);
}

static const struct gsh_bootstrap_ops net_ops = {
    .name = "network",
    .allgather = net_allgather,
    .barrier = net_barrier,
    .combine = net_combine,
    .abort = net_abort,
    .destroy = net_destroy,
};

enum gsh_result gsh_net_bootstrap_create(struct gsh_instance *pe, struct gsh_bootstrap *base,
                                         struct gsh_bootstrap **out)
{
    struct net_job *job = calloc(1, sizeof(*job));
    if (job == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for the job's collective calls");
    }
    job->b = (struct gsh_bootstrap){
        .ops = &net_ops, .rank = base->rank, .size = base->size, .timeout_ns = base->timeout_ns};
    job->base = base;
    job->pe = pe;
    *out = &job->b;
    return GSH_OK;
}
