/* SPDX-License-Identifier: Apache-2.0
 * Puts the proxy's thread where place.h says, when the device is known. It goes on where it is when
 * that fails: it is a matter of speed alone. */
#include "runtime/setup/place_proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "proxy/proxy.h"
#include "runtime/backend/cuda/device.h"
#include "runtime/base/log.h"
#include "runtime/job/instance.h"
#include "runtime/setup/place.h"

/* "": this PE has no GPU, or it has no address. */
static void find_gpu(const struct gsh_instance *pe, char *address, int room)
{
    address[0] = '\0';
#ifdef GSH_HAVE_CUDA
    const struct gsh_cuda_device *d = pe->device;
    if (strcmp(pe->device_ops->name, "cuda") == 0 &&
        d->cuda->DeviceGetPCIBusId(address, room, d->ordinal) != CUDA_SUCCESS) {
        address[0] = '\0';
    }
#else
    (void)pe;
    (void)room;
#endif
}

static bool find_near(const struct gsh_instance *pe, const char *device, struct gsh_cpus *cpus)
{
    return gsh_place_near_hwloc(pe->env.hwloc_plugin, device, cpus) ||
           gsh_place_near("/sys", device, cpus);
}

void gsh_place_proxy(struct gsh_instance *pe)
{
    struct gsh_cpus allowed = {{0}}, gpu, nic, cpus;
    const char *setting = pe->env.proxy_cpus;
    char address[32], nic_name[64], text[256];
    if (pe->proxy == NULL ||
        gsh_proxy_get_cpus(pe->proxy, allowed.bits, sizeof(allowed.bits)) != GSH_OK) {
        return;
    }
    bool is_auto = strcmp(setting, "auto") == 0;
    find_gpu(pe, address, sizeof(address));
    bool has_gpu = is_auto && address[0] != '\0' && find_near(pe, address, &gpu);
    const char *name = gsh_place_nic(getenv("UCX_NET_DEVICES"), nic_name, sizeof(nic_name));
    bool has_nic = has_gpu && name != NULL && find_near(pe, name, &nic);
    enum gsh_place place =
        gsh_place_choose(setting, &allowed, has_gpu ? &gpu : NULL, has_nic ? &nic : NULL, &cpus);
    if (place == GSH_PLACE_OUTSIDE) {
        gsh_log(is_auto ? GSH_LOG_INFO : GSH_LOG_WARN, GSH_LOG_PROXY,
                "%s%s: this process may use none of these CPUs, but %s; the proxy's thread is left "
                "where it is",
                is_auto ? "near GPU " : "GSHMEM_PROXY_CPUS=", is_auto ? address : setting,
                gsh_cpus_print(&allowed, text, sizeof(text)));
    } else if (place == GSH_PLACE_PIN &&
               gsh_proxy_set_cpus(pe->proxy, cpus.bits, sizeof(cpus.bits)) == GSH_OK) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_PROXY, "the proxy's thread runs on CPUs %s",
                gsh_cpus_print(&cpus, text, sizeof(text)));
    }
}
