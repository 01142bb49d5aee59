/* SPDX-License-Identifier: Apache-2.0
 * The predefined teams and their queries. Team WORLD is PE numbers; the others follow from where
 * the PEs run. */
#include "runtime/setup/team.h"

#include <stdlib.h>
#include "gshmem.h"
#include "runtime/job/binding.h"
#include "runtime/job/instance.h"

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
    struct gsh_team_split s = {.leaders = numbers(team->n_pes), .near = numbers(team->n_pes)};
    int mine = group_of(pe, pe->my_pe);
    if (number_of == NULL || s.leaders == NULL || s.near == NULL) {
        free(number_of);
        gsh_team_split_finish(&s);
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for teams");
    }
    for (int i = 0; i < team->n_pes; i++) {
        int group = group_of(pe, team->pes[i]);
        if (number_of[group] == 0) {
            s.leaders[s.n_groups] = team->pes[i];
            number_of[group] = ++s.n_groups;
        }
        if (group == mine) {
            s.my_near = i == team->my_index ? s.n_near : s.my_near;
            s.near[s.n_near++] = i;
        }
    }
    s.my_group = number_of[mine] - 1;
    free(number_of);
    *out = s;
    return GSH_OK;
}

void gsh_team_split_finish(struct gsh_team_split *split)
{
    free(split->leaders);
    free(split->near);
    *split = (struct gsh_team_split){0};
}

static int node_of(const struct gsh_instance *pe, int member_pe)
{
    return pe->peers[member_pe].node;
}

/* ---- the predefined teams ---- */

static enum gsh_result fill(struct gsh_instance *pe, int team,
                            bool (*is_member)(const struct gsh_instance *, int))
{
    struct gsh_team *t = &pe->teams[team];
    t->pes = calloc((size_t)pe->n_pes, sizeof(*t->pes));
    if (t->pes == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for teams");
    }
    t->my_index = -1;
    for (int i = 0; i < pe->n_pes; i++) {
        if (is_member(pe, i)) {
            if (i == pe->my_pe) {
                t->my_index = t->n_pes;
            }
            t->pes[t->n_pes++] = i;
        }
    }
    return gsh_team_split_make(pe, t, node_of, &t->nodes);
}

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

static int index_in_node(const struct gsh_instance *pe, int p)
{
    int index = 0;
    for (int i = 0; i < p; i++) {
        index += pe->peers[i].node == pe->peers[p].node;
    }
    return index;
}

static bool in_same_mype_node(const struct gsh_instance *pe, int i)
{
    return index_in_node(pe, i) == index_in_node(pe, pe->my_pe);
}

enum gsh_result gsh_teams_create(struct gsh_instance *pe)
{
    enum gsh_result r = fill(pe, GSHMEM_TEAM_WORLD, in_world);
    if (r == GSH_OK) {
        r = fill(pe, GSHMEM_TEAM_SHARED, in_node);
    }
    if (r == GSH_OK) {
        r = fill(pe, GSHMEMX_TEAM_NODE, in_node);
    }
    if (r == GSH_OK) {
        r = fill(pe, GSHMEMX_TEAM_SAME_MYPE_NODE, in_same_mype_node);
    }
    return r;
}

void gsh_teams_destroy(struct gsh_instance *pe)
{
    for (int t = 0; t < GSH_TEAM_SLOTS; t++) {
        gsh_team_split_finish(&pe->teams[t].nodes);
        free(pe->teams[t].pes);
        pe->teams[t] = (struct gsh_team){0};
    }
}

static const struct gsh_team *find(const struct gsh_instance *pe, gshmem_team_t team)
{
    if (team < 0 || team >= GSH_TEAM_SLOTS || pe->teams[team].n_pes == 0) {
        return NULL;
    }
    return &pe->teams[team];
}

enum gsh_result gsh_team_check(struct gsh_instance *pe, const char *call, gshmem_team_t team)
{
    const struct gsh_team *t = find(pe, team);
    if (t == NULL) {
        return gsh_fail(GSH_ERR_ARG, "%s: there is no team %d", call, (int)team);
    }
    if (t->my_index < 0) {
        return gsh_fail(GSH_ERR_ARG, "%s: this PE is not in team %d", call, (int)team);
    }
    return GSH_OK;
}

int gshmem_team_my_pe(gshmem_team_t team)
{
    const struct gsh_team *t = find(gsh_instance_need("gshmem_team_my_pe"), team);
    return t == NULL ? -1 : t->my_index;
}

int gshmem_team_n_pes(gshmem_team_t team)
{
    const struct gsh_team *t = find(gsh_instance_need("gshmem_team_n_pes"), team);
    return t == NULL ? -1 : t->n_pes;
}

int gshmem_team_translate_pe(gshmem_team_t src_team, int src_pe, gshmem_team_t dest_team)
{
    struct gsh_instance *pe = gsh_instance_need("gshmem_team_translate_pe");
    const struct gsh_team *from = find(pe, src_team);
    const struct gsh_team *to = find(pe, dest_team);
    if (from == NULL || to == NULL || src_pe < 0 || src_pe >= from->n_pes) {
        return -1;
    }
    for (int i = 0; i < to->n_pes; i++) {
        if (to->pes[i] == from->pes[src_pe]) {
            return i;
        }
    }
    return -1;
}
