/* SPDX-License-Identifier: Apache-2.0
 * Which adapters there are: GSHMEM_NIC names one. */
#include <stdio.h>
#include <string.h>
#include "base/util.h"
#include "nic/model/create.h"
#include "nic/nic.h"

static const struct {
    const char *name, *what, *lacks;
    enum gsh_result (*create)(const struct gsh_adapter_options *options, struct gsh_adapter **out);
} adapters[] = {
    {"model", "an adapter in software, between PEs of one machine, for tests",
     "it reaches host memory only: kernels of the CPU device", gsh_model_create},
};

bool gsh_adapter_list(unsigned i, struct gsh_adapter_listing *out)
{
    if (i >= GSH_ARRAY_LEN(adapters)) {
        return false;
    }
    *out = (struct gsh_adapter_listing){.name = adapters[i].name, .what = adapters[i].what};
    snprintf(out->lacks, sizeof(out->lacks), "%s", adapters[i].lacks);
    return true;
}

enum gsh_result gsh_adapter_create(const struct gsh_adapter_options *options,
                                   struct gsh_adapter **out)
{
    if (options->name[0] == '\0') {
        return gsh_note(GSH_ERR_UNSUPPORTED, "no NIC to which kernels can post by themselves was "
                                             "found, and GSHMEM_NIC names none");
    }
    for (unsigned i = 0; i < GSH_ARRAY_LEN(adapters); i++) {
        if (strcmp(adapters[i].name, options->name) == 0) {
            return adapters[i].create(options, out);
        }
    }
    return gsh_note(GSH_ERR_ARG,
                    "GSHMEM_NIC=%s: there is no such NIC; gshmem-info --nics lists "
                    "them",
                    options->name);
}
