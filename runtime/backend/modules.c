/* SPDX-License-Identifier: Apache-2.0
 * The registry of modules (modules.h). The list and the thread-local
 * binding are the library's only process-wide state. */
#include "runtime/backend/modules.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/atomic.h"
#include "gshmemx.h"
#include "runtime/instance/instance.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_module *first; /* under lock */
static size_t n_modules;         /* under lock */
uint64_t gsh_modules_generation; /* written under lock */

void gshmemx_module_register(struct gsh_module *module)
{
    pthread_mutex_lock(&lock);
    module->next = first;
    first = module;
    n_modules++;
    /* release: pairs with the acquire in gsh_modules_are_filled */
    gsh_store_release_u64(&gsh_modules_generation, gsh_modules_generation + 1);
    pthread_mutex_unlock(&lock);
}

void gshmemx_module_unregister(struct gsh_module *module)
{
    pthread_mutex_lock(&lock);
    for (struct gsh_module **p = &first; *p != NULL; p = &(*p)->next) {
        if (*p == module) {
            *p = module->next;
            n_modules--;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

static bool have(bool needs_fill)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (const struct gsh_module *m = first; m != NULL && !found; m = m->next) {
        found = (m->fill != NULL) == needs_fill;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

bool gsh_modules_have_cuda(void)
{
    return have(true);
}

bool gsh_modules_have_cpu(void)
{
    return have(false);
}

enum gsh_result gsh_modules_not_shared(void)
{
    return gsh_fail(GSH_ERR_STATE,
                    "PEs share this GPU, and kernels were compiled without "
                    "-DGSHMEM_SHARED_DEVICE=1: compile all of the program's files with it");
}

static enum gsh_result fill_one(const struct gsh_instance *pe, const struct gsh_module *m,
                                const struct gsh_state *state)
{
    bool can_share = m->bytes == sizeof(struct gsh_shared_states);
    if (m->version != GSH_STATE_VERSION || (m->bytes != sizeof(*state) && !can_share)) {
        return gsh_fail(GSH_ERR_STATE,
                        "kernels were compiled with gshmem headers of layout %u (%u bytes), this "
                        "library has layout %u (%zu bytes): compile them again",
                        m->version, m->bytes, GSH_STATE_VERSION, sizeof(*state));
    }
    if (state->part_of_sm != 0 && !can_share && m->fill != NULL) {
        return gsh_modules_not_shared();
    }
    int error = m->fill != NULL ? m->fill(state, sizeof(*state)) : 0;
    /* without a GPU its kernels cannot be filled or launched; the CPU device's host calls work */
    if (error != 0 && pe->device_ops->fills_modules) {
        return gsh_fail(GSH_ERR_CUDA,
                        "a module's state cannot be copied to the device: CUDA "
                        "runtime error %d (kernels not compiled for this GPU?)",
                        error);
    }
    return GSH_OK;
}

/* Works on a copy of the list, without the lock: `fill` enters the CUDA runtime, which may load
 * libraries, while constructors of libraries in another thread may be waiting for the lock. */
enum gsh_result gsh_modules_fill(struct gsh_instance *pe, const struct gsh_state *state)
{
    pthread_mutex_lock(&lock);
    uint64_t now = gsh_modules_generation;
    size_t n = 0;
    const struct gsh_module **list = calloc(n_modules + 1, sizeof(*list));
    for (const struct gsh_module *m = first; m != NULL && list != NULL; m = m->next) {
        list[n++] = m;
    }
    pthread_mutex_unlock(&lock);
    if (list == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for the list of modules");
    }
    enum gsh_result r = GSH_OK;
    for (size_t i = 0; i < n && r == GSH_OK; i++) {
        r = fill_one(pe, list[i], state);
    }
    free(list);
    if (r == GSH_OK) {
        pe->module_generation = now;
    }
    return r;
}

enum gsh_result gsh_modules_refresh(struct gsh_instance *pe)
{
    return gsh_modules_are_filled(pe) ? GSH_OK : pe->device_ops->upload(pe, &pe->state);
}
