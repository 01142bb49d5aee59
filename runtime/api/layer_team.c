/* SPDX-License-Identifier: Apache-2.0
 * Calls for dialects: teams of a dialect, their votes and words. */
#include "runtime/layer.h"

#include "base/util.h"
#include "runtime/init/setup.h"
#include "runtime/instance/death.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/instance/host_wait.h"
#include "runtime/team/page.h"
#include "runtime/team/team.h"

int gshmemx_layer_team_create(const char *call, const int *pes, int n_pes, void *buffers,
                              size_t bytes, gshmem_team_t *team)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    struct gsh_team_buffers b = {.off = bytes > 0 ? gsh_symmetric_off(pe, buffers) : 0,
                                 .bytes = bytes};
    return gsh_public_error(gsh_team_create_in(pe, call, pes, n_pes, b, team));
}

bool gshmemx_layer_vote(const char *call, gshmem_team_t team, const int *pes, int n, bool says_yes,
                        const bool *stop)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    const struct gsh_team *t = gsh_team_find(pe, team);
    const uint64_t key = pes == NULL ? GSH_AGREE_TEAM(team) : GSH_AGREE_PART(team);
    const struct gsh_team_agreement a = {.pe = pe, .call = call, .key = key, .stop = stop};
    struct gsh_ballot ballot = {.max = {!says_yes}};
    int me = 0;
    if (t == NULL) {
        return false;
    }
    n = pes == NULL ? t->n_pes : n;
    pes = pes == NULL ? t->pes : pes;
    while (me < n && (pes != NULL ? pes[me] : me) != pe->my_pe) {
        me++;
    }
    if (me < n) {
        gsh_team_agree(&a, pes, n, me, &ballot);
    }
    return me < n && ballot.max[0] == 0;
}

void gshmemx_layer_unite(const char *call, gshmem_team_t team, uint64_t *words, size_t n,
                         const bool *stop)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    const struct gsh_team *t = gsh_team_find(pe, team);
    const struct gsh_team_agreement a = {
        .pe = pe, .call = call, .key = GSH_AGREE_TEAM(team), .stop = stop};
    const size_t room = pe->teams->n_units / 64;
    for (size_t at = 0; t != NULL && at < n; at += room) {
        struct gsh_ballot ballot = {.or_words = words + at,
                                    .n_or = (uint32_t)gsh_min_u64(n - at, room)};
        gsh_team_agree(&a, t->pes, t->n_pes, t->my_index, &ballot);
    }
}

_Static_assert((int)GSHMEMX_LAYER_TEAM_WORDS == (int)GSH_PAGE_DIALECT_WORDS,
               "what pages have room for");

uint64_t *gshmemx_layer_team_words(gshmem_team_t team, int member)
{
    const struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_team_words");
    const struct gsh_team *t = gsh_team_find(pe, team);
    if (t == NULL || member < 0 || member >= t->n_pes ||
        gsh_page_of(pe, gsh_team_pe(t, member)) == NULL) {
        return NULL;
    }
    return gsh_page_dialect_words(pe, gsh_team_pe(t, member), (uint32_t)t->handle);
}

bool gshmemx_layer_wait_poll(const char *call, int target, struct gshmemx_layer_wait *wait)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    if (gsh_is_death_among(pe, &target, 1)) {
        return false;
    }
    const struct gsh_waiting what = {
        .call = call, .kind = GSH_WAITS_COLLECTIVE, .pe = target, .team = -1};
    if (gsh_host_sync_poll(pe, &wait->backoff, &wait->start_ns, &what)) {
        gsh_abort(pe, 1, "%s: waited %.1f s for PE %d to make that call", call,
                  gsh_host_sync_limit_s(pe), target);
    }
    return true;
}
