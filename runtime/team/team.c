/* SPDX-License-Identifier: Apache-2.0
 * Teams as objects, the predefined ones, and the queries. Team WORLD has all PEs in the order of
 * their numbers; the other predefined teams depend on where the PEs run. */
#include "runtime/team/team.h"

#include <stdlib.h>
#include <string.h>
#include "gshmem.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"

/* ---- groups ---- */

static int *numbers(int n)
{
    return calloc((size_t)n, sizeof(int));
}

enum gsh_result gsh_team_split_make(const struct gsh_instance *pe, const struct gsh_team *team,
                                    int (*group_of)(const struct gsh_instance *, int),
                                    struct gsh_team_split *out)
{
    int *number_of = numbers(pe->n_pes); /* by group_of: 1 + number here; 0: not met */
    int *next = numbers(team->n_pes); /* by number: its members so far, then where the next goes */
    struct gsh_team_split s = {.leaders = numbers(team->n_pes),
                               .members = numbers(team->n_pes),
                               .begins = numbers(team->n_pes + 1)};
    if (number_of == NULL || next == NULL || s.leaders == NULL || s.members == NULL ||
        s.begins == NULL) {
        free(number_of);
        free(next);
        gsh_team_split_finish(&s);
        return gsh_note(GSH_ERR_NOMEM, "no memory for a team");
    }
    for (int i = 0; i < team->n_pes; i++) {
        int group = group_of(pe, gsh_team_pe(team, i));
        if (number_of[group] == 0) {
            s.leaders[s.n_groups] = gsh_team_pe(team, i);
            number_of[group] = ++s.n_groups;
        }
        next[number_of[group] - 1]++;
    }
    for (int g = 0; g < s.n_groups; g++) {
        s.begins[g + 1] = s.begins[g] + next[g];
        next[g] = s.begins[g];
    }
    s.my_group = number_of[group_of(pe, pe->my_pe)] - 1;
    for (int i = 0; i < team->n_pes; i++) {
        int g = number_of[group_of(pe, gsh_team_pe(team, i))] - 1;
        if (i == team->my_index) {
            s.my_near = next[g] - s.begins[g];
        }
        s.members[next[g]++] = i;
    }
    bool is_in_order = true;
    for (int i = 0; i < team->n_pes; i++) {
        is_in_order = is_in_order && s.members[i] == i;
    }
    if (is_in_order) { /* as is usual */
        free(s.members);
        s.members = NULL;
    }
    s.n_near = s.begins[s.my_group + 1] - s.begins[s.my_group];
    free(number_of);
    free(next);
    *out = s;
    return GSH_OK;
}

void gsh_team_split_finish(struct gsh_team_split *split)
{
    free(split->leaders);
    free(split->members);
    free(split->begins);
    *split = (struct gsh_team_split){0};
}

/* ---- one team ---- */

static int node_of(const struct gsh_instance *pe, int member_pe)
{
    return pe->peers[member_pe].node;
}

enum gsh_result gsh_team_make(struct gsh_instance *pe, const int *pes, int n_pes,
                              struct gsh_team **out)
{
    struct gsh_team *team = calloc(1, sizeof(*team));
    if (team == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for a team");
    }
    team->handle = GSHMEM_TEAM_INVALID;
    team->n_pes = n_pes;
    team->my_index = -1;
    team->pes = numbers(n_pes);
    team->stride = n_pes > 1 ? pes[1] - pes[0] : 1;
    team->is_regular = true;
    if (team->pes == NULL) {
        gsh_team_free(team);
        return gsh_note(GSH_ERR_NOMEM, "no memory for a team of %d PEs", n_pes);
    }
    for (int i = 0; i < n_pes; i++) {
        team->pes[i] = pes[i];
        team->my_index = pes[i] == pe->my_pe ? i : team->my_index;
        team->is_regular = team->is_regular && pes[i] == pes[0] + i * team->stride;
    }
    if (team->is_regular && n_pes == pe->n_pes && pes[0] == 0) {
        free(team->pes);
        team->pes = NULL;
    }
    enum gsh_result r = gsh_team_split_make(pe, team, node_of, &team->nodes);
    if (r != GSH_OK) {
        gsh_team_free(team);
        return r;
    }
    *out = team;
    return GSH_OK;
}

void gsh_team_free(struct gsh_team *team)
{
    if (team != NULL) {
        gsh_team_split_finish(&team->nodes);
        free(team->pes);
        free(team);
    }
}

/* ---- the predefined teams ---- */

static bool in_world(const struct gsh_instance *pe, int i)
{
    (void)pe;
    (void)i;
    return true;
}

static bool in_node(const struct gsh_instance *pe, int i)
{
    return pe->peers[i].node == pe->peers[pe->my_pe].node;
}

static bool in_same_mype_node(const struct gsh_instance *pe, int i)
{
    return pe->peers[i].node_index == pe->peers[pe->my_pe].node_index;
}

static bool is_mapped(const struct gsh_instance *pe, int i)
{
    return in_node(pe, i) && pe->peers[i].domain == pe->peers[pe->my_pe].domain;
}

/* Replaces an existing one, whose epoch continues. */
static enum gsh_result make_predefined(struct gsh_instance *pe, gshmem_team_t handle,
                                       bool (*is_member)(const struct gsh_instance *, int))
{
    struct gsh_team *before = pe->teams->of_unit[handle], *team = NULL;
    int *pes = numbers(pe->n_pes), n = 0;
    if (pes == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for teams");
    }
    for (int i = 0; i < pe->n_pes; i++) {
        if (is_member(pe, i)) {
            pes[n++] = i;
        }
    }
    enum gsh_result r = gsh_team_make(pe, pes, n, &team);
    free(pes);
    if (r != GSH_OK) {
        return gsh_fail(r, "init: no memory for teams");
    }
    team->handle = handle;
    gsh_team_set_units_predefined(pe, team);
    team->host_epoch = before != NULL ? before->host_epoch : 0;
    gsh_team_name(pe->teams, handle, team);
    gsh_team_free(before);
    return GSH_OK;
}

enum gsh_result gsh_teams_create(struct gsh_instance *pe)
{
    static bool (*const members[GSH_TEAM_N_PREDEFINED])(const struct gsh_instance *, int) = {
        [GSHMEM_TEAM_WORLD] = in_world, [GSHMEM_TEAM_SHARED] = in_node,
        [GSHMEMX_TEAM_NODE] = in_node,  [GSHMEMX_TEAM_SAME_MYPE_NODE] = in_same_mype_node,
        [GSHMEMX_TEAM_NEAR] = in_node,
    };
    enum gsh_result r = GSH_OK;
    for (gshmem_team_t t = 0; r == GSH_OK && t < GSH_TEAM_N_PREDEFINED; t++) {
        r = make_predefined(pe, t, members[t]);
    }
    return r;
}

enum gsh_result gsh_teams_regroup(struct gsh_instance *pe)
{
    enum gsh_result r = make_predefined(pe, GSHMEM_TEAM_SHARED, is_mapped);
    return r == GSH_OK ? make_predefined(pe, GSHMEMX_TEAM_NEAR, is_mapped) : r;
}

void gsh_teams_destroy(struct gsh_instance *pe)
{
    struct gsh_teams *teams = pe->teams;
    if (teams == NULL) {
        return;
    }
    const bool has_tables = teams->used != NULL && teams->of_unit != NULL;
    struct gsh_team *team;
    for (uint32_t u = 0; has_tables && (team = gsh_teams_next(teams, &u)) != NULL;) {
        gsh_team_free(team);
    }
    gsh_early_messages_destroy(teams);
    free(teams->of_unit);
    free(teams->used);
    free(teams);
    pe->teams = NULL;
}

/* ---- queries ---- */

struct gsh_team *gsh_team_find(const struct gsh_instance *pe, gshmem_team_t team)
{
    return (uint32_t)team < pe->teams->n_units ? pe->teams->of_unit[team] : NULL;
}

enum gsh_result gsh_team_need(const struct gsh_instance *pe, const char *call, gshmem_team_t team,
                              struct gsh_team **out)
{
    *out = gsh_team_find(pe, team);
    if (*out == NULL) {
        return gsh_fail(GSH_ERR_ARG, "%s: there is no team %d of which this PE is a member", call,
                        (int)team);
    }
    return GSH_OK;
}

enum gsh_result gsh_team_ask(const struct gsh_instance *pe, const char *call, gshmem_team_t team,
                             struct gsh_team **out)
{
    return team == GSHMEM_TEAM_INVALID
               ? gsh_note(GSH_ERR_ARG, "%s: the team is GSHMEM_TEAM_INVALID", call)
               : gsh_team_need(pe, call, team, out);
}

int gshmem_team_my_pe(gshmem_team_t team)
{
    const struct gsh_team *t = gsh_team_find(gsh_instance_need("gshmem_team_my_pe"), team);
    return t == NULL ? -1 : t->my_index;
}

int gshmem_team_n_pes(gshmem_team_t team)
{
    const struct gsh_team *t = gsh_team_find(gsh_instance_need("gshmem_team_n_pes"), team);
    return t == NULL ? -1 : t->n_pes;
}

/* The index of the member that is that PE; -1: none. */
static int index_of(const struct gsh_team *team, int world_pe)
{
    if (team->is_regular) {
        int distance = world_pe - gsh_team_pe(team, 0);
        int i = team->stride == 0 ? 0 : distance / team->stride;
        return i >= 0 && i < team->n_pes && i * team->stride == distance ? i : -1;
    }
    for (int i = 0; i < team->n_pes; i++) {
        if (gsh_team_pe(team, i) == world_pe) {
            return i;
        }
    }
    return -1;
}

int gshmem_team_translate_pe(gshmem_team_t src_team, int src_pe, gshmem_team_t dest_team)
{
    struct gsh_instance *pe = gsh_instance_need("gshmem_team_translate_pe");
    const struct gsh_team *from = gsh_team_find(pe, src_team), *to = gsh_team_find(pe, dest_team);
    if (from == NULL || to == NULL || src_pe < 0 || src_pe >= from->n_pes) {
        return -1;
    }
    return index_of(to, gsh_team_pe(from, src_pe));
}

int gshmem_team_get_config(gshmem_team_t team, long config_mask, gshmem_team_config_t *config)
{
    static const char call[] = "gshmem_team_get_config";
    struct gsh_instance *pe = gsh_instance_need(call);
    struct gsh_team *t = NULL;
    enum gsh_result r = gsh_team_ask(pe, call, team, &t);
    long known = GSHMEM_TEAM_NUM_CONTEXTS | GSHMEMX_TEAM_NUM_CHANNELS;
    if (r == GSH_OK && (config_mask & ~known) != 0) {
        r = gsh_fail(GSH_ERR_ARG, "%s: the mask %#lx names fields that do not exist", call,
                     (unsigned long)config_mask);
    }
    if (r == GSH_OK && config_mask != 0 && config == NULL) {
        r = gsh_fail(GSH_ERR_ARG, "%s: config is NULL", call);
    }
    if (r == GSH_OK && (config_mask & GSHMEM_TEAM_NUM_CONTEXTS) != 0) {
        config->num_contexts = t->num_contexts;
    }
    if (r == GSH_OK && (config_mask & GSHMEMX_TEAM_NUM_CHANNELS) != 0) {
        config->num_channels = t->layout.n_channels;
    }
    return gsh_public_error(r);
}
