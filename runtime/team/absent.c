/* SPDX-License-Identifier: Apache-2.0
 * In a job with far PEs, PE 0 decides which PE prints the one line for the whole job. When asked,
 * members answer how many arrivals they have begun: a host's epoch or, for a channel, the epochs
 * and near steps of collectives (gsh_sync_area). All members begin the same ones in the same order.
 * So the members that have begun the fewest, and fewer than the waiting PE, are missing. */
#include "runtime/team/absent.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/atomic.h"
#include "base/log.h"
#include "base/util.h"
#include "proxy/proxy.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/end_notice.h"
#include "runtime/instance/page.h"
#include "runtime/instance/report.h"
#include "runtime/team/page.h"
#include "runtime/team/team.h"

enum notice_kind { NOTICE_CLAIM = 1, NOTICE_VERDICT, NOTICE_QUESTION, NOTICE_ANSWER };
enum verdict { VERDICT_NONE, VERDICT_YES, VERDICT_NO };

struct notice {
    uint32_t kind;
    int32_t verdict;
    struct gsh_absent_site site;
    uint64_t count;
};
_Static_assert(sizeof(struct notice) == GSH_ABSENT_NOTICE_BYTES, "notices are wire");
_Static_assert(sizeof(struct notice) != sizeof(struct gsh_end_notice),
               "their lengths tell them apart");

/* Answers, by PE. */
struct gsh_answers {
    struct {
        uint64_t count;
        uint32_t is_there; /* written with release, after the count */
    } of[1];
};

/* A PE whose proxy does not answer in this time is stopped, or its node is. */
#define PATIENCE_NS   2000000000u
#define NAMES_AT_ONCE 8

/* ---- this PE's progress ---- */

static bool is_within(uint64_t off, uint64_t begin, uint64_t bytes)
{
    return off - begin < bytes;
}

/* The team's channel with words, or slots for LL data, at that offset; -1: none. */
static int channel_at(const struct gsh_team_state *t, uint64_t off)
{
    uint64_t n_more = (uint64_t)t->n_channels - 1;
    uint64_t wide = 2 * (uint64_t)t->n_near * t->wide_slot_bytes;
    uint64_t each = 2 * (uint64_t)t->n_near * t->slot_bytes;
    if (is_within(off, t->sync_off, (uint64_t)t->n_channels * t->channel_bytes)) {
        return (int)((off - t->sync_off) / t->channel_bytes);
    }
    if (is_within(off, t->wide_off, wide)) {
        return 0;
    }
    return is_within(off, t->slots_off, n_more * each) ? 1 + (int)((off - t->slots_off) / each)
                                                       : -1;
}

bool gsh_absent_find_site(struct gsh_instance *pe, uint64_t address, struct gsh_absent_site *site)
{
    struct gsh_teams *teams = pe->teams;
    site->channel = -1;
    gsh_lock_take(&teams->lock);
    const struct gsh_team *team;
    for (uint32_t u = 0; site->channel < 0 && (team = gsh_teams_next(teams, &u)) != NULL;) {
        site->team = (int)team->handle;
        site->channel = channel_at(&team->state, address - pe->state.base);
    }
    gsh_lock_give(&teams->lock);
    return site->channel >= 0;
}

bool gsh_absent_find_team(struct gsh_instance *pe, int number, struct gsh_absent_team *out)
{
    struct gsh_teams *teams = pe->teams;
    gsh_lock_take(&teams->lock);
    const struct gsh_team *team =
        number < GSH_TEAM_N_PREDEFINED || (uint32_t)number >= teams->n_units
            ? NULL
            : teams->of_unit[number];
    if (team != NULL) {
        *out = (struct gsh_absent_team){.n_pes = team->n_pes,
                                        .first = gsh_team_pe(team, 0),
                                        .stride = team->is_regular ? team->stride : 0};
    }
    gsh_lock_give(&teams->lock);
    return team != NULL;
}

/* The area of a channel: its offset; false: there is no such team, or no heap. */
static bool find_area(struct gsh_instance *pe, struct gsh_absent_site site, uint64_t *off)
{
    struct gsh_teams *teams = pe->teams;
    bool is_found = false;
    gsh_lock_take(&teams->lock);
    if (pe->is_device_ready && (uint32_t)site.team < teams->n_units &&
        teams->of_unit[site.team] != NULL) {
        const struct gsh_team_state *t = &teams->of_unit[site.team]->state;
        *off = t->sync_off + (uint64_t)site.channel * t->channel_bytes;
        is_found = site.channel < t->n_channels;
    }
    gsh_lock_give(&teams->lock);
    return is_found;
}

/* Arrivals that this PE has begun. */
static uint64_t count_begun(struct gsh_instance *pe, struct gsh_absent_site site)
{
    uint64_t off = 0, begun[2] = {0};
    if (pe->teams == NULL || (uint32_t)site.team >= pe->teams->n_units) {
        return 0;
    }
    if (site.channel < 0) {
        /* acquire: pairs with the release in gsh_host_sync */
        return gsh_load_acquire_u64(&gsh_page_words(pe, pe->my_pe, (uint32_t)site.team)->epoch);
    }
    if (!find_area(pe, site, &off)) {
        return 0;
    }
    off += offsetof(struct gsh_sync_area, begun_epoch);
    enum gsh_result r = pe->device_ops->load(pe, (const void *)(uintptr_t)(pe->state.base + off),
                                             sizeof(begun[0]), GSH_ARRAY_LEN(begun), begun);
    return r == GSH_OK ? begun[0] + begun[1] : 0;
}

/* ---- notices ---- */

static void tell(struct gsh_instance *pe, int to, struct notice n)
{
    gsh_proxy_notify(pe->proxy, to, &n, sizeof(n));
}

static bool has_no_end(const struct gsh_instance *pe)
{
    return !gsh_page_is_ending(pe->page) && !gsh_end_notice_is_ending(pe->net);
}

/* Waits until *word is not 0, the time is up, or the job ends. */
static bool await(struct gsh_instance *pe, uint32_t *word, uint64_t start_ns)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    /* acquire: pairs with the release of its writer */
    while (gsh_load_acquire_u32(word) == 0 && has_no_end(pe) &&
           gsh_now_ns() - start_ns < PATIENCE_NS) {
        gsh_proxy_help(pe->proxy);
        nanosleep(&nap, NULL);
    }
    return gsh_load_acquire_u32(word) != 0;
}

static enum verdict judge(struct gsh_net *net, int claimer)
{
    int speaker = 0;
    return __atomic_compare_exchange_n(&net->speaker, &speaker, 1 + claimer, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
                   speaker == 1 + claimer
               ? VERDICT_YES
               : VERDICT_NO;
}

/* In its own thread: its work may wait, and notices arrive under the proxy's lock. */
struct reply {
    struct gsh_net *net;
    int to;
    struct notice question;
};

static void *reply_main(void *arg)
{
    struct reply *r = arg;
    struct gsh_instance *pe = r->net->pe;
    struct notice n = {.kind = NOTICE_ANSWER, .site = r->question.site};
    gsh_log_set_pe(pe->my_pe);
    if (r->question.kind == NOTICE_CLAIM) {
        n.kind = NOTICE_VERDICT;
        n.verdict = (int32_t)judge(r->net, r->to);
    } else {
        n.count = count_begun(pe, n.site);
    }
    tell(pe, r->to, n);
    free(r);
    return NULL;
}

static void begin_reply(struct gsh_net *net, int to, const struct notice *question)
{
    pthread_t thread;
    struct reply *r = malloc(sizeof(*r));
    if (r == NULL) {
        return; /* the asker does not wait for ever */
    }
    *r = (struct reply){.net = net, .to = to, .question = *question};
    if (pthread_create(&thread, NULL, reply_main, r) == 0) {
        pthread_detach(thread);
    } else {
        free(r);
    }
}

static void note_answer(struct gsh_net *net, int from_pe, uint64_t count)
{
    /* acquire: pairs with the release in ask */
    struct gsh_answers *answers = __atomic_load_n(&net->answers, __ATOMIC_ACQUIRE);
    if (answers != NULL) {
        __atomic_store_n(&answers->of[from_pe].count, count, __ATOMIC_RELAXED);
        /* release: pairs with the acquire in await */
        gsh_store_release_u32(&answers->of[from_pe].is_there, 1);
    }
}

bool gsh_absent_receive(struct gsh_net *net, int from_pe, const void *data, size_t bytes)
{
    struct notice n;
    if (bytes != sizeof(n)) {
        return false;
    }
    memcpy(&n, data, sizeof(n));
    bool is_question = n.kind == NOTICE_QUESTION || (n.kind == NOTICE_CLAIM && net->pe->my_pe == 0);
    if (n.kind == NOTICE_ANSWER) {
        note_answer(net, from_pe, n.count);
    } else if (n.kind == NOTICE_VERDICT && from_pe == 0) {
        /* release: pairs with the acquire in await */
        gsh_store_release_u32(&net->verdict, n.verdict == VERDICT_YES ? VERDICT_YES : VERDICT_NO);
    } else if (is_question && !__atomic_load_n(&net->is_closed, __ATOMIC_ACQUIRE)) {
        begin_reply(net, from_pe, &n);
    }
    return true;
}

/* ---- which PE reports ---- */

bool gsh_absent_take_report(struct gsh_instance *pe)
{
    struct gsh_net *net = pe->net;
    if (gsh_page_is_ending(pe->page) || !gsh_page_take_word(pe)) {
        return false;
    }
    if (net == NULL) {
        return true;
    }
    if (pe->my_pe == 0) {
        return has_no_end(pe) && judge(net, 0) == VERDICT_YES;
    }
    if (gsh_load_acquire_u32(&net->verdict) == VERDICT_NONE) {
        tell(pe, 0, (struct notice){.kind = NOTICE_CLAIM});
    }
    bool is_judged = await(pe, &net->verdict, gsh_now_ns());
    return has_no_end(pe) && (!is_judged || gsh_load_relaxed_u32(&net->verdict) == VERDICT_YES);
}

/* ---- who is missing ---- */

/* The members' counts; NULL: not available. */
static struct gsh_answers *ask(struct gsh_instance *pe, const int *pes, int n,
                               struct gsh_absent_site site)
{
    struct gsh_answers *answers = calloc((size_t)pe->n_pes, sizeof(*answers));
    if (answers == NULL) {
        return NULL;
    }
    /* release: pairs with the acquire in note_answer; it stays until the process ends */
    __atomic_store_n(&pe->net->answers, answers, __ATOMIC_RELEASE);
    note_answer(pe->net, pe->my_pe, count_begun(pe, site));
    for (int i = 0; i < n; i++) {
        if (pes[i] != pe->my_pe) {
            tell(pe, pes[i], (struct notice){.kind = NOTICE_QUESTION, .site = site});
        }
    }
    uint64_t start_ns = gsh_now_ns();
    for (int i = 0; i < n; i++) {
        (void)await(pe, &answers->of[pes[i]].is_there, start_ns);
    }
    return answers;
}

/* Moves the missing members to the front of the list and returns how many they are. They are those
 * that have begun the fewest arrivals, if these are fewer than this PE's; otherwise those that do
 * not answer. *fewest: how many arrivals they have begun. */
static int sort_out(const struct gsh_answers *answers, int *pes, int n, uint64_t own,
                    uint64_t *fewest)
{
    int n_missing = 0, n_silent = 0;
    *fewest = own;
    for (int i = 0; i < n; i++) {
        bool is_there = gsh_load_acquire_u32(&answers->of[pes[i]].is_there) != 0;
        uint64_t count = gsh_load_relaxed_u64(&answers->of[pes[i]].count);
        n_silent += !is_there;
        *fewest = is_there ? gsh_min_u64(*fewest, count) : *fewest;
    }
    for (int i = 0; i < n; i++) {
        bool is_there = gsh_load_relaxed_u32(&answers->of[pes[i]].is_there) != 0;
        uint64_t count = gsh_load_relaxed_u64(&answers->of[pes[i]].count);
        if (*fewest < own ? is_there && count == *fewest : n_silent > 0 && !is_there) {
            int missing = pes[i];
            pes[i] = pes[n_missing];
            pes[n_missing++] = missing;
        }
    }
    return n_missing;
}

/* The team's members: a copy, *n of them; NULL: it is gone. */
static int *members_of(struct gsh_instance *pe, int team, int *n)
{
    struct gsh_teams *teams = pe->teams;
    int *pes = NULL;
    gsh_lock_take(&teams->lock);
    const struct gsh_team *t = teams->of_unit[team];
    if (t != NULL) {
        *n = t->n_pes;
        pes = malloc((size_t)t->n_pes * sizeof(*pes));
    }
    for (int i = 0; pes != NULL && i < t->n_pes; i++) {
        pes[i] = gsh_team_pe(t, i);
    }
    gsh_lock_give(&teams->lock);
    return pes;
}

/* "PE 3", "PEs 1, 2 and 5", "PEs 0, ... and 90 more" */
static void name_pes(const int *pes, int n, char *text, size_t bytes)
{
    int n_named = n <= NAMES_AT_ONCE ? n : NAMES_AT_ONCE;
    size_t at = (size_t)snprintf(text, bytes, "PE%s %d", n > 1 ? "s" : "", pes[0]);
    for (int i = 1; i < n_named && at < bytes; i++) {
        const char *between = i == n - 1 ? " and" : ",";
        at += (size_t)snprintf(text + at, bytes - at, "%s %d", between, pes[i]);
    }
    if (n > n_named && at < bytes) {
        snprintf(text + at, bytes - at, " and %d more", n - n_named);
    }
}

void gsh_absent_describe(struct gsh_instance *pe, const struct gsh_absent_wait *wait, char *text,
                         size_t bytes)
{
    struct gsh_absent_wait w = *wait;
    char who[128];
    int n = 0, n_missing = 0;
    int *pes = pe->net != NULL ? members_of(pe, w.site.team, &n) : NULL;
    struct gsh_answers *answers = pes != NULL ? ask(pe, pes, n, w.site) : NULL;
    if (answers != NULL) {
        uint64_t own = gsh_load_relaxed_u64(&answers->of[pe->my_pe].count), fewest;
        n_missing = sort_out(answers, pes, n, own, &fewest);
        w.expected = n_missing > 0 ? own : w.expected;
        w.seen = n_missing > 0 ? fewest : w.seen;
    }
    name_pes(n_missing > 0 ? pes : &w.pe, n_missing > 0 ? n_missing : 1, who, sizeof(who));
    free(pes);
    double limit_s = (double)GSH_SYNC_LIMIT_NS(pe->env.wait_timeout_ns) / 1e9;
    if (n_missing == 0 && w.pe == pe->my_pe) {
        snprintf(text, bytes, "waited %.1f s for other blocks of this PE's kernel, on team %d",
                 limit_s, w.site.team);
    } else {
        snprintf(text, bytes,
                 "waited %.1f s for %s of team %d: %s arrivals expected %" PRIu64 ", seen %" PRIu64,
                 limit_s, who, w.site.team, n_missing > 1 ? "their" : "its", w.expected, w.seen);
    }
}

/* ---- for waits of kernels ---- */

static bool word(struct gsh_instance *pe, const struct gsh_report *r, char *text, size_t bytes)
{
    struct gsh_absent_wait wait = {.pe = r->pe, .expected = r->expected, .seen = r->seen};
    if (!gsh_absent_find_site(pe, r->address, &wait.site)) {
        return false;
    }
    gsh_absent_describe(pe, &wait, text, bytes);
    return true;
}

const struct gsh_report_members gsh_absent_members = {.take_word = gsh_absent_take_report,
                                                      .word = word};
