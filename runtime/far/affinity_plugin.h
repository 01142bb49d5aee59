/* SPDX-License-Identifier: Apache-2.0
 * Between libgshmem, which links no hwloc, and the plug-in libgshmem_hwloc.so, which does. */
#ifndef GSH_AFFINITY_PLUGIN_H
#define GSH_AFFINITY_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include "gshmem/version.h"

#define GSH_AFFINITY_PLUGIN_ENTRY "gsh_affinity_plugin_2"

struct gsh_affinity_plugin {
    const char *version; /* GSHMEM_VENDOR_STRING of its build */
    /* The CPUs near a device, by PCI address or by its name in hwloc, as a list: "0-3,8". False:
     * not known, or no room. */
    bool (*near_device)(const char *device, char *text, size_t room);
    /* How near n other devices are to that one: how many of hwloc's objects (the machine, packages,
     * groups, bridges) hold both. False: one of them is not known. */
    bool (*nearness)(const char *device, const char *const *others, unsigned n, unsigned *near);
};

/* The plug-in's only symbol. */
const struct gsh_affinity_plugin *gsh_affinity_plugin_2(void);

#endif
