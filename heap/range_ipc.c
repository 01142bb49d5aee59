/* SPDX-License-Identifier: Apache-2.0
 * See range_ipc.h. */
#include "heap/range_ipc.h"

#include <string.h>
#include "base/util.h"

#ifdef GSH_HAVE_CUDA

_Static_assert(sizeof(CUipcMemHandle) == GSH_IPC_HANDLE_BYTES, "the handle travels");

/* With the device's primary context, which its memory belongs to. */
static enum gsh_result enter(CUdevice device)
{
    CUcontext context = NULL;
    enum gsh_result r = gsh_cuda_note(gsh_cuda()->DevicePrimaryCtxRetain(&context, device),
                                      "cuDevicePrimaryCtxRetain");
    if (r != GSH_OK) {
        return r;
    }
    r = gsh_cuda_note(gsh_cuda()->CtxPushCurrent(context), "cuCtxPushCurrent");
    if (r != GSH_OK) {
        (void)gsh_cuda()->DevicePrimaryCtxRelease(device);
    }
    return r;
}

static void leave(CUdevice device)
{
    CUcontext context;
    (void)gsh_cuda()->CtxPopCurrent(&context);
    (void)gsh_cuda()->DevicePrimaryCtxRelease(device);
}

enum gsh_result gsh_range_ipc_get(CUdevice device, uint64_t ptr, uint64_t bytes, uint64_t *start,
                                  uint64_t *size, uint8_t handle[GSH_IPC_HANDLE_BYTES])
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CUdeviceptr base = 0;
    size_t whole = 0;
    CUipcMemHandle made;
    if (cuda->IpcGetMemHandle == NULL || cuda->IpcOpenMemHandle == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "the driver cannot share memory of cudaMalloc");
    }
    enum gsh_result r = enter(device);
    if (r != GSH_OK) {
        return r;
    }
    r = gsh_cuda_note(cuda->MemGetAddressRange(&base, &whole, ptr), "cuMemGetAddressRange");
    if (r == GSH_OK && !gsh_range_fits(ptr - base, bytes, whole)) {
        r = gsh_note(GSH_ERR_ARG,
                     "no memory is at 0x%llx, or ends there: freed, or never allocated",
                     (unsigned long long)ptr);
    }
    if (r == GSH_OK) {
        r = gsh_cuda_note(cuda->IpcGetMemHandle(&made, base), "cuIpcGetMemHandle");
    }
    leave(device);
    if (r == GSH_OK) {
        *start = base;
        *size = whole;
        memcpy(handle, &made, sizeof(made));
    }
    return r;
}

enum gsh_result gsh_range_ipc_open(CUdevice device, const uint8_t handle[GSH_IPC_HANDLE_BYTES],
                                   uint64_t *base)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CUipcMemHandle given;
    CUdeviceptr at = 0;
    memcpy(&given, handle, sizeof(given));
    if (cuda->IpcOpenMemHandle == NULL || cuda->IpcCloseMemHandle == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "the driver cannot share memory of cudaMalloc");
    }
    enum gsh_result r = enter(device);
    if (r != GSH_OK) {
        return r;
    }
    r = gsh_cuda_note(cuda->IpcOpenMemHandle(&at, given, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                      "cuIpcOpenMemHandle");
    leave(device);
    *base = at;
    return r;
}

void gsh_range_ipc_close(CUdevice device, uint64_t base)
{
    if (enter(device) == GSH_OK) {
        (void)gsh_cuda()->IpcCloseMemHandle(base);
        leave(device);
    }
}

#else

enum gsh_result gsh_range_ipc_get(CUdevice device, uint64_t ptr, uint64_t bytes, uint64_t *start,
                                  uint64_t *size, uint8_t handle[GSH_IPC_HANDLE_BYTES])
{
    (void)device;
    (void)ptr;
    (void)bytes;
    (void)start;
    (void)size;
    (void)handle;
    return gsh_note(GSH_ERR_UNSUPPORTED, "this library was built without CUDA");
}

enum gsh_result gsh_range_ipc_open(CUdevice device, const uint8_t handle[GSH_IPC_HANDLE_BYTES],
                                   uint64_t *base)
{
    (void)device;
    (void)handle;
    (void)base;
    return gsh_note(GSH_ERR_UNSUPPORTED, "this library was built without CUDA");
}

void gsh_range_ipc_close(CUdevice device, uint64_t base)
{
    (void)device;
    (void)base;
}

#endif
