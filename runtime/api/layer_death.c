/* SPDX-License-Identifier: Apache-2.0
 * Calls for dialects: hearing of deaths, and giving up memory to which dead PEs may still write. */
#include "runtime/layer.h"

#include "runtime/instance/death.h"
#include "runtime/instance/instance.h"
#include "runtime/team/team.h"

bool gshmemx_layer_has_died(const void *of, const int *pes, int n_pes)
{
    const struct gsh_instance *pe = of;
    return gsh_is_death_among(pe, pes, n_pes);
}

bool gshmemx_layer_has_died_in(const void *instance, gshmem_team_t handle)
{
    const struct gsh_instance *pe = instance;
    const struct gsh_team *team = gsh_is_death(pe) ? gsh_team_find(pe, handle) : NULL;
    return team != NULL && gsh_is_death_at(pe, team->pes, team->n_pes, GSH_DEATH_HOST);
}

bool gshmemx_layer_has_left_lost(const void *instance)
{
    const struct gsh_instance *pe = instance;
    return gsh_deaths_have_reached_kernels(pe);
}

void gshmemx_layer_subscribe_deaths(void (*subscriber)(void *pe, int dead))
{
    gsh_deaths_subscribe(subscriber);
}

bool gshmemx_layer_lose(void *pe, const void *memory, size_t bytes)
{
    return gsh_deaths_lose(pe, (uint64_t)(uintptr_t)memory, bytes);
}

/* Gives up its units of the pool, and what it has elsewhere: the channels of a predefined team, and
 * buffers. */
bool gshmemx_layer_lose_team(void *of, gshmem_team_t handle)
{
    struct gsh_instance *pe = of;
    const struct gsh_team *team = gsh_team_find(pe, handle);
    if (team == NULL) {
        return true;
    }
    const uint64_t base = pe->state.base;
    const struct gsh_team_layout *l = &team->layout;
    return gsh_deaths_lose(pe, base + team->first_off, (uint64_t)l->n_units * GSH_TEAM_UNIT) &&
           gsh_deaths_lose(pe, base + team->channels_off,
                           (uint64_t)l->n_channels * l->channel_bytes) &&
           gsh_deaths_lose(pe, base + team->buffers.off, team->buffers.bytes);
}

void gshmemx_layer_tell_lost(void *pe)
{
    gsh_deaths_tell_lost(pe);
}
