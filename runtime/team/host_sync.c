/* SPDX-License-Identifier: Apache-2.0
 * Synchronisation of host threads. The members of a node arrive by flags in their shared pages. In
 * a team on several nodes the first member of each node, its leader, then exchanges messages with
 * other leaders in ceil(log2(nodes)) rounds, and releases its node. A large team on one node also
 * has a leader: otherwise each member would read the flags of all. It says nothing about data. */
#include "gshmem/types.h"
#include "proxy/proxy.h"
#include "base/atomic.h"
#include "base/futex.h"
#include "bootstrap/leg.h"
#include "runtime/team/absent.h"
#include "runtime/instance/death.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/instance/message_tag.h"
#include "runtime/team/page.h"
#include "runtime/team/team.h"
#include "runtime/instance/host_wait.h"

/* The members of a team on one node that all look at each other's flags, at most. */
#define FLAGS_FOR_ALL 64

/* A member that waits for its leader, with many others, polls so often, then sleeps, for so long at
 * most. */
#define SHORT_POLLS 64
#define SLEEP_NS    50000000u

struct arrival {
    struct gsh_instance *pe;
    const struct gsh_team *team;
    const char *call;
    uint64_t epoch;
    uint64_t start_ns;
};

/* Returns if another PE reports it: the job is about to end. */
static void timed_out(struct arrival *a, int member_pe, uint64_t seen)
{
    const struct gsh_absent_wait wait = {
        .site = {.team = (int)a->team->handle, .channel = GSH_ABSENT_HOST},
        .pe = member_pe,
        .expected = a->epoch,
        .seen = seen,
    };
    char text[512];
    a->start_ns = 0;
    if (gsh_absent_take_report(a->pe)) {
        gsh_absent_describe(a->pe, &wait, text, sizeof(text));
        gsh_abort(a->pe, 1, "%s: %s", a->call, text);
    }
}

/* Some member has died. */
static bool is_lost(const struct arrival *a)
{
    return gsh_is_death_among(a->pe, a->team->pes, a->team->n_pes);
}

/* For those who ask: what the arrival waits for. */
static struct gsh_waiting waiting(const struct arrival *a, int member_pe, uint64_t seen)
{
    return (struct gsh_waiting){
        .call = a->call,
        .kind = GSH_WAITS_COLLECTIVE,
        .pe = member_pe,
        .cmp = GSHMEM_CMP_GE,
        .team = a->team->handle,
        .expected = a->epoch,
        .seen = seen,
        .members = a->team->pes,
        .n_members = a->team->n_pes,
    };
}

/* Waits until the word, written by a near member, has reached the epoch. False: it never will,
 * since some member has died. */
static bool await_flag(struct arrival a, int member_pe, const uint64_t *word)
{
    unsigned backoff = 0;
    /* acquire: pairs with that member's release in gsh_host_sync or sync_nodes */
    while (gsh_load_acquire_u64(word) < a.epoch) {
        if (is_lost(&a)) {
            return gsh_load_acquire_u64(word) >= a.epoch; /* the same */
        }
        const struct gsh_waiting what = waiting(&a, member_pe, gsh_load_acquire_u64(word));
        if (gsh_host_sync_poll(a.pe, &backoff, &a.start_ns, &what)) {
            timed_out(&a, member_pe, gsh_load_acquire_u64(word));
        }
    }
    return true;
}

/* The same for a member's leader, if it is the leader of many: they sleep. */
static bool await_leader(struct arrival a, int leader, const uint64_t *word)
{
    uint64_t seen;
    /* acquire: pairs with the leader's release in sync_nodes */
    for (unsigned polls = 0; (seen = gsh_load_acquire_u64(word)) < a.epoch; polls++) {
        unsigned backoff = 0; /* of which a pause is left */
        if (is_lost(&a)) {
            return gsh_load_acquire_u64(word) >= a.epoch; /* the same */
        }
        if (polls >= SHORT_POLLS) {
            gsh_futex_wait(word, seen, SLEEP_NS);
        }
        const struct gsh_waiting what = waiting(&a, leader, gsh_load_acquire_u64(word));
        if (gsh_host_sync_poll(a.pe, &backoff, &a.start_ns, &what)) {
            timed_out(&a, leader, gsh_load_acquire_u64(word));
        }
    }
    return true;
}

static struct gsh_page_words *words(const struct arrival *a, int member_pe)
{
    return gsh_page_words(a->pe, member_pe, (uint32_t)a->team->handle);
}

static enum gsh_result message_poll(void *context, int member_pe)
{
    struct arrival *a = context;
    const struct gsh_waiting what = waiting(a, member_pe, a->epoch - 1);
    if (gsh_host_sync_check(a->pe, &a->start_ns, &what)) {
        timed_out(a, member_pe, a->epoch - 1);
    }
    return is_lost(a) ? gsh_note_death(a->call) : GSH_OK;
}

/* A PE that passes round k has heard from the 2^(k+1) nodes up to its own. */
static void tell_leaders(struct arrival a)
{
    const struct gsh_team_split *nodes = &a.team->nodes;
    for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, nodes->n_groups, nodes->my_group, 1);) {
        int to = nodes->leaders[leg.to], from = nodes->leaders[leg.from];
        uint64_t tag = GSH_NET_TAG(GSH_NET_SYNC, (uint64_t)a.team->handle << 32 | (uint32_t)a.epoch,
                                   (unsigned)leg.round);
        gsh_require_far(a.pe, a.call, gsh_proxy_send(a.pe->proxy, to, tag, NULL, 0));
        gsh_require_far(a.pe, a.call,
                        gsh_proxy_receive(a.pe->proxy, from, tag, NULL, 0, message_poll, &a));
    }
}

static bool sync_nodes(struct arrival a)
{
    const struct gsh_team_split *nodes = &a.team->nodes;
    const bool are_many = nodes->n_near > FLAGS_FOR_ALL;
    if (nodes->my_near != 0) {
        int leader = gsh_team_pe(a.team, gsh_team_near(nodes, 0));
        const uint64_t *released = &words(&a, leader)->released;
        return are_many ? await_leader(a, leader, released) : await_flag(a, leader, released);
    }
    bool have_come = true;
    for (int i = 1; have_come && i < nodes->n_near; i++) {
        int member_pe = gsh_team_pe(a.team, gsh_team_near(nodes, i));
        have_come = await_flag(a, member_pe, &words(&a, member_pe)->epoch);
    }
    if (!have_come) {
        return false;
    }
    tell_leaders(a);
    if (is_lost(&a)) {
        return false; /* of other nodes not all may have come */
    }
    uint64_t *released = &words(&a, a.pe->my_pe)->released;
    /* release: pairs with the acquire in await_flag or await_leader of the others of this node */
    gsh_store_release_u64(released, a.epoch);
    if (are_many) {
        gsh_futex_wake_all(released);
    }
    return true;
}

enum gsh_result gsh_host_sync(struct gsh_instance *pe, struct gsh_team *team, const char *call)
{
    struct arrival a = {.pe = pe, .team = team, .call = call, .epoch = ++team->host_epoch};
    bool have_come = true;
    /* release: pairs with the acquire in await_flag of every other member of this node */
    gsh_store_release_u64(&words(&a, pe->my_pe)->epoch, a.epoch);
    if (team->nodes.n_groups > 1 || team->n_pes > FLAGS_FOR_ALL) {
        have_come = sync_nodes(a);
    } else {
        for (int i = 0; have_come && i < team->n_pes; i++) {
            const int member_pe = gsh_team_pe(team, i);
            have_come = await_flag(a, member_pe, &words(&a, member_pe)->epoch);
        }
    }
    return have_come ? GSH_OK : gsh_note_death(call);
}
