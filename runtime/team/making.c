/* SPDX-License-Identifier: Apache-2.0
 * See making.h. */
#include "runtime/team/making.h"

#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/team/page.h"

enum gsh_result gsh_making_say(bool is_speaker, enum gsh_result r, const char *call,
                               const char *text)
{
    return is_speaker ? gsh_fail(r, "%s: %s", call, text) : gsh_note(r, "%s: %s", call, text);
}

/* This PE's part of a ballot on units: what it needs, and which are in use here. A PE that is no
 * member has no part. */
void gsh_making_ask(struct gsh_making *m)
{
    struct gsh_teams *teams = m->a.pe->teams;
    struct gsh_ballot *b = &m->ballot;
    b->n_or = teams->n_units / 64;
    if (m->me < 0) {
        return;
    }
    const uint64_t n_units = m->team == NULL ? 0 : m->team->layout.n_units;
    b->max[BALLOT_STATE] = (uint64_t)m->made << 1 | (uint64_t)!m->a.pe->is_device_ready;
    b->max[BALLOT_UNITS] = n_units;
    b->max[BALLOT_NOT_UNITS] = ~n_units;
    gsh_lock_take(&teams->lock);
    memcpy(b->or_words, teams->used, teams->n_units / 8);
    gsh_lock_give(&teams->lock);
}

struct gsh_making gsh_making_begin(const struct gsh_team_agreement *a, const int *pes, int n,
                                   int me, const gshmem_team_config_t *config)
{
    struct gsh_making m = {.a = *a, .pes = pes, .n = n, .me = me};
    m.ballot.or_words = calloc(a->pe->teams->n_units / 64, sizeof(*m.ballot.or_words));
    if (m.ballot.or_words == NULL) { /* the others would wait */
        gsh_abort(a->pe, 1, "%s: no memory for a list of %d PEs", a->call, n);
    }
    if (me < 0) {
        return m;
    }
    m.made = gsh_team_make(a->pe, pes, n, &m.team);
    if (m.made == GSH_OK) {
        m.team->num_contexts = config->num_contexts;
        m.team->buffers = a->buffers;
        gsh_team_plan(a->pe, m.team, config->num_channels, GSH_TEAM_PLAN_BARE, false);
    }
    return m;
}

void gsh_making_forget(struct gsh_making *m)
{
    free(m->ballot.or_words);
    gsh_team_free(m->team);
    m->ballot.or_words = NULL;
    m->team = NULL;
}

/* Another try looks elsewhere, so that two teams in the making do not collide again and again. */
static uint32_t first_unit_to_try(const struct gsh_making *m, uint32_t n_units)
{
    uint64_t h = (m->a.key + 1) * 0x9e3779b97f4a7c15u * (uint64_t)(2 * m->n_tries + 1);
    return m->n_tries == 0 ? 0 : (uint32_t)((h >> 32) % n_units);
}

/* The first ballot: units that all members have free. Before the first try it may have been part of
 * that on the arguments. */
static enum gsh_result choose_units(struct gsh_making *m, uint32_t *unit)
{
    struct gsh_instance *pe = m->a.pe;
    struct gsh_teams *teams = pe->teams;
    struct gsh_team *team = m->team;
    struct gsh_ballot *b = &m->ballot;
    if (!m->is_asked) {
        memset(b->max, 0, sizeof(b->max));
        gsh_making_ask(m);
        gsh_team_agree(&m->a, m->pes, m->n, m->me, b);
    }
    m->is_asked = false;
    if (b->max[BALLOT_STATE] >> 1 != GSH_OK || b->max[BALLOT_UNITS] != ~b->max[BALLOT_NOT_UNITS]) {
        return gsh_making_say(m->me == 0, GSH_ERR_NOMEM, m->a.call,
                              "a member of the new team has no memory for it");
    }
    const bool is_set_up = (b->max[BALLOT_STATE] & 1) == 0;
    /* All members see the same bitmap, and make the same choice. */
    for (int plan = m->a.widest_plan; plan <= GSH_TEAM_PLAN_BARE; plan++) {
        gsh_team_plan(pe, team, team->layout.n_channels, plan, is_set_up);
        *unit = gsh_team_units_find(teams, b->or_words, first_unit_to_try(m, teams->n_units),
                                    team->layout.n_units);
        if (*unit < teams->n_units && gsh_team_plan_is_fair(teams, b->or_words, plan)) {
            break;
        }
    }
    return *unit < teams->n_units
               ? GSH_OK
               : gsh_making_say(
                     m->me == 0 && !m->a.may_lack_room, GSH_ERR_NOMEM, m->a.call,
                     "no part of the team pool is free on all members: destroy teams, or raise "
                     "GSHMEM_TEAM_MEMORY");
}

/* The second: all members have the units still free, and their words are ready. GSH_ERR_SYMMETRY:
 * another thread's team has taken some of them on a member; try again. */
static enum gsh_result settle(const struct gsh_making *m)
{
    struct gsh_instance *pe = m->a.pe;
    struct gsh_team *team = m->team;
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
                   : gsh_making_say(m->me == 0, GSH_ERR_NOMEM, m->a.call,
                                    "a member of the new team could not write its tables");
}

static enum gsh_result try_units(struct gsh_making *m)
{
    enum gsh_result r;
    do {
        uint32_t unit = 0;
        r = choose_units(m, &unit);
        if (r == GSH_OK) {
            gsh_team_set_units(m->a.pe, m->team, unit);
            r = settle(m);
        }
        m->n_tries++;
    } while (r == GSH_ERR_SYMMETRY);
    return r;
}

/* Collective over the members; all of them get the same result. Ends the making. */
enum gsh_result gsh_making_finish(struct gsh_making *m, gshmem_team_t *out)
{
    struct gsh_instance *pe = m->a.pe;
    enum gsh_result r = try_units(m);
    if (r == GSH_OK) {
        gsh_team_name(pe->teams, m->team->handle, m->team);
        *out = m->team->handle;
        m->team = NULL;
    }
    gsh_making_forget(m);
    return r;
}
