/* SPDX-License-Identifier: Apache-2.0
 * What the CUDA row reports about its GPU and the routes to other GPUs of the node: the driver's
 * answers on peer access. */
#include <string.h>
#include "base/log.h"
#include "runtime/backend/cuda/device.h"
#include "runtime/instance/instance.h"

enum gsh_result gsh_cuda_attr(struct gsh_instance *pe, struct gsh_device_attr *attr)
{
    const struct gsh_cuda_device *d = pe->device;
    const struct gsh_cuda *cuda = gsh_cuda();
    CUdevice device;
    CUuuid uuid;
    size_t total = 0;
    int n_sms = 0;
    enum gsh_result r = gsh_cuda_result(cuda->CtxGetDevice(&device), "cuCtxGetDevice");
    if (r == GSH_OK) {
        r = gsh_cuda_result(cuda->DeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
    }
    if (r == GSH_OK) {
        r = gsh_cuda_result(cuda->DeviceTotalMem(&total, device), "cuDeviceTotalMem");
    }
    if (r == GSH_OK) {
        r = gsh_cuda_result(cuda->DeviceGetName(attr->name, sizeof(attr->name), device),
                            "cuDeviceGetName");
    }
    if (r == GSH_OK) {
        r = gsh_cuda_result(
            cuda->DeviceGetAttribute(&n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
            "cuDeviceGetAttribute");
    }
    if (r == GSH_OK) {
        memcpy(attr->uuid, &uuid, sizeof(attr->uuid));
        attr->is_cuda = 1;
        attr->ordinal = (int)device;
        attr->memory_bytes = total;
        attr->n_parts = d->shared != NULL ? d->n_parts : 0;
        attr->n_sms = d->shared != NULL ? (int32_t)d->n_sms : n_sms;
    }
    return r;
}

/* This process's ordinal of the GPU with that uuid; -1: not visible here. */
static int find_ordinal(const uint8_t uuid[16])
{
    const struct gsh_cuda *cuda = gsh_cuda();
    int n = 0;
    if (cuda->DeviceGetCount(&n) != CUDA_SUCCESS) {
        return -1;
    }
    for (int i = 0; i < n; i++) {
        CUuuid u;
        if (cuda->DeviceGetUuid(&u, i) == CUDA_SUCCESS && memcmp(&u, uuid, 16) == 0) {
            return i;
        }
    }
    return -1;
}

static int p2p_attribute(CUdevice_P2PAttribute what, int from, int to)
{
    int value = 0;
    return gsh_cuda()->DeviceGetP2PAttribute(&value, what, from, to) == CUDA_SUCCESS ? value : 0;
}

const char *gsh_cuda_route(struct gsh_instance *pe, const struct gsh_device_attr *mine,
                           const struct gsh_device_attr *theirs, int other)
{
    (void)pe;
    const int to = find_ordinal(theirs->uuid);
    if (memcmp(mine->uuid, theirs->uuid, sizeof(mine->uuid)) == 0) {
        return "same gpu";
    }
    if (to < 0) {
        return "nvlink"; /* hidden from this process; importing its memory will show */
    }
    if (!p2p_attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, mine->ordinal, to)) {
        gsh_log(GSH_LOG_INFO, GSH_LOG_DEVICE,
                "GPU %d (%s) has no peer access to PE %d's GPU: no NVLink, and PCIe peer access is "
                "off",
                mine->ordinal, mine->name, other);
        return NULL;
    }
    if (!p2p_attribute(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, mine->ordinal, to)) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_DEVICE,
                "the link to PE %d's GPU has no atomics: AMOs on it "
                "are atomic only among this GPU's own",
                other);
        return "pcie";
    }
    return "nvlink";
}

void gsh_cuda_pci_address(struct gsh_instance *pe, char *out, size_t bytes)
{
    const struct gsh_cuda_device *d = pe->device;
    if (d->cuda->DeviceGetPCIBusId(out, (int)bytes, d->ordinal) != CUDA_SUCCESS) {
        out[0] = '\0';
    }
}
