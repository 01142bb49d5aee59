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
/* A block takes such a part of what is left at a time: each take costs some 4 us. No fewer units
 * than its threads copy in one latency. */
constexpr uint32_t parts = blocks, least_units = detail::is_cpu_device ? 1 : 16;
/* So long the blocks stay without any. */
constexpr uint64_t idle_ns = 50000;

/* The threads that look for units: whole warps. */
constexpr unsigned lookers = detail::is_cpu_device ? 1 : 32;
static_assert(GSHMEM_NCCL_COPY_SLOTS == 64, "a slot for each bit");

struct found {
    uint32_t slot;
    copy_units units; /* none: the block leaves */
};

/* Slots with units. */
struct open_slots {
    uint64_t bits;     /* a bit for each, for all lookers */
    int32_t low, high; /* on GPUs: units of the slots that this looker has looked at */
};

__device__ open_slots look(const gsh_nccl_copy_slots *copies)
{
    open_slots open = {0, 0, 0};
    if constexpr (detail::is_cpu_device) {
        for (uint32_t i = 0; i < GSHMEM_NCCL_COPY_SLOTS; i++)
            open.bits |= (uint64_t)((int32_t)detail::load_relaxed(&copies->left[i]) > 0) << i;
    } else {
        open.low = (int32_t)detail::load_relaxed(&copies->left[threadIdx.x]);
        open.high = (int32_t)detail::load_relaxed(&copies->left[threadIdx.x + 32]);
        open.bits = __ballot_sync(~0u, open.low > 0) | (uint64_t)__ballot_sync(~0u, open.high > 0)
                                                           << 32;
    }
    return open;
}

/* By the lookers; the first one's result counts. Blocks share the slots out. */
__device__ found take_from(gsh_nccl_copy_slots *copies, open_slots open)
{
    for (uint32_t skipped = blockIdx.x % (uint32_t)__popcll(open.bits); skipped > 0; skipped--)
        open.bits &= open.bits - 1;
    const uint32_t slot = (uint32_t)__ffsll((long long)open.bits) - 1;
    int32_t left = 1;
    if constexpr (!detail::is_cpu_device)
        left = __shfl_sync(~0u, slot < 32 ? open.low : open.high, (int)(slot % 32));
    if (threadIdx.x != 0)
        return {slot, {0, 0}};
    const uint32_t part = (uint32_t)left / parts;
    const copy_units units =
        gshmem::nccl::take_units(&copies->left[slot], part < least_units ? least_units : part);
    if (units.count > 0) {
        detail::store_relaxed(&copies->busy_until_ns, detail::clock_ns() + idle_ns);
        detail::fence_gpu(); /* pairs with the first fence of ask_for_help in gin_copy.h */
    }
    return {slot, units};
}

/* By the lookers; the first one's result counts. Returns without units once the time is over, and
 * no put up to *n_asked has any. */
__device__ found find_units(gsh_nccl_copy_slots *copies, uint64_t *n_asked)
{
    bool is_last = false;
    for (;;) {
        /* in flight with the look */
        const uint64_t busy_until_ns = detail::load_relaxed(&copies->busy_until_ns);
        const open_slots open = look(copies);
        found f = {0, {0, 0}};
        if (open.bits != 0)
            f = take_from(copies, open);
        if constexpr (!detail::is_cpu_device)
            f.units.count = __shfl_sync(~0u, f.units.count, 0);
        if (f.units.count > 0)
            return f;
        if (open.bits == 0 && is_last)
            return f;
        is_last = detail::clock_ns() > busy_until_ns;
        if constexpr (!detail::is_cpu_device)
            is_last = __shfl_sync(~0u, (int)is_last, 0) != 0;
        if (is_last) {
            *n_asked = detail::atomic_load(&copies->n_asked);
            detail::fence_gpu(); /* pairs with the second fence of ask_for_help in gin_copy.h */
        } else {
            detail::spin_pause();
        }
    }
}

/* By one thread of each block. */
__device__ void leave(gsh_nccl_copy_slots *copies, gsh_nccl_copy_words *host, uint64_t n_asked)
{
    detail::reduce_add(&copies->n_here, ~0u);
    if (detail::atomic_add(&copies->n_left, 1u) + 1 < blocks)
        return;
    detail::store_relaxed(&copies->n_left, 0u);
    detail::store_relaxed(&host->served, n_asked);
    /* release: pairs with the acquire of copier_main in ../base/copier.c */
    detail::store_release(&host->n_ended, detail::load_relaxed(&host->n_ended) + 1);
}

__global__ void __launch_bounds__(threads)
    help(gsh_nccl_copy_slots *copies, gsh_nccl_copy_words *host)
{
    __shared__ found now;
    uint64_t n_asked = 0;
    if (threadIdx.x == 0) {
        detail::store_relaxed(&copies->busy_until_ns, detail::clock_ns() + idle_ns);
        detail::reduce_add(&copies->n_here, 1u);
    }
    for (;;) {
        if (threadIdx.x < lookers) {
            const found f = find_units(copies, &n_asked);
            if (threadIdx.x == 0)
                now = f;
        }
        detail::sync_block();
        const found f = now;
        if (f.units.count == 0)
            break;
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
    if (threadIdx.x == 0)
        leave(copies, host, n_asked);
}

void destroy(gsh_nccl_copies *c)
{
    if (c->stream != nullptr) {
        (void)cudaStreamSynchronize((cudaStream_t)c->stream);
        (void)cudaStreamDestroy((cudaStream_t)c->stream);
    }
    if (c->slots != nullptr)
        (void)cudaFree(c->slots);
    if (c->words != nullptr)
        (void)cudaFreeHost(c->words);
    memset(static_cast<void *>(c), 0, sizeof *c);
}

int create(gsh_nccl_copies *c)
{
    void *words = nullptr, *slots = nullptr;
    cudaStream_t stream = nullptr;
    int least = 0, greatest = 0;
    cudaError_t r = cudaHostAlloc(&words, sizeof *c->words, cudaHostAllocPortable);
    if (r == cudaSuccess) {
        c->words = static_cast<gsh_nccl_copy_words *>(words);
        *c->words = {};
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
    if (r != cudaSuccess) {
        destroy(c);
        (void)cudaGetLastError(); /* it is not the program's */
    }
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
                              c->slots, c->words);
}

void refuse(gsh_nccl_copies *c)
{
    (void)cudaMemsetAsync(&c->slots->is_over, 1, sizeof c->slots->is_over, (cudaStream_t)c->stream);
}

} // namespace

extern "C" const struct gsh_nccl_copier_ops GSH_NCCL_COPIER_OPS = {create, destroy, begin_thread,
                                                                   launch_help, refuse};
