/* SPDX-License-Identifier: Apache-2.0
 * Teams that users make (OpenSHMEM 1.5, 9.4): the PEs of the parent agree that they ask for the
 * same team, then its members agree on the first pool units that all of them have free, and that
 * their tables are written. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/team/page.h"
#include "runtime/team/team.h"

/* ---- the members ---- */

/* What the ballots of this file hold. */
enum { BALLOT_RESULT, BALLOT_A, BALLOT_NOT_A, BALLOT_NOT_SET_UP };

static enum gsh_result say(bool is_speaker, enum gsh_result r, const char *call, const char *text)
{
    return is_speaker ? gsh_fail(r, "%s: %s", call, text) : gsh_note(r, "%s: %s", call, text);
}

/* A team in the making. */
struct making {
    struct gsh_team_agreement a;
    const int *pes;
    int n, me;
    uint64_t *or_words; /* [n_units / 64] */
    int n_tries;        /* earlier tries: another team took the units on some member */
};

/* Another try looks elsewhere, so that two teams in the making do not collide again and again. */
static uint32_t first_unit_to_try(const struct making *m, uint32_t n_units)
{
    uint64_t h = (m->a.key + 1) * 0x9e3779b97f4a7c15u * (uint64_t)(2 * m->n_tries + 1);
    return m->n_tries == 0 ? 0 : (uint32_t)((h >> 32) % n_units);
}

/* The first ballot: units that all members have free. */
static enum gsh_result choose_units(const struct making *m, struct gsh_team *team,
                                    enum gsh_result r, uint32_t *unit)
{
    struct gsh_instance *pe = m->a.pe;
    struct gsh_teams *teams = pe->teams;
    uint64_t n_units = team == NULL ? 0 : team->layout.n_units;
    struct gsh_ballot ballot = {
        .max = {[BALLOT_RESULT] = r,
                [BALLOT_A] = n_units,
                [BALLOT_NOT_A] = ~n_units,
                [BALLOT_NOT_SET_UP] = !pe->is_device_ready},
        .or_words = m->or_words,
        .n_or = teams->n_units / 64,
    };
    gsh_lock_take(&teams->lock);
    memcpy(m->or_words, teams->used, teams->n_units / 8);
    gsh_lock_give(&teams->lock);
    gsh_team_agree(&m->a, m->pes, m->n, m->me, &ballot);
    if (ballot.max[BALLOT_RESULT] != GSH_OK || ballot.max[BALLOT_A] != ~ballot.max[BALLOT_NOT_A]) {
        return say(m->me == 0, GSH_ERR_NOMEM, m->a.call,
                   "a member of the new team has no memory for it");
    }
    /* All members see the same bitmap, and make the same choice. */
    for (int plan = m->a.widest_plan; plan <= GSH_TEAM_PLAN_BARE; plan++) {
        gsh_team_plan(pe, team, team->layout.n_channels, plan, ballot.max[BALLOT_NOT_SET_UP] == 0);
        *unit = gsh_team_units_find(teams, m->or_words, first_unit_to_try(m, teams->n_units),
                                    team->layout.n_units);
        if (*unit < teams->n_units && gsh_team_plan_is_fair(teams, m->or_words, plan)) {
            break;
        }
    }
    return *unit < teams->n_units
               ? GSH_OK
               : say(m->me == 0 && !m->a.may_lack_room, GSH_ERR_NOMEM, m->a.call,
                     "no part of the team pool is free on all members: destroy teams, or raise "
                     "GSHMEM_TEAM_MEMORY");
}

/* The second: all members have the units still free, and their words are ready. GSH_ERR_SYMMETRY:
 * another thread's team has taken some of them on a member; try again. */
static enum gsh_result settle(const struct making *m, struct gsh_team *team)
{
    struct gsh_instance *pe = m->a.pe;
    bool is_taken = gsh_team_units_take(pe->teams, team);
    bool is_ready = is_taken && pe->is_device_ready;
    enum gsh_result r = is_ready ? gsh_team_upload(pe, team) : GSH_OK;
    const struct gsh_page_words *words = gsh_page_words(pe, pe->my_pe, (uint32_t)team->handle);
    /* if another team has the units, its threads may be writing the words */
    uint64_t epoch = is_taken ? gsh_max_u64(words->epoch, words->released) : 0;
    struct gsh_ballot ballot = {
        .max = {[BALLOT_RESULT] = r, [BALLOT_A] = epoch, [BALLOT_NOT_A] = !is_taken}};
    gsh_team_agree(&m->a, m->pes, m->n, m->me, &ballot);
    bool has_met = ballot.max[BALLOT_NOT_A] != 0;
    if (ballot.max[BALLOT_RESULT] == GSH_OK && !has_met) {
        team->host_epoch = ballot.max[BALLOT_A];
        return GSH_OK;
    }
    if (is_ready && r == GSH_OK) {
        gsh_require(pe, m->a.call, gsh_team_withdraw(pe, team));
    }
    if (is_taken) {
        gsh_team_units_give(pe->teams, team);
    }
    return has_met ? GSH_ERR_SYMMETRY
                   : say(m->me == 0, GSH_ERR_NOMEM, m->a.call,
                         "a member of the new team could not write its tables");
}

static enum gsh_result try_units(struct making *m, struct gsh_team *team, enum gsh_result made)
{
    enum gsh_result r;
    do {
        uint32_t unit = 0;
        r = choose_units(m, team, made, &unit);
        if (r == GSH_OK) {
            gsh_team_set_units(m->a.pe, team, unit);
            r = settle(m, team);
        }
        m->n_tries++;
    } while (r == GSH_ERR_SYMMETRY);
    return r;
}

/* Collective over the members; all of them get the same result. */
static enum gsh_result make_on(const struct gsh_team_agreement *a, const int *pes, int n, int me,
                               const gshmem_team_config_t *config, gshmem_team_t *out)
{
    struct gsh_instance *pe = a->pe;
    struct gsh_team *team = NULL;
    struct making m = {.a = *a, .pes = pes, .n = n, .me = me};
    enum gsh_result r = gsh_team_make(pe, pes, n, &team);
    m.or_words = calloc(pe->teams->n_units / 64, sizeof(*m.or_words));
    if (m.or_words == NULL) { /* the others would wait */
        gsh_abort(pe, 1, "%s: no memory for a list of %d PEs", a->call, n);
    }
    if (r == GSH_OK) {
        team->num_contexts = config->num_contexts;
        team->buffers = a->buffers;
        gsh_team_plan(pe, team, config->num_channels, GSH_TEAM_PLAN_BARE, false);
    }
    r = try_units(&m, team, r);
    free(m.or_words);
    if (r != GSH_OK) {
        gsh_team_free(team);
        return r;
    }
    pe->teams->of_unit[team->handle] = team;
    *out = team->handle;
    return GSH_OK;
}

/* ---- the arguments ---- */

enum { MAX_ARGS = (GSH_BALLOT_MAX_WORDS - 1) / 2 };

struct request {
    const char *names[MAX_ARGS]; /* NULL after the last */
    int64_t args[MAX_ARGS];
};

/* What may be wrong with arguments that need not be the same on all PEs, in ascending order. */
enum config_error { NO_ERROR, BAD_MASK, SAME_HANDLE, NO_HANDLE };

static enum gsh_result say_config_error(bool is_speaker, const char *call, uint64_t error)
{
    static const char *const words[] = {
        [BAD_MASK] = "a PE's mask names fields that do not exist",
        [SAME_HANDLE] = "a PE gave one place for both teams",
        [NO_HANDLE] = "a PE gave NULL as the place of a new team",
    };
    return error == NO_ERROR ? GSH_OK : say(is_speaker, GSH_ERR_ARG, call, words[error]);
}

static enum config_error config_error_of(long masks, const gshmem_team_t *handle)
{
    long known = GSHMEM_TEAM_NUM_CONTEXTS | GSHMEMX_TEAM_NUM_CHANNELS;
    return handle == NULL ? NO_HANDLE : (masks & ~known) != 0 ? BAD_MASK : NO_ERROR;
}

/* Collective over the parent: all PEs ask for the same team. */
static enum gsh_result agree_on(const struct gsh_team_agreement *a, const struct gsh_team *parent,
                                const struct request *request, enum config_error error)
{
    struct gsh_ballot ballot = {.max = {[BALLOT_RESULT] = error}};
    for (int i = 0; i < MAX_ARGS; i++) {
        ballot.max[1 + 2 * i] = (uint64_t)request->args[i];
        ballot.max[2 + 2 * i] = ~(uint64_t)request->args[i];
    }
    gsh_team_agree(a, parent->pes, parent->n_pes, parent->my_index, &ballot);
    bool is_speaker = parent->my_index == 0;
    for (int i = 0; i < MAX_ARGS; i++) {
        int64_t one = (int64_t)ballot.max[1 + 2 * i], other = (int64_t)~ballot.max[2 + 2 * i];
        if (one != other) {
            char text[160];
            if (request->names[i] == NULL) {
                snprintf(text, sizeof(text), "the PEs make different calls");
            } else {
                snprintf(text, sizeof(text),
                         "%s is %" PRId64 " on one PE and %" PRId64 " on another",
                         request->names[i], other, one);
            }
            return say(is_speaker, GSH_ERR_SYMMETRY, a->call, text);
        }
    }
    return say_config_error(is_speaker, a->call, ballot.max[BALLOT_RESULT]);
}

/* Fields that the mask does not name have their defaults. */
static gshmem_team_config_t wanted_config(const gshmem_team_config_t *config, long mask)
{
    gshmem_team_config_t wanted = {.num_contexts = 0, .num_channels = 1};
    if (config != NULL && (mask & GSHMEM_TEAM_NUM_CONTEXTS) != 0) {
        wanted.num_contexts = config->num_contexts;
    }
    if (config != NULL && (mask & GSHMEMX_TEAM_NUM_CHANNELS) != 0) {
        wanted.num_channels = config->num_channels;
    }
    return wanted;
}

static enum gsh_result check_config(const char *call, bool is_speaker,
                                    const gshmem_team_config_t *config)
{
    if (config->num_contexts < 0) {
        return say(is_speaker, GSH_ERR_ARG, call, "num_contexts is negative");
    }
    if (config->num_channels < 1 || config->num_channels > GSH_TEAM_CHANNELS_MAX) {
        return say(is_speaker, GSH_ERR_ARG, call, "num_channels is not between 1 and 1024");
    }
    return GSH_OK;
}

/* Finds the parent, which must include this PE, and sets *new_team, if given, to no team. */
static enum gsh_result begin(struct gsh_instance *pe, const char *call, gshmem_team_t parent,
                             gshmem_team_t *new_team, struct gsh_team **out)
{
    if (new_team != NULL) {
        *new_team = GSHMEM_TEAM_INVALID;
    }
    return gsh_team_ask(pe, call, parent, out);
}

/* ---- strided ---- */

static enum gsh_result check_strided(const char *call, const struct gsh_team *parent, int start,
                                     int stride, int size)
{
    bool is_speaker = parent->my_index == 0;
    int64_t last = start + ((int64_t)size - 1) * stride;
    char text[160];
    if (size < 1 || start < 0 || start >= parent->n_pes || last < 0 || last >= parent->n_pes ||
        (stride == 0 && size > 1)) {
        snprintf(text, sizeof(text), "start %d, stride %d and size %d name no PEs of a team of %d",
                 start, stride, size, parent->n_pes);
        return say(is_speaker, GSH_ERR_ARG, call, text);
    }
    return GSH_OK;
}

/* Collective over the members; the others return at once. Arguments have been agreed on. */
static enum gsh_result make_strided(const struct gsh_team_agreement *a,
                                    const struct gsh_team *parent, int start, int stride, int size,
                                    const gshmem_team_config_t *config, gshmem_team_t *out)
{
    int me = -1;
    int *pes = calloc((size_t)size, sizeof(*pes));
    if (pes == NULL) {
        gsh_abort(a->pe, 1, "%s: no memory for a list of %d PEs", a->call, size);
    }
    for (int i = 0; i < size; i++) {
        pes[i] = parent->pes[start + i * stride];
        me = pes[i] == a->pe->my_pe ? i : me;
    }
    enum gsh_result r = me >= 0 ? make_on(a, pes, size, me, config, out) : GSH_OK;
    free(pes);
    return r;
}

int gshmem_team_split_strided(gshmem_team_t parent_team, int start, int stride, int size,
                              const gshmem_team_config_t *config, long config_mask,
                              gshmem_team_t *new_team)
{
    static const char call[] = "gshmem_team_split_strided";
    struct gsh_instance *pe = gsh_instance_need(call);
    gshmem_team_config_t wanted = wanted_config(config, config_mask);
    struct gsh_team_agreement a = {.pe = pe, .call = call, .key = GSH_AGREE_TEAM(parent_team)};
    struct request request = {
        .names = {NULL, "start", "stride", "size", "num_contexts", "num_channels"},
        .args = {1, start, stride, size, wanted.num_contexts, wanted.num_channels}};
    struct gsh_team *parent;
    enum gsh_result r = begin(pe, call, parent_team, new_team, &parent);
    if (r == GSH_OK) {
        r = agree_on(&a, parent, &request, config_error_of(config_mask, new_team));
    }
    if (r == GSH_OK) {
        r = check_strided(call, parent, start, stride, size);
    }
    if (r == GSH_OK) {
        r = check_config(call, parent->my_index == 0, &wanted);
    }
    if (r == GSH_OK) {
        r = make_strided(&a, parent, start, stride, size, &wanted, new_team);
    }
    return gsh_public_error(r);
}

/* ---- two dimensions ---- */

/* Ends a team that was just made, if there is one; it has no contexts. */
static void end_made(const struct gsh_team_agreement *a, gshmem_team_t handle)
{
    struct gsh_team *team = gsh_team_find(a->pe, handle);
    if (team != NULL) {
        gsh_team_end(a->pe, a->call, team);
    }
}

/* Collective over the parent: true if all PEs have their team; else none keeps it. */
static enum gsh_result keep_or_destroy(const struct gsh_team_agreement *a,
                                       const struct gsh_team *parent, enum gsh_result r,
                                       gshmem_team_t *x_team, gshmem_team_t *y_team)
{
    struct gsh_ballot ballot = {.max = {[BALLOT_RESULT] = r}};
    gsh_team_agree(a, parent->pes, parent->n_pes, parent->my_index, &ballot);
    if (ballot.max[BALLOT_RESULT] != GSH_OK) {
        end_made(a, *x_team); /* either all members of a team have it, or none */
        end_made(a, *y_team);
        *x_team = *y_team = GSHMEM_TEAM_INVALID;
    }
    return (enum gsh_result)ballot.max[BALLOT_RESULT];
}

int gshmem_team_split_2d(gshmem_team_t parent_team, int xrange,
                         const gshmem_team_config_t *x_config, long x_mask, gshmem_team_t *x_team,
                         const gshmem_team_config_t *y_config, long y_mask, gshmem_team_t *y_team)
{
    static const char call[] = "gshmem_team_split_2d";
    struct gsh_instance *pe = gsh_instance_need(call);
    gshmem_team_config_t x = wanted_config(x_config, x_mask), y = wanted_config(y_config, y_mask);
    struct gsh_team_agreement a = {.pe = pe, .call = call, .key = GSH_AGREE_TEAM(parent_team)};
    struct request request = {
        .names = {NULL, "xrange", "the x axis's num_contexts", "the x axis's num_channels",
                  "the y axis's num_contexts", "the y axis's num_channels"},
        .args = {2, xrange, x.num_contexts, x.num_channels, y.num_contexts, y.num_channels}};
    struct gsh_team *parent;
    if (y_team != NULL) {
        *y_team = GSHMEM_TEAM_INVALID;
    }
    enum gsh_result r = begin(pe, call, parent_team, x_team, &parent);
    if (r != GSH_OK) {
        return gsh_public_error(r);
    }
    bool is_speaker = parent->my_index == 0;
    enum config_error error = config_error_of(x_mask | y_mask, x_team == NULL ? NULL : y_team);
    r = agree_on(&a, parent, &request, error == NO_ERROR && x_team == y_team ? SAME_HANDLE : error);
    if (r == GSH_OK && xrange < 1) {
        r = say(is_speaker, GSH_ERR_ARG, call, "xrange is below 1");
    }
    if (r == GSH_OK) {
        r = check_config(call, is_speaker, &x);
    }
    if (r == GSH_OK) {
        r = check_config(call, is_speaker, &y);
    }
    if (r != GSH_OK) {
        return gsh_public_error(r);
    }
    int n = parent->n_pes, width = xrange < n ? xrange : n;
    int row = parent->my_index / width * width, column = parent->my_index % width;
    r = make_strided(&a, parent, row, 1, width < n - row ? width : n - row, &x, x_team);
    enum gsh_result ry =
        make_strided(&a, parent, column, width, (n - column + width - 1) / width, &y, y_team);
    return gsh_public_error(keep_or_destroy(&a, parent, r == GSH_OK ? ry : r, x_team, y_team));
}

/* ---- from a list ---- */

/* This PE's place in a list that must name PEs of the job, each once, and this one. A bad list is
 * bad on all its PEs: the first that it names reports it. */
static enum gsh_result check_list(struct gsh_instance *pe, const char *call, const int *pes, int n,
                                  int *me)
{
    if (pes == NULL) {
        return gsh_fail(GSH_ERR_ARG, "%s: the list of PEs is NULL", call);
    }
    if (n < 1 || n > pe->n_pes) {
        return gsh_fail(GSH_ERR_ARG, "%s: the list has %d PEs; it can have 1 to %d", call, n,
                        pe->n_pes);
    }
    uint8_t *is_met = calloc((size_t)pe->n_pes, sizeof(*is_met));
    if (is_met == NULL) { /* the others would wait */
        gsh_abort(pe, 1, "%s: no memory for a list of %d PEs", call, n);
    }
    int bad = -1, speaker = -1;
    *me = -1;
    for (int i = 0; i < n; i++) {
        bool is_pe = pes[i] >= 0 && pes[i] < pe->n_pes;
        if (!is_pe || is_met[pes[i]]) {
            bad = bad < 0 ? i : bad;
            continue;
        }
        is_met[pes[i]] = 1;
        speaker = speaker < 0 ? pes[i] : speaker;
        *me = pes[i] == pe->my_pe ? i : *me;
    }
    free(is_met);
    if (*me < 0) {
        return gsh_fail(GSH_ERR_ARG, "%s: called by a PE that is not in the list", call);
    }
    if (bad >= 0) {
        char text[120];
        snprintf(text, sizeof(text),
                 "PE %d, number %d of the list, is not in the job or is twice in the list",
                 pes[bad], bad);
        return say(speaker == pe->my_pe, GSH_ERR_ARG, call, text);
    }
    return GSH_OK;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* After those of the arguments. */
enum { BALLOT_WORD = 7 };

/* Collective over the PEs of the list, which agree in ascending order: that way lists that only
 * differ in order are reported, rather than causing a wait. */
static enum gsh_result agree_on_list(const struct gsh_team_agreement *a, const int *pes, int n,
                                     const gshmem_team_config_t *config, enum config_error error,
                                     uint64_t *word)
{
    struct gsh_instance *pe = a->pe;
    const char *call = a->call;
    int *sorted = calloc((size_t)n, sizeof(*sorted));
    if (sorted == NULL) { /* the others would wait */
        gsh_abort(pe, 1, "%s: no memory for a list of %d PEs", call, n);
    }
    memcpy(sorted, pes, (size_t)n * sizeof(*sorted));
    qsort(sorted, (size_t)n, sizeof(*sorted), compare_ints);
    int me = 0;
    uint64_t order = 0;
    for (int i = 0; i < n; i++) {
        me = sorted[i] == pe->my_pe ? i : me;
        order = order * 0x100000001b3u + (uint32_t)pes[i];
    }
    const uint64_t args[] = {order, (uint64_t)config->num_contexts, (uint64_t)config->num_channels};
    static const char *const differ[] = {
        "the PEs give their list in different orders",
        "the PEs give different num_contexts",
        "the PEs give different num_channels",
    };
    struct gsh_ballot ballot = {.max = {[BALLOT_RESULT] = error}};
    for (int i = 0; i < 3; i++) {
        ballot.max[1 + 2 * i] = args[i];
        ballot.max[2 + 2 * i] = ~args[i];
    }
    ballot.max[BALLOT_WORD] = *word;
    gsh_team_agree(a, sorted, n, me, &ballot);
    *word = ballot.max[BALLOT_WORD];
    bool is_speaker = sorted[0] == pe->my_pe;
    free(sorted);
    for (int i = 0; i < 3; i++) {
        if (ballot.max[1 + 2 * i] != ~ballot.max[2 + 2 * i]) {
            return say(is_speaker, GSH_ERR_SYMMETRY, call, differ[i]);
        }
    }
    enum gsh_result r = say_config_error(is_speaker, call, ballot.max[BALLOT_RESULT]);
    return r == GSH_OK ? check_config(call, is_speaker, config) : r;
}

static enum gsh_result create(struct gsh_team_agreement a, const int *pes, int n_pes,
                              const gshmem_team_config_t *config, long config_mask,
                              gshmem_team_t *new_team, uint64_t *word)
{
    gshmem_team_config_t wanted = wanted_config(config, config_mask);
    int me = -1;
    if (new_team != NULL) {
        *new_team = GSHMEM_TEAM_INVALID;
    }
    enum gsh_result r = check_list(a.pe, a.call, pes, n_pes, &me);
    if (r == GSH_OK) {
        r = agree_on_list(&a, pes, n_pes, &wanted, config_error_of(config_mask, new_team), word);
    }
    if (r == GSH_OK) {
        r = make_on(&a, pes, n_pes, me, &wanted, new_team);
    }
    return r;
}

enum gsh_result gsh_team_create_list(struct gsh_instance *pe, const char *call, const int *pes,
                                     int n_pes, const gshmem_team_config_t *config,
                                     long config_mask, gshmem_team_t *new_team)
{
    struct gsh_team_agreement a = {.pe = pe, .call = call, .key = GSH_AGREE_TAG(0)};
    uint64_t word = 0;
    return create(a, pes, n_pes, config, config_mask, new_team, &word);
}

enum gsh_result gsh_team_create_in(struct gsh_instance *pe, const char *call, const int *pes,
                                   int n_pes, struct gsh_team_buffers buffers,
                                   gshmem_team_t *new_team)
{
    struct gsh_team_agreement a = {.pe = pe,
                                   .call = call,
                                   .key = GSH_AGREE_TAG(0),
                                   .widest_plan = GSH_TEAM_PLAN_BARE,
                                   .buffers = buffers};
    uint64_t word = 0;
    return create(a, pes, n_pes, NULL, 0, new_team, &word);
}

int gshmemx_team_create(const int *pes, int n_pes, const gshmem_team_config_t *config,
                        long config_mask, gshmem_team_t *new_team)
{
    static const char call[] = "gshmemx_team_create";
    return gsh_public_error(gsh_team_create_list(gsh_instance_need(call), call, pes, n_pes, config,
                                                 config_mask, new_team));
}

/* The same on all PEs; 0 for NULL and for addresses that are not symmetric. */
static uint64_t tag_of(const struct gsh_instance *pe, const void *handle)
{
    uint64_t off =
        handle != NULL && pe->is_device_ready ? gsh_symmetric_off(pe, handle) : UINT64_MAX;
    return pe->is_device_ready && off < pe->state.stride ? off + 1 : 0;
}

int gshmemx_team_create_at(const void *handle, const int *pes, int n_pes,
                           const gshmem_team_config_t *config, long config_mask,
                           gshmem_team_t *new_team, uint64_t *word)
{
    static const char call[] = "gshmemx_team_create_at";
    struct gsh_instance *pe = gsh_instance_need(call);
    struct gsh_team_agreement a = {
        .pe = pe, .call = call, .key = GSH_AGREE_TAG(tag_of(pe, handle)), .may_lack_room = true};
    uint64_t none = 0;
    return gsh_public_error(
        create(a, pes, n_pes, config, config_mask, new_team, word == NULL ? &none : word));
}

/* ---- the end ---- */

void gsh_team_end(struct gsh_instance *pe, const char *call, struct gsh_team *team)
{
    (void)gsh_host_sync(pe, team, call);
    if (pe->is_device_ready) {
        gsh_require(pe, call, gsh_team_withdraw(pe, team));
    }
    pe->teams->of_unit[team->handle] = NULL;
    gsh_team_units_give(pe->teams, team);
    gsh_team_free(team);
}
