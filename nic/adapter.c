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

/* Other libraries' lists have more than names: mlx5_0:1, ^mlx5_1. */
static enum gsh_result check_names(const char *list)
{
    static const char *const letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const char *rest = list;
    size_t n = 0;
    for (const char *name = gsh_list_next(&rest, &n); name != NULL;
         name = gsh_list_next(&rest, &n)) {
        if (strspn(name, letters) < n) {
            return gsh_note(GSH_ERR_ARG,
                            "GSHMEM_NIC=%s: '%.*s' is no name of a NIC; GSHMEM_NIC_PORT sets the "
                            "port",
                            list, (int)n, name);
        }
    }
    return GSH_OK;
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
    const enum gsh_result r = check_names(options->name);
    if (r != GSH_OK || options->plugin != NULL) {
        return r == GSH_OK ? gsh_mlx5_create(options, out) : r;
    }
    return gsh_note(GSH_ERR_ARG,
                    "GSHMEM_NIC=%s: there is no such NIC; gshmem-info --nics lists them",
                    options->name);
}
