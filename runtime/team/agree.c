/* SPDX-License-Identifier: Apache-2.0
 * Agreement of host threads among the PEs of any list, before they have a team: in round k each
 * gives what it knows to the PE 2^k places further, and adds what it gets. Both ways to add may
 * take a thing twice, so any number of PEs will do.
 *
 * Messages to PEs of this node go through the receiver's page, which has one place for each PE of
 * the node: the sender writes it when the one before has been taken. To others they go over the
 * proxy. Either way they arrive in order for each pair of PEs. */
#include <string.h>
#include "proxy/proxy.h"
#include "runtime/base/atomic.h"
#include "runtime/base/util.h"
#include "runtime/job/end.h"
#include "runtime/job/instance.h"
#include "runtime/job/net.h"
#include "runtime/job/page.h"
#include "runtime/job/turn.h"
#include "runtime/team/team.h"

/* A message: the list's hash, max, or_words. */
enum { WORD_LIST, WORD_MAX, WORD_OR = WORD_MAX + GSH_BALLOT_MAX_WORDS };

struct exchange {
    struct gsh_instance *pe;
    const char *call;
    uint64_t list;
    uint64_t start_ns;
};

uint64_t gsh_ballot_bytes(const struct gsh_teams *teams)
{
    return WORD_OR * sizeof(uint64_t) + teams->n_units / 8;
}

static uint64_t hash_list(const int *pes, int n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint32_t)pes[i]) * 0x100000001b3u; /* FNV-1a */
    }
    return h;
}

__attribute__((noreturn)) static void timed_out(const struct exchange *x, int other)
{
    gsh_abort(x->pe, 1, "%s: waited %.1f s for PE %d to make that call", x->call,
              gsh_host_sync_limit_s(x->pe), other);
}

/* ---- on this node ---- */

/* Until the word is as expected: a place's `taken` for the sender, its `sent` for the receiver. */
static void await_word(struct exchange *x, const uint64_t *word, uint64_t expected, int other)
{
    unsigned turn = 0;
    /* acquire: pairs with the release of the other side in send_near or receive_near */
    while (gsh_load_acquire_u64(word) != expected) {
        if (gsh_host_sync_turn(x->pe, &turn, &x->start_ns)) {
            timed_out(x, other);
        }
    }
}

static void put_words(const struct exchange *x, uint64_t *to, const struct gsh_ballot *ballot)
{
    to[WORD_LIST] = x->list;
    memcpy(to + WORD_MAX, ballot->max, sizeof(ballot->max));
    if (ballot->n_or > 0) {
        memcpy(to + WORD_OR, ballot->or_words, ballot->n_or * sizeof(uint64_t));
    }
}

/* The PEs of two lists would wait for each other in turn, so a PE that sees two lists ends the job.
 */
static void add_words(const struct exchange *x, int other, struct gsh_ballot *ballot,
                      const uint64_t *from)
{
    if (from[WORD_LIST] != x->list) {
        gsh_abort(x->pe, 1, "%s: PE %d and PE %d give different lists of PEs", x->call,
                  x->pe->my_pe, other);
    }
    for (int i = 0; i < GSH_BALLOT_MAX_WORDS; i++) {
        ballot->max[i] = gsh_max_u64(ballot->max[i], from[WORD_MAX + i]);
    }
    for (uint32_t i = 0; i < ballot->n_or; i++) {
        ballot->or_words[i] |= from[WORD_OR + i];
    }
}

static void send_near(struct exchange *x, int to, const struct gsh_ballot *ballot)
{
    struct gsh_page_place *place = gsh_page_place(x->pe, to, x->pe->my_pe);
    uint64_t sent = place->sent;
    await_word(x, &place->taken, sent, to);
    put_words(x, place->words, ballot);
    /* release: pairs with the acquire in receive_near */
    gsh_store_release_u64(&place->sent, sent + 1);
}

static void receive_near(struct exchange *x, int from, struct gsh_ballot *ballot)
{
    struct gsh_page_place *place = gsh_page_place(x->pe, x->pe->my_pe, from);
    uint64_t taken = place->taken;
    await_word(x, &place->sent, taken + 1, from);
    add_words(x, from, ballot, place->words);
    /* release: pairs with the acquire in send_near; what was there may be written over */
    gsh_store_release_u64(&place->taken, taken + 1);
}

/* ---- on another ---- */

static enum gsh_result message_turn(void *context, int from)
{
    struct exchange *x = context;
    if (gsh_host_sync_look(x->pe, &x->start_ns)) {
        timed_out(x, from);
    }
    return GSH_OK;
}

static size_t message_bytes(const struct gsh_ballot *ballot)
{
    return (WORD_OR + (size_t)ballot->n_or) * sizeof(uint64_t);
}

static void send_far(struct exchange *x, int to, const struct gsh_ballot *ballot, uint64_t *words)
{
    struct gsh_proxy *proxy = x->pe->proxy;
    size_t bytes = message_bytes(ballot), max = gsh_proxy_message_max(proxy);
    put_words(x, words, ballot);
    for (size_t at = 0; at < bytes; at += max) {
        gsh_require_far(x->pe, x->call,
                        gsh_proxy_send(proxy, to, GSH_NET_TAG(GSH_NET_TEAM, 0, 0),
                                       (const uint8_t *)words + at, gsh_min_u64(bytes - at, max)));
    }
}

static void receive_far(struct exchange *x, int from, struct gsh_ballot *ballot, uint64_t *words)
{
    struct gsh_proxy *proxy = x->pe->proxy;
    size_t bytes = message_bytes(ballot), max = gsh_proxy_message_max(proxy);
    for (size_t at = 0; at < bytes; at += max) {
        gsh_require_far(x->pe, x->call,
                        gsh_proxy_receive(proxy, from, GSH_NET_TAG(GSH_NET_TEAM, 0, 0),
                                          (uint8_t *)words + at, gsh_min_u64(bytes - at, max),
                                          message_turn, x));
    }
    add_words(x, from, ballot, words);
}

void gsh_team_agree(struct gsh_instance *pe, const char *call, const int *pes, int n, int me,
                    struct gsh_ballot *ballot)
{
    struct exchange x = {.pe = pe, .call = call, .list = hash_list(pes, n)};
    for (int distance = 1; distance < n; distance *= 2) {
        int to = pes[(me + distance) % n], from = pes[(me - distance + n) % n];
        x.start_ns = 0;
        if (pe->peers[to].page != NULL) {
            send_near(&x, to, ballot);
        } else {
            send_far(&x, to, ballot, pe->teams->message);
        }
        x.start_ns = 0;
        if (pe->peers[from].page != NULL) {
            receive_near(&x, from, ballot);
        } else {
            receive_far(&x, from, ballot, pe->teams->message);
        }
    }
}
