/* SPDX-License-Identifier: Apache-2.0
 * The team pool: how large it is, what a team takes of it, and which units are free. Pure
 * arithmetic, with the same outcome on all PEs. */
#include <stdlib.h>
#include "base/util.h"
#include "runtime/instance/instance.h"
#include "runtime/team/team.h"

/* Channels of the predefined teams: WORLD's are for the blocks of a grid. */
#define WORLD_CHANNELS      32
#define PREDEFINED_CHANNELS 4
#define WORLD_WIDE          (2u << 20) /* bytes of both of channel 0's buffers, at most */
/* Most bytes of a channel's buffers in a predefined team; the least slot is smaller. */
#define CHANNEL_BYTES (256u << 10)
/* Four buffers of what is under way on all links of a GPU: 450 GB/s times 2 us, and flags. */
#define INBOX_BYTES (4u << 20)
/* Of a small job (gsh_instance.is_small): what a team of a dialect with buffers of its own has, and
 * half of what is under way. */
#define SMALL_WIDE  (256u << 10)
#define SMALL_INBOX (2u << 20)
#define SMALL_TEAMS (1u << 20)

/* ---- layouts ---- */

/* For LL data of a team of one node: bytes of a slot of channel 0 and of the other channels, at
 * least one line, for the counts of a collect. For far members of a team of several nodes: bytes of
 * each half of a channel's work area. */
struct slots {
    uint32_t wide_bytes, bytes, work_wide_half_bytes, work_half_bytes;
    bool is_apart; /* channel 0's are in struct gsh_team_buffers */
    uint32_t inbox_bytes;
};

/* The largest power of two with which two buffers take at most that many bytes. */
static uint32_t wide_bytes_within(int n_near, uint64_t most)
{
    uint32_t bytes = 512u << 10;
    while ((uint64_t)bytes * 2 * (uint32_t)n_near > most) {
        bytes /= 2;
    }
    return bytes;
}

/* The largest power of two, at most `bytes` and at least a line, with which a channel's two buffers
 * keep to CHANNEL_BYTES. */
static uint32_t slot_within(int n_near, uint32_t bytes)
{
    while (bytes > 16 && (uint64_t)bytes * 2 * (uint32_t)n_near > CHANNEL_BYTES) {
        bytes /= 2;
    }
    return bytes;
}

static uint32_t work_slot_bytes(int n_pes, uint32_t half_bytes)
{
    uint64_t bytes = half_bytes / (uint64_t)n_pes / 16 * 16;
    return (uint32_t)(bytes < 32 ? 32 : bytes);
}

/* n_near: the most members on one node. is_mapped: all heaps are known to be mapped; then
 * everything that only far members use is left out. Before device set-up any member may be far. */
static struct gsh_team_layout layout_of(int n_pes, int n_near, bool is_mapped, bool is_regular,
                                        int n_channels, struct slots slots)
{
    const bool is_spread = n_near < n_pes;
    const uint64_t n = (uint64_t)n_pes;
    const uint64_t n_words = (is_regular ? 0 : n) + (is_mapped ? 1 : 3 * n + 1);
    struct gsh_team_layout l = {
        .n_channels = n_channels,
        .n_near = n_near,
        .wide_is_apart = slots.is_apart && !is_spread,
        .work_is_apart = slots.is_apart && is_spread,
        .tables_off = sizeof(struct gsh_team_state),
        .wide_slot_bytes = n_pes > 1 && !is_spread ? slots.wide_bytes : 0,
        .slot_bytes = n_pes > 1 && !is_spread ? slots.bytes : 0,
        /* the least on one node; on some machines not all heaps of a node can be mapped */
        .work_wide_slot_bytes =
            is_mapped ? 0 : work_slot_bytes(n_pes, is_spread ? slots.work_wide_half_bytes : 0),
        .work_slot_bytes =
            is_mapped ? 0 : work_slot_bytes(n_pes, is_spread ? slots.work_half_bytes : 0),
    };
    l.channels_off = (uint32_t)gsh_align_up(l.tables_off + n_words * sizeof(int32_t), 128);
    l.channel_bytes = (uint32_t)gsh_align_up(
        GSH_SYNC_AREA_BYTES(n_near) + (is_mapped ? 0 : GSH_SYNC_WORDS_BYTES(n_pes)), 128);
    l.wide_off = l.channels_off + (uint32_t)n_channels * l.channel_bytes;
    l.slots_off = l.wide_off + (l.wide_is_apart ? 0 : 2 * (uint32_t)n_near * l.wide_slot_bytes);
    l.work_off = l.slots_off + (uint32_t)(n_channels - 1) * 2 * (uint32_t)n_near * l.slot_bytes;
    uint64_t bytes = l.work_off +
                     (l.work_is_apart ? 0 : 2 * (uint64_t)n_pes * l.work_wide_slot_bytes) +
                     (uint64_t)(n_channels - 1) * 2 * (uint32_t)n_pes * l.work_slot_bytes;
    l.inbox_bytes = n_pes > 1 && !is_spread ? slots.inbox_bytes : 0;
    l.inbox_off = (uint32_t)gsh_align_up(bytes, 128);
    bytes = l.inbox_off + (uint64_t)l.inbox_bytes;
    l.n_units = (uint32_t)(gsh_align_up(bytes, GSH_TEAM_UNIT) / GSH_TEAM_UNIT);
    return l;
}

static int max_members_on_node(const struct gsh_instance *pe, const struct gsh_team *team)
{
    int most = 0;
    int *n_members = calloc((size_t)pe->n_nodes, sizeof(*n_members));
    if (n_members == NULL) {
        return pe->teams->max_node_pes; /* the others may have found less; agree.c detects that */
    }
    for (int i = 0; i < team->n_pes; i++) {
        int n = ++n_members[pe->peers[gsh_team_pe(team, i)].node];
        most = n > most ? n : most;
    }
    free(n_members);
    return most;
}

static bool are_mapped(const struct gsh_instance *pe, const struct gsh_team *team)
{
    bool all = true;
    for (int i = 1; i < team->n_pes; i++) {
        all =
            all && pe->peers[gsh_team_pe(team, i)].domain == pe->peers[gsh_team_pe(team, 0)].domain;
    }
    return all;
}

/* A few teams have one, as large as the pool allows. */
static uint32_t inbox_of_plan(const struct gsh_instance *pe, enum gsh_team_plan plan)
{
    const uint64_t pool = pe->env.team_memory_bytes;
    const uint64_t share = plan == GSH_TEAM_PLAN_WIDE     ? pool / 16
                           : plan == GSH_TEAM_PLAN_NARROW ? pool / 128
                                                          : 0;
    return (uint32_t)(gsh_min_u64(share, INBOX_BYTES) / 128 * 128);
}

void gsh_team_plan(const struct gsh_instance *pe, struct gsh_team *team, int n_channels,
                   enum gsh_team_plan plan, bool is_set_up)
{
    static const struct slots of_plan[] = {
        [GSH_TEAM_PLAN_WIDE] = {16u << 10, 1024, 64u << 10, 16u << 10, false, 0},
        [GSH_TEAM_PLAN_NARROW] = {1024, 1024, 16u << 10, 4096, false, 0},
        [GSH_TEAM_PLAN_BARE] = {16, 16, 256, 256, false, 0},
    };
    struct slots slots = of_plan[plan];
    slots.inbox_bytes = inbox_of_plan(pe, plan);
    if (team->buffers.bytes >= 64 * (uint64_t)team->n_pes) { /* enough for the least slots */
        slots.is_apart = true;
        slots.wide_bytes = wide_bytes_within(team->n_pes, team->buffers.bytes);
        slots.work_wide_half_bytes = (uint32_t)(team->buffers.bytes / 2);
    }
    team->layout =
        layout_of(team->n_pes, max_members_on_node(pe, team), is_set_up && are_mapped(pe, team),
                  team->is_regular, n_channels, slots);
}

void gsh_team_set_units(const struct gsh_instance *pe, struct gsh_team *team, uint32_t first_unit)
{
    uint64_t off = gsh_teams_pool_off(pe) + (uint64_t)first_unit * GSH_TEAM_UNIT;
    team->handle = (gshmem_team_t)first_unit;
    team->first_unit = first_unit;
    team->first_off = off;
    team->channels_off = off + team->layout.channels_off;
}

static bool is_small(const struct gsh_instance *pe)
{
    return pe->is_small && pe->n_nodes == 1;
}

/* For the most members that the team has on any PE, so that all PEs agree on it. */
static struct gsh_team_layout predefined_layout(const struct gsh_instance *pe, gshmem_team_t team)
{
    const bool is_world = team == GSHMEM_TEAM_WORLD;
    const bool is_one_of_each_node = team == GSHMEMX_TEAM_SAME_MYPE_NODE;
    const int n_near = is_one_of_each_node ? 1 : pe->teams->max_node_pes;
    const int n_pes = is_world ? pe->n_pes : is_one_of_each_node ? pe->n_nodes : n_near;
    const uint32_t bytes = slot_within(n_near, 1024);
    const uint32_t wide = is_small(pe) ? SMALL_WIDE : WORLD_WIDE;
    struct slots slots = {.wide_bytes = is_world ? wide_bytes_within(n_near, wide) : bytes,
                          .bytes = bytes,
                          .work_wide_half_bytes = is_world ? 1u << 20 : 64u << 10,
                          .work_half_bytes = 16u << 10,
                          .inbox_bytes = !is_world      ? 0
                                         : is_small(pe) ? SMALL_INBOX
                                                        : INBOX_BYTES};
    return layout_of(n_pes, n_near, false, is_world,
                     is_world ? WORLD_CHANNELS : PREDEFINED_CHANNELS, slots);
}

void gsh_team_set_units_predefined(const struct gsh_instance *pe, struct gsh_team *team)
{
    gshmem_team_t handle = team->handle;
    uint32_t unit = GSH_TEAM_PREDEFINED;
    for (gshmem_team_t t = 0; t < handle; t++) {
        unit += predefined_layout(pe, t).n_units;
    }
    team->layout = predefined_layout(pe, handle);
    gsh_team_set_units(pe, team, unit);
    team->handle = handle;
    if (handle == GSHMEM_TEAM_WORLD) {
        team->channels_off = GSH_WORLD_SYNC_OFF;
    }
}

/* ---- the pool ---- */

uint64_t gsh_teams_pool_off(const struct gsh_instance *pe)
{
    struct gsh_team_layout l = predefined_layout(pe, GSHMEM_TEAM_WORLD);
    return gsh_align_up((uint64_t)l.n_channels * l.channel_bytes, GSH_TEAM_UNIT);
}

uint64_t gsh_teams_bytes(const struct gsh_instance *pe)
{
    return gsh_teams_pool_off(pe) + (uint64_t)pe->teams->n_units * GSH_TEAM_UNIT;
}

static int count_max_node_pes(const struct gsh_instance *pe)
{
    int most = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        int n = pe->peers[i].node_index + 1;
        most = n > most ? n : most;
    }
    return most;
}

enum gsh_result gsh_teams_plan(struct gsh_instance *pe)
{
    struct gsh_teams *teams = calloc(1, sizeof(*teams));
    if (teams == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for teams");
    }
    pe->teams = teams;
    teams->max_node_pes = count_max_node_pes(pe);
    uint32_t n_own = GSH_TEAM_PREDEFINED;
    for (gshmem_team_t t = 0; t < GSH_TEAM_N_PREDEFINED; t++) {
        n_own += predefined_layout(pe, t).n_units;
    }
    teams->n_own = n_own;
    if (n_own >= GSH_TEAM_UNITS_MAX) {
        return gsh_fail(GSH_ERR_UNSUPPORTED,
                        "init: the predefined teams of %d PEs on a node take more memory than "
                        "there can be for teams; start fewer PEs on a node",
                        teams->max_node_pes);
    }
    uint64_t pool = pe->env.team_memory_bytes;
    pool = is_small(pe) ? gsh_min_u64(pool, SMALL_TEAMS) : pool;
    uint64_t n_units = gsh_align_up(n_own + pool / GSH_TEAM_UNIT, 64);
    if (n_units > GSH_TEAM_UNITS_MAX) {
        return gsh_fail(GSH_ERR_ARG,
                        "init: GSHMEM_TEAM_MEMORY is more than the %u MiB that there can be",
                        (GSH_TEAM_UNITS_MAX - n_own) / 2048);
    }
    teams->n_units = (uint32_t)n_units;
    teams->used = calloc(teams->n_units / 64, sizeof(*teams->used));
    teams->of_unit = calloc(teams->n_units, sizeof(*teams->of_unit));
    if (teams->used == NULL || teams->of_unit == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for teams");
    }
    for (uint32_t u = 0; u < n_own; u++) {
        teams->used[u / 64] |= (uint64_t)1 << u % 64;
    }
    return GSH_OK;
}

bool gsh_team_plan_is_fair(const struct gsh_teams *teams, const uint64_t *used,
                           enum gsh_team_plan plan)
{
    uint32_t n_free = 0;
    for (uint32_t i = 0; i < teams->n_units / 64; i++) {
        n_free += (uint32_t)__builtin_popcountll(~used[i]);
    }
    uint32_t n_users = teams->n_units - teams->n_own; /* the total for users' teams */
    return plan == GSH_TEAM_PLAN_WIDE     ? n_free > n_users / 8 * 7
           : plan == GSH_TEAM_PLAN_NARROW ? n_free > n_users / 4 * 3
                                          : true;
}

static uint32_t find_in(const uint64_t *used, uint32_t begin, uint32_t end, uint32_t n_units)
{
    uint32_t n_free = 0;
    for (uint32_t u = begin; u < end; u++) {
        if (u % 64 == 0 && used[u / 64] == UINT64_MAX) {
            u |= 63;
            n_free = 0;
            continue;
        }
        n_free = used[u / 64] >> u % 64 & 1 ? 0 : n_free + 1;
        if (n_free == n_units) {
            return u + 1 - n_units;
        }
    }
    return end;
}

uint32_t gsh_team_units_find(const struct gsh_teams *teams, const uint64_t *used, uint32_t from,
                             uint32_t n_units)
{
    uint32_t at = find_in(used, from, teams->n_units, n_units);
    return at < teams->n_units || from == 0 ? at : find_in(used, 0, teams->n_units, n_units);
}

static bool is_used(const struct gsh_teams *teams, uint32_t unit)
{
    return (teams->used[unit / 64] >> unit % 64 & 1) != 0;
}

struct gsh_team *gsh_teams_next(const struct gsh_teams *teams, uint32_t *unit)
{
    struct gsh_team *team = NULL;
    while (team == NULL && *unit < teams->n_units) {
        if (*unit >= GSH_TEAM_N_PREDEFINED && *unit < teams->n_own) {
            *unit = teams->n_own; /* in between are no handles */
            continue;
        }
        const uint64_t used = teams->used[*unit / 64] >> *unit % 64;
        if (used == 0) {
            *unit = (*unit | 63) + 1;
            continue;
        }
        *unit += (uint32_t)__builtin_ctzll(used);
        team = teams->of_unit[(*unit)++];
    }
    return team;
}

bool gsh_team_units_take(struct gsh_teams *teams, const struct gsh_team *team)
{
    const uint32_t begin = team->first_unit, end = begin + team->layout.n_units;
    bool is_free = true;
    gsh_lock_take(&teams->lock);
    for (uint32_t u = begin; u < end; u++) {
        is_free = is_free && !is_used(teams, u);
    }
    for (uint32_t u = begin; is_free && u < end; u++) {
        teams->used[u / 64] |= (uint64_t)1 << u % 64;
    }
    gsh_lock_give(&teams->lock);
    return is_free;
}

void gsh_team_units_give(struct gsh_teams *teams, const struct gsh_team *team)
{
    gsh_lock_take(&teams->lock);
    for (uint32_t u = team->first_unit; u < team->first_unit + team->layout.n_units; u++) {
        teams->used[u / 64] &= ~((uint64_t)1 << u % 64);
    }
    gsh_lock_give(&teams->lock);
}

void gsh_team_name(struct gsh_teams *teams, gshmem_team_t handle, struct gsh_team *team)
{
    gsh_lock_take(&teams->lock);
    teams->of_unit[handle] = team;
    gsh_lock_give(&teams->lock);
}
