/* SPDX-License-Identifier: Apache-2.0
 * See registrable.h. */
#include "runtime/init/registrable.h"

#include <pthread.h>
#include <string.h>
#include "heap/registrable.h"
#include "runtime/init/setup.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"

/* ---- which kind ---- */

static struct gsh_env env_before_init;
static enum gsh_result env_result;

static void read_env(void)
{
    env_result = gsh_env_read(&env_before_init);
}

enum gsh_result gsh_setup_env(const struct gsh_env **out)
{
    const struct gsh_instance *pe = gsh_instance_current();
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pe != NULL) {
        *out = &pe->env;
        return GSH_OK;
    }
    pthread_once(&once, read_env);
    *out = &env_before_init;
    return env_result == GSH_OK ? GSH_OK
                                : gsh_note(env_result, "a variable of the environment is wrong");
}

/* ---- on which GPU ---- */

#ifdef GSH_HAVE_CUDA
static enum gsh_result choose_gpu(const struct gsh_instance *pe, CUdevice *device)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CUcontext current = NULL;
    enum gsh_result r = gsh_cuda_note(cuda->CtxGetCurrent(&current), "cuCtxGetCurrent");
    if (r == GSH_OK && current != NULL) {
        return gsh_cuda_note(cuda->CtxGetDevice(device), "cuCtxGetDevice");
    }
    const bool is_chosen = r == GSH_OK && pe != NULL && pe->is_device_ready;
    /* the CUDA runtime begins with the first one as well */
    const int ordinal = is_chosen ? pe->cuda_ordinal : 0;
    return r == GSH_OK ? gsh_cuda_note(cuda->DeviceGet(device, ordinal), "cuDeviceGet") : r;
}

static enum gsh_result choose_gpus(const struct gsh_instance *pe, const struct gsh_env *env,
                                   struct gsh_setup_kind *out)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CUdevice *devices = out->devices;
    struct gsh_memory_options *options = &out->options;
    int n = 0;
    out->ops = gsh_memory_cuda;
    *options = (struct gsh_memory_options){.n_slots = 1,
                                           .is_shared = true,
                                           .is_registrable = true,
                                           .fabric = strcmp(env->heap_handle, "fabric") == 0,
                                           .any_handle = strcmp(env->heap_handle, "auto") == 0,
                                           .cuda_devices = devices,
                                           .n_cuda_devices = 1};
    enum gsh_result r = choose_gpu(pe, &devices[0]);
    if (r == GSH_OK) {
        r = gsh_cuda_note(cuda->DeviceGetCount(&n), "cuDeviceGetCount");
    }
    if (r != GSH_OK) {
        return r;
    }
    options->cuda_device = devices[0];
    for (int i = 0; i < n && options->n_cuda_devices < GSH_SETUP_DEVICES_MAX; i++) {
        CUdevice other;
        int can_reach = 0;
        if (cuda->DeviceGet(&other, i) == CUDA_SUCCESS && other != devices[0] &&
            cuda->DeviceCanAccessPeer(&can_reach, other, devices[0]) == CUDA_SUCCESS && can_reach) {
            devices[options->n_cuda_devices++] = other;
        }
    }
    return GSH_OK;
}
#else
static enum gsh_result choose_gpus(const struct gsh_instance *pe, const struct gsh_env *env,
                                   struct gsh_setup_kind *out)
{
    (void)pe;
    (void)env;
    (void)out;
    return gsh_note(GSH_ERR_UNSUPPORTED, "this library was built without CUDA");
}
#endif

enum gsh_result gsh_setup_find_kind(struct gsh_setup_kind *out)
{
    const struct gsh_instance *pe = gsh_instance_current();
    const struct gsh_env *env;
    bool is_cuda = false;
    enum gsh_result r = gsh_setup_env(&env);
    if (r == GSH_OK && pe != NULL && pe->is_device_ready) {
        is_cuda = pe->device_ops->memory == GSH_MEMORY_CUDA;
    } else if (r == GSH_OK) {
        r = gsh_setup_choose_kind(env, pe != NULL && pe->wants_static_data, &is_cuda);
    }
    if (r == GSH_OK && is_cuda) {
        return choose_gpus(pe, env, out);
    }
    out->ops = &gsh_memory_host;
    out->options = (struct gsh_memory_options){.n_slots = 1};
    return r;
}

enum gsh_result gsh_setup_registrable(uint64_t bytes, void **out)
{
    struct gsh_setup_kind kind;
    enum gsh_result r = gsh_setup_find_kind(&kind);
    return r == GSH_OK ? gsh_registrable_alloc(kind.ops, &kind.options, bytes, out) : r;
}
