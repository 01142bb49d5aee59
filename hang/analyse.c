/* SPDX-License-Identifier: Apache-2.0
 * The graph of waits. A wait points to the PE that is to end it, if that is known; of a word it is
 * not, but in a job of two PEs. From a PE that waits the search follows these arrows. It ends at a
 * PE that does not answer, at one that it has passed already (a cycle), at one that waits for
 * nobody, or at one that waits for a word. */
#include "hang/analyse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "gshmem/types.h"

#define NAMES_AT_ONCE 6

/* A text that grows, and what does not fit is left out. */
struct text {
    char *at;
    size_t room;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->room, format, args);
    va_end(args);
    if (n > 0) {
        size_t taken = (size_t)n < t->room ? (size_t)n : t->room - 1;
        t->at += taken;
        t->room -= taken;
    }
}

/* ---- words ---- */

static void add_site(struct text *t, const struct gsh_hang_wait *w)
{
    switch (w->site) {
    case GSH_HANG_OBJECT:
        add(t, "allocation %d ", w->object);
        if (w->made_at[0] != '\0') {
            add(t, "(made at %s) ", w->made_at);
        }
        add(t, "+ 0x%" PRIx64, w->object_off);
        break;
    case GSH_HANG_GLOBAL:
        add(t, "the program's globals + 0x%" PRIx64, w->object_off);
        break;
    case GSH_HANG_LIBRARY:
        add(t, "a word of the library");
        break;
    default:
        add(t, "address 0x%" PRIx64, w->address);
    }
}

/* What a team is that the program has made: its handle is a number that no program knows. */
static void add_members(struct text *t, const struct gsh_hang_wait *w)
{
    const int64_t last = w->team_first + (int64_t)(w->team_pes - 1) * w->team_stride;
    if (w->team_pes == 1) {
        add(t, " (PE %d)", w->team_first);
    } else if (w->team_pes > 0 && w->team_stride == 0) {
        add(t, " (%d PEs, first PE %d)", w->team_pes, w->team_first);
    } else if (w->team_pes > 0 && w->team_stride == 1) {
        add(t, " (PEs %d to %" PRId64 ")", w->team_first, last);
    } else if (w->team_pes > 0) {
        add(t, " (PEs %d to %" PRId64 ", stride %d)", w->team_first, last, w->team_stride);
    }
}

static void add_wait(struct text *t, const struct gsh_hang_wait *w)
{
    static const char *const cmp_names[] = {"==", "!=", ">", "<=", "<", ">="};
    add(t, "%s", w->call);
    if (w->line > 0) {
        add(t, " at %s:%u", w->file, w->line);
    }
    switch (w->what) {
    case GSH_HANG_WORD:
        add(t, ": ");
        if (w->n_words > 1) {
            add(t, "%u words from ", w->n_words);
        }
        add_site(t, w);
        add(t, "%s to be %s %" PRId64, w->n_words > 1 ? " on" : "", cmp_names[w->cmp],
            (int64_t)w->expected);
        if (w->differ != 0) {
            add(t, ", and they are not");
        } else {
            add(t, ", and %s %" PRId64, w->n_words > 1 ? "they are" : "it is", (int64_t)w->seen);
        }
        break;
    case GSH_HANG_ARRIVAL:
        if (w->team >= 0) {
            add(t, " of team %d", w->team);
            add_members(t, w);
        }
        if (w->channel > 0) {
            add(t, ", channel %d", w->channel);
        }
        if (w->expected > 0) {
            add(t, ": arrival %" PRIu64, w->expected);
        }
        break;
    case GSH_HANG_LOCK:
        add(t, ": the lock at ");
        add_site(t, w);
        break;
    case GSH_HANG_PEER:
        break;
    case GSH_HANG_DRIVER:
        add(t, ": the device's driver has not returned");
        break;
    default:
        add(t, ": the network's work, %" PRIu64 " of %" PRIu64, w->seen, w->expected);
    }
}

void gsh_hang_word_wait(const struct gsh_hang_wait *w, char *text, size_t bytes)
{
    struct text t = {text, bytes};
    add_wait(&t, w);
    const bool is_held = w->what == GSH_HANG_LOCK && w->holder >= 0;
    if (is_held) {
        add(&t, ", held by PE %d", w->holder);
    }
    if (w->what != GSH_HANG_WORD && w->other >= 0 && !(is_held && w->holder == w->other)) {
        add(&t, "%s PE %d", w->what == GSH_HANG_LOCK ? ", behind" : " of", w->other);
    }
}

void gsh_hang_word_silence(const struct gsh_hang_member *m, char *text, size_t bytes)
{
    struct text t = {text, bytes};
    if (m->answer == GSH_HANG_UNKNOWN && m->node >= 0 && !m->has_ended) {
        add(&t, "does not answer: it has ended, or no process of node %d is reached", m->node);
        return;
    }
    if (m->answer == GSH_HANG_UNKNOWN || m->os_pid == 0) {
        add(&t, "does not answer: it has ended");
        return;
    }
    add(&t, "does not answer: its process %d ", m->os_pid);
    switch (m->state) {
    case 'T':
        add(&t, "is stopped by a signal");
        break;
    case 't':
        add(&t, "is stopped by a debugger");
        break;
    case 'Z':
    case 'X':
        add(&t, "is dead");
        break;
    case 0:
        add(&t, "has ended");
        break;
    default:
        add(&t, "is alive, but the library's thread in it that answers does not run");
    }
}

/* ---- the graph ---- */

static const struct gsh_hang_entry *first_of(const struct gsh_hang_job *job, int pe)
{
    for (int i = 0; i < job->n_waits; i++) {
        if (job->waits[i].pe == pe) {
            return &job->waits[i];
        }
    }
    return NULL;
}

/* The host thread that the driver keeps for the longest time; NULL: none. */
static const struct gsh_hang_entry *kept_by_driver(const struct gsh_hang_job *job, int pe)
{
    const struct gsh_hang_entry *longest = NULL;
    for (int i = 0; i < job->n_waits; i++) {
        const struct gsh_hang_entry *e = &job->waits[i];
        if (e->pe == pe && e->wait.what == GSH_HANG_DRIVER &&
            (longest == NULL || e->wait.waited_ns > longest->wait.waited_ns)) {
            longest = e;
        }
    }
    return longest;
}

/* Whether the PE waits for what another one is to do: of who is in the driver this is not known. */
static bool waits(const struct gsh_hang_job *job, int pe)
{
    for (int i = 0; i < job->n_waits; i++) {
        if (job->waits[i].pe == pe && job->waits[i].wait.what != GSH_HANG_DRIVER) {
            return true;
        }
    }
    return false;
}

/* Whether the PE waits on its host for others to make that call. */
static bool has_come(const struct gsh_hang_job *job, int pe, const char *call)
{
    for (int i = 0; i < job->n_waits; i++) {
        const struct gsh_hang_entry *e = &job->waits[i];
        if (e->pe == pe && e->wait.is_host && e->wait.what == GSH_HANG_ARRIVAL &&
            strcmp(e->wait.call, call) == 0) {
            return true;
        }
    }
    return false;
}

bool gsh_hang_word_missing(const struct gsh_hang_job *job, int me, const char *call, const int *pes,
                           int n, char *text, size_t bytes)
{
    struct text t = {text, bytes};
    int n_missing = 0;
    text[0] = '\0';
    for (int i = 0; i < n && has_come(job, me, call); i++) {
        const int pe = pes != NULL ? pes[i] : i;
        if (pe < 0 || pe >= job->n_pes || has_come(job, pe, call) || n_missing++ >= NAMES_AT_ONCE) {
            continue;
        }
        add(&t, "%sPE %d (", n_missing > 1 ? ", " : "", pe);
        const struct gsh_hang_entry *e = first_of(job, pe);
        if (job->members[pe].answer != GSH_HANG_ANSWERED) {
            char silence[128];
            gsh_hang_word_silence(&job->members[pe], silence, sizeof(silence));
            add(&t, "%s", silence);
        } else if (e == NULL) {
            add(&t, "does not wait in gshmem");
        } else {
            add(&t, "in ");
            add_wait(&t, &e->wait);
        }
        add(&t, ")");
    }
    if (n_missing > NAMES_AT_ONCE) {
        add(&t, " and %d more", n_missing - NAMES_AT_ONCE);
    }
    return n_missing > 0;
}

/* The PE that is to end the wait; -1: not known. */
static int target(const struct gsh_hang_job *job, const struct gsh_hang_entry *e)
{
    const struct gsh_hang_wait *w = &e->wait;
    int to = w->what == GSH_HANG_LOCK && w->holder >= 0 ? w->holder : w->other;
    if (to < 0 && w->what == GSH_HANG_WORD && job->n_pes == 2) {
        to = 1 - e->pe;
    }
    return to;
}

/* The PE's wait with an arrow to another PE, of those the one to follow; NULL: none. Kernels' waits
 * come first: the host often waits for its own kernels. */
static const struct gsh_hang_entry *arrow_of(const struct gsh_hang_job *job, int pe)
{
    const struct gsh_hang_entry *best = NULL;
    for (int i = 0; i < job->n_waits; i++) {
        const struct gsh_hang_entry *e = &job->waits[i];
        int to = e->pe == pe ? target(job, e) : -1;
        if (to < 0 || to == pe) {
            continue;
        }
        if (job->members[to].answer != GSH_HANG_ANSWERED) {
            return e;
        }
        if (best == NULL || (best->wait.is_host && !e->wait.is_host)) {
            best = e;
        }
    }
    return best;
}

/* A wait for a word whose writer is not known, or for other threads of the PE itself, but none for
 * the driver. */
static const struct gsh_hang_entry *end_of(const struct gsh_hang_job *job, int pe, bool of_itself)
{
    for (int i = 0; i < job->n_waits; i++) {
        const struct gsh_hang_entry *e = &job->waits[i];
        int to = e->pe == pe && e->wait.what != GSH_HANG_DRIVER ? target(job, e) : -2;
        if (to == (of_itself ? pe : -1)) {
            return e;
        }
    }
    return NULL;
}

/* ---- sentences ---- */

/* "PE 0 waits for PE 5 in gshmem_barrier_all of team 0: arrival 17" */
static void add_arrow(struct text *t, const struct gsh_hang_job *job,
                      const struct gsh_hang_entry *e)
{
    add(t, "PE %d waits for PE %d in ", e->pe, target(job, e));
    add_wait(t, &e->wait);
}

/* What the PE has not done, for the wait that is about it. */
static void add_omission(struct text *t, const struct gsh_hang_entry *e, int pe)
{
    const struct gsh_hang_wait *w = &e->wait;
    switch (w->what) {
    case GSH_HANG_ARRIVAL:
        add(t, "PE %d has not made ", pe);
        add_wait(t, w);
        add(t, ", for which PE %d waits", e->pe);
        break;
    case GSH_HANG_LOCK:
        add(t, "PE %d holds the lock for which PE %d waits in ", pe, e->pe);
        add_wait(t, w);
        break;
    case GSH_HANG_PROXY:
        add(t, "PE %d does not answer the network: PE %d waits in ", pe, e->pe);
        add_wait(t, w);
        break;
    case GSH_HANG_PEER:
        add(t, "PE %d has not done its part of ", pe);
        add_wait(t, w);
        add(t, ", for which PE %d waits", e->pe);
        break;
    default:
        add(t, "PE %d has not written the word for which PE %d waits in ", pe, e->pe);
        add_wait(t, w);
    }
}

/* "PE 0's host thread 7 is in gshmem_quiet, from which the device's driver has not returned" */
static void add_driver(struct text *t, const struct gsh_hang_entry *e)
{
    add(t, "PE %d's host thread %u is in %s", e->pe, e->wait.first_thread[0], e->wait.call);
    if (e->wait.line > 0) {
        add(t, " at %s:%u", e->wait.file, e->wait.line);
    }
    add(t, ", from which the device's driver has not returned");
}

static void add_idle(struct text *t, const struct gsh_hang_pe *p)
{
    if (p->n_unfinished > 0) {
        add(t, "it does not wait in gshmem: its kernels run, or wait for something else");
    } else if (p->n_unfinished == 0) {
        add(t, "it does not wait in gshmem, and nothing is left on its streams: it has left its "
               "kernels, and its host computes or waits for something else");
    } else {
        add(t, "it does not wait in gshmem: it computes, or waits for something else");
    }
}

/* Signals count up: a wait that is for one of their values may find a later one. */
static void add_overtaken(struct text *t, const struct gsh_hang_wait *w)
{
    if (w->what == GSH_HANG_WORD && w->cmp == GSHMEM_CMP_EQ && w->n_words == 1 &&
        (int64_t)w->expected > 0 && (int64_t)w->seen > (int64_t)w->expected) {
        add(t, "; the word is beyond that already: a later value came before the wait looked, or "
               "one signal too many; GSHMEM_CMP_GE would have ended");
    }
}

static void add_hints(struct text *t, const struct gsh_hang_wait *w)
{
    add_overtaken(t, w);
    if (w->copy_pe >= 0) {
        add(t, "; PE %d's copy of the word is as it should be: was it written there instead?",
            w->copy_pe);
    } else if (w->near_off != 0) {
        add(t, "; the word %d bytes %s is as it should be: was it written instead?",
            abs(w->near_off), w->near_off > 0 ? "further on" : "before it");
    }
}

/* What waits on the PE's streams behind what is stuck, or in the driver. */
static void add_behind(struct text *t, const struct gsh_hang_job *job, int pe)
{
    int64_t n = job->members[pe].about.n_waiting;
    if (n > 0) {
        add(t, "; behind that %" PRId64 " piece%s of work on PE %d's streams %s not begun", n,
            GSH_PLURAL(n), pe, n == 1 ? "has" : "have");
    }
    const struct gsh_hang_entry *e = kept_by_driver(job, pe);
    if (e != NULL) {
        add(t, "; ");
        add_driver(t, e);
    }
    if (job->members[pe].about.is_held != 0) {
        add(t, "; PE %d's GPU does not answer: copies wait for its kernels", pe);
    }
}

/* "PE 1", "PEs 1, 2 and 5": those with is_of. Returns how many. */
static int add_pes(struct text *t, const bool *is_of, int n_pes)
{
    int n = 0, named = 0;
    for (int i = 0; i < n_pes; i++) {
        n += is_of[i];
    }
    add(t, "PE%s", GSH_PLURAL(n));
    for (int i = 0; i < n_pes && named < NAMES_AT_ONCE; i++) {
        if (is_of[i]) {
            add(t, "%s %d", named == 0 ? "" : named + 1 == n ? " and" : ",", i);
            named++;
        }
    }
    if (n > named) {
        add(t, " and %d more", n - named);
    }
    return n;
}

/* Names those that answered and do not wait, but for one; returns how many. */
static int add_others(struct text *t, const struct gsh_hang_job *job, int but)
{
    bool *is_of = calloc((size_t)job->n_pes, sizeof(*is_of));
    int n = 0;
    for (int i = 0; i < job->n_pes && is_of != NULL; i++) {
        is_of[i] = i != but && job->members[i].answer == GSH_HANG_ANSWERED && !waits(job, i);
        n += is_of[i];
    }
    if (n > 0) {
        (void)add_pes(t, is_of, job->n_pes);
    }
    free(is_of);
    return n;
}

/* A host thread's wait of a PE none of whose kernels waits, nor has work left; NULL: there is none.
 */
static const struct gsh_hang_entry *left_kernels(const struct gsh_hang_job *job, int pe)
{
    const struct gsh_hang_entry *first = NULL;
    for (int i = 0; i < job->n_waits; i++) {
        if (job->waits[i].pe == pe &&
            (!job->waits[i].wait.is_host || job->waits[i].wait.what == GSH_HANG_DRIVER)) {
            return NULL;
        }
        if (job->waits[i].pe == pe && first == NULL) {
            first = &job->waits[i];
        }
    }
    return job->members[pe].about.n_unfinished > 0 ? NULL : first;
}

/* What PEs that have left their kernels wait for, as a sentence says it of one or several. */
static void word_left(const struct gsh_hang_job *job, int pe, const struct gsh_hang_entry *e,
                      bool are_several, char *text, size_t bytes)
{
    struct text t = {text, bytes};
    if (job->members[pe].about.n_unfinished == 0) {
        add(&t, are_several ? " have left their kernels and wait in "
                            : " has left its kernels and waits in ");
    } else {
        add(&t, are_several ? " wait in no kernel, but in " : " waits in no kernel, but in ");
    }
    add_wait(&t, &e->wait);
}

/* Names PE `from` and those behind it in `left` that wait for the same, and takes them out. */
static void add_same(struct text *t, const struct gsh_hang_job *job, int from,
                     const struct gsh_hang_entry **left, bool *is_of)
{
    char words[320], its[320];
    word_left(job, from, left[from], true, words, sizeof(words));
    for (int i = 0; i < job->n_pes; i++) {
        is_of[i] = false;
        if (i >= from && left[i] != NULL) {
            word_left(job, i, left[i], true, its, sizeof(its));
            is_of[i] = strcmp(words, its) == 0;
        }
    }
    add(t, "; ");
    if (add_pes(t, is_of, job->n_pes) == 1) {
        word_left(job, from, left[from], false, words, sizeof(words));
    }
    add(t, "%s", words);
    for (int i = from; i < job->n_pes; i++) {
        left[i] = is_of[i] ? NULL : left[i];
    }
}

static bool waits_in_kernel(const struct gsh_hang_job *job, int pe)
{
    for (int i = 0; i < job->n_waits; i++) {
        if (job->waits[i].pe == pe && !job->waits[i].wait.is_host) {
            return true;
        }
    }
    return false;
}

/* While kernels wait, other PEs have left theirs too early: it may be they that were to write.
 * Returns how many; *pe: the last. stuck: whose kernel waits. */
static int add_left(struct text *t, const struct gsh_hang_job *job, int stuck, int *pe)
{
    const struct gsh_hang_entry **left = calloc((size_t)job->n_pes, sizeof(*left));
    bool *is_of = calloc((size_t)job->n_pes, sizeof(*is_of));
    int n = 0, n_groups = 0, n_rest = 0, n_in_kernel = 0;
    for (int i = 0; i < job->n_pes && left != NULL && is_of != NULL; i++) {
        left[i] = left_kernels(job, i);
        if (left[i] != NULL) {
            *pe = i;
            n++;
        } else if (i != stuck) {
            n_rest++;
            n_in_kernel += waits_in_kernel(job, i);
        }
    }
    for (int i = 0; i < job->n_pes && n > 0; i++) {
        if (left[i] != NULL && n_groups++ < NAMES_AT_ONCE) {
            add_same(t, job, i, left, is_of);
        }
    }
    if (n_groups > NAMES_AT_ONCE) {
        add(t, "; and so %d more", n_groups - NAMES_AT_ONCE);
    }
    if (n > 0 && n_rest > 0) {
        add(t, "; the other PE%s %s%s", GSH_PLURAL(n_rest), n_rest == 1 ? "waits" : "wait",
            n_in_kernel < n_rest ? ", too"
            : n_rest == 1        ? " in a kernel, too"
                                 : " in kernels, too");
    }
    free(left);
    free(is_of);
    return n;
}

static void end_at_word(struct text *t, const struct gsh_hang_job *job,
                        const struct gsh_hang_entry *e, struct gsh_hang_cause *c)
{
    char others[160] = "";
    struct text o = {others, sizeof(others)};
    add_wait(t, &e->wait);
    const char *const omission =
        e->wait.what == GSH_HANG_PEER ? "done its part of it" : "written it";
    int n = add_others(&o, job, e->pe), left = -1;
    if (n > 0) {
        bool is_idle = true;
        for (int i = 0; i < job->n_pes; i++) {
            is_idle =
                is_idle && (i == e->pe || waits(job, i) || job->members[i].about.n_unfinished == 0);
        }
        add(t, "; %s, which %s not wait, %s not %s%s", others, n == 1 ? "does" : "do",
            n == 1 ? "has" : "have", omission,
            !is_idle ? ""
            : n == 1 ? ", and nothing is left on its streams"
                     : ", and nothing is left on their streams");
    } else if (!e->wait.is_host && (n = add_left(t, job, e->pe, &left)) > 0) {
        c->pe = n == 1 ? left : c->pe;
    } else if (job->n_pes > 1) {
        add(t, "; every other PE waits, too%s",
            e->wait.what == GSH_HANG_PEER ? "" : ", so none is left to write it");
    } else {
        add(t, "; there is no other PE that could write it");
    }
    for (int i = 0, named = 0; i < job->n_pes && named < NAMES_AT_ONCE; i++) {
        const struct gsh_hang_entry *kept =
            i != e->pe && !waits(job, i) ? kept_by_driver(job, i) : NULL;
        if (kept != NULL) {
            add(t, "; ");
            add_driver(t, kept);
            named++;
        }
    }
    add_behind(t, job, e->pe);
    add_hints(t, &e->wait);
}

static void find_lost(const struct gsh_hang_job *job, struct text *t, struct gsh_hang_cause *c,
                      const struct gsh_hang_entry *e, int lost)
{
    char silence[160];
    gsh_hang_word_silence(&job->members[lost], silence, sizeof(silence));
    c->verdict = GSH_HANG_LOST;
    c->pe = lost;
    add(t, "PE %d %s; ", lost, silence);
    if (target(job, e) == lost) {
        add_arrow(t, job, e);
    } else {
        add(t, "PE %d waits in ", e->pe);
        add_wait(t, &e->wait);
    }
}

/* Whether a kernel waits in the cycle: then who waits on its host may have left its own too early.
 */
static bool has_kernel(const struct gsh_hang_job *job, int from)
{
    int pe = from;
    for (int n = 0; n < job->n_pes; n++) {
        const struct gsh_hang_entry *e = arrow_of(job, pe);
        if (!e->wait.is_host) {
            return true;
        }
        pe = target(job, e);
        if (pe == from) {
            break;
        }
    }
    return false;
}

/* The same of a cycle: with what is known of a lock's holder, and of a PE's kernels. */
static void add_link(struct text *t, const struct gsh_hang_job *job, const struct gsh_hang_entry *e,
                     bool says_kernels)
{
    const bool has_left = says_kernels && left_kernels(job, e->pe) != NULL &&
                          job->members[e->pe].about.n_unfinished == 0;
    add(t, "PE %d %swaits for PE %d in ", e->pe, has_left ? "has left its kernels and " : "",
        target(job, e));
    add_wait(t, &e->wait);
    if (e->wait.what == GSH_HANG_LOCK && e->wait.holder == target(job, e)) {
        add(t, ", which PE %d holds", e->wait.holder);
    }
}

static void find_cycle(const struct gsh_hang_job *job, struct text *t, struct gsh_hang_cause *c,
                       int from)
{
    const bool says_kernels = has_kernel(job, from);
    int pe = from, n = 0;
    c->verdict = GSH_HANG_CYCLE;
    c->pe = from;
    add(t, "PEs wait for each other: ");
    do {
        const struct gsh_hang_entry *e = arrow_of(job, pe);
        add(t, n++ > 0 ? ", and " : "");
        add_link(t, job, e, says_kernels);
        add_overtaken(t, &e->wait);
        add_behind(t, job, pe);
        pe = target(job, e);
    } while (pe != from && n < NAMES_AT_ONCE);
    if (pe != from) {
        add(t, ", and so on");
    }
}

/* The PE where the arrows end that begin at `from`; *last: the wait that led there, NULL: none.
 * *is_cycle: it has been passed before. */
static int follow(const struct gsh_hang_job *job, int from, const struct gsh_hang_entry **last,
                  bool *is_cycle)
{
    bool *passed = calloc((size_t)job->n_pes, sizeof(*passed));
    int pe = from;
    *last = NULL;
    *is_cycle = false;
    while (passed != NULL && job->members[pe].answer == GSH_HANG_ANSWERED) {
        const struct gsh_hang_entry *e = arrow_of(job, pe);
        if (e == NULL) {
            break;
        }
        if (passed[pe]) {
            *is_cycle = true;
            break;
        }
        passed[pe] = true;
        *last = e;
        pe = target(job, e);
    }
    free(passed);
    return pe;
}

/* How much a cause that was found from one PE says: the largest wins. */
static int weight(enum gsh_hang_verdict v)
{
    static const int of[] = {[GSH_HANG_NO_WAIT] = 0, [GSH_HANG_UNSENT] = 1, [GSH_HANG_FIRST] = 2,
                             [GSH_HANG_OWN] = 3,     [GSH_HANG_CYCLE] = 4,  [GSH_HANG_LOST] = 5};
    return of[v];
}

static void find_from(const struct gsh_hang_job *job, int from, struct gsh_hang_cause *c)
{
    struct text t = {c->text, sizeof(c->text)};
    const struct gsh_hang_entry *last, *e;
    bool is_cycle;
    int pe = follow(job, from, &last, &is_cycle);
    c->pe = pe;
    if (job->members[pe].answer != GSH_HANG_ANSWERED) {
        find_lost(job, &t, c, last, pe);
    } else if (is_cycle) {
        find_cycle(job, &t, c, pe);
    } else if ((e = end_of(job, pe, true)) != NULL) {
        c->verdict = GSH_HANG_OWN;
        add(&t, "PE %d waits for its own %s in ", pe,
            e->wait.what == GSH_HANG_LOCK ? "thread that has the lock"
                                          : "other blocks, which have not come,");
        add_wait(&t, &e->wait);
        add_behind(&t, job, pe);
    } else if ((e = end_of(job, pe, false)) != NULL) {
        c->verdict = GSH_HANG_UNSENT;
        if (last != NULL) {
            add_omission(&t, last, pe);
            add(&t, ": it waits itself in ");
        } else {
            add(&t, "PE %d waits in ", pe);
        }
        end_at_word(&t, job, e, c);
    } else if ((e = kept_by_driver(job, pe)) != NULL) {
        c->verdict = GSH_HANG_OWN;
        if (last != NULL) {
            add_omission(&t, last, pe);
            add(&t, ": ");
        }
        add_driver(&t, e);
        add(&t, ": a kernel may find no room, or be loaded while another one runs");
        add_hints(&t, last != NULL ? &last->wait : &e->wait);
    } else if (last != NULL) {
        c->verdict = GSH_HANG_FIRST;
        add_omission(&t, last, pe);
        add(&t, ": ");
        add_idle(&t, &job->members[pe].about);
        add_hints(&t, &last->wait);
    }
}

/* Whether the PE cannot do anything, as far as is known. */
static bool is_lost(const struct gsh_hang_member *m)
{
    return m->answer == GSH_HANG_SILENT || m->has_ended;
}

/* Somebody waits for a word, and a PE does not answer that might write it. */
static bool blame_lost(const struct gsh_hang_job *job, struct gsh_hang_cause *c)
{
    struct text t = {c->text, sizeof(c->text)};
    for (int i = 0; i < job->n_pes; i++) {
        if (!is_lost(&job->members[i])) {
            continue;
        }
        for (int k = 0; k < job->n_waits; k++) {
            if (target(job, &job->waits[k]) < 0 && job->waits[k].wait.what != GSH_HANG_DRIVER) {
                find_lost(job, &t, c, &job->waits[k], i);
                return true;
            }
        }
    }
    return false;
}

/* Nobody waits: the first PE of which something is wrong all the same. */
static void name_odd(const struct gsh_hang_job *job, struct gsh_hang_cause *c)
{
    struct text t = {c->text, sizeof(c->text)};
    char silence[160];
    add(&t, "%s", job->n_waits > 0 ? "the waits name no PE" : "no PE waits in gshmem");
    for (int i = 0; i < job->n_pes && c->pe < 0; i++) {
        const struct gsh_hang_member *m = &job->members[i];
        if (is_lost(m)) {
            gsh_hang_word_silence(m, silence, sizeof(silence));
            add(&t, "; PE %d %s", i, silence);
            c->pe = i;
        } else if (m->answer == GSH_HANG_ANSWERED && m->about.is_held != 0) {
            add_behind(&t, job, i);
            c->pe = i;
        }
    }
}

void gsh_hang_analyse(const struct gsh_hang_job *job, struct gsh_hang_cause *cause)
{
    *cause = (struct gsh_hang_cause){.verdict = GSH_HANG_NO_WAIT, .pe = -1};
    for (int i = 0; i < job->n_waits; i++) {
        struct gsh_hang_cause c = {.verdict = GSH_HANG_NO_WAIT, .pe = -1};
        if (i > 0 && job->waits[i].pe == job->waits[i - 1].pe) {
            continue;
        }
        find_from(job, job->waits[i].pe, &c);
        if (weight(c.verdict) > weight(cause->verdict)) {
            *cause = c;
        }
    }
    if (cause->verdict != GSH_HANG_LOST && blame_lost(job, cause)) {
        return;
    }
    if (cause->verdict == GSH_HANG_NO_WAIT) {
        name_odd(job, cause);
    }
}
