/* SPDX-License-Identifier: Apache-2.0
 * Teams whose members find each other by a number: they know how many they are, but not which PEs.
 *
 * The PE that gives out the number is the owner. It takes units of its own team pool for a table
 * with a word for each member; the number names these units. Each member writes its own PE into its
 * word, by a host put, and reads each other word until it is filled in. That yields the list of PEs
 * for gshmemx_team_create. A word is valid when its upper half matches the number, so the units
 * need not be cleared first. Once the team has been agreed on, all members have read the table. The
 * owner then takes its units back if it is a member, else in finalize. */
#include <stdlib.h>
#include "base/util.h"
#include "gshmemx.h"
#include "runtime/far/far.h"
#include "runtime/init/setup.h"
#include "runtime/instance/device_ops.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/instance/host_wait.h"
#include "runtime/team/team.h"

/* From the lowest bit: the owner, its first unit (GSH_TEAM_UNITS_MAX), and a count that is 0 in no
 * number. */
enum { OWNER_BITS = 24, UNIT_BITS = 16, SERIAL_BITS = 24 };

struct numbered_team {
    uint64_t id;
    int owner, n_pes;
    uint32_t unit;
};

static uint32_t units_of(int n_pes)
{
    return (uint32_t)(gsh_align_up((uint64_t)n_pes * sizeof(uint64_t), GSH_TEAM_UNIT) /
                      GSH_TEAM_UNIT);
}

/* Takes the first free units while other threads make and end teams; the pool's n_units: none. */
static uint32_t take_units(struct gsh_teams *teams, uint32_t n_units)
{
    struct gsh_team table = {.layout = {.n_units = n_units}};
    do {
        gsh_lock_take(&teams->lock);
        table.first_unit = gsh_team_units_find(teams, teams->used, 0, n_units);
        gsh_lock_give(&teams->lock);
    } while (table.first_unit < teams->n_units && !gsh_team_units_take(teams, &table));
    return table.first_unit;
}

static void give_units(struct gsh_teams *teams, uint32_t unit, uint32_t n_units)
{
    struct gsh_team table = {.first_unit = unit, .layout = {.n_units = n_units}};
    gsh_team_units_give(teams, &table);
}

int gshmemx_team_get_uniqueid(uint64_t *id)
{
    static const char call[] = "gshmemx_team_get_uniqueid";
    struct gsh_instance *pe = gsh_instance_need_device(call);
    struct gsh_teams *teams = pe->teams;
    uint32_t n_units = units_of(pe->n_pes); /* as many as there can be members */
    if (id == NULL) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG, "%s: id is NULL", call));
    }
    uint32_t unit = take_units(teams, n_units);
    if (unit >= teams->n_units) {
        return gsh_public_error(gsh_fail(GSH_ERR_NOMEM,
                                         "%s: the team pool has no room left: end teams, or set "
                                         "GSHMEM_TEAM_MEMORY",
                                         call));
    }
    gsh_lock_take(&teams->lock);
    uint32_t serial = teams->n_team_numbers = teams->n_team_numbers % ((1u << SERIAL_BITS) - 2) + 1;
    gsh_lock_give(&teams->lock);
    *id = (uint64_t)serial << (OWNER_BITS + UNIT_BITS) | (uint64_t)unit << OWNER_BITS |
          (uint64_t)pe->my_pe;
    return 0;
}

static enum gsh_result decode(const struct gsh_instance *pe, const char *call, uint64_t id,
                              struct numbered_team *out)
{
    uint64_t owner = id & ((1u << OWNER_BITS) - 1), unit = id >> OWNER_BITS & 0xffff;
    uint64_t serial = id >> (OWNER_BITS + UNIT_BITS);
    if (owner >= (uint64_t)pe->n_pes || unit < pe->teams->n_own || unit >= pe->teams->n_units ||
        serial == 0 || serial >= (1u << SERIAL_BITS) - 1) {
        return gsh_fail(GSH_ERR_ARG, "%s: the id is not one of gshmemx_team_get_uniqueid", call);
    }
    out->id = id;
    out->owner = (int)owner;
    out->unit = (uint32_t)unit;
    return GSH_OK;
}

/* ---- the table ---- */

/* The symmetric address of the table. */
static char *own_table(const struct gsh_instance *pe, const struct numbered_team *m)
{
    uint64_t off = gsh_teams_pool_off(pe) + (uint64_t)m->unit * GSH_TEAM_UNIT;
    return (char *)(uintptr_t)(pe->state.base + off);
}

static char *owners_table(const struct gsh_instance *pe, const struct numbered_team *m)
{
    int64_t slots = gsh_heap_slot_of(pe, m->owner) - pe->my_slot;
    return own_table(pe, m) + slots * (int64_t)pe->state.stride;
}

static uint64_t word_of(const struct numbered_team *m, int pe)
{
    return (m->id >> OWNER_BITS) << OWNER_BITS | (uint64_t)pe;
}

static void write_word(struct gsh_instance *pe, const char *call, const struct numbered_team *m,
                       int index)
{
    uint64_t word = word_of(m, pe->my_pe), at = (uint64_t)index * sizeof(word);
    if (gsh_is_far(pe, m->owner)) {
        gsh_far_store(pe, 0, call, own_table(pe, m) + at, word, sizeof(word), m->owner);
    } else {
        gsh_require(pe, call,
                    pe->device_ops->store(pe, GSH_CONTEXT_DEFAULT, owners_table(pe, m) + at, word,
                                          sizeof(word)));
    }
}

static uint64_t read_word(struct gsh_instance *pe, const char *call, const struct numbered_team *m,
                          int index)
{
    uint64_t word, at = (uint64_t)index * sizeof(word);
    if (gsh_is_far(pe, m->owner)) {
        return gsh_far_load(pe, 0, call, own_table(pe, m) + at, sizeof(word), m->owner);
    }
    gsh_require(pe, call,
                pe->device_ops->load(pe, owners_table(pe, m) + at, sizeof(word), 1, &word));
    return word;
}

/* Word by word: others write them meanwhile, and only whole words are atomic. */
static void exchange_pes(struct gsh_instance *pe, const char *call, const struct numbered_team *m,
                         int index, int *pes)
{
    unsigned serial = 0;
    uint64_t start_ns = 0;
    write_word(pe, call, m, index);
    for (int i = 0; i < m->n_pes;) {
        uint64_t word = read_word(pe, call, m, i);
        pes[i] = (int)(word & ((1u << OWNER_BITS) - 1));
        if (word == word_of(m, pes[i])) {
            i++;
            continue;
        }
        const struct gsh_waiting what = {
            .call = call, .kind = GSH_WAITS_COLLECTIVE, .pe = -1, .team = -1};
        if (gsh_host_sync_poll(pe, &serial, &start_ns, &what)) {
            gsh_abort(pe, 1, "%s: waited %.1f s for the PE with my_index %d", call,
                      gsh_host_sync_limit_s(pe), i);
        }
    }
}

int gshmemx_team_init(uint64_t id, int n_pes, int my_index, const gshmem_team_config_t *config,
                      long config_mask, gshmem_team_t *new_team)
{
    static const char call[] = "gshmemx_team_init";
    struct gsh_instance *pe = gsh_instance_need_device(call);
    struct numbered_team m = {.n_pes = n_pes};
    if (new_team != NULL) {
        *new_team = GSHMEM_TEAM_INVALID;
    }
    enum gsh_result r = decode(pe, call, id, &m);
    if (r == GSH_OK && (n_pes < 1 || n_pes > pe->n_pes || my_index < 0 || my_index >= n_pes)) {
        r = gsh_fail(GSH_ERR_ARG, "%s: my_index %d of %d PEs in a job of %d", call, my_index, n_pes,
                     pe->n_pes);
    }
    if (r != GSH_OK) {
        return gsh_public_error(r);
    }
    int *pes = calloc((size_t)n_pes, sizeof(*pes));
    if (pes == NULL) { /* the others would wait */
        gsh_abort(pe, 1, "%s: no memory for a list of %d PEs", call, n_pes);
    }
    exchange_pes(pe, call, &m, my_index, pes);
    r = gsh_team_create_list(pe, call, pes, n_pes, config, config_mask, new_team);
    if (m.owner == pe->my_pe) {
        give_units(pe->teams, m.unit, units_of(pe->n_pes));
    }
    free(pes);
    return gsh_public_error(r);
}
