/* SPDX-License-Identifier: Apache-2.0
 * Memory that the program allocated itself and can register: private or file-backed pages on the
 * CPU device, adjacent cuMemCreate pieces on GPUs. */
#ifndef GSH_TEST_OWN_MEMORY_CUH
#define GSH_TEST_OWN_MEMORY_CUH

#include "tests/rig/pe.cuh"
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __CUDACC__
#include <cuda.h>
#endif

struct own_memory {
    char *p;
    size_t bytes;
    int fd; /* -1: none */
};

#ifdef __CUDACC__

#define CU_NAME_(symbol) #symbol
#define CU_NAME(symbol)  CU_NAME_(symbol)
/* Driver functions, to which the program is not linked. */
#define CU(call, ...)                                                                    \
    do {                                                                                 \
        static void *library = dlopen("libcuda.so.1", RTLD_NOW);                         \
        const auto function = (decltype(&call))dlsym(library, CU_NAME(call));            \
        const CUresult result = function ? function(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND; \
        if (result != CUDA_SUCCESS)                                                      \
            test_fatal("%s: %d", CU_NAME(call), (int)result);                            \
    } while (0)

/* On odd PEs one piece, on even ones several. way: unused. */
static inline own_memory own_memory_make(const test_pe *pe, size_t bytes, int way)
{
    const size_t granule = 2 << 20;
    own_memory m = {nullptr, (bytes + granule - 1) / granule * granule, -1};
    const size_t piece = pe->me % 2 != 0 ? m.bytes : granule;
    CUmemAllocationProp prop = {};
    CUdeviceptr at = 0;
    int device = 0;
    (void)way;
    CUDA(cudaGetDevice(&device));
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CU(cuMemAddressReserve, &at, m.bytes, granule, 0, 0);
    for (size_t off = 0; off < m.bytes; off += piece) {
        CUmemGenericAllocationHandle handle;
        CU(cuMemCreate, &handle, piece, &prop, 0);
        CU(cuMemMap, at + off, piece, 0, handle, 0);
        CU(cuMemRelease, handle);
    }
    CUmemAccessDesc access = {};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CU(cuMemSetAccess, at, m.bytes, &access, 1);
    m.p = (char *)at;
    return m;
}

static inline void own_memory_free(own_memory *m)
{
    CU(cuMemUnmap, (CUdeviceptr)m->p, m->bytes);
    CU(cuMemAddressFree, (CUdeviceptr)m->p, m->bytes);
    m->p = nullptr;
}

#else

/* way 0: private pages; 1: those of a file, from its second page on. */
static inline own_memory own_memory_make(const test_pe *, size_t bytes, int way)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    own_memory m = {nullptr, (bytes + page - 1) / page * page, -1};
    if (way == 1) {
        m.fd = memfd_create("own memory", MFD_CLOEXEC);
        if (m.fd < 0 || ftruncate(m.fd, (off_t)(m.bytes + page)) != 0)
            test_fatal("memfd_create");
    }
    void *p =
        mmap(NULL, m.bytes, PROT_READ | PROT_WRITE,
             way == 1 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, m.fd, way == 1 ? (off_t)page : 0);
    if (p == MAP_FAILED)
        test_fatal("mmap");
    m.p = (char *)p;
    return m;
}

static inline void own_memory_free(own_memory *m)
{
    munmap(m->p, m->bytes);
    if (m->fd >= 0)
        close(m->fd);
    m->p = nullptr;
}

#endif
#endif
