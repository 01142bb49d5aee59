/* SPDX-License-Identifier: Apache-2.0
 * The calls for dialects. */
#include "runtime/layer.h"

#include "runtime/job/end.h"
#include "runtime/job/instance.h"
#include "runtime/setup/setup.h"

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
