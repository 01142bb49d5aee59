/* SPDX-License-Identifier: Apache-2.0
 * The place of a host call in the program, for hang reports. */
#include "gshmemx.h"
#include "runtime/instance/waits.h"
#include "runtime/layer.h"

void gshmemx_call_site(const char *file, int line)
{
    gsh_waits_set_site(file, line > 0 ? (uint32_t)line : 0);
}

uint32_t gshmemx_layer_site(void)
{
    return gsh_waits_site_number();
}

uint32_t gshmemx_layer_use_site(uint32_t site)
{
    return gsh_waits_use_site(site);
}
