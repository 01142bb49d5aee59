/* SPDX-License-Identifier: Apache-2.0
 * Calls for dialects: PEs that a dialect makes for its own threads, and queries about the calling
 * thread's PE. */
#include "runtime/layer.h"

#include "base/atomic.h"
#include "base/cuda.h"
#include "base/env.h"
#include "base/handler.h"
#include "cpu/cpu.h"
#include "gshmem.h"
#include "runtime/init/launch.h"
#include "runtime/init/setup.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/instance/report.h"

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

int gshmemx_layer_init_here(unsigned flags, const gshmemx_init_attr_t *attr, bool is_small)
{
    gsh_instance_make_for_dialect(true, is_small);
    int error = gshmemx_init_attr(flags, attr);
    gsh_instance_make_for_dialect(false, false);
    return error;
}

int gshmemx_layer_init(unsigned flags, const gshmemx_init_attr_t *attr, int device, bool is_small,
                       void **pe)
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
    int error = gshmemx_layer_init_here(flags, attr, is_small);
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

void gshmemx_layer_enter(void *of, int device, struct gshmemx_layer_scope *scope)
{
    struct gsh_instance *pe = of;
    struct gsh_spoken before;
    gsh_instance_speak(pe, &before);
    *scope = (struct gshmemx_layer_scope){.pe = pe,
                                          .before = before.pe,
                                          .serial = before.serial,
                                          .state = before.state,
                                          .device = gshmemx_cpu_device_chosen()};
    if (device >= 0) {
        gshmemx_cpu_device_choose(device);
    }
    scope->entered = pe->device_ops != NULL && pe->device_ops->enter(pe);
}

void gshmemx_layer_leave(const struct gshmemx_layer_scope *scope)
{
    struct gsh_instance *pe = scope->pe;
    const struct gsh_spoken before = {scope->before, scope->serial, scope->state};
    if (scope->entered) {
        pe->device_ops->leave(pe, true);
    }
    gshmemx_cpu_device_choose(scope->device);
    gsh_instance_speak_again(&before);
}

int gshmemx_layer_current_device(void)
{
    const struct gsh_instance *pe = gsh_instance_current();
    int device = -1;
#ifdef GSH_HAVE_CUDA
    if (pe == NULL || pe->device_ops == NULL || pe->cuda_ordinal >= 0) {
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

void gshmemx_layer_tell_error(int status)
{
    struct gsh_instance *pe = gsh_instance_current();
    gsh_handler_tell(pe != NULL ? pe->my_pe : -1, status, gsh_last_error());
}

void gshmemx_layer_drop_uniqueid(const gshmemx_uniqueid_t *id)
{
    gsh_launch_drop_uniqueid(id);
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
    return pe->cuda_ordinal;
}

bool gshmemx_layer_posts(void)
{
    const struct gsh_instance *pe = gsh_instance_need_device("gshmemx_layer_posts");
    return pe->state.nic != 0 && pe->cuda_ordinal < 0;
}

/* Does not change a word that says that the job is ending. */
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

void gshmemx_layer_synchronize(void)
{
    static const char call[] = "gshmemx_layer_synchronize";
    struct gsh_instance *pe = gsh_instance_need_device(call);
    gsh_require(pe, call, pe->device_ops->synchronize(pe));
}
