/* SPDX-License-Identifier: Apache-2.0
 * Teams: what a member knows of a team, the pool in which teams' words lie, and how teams are made
 * and ended. wire/state.h has the form that kernels see, and the rule that a handle is a pool unit.
 *
 * Host words. Each member has two words per unit in its shared page (page.h); the team of that unit
 * synchronises its host threads by them. They never decrease while the job lasts, even when a
 * unit's team ends and another is made there: a new team's epochs begin after all epochs that any
 * member has used. So a PE that is still leaving the old team's last synchronisation sees the epoch
 * for which it waits. */
#ifndef GSH_TEAM_H
#define GSH_TEAM_H

#include <stdbool.h>
#include <stdint.h>
#include "base/lock.h"
#include "base/result.h"
#include "gshmem/types.h"
#include "wire/state.h"

struct gsh_instance;

/* A team divided into groups whose members reach each other faster than the rest. All members agree
 * on the groups, their numbers and their leaders. */
struct gsh_team_split {
    int n_groups, my_group;
    int *leaders;        /* [n_groups], PE numbers */
    int *members;        /* [n_pes], indexes in the team, group by group, leaders first; NULL: the
                          * team is in this order, so each is its own index */
    int *begins;         /* [n_groups + 1], in members */
    int n_near, my_near; /* this PE's group and its place there; 0 is the leader */
};

/* The index in the team of a member of this PE's group. */
static inline int gsh_team_near(const struct gsh_team_split *split, int near)
{
    const int at = split->begins[split->my_group] + near;
    return split->members != NULL ? split->members[at] : at;
}

/* What a team takes of the pool: consecutive units that hold its tables and then its channels. It
 * depends only on members and nodes, so it is the same on all members. */
struct gsh_team_layout {
    uint32_t n_units;
    int n_channels;
    int n_near; /* the most members on one node: entries of tables for near members */
    uint32_t tables_off, channels_off, channel_bytes;
    /* of collectives; sizes may be 0 */
    uint32_t wide_off, wide_slot_bytes, slots_off, slot_bytes;
    uint32_t work_off, work_wide_slot_bytes, work_slot_bytes;
    uint32_t inbox_off, inbox_bytes; /* wire/lines.h's; 0 bytes: none */
    /* whether channel 0's wide slots, or its work area, are in struct gsh_team_buffers */
    bool wide_is_apart, work_is_apart;
};

/* Memory outside the pool for channel 0's buffers of collectives, the same on all members. Only a
 * team with one channel may have some. */
struct gsh_team_buffers {
    uint64_t off, bytes; /* from the heap's base; 0 bytes: they are in the pool */
};

struct gsh_team {
    gshmem_team_t handle;
    int n_pes, my_index;
    int *pes;        /* [n_pes], PE numbers in team order; NULL: all PEs, in their own order */
    bool is_regular; /* pes[i] = pes[0] + i * stride */
    int stride;
    int num_contexts; /* as asked for */
    struct gsh_team_layout layout;
    struct gsh_team_buffers buffers;
    uint32_t first_unit;
    uint64_t first_off;    /* of the first unit, from the heap's base */
    uint64_t channels_off; /* likewise; WORLD's begin the heap */
    uint64_t host_epoch;   /* host syncs by this unit's words so far */
    struct gsh_team_split nodes;
    /* after device set-up */
    struct gsh_team_state state; /* as kernels have it */
    bool is_mapped;              /* every member's heap is */
};

/* The number of a member. */
static inline int gsh_team_pe(const struct gsh_team *team, int index)
{
    return team->pes != NULL ? team->pes[index] : index;
}

/* A PE's teams. */
struct gsh_teams {
    uint32_t n_units;
    uint32_t n_own;   /* of them, the pool's own and the predefined teams' */
    int max_node_pes; /* of the job's nodes */
    uint64_t *used;   /* bitmap [n_units / 64] of this PE's units */
    struct gsh_team *
        *of_unit; /* [n_units]: by handle, NULL: this PE has none there; set by gsh_team_name */
    struct gsh_lock lock; /* several threads make and end teams: used, of_unit, early, places */
    struct gsh_early_message *early; /* agree.c: messages taken early for other threads */
    uint32_t n_team_numbers;         /* numbers given out (api/team_by_number.c) */
};

/* ---- pool.c ---- */

#define GSH_TEAM_CHANNELS_MAX 1024
/* A handle has 16 bits in the tags of messages (instance/message_tag.h). */
#define GSH_TEAM_UNITS_MAX (1u << 16)

/* After the nodes are known: makes pe->teams, with no teams. The pool is the same on all PEs. */
GSH_CHECK_RESULT enum gsh_result gsh_teams_plan(struct gsh_instance *pe);
/* The first bytes of every heap: WORLD's channels, then the pool. */
uint64_t gsh_teams_pool_off(const struct gsh_instance *pe);
uint64_t gsh_teams_bytes(const struct gsh_instance *pe);
/* Fills layout, first_unit and the offsets: for a predefined team, or for a user's team with this
 * first unit. */
void gsh_team_set_units_predefined(const struct gsh_instance *pe, struct gsh_team *team);
void gsh_team_set_units(const struct gsh_instance *pe, struct gsh_team *team, uint32_t first_unit);
/* How much memory a team gets to make small collectives fast: as much as the pool has room for. */
enum gsh_team_plan { GSH_TEAM_PLAN_WIDE, GSH_TEAM_PLAN_NARROW, GSH_TEAM_PLAN_BARE };
/* n_channels as asked for; is_set_up: the device is, on all members. Fills the layout alone. */
void gsh_team_plan(const struct gsh_instance *pe, struct gsh_team *team, int n_channels,
                   enum gsh_team_plan plan, bool is_set_up);
/* Whether enough of the bitmap is free for a team of that plan, so that most of the pool is left
 * for teams that take only what they must. */
bool gsh_team_plan_is_fair(const struct gsh_teams *teams, const uint64_t *used,
                           enum gsh_team_plan plan);
/* The first of n_units consecutive units that are 0 in the bitmap, searching from `from` on and
 * then from the beginning; the pool's n_units: none. */
uint32_t gsh_team_units_find(const struct gsh_teams *teams, const uint64_t *used, uint32_t from,
                             uint32_t n_units);
/* In this PE's bitmap. take returns false, having changed nothing, if one of them is used. */
GSH_CHECK_RESULT bool gsh_team_units_take(struct gsh_teams *teams, const struct gsh_team *team);
void gsh_team_units_give(struct gsh_teams *teams, const struct gsh_team *team);
/* What a handle names from now on; NULL: nothing. Reports of other threads (absent.c) look at all
 * handles' teams under the lock: a team that has had a name may be freed only afterwards. */
void gsh_team_name(struct gsh_teams *teams, gshmem_team_t handle, struct gsh_team *team);
/* This PE's team with the least handle that is at least *unit, and *unit is 1 + that handle; NULL:
 * there is none. Looks only where units are used, so it touches little of a large pool's tables. */
struct gsh_team *gsh_teams_next(const struct gsh_teams *teams, uint32_t *unit);

/* ---- team.c ---- */

/* The predefined teams, GSHMEM_TEAM_WORLD and those after it. */
#define GSH_TEAM_N_PREDEFINED 5

GSH_CHECK_RESULT enum gsh_result gsh_teams_create(struct gsh_instance *pe);
/* After device set-up knows whose heaps are mapped: from now on SHARED and NEAR are these PEs. */
GSH_CHECK_RESULT enum gsh_result gsh_teams_regroup(struct gsh_instance *pe);
/* Accepts a half-made state. */
void gsh_teams_destroy(struct gsh_instance *pe);

/* A team of these PEs, this one among them, without a handle or words yet. pes is copied. */
GSH_CHECK_RESULT enum gsh_result gsh_team_make(struct gsh_instance *pe, const int *pes, int n_pes,
                                               struct gsh_team **out);
void gsh_team_free(struct gsh_team *team); /* NULL is ignored */

/* NULL: there is no such team, or this PE is not in it. */
struct gsh_team *gsh_team_find(const struct gsh_instance *pe, gshmem_team_t team);
/* The same with GSH_ERR_ARG and a line naming the call. */
GSH_CHECK_RESULT enum gsh_result gsh_team_need(const struct gsh_instance *pe, const char *call,
                                               gshmem_team_t team, struct gsh_team **out);

/* The same for calls that have a result for GSHMEM_TEAM_INVALID, for which nothing is printed. */
GSH_CHECK_RESULT enum gsh_result gsh_team_ask(const struct gsh_instance *pe, const char *call,
                                              gshmem_team_t team, struct gsh_team **out);

/* Divides a team of which this PE is a member; group_of is a number from 0 to n_pes - 1. A group's
 * leader is its first member. finish accepts all zeros. */
GSH_CHECK_RESULT enum gsh_result
gsh_team_split_make(const struct gsh_instance *pe, const struct gsh_team *team,
                    int (*group_of)(const struct gsh_instance *pe, int member_pe),
                    struct gsh_team_split *out);
void gsh_team_split_finish(struct gsh_team_split *split);

/* ---- create.c ---- */

/* gshmemx_team_create for `call`: among the PEs of the list. */
GSH_CHECK_RESULT enum gsh_result gsh_team_create_list(struct gsh_instance *pe, const char *call,
                                                      const int *pes, int n_pes,
                                                      const gshmem_team_config_t *config,
                                                      long config_mask, gshmem_team_t *new_team);

/* The same for a team that takes as little of the pool as it can. */
GSH_CHECK_RESULT enum gsh_result gsh_team_create_in(struct gsh_instance *pe, const char *call,
                                                    const int *pes, int n_pes,
                                                    struct gsh_team_buffers buffers,
                                                    gshmem_team_t *new_team);

/* Ends a team that users made; collective over its members. Its contexts have ended. */
void gsh_team_end(struct gsh_instance *pe, const char *call, struct gsh_team *team);

/* ---- agree.c: among the PEs of a list ---- */

#define GSH_BALLOT_MAX_WORDS 16

/* What each PE contributes and, on return, the combined values. */
struct gsh_ballot {
    /* Becomes the largest of all, word by word, or if there is fold, which all have, what fold
     * makes of all PEs' words, in any order, of some more than once. */
    uint64_t max[GSH_BALLOT_MAX_WORDS];
    void (*fold)(void *into, const void *from);
    uint64_t *or_words; /* [n_or]: becomes the OR of all; may be NULL */
    uint32_t n_or;
};

/* The key distinguishes agreements that threads of a PE have under way at the same time. It is the
 * team that they divide, or of which only some members agree, or the offset of an address that the
 * caller names. Messages of each key are in order. */
#define GSH_AGREE_TEAM(team) ((uint64_t)(uint32_t)(team))
#define GSH_AGREE_PART(team) ((uint64_t)1 << 46 | (uint32_t)(team))
#define GSH_AGREE_TAG(tag)   ((uint64_t)1 << 47 | (tag)) /* the 48 bits of GSH_NET_TAG */

/* What the agreements of one call have in common: who makes them, and for which call. */
struct gsh_team_agreement {
    struct gsh_instance *pe;
    const char *call; /* for reports */
    uint64_t key;     /* one of the above */
    const bool *stop; /* NULL, or set by another thread once it is not to go on; atomic */
    /* for a team */
    bool may_lack_room;             /* the caller handles that, and nothing is printed */
    enum gsh_team_plan widest_plan; /* it gets no more than that */
    struct gsh_team_buffers buffers;
};

/* Bytes of the longest message, to size the pages: agree.c's own words, and a ballot's. */
#define GSH_BALLOT_OWN_WORDS 3
static inline uint64_t gsh_ballot_bytes(const struct gsh_teams *teams)
{
    return (GSH_BALLOT_OWN_WORDS + GSH_BALLOT_MAX_WORDS) * sizeof(uint64_t) + teams->n_units / 8;
}
/* Each PE of the list, or of all if it is NULL, calls with the same list and key; me: its index in
 * the list. Takes
 * ceil(log2(n)) rounds, and is also a barrier. Ends the job if a PE does not arrive in time, or
 * arrives with another list. Once *a->stop is set it returns early, and the key must not be used
 * again. If a PE of the list has died, and the job outlives that (instance/death.h), it returns
 * early, and the values of some PEs may be missing. Some PEs may then begin another agreement with
 * the key, without the dead PE, before others hear of the death. So in such a job another list ends
 * the job only when the PE's time is up. */
void gsh_team_agree(const struct gsh_team_agreement *a, const int *pes, int n, int me,
                    struct gsh_ballot *ballot);
/* Frees messages that are left. */
void gsh_early_messages_destroy(struct gsh_teams *teams);

/* ---- upload.c: a team's record and tables in this PE's own heap; after device set-up ---- */

GSH_CHECK_RESULT enum gsh_result gsh_team_upload(struct gsh_instance *pe, struct gsh_team *team);
/* For every team, in set-up. */
GSH_CHECK_RESULT enum gsh_result gsh_teams_upload(struct gsh_instance *pe);
/* Kernels no longer find the team. */
GSH_CHECK_RESULT enum gsh_result gsh_team_withdraw(struct gsh_instance *pe,
                                                   const struct gsh_team *team);

/* ---- host_sync.c ---- */

/* Returns when all PEs of the team have arrived. No quiet. call is for the report. Not GSH_OK: some
 * have died, and the job outlives it (instance/death.h). */
enum gsh_result gsh_host_sync(struct gsh_instance *pe, struct gsh_team *team, const char *call);

#endif
