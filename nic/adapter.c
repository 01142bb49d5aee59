/* SPDX-License-Identifier: Apache-2.0
 * Which adapters there are: GSHMEM_NIC names one. */
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "nic/mlx5_load.h"
#include "nic/model/create.h"
#include "nic/nic.h"

#define MODEL "model"

bool gsh_adapter_list(const char *plugin, unsigned i, struct gsh_adapter_listing *out)
{
    if (i > 0) {
        return plugin != NULL && gsh_mlx5_list_all(plugin, i - 1, out);
    }
    *out = (struct gsh_adapter_listing){
        .name = MODEL,
        .what = "an adapter in software, between PEs of one machine, for tests",
        .lacks = "of GPUs it reaches those of PEs that are threads of one process",
        .is_there = true};
    return true;
}

bool gsh_adapter_is_model(const char *name)
{
    return gsh_list_has(name, MODEL);
}

enum gsh_result gsh_adapter_create(const struct gsh_adapter_options *options,
                                   struct gsh_adapter **out)
{
    if (gsh_adapter_is_model(options->name)) {
        const char *list = options->name;
        size_t n = 0;
        (void)gsh_list_next(&list, &n);
        return gsh_list_next(&list, &n) == NULL
                   ? gsh_model_create(options, out)
                   : gsh_note(GSH_ERR_ARG,
                              "GSHMEM_NIC=%s: the model NIC cannot be used beside others",
                              options->name);
    }
    if (options->plugin != NULL) {
        return gsh_mlx5_create(options, out);
    }
    return gsh_note(GSH_ERR_ARG,
                    "GSHMEM_NIC=%s: there is no such NIC; gshmem-info --nics lists them",
                    options->name);
}
