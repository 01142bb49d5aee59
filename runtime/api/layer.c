/* SPDX-License-Identifier: Apache-2.0
 * The calls for dialects. */
#include "runtime/layer.h"

#include "device/cpu/cpu.h"
#include "gshmem.h"
#include "heap/lendable.h"
#include "runtime/api/coll.h"
#include "runtime/base/atomic.h"
#include "runtime/base/cuda.h"
#include "runtime/base/env.h"
#include "runtime/context/context.h"
#include "runtime/job/binding.h"
#include "runtime/job/death.h"
#include "runtime/job/end.h"
#include "runtime/job/instance.h"
#include "runtime/job/launch.h"
#include "runtime/job/page.h"
#include "runtime/job/report.h"
#include "runtime/job/turn.h"
#include "runtime/setup/buffers.h"
#include "runtime/setup/lendable.h"
#include "runtime/setup/setup.h"
#include "runtime/team/bootstrap.h"
#include "runtime/team/page.h"

/* ---- PEs beside the calling thread's own ---- */

#ifdef GSH_HAVE_CUDA
/* The driver's current device if the program has started the driver, else -1. */
static int current_cuda_device(void)
{
    CUdevice device = -1;
    CUcontext context = NULL;
    const struct gsh_cuda *cuda = gsh_cuda_is_installed() ? gsh_cuda() : NULL;
    return cuda != NULL && cuda->CtxGetCurrent(&context) == CUDA_SUCCESS && context != NULL &&
                   cuda->CtxGetDevice(&device) == CUDA_SUCCESS
               ? device
               : -1;
}

/* For init, which takes the thread's current device. *retained is for give_back. */
static void choose_cuda_device(int device, CUcontext *before, bool *retained)
{
    CUcontext context = NULL;
    const struct gsh_cuda *cuda = gsh_cuda_is_installed() ? gsh_cuda() : NULL;
    *retained = device >= 0 && cuda != NULL && cuda->CtxGetCurrent(before) == CUDA_SUCCESS &&
                cuda->DevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS;
    if (*retained) {
        cuda->CtxSetCurrent(context);
    }
}

static void give_back_cuda_device(int device, CUcontext before)
{
    gsh_cuda()->CtxSetCurrent(before);
    gsh_cuda()->DevicePrimaryCtxRelease(device);
}
#endif

void gshmemx_layer_offer_setting(const char *name, const char *value)
{
    (void)gsh_env_offer(name, value);
}

int gshmemx_layer_init_here(unsigned flags, const gshmemx_init_attr_t *attr)
{
    gsh_instance_make_for_dialect(true);
    int error = gshmemx_init_attr(flags, attr);
    gsh_instance_make_for_dialect(false);
    return error;
}

int gshmemx_layer_init(unsigned flags, const gshmemx_init_attr_t *attr, int device, void **pe)
{
    struct gsh_spoken before;
    const struct gsh_cpu_binding cpu_before = gshmemx_cpu_device_binding();
    gsh_instance_speak(NULL, &before);
#ifdef GSH_HAVE_CUDA
    CUcontext context = NULL;
    bool retained = false;
    choose_cuda_device(device, &context, &retained);
#else
    (void)device;
#endif
    int error = gshmemx_layer_init_here(flags, attr);
    if (error == 0) {
        error = gshmemx_device_setup();
    }
    *pe = gsh_instance_bound();
#ifdef GSH_HAVE_CUDA
    if (retained) {
        give_back_cuda_device(device, context);
    }
#endif
    gshmemx_cpu_device_bind_again(cpu_before);
    gsh_instance_speak_again(&before);
    return error;
}

void gshmemx_layer_finalize(void *pe)
{
    struct gsh_spoken before;
    gsh_instance_speak(pe, &before);
    gshmem_finalize();
    gsh_instance_speak_again(&before);
}

void *gshmemx_layer_pe(void)
{
    return gsh_instance_of_program();
}

void gshmemx_layer_enter(void *of, int device, struct gshmemx_layer_turn *turn)
{
    struct gsh_instance *pe = of;
    struct gsh_spoken before;
    gsh_instance_speak(pe, &before);
    *turn = (struct gshmemx_layer_turn){.pe = pe,
                                        .before = before.pe,
                                        .serial = before.serial,
                                        .state = before.state,
                                        .device = gshmemx_cpu_device_chosen()};
    if (device >= 0) {
        gshmemx_cpu_device_choose(device);
    }
    turn->entered = pe->device_ops != NULL && pe->device_ops->enter(pe);
}

void gshmemx_layer_leave(const struct gshmemx_layer_turn *turn)
{
    struct gsh_instance *pe = turn->pe;
    const struct gsh_spoken before = {turn->before, turn->serial, turn->state};
    if (turn->entered) {
        pe->device_ops->leave(pe, true);
    }
    gshmemx_cpu_device_choose(turn->device);
    gsh_instance_speak_again(&before);
}

int gshmemx_layer_current_device(void)
{
    const struct gsh_instance *pe = gsh_instance_current();
    int device = -1;
#ifdef GSH_HAVE_CUDA
    if (pe == NULL || pe->device_ops == NULL || pe->peers[pe->my_pe].cuda_ordinal >= 0) {
        device = current_cuda_device();
    }
#endif
    (void)pe;
    return device >= 0 ? device : gshmemx_cpu_device_chosen();
}

void gshmemx_layer_explain_by(void (*explain)(void *pe, const void *address, int peer, char *text,
                                              size_t bytes))
{
    gsh_report_explain_by(explain);
}

/* ---- deaths ---- */

bool gshmemx_layer_has_died(const void *of, const int *pes, int n_pes)
{
    const struct gsh_instance *pe = of;
    return gsh_is_death_among(pe, pes, n_pes);
}

static bool is_death_in(const struct gsh_instance *pe, gshmem_team_t handle, enum gsh_death least)
{
    const struct gsh_team *team = gsh_is_death(pe) ? gsh_team_find(pe, handle) : NULL;
    return team != NULL && gsh_is_death_at(pe, team->pes, team->n_pes, least);
}

bool gshmemx_layer_has_died_in(const void *pe, gshmem_team_t team)
{
    return is_death_in(pe, team, GSH_DEATH_HOST);
}

bool gshmemx_layer_may_have_left(const void *pe, gshmem_team_t team)
{
    return is_death_in(pe, team, GSH_DEATH_KERNELS);
}

bool gshmemx_layer_has_left_lost(const void *instance)
{
    const struct gsh_instance *pe = instance;
    return pe->n_nodes > 1 || gsh_load_relaxed_u32(&pe->page->control.has_left_lost) != 0;
}

void gshmemx_layer_hear_by(void (*hear)(void *pe, int dead))
{
    gsh_deaths_hear_by(hear);
}

bool gshmemx_layer_lose(void *pe, const void *memory, size_t bytes)
{
    return gsh_deaths_lose(pe, (uint64_t)(uintptr_t)memory, bytes);
}

/* Its units of the pool, with what it keeps elsewhere: the lanes of a predefined team, and buffers.
 */
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
           gsh_deaths_lose(pe, base + team->lanes_off, (uint64_t)l->n_lanes * l->lane_bytes) &&
           gsh_deaths_lose(pe, base + team->buffers.off, team->buffers.bytes);
}

void gshmemx_layer_tell_lost(void *pe)
{
    gsh_deaths_tell_lost(pe);
}

/* ---- the calling thread's PE ---- */

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

/* Leaves a word alone that says that the job is ending. */
void gshmemx_layer_leave_kernels(bool on)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_leave_kernels");
    uint32_t *word = &pe->page->control.abort_word;
    uint32_t was = on ? GSH_ABORT_NONE : GSH_ABORT_LEAVE;
    uint32_t is = on ? GSH_ABORT_LEAVE : GSH_ABORT_NONE;
    if (!__atomic_compare_exchange_n(word, &was, is, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
        !on && was == GSH_ABORT_LEAVE_FAR && !pe->outlives_deaths) {
        gsh_store_release_u32(word, GSH_ABORT_END);
    }
}

/* ---- reductions of 8-bit floating-point numbers ---- */

static const enum gsh_element elements[] = {
    [GSHMEMX_LAYER_E4M3] = GSH_ELEMENT_e4m3,
    [GSHMEMX_LAYER_E5M2] = GSH_ELEMENT_e5m2,
};
static const enum gsh_reduce_op ops[] = {
    [GSHMEMX_LAYER_SUM] = GSH_REDUCE_sum,
    [GSHMEMX_LAYER_PROD] = GSH_REDUCE_prod,
    [GSHMEMX_LAYER_MAX] = GSH_REDUCE_max,
    [GSHMEMX_LAYER_MIN] = GSH_REDUCE_min,
};

static int reduce(const char *call, struct gsh_coll_compute m, gshmemx_stream_t stream)
{
    return gsh_coll_compute((struct gsh_coll_place){call, true, stream}, &m);
}

int gshmemx_layer_reduce_on_stream(enum gshmemx_layer_float8 type, enum gshmemx_layer_op op,
                                   gshmem_team_t team, void *dest, const void *source,
                                   size_t nreduce, gshmemx_stream_t stream)
{
    return reduce("gshmemx_layer_reduce_on_stream",
                  (struct gsh_coll_compute){GSH_COLL_REDUCE, team, dest, source, nreduce, ops[op],
                                            elements[type]},
                  stream);
}

int gshmemx_layer_reducescatter_on_stream(enum gshmemx_layer_float8 type, enum gshmemx_layer_op op,
                                          gshmem_team_t team, void *dest, const void *source,
                                          size_t nreduce, gshmemx_stream_t stream)
{
    return reduce("gshmemx_layer_reducescatter_on_stream",
                  (struct gsh_coll_compute){GSH_COLL_REDUCESCATTER, team, dest, source, nreduce,
                                            ops[op], elements[type]},
                  stream);
}

/* ---- the device ---- */

void gshmemx_layer_synchronize(void)
{
    static const char call[] = "gshmemx_layer_synchronize";
    struct gsh_instance *pe = gsh_instance_need_device(call);
    gsh_require(pe, call, pe->device_ops->synchronize(pe));
}

/* ---- the program's own memory ---- */

int gshmemx_layer_is_symmetric(const void *memory, size_t bytes)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_is_symmetric");
    return pe->is_device_ready && gsh_heap_is_symmetric(pe->heap, memory, bytes);
}

/* A team's members as the ranks of an agreement. */
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
    enum gsh_result r = meet(pe, call, team, &m);
    if (r == GSH_OK) {
        r = gsh_buffers_remove_among(pe, &m.group, alias, bytes);
        gsh_agreement_finish(&m.group);
    }
    if (gsh_is_loss(r) && !gsh_is_death(pe)) {
        gsh_require(pe, call, r);
    }
    return gsh_public_error(r);
}

void gshmemx_layer_drop_uniqueid(const gshmemx_uniqueid_t *id)
{
    gsh_launch_drop_uniqueid(id);
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
    while (me < n && pes[me] != pe->my_pe) {
        me++;
    }
    if (me < n) {
        gsh_team_agree(&a, pes, n, me, &ballot);
    }
    return me < n && ballot.max[0] == 0;
}

_Static_assert((int)GSHMEMX_LAYER_TEAM_WORDS == (int)GSH_PAGE_DIALECT_WORDS,
               "what pages have room for");

uint64_t *gshmemx_layer_team_words(gshmem_team_t team, int member)
{
    const struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_team_words");
    const struct gsh_team *t = gsh_team_find(pe, team);
    if (t == NULL || member < 0 || member >= t->n_pes || pe->peers[t->pes[member]].page == NULL) {
        return NULL;
    }
    return gsh_page_dialect_words(pe, t->pes[member], (uint32_t)t->handle);
}

bool gshmemx_layer_wait_turn(const char *call, int target, struct gshmemx_layer_wait *wait)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    if (gsh_is_death_among(pe, &target, 1)) {
        return false;
    }
    if (gsh_host_sync_turn(pe, &wait->turn, &wait->start_ns)) {
        gsh_abort(pe, 1, "%s: waited %.1f s for PE %d to make that call", call,
                  gsh_host_sync_limit_s(pe), target);
    }
    return true;
}
