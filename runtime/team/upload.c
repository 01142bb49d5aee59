/* SPDX-License-Identifier: Apache-2.0
 * Teams as kernels see them: record, tables and channels, copied into this PE's own heap. Nodes
 * here are groups of mapped heaps, which may be smaller than the host's nodes. */
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "runtime/instance/device_ops.h"
#include "runtime/instance/instance.h"
#include "runtime/team/team.h"

static int domain_of(const struct gsh_instance *pe, int member_pe)
{
    return pe->peers[member_pe].domain;
}

static uint64_t record_off(const struct gsh_instance *pe, const struct gsh_team *team)
{
    return gsh_teams_pool_off(pe) + (uint64_t)team->handle * GSH_TEAM_UNIT;
}

static enum gsh_result write_heap(struct gsh_instance *pe, uint64_t off, const void *from,
                                  size_t bytes)
{
    void *to = (void *)(uintptr_t)(gsh_heap_base(pe->heap) + off);
    return pe->device_ops->copy(pe, GSH_CONTEXT_DEFAULT, to, from, bytes);
}

static enum gsh_result clear_heap(struct gsh_instance *pe, uint64_t off, size_t bytes)
{
    return gsh_clear(pe, (void *)(uintptr_t)(gsh_heap_base(pe->heap) + off), bytes);
}

/* Adds n words after those written so far; values NULL: 0, 1, 2, .... Returns their address; 0: n
 * is 0, no table. */
static uint64_t add_table(const struct gsh_instance *pe, const struct gsh_team *team,
                          int32_t *tables, size_t *n_words, const int *values, int n)
{
    uint64_t at = gsh_heap_base(pe->heap) + team->first_off + team->layout.tables_off +
                  *n_words * sizeof(int32_t);
    for (int i = 0; i < n; i++) {
        tables[(*n_words)++] = values != NULL ? values[i] : i;
    }
    return n > 0 ? at : 0;
}

/* Fills the state and, in `tables`, what it points to. */
static enum gsh_result describe(const struct gsh_instance *pe, struct gsh_team *team,
                                struct gsh_team_state *state, int32_t *tables)
{
    struct gsh_team_split split;
    size_t n_words = 0;
    enum gsh_result r = gsh_team_split_make(pe, team, domain_of, &split);
    if (r != GSH_OK) {
        return r;
    }
    bool is_spread = split.n_groups > 1;
    team->is_mapped = !is_spread;
    const struct gsh_team_layout *l = &team->layout;
    *state = (struct gsh_team_state){
        .magic = GSH_TEAM_MAGIC,
        .handle = team->handle,
        .n_pes = team->n_pes,
        .my_index = team->my_index,
        .first_pe = gsh_team_pe(team, 0),
        .pe_stride = team->stride,
        .n_channels = team->layout.n_channels,
        .sync_off = team->channels_off,
        .channel_bytes = team->layout.channel_bytes,
        .n_nodes = split.n_groups,
        .my_node = split.my_group,
        .n_near = split.n_near,
        .my_near = split.my_near,
        .wide_off = l->wide_is_apart ? team->buffers.off : team->first_off + l->wide_off,
        .slots_off = team->first_off + l->slots_off,
        .work_off = l->work_is_apart ? team->buffers.off : team->first_off + l->work_off,
        .wide_slot_bytes = l->wide_slot_bytes,
        .slot_bytes = l->slot_bytes,
        .work_wide_slot_bytes = l->work_wide_slot_bytes,
        .work_slot_bytes = l->work_slot_bytes,
        .near_begin = split.begins[split.my_group],
        .n_stripes = split.n_near,
        .is_node_by_node = split.members == NULL,
    };
    for (int g = 0; g < split.n_groups; g++) {
        int n = split.begins[g + 1] - split.begins[g];
        state->n_stripes = n < state->n_stripes ? n : state->n_stripes;
    }
    state->pes =
        add_table(pe, team, tables, &n_words, team->pes, team->is_regular ? 0 : team->n_pes);
    state->leaders =
        add_table(pe, team, tables, &n_words, split.leaders, is_spread ? split.n_groups : 0);
    uint64_t members =
        add_table(pe, team, tables, &n_words, split.members, is_spread ? team->n_pes : 0);
    state->near = is_spread ? members + (uint64_t)state->near_begin * sizeof(int32_t) : 0;
    (void)add_table(pe, team, tables, &n_words, split.begins, is_spread ? split.n_groups + 1 : 0);
    gsh_team_split_finish(&split);
    return GSH_OK;
}

/* Zeroes the words of the team and the slots of its messages. */
static enum gsh_result write_zeroes(struct gsh_instance *pe, const struct gsh_team *team)
{
    const struct gsh_team_layout *l = &team->layout;
    size_t channels_bytes = (size_t)l->n_channels * l->channel_bytes;
    size_t slots_bytes = l->work_off - l->wide_off; /* in the pool */
    size_t apart_bytes = l->wide_is_apart ? 2 * (size_t)l->n_near * l->wide_slot_bytes : 0;
    enum gsh_result r = clear_heap(pe, team->channels_off, channels_bytes);
    if (r == GSH_OK && slots_bytes > 0) {
        r = clear_heap(pe, team->first_off + l->wide_off, slots_bytes);
    }
    if (r == GSH_OK && l->inbox_bytes > 0) {
        r = clear_heap(pe, team->first_off + l->inbox_off, l->inbox_bytes);
    }
    if (r == GSH_OK && apart_bytes > 0) {
        r = clear_heap(pe, team->buffers.off, apart_bytes);
    }
    return r;
}

/* is_zero: the heap is new, so all that is the team's is zeros. */
static enum gsh_result upload(struct gsh_instance *pe, struct gsh_team *team, bool is_zero)
{
    const struct gsh_team_layout *l = &team->layout;
    size_t tables_bytes = l->channels_off - l->tables_off;
    struct gsh_team_state state;
    int32_t *tables = calloc(1, tables_bytes);
    enum gsh_result r = tables == NULL ? gsh_note(GSH_ERR_NOMEM, "no memory for a team's tables")
                                       : describe(pe, team, &state, tables);
    if (r == GSH_OK && !is_zero) {
        r = write_zeroes(pe, team);
    }
    if (r == GSH_OK) {
        r = write_heap(pe, team->first_off + l->tables_off, tables, tables_bytes);
    }
    if (r == GSH_OK) {
        team->state = state;
        r = write_heap(pe, record_off(pe, team), &state, sizeof(state));
    }
    free(tables);
    return r;
}

enum gsh_result gsh_team_upload(struct gsh_instance *pe, struct gsh_team *team)
{
    return upload(pe, team, false);
}

enum gsh_result gsh_teams_upload(struct gsh_instance *pe)
{
    enum gsh_result r = GSH_OK;
    struct gsh_team *team;
    for (uint32_t u = 0; r == GSH_OK && (team = gsh_teams_next(pe->teams, &u)) != NULL;) {
        r = upload(pe, team, true);
    }
    return r;
}

enum gsh_result gsh_team_withdraw(struct gsh_instance *pe, const struct gsh_team *team)
{
    static const struct gsh_team_state none;
    return write_heap(pe, record_off(pe, team), &none, sizeof(none));
}
