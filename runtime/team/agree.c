/* SPDX-License-Identifier: Apache-2.0
 * Agreement of host threads among the PEs of any list, before they have a team. In round k each
 * sends what it knows to the PE 2^k further on in the list, and combines what it receives.
 * Combining a value twice is harmless (maximum, OR, or the caller's), so any number of PEs will do.
 *
 * Messages to PEs of this node go through the receiver's page, which has one inbox for each PE of
 * the node: the sender writes it when the previous one has been taken. Messages to other nodes go
 * over the proxy. Either way, messages with the same key arrive in order for each pair of PEs.
 *
 * Several threads of a PE may agree at the same time, with a key each. So a waiting thread takes
 * all messages from the inboxes of its list, and keeps those for other threads. It also does so
 * while it waits to send, because the thread for which it waits may itself be waiting to send. */
#include <stdlib.h>
#include <string.h>
#include "proxy/proxy.h"
#include "base/atomic.h"
#include "base/util.h"
#include "bootstrap/leg.h"
#include "runtime/team/absent.h"
#include "runtime/instance/death.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/instance/message_tag.h"
#include "runtime/instance/host_wait.h"
#include "runtime/team/page.h"
#include "runtime/team/team.h"

/* A message: the key, the list's hash, the number of or_words, max, or_words. */
enum { WORD_KEY, WORD_LIST, WORD_N_OR, WORD_MAX, WORD_OR = WORD_MAX + GSH_BALLOT_MAX_WORDS };
_Static_assert(WORD_MAX == GSH_BALLOT_OWN_WORDS, "the pages' inboxes have room for other words");

/* A thread that waits for one PE takes what the others have sent once in this many polls. */
#define POLLS_TO_TAKE_ALL 16

/* A message that has been taken from its inbox and not yet received. */
struct gsh_early_message {
    struct gsh_early_message *next; /* a later one */
    int from;
    uint64_t words[];
};

struct exchange {
    struct gsh_instance *pe;
    const char *call;
    uint64_t key, list;
    const bool *stop;
    const int *pes; /* NULL: all PEs */
    int n;
    uint64_t start_ns;
};

static int pe_at(const int *pes, int i)
{
    return pes != NULL ? pes[i] : i;
}

static uint64_t hash_list(const int *pes, int n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint32_t)pe_at(pes, i)) * 0x100000001b3u; /* FNV-1a */
    }
    return h;
}

static bool is_of(const struct gsh_early_message *early, const struct exchange *x, int from)
{
    return early->from == from && early->words[WORD_KEY] == x->key;
}

static void end_for_lists(const struct exchange *x, int other)
{
    gsh_abort(x->pe, 1, "%s: PE %d and PE %d give different lists of PEs", x->call, x->pe->my_pe,
              other);
}

/* Whether find_early has passed over a message with another list: that explains more than that no
 * message has come. */
static bool has_other_list(const struct exchange *x, int from)
{
    gsh_lock_take(&x->pe->teams->lock);
    const struct gsh_early_message *m = x->pe->teams->early;
    while (m != NULL && !(is_of(m, x, from) && m->words[WORD_LIST] != x->list)) {
        m = m->next;
    }
    gsh_lock_give(&x->pe->teams->lock);
    return m != NULL;
}

/* Returns if another PE reports why the job ends. */
static void timed_out(struct exchange *x, int other)
{
    x->start_ns = 0;
    if (!gsh_absent_take_report(x->pe)) {
        return;
    }
    if (!gsh_is_death(x->pe) && has_other_list(x, other)) {
        end_for_lists(x, other);
    }
    gsh_abort(x->pe, 1, "%s: waited %.1f s for PE %d to make that call", x->call,
              gsh_host_sync_limit_s(x->pe), other);
}

static void put_words(const struct exchange *x, uint64_t *to, const struct gsh_ballot *ballot)
{
    to[WORD_KEY] = x->key;
    to[WORD_LIST] = x->list;
    to[WORD_N_OR] = ballot->n_or;
    memcpy(to + WORD_MAX, ballot->max, sizeof(ballot->max));
    if (ballot->n_or > 0) {
        memcpy(to + WORD_OR, ballot->or_words, ballot->n_or * sizeof(uint64_t));
    }
}

/* The PEs of two lists would wait for each other in turn, so a PE that sees two lists ends the job,
 * unless it outlives deaths: see find_early. */
static void add_words(const struct exchange *x, int other, struct gsh_ballot *ballot,
                      const uint64_t *from)
{
    if (from[WORD_LIST] != x->list || from[WORD_N_OR] != ballot->n_or) {
        end_for_lists(x, other);
    }
    if (ballot->fold != NULL) {
        ballot->fold(ballot->max, &from[WORD_MAX]);
    }
    for (int i = 0; i < GSH_BALLOT_MAX_WORDS && ballot->fold == NULL; i++) {
        ballot->max[i] = gsh_max_u64(ballot->max[i], from[WORD_MAX + i]);
    }
    for (uint32_t i = 0; i < ballot->n_or; i++) {
        ballot->or_words[i] |= from[WORD_OR + i];
    }
}

static void *need_memory(const struct exchange *x, size_t bytes)
{
    void *p = malloc(bytes);
    if (p == NULL) { /* the others would wait */
        gsh_abort(x->pe, 1, "%s: no memory for a message of %zu bytes", x->call, bytes);
    }
    return p;
}

/* ---- on this node ---- */

static size_t words_bytes(uint64_t n_or)
{
    return (WORD_OR + (size_t)n_or) * sizeof(uint64_t);
}

/* Under the lock: appends to the early messages, so that those of a key stay in order. The sender
 * may write while they are copied, so the number of words, no more than the inbox has room for, is
 * read once. */
static void take_from(const struct exchange *x, int from)
{
    struct gsh_page_inbox *inbox = gsh_page_inbox(x->pe, x->pe->my_pe, from);
    uint64_t taken = inbox->taken;
    /* acquire: pairs with the release in send_near */
    if (gsh_load_acquire_u64(&inbox->sent) == taken) {
        return;
    }
    const uint64_t n_or =
        gsh_min_u64(gsh_load_relaxed_u64(&inbox->words[WORD_N_OR]), x->pe->teams->n_units / 64);
    size_t bytes = words_bytes(n_or);
    struct gsh_early_message *early = need_memory(x, sizeof(*early) + bytes),
                             **end = &x->pe->teams->early;
    early->next = NULL;
    early->from = from;
    memcpy(early->words, inbox->words, bytes);
    early->words[WORD_N_OR] = n_or;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = early;
    /* release: pairs with the acquire in send_near; what was there may be written over */
    gsh_store_release_u64(&inbox->taken, taken + 1);
}

/* Whether the PE may have sent a message since this was asked last. */
static bool has_sent(const struct exchange *x, int from)
{
    const int index = x->pe->peers[from].node_index;
    uint64_t *word = gsh_page_senders(x->pe, x->pe->my_pe) + index / 64;
    const uint64_t bit = UINT64_C(1) << index % 64;
    /* acquire: pairs with the release in try_send */
    return (__atomic_load_n(word, __ATOMIC_RELAXED) & bit) != 0 &&
           (__atomic_fetch_and(word, ~bit, __ATOMIC_ACQUIRE) & bit) != 0;
}

/* Under the lock. */
static void take_all(const struct exchange *x)
{
    for (int i = 0; i < x->n; i++) {
        const int from = pe_at(x->pes, i);
        if (from != x->pe->my_pe && gsh_page_of(x->pe, from) != NULL && has_sent(x, from)) {
            take_from(x, from);
        }
    }
}

/* Under the lock; NULL: the message has yet to come. In a job that outlives deaths a message may
 * have another list. It may belong to an agreement that its sender and this PE have left because a
 * member has died. Or it belongs to the next agreement, without that member, because its sender
 * heard of the death first; this PE takes it when it comes to that agreement. The PE has left the
 * agreements of older messages. */
static struct gsh_early_message *find_early(const struct exchange *x, int from)
{
    struct gsh_early_message *found = x->pe->teams->early, **m = &x->pe->teams->early;
    while (found != NULL && !(is_of(found, x, from) &&
                              (found->words[WORD_LIST] == x->list || !x->pe->outlives_deaths))) {
        found = found->next;
    }
    while (found != NULL && *m != found) {
        struct gsh_early_message *early = *m;
        if (is_of(early, x, from)) {
            *m = early->next;
            free(early);
        } else {
            m = &early->next;
        }
    }
    if (found != NULL) {
        *m = found->next;
    }
    return found;
}

/* seq_cst, as is the store: a thread that stops another also looks for what the other has begun. */
static bool is_stopped(const struct exchange *x)
{
    return x->stop != NULL && __atomic_load_n(x->stop, __ATOMIC_SEQ_CST);
}

/* Some PE of the list has died. */
static bool is_lost(const struct exchange *x)
{
    return gsh_is_death_among(x->pe, x->pes, x->n);
}

/* For the hang report. */
static struct gsh_waiting waiting(const struct exchange *x, int other)
{
    return (struct gsh_waiting){.call = x->call,
                                .kind = GSH_WAITS_COLLECTIVE,
                                .pe = other,
                                .team = -1,
                                .members = x->pes,
                                .n_members = x->n};
}

/* False: the wait is given up, or some PE of the list has died, and the other may not come. */
static bool await_poll(struct exchange *x, unsigned *backoff, int other)
{
    if (is_stopped(x) || is_lost(x)) {
        return false;
    }
    const struct gsh_waiting what = waiting(x, other);
    if (gsh_host_sync_poll(x->pe, backoff, &x->start_ns, &what)) {
        timed_out(x, other);
    }
    return true;
}

/* Under the lock; false: the message before this one has not been taken. */
static bool try_send(const struct exchange *x, int to, const struct gsh_ballot *ballot)
{
    struct gsh_page_inbox *inbox = gsh_page_inbox(x->pe, to, x->pe->my_pe);
    uint64_t sent = inbox->sent;
    /* acquire: pairs with the release in take_from */
    if (gsh_load_acquire_u64(&inbox->taken) != sent) {
        return false;
    }
    put_words(x, inbox->words, ballot);
    /* release: pairs with the acquire in take_from */
    gsh_store_release_u64(&inbox->sent, sent + 1);
    const int index = x->pe->peers[x->pe->my_pe].node_index;
    /* release: pairs with the acquire in has_sent */
    __atomic_fetch_or(gsh_page_senders(x->pe, to) + index / 64, UINT64_C(1) << index % 64,
                      __ATOMIC_RELEASE);
    return true;
}

static void send_near(struct exchange *x, int to, const struct gsh_ballot *ballot)
{
    struct gsh_teams *teams = x->pe->teams;
    for (unsigned backoff = 0;;) {
        gsh_lock_take(&teams->lock);
        bool is_sent = try_send(x, to, ballot);
        if (!is_sent) {
            take_all(x);
        }
        gsh_lock_give(&teams->lock);
        if (is_sent || !await_poll(x, &backoff, to)) {
            return;
        }
    }
}

static void receive_near(struct exchange *x, int from, struct gsh_ballot *ballot)
{
    struct gsh_teams *teams = x->pe->teams;
    struct gsh_early_message *early = NULL;
    for (unsigned backoff = 0, n_polls = 1;; n_polls++) {
        gsh_lock_take(&teams->lock);
        if (n_polls % POLLS_TO_TAKE_ALL == 0) {
            take_all(x);
        } else {
            take_from(x, from);
        }
        early = find_early(x, from);
        gsh_lock_give(&teams->lock);
        if (early != NULL) {
            break;
        }
        if (!await_poll(x, &backoff, from)) {
            return;
        }
    }
    add_words(x, from, ballot, early->words);
    free(early);
}

void gsh_early_messages_destroy(struct gsh_teams *teams)
{
    while (teams->early != NULL) {
        struct gsh_early_message *next = teams->early->next;
        free(teams->early);
        teams->early = next;
    }
}

/* ---- on another node ---- */

static enum gsh_result message_poll(void *context, int from)
{
    struct exchange *x = context;
    const struct gsh_waiting what = waiting(x, from);
    if (gsh_host_sync_check(x->pe, &x->start_ns, &what)) {
        timed_out(x, from);
    }
    gsh_lock_take(&x->pe->teams->lock); /* a PE of this node may wait for room */
    take_all(x);
    gsh_lock_give(&x->pe->teams->lock);
    if (is_stopped(x)) {
        return GSH_ERR_STATE;
    }
    return is_lost(x) ? gsh_note_death(x->call) : GSH_OK;
}

/* In a job that outlives deaths messages of other lists with the same key stay where they are: see
 * find_early. */
static uint64_t tag_of(const struct exchange *x)
{
    uint64_t list = x->pe->outlives_deaths ? x->list * 0x9e3779b97f4a7c15u >> 16 : 0;
    return GSH_NET_TAG(GSH_NET_TEAM, x->key ^ list, 0);
}

static void send_far(struct exchange *x, int to, const struct gsh_ballot *ballot)
{
    struct gsh_proxy *proxy = x->pe->proxy;
    size_t bytes = words_bytes(ballot->n_or), max = gsh_proxy_message_max(proxy);
    uint64_t *words = need_memory(x, bytes);
    put_words(x, words, ballot);
    for (size_t at = 0; at < bytes; at += max) {
        gsh_require_far(x->pe, x->call,
                        gsh_proxy_send(proxy, to, tag_of(x), (const uint8_t *)words + at,
                                       gsh_min_u64(bytes - at, max)));
    }
    free(words);
}

static void receive_far(struct exchange *x, int from, struct gsh_ballot *ballot)
{
    struct gsh_proxy *proxy = x->pe->proxy;
    size_t bytes = words_bytes(ballot->n_or), max = gsh_proxy_message_max(proxy);
    uint64_t *words = need_memory(x, bytes);
    bool is_left = is_lost(x);
    for (size_t at = 0; at < bytes && !is_left; at += max) {
        enum gsh_result r = gsh_proxy_receive(proxy, from, tag_of(x), (uint8_t *)words + at,
                                              gsh_min_u64(bytes - at, max), message_poll, x);
        is_left = is_lost(x) || (r != GSH_OK && is_stopped(x));
        if (!is_left) {
            gsh_require_far(x->pe, x->call, r);
        }
    }
    if (!is_left) {
        add_words(x, from, ballot, words);
    }
    free(words);
}

void gsh_team_agree(const struct gsh_team_agreement *a, const int *pes, int n, int me,
                    struct gsh_ballot *ballot)
{
    struct gsh_instance *pe = a->pe;
    struct exchange x = {.pe = pe,
                         .call = a->call,
                         .key = a->key,
                         .list = hash_list(pes, n),
                         .stop = a->stop,
                         .pes = pes,
                         .n = n};
    /* Nothing is sent once a member is known to be dead: others may have gone on to the next. */
    for (struct gsh_leg leg = {0}; !is_lost(&x) && gsh_leg_next(&leg, n, me, 1);) {
        int to = pe_at(pes, leg.to), from = pe_at(pes, leg.from);
        x.start_ns = 0;
        if (gsh_page_of(pe, to) != NULL) {
            send_near(&x, to, ballot);
        } else {
            send_far(&x, to, ballot);
        }
        x.start_ns = 0;
        if (gsh_page_of(pe, from) != NULL) {
            receive_near(&x, from, ballot);
        } else {
            receive_far(&x, from, ballot);
        }
    }
}
