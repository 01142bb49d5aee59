/* SPDX-License-Identifier: Apache-2.0
 * Stands between the heap and the CUDA driver: makes call N fail and counts what is still held.
 * Behind it is the driver, or, where there is no GPU, a model of its virtual memory calls made of
 * memfds: a handle is a descriptor, a mapping keeps one of its own. */
#ifndef GSH_TEST_CUDA_MODEL_H
#define GSH_TEST_CUDA_MODEL_H

#include "base/cuda.h"

#ifdef GSH_HAVE_CUDA

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/test.h"

#define MODEL_MAPPINGS 512

struct model_mapping {
    uint64_t addr, bytes; /* 0: unused */
    int fd;               /* model only */
    uint32_t devices;     /* bit d: device d has access */
};

/* Properties of the model's memory, by its inode. */
struct model_prop {
    ino_t inode;
    CUmemAllocationProp prop;
};

static struct {
    pthread_mutex_t mutex;
    const struct gsh_cuda *driver; /* NULL: the model */
    struct gsh_cuda table;
    struct model_mapping mappings[MODEL_MAPPINGS];
    struct model_prop props[MODEL_MAPPINGS];
    unsigned n_props;                    /* made in all; the latest MODEL_MAPPINGS are kept */
    int n_ranges, n_handles, n_mappings; /* held by this process */
} model = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The n-th call on this thread that may fail does fail, counted from 1, and so do all later ones;
 * 0: none. */
static _Thread_local unsigned model_fail_at;

static bool model_fails(void)
{
    if (model_fail_at > 1) {
        model_fail_at--;
    } else if (model_fail_at == 1) {
        return true;
    }
    return false;
}

/* Applies the change if the call succeeded. */
static CUresult model_count(CUresult code, int *counter, int change)
{
    if (code == CUDA_SUCCESS) {
        __atomic_add_fetch(counter, change, __ATOMIC_RELAXED);
    }
    return code;
}

static CUresult model_result(bool ok)
{
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The caller holds the mutex. Whole mappings only, as the driver demands. */
static struct model_mapping *model_find(uint64_t addr)
{
    for (int i = 0; i < MODEL_MAPPINGS; i++) {
        if (model.mappings[i].bytes && model.mappings[i].addr == addr) {
            return &model.mappings[i];
        }
    }
    return NULL;
}

/* ---- the calls ---- */

static CUresult model_reserve(CUdeviceptr *out, size_t bytes, size_t align, CUdeviceptr addr,
                              unsigned long long flags)
{
    CUresult code = CUDA_ERROR_OUT_OF_MEMORY;
    if (model_fails()) {
        return code;
    }
    if (model.driver) {
        code = model.driver->MemAddressReserve(out, bytes, align, addr, flags);
    } else {
        /* Like a driver that does not align beyond its granule. */
        size_t granule = (size_t)2 << 20;
        char *p = mmap(NULL, bytes + granule, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) {
            size_t skip = (granule - (uintptr_t)p % granule) % granule;
            if (skip) {
                munmap(p, skip);
            }
            munmap(p + skip + bytes, granule - skip);
            *out = (CUdeviceptr)(uintptr_t)(p + skip);
            code = CUDA_SUCCESS;
        }
    }
    return model_count(code, &model.n_ranges, 1);
}

static CUresult model_address_free(CUdeviceptr addr, size_t bytes)
{
    CUresult code = model.driver ? model.driver->MemAddressFree(addr, bytes)
                                 : model_result(munmap((void *)(uintptr_t)addr, bytes) == 0);
    CHECK(code == CUDA_SUCCESS);
    return model_count(code, &model.n_ranges, -1);
}

static CUresult model_create(CUmemGenericAllocationHandle *out, size_t bytes,
                             const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult code = CUDA_ERROR_OUT_OF_MEMORY;
    if (model_fails()) {
        return code;
    }
    if (model.driver) {
        code = model.driver->MemCreate(out, bytes, prop, flags);
    } else {
        int fd = memfd_create("gshmem model", MFD_CLOEXEC);
        code = model_result(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
        *out = (CUmemGenericAllocationHandle)fd;
        struct stat st = {0};
        fstat(fd, &st);
        pthread_mutex_lock(&model.mutex);
        model.props[model.n_props++ % MODEL_MAPPINGS] =
            (struct model_prop){.inode = st.st_ino, .prop = *prop};
        pthread_mutex_unlock(&model.mutex);
    }
    return model_count(code, &model.n_handles, 1);
}

static CUresult model_release(CUmemGenericAllocationHandle handle)
{
    CUresult code =
        model.driver ? model.driver->MemRelease(handle) : model_result(close((int)handle) == 0);
    CHECK(code == CUDA_SUCCESS);
    return model_count(code, &model.n_handles, -1);
}

static CUresult model_retain(CUmemGenericAllocationHandle *out, void *addr)
{
    CUresult code = CUDA_ERROR_OUT_OF_MEMORY;
    if (model_fails()) {
        return code;
    }
    if (model.driver) {
        code = model.driver->MemRetainAllocationHandle(out, addr);
    } else {
        pthread_mutex_lock(&model.mutex);
        struct model_mapping *m = model_find((uint64_t)(uintptr_t)addr);
        code = model_result(m != NULL);
        if (m) {
            *out = (CUmemGenericAllocationHandle)fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
        }
        pthread_mutex_unlock(&model.mutex);
    }
    return model_count(code, &model.n_handles, 1);
}

static CUresult model_properties(CUmemAllocationProp *out, CUmemGenericAllocationHandle handle)
{
    struct stat st = {0};
    bool found = false;
    if (model_fails()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (model.driver) {
        return model.driver->MemGetAllocationPropertiesFromHandle(out, handle);
    }
    fstat((int)handle, &st);
    pthread_mutex_lock(&model.mutex);
    for (int i = 0; i < MODEL_MAPPINGS && !found; i++) {
        found = model.props[i].inode == st.st_ino;
        if (found) {
            *out = model.props[i].prop;
        }
    }
    pthread_mutex_unlock(&model.mutex);
    return model_result(found);
}

static CUresult model_address_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr addr)
{
    CUresult code = CUDA_ERROR_NOT_FOUND;
    if (model_fails()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (model.driver) {
        return model.driver->MemGetAddressRange(base, bytes, addr);
    }
    pthread_mutex_lock(&model.mutex);
    for (int i = 0; i < MODEL_MAPPINGS; i++) {
        const struct model_mapping *m = &model.mappings[i];
        if (m->bytes && addr - m->addr < m->bytes) {
            *base = m->addr;
            *bytes = m->bytes;
            code = CUDA_SUCCESS;
        }
    }
    pthread_mutex_unlock(&model.mutex);
    return code;
}

static CUresult model_map(CUdeviceptr addr, size_t bytes, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CUresult code = CUDA_ERROR_OUT_OF_MEMORY;
    if (model_fails()) {
        return code;
    }
    pthread_mutex_lock(&model.mutex);
    int i = 0;
    while (i < MODEL_MAPPINGS && model.mappings[i].bytes) {
        i++;
    }
    if (!CHECK(i < MODEL_MAPPINGS) || !CHECK(model_find(addr) == NULL)) {
        exit(1);
    }
    struct model_mapping m = {.addr = addr, .bytes = bytes, .fd = -1};
    if (model.driver) {
        code = model.driver->MemMap(addr, bytes, offset, handle, flags);
    } else {
        /* Without access until access is set. */
        m.fd = fcntl((int)handle, F_DUPFD_CLOEXEC, 0);
        void *p = mmap((void *)(uintptr_t)addr, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, m.fd,
                       (off_t)offset);
        code = model_result(m.fd >= 0 && p != MAP_FAILED);
    }
    if (code == CUDA_SUCCESS) {
        model.mappings[i] = m;
    }
    pthread_mutex_unlock(&model.mutex);
    return model_count(code, &model.n_mappings, 1);
}

static CUresult model_unmap(CUdeviceptr addr, size_t bytes)
{
    CUresult code = CUDA_SUCCESS;
    pthread_mutex_lock(&model.mutex);
    struct model_mapping *m = model_find(addr);
    if (!CHECK(m != NULL && m->bytes == bytes)) {
        exit(1);
    }
    if (model.driver) {
        code = model.driver->MemUnmap(addr, bytes);
    } else {
        close(m->fd);
        mmap((void *)(uintptr_t)addr, bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
    CHECK(code == CUDA_SUCCESS);
    m->bytes = 0;
    pthread_mutex_unlock(&model.mutex);
    return model_count(code, &model.n_mappings, -1);
}

static CUresult model_set_access(CUdeviceptr addr, size_t bytes, const CUmemAccessDesc *access,
                                 size_t n)
{
    CUresult code = CUDA_ERROR_OUT_OF_MEMORY;
    if (model_fails()) {
        return code;
    }
    pthread_mutex_lock(&model.mutex);
    struct model_mapping *m = model_find(addr);
    if (!CHECK(m != NULL && m->bytes == bytes && n == 1)) {
        exit(1);
    }
    m->devices |= 1u << access->location.id;
    pthread_mutex_unlock(&model.mutex);
    if (model.driver) {
        return model.driver->MemSetAccess(addr, bytes, access, n);
    }
    return model_result(mprotect((void *)(uintptr_t)addr, bytes, PROT_READ | PROT_WRITE) == 0);
}

/* A FABRIC handle of the model is the place of the mapping's descriptor in /proc. */
static CUresult model_export(void *out, CUmemGenericAllocationHandle handle,
                             CUmemAllocationHandleType type, unsigned long long flags)
{
    if (model_fails()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (model.driver) {
        return model.driver->MemExportToShareableHandle(out, handle, type, flags);
    }
    if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        *(int *)out = fcntl((int)handle, F_DUPFD_CLOEXEC, 0);
        return model_result(*(int *)out >= 0);
    }
    char own[64], other[64];
    struct model_mapping *found = NULL;
    snprintf(own, sizeof(own), "/proc/self/fd/%d", (int)handle);
    ino_t inode = 0;
    struct stat st;
    if (stat(own, &st) == 0) {
        inode = st.st_ino;
    }
    pthread_mutex_lock(&model.mutex);
    for (int i = 0; i < MODEL_MAPPINGS && !found; i++) {
        if (model.mappings[i].bytes && fstat(model.mappings[i].fd, &st) == 0 &&
            st.st_ino == inode) {
            found = &model.mappings[i];
        }
    }
    snprintf(other, sizeof(other), "/proc/%d/fd/%d", (int)getpid(), found ? found->fd : -1);
    pthread_mutex_unlock(&model.mutex);
    memcpy(out, other, sizeof(other));
    return model_result(found != NULL);
}

static CUresult model_import(CUmemGenericAllocationHandle *out, void *from,
                             CUmemAllocationHandleType type)
{
    CUresult code = CUDA_ERROR_OUT_OF_MEMORY;
    if (model_fails()) {
        return code;
    }
    if (model.driver) {
        code = model.driver->MemImportFromShareableHandle(out, from, type);
    } else {
        int fd = type == CU_MEM_HANDLE_TYPE_FABRIC ? open(from, O_RDWR | O_CLOEXEC)
                                                   : fcntl((int)(intptr_t)from, F_DUPFD_CLOEXEC, 0);
        code = model_result(fd >= 0);
        *out = (CUmemGenericAllocationHandle)fd;
    }
    return model_count(code, &model.n_handles, 1);
}

static CUresult model_memset(CUdeviceptr addr, unsigned char value, size_t bytes, CUstream stream)
{
    if (model_fails()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (model.driver) {
        return model.driver->MemsetD8Async(addr, value, bytes, stream);
    }
    memset((void *)(uintptr_t)addr, value, bytes);
    return CUDA_SUCCESS;
}

/* ---- host memory that is registered: the model alone ---- */

/* A registration: [start, start + bytes). The driver knows its bytes, not its pages: it refuses
 * another one that overlaps it, not one on the same page. */
struct model_pin {
    uint64_t start, bytes; /* 0 bytes: unused */
};
static struct model_pin model_pins[MODEL_MAPPINGS];

static struct model_pin *model_pin_of(uint64_t addr)
{
    for (int i = 0; i < MODEL_MAPPINGS; i++) {
        if (model_pins[i].bytes && addr - model_pins[i].start < model_pins[i].bytes) {
            return &model_pins[i];
        }
    }
    return NULL;
}

/* Whether one registration has all of it. The driver refuses a copy that begins in a registration
 * of which this is not so. */
static bool model_is_one_registration(uint64_t start, uint64_t bytes)
{
    const struct model_pin *pin = model_pin_of(start);
    return pin != NULL && bytes <= pin->bytes - (start - pin->start);
}

static CUresult model_host_register(void *p, size_t bytes, unsigned flags)
{
    const uint64_t start = (uint64_t)(uintptr_t)p;
    struct model_pin *unused = NULL;
    (void)flags;
    if (model_fails()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (int i = 0; i < MODEL_MAPPINGS; i++) {
        const struct model_pin *pin = &model_pins[i];
        if (!pin->bytes) {
            unused = &model_pins[i];
        } else if (start < pin->start + pin->bytes && pin->start < start + bytes) {
            return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
        }
    }
    if (!CHECK(unused != NULL)) {
        exit(1);
    }
    *unused = (struct model_pin){start, bytes};
    return CUDA_SUCCESS;
}

static CUresult model_host_unregister(void *p)
{
    struct model_pin *pin = model_pin_of((uint64_t)(uintptr_t)p);
    if (!CHECK(pin != NULL && pin->start == (uint64_t)(uintptr_t)p)) {
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
    pin->bytes = 0;
    return CUDA_SUCCESS;
}

static CUresult model_pointer(void *out, CUpointer_attribute attribute, CUdeviceptr addr)
{
    const struct model_pin *pin = model_pin_of(addr);
    if (pin == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(CUmemorytype *)out = CU_MEMORYTYPE_HOST;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)out = pin->start;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)out = pin->bytes;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* ---- calls of the model alone ---- */

static CUresult model_granularity(size_t *granule, const CUmemAllocationProp *prop,
                                  CUmemAllocationGranularity_flags flags)
{
    (void)flags;
    CHECK(prop->type == CU_MEM_ALLOCATION_TYPE_PINNED);
    *granule = (size_t)2 << 20;
    return CUDA_SUCCESS;
}

static CUresult model_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)attribute;
    (void)device;
    *value = 1;
    return CUDA_SUCCESS;
}

static CUresult model_copy(CUdeviceptr dest, CUdeviceptr source, size_t bytes)
{
    if ((model_pin_of(dest) && !model_is_one_registration(dest, bytes)) ||
        (model_pin_of(source) && !model_is_one_registration(source, bytes))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy((void *)(uintptr_t)dest, (void *)(uintptr_t)source, bytes);
    return CUDA_SUCCESS;
}

static CUresult model_synchronize(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult model_error_text(CUresult code, const char **text)
{
    (void)code;
    *text = "a failure that the test wants";
    return CUDA_SUCCESS;
}

/* Puts itself before the driver; NULL: before the model. */
static void model_install(const struct gsh_cuda *driver)
{
    model.driver = driver;
    if (driver) {
        model.table = *driver;
    } else {
        model.table = (struct gsh_cuda){
            .MemGetAllocationGranularity = model_granularity,
            .DeviceGetAttribute = model_attribute,
            .Memcpy = model_copy,
            .StreamSynchronize = model_synchronize,
            .MemHostRegister = model_host_register,
            .MemHostUnregister = model_host_unregister,
            .PointerGetAttribute = model_pointer,
            .GetErrorName = model_error_text,
            .GetErrorString = model_error_text,
        };
    }
    model.table.MemAddressReserve = model_reserve;
    model.table.MemAddressFree = model_address_free;
    model.table.MemCreate = model_create;
    model.table.MemRelease = model_release;
    model.table.MemRetainAllocationHandle = model_retain;
    model.table.MemGetAllocationPropertiesFromHandle = model_properties;
    model.table.MemGetAddressRange = model_address_range;
    model.table.MemMap = model_map;
    model.table.MemUnmap = model_unmap;
    model.table.MemSetAccess = model_set_access;
    model.table.MemExportToShareableHandle = model_export;
    model.table.MemImportFromShareableHandle = model_import;
    model.table.MemsetD8Async = model_memset;
    gsh_cuda_override(&model.table);
}

#endif
#endif
