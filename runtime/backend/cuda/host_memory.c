/* SPDX-License-Identifier: Apache-2.0
 * Host memory that the GPU is to reach: the library's own, and the program's registered buffers. */
#include "runtime/backend/cuda/device.h"

#include <ctype.h>
#include <stdio.h>
#include "runtime/backend/cuda/pins.h"
#include "runtime/instance/instance.h"

static enum gsh_result map(struct gsh_instance *pe, void *memory, size_t bytes, unsigned flags,
                           uint64_t *device_address)
{
    struct gsh_cuda_device *d = pe->device;
    const bool is_io = (flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0; /* there is another way then */
    enum gsh_result (*const result)(CUresult, const char *) =
        is_io ? gsh_cuda_note : gsh_cuda_result;
    CUdeviceptr address = 0;
    flags |= CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = result(d->cuda->MemHostRegister(memory, bytes, flags), "cuMemHostRegister");
    if (r == GSH_OK) {
        r = result(d->cuda->MemHostGetDevicePointer(&address, memory, 0),
                   "cuMemHostGetDevicePointer");
    }
    gsh_cuda_leave(d, entered);
    if (r == GSH_OK) {
        *device_address = address;
    }
    return r;
}

enum gsh_result gsh_cuda_map_host(struct gsh_instance *pe, void *memory, size_t bytes,
                                  uint64_t *device_address)
{
    return map(pe, memory, bytes, 0, device_address);
}

enum gsh_result gsh_cuda_map_registers(struct gsh_instance *pe, void *registers, size_t bytes,
                                       uint64_t *device_address)
{
    return map(pe, registers, bytes, CU_MEMHOSTREGISTER_IOMEMORY, device_address);
}

enum gsh_result gsh_cuda_share_memory(struct gsh_instance *pe, void *memory, uint64_t bytes,
                                      int *fd)
{
    struct gsh_cuda_device *d = pe->device;
    if (d->cuda->MemGetHandleForAddressRange == NULL) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "this driver of CUDA has no dma-buf");
    }
    bool entered = gsh_cuda_enter(d);
    enum gsh_result r = gsh_cuda_note(
        d->cuda->MemGetHandleForAddressRange(fd, (CUdeviceptr)(uintptr_t)memory, bytes,
                                             CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
        "cuMemGetHandleForAddressRange");
    gsh_cuda_leave(d, entered);
    return r;
}

/* As sysfs writes it: four digits of the domain, in small letters. */
void gsh_cuda_pci_bus(struct gsh_instance *pe, char *out, size_t size)
{
    const struct gsh_cuda_device *d = pe->device;
    char bus[32] = "";
    (void)d->cuda->DeviceGetPCIBusId(bus, sizeof(bus), d->ordinal);
    for (char *p = bus; *p != '\0'; p++) {
        *p = (char)tolower((unsigned char)*p);
    }
    snprintf(out, size, "%s", bus);
}

void gsh_cuda_unmap_host(struct gsh_instance *pe, void *memory)
{
    struct gsh_cuda_device *d = pe->device;
    if (memory != NULL && d != NULL && d->context != NULL) {
        bool entered = gsh_cuda_enter(d);
        d->cuda->MemHostUnregister(memory); /* fails if it is not registered */
        gsh_cuda_leave(d, entered);
    }
}

static bool is_gpu_memory(const struct gsh_cuda_device *d, const void *p, bool *is_known)
{
    CUmemorytype type = CU_MEMORYTYPE_HOST;
    *is_known = d->cuda->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                             (CUdeviceptr)(uintptr_t)p) == CUDA_SUCCESS;
    return *is_known && type == CU_MEMORYTYPE_DEVICE;
}

/* GPU memory, and host memory that CUDA has already pinned, need nothing. */
enum gsh_result gsh_cuda_pin(struct gsh_instance *pe, void *memory, size_t bytes, bool *is_device)
{
    const struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d), is_known = false;
    *is_device = is_gpu_memory(d, memory, &is_known);
    CUresult code = *is_device ? CUDA_SUCCESS : gsh_cuda_pin_memory(d->cuda, memory, bytes);
    gsh_cuda_leave(d, entered);
    if (code == CUDA_ERROR_INVALID_VALUE) {
        return gsh_note(GSH_ERR_ARG, "no memory is at [%p, %p + %zu): freed, or never allocated",
                        memory, memory, bytes);
    }
    if (code == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
        return gsh_note(
            GSH_ERR_ARG,
            "the program or one of its libraries has pinned a part of it, but not all of it");
    }
    return gsh_cuda_note(code, "cuMemHostRegister");
}

void gsh_cuda_unpin(struct gsh_instance *pe, void *memory, size_t bytes)
{
    const struct gsh_cuda_device *d = pe->device;
    bool entered = gsh_cuda_enter(d);
    gsh_cuda_unpin_memory(d->cuda, memory, bytes);
    gsh_cuda_leave(d, entered);
}
