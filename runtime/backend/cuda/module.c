/* SPDX-License-Identifier: Apache-2.0
 * The constant block of one module: the library's own, or one that the program loaded. */
#include "runtime/backend/cuda/device.h"
#include "runtime/instance/instance.h"
#include "runtime/backend/modules.h"

/* The block of a unit for shared GPUs: what all parts have in common, then this PE's own. */
static enum gsh_result write_shared_block(struct gsh_instance *pe, CUdeviceptr block,
                                          const struct gsh_state *state)
{
    CUdeviceptr table = block + offsetof(struct gsh_shared_states, part_of_sm);
    CUdeviceptr own = block + (size_t)state->part * sizeof(*state);
    enum gsh_result r = pe->device_ops->copy(pe, GSH_CONTEXT_DEFAULT, (void *)(uintptr_t)table,
                                             &state->part_of_sm, sizeof(state->part_of_sm));
    return r == GSH_OK ? pe->device_ops->copy(pe, GSH_CONTEXT_DEFAULT, (void *)(uintptr_t)own,
                                              state, sizeof(*state))
                       : r;
}

static enum gsh_result write_block(struct gsh_instance *pe, CUdeviceptr block, size_t bytes,
                                   const struct gsh_state *state)
{
    if (bytes == sizeof(struct gsh_shared_states)) {
        return write_shared_block(pe, block, state);
    }
    if (bytes != sizeof(*state)) {
        return gsh_fail(GSH_ERR_STATE,
                        "the module was compiled with gshmem headers of another version: its state "
                        "has %zu bytes, this library's (layout %u) %zu: compile it again",
                        bytes, GSH_STATE_VERSION, sizeof(*state));
    }
    return pe->device_ops->copy(pe, GSH_CONTEXT_DEFAULT, (void *)(uintptr_t)block, state, bytes);
}

static enum gsh_result find_block(const struct gsh_cuda_device *d, void *module, bool is_library,
                                  CUdeviceptr *block, size_t *bytes)
{
    static const char name[] = "gshmem_state_block";
    if (is_library && d->cuda->LibraryGetGlobal == NULL) {
        return gsh_fail(GSH_ERR_UNSUPPORTED, "this CUDA driver has no cuLibraryGetGlobal");
    }
    bool entered = gsh_cuda_enter(d);
    CUresult code = is_library ? d->cuda->LibraryGetGlobal(block, bytes, module, name)
                               : d->cuda->ModuleGetGlobal(block, bytes, module, name);
    gsh_cuda_leave(d, entered);
    if (code == CUDA_ERROR_NOT_FOUND) {
        return gsh_fail(GSH_ERR_ARG,
                        "the %s has no %s: it was not compiled with "
                        "gshmem_device.cuh, or makes no gshmem call",
                        is_library ? "library" : "module", name);
    }
    return gsh_cuda_result(code, is_library ? "cuLibraryGetGlobal" : "cuModuleGetGlobal");
}

static enum gsh_result fill_module(struct gsh_instance *pe, void *module, bool is_library,
                                   const struct gsh_state *state, bool is_ours)
{
    CUdeviceptr block;
    size_t bytes;
    enum gsh_result r = find_block(pe->device, module, is_library, &block, &bytes);
    if (r == GSH_OK && !is_ours && state->part_of_sm != 0 &&
        bytes != sizeof(struct gsh_shared_states)) {
        r = gsh_modules_not_shared();
    }
    return r == GSH_OK ? write_block(pe, block, bytes, state) : r;
}

enum gsh_result gsh_cuda_module_init(struct gsh_instance *pe, void *module, bool is_library)
{
    return fill_module(pe, module, is_library, &pe->state, false);
}

enum gsh_result gsh_cuda_fill_own(struct gsh_instance *pe, void *module,
                                  const struct gsh_state *state)
{
    return fill_module(pe, module, false, state, true);
}
