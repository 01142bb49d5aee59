/* SPDX-License-Identifier: Apache-2.0
 * Puts the proxy's thread where affinity.h says, once the device is known. If that fails the thread
 * stays where it is: only speed depends on it. */
#include "runtime/far/affinity_proxy.h"

#include <stdlib.h>
#include <string.h>
#include "proxy/proxy.h"
#include "base/log.h"
#include "runtime/instance/instance.h"
#include "runtime/far/affinity.h"

static bool find_near(const struct gsh_instance *pe, const char *device, struct gsh_cpus *cpus)
{
    return gsh_affinity_near_hwloc(pe->env.hwloc_plugin, device, cpus) ||
           gsh_affinity_near("/sys", device, cpus);
}

void gsh_affinity_proxy(struct gsh_instance *pe)
{
    struct gsh_cpus allowed = {{0}}, gpu, nic, cpus;
    const char *setting = pe->env.proxy_cpus;
    char address[32], nic_name[64], text[256];
    if (pe->proxy == NULL ||
        gsh_proxy_get_cpus(pe->proxy, allowed.bits, sizeof(allowed.bits)) != GSH_OK) {
        return;
    }
    bool is_auto = strcmp(setting, "auto") == 0;
    pe->device_ops->pci_address(pe, address, sizeof(address));
    bool has_gpu = is_auto && address[0] != '\0' && find_near(pe, address, &gpu);
    const char *name =
        gsh_affinity_nic(secure_getenv("UCX_NET_DEVICES"), nic_name, sizeof(nic_name));
    bool has_nic = has_gpu && name != NULL && find_near(pe, name, &nic);
    enum gsh_affinity affinity =
        gsh_affinity_choose(setting, &allowed, has_gpu ? &gpu : NULL, has_nic ? &nic : NULL, &cpus);
    if (affinity == GSH_AFFINITY_OUTSIDE) {
        gsh_log(is_auto ? GSH_LOG_INFO : GSH_LOG_WARN, GSH_LOG_PROXY,
                "%s%s: this process may use none of these CPUs, but %s; the proxy's thread is left "
                "where it is",
                is_auto ? "near GPU " : "GSHMEM_PROXY_CPUS=", is_auto ? address : setting,
                gsh_cpus_print(&allowed, text, sizeof(text)));
    } else if (affinity == GSH_AFFINITY_PIN &&
               gsh_proxy_set_cpus(pe->proxy, cpus.bits, sizeof(cpus.bits)) == GSH_OK) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_PROXY, "the proxy's thread runs on CPUs %s",
                gsh_cpus_print(&cpus, text, sizeof(text)));
    }
}
