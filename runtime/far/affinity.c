/* SPDX-License-Identifier: Apache-2.0
 * Sets of CPUs, and the choice among them. */
#include "runtime/far/affinity.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/plugin.h"
#include "runtime/far/affinity_plugin.h"

/* ---- sets ---- */

static bool has(const struct gsh_cpus *cpus, unsigned long cpu)
{
    return cpu < GSH_CPUS_MAX && (cpus->bits[cpu / 64] >> cpu % 64 & 1) != 0;
}

/* Parses a number that can be a CPU's. */
static bool parse_cpu(const char **at, unsigned long *cpu)
{
    char *end;
    if (!isdigit((unsigned char)**at)) {
        return false;
    }
    *cpu = strtoul(*at, &end, 10);
    *at = end;
    return *cpu < GSH_CPUS_MAX;
}

static bool parse_range(const char **at, struct gsh_cpus *out)
{
    unsigned long first, last;
    if (!parse_cpu(at, &first)) {
        return false;
    }
    last = first;
    if (**at == '-') {
        ++*at;
        if (!parse_cpu(at, &last) || last < first) {
            return false;
        }
    }
    for (unsigned long cpu = first; cpu <= last; cpu++) {
        out->bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
    }
    return true;
}

bool gsh_cpus_parse(const char *text, struct gsh_cpus *out)
{
    memset(out, 0, sizeof(*out));
    if (text[strspn(text, "\n")] == '\0') {
        return true;
    }
    while (parse_range(&text, out)) {
        if (*text != ',') {
            return text[strspn(text, "\n")] == '\0';
        }
        text++;
    }
    return false;
}

bool gsh_cpus_is_empty(const struct gsh_cpus *cpus)
{
    uint64_t any = 0;
    for (size_t i = 0; i < GSH_CPUS_MAX / 64; i++) {
        any |= cpus->bits[i];
    }
    return any == 0;
}

bool gsh_cpus_is_equal(const struct gsh_cpus *a, const struct gsh_cpus *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

struct gsh_cpus gsh_cpus_and(const struct gsh_cpus *a, const struct gsh_cpus *b)
{
    struct gsh_cpus both;
    for (size_t i = 0; i < GSH_CPUS_MAX / 64; i++) {
        both.bits[i] = a->bits[i] & b->bits[i];
    }
    return both;
}

const char *gsh_cpus_print(const struct gsh_cpus *cpus, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned long cpu = 0; cpu < GSH_CPUS_MAX && used < room; cpu++) {
        unsigned long last = cpu;
        if (!has(cpus, cpu)) {
            continue;
        }
        while (has(cpus, last + 1)) {
            last++;
        }
        const char *comma = used > 0 ? "," : "";
        int n = last > cpu ? snprintf(text + used, room - used, "%s%lu-%lu", comma, cpu, last)
                           : snprintf(text + used, room - used, "%s%lu", comma, cpu);
        used += (size_t)n;
        cpu = last;
    }
    return text;
}

/* ---- the choice ---- */

bool gsh_affinity_is_setting(const char *setting)
{
    struct gsh_cpus cpus;
    return strcmp(setting, "auto") == 0 || strcmp(setting, "none") == 0 ||
           (gsh_cpus_parse(setting, &cpus) && !gsh_cpus_is_empty(&cpus));
}

enum gsh_affinity gsh_affinity_choose(const char *setting, const struct gsh_cpus *allowed,
                                      const struct gsh_cpus *gpu, const struct gsh_cpus *nic,
                                      struct gsh_cpus *out)
{
    struct gsh_cpus wanted;
    bool is_auto = strcmp(setting, "auto") == 0;
    if (strcmp(setting, "none") == 0 || (is_auto && gpu == NULL)) {
        return GSH_AFFINITY_AS_IS;
    }
    if (is_auto) {
        wanted = gsh_cpus_and(allowed, gpu);
    } else if (gsh_cpus_parse(setting, &wanted)) {
        wanted = gsh_cpus_and(allowed, &wanted);
    } else {
        return GSH_AFFINITY_OUTSIDE;
    }
    if (is_auto && nic != NULL) {
        struct gsh_cpus near_both = gsh_cpus_and(&wanted, nic);
        wanted = gsh_cpus_is_empty(&near_both) ? wanted : near_both;
    }
    if (gsh_cpus_is_empty(&wanted)) {
        return GSH_AFFINITY_OUTSIDE;
    }
    *out = wanted;
    return gsh_cpus_is_equal(&wanted, allowed) ? GSH_AFFINITY_AS_IS : GSH_AFFINITY_PIN;
}

/* ---- which CPUs are near ---- */

/* False: there is no such file, or no set of CPUs in it. */
static bool read_list(const char *path, struct gsh_cpus *out)
{
    char text[4096];
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    return gsh_cpus_parse(text, out) && !gsh_cpus_is_empty(out);
}

/* Linux writes PCI addresses in small letters, CUDA in capitals. */
bool gsh_affinity_near(const char *sysfs, const char *device, struct gsh_cpus *out)
{
    static const char *const where[] = {"bus/pci/devices/%s", "class/infiniband/%s/device",
                                        "class/net/%s/device"};
    char name[64], path[4096];
    if (strchr(device, '/') != NULL || strlen(device) >= sizeof(name)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
        for (size_t k = 0; k <= strlen(device); k++) {
            name[k] = (char)(i == 0 ? tolower((unsigned char)device[k]) : device[k]);
        }
        int n = snprintf(path, sizeof(path), "%s/", sysfs);
        n += snprintf(path + n, sizeof(path) - (size_t)n, where[i], name);
        snprintf(path + n, sizeof(path) - (size_t)n, "/local_cpulist");
        if (read_list(path, out)) {
            return true;
        }
    }
    return false;
}

/* NULL: there is none, or none of this version. */
static const struct gsh_affinity_plugin *open_plugin(const char *plugin)
{
    const struct gsh_affinity_plugin *(*entry)(void);
    void *library = gsh_plugin_open(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = library != NULL ? dlsym(library, GSH_AFFINITY_PLUGIN_ENTRY) : NULL;
    if (symbol == NULL) {
        const char *why = dlerror();
        gsh_log(GSH_LOG_INFO, GSH_LOG_PROXY, "no hwloc: %s", why != NULL ? why : plugin);
        return NULL;
    }
    memcpy(&entry, &symbol, sizeof(entry));
    return strcmp(entry()->version, GSHMEM_VENDOR_STRING) == 0 ? entry() : NULL;
}

bool gsh_affinity_near_hwloc(const char *plugin, const char *device, struct gsh_cpus *out)
{
    char text[4096];
    const struct gsh_affinity_plugin *p = open_plugin(plugin);
    return p != NULL && p->near_device(device, text, sizeof(text)) && gsh_cpus_parse(text, out) &&
           !gsh_cpus_is_empty(out);
}

bool gsh_affinity_nearness(const char *plugin, const char *device, const char *const *others,
                           unsigned n, unsigned *near)
{
    const struct gsh_affinity_plugin *p = open_plugin(plugin);
    return p != NULL && p->nearness(device, others, n, near);
}

const char *gsh_affinity_nic(const char *net_devices, char *name, size_t room)
{
    size_t n = net_devices != NULL ? strcspn(net_devices, ":,") : 0;
    if (n == 0 || n >= room || strpbrk(net_devices, "^*/") != NULL ||
        strncmp(net_devices, "all", n) == 0) {
        return NULL;
    }
    memcpy(name, net_devices, n);
    name[n] = '\0';
    return name;
}
