/* SPDX-License-Identifier: Apache-2.0
 * The public calls on the program's own memory. */
#include "gshmemx.h"
#include "runtime/context/context.h"
#include "runtime/init/buffers.h"
#include "runtime/init/setup.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"

void *gshmemx_buffer_register_symmetric(void *buf_ptr, size_t size, int flags)
{
    static const char call[] = "gshmemx_buffer_register_symmetric";
    struct gsh_instance *pe = gsh_instance_set_up(call);
    void *out = NULL;
    if (flags != 0) { /* the same on all PEs */
        gsh_fail(GSH_ERR_ARG, "%s: unknown flags: %#x", call, (unsigned)flags);
        return NULL;
    }
    enum gsh_result r = gsh_buffers_add_symmetric(pe, buf_ptr, size, &out);
    if (gsh_is_loss(r)) {
        gsh_require(pe, call, r);
    }
    return r == GSH_OK ? out : NULL;
}

int gshmemx_buffer_unregister_symmetric(void *mmap_ptr, size_t size)
{
    static const char call[] = "gshmemx_buffer_unregister_symmetric";
    struct gsh_instance *pe = gsh_instance_set_up(call);
    gsh_contexts_quiet(pe, call);
    enum gsh_result r = gsh_buffers_remove_symmetric(pe, mmap_ptr, size);
    if (gsh_is_loss(r)) {
        gsh_require(pe, call, r);
    }
    return gsh_public_error(r);
}

/* Before set-up there is no device that could own the memory. */
static struct gsh_instance *need_ready(const char *call)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    if (!pe->is_device_ready) {
        gsh_fail(GSH_ERR_STATE, "%s: there is no device yet: call gshmemx_device_setup first",
                 call);
    }
    return pe->is_device_ready ? pe : NULL;
}

int gshmemx_buffer_register(void *addr, size_t length)
{
    struct gsh_instance *pe = need_ready("gshmemx_buffer_register");
    return gsh_public_error(pe != NULL ? gsh_buffers_add(pe, addr, length) : GSH_ERR_STATE);
}

int gshmemx_buffer_unregister(void *addr)
{
    struct gsh_instance *pe = need_ready("gshmemx_buffer_unregister");
    return gsh_public_error(pe != NULL ? gsh_buffers_remove(pe, addr) : GSH_ERR_STATE);
}

void gshmemx_buffer_unregister_all(void)
{
    gsh_buffers_end(gsh_instance_need_device("gshmemx_buffer_unregister_all"));
}
