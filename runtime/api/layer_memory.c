/* SPDX-License-Identifier: Apache-2.0
 * Calls for dialects: the program's own memory as symmetric memory of a team, and memory for that
 * purpose. */
#include "runtime/layer.h"

#include <stdlib.h>

#include "heap/registrable.h"
#include "runtime/context/context.h"
#include "runtime/init/buffers.h"
#include "runtime/init/registrable.h"
#include "runtime/init/setup.h"
#include "runtime/instance/death.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/team/bootstrap.h"
#include "runtime/team/team.h"

int gshmemx_layer_is_symmetric(const void *memory, size_t bytes)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_is_symmetric");
    return pe->is_device_ready && gsh_heap_is_symmetric(pe->heap, memory, bytes);
}

/* A team's members as the ranks of an agreement. */
struct members {
    struct gsh_team_bootstrap bootstrap;
    struct gsh_agreement group;
    int *all; /* the group's, if the team has no list; the heap's NULL is something else */
};

static enum gsh_result find_members(struct gsh_instance *pe, const char *call, gshmem_team_t team,
                                    struct members *m)
{
    struct gsh_team *t;
    enum gsh_result r = gsh_team_need(pe, call, team, &t);
    if (r != GSH_OK) {
        return r;
    }
    gsh_team_bootstrap_init(&m->bootstrap, pe, t, call);
    r = gsh_agreement_init(&m->group, &m->bootstrap.base);
    m->all = calloc((size_t)t->n_pes, sizeof(*m->all));
    if (r != GSH_OK || m->all == NULL) {
        /* the others wait in the same call: this PE cannot leave them there */
        gsh_abort(pe, 1, "%s: no host memory for the votes of %d PEs", call, t->n_pes);
    }
    for (int i = 0; i < t->n_pes; i++) {
        m->all[i] = gsh_team_pe(t, i);
    }
    m->group.pes = m->all;
    m->group.call = call;
    return GSH_OK;
}

int gshmemx_layer_register(const char *call, gshmem_team_t team, void *memory, size_t bytes,
                           void **alias)
{
    struct gsh_instance *pe = gsh_instance_set_up(call);
    struct members m;
    enum gsh_result r = find_members(pe, call, team, &m);
    if (r == GSH_OK) {
        r = gsh_buffers_add_among(pe, &m.group, memory, bytes, alias);
        gsh_agreement_finish(&m.group);
        free(m.all);
    }
    if (gsh_is_loss(r) && !gsh_is_death(pe)) {
        gsh_require(pe, call, r);
    }
    return gsh_public_error(r);
}

int gshmemx_layer_unregister(const char *call, gshmem_team_t team, void *alias, size_t bytes)
{
    struct gsh_instance *pe = gsh_instance_set_up(call);
    struct members m;
    gsh_contexts_quiet(pe, call);
    enum gsh_result r = find_members(pe, call, team, &m);
    if (r == GSH_OK) {
        r = gsh_buffers_remove_among(pe, &m.group, alias, bytes);
        gsh_agreement_finish(&m.group);
        free(m.all);
    }
    if (gsh_is_loss(r) && !gsh_is_death(pe)) {
        gsh_require(pe, call, r);
    }
    return gsh_public_error(r);
}

int gshmemx_layer_alloc(const char *call, size_t bytes, void **memory)
{
    enum gsh_result r = gsh_setup_registrable(bytes, memory);
    return gsh_public_error(
        r == GSH_OK ? r : gsh_fail(r, "%s of %zu bytes: %s", call, bytes, gsh_last_error()));
}

int gshmemx_layer_free(const char *call, void *memory)
{
    enum gsh_result r = gsh_registrable_free(memory);
    return gsh_public_error(r == GSH_OK ? r : gsh_fail(r, "%s: %s", call, gsh_last_error()));
}
