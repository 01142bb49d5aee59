/* SPDX-License-Identifier: Apache-2.0
 * GPU memory through CUDA's virtual memory calls: each chunk is one physical allocation, mapped for
 * all devices that use the range, shared as a POSIX descriptor or a FABRIC handle. A mapping keeps
 * its physical memory alive, so no handle outlives the function that made it, except one
 * descriptor. */
#include "heap/memory.h"

#ifdef GSH_HAVE_CUDA

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/util.h"

struct cuda_memory {
    struct gsh_memory memory;
    CUmemAllocationProp prop;
    bool is_fabric;
    bool is_fabric_too;      /* a chunk also gets FABRIC handles, if the system allows it */
    const CUdevice *devices; /* the caller's */
    int n_devices;
    /* A descriptor of the first chunk that was shared, open as long as the chunk exists: a process
     * without one waits 0.7 ms for an export, with one 0.05 ms. -1: none. */
    int kept_fd;
    uint64_t kept_off;
};

static struct cuda_memory *cuda_memory(const struct gsh_memory *memory)
{
    return (struct cuda_memory *)memory;
}

/* ---- addresses ---- */

static enum gsh_result reserve_once(uint64_t raw_bytes, uint64_t raw_align, uint64_t bytes,
                                    uint64_t align, struct gsh_reservation *out)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CUdeviceptr raw = 0;
    enum gsh_result r =
        gsh_cuda_note(cuda->MemAddressReserve(&raw, raw_bytes, raw_align, 0, 0),
                      "cannot reserve GPU addresses (GSHMEM_HEAP_RANGE): cuMemAddressReserve");
    if (r != GSH_OK) {
        return r;
    }
    uint64_t base = gsh_align_up(raw, align);
    if (base - raw > raw_bytes - bytes) {
        cuda->MemAddressFree(raw, raw_bytes);
        return gsh_note(GSH_ERR_NOMEM, "cuMemAddressReserve does not align to %llu bytes",
                        (unsigned long long)align);
    }
    *out = (struct gsh_reservation){
        .base = base, .bytes = bytes, .align = align, .raw = raw, .raw_bytes = raw_bytes};
    return GSH_OK;
}

static enum gsh_result cuda_reserve(uint64_t bytes, uint64_t align, struct gsh_reservation *out)
{
    enum gsh_result r = reserve_once(bytes, align, bytes, align, out);
    if (r != GSH_OK && align <= UINT64_MAX - bytes) {
        r = reserve_once(bytes + align, GSH_MEMORY_CHUNK, bytes, align, out);
    }
    if (r != GSH_OK) {
        r = reserve_once(bytes, GSH_MEMORY_CHUNK, bytes, GSH_MEMORY_CHUNK, out);
    }
    return r;
}

static void cuda_unreserve(struct gsh_reservation *reservation)
{
    if (reservation->raw_bytes) {
        gsh_cuda()->MemAddressFree(reservation->raw, reservation->raw_bytes);
    }
    memset(reservation, 0, sizeof(*reservation));
}

static void cuda_unmap(uint64_t addr, uint64_t bytes)
{
    /* It fails only when the driver is going down with the process. */
    gsh_cuda()->MemUnmap(addr, bytes);
}

/* ---- one PE's memory ---- */

static bool has(CUdevice device, CUdevice_attribute attribute)
{
    int value = 0;
    return gsh_cuda()->DeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS && value;
}

static enum gsh_result choose_handle(struct cuda_memory *m,
                                     const struct gsh_memory_options *options)
{
    CUdevice device = options->cuda_device;
    m->prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    if (!options->is_shared) {
        return GSH_OK;
    }
    if (options->fabric) {
        m->prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
        if (has(device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED)) {
            return GSH_OK;
        }
        return gsh_note(GSH_ERR_UNSUPPORTED, "GPU %d cannot share memory by FABRIC handles",
                        (int)device);
    }
    m->prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    m->is_fabric_too =
        options->any_handle && has(device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);
    if (has(device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)) {
        return GSH_OK;
    }
    return gsh_note(GSH_ERR_UNSUPPORTED, "GPU %d cannot share memory by file descriptors",
                    (int)device);
}

static enum gsh_result set_up(struct cuda_memory *m, const struct gsh_memory_options *options)
{
    CUdevice device = options->cuda_device;
    if (!has(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)) {
        return gsh_note(GSH_ERR_UNSUPPORTED, "GPU %d has no virtual memory management",
                        (int)device);
    }
    m->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    m->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    m->prop.location.id = device;
    m->prop.allocFlags.gpuDirectRDMACapable =
        has(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
    enum gsh_result r = choose_handle(m, options);
    if (r != GSH_OK) {
        return r;
    }
    size_t granule = 0;
    r = gsh_cuda_note(gsh_cuda()->MemGetAllocationGranularity(&granule, &m->prop,
                                                              CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                      "cuMemGetAllocationGranularity");
    if (r == GSH_OK && (granule == 0 || GSH_MEMORY_CHUNK % granule != 0)) {
        r = gsh_note(GSH_ERR_UNSUPPORTED, "GPU %d maps memory by %zu bytes, not by 2 MiB",
                     (int)device, granule);
    }
    return r;
}

/* If there is no copy, exports just take longer. */
static void keep_fd(struct cuda_memory *m, int fd, uint64_t off)
{
    if (m->kept_fd >= 0) {
        return;
    }
    m->kept_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    m->kept_off = off;
}

/* The chunks from `off` on are going away. */
static void drop_fd(struct cuda_memory *m, uint64_t off)
{
    if (m->kept_fd < 0 || m->kept_off < off) {
        return;
    }
    close(m->kept_fd);
    m->kept_fd = -1;
}

static void cuda_destroy(struct gsh_memory **memory)
{
    struct cuda_memory *m = *memory != NULL ? cuda_memory(*memory) : NULL;
    *memory = NULL;
    if (m == NULL) {
        return;
    }
    drop_fd(m, 0);
    free(m);
}

static const struct gsh_memory_ops cuda_ops;

static enum gsh_result cuda_create(const struct gsh_memory_options *options,
                                   struct gsh_memory **out)
{
    if (gsh_cuda() == NULL) {
        return GSH_ERR_UNSUPPORTED; /* reported there */
    }
    struct cuda_memory *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for the heap's bookkeeping");
    }
    m->memory.ops = &cuda_ops;
    m->is_fabric = options->fabric;
    m->kept_fd = -1;
    m->devices = options->cuda_devices;
    m->n_devices = options->n_cuda_devices;
    enum gsh_result r = set_up(m, options);
    if (r != GSH_OK) {
        free(m);
        return r;
    }
    *out = &m->memory;
    return GSH_OK;
}

/* Maps handle's chunk at addr for every device of the range. */
static enum gsh_result map_handle(const struct cuda_memory *m, CUmemGenericAllocationHandle handle,
                                  uint64_t addr, uint64_t bytes)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    enum gsh_result r = gsh_cuda_note(cuda->MemMap(addr, bytes, 0, handle, 0), "cuMemMap");
    if (r != GSH_OK) {
        return r;
    }
    for (int i = 0; i < m->n_devices && r == GSH_OK; i++) {
        CUmemAccessDesc access = {
            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = m->devices[i]},
            .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        r = gsh_cuda_note(cuda->MemSetAccess(addr, bytes, &access, 1), "cuMemSetAccess");
    }
    if (r != GSH_OK) {
        cuda_unmap(addr, bytes);
    }
    return r;
}

static enum gsh_result create_chunk(const struct cuda_memory *m, uint64_t bytes,
                                    CUmemGenericAllocationHandle *handle)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CUmemAllocationProp prop = m->prop;
    if (m->is_fabric_too) {
        prop.requestedHandleTypes |= CU_MEM_HANDLE_TYPE_FABRIC;
        /* it fails if no IMEX channel is open to this user */
        if (cuda->MemCreate(handle, bytes, &prop, 0) == CUDA_SUCCESS) {
            return GSH_OK;
        }
    }
    return gsh_cuda_note(cuda->MemCreate(handle, bytes, &m->prop, 0), "no GPU memory: cuMemCreate");
}

static enum gsh_result cuda_commit(struct gsh_memory *memory, uint64_t addr, struct gsh_chunk chunk)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    const struct cuda_memory *m = cuda_memory(memory);
    CUmemGenericAllocationHandle handle;
    enum gsh_result r = create_chunk(m, chunk.bytes, &handle);
    if (r != GSH_OK) {
        return r;
    }
    r = map_handle(m, handle, addr, chunk.bytes);
    cuda->MemRelease(handle); /* lives on in the mapping */
    return r;
}

static void cuda_release(struct gsh_memory *memory, uint64_t off)
{
    drop_fd(cuda_memory(memory), off); /* the last unmap, here or in a peer, has done the rest */
}

static enum gsh_result cuda_zero(struct gsh_memory *memory, uint64_t addr, uint64_t bytes)
{
    (void)memory;
    const struct gsh_cuda *cuda = gsh_cuda();
    enum gsh_result r = gsh_cuda_note(cuda->MemsetD8Async(addr, 0, bytes, NULL), "cuMemsetD8Async");
    if (r != GSH_OK) {
        return r;
    }
    return gsh_cuda_note(cuda->StreamSynchronize(NULL), "cuStreamSynchronize");
}

/* ---- sharing ---- */

_Static_assert(sizeof(CUmemFabricHandle) <= sizeof(((struct gsh_share *)0)->bytes),
               "gsh_share holds a FABRIC handle");

static enum gsh_share_kind cuda_share_kind(const struct gsh_memory *memory, uint64_t off)
{
    (void)off;
    return cuda_memory(memory)->is_fabric ? GSH_SHARE_BYTES : GSH_SHARE_FD;
}

static enum gsh_result export_handle(const struct cuda_memory *m,
                                     CUmemGenericAllocationHandle handle, struct gsh_share *out)
{
    void *to = m->is_fabric ? (void *)out->bytes : &out->fd;
    return gsh_cuda_note(
        gsh_cuda()->MemExportToShareableHandle(to, handle, m->prop.requestedHandleTypes, 0),
        "cuMemExportToShareableHandle");
}

static enum gsh_result cuda_share(struct gsh_memory *memory, uint64_t addr, struct gsh_chunk chunk,
                                  struct gsh_share *out)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    struct cuda_memory *m = cuda_memory(memory);
    CUmemGenericAllocationHandle handle;
    enum gsh_result r =
        gsh_cuda_note(cuda->MemRetainAllocationHandle(&handle, (void *)(uintptr_t)addr),
                      "cuMemRetainAllocationHandle");
    if (r != GSH_OK) {
        return r;
    }
    r = export_handle(m, handle, out);
    cuda->MemRelease(handle);
    if (r == GSH_OK && !m->is_fabric) {
        keep_fd(m, out->fd, chunk.off);
    }
    return r;
}

static enum gsh_result cuda_accept(struct gsh_memory *memory, int slot, uint64_t addr,
                                   struct gsh_chunk chunk, const struct gsh_share *share)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    const struct cuda_memory *m = cuda_memory(memory);
    CUmemFabricHandle fabric;
    CUmemGenericAllocationHandle handle;
    void *from = (void *)(uintptr_t)share->fd; /* a descriptor travels as the pointer's value */
    if (m->is_fabric) {
        memcpy(&fabric, share->bytes, sizeof(fabric));
        from = &fabric;
    } else if (share->fd < 0) {
        return gsh_note(GSH_ERR_SYSTEM, "no descriptor of the memory of slot %d", slot);
    }
    enum gsh_result r = gsh_cuda_note(
        cuda->MemImportFromShareableHandle(&handle, from, m->prop.requestedHandleTypes),
        "cuMemImportFromShareableHandle");
    if (r != GSH_OK) {
        return r;
    }
    r = map_handle(m, handle, addr, chunk.bytes);
    cuda->MemRelease(handle);
    return r;
}

/* ---- memory that the program has registered ---- */

static uint64_t cuda_granule(void)
{
    return GSH_MEMORY_CHUNK;
}

static void cuda_settle(struct gsh_registration *registration)
{
    for (int i = 0; registration->is_open && i < registration->n_pieces; i++) {
        gsh_cuda()->MemRelease(registration->pieces[i].handle);
    }
    registration->is_open = false;
}

static void cuda_give_back(struct gsh_memory *memory, struct gsh_registration *registration)
{
    (void)memory;
    cuda_settle(registration);
    free(registration->pieces);
    *registration = (struct gsh_registration){0};
}

/* Checks that others can map a piece, and that it is this PE's. */
static enum gsh_result check_piece(const struct cuda_memory *m, const struct gsh_piece *piece)
{
    CUmemAllocationProp prop;
    enum gsh_result r =
        gsh_cuda_note(gsh_cuda()->MemGetAllocationPropertiesFromHandle(&prop, piece->handle),
                      "cuMemGetAllocationPropertiesFromHandle");
    if (r != GSH_OK) {
        return r;
    }
    if (prop.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        prop.location.id != m->prop.location.id) {
        return gsh_note(GSH_ERR_ARG, "it is not memory of this PE's GPU %d",
                        (int)m->prop.location.id);
    }
    unsigned wanted = m->prop.requestedHandleTypes;
    if ((prop.requestedHandleTypes & wanted) != wanted) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "its cuMemCreate did not ask for handles that can be passed on: "
                        "requestedHandleTypes must have %s",
                        m->is_fabric ? "CU_MEM_HANDLE_TYPE_FABRIC"
                                     : "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
    }
    return GSH_OK;
}

/* Adds the mapping that holds the byte at addr as one more piece, which begins at *start. */
static enum gsh_result add_piece(const struct cuda_memory *m, uint64_t addr,
                                 struct gsh_registration *registration, uint64_t *start)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    CUdeviceptr base = 0;
    size_t bytes = 0;
    CUmemGenericAllocationHandle handle;
    if (cuda->MemGetAddressRange(&base, &bytes, addr) != CUDA_SUCCESS) {
        return gsh_note(GSH_ERR_ARG, "no GPU memory is at %#llx: it was freed, or never allocated",
                        (unsigned long long)addr);
    }
    if (!gsh_array_reserve(&registration->pieces, &registration->pieces_room,
                           (size_t)registration->n_pieces + 1, sizeof(*registration->pieces))) {
        return gsh_note(GSH_ERR_NOMEM, "no host memory for the buffer's pieces");
    }
    if (cuda->MemRetainAllocationHandle(&handle, (void *)(uintptr_t)base) != CUDA_SUCCESS) {
        return gsh_note(GSH_ERR_UNSUPPORTED,
                        "cudaMalloc's memory cannot be shared in place: take memory of "
                        "cuMemCreate, PyTorch's expandable segments, or gshmem_malloc");
    }
    registration->pieces[registration->n_pieces] =
        (struct gsh_piece){.bytes = bytes, .handle = handle};
    *start = base;
    return check_piece(m, &registration->pieces[registration->n_pieces++]);
}

static enum gsh_result cuda_register_range(struct gsh_memory *memory, uint64_t addr, uint64_t bytes,
                                           struct gsh_registration *out)
{
    struct gsh_registration registration = {.is_open = true};
    enum gsh_result r = GSH_OK;
    for (uint64_t at = addr; r == GSH_OK && at < addr + bytes;
         at = registration.start + registration.bytes) {
        uint64_t start = 0;
        r = add_piece(cuda_memory(memory), at, &registration, &start);
        if (r == GSH_OK) {
            registration.start = registration.n_pieces == 1 ? start : registration.start;
            registration.bytes += registration.pieces[registration.n_pieces - 1].bytes;
        }
    }
    if (r != GSH_OK) {
        cuda_give_back(memory, &registration);
        return r;
    }
    *out = registration;
    return GSH_OK;
}

static enum gsh_result cuda_attach(struct gsh_memory *memory, uint64_t addr,
                                   const struct gsh_piece *piece)
{
    return map_handle(cuda_memory(memory), piece->handle, addr, piece->bytes);
}

static enum gsh_result cuda_share_piece(struct gsh_memory *memory, const struct gsh_piece *piece,
                                        struct gsh_share *out)
{
    return export_handle(cuda_memory(memory), piece->handle, out);
}

static enum gsh_result cuda_accept_piece(struct gsh_memory *memory, int slot, uint64_t addr,
                                         const struct gsh_piece *piece,
                                         const struct gsh_share *share)
{
    return cuda_accept(memory, slot, addr, (struct gsh_chunk){.bytes = piece->bytes}, share);
}

static const struct gsh_memory_ops cuda_ops = {
    .name = "cuda",
    .reserve = cuda_reserve,
    .unreserve = cuda_unreserve,
    .unmap = cuda_unmap,
    .create = cuda_create,
    .destroy = cuda_destroy,
    .commit = cuda_commit,
    .release = cuda_release,
    .zero = cuda_zero,
    .share_kind = cuda_share_kind,
    .share = cuda_share,
    .accept = cuda_accept,
    .granule = cuda_granule,
    .register_range = cuda_register_range,
    .give_back = cuda_give_back,
    .settle = cuda_settle,
    .attach = cuda_attach,
    .share_piece = cuda_share_piece,
    .accept_piece = cuda_accept_piece,
};

const struct gsh_memory_ops *const gsh_memory_cuda = &cuda_ops;

#else

#include <stddef.h>

const struct gsh_memory_ops *const gsh_memory_cuda = NULL;

#endif
