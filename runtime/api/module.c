/* SPDX-License-Identifier: Apache-2.0
 * The public calls on modules that the program loads by itself, and on a PE's part of a GPU. */
#include "gshmemx.h"
#include "runtime/init/setup.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"

static int module_init(const char *call, void *module, bool is_library)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    if (module == NULL) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG, "%s: the module is NULL", call));
    }
    if (!pe->is_device_ready) {
        return gsh_public_error(
            gsh_fail(GSH_ERR_STATE, "%s: called before gshmemx_device_setup", call));
    }
    return gsh_public_error(pe->device_ops->module_init(pe, module, is_library));
}

/* Nothing points from a PE to a module, so there is nothing to take back. */
static int module_finalize(const char *call, const void *module)
{
    gsh_instance_need(call);
    if (module == NULL) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG, "%s: the module is NULL", call));
    }
    return GSHMEMX_SUCCESS;
}

int gshmemx_cumodule_init(void *cumodule)
{
    return module_init("gshmemx_cumodule_init", cumodule, false);
}

int gshmemx_cumodule_finalize(void *cumodule)
{
    return module_finalize("gshmemx_cumodule_finalize", cumodule);
}

int gshmemx_culibrary_init(void *culibrary)
{
    return module_init("gshmemx_culibrary_init", culibrary, true);
}

int gshmemx_culibrary_finalize(void *culibrary)
{
    return module_finalize("gshmemx_culibrary_finalize", culibrary);
}

int gshmemx_stream_check(gshmemx_stream_t stream)
{
    struct gsh_instance *pe = gsh_instance_need_device("gshmemx_stream_check");
    return pe->device_ops->check_stream == NULL
               ? GSHMEMX_SUCCESS
               : gsh_public_error(pe->device_ops->check_stream(pe, (gsh_stream)stream));
}

void gshmemx_launch_begin(const char *call)
{
    struct gsh_instance *pe = gsh_instance_current();
    if (pe != NULL && pe->is_device_ready && !pe->device_ops->is_memory_host) {
        gsh_waits_enter_driver(pe->device, call);
    }
}

void gshmemx_launch_end(void)
{
    gsh_waits_leave_driver();
}

void gshmemx_launch_refused(unsigned long long n_blocks, int most)
{
    static const char call[] = "gshmemx_collective_launch";
    (void)gsh_fail(GSH_ERR_LAUNCH,
                   "%s: the grid of %llu blocks cannot run at one time: at most %d such blocks can",
                   call, n_blocks, most);
}

void gshmemx_launch_lacks_registers(const char *call, int n_registers, int n_threads, int most)
{
    (void)gsh_fail(GSH_ERR_LAUNCH,
                   "%s: the kernel uses %d registers, and a block of %d threads has room for %d "
                   "each: compile its file with -maxrregcount=%d, give the kernel "
                   "__launch_bounds__(%d), or define GSHMEM_NEAR_ONLY",
                   call, n_registers, n_threads, most, most, n_threads);
}

int gshmemx_part_multiprocessors(void)
{
    struct gsh_instance *pe = gsh_instance_current();
    return pe == NULL || !pe->is_device_ready || pe->device_ops->count_part == NULL
               ? 0
               : pe->device_ops->count_part(pe);
}
