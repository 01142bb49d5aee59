/* SPDX-License-Identifier: Apache-2.0
 * The plug-in libgshmem_hwloc.so: which CPUs and other devices are near a device, as hwloc sees it.
 */
#include <hwloc.h>
#include <pthread.h>
#include <string.h>

#include "runtime/far/affinity_plugin.h"

/* hwloc's own probing of GPUs starts drivers and libraries that are not needed here. */
static void leave_out(hwloc_topology_t topology)
{
    static const char *const components[] = {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"};
    for (size_t i = 0; i < sizeof(components) / sizeof(components[0]); i++) {
        (void)hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                            components[i]);
    }
}

static hwloc_obj_t find(hwloc_topology_t topology, const char *device)
{
    hwloc_obj_t object = hwloc_get_pcidev_by_busidstring(topology, device);
    if (object != NULL) {
        return object;
    }
    do {
        object = hwloc_get_next_osdev(topology, object);
    } while (object != NULL && (object->name == NULL || strcmp(object->name, device) != 0));
    return object;
}

/* The machine as it was at the first question: to look at it takes time, and start-up asks more
 * than once. Read by several threads. */
static hwloc_topology_t machine;
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* With all devices, and the whole machine: the caller, and not hwloc, decides which CPUs the
 * process may use. */
static void load(void)
{
    if (hwloc_topology_init(&machine) != 0) {
        return;
    }
    leave_out(machine);
    (void)hwloc_topology_set_io_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_ALL);
    (void)hwloc_topology_set_flags(machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    is_loaded = hwloc_topology_load(machine) == 0;
    if (!is_loaded) {
        hwloc_topology_destroy(machine);
    }
}

/* NULL: hwloc cannot see it. */
static hwloc_topology_t topology_of_machine(void)
{
    (void)pthread_once(&once, load);
    return is_loaded ? machine : NULL;
}

/* At the end of the process, or of the plug-in. */
__attribute__((destructor)) static void unload(void)
{
    if (is_loaded) {
        hwloc_topology_destroy(machine);
    }
}

static bool near_device(const char *device, char *text, size_t room)
{
    hwloc_topology_t topology = topology_of_machine();
    if (topology == NULL) {
        return false;
    }
    hwloc_obj_t object = find(topology, device);
    hwloc_obj_t near = object != NULL ? hwloc_get_non_io_ancestor_obj(topology, object) : NULL;
    int n = near && near->cpuset ? hwloc_bitmap_list_snprintf(text, room, near->cpuset) : 0;
    return n > 0 && (size_t)n < room;
}

/* An object holds itself, too. */
static unsigned count_holding_both(hwloc_obj_t one, hwloc_obj_t other)
{
    unsigned n = 0;
    for (hwloc_obj_t a = one; a != NULL; a = a->parent) {
        for (hwloc_obj_t b = other; b != NULL; b = b->parent) {
            n += a == b;
        }
    }
    return n;
}

static bool nearness(const char *device, const char *const *others, unsigned n, unsigned *near)
{
    hwloc_topology_t topology = topology_of_machine();
    if (topology == NULL) {
        return false;
    }
    hwloc_obj_t object = find(topology, device);
    bool is_known = object != NULL;
    for (unsigned i = 0; is_known && i < n; i++) {
        hwloc_obj_t other = find(topology, others[i]);
        is_known = other != NULL;
        near[i] = is_known ? count_holding_both(object, other) : 0;
    }
    return is_known;
}

__attribute__((visibility("default"))) const struct gsh_affinity_plugin *gsh_affinity_plugin_2(void)
{
    static const struct gsh_affinity_plugin plugin = {
        .version = GSHMEM_VENDOR_STRING, .near_device = near_device, .nearness = nearness};
    return &plugin;
}
