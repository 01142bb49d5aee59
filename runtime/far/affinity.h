/* SPDX-License-Identifier: Apache-2.0
 * On which CPUs the proxy's thread runs. GSHMEM_PROXY_CPUS decides; by default near the PE's GPU,
 * and near its NIC if one is named. Never outside the CPUs that the process may use. And which NICs
 * are near the GPU. */
#ifndef GSH_AFFINITY_H
#define GSH_AFFINITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"

#define GSH_CPUS_MAX 8192

/* A set of CPUs, by Linux's numbers; the layout is that of sched_setaffinity. */
struct gsh_cpus {
    uint64_t bits[GSH_CPUS_MAX / 64];
};

/* Lists as Linux writes them: "0-3,8", a newline after it allowed. False: not a list, or a number
 * is GSH_CPUS_MAX or more; *out is undefined then. "" is the empty set. */
bool gsh_cpus_parse(const char *text, struct gsh_cpus *out);
bool gsh_cpus_is_empty(const struct gsh_cpus *cpus);
bool gsh_cpus_is_equal(const struct gsh_cpus *a, const struct gsh_cpus *b);
struct gsh_cpus gsh_cpus_and(const struct gsh_cpus *a, const struct gsh_cpus *b);
/* The list, truncated to the room. Returns text. */
const char *gsh_cpus_print(const struct gsh_cpus *cpus, char *text, size_t room);

/* The setting is "auto", "none", or a list that is not empty. */
bool gsh_affinity_is_setting(const char *setting);

enum gsh_affinity {
    GSH_AFFINITY_AS_IS,   /* nothing to do: not requested, or no change */
    GSH_AFFINITY_PIN,     /* to *out */
    GSH_AFFINITY_OUTSIDE, /* none of the requested CPUs is allowed */
};
/* auto picks CPUs near the GPU (NULL: none, or unknown), and of these the ones also near the NIC
 * (NULL: likewise) if there are any. */
enum gsh_affinity gsh_affinity_choose(const char *setting, const struct gsh_cpus *allowed,
                                      const struct gsh_cpus *gpu, const struct gsh_cpus *nic,
                                      struct gsh_cpus *out);

/* The CPUs near a device, given by PCI address (0000:1b:00.0) or NIC name (mlx5_0, eth0), as Linux
 * lists them below `sysfs` ("/sys"). False: not listed. */
bool gsh_affinity_near(const char *sysfs, const char *device, struct gsh_cpus *out);
/* The same by hwloc, which corrects wrong data of firmware. hwloc is in a plug-in, which is opened
 * here. False: no plug-in, or not known. */
bool gsh_affinity_near_hwloc(const char *plugin, const char *device, struct gsh_cpus *out);
/* By hwloc, how near n other devices are to that one: the more, the nearer. False: no plug-in, or
 * one of them is not known. */
bool gsh_affinity_nearness(const char *plugin, const char *device, const char *const *others,
                           unsigned n, unsigned *near);
/* The first device of UCX_NET_DEVICES ("mlx5_0:1,..." is mlx5_0); NULL: there is none, or it is not
 * a name. */
const char *gsh_affinity_nic(const char *net_devices, char *name, size_t room);

#endif
