/* SPDX-License-Identifier: Apache-2.0
 * See copier.h. The build compiles it twice; GSH_NCCL_COPIER_OPS names the table. */
#include "dialects/nccl/kernels/copier.h"
#include "dialects/nccl/include/nccl_device/copy_units.h"
#include <string.h>

namespace
{

using gshmem::nccl::copy_units;
namespace detail = gshmem::detail;

/* Enough for the link and, at the same time, the own memory. */
constexpr unsigned blocks = detail::is_cpu_device ? 2 : 32,
                   threads = detail::is_cpu_device ? 1 : 512;
/* A block takes such a part of the copy at a time: each take costs some 4 us. No fewer units than
 * its threads copy in one latency. */
constexpr uint32_t parts = blocks / 2, least_units = detail::is_cpu_device ? 1 : 16;

struct found {
    uint32_t slot;
    copy_units units; /* none: no put has any left */
};

/* Looks at the newest puts first. Blocks share them out. */
__device__ found find_units(gsh_nccl_copy_slots *copies)
{
    constexpr uint32_t at_once = 8;
    const uint32_t newest = (uint32_t)detail::load_relaxed(&copies->n_asked) - 1;
    for (uint32_t i = 0; i < GSHMEM_NCCL_COPY_SLOTS;) {
        uint32_t mask = 0;
        GSHMEM_UNROLL
        for (uint32_t k = 0; k < at_once; k++) {
            const uint32_t slot = (newest - i - k) % GSHMEM_NCCL_COPY_SLOTS;
            mask |= ((int32_t)detail::load_relaxed(&copies->left[slot]) > 0 ? 1u : 0u) << k;
        }
        if (mask == 0) {
            i += at_once;
            continue;
        }
        for (uint32_t skipped = blockIdx.x % (uint32_t)__popc(mask); skipped > 0; skipped--)
            mask &= mask - 1;
        const uint32_t k = (uint32_t)__popc((mask & (0u - mask)) - 1);
        const uint32_t slot = (newest - i - k) % GSHMEM_NCCL_COPY_SLOTS;
        /* Another put may have the slot by now: then it is a part of that one's bytes. */
        const size_t bytes = detail::load_relaxed(&copies->slots[slot].bytes);
        const uint32_t part = gshmem::nccl::units_of(bytes) / parts + 1;
        const copy_units units =
            gshmem::nccl::take_units(&copies->left[slot], part < least_units ? least_units : part);
        if (units.count > 0) {
            detail::fence_gpu(); /* pairs with the fence of ask_for_help in gin_copy.h */
            return {slot, units};
        }
    }
    return {0, {0, 0}};
}

__global__ void __launch_bounds__(threads) help(gsh_nccl_copy_slots *copies)
{
    __shared__ found now;
    for (;;) {
        if (threadIdx.x == 0)
            now = find_units(copies);
        detail::sync_block();
        const found f = now;
        if (f.units.count == 0)
            return;
        gsh_nccl_copy_slot *const slot = &copies->slots[f.slot];
        const gshmem::nccl::copy_part part = gshmem::nccl::part_of(
            reinterpret_cast<char *>(detail::load_relaxed(&slot->dest)),
            reinterpret_cast<const char *>(detail::load_relaxed(&slot->source)),
            detail::load_relaxed(&slot->bytes), f.units);
        detail::copy<detail::direction::put, false, gshmem::group_block>(
            {threadIdx.x, threads}, part.dest, part.source, part.bytes);
        detail::sync_block();
        if (threadIdx.x == 0) {
            detail::fence_gpu(); /* pairs with the acquire of copy_jointly in gin_copy.h */
            detail::reduce_add(&slot->helped, f.units.count);
        }
    }
}

void destroy(gsh_nccl_copies *c)
{
    if (c->stream != nullptr) {
        (void)cudaStreamSynchronize((cudaStream_t)c->stream);
        (void)cudaStreamDestroy((cudaStream_t)c->stream);
    }
    if (c->slots != nullptr)
        (void)cudaFree(c->slots);
    if (c->asked != nullptr)
        (void)cudaFreeHost(c->asked);
    memset(static_cast<void *>(c), 0, sizeof *c);
}

int create(gsh_nccl_copies *c)
{
    void *asked = nullptr, *slots = nullptr;
    cudaStream_t stream = nullptr;
    int least = 0, greatest = 0;
    cudaError_t r = cudaHostAlloc(&asked, sizeof *c->asked, cudaHostAllocPortable);
    if (r == cudaSuccess) {
        c->asked = static_cast<uint64_t *>(asked);
        *c->asked = 0;
        r = cudaMalloc(&slots, sizeof *c->slots);
    }
    if (r == cudaSuccess) {
        c->slots = static_cast<gsh_nccl_copy_slots *>(slots);
        r = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    }
    if (r == cudaSuccess)
        r = cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest);
    if (r == cudaSuccess) {
        c->stream = stream;
        r = cudaMemsetAsync(slots, 0, sizeof *c->slots, stream);
    }
    if (r == cudaSuccess)
        r = cudaStreamSynchronize(stream);
#if defined(__CUDACC__)
    cudaFuncAttributes attributes;
    if (r == cudaSuccess)
        r = cudaFuncGetAttributes(&attributes, (const void *)help);
#endif
    if (r != cudaSuccess)
        destroy(c);
    return (int)r;
}

void begin_thread()
{
#if defined(__CUDACC__)
    /* another thread's capture does not concern this one's calls */
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
#endif
}

int launch_help(gsh_nccl_copies *c)
{
    return (int)gshmem_launch(help, dim3(blocks), dim3(threads), 0, (cudaStream_t)c->stream,
                              c->slots);
}

int is_busy(gsh_nccl_copies *c)
{
#if defined(__CUDACC__)
    return cudaStreamQuery((cudaStream_t)c->stream) == cudaErrorNotReady;
#else
    (void)c;
    return 0; /* a launch there blocks nobody */
#endif
}

void refuse(gsh_nccl_copies *c)
{
    (void)cudaMemsetAsync(&c->slots->is_over, 1, sizeof c->slots->is_over, (cudaStream_t)c->stream);
}

} // namespace

extern "C" const struct gsh_nccl_copier_ops GSH_NCCL_COPIER_OPS = {
    create, destroy, begin_thread, launch_help, is_busy, refuse};
