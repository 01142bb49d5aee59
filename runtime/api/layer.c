/* SPDX-License-Identifier: Apache-2.0
 * The calls for dialects. */
#include "runtime/layer.h"

#include "heap/lendable.h"
#include "runtime/far/far.h"
#include "runtime/job/end.h"
#include "runtime/job/instance.h"
#include "runtime/job/turn.h"
#include "runtime/setup/buffers.h"
#include "runtime/setup/lendable.h"
#include "runtime/setup/setup.h"
#include "runtime/team/bootstrap.h"

const struct gsh_state *gshmemx_layer_state(size_t *bytes)
{
    const struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_state");
    *bytes = sizeof(pe->state);
    return &pe->state;
}

int gshmemx_layer_cuda_device(void)
{
    const struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_cuda_device");
    return pe->peers[pe->my_pe].cuda_ordinal;
}

void gshmemx_layer_synchronize(void)
{
    static const char call[] = "gshmemx_layer_synchronize";
    struct gsh_instance *pe = gsh_instance_need_device(call);
    gsh_require(pe, call, pe->device_ops->synchronize(pe));
}

/* ---- memory of the program's own ---- */

int gshmemx_layer_is_symmetric(const void *memory, size_t bytes)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_is_symmetric");
    return pe->is_device_ready && gsh_heap_is_symmetric(pe->heap, memory, bytes);
}

/* A team's members, as those who agree. */
struct members {
    struct gsh_team_bootstrap bootstrap;
    struct gsh_agreement group;
};

static enum gsh_result meet(struct gsh_instance *pe, const char *call, gshmem_team_t team,
                            struct members *m)
{
    struct gsh_team *t;
    enum gsh_result r = gsh_team_need(pe, call, team, &t);
    if (r != GSH_OK) {
        return r;
    }
    gsh_team_bootstrap_init(&m->bootstrap, pe, t, call);
    r = gsh_agreement_init(&m->group, &m->bootstrap.base);
    if (r != GSH_OK) {
        /* the others wait in the same call: this PE cannot leave them there */
        gsh_abort(pe, 1, "%s: no host memory for the votes of %d PEs", call, t->n_pes);
    }
    m->group.pes = t->pes;
    m->group.call = call;
    return GSH_OK;
}

int gshmemx_layer_register(const char *call, gshmem_team_t team, void *memory, size_t bytes,
                           void **alias)
{
    struct gsh_instance *pe = gsh_instance_set_up(call);
    struct members m;
    enum gsh_result r = meet(pe, call, team, &m);
    if (r == GSH_OK) {
        r = gsh_buffers_add_among(pe, &m.group, memory, bytes, alias);
        gsh_agreement_finish(&m.group);
    }
    if (gsh_is_loss(r)) {
        gsh_require(pe, call, r);
    }
    return gsh_public_error(r);
}

int gshmemx_layer_unregister(const char *call, gshmem_team_t team, void *alias, size_t bytes)
{
    struct gsh_instance *pe = gsh_instance_set_up(call);
    struct members m;
    gsh_require(pe, call, pe->device_ops->quiet(pe));
    gsh_far_quiet_all(pe, call);
    enum gsh_result r = meet(pe, call, team, &m);
    if (r == GSH_OK) {
        r = gsh_buffers_remove_among(pe, &m.group, alias, bytes);
        gsh_agreement_finish(&m.group);
    }
    if (gsh_is_loss(r)) {
        gsh_require(pe, call, r);
    }
    return gsh_public_error(r);
}

int gshmemx_layer_alloc(const char *call, size_t bytes, void **memory)
{
    enum gsh_result r = gsh_setup_lendable(bytes, memory);
    return gsh_public_error(
        r == GSH_OK ? r : gsh_fail(r, "%s of %zu bytes: %s", call, bytes, gsh_last_error()));
}

int gshmemx_layer_free(const char *call, void *memory)
{
    enum gsh_result r = gsh_lendable_free(memory);
    return gsh_public_error(r == GSH_OK ? r : gsh_fail(r, "%s: %s", call, gsh_last_error()));
}

void gshmemx_layer_wait_turn(const char *call, int target, struct gshmemx_layer_wait *wait)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    if (gsh_host_sync_turn(pe, &wait->turn, &wait->start_ns)) {
        gsh_abort(pe, 1, "%s: waited %.1f s for PE %d to make that call", call,
                  gsh_host_sync_limit_s(pe), target);
    }
}
