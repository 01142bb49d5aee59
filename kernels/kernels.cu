/* SPDX-License-Identifier: Apache-2.0
 * The kernels that the library launches itself: host-initiated atomics and strided copies, and
 * calls on a stream that are not plain copies. Built into a fat binary that the library embeds;
 * kernels.h has their arguments. The host has checked the addresses. */
#define GSHMEM_SILENT_REFUSALS 1 /* each kernel reports what it refuses */

#include "wire/kernels.h"
#include "device/amo.cuh"
#include "device/default.cuh"
#include "device/order.cuh"
#include "device/far.cuh"
#include "device/rma.cuh"
#include "device/signal.cuh"
#include "device/sync.cuh"
#include "device/trace_write.cuh"
#include "device/wait.cuh"

namespace
{

using namespace gshmem;
using namespace gshmem::detail;

template <class T> __device__ T *pointer(uint64_t address)
{
    return reinterpret_cast<T *>(address);
}

/* ---- atomics ---- */

template <class W> __device__ W apply(uint32_t op, W *word, W operand, W cond)
{
    switch (op) {
    case GSH_AMO_FETCH:
        return load_relaxed(word);
    case GSH_AMO_SET:
        store_relaxed(word, operand);
        return 0;
    case GSH_AMO_SWAP:
        return atomic_exch(word, operand);
    case GSH_AMO_CSWAP:
        return atomic_compare_swap(word, cond, operand);
    case GSH_AMO_ADD:
        return atomic_add(word, operand);
    case GSH_AMO_FLOAT_ADD:
        return atomic_float_add(word, operand);
    case GSH_AMO_AND:
        return atomic_and(word, operand);
    case GSH_AMO_OR:
        return atomic_or(word, operand);
    default:
        return atomic_xor(word, operand);
    }
}

__device__ uint16_t apply_half(uint32_t op, uint16_t *p, uint16_t operand)
{
    switch (op) {
    case GSH_AMO_FETCH:
        return amo_half<GSH_AMO_FETCH>(p, operand);
    case GSH_AMO_FLOAT_ADD:
        return amo_half<GSH_AMO_FLOAT_ADD>(p, operand);
    default:
        return amo_half<GSH_AMO_SWAP>(p, operand);
    }
}

/* ---- strided copies ---- */

/* By all threads of the launch, without synchronisation. */
struct group_grid {
    __device__ uint32_t rank() const { return blockIdx.x * blockDim.x + threadIdx.x; }
    __device__ uint32_t size() const { return gridDim.x * blockDim.x; }
    __device__ void sync() const {}
};

template <size_t elem_bytes> __device__ void copy_elements_of(const gsh_kernel_strided_args &a)
{
    typedef element<elem_bytes> E;
    move_strided<direction::get>(group_grid(), pointer<E>(a.dest), pointer<const E>(a.source),
                                 (ptrdiff_t)a.dst, (ptrdiff_t)a.sst, a.nelems);
}

/* ---- waits ---- */

/* Each thread waits for its share of the words. */
template <class T> __device__ void wait_share(const gsh_kernel_wait_args &a)
{
    const T *ivars = pointer<const T>(a.ivars), *values = pointer<const T>(a.values);
    const int *status = pointer<const int>(a.status);
    with_comparison(a.cmp, [&](auto test) {
        for (uint64_t i = threadIdx.x; i < a.nelems; i += blockDim.x)
            if (!is_left_out(status, i))
                wait_word(default_context(), ivars + i, test, a.cmp,
                          values ? values[i] : (T)a.value, a.call);
    });
}

template <class Signed, class Unsigned> __device__ void wait_width(const gsh_kernel_wait_args &a)
{
    if (a.is_signed)
        wait_share<Signed>(a);
    else
        wait_share<Unsigned>(a);
}

/* ---- far PEs ---- */

__device__ void copy_far(const gsh_kernel_far_args &a)
{
    group_block block;
    void *remote = pointer<void>(a.remote), *local = pointer<void>(a.local);
    switch (a.op) {
    case GSH_FAR_PUT:
        far_put(default_context(), block, remote, local, a.bytes, a.pe, true, a.call);
        break;
    case GSH_FAR_GET:
        far_get(default_context(), block, local, remote, a.bytes, a.pe, true, a.call);
        break;
    case GSH_FAR_IPUT:
        far_iput(default_context(), block, remote, local, (ptrdiff_t)a.dst, (ptrdiff_t)a.sst,
                 a.elem_bytes, a.nelems, a.pe, a.call);
        break;
    case GSH_FAR_IGET:
        far_iget(default_context(), block, local, remote, (ptrdiff_t)a.dst, (ptrdiff_t)a.sst,
                 a.elem_bytes, a.nelems, a.pe, a.call);
        break;
    default:
        far_put_signal(default_context(), block, remote, local, a.bytes,
                       pointer<uint64_t>(a.signal), a.value, (int)a.sig_op, a.pe, true, a.call);
    }
}

/* ---- the timeline ---- */

/* By how much the clock moves when it does: at least one such step lies between two that are seen.
 */
__device__ uint64_t clock_step()
{
    uint64_t at = clock_ns(), step = 0;
    for (uint32_t i = 0, n = 0; i < 100000 && n < 2; i++) {
        const uint64_t now = clock_ns();
        if (now != at) {
            step = now - at;
            at = now;
            n++;
        }
    }
    return step;
}

} // namespace

extern "C" {

__global__ void gsh_kernel_amo(const __grid_constant__ gsh_kernel_amo_args a)
{
    /* Serves signals: a reader that sees this sees what the stream did before. */
    fence_acq_rel();
    uint64_t old =
        a.bytes == 2 ? apply_half(a.op, pointer<uint16_t>(a.address), (uint16_t)a.operand)
        : a.bytes == 4
            ? apply(a.op, pointer<uint32_t>(a.address), (uint32_t)a.operand, (uint32_t)a.cond)
            : apply(a.op, pointer<uint64_t>(a.address), a.operand, a.cond);
    if (a.result)
        *pointer<uint64_t>(a.result) = old;
}

__global__ void __launch_bounds__(1024)
    gsh_kernel_put_signal(const __grid_constant__ gsh_kernel_put_signal_args a)
{
    group_block block;
    if (is_given_up(default_context()))
        return;
    if (a.bytes > 0) {
        copy<direction::put, false, group_block>({block.rank(), block.size()},
                                                 pointer<void>(a.dest),
                                                 pointer<const void>(a.source), a.bytes);
        block.sync();
    }
    if (a.signal != 0 && block.rank() == 0) {
        /* Serves "signal seen implies that the data are seen": the block's own data, and what the
         * stream has done before. */
        fence_release();
        send_signal(pointer<uint64_t>(a.signal), a.value, (int)a.op);
    }
}

__global__ void gsh_kernel_store(const __grid_constant__ gsh_kernel_store_args a)
{
    switch (a.bytes) {
    case 1:
        store_relaxed(pointer<uint8_t>(a.dest), (uint8_t)a.bits);
        break;
    case 2:
        store_relaxed(pointer<uint16_t>(a.dest), (uint16_t)a.bits);
        break;
    case 4:
        store_relaxed(pointer<uint32_t>(a.dest), (uint32_t)a.bits);
        break;
    default:
        store_relaxed(pointer<uint64_t>(a.dest), a.bits);
    }
}

__global__ void __launch_bounds__(256)
    gsh_kernel_copy_strided(const __grid_constant__ gsh_kernel_strided_args a)
{
    switch (a.elem_bytes) {
    case 1:
        copy_elements_of<1>(a);
        break;
    case 2:
        copy_elements_of<2>(a);
        break;
    case 4:
        copy_elements_of<4>(a);
        break;
    case 8:
        copy_elements_of<8>(a);
        break;
    default:
        copy_elements_of<16>(a);
    }
}

__global__ void gsh_kernel_wait(const __grid_constant__ gsh_kernel_wait_args a)
{
    switch (a.bytes) {
    case 2:
        wait_width<int16_t, uint16_t>(a);
        break;
    case 4:
        wait_width<int32_t, uint32_t>(a);
        break;
    default:
        wait_width<int64_t, uint64_t>(a);
    }
}

__global__ void __launch_bounds__(256) gsh_kernel_far(const __grid_constant__ gsh_kernel_far_args a)
{
    bool is_first = group_block().rank() == 0;
    if (is_given_up(default_context())) {
        if (is_first && a.done)
            reduce_add(pointer<uint64_t>(a.done), (uint64_t)1);
        return;
    }
    if (is_first)
        fence(); /* what the stream did before comes first */
    if (a.op == GSH_FAR_P && is_first)
        far_p(default_context(), pointer<void>(a.remote), a.value, (uint32_t)a.bytes, a.pe, a.call);
    else if (a.op == GSH_FAR_AMO && is_first)
        far_signal(default_context(), pointer<uint64_t>(a.signal), a.value, (int)a.sig_op, a.pe,
                   a.call);
    else if (a.op != GSH_FAR_P && a.op != GSH_FAR_AMO && a.op != GSH_FAR_QUIET)
        copy_far(a);
    bool has_put = a.op == GSH_FAR_PUT || a.op == GSH_FAR_P || a.op == GSH_FAR_IPUT;
    if (is_first && (has_put || a.op == GSH_FAR_QUIET))
        quiet(); /* the stream goes on once the put is visible */
    if (is_first && a.done)
        reduce_add(pointer<uint64_t>(a.done), (uint64_t)1);
}

__global__ void gsh_kernel_sync(const __grid_constant__ gsh_kernel_sync_args a)
{
    const bool is_world = a.team == GSHMEM_TEAM_WORLD; /* its record need not be read first */
    if (is_given_up(default_context()))
        return;
    if (is_world) {
        if (a.is_barrier)
            barrier_all(group_block(), a.call);
        else
            sync_all(group_block(), a.call);
        return;
    }
    const int result = a.is_barrier ? barrier(group_block(), a.team, 0, a.call)
                                    : sync(group_block(), a.team, 0, a.call);
    if (result != 0 && group_block().rank() == 0)
        report(default_context(), GSH_REPORT_BAD_TEAM, a.call, -1, 0, 0, 0, (uint64_t)a.team, 0);
}

__global__ void gsh_kernel_trace(const __grid_constant__ gsh_kernel_trace_args a)
{
    const trace_target to = trace_target_of(default_context());
    if (to.counts == 0)
        return;
    const uint64_t seen = a.word == 0         ? 0
                          : a.word_bytes == 2 ? load_relaxed(pointer<uint16_t>(a.word))
                          : a.word_bytes == 4 ? load_relaxed(pointer<uint32_t>(a.word))
                                              : load_relaxed(pointer<uint64_t>(a.word));
    trace_writer w(to, GSH_TRACE_STREAM_RING, a.who, clock_ns(), a.n);
    for (uint32_t i = 0; i < a.n && i < sizeof a.payload / sizeof *a.payload; i++)
        w.put(a.kind[i], a.kind[i] == GSH_TRACE_EVENT_END     ? seen
                         : a.kind[i] == GSH_TRACE_EVENT_CLOCK ? a.payload[i] | clock_step() << 8
                                                              : a.payload[i]);
}

#if defined(__CUDACC__)
/* runtime/backend/cuda/share.c: records which multiprocessor each block runs on. */
__global__ void gsh_kernel_find_sms(uint8_t *part_of_sm, uint8_t part)
{
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0)
        part_of_sm[sm % GSH_SMS] = part;
}
#endif
}
