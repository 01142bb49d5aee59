/* SPDX-License-Identifier: Apache-2.0
 * Dialects' waits of the host in hang reports (runtime/layer.h). */
#include <stdlib.h>
#include "base/keys.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/layer.h"

_Static_assert(sizeof(struct gsh_standing_wait) <= sizeof(struct gshmemx_layer_standing),
               "gshmemx_layer_standing has no room");

void gshmemx_layer_stand(struct gshmemx_layer_standing *wait, const char *call, int target)
{
    gsh_waits_begin((struct gsh_standing_wait *)wait, gsh_instance_current(), call, target);
}

void gshmemx_layer_stand_end(struct gshmemx_layer_standing *wait)
{
    gsh_waits_end((struct gsh_standing_wait *)wait);
}

static uint64_t job_of(const struct gsh_instance *pe)
{
    char name[9];
    gsh_key_name(pe->secret, "dialect pe", 4, name);
    return strtoull(name, NULL, 16);
}

void gshmemx_layer_name_pe(struct gshmemx_layer_pe_name *name)
{
    const struct gsh_instance *pe = gsh_instance_current();
    *name = (struct gshmemx_layer_pe_name){.job = 0};
    if (pe != NULL) {
        *name = (struct gshmemx_layer_pe_name){.job = job_of(pe), .number = pe->my_pe + 1};
    }
}

int gshmemx_layer_find_pe(const struct gshmemx_layer_pe_name *name)
{
    const struct gsh_instance *pe = gsh_instance_current();
    const bool is_ours =
        pe != NULL && name->number >= 1 && name->number <= pe->n_pes && name->job == job_of(pe);
    return is_ours ? name->number - 1 : -1;
}
