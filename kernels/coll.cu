/* SPDX-License-Identifier: Apache-2.0
 * The kernels behind collectives on a stream and of the host: each call is one launch. Any grid,
 * the same on all members; the launch's beginning and end synchronise the blocks. One kernel for
 * each operation and element type, named gsh_kernel_coll_OP_ELEMENT, and one for all of them over
 * far members; arguments and numbers are in wire/coll.h. */
#if !defined(GSH_COLL_PART)
#error "GSH_COLL_PART says which of the kernels are to be compiled: 0 to 6"
#elif GSH_COLL_PART != 0 && GSH_COLL_PART != 5
#define GSHMEM_NEAR_ONLY 1 /* parts 0 and 5 have the kernels for far members */
#endif
#define GSHMEM_LIBRARY_KERNELS 1
#include "device/coll/coll.cuh"
#include "wire/coll.h"

namespace
{

using namespace gshmem;

#if GSH_COLL_PART != 5
__device__ __forceinline__ group_launch whole_launch()
{
    group_launch g;
    g.index = blockIdx.x;
    g.count = gridDim.x;
    return g;
}
#endif

#if GSH_COLL_PART == 0 || GSH_COLL_PART == 5
__device__ __forceinline__ auto the_call(const gsh_kernel_coll_args &a)
{
    return detail::begin_coll(default_context(), &a.team, a.channel, a.call);
}
#endif

template <class Type> __device__ Type *pointer(uint64_t address)
{
    return reinterpret_cast<Type *>(address);
}

/* Whether a kernel before this one may have been left. If all members are near, a GPU asks that
 * later, when it need not wait for the answer: in a barrier or an LL exchange. */
__device__ __forceinline__ bool is_to_end(const gsh_kernel_coll_args &a)
{
#if defined(__CUDACC__) && !defined(GSHMEM_CHECKS)
    if (detail::is_mapped(a.team))
        return false;
#else
    (void)a;
#endif
    return detail::is_given_up(default_context());
}

#if GSH_COLL_PART == 5

/* How two elements are added up, chosen when the kernel runs: one kernel has the code that tells
 * far members for all types. A GPU calls through no pointers (coll/reduce.cuh says why). */
#if defined(__CUDACC__)
template <class Context>
__device__ GSHMEM_NOINLINE void add_by_number(uint32_t number, const detail::coll_call<Context> &k,
                                              detail::rank_in_group at, const detail::terms &s)
{
#define ROW(OP, NAME, T)                         \
    case GSH_COLL_KERNEL_##OP##_##NAME:          \
        detail::add_terms<op_##OP, T>(k, at, s); \
        break;
    switch (number) {
        GSH_REDUCE_KERNELS(ROW)
    }
#undef ROW
}

struct numbered_adder {
    uint32_t number;

    template <class Context>
    __device__ __forceinline__ void add(const detail::coll_call<Context> &k,
                                        detail::rank_in_group at, const detail::terms &s) const
    {
        add_by_number(number, k, at, s);
    }
};
__device__ __forceinline__ numbered_adder adder_of_number(uint32_t number)
{
    return {number};
}
#else
detail::adder adder_of_number(uint32_t number)
{
#define ROW(OP, NAME, T)                \
    case GSH_COLL_KERNEL_##OP##_##NAME: \
        return {&detail::add_terms<op_##OP, T, context>, nullptr, false};
    switch (number) {
        GSH_REDUCE_KERNELS(ROW)
        GSH_CPU_REDUCE_KERNELS(ROW)
    default:
        return {};
    }
#undef ROW
}
#endif

#elif GSH_COLL_PART != 0

/* The public call has checked the team. */
template <class Op, class Type> struct compute_kernel {
    static __device__ __forceinline__ void run(const gsh_kernel_coll_args &a)
    {
        Type *dest = pointer<Type>(a.compute.dest);
        const Type *source = pointer<const Type>(a.compute.source);
        const uint64_t nelems = a.compute.nelems;
        const group_launch g = whole_launch();
        if (a.coll == GSH_COLL_REDUCE)
            reduce<Op>(default_context(), g, &a.team, dest, source, nelems, a.channel, a.call);
        else
            reducescatter<Op>(default_context(), g, &a.team, dest, source, nelems, a.channel,
                              a.call);
    }
};

struct op_scan {
};
template <class Type> struct compute_kernel<op_scan, Type> {
    static __device__ __forceinline__ void run(const gsh_kernel_coll_args &a)
    {
        Type *dest = pointer<Type>(a.compute.dest);
        const Type *source = pointer<const Type>(a.compute.source);
        const uint64_t nelems = a.compute.nelems;
        const group_launch g = whole_launch();
        if (a.coll == GSH_COLL_INSCAN)
            scan<true>(default_context(), g, &a.team, dest, source, nelems, a.channel, a.call);
        else
            scan<false>(default_context(), g, &a.team, dest, source, nelems, a.channel, a.call);
    }
};

#else

template <class Type> __device__ void run_alltoalls(const gsh_kernel_coll_args &a)
{
    const gsh_coll_strided_args &s = a.strided;
    alltoalls(default_context(), whole_launch(), &a.team, pointer<Type>(s.dest),
              pointer<const Type>(s.source), (ptrdiff_t)s.dest_stride, (ptrdiff_t)s.source_stride,
              s.nelems, a.channel, a.call);
}

#endif

} // namespace

extern "C" {

#if GSH_COLL_PART == 0
__global__ void __launch_bounds__(512)
    gsh_kernel_coll_move(const __grid_constant__ gsh_kernel_coll_args a)
{
    if (is_to_end(a))
        return;
    void *dest = pointer<void>(a.move.dest);
    const void *source = pointer<const void>(a.move.source);
    const uint64_t bytes = a.move.nelems * a.move.elem_bytes;
    const group_launch g = whole_launch();
    switch (a.coll) {
    case GSH_COLL_BROADCAST:
        broadcastmem(default_context(), g, &a.team, dest, source, bytes, a.move.root, a.channel,
                     a.call);
        break;
    case GSH_COLL_COLLECT:
        collectmem(default_context(), g, &a.team, dest, source, bytes, a.channel, a.call);
        break;
    case GSH_COLL_FCOLLECT:
        fcollectmem(default_context(), g, &a.team, dest, source, bytes, a.channel, a.call);
        break;
    case GSH_COLL_CHECK:
        if (g.block() == 0)
            detail::check_calls(the_call(a), g.block_part(), a.team.handle, a.check.signature,
                                a.check.bytes);
        break;
    default:
        alltoallmem(default_context(), g, &a.team, dest, source, bytes, a.channel, a.call);
    }
}

__global__ void __launch_bounds__(512)
    gsh_kernel_coll_alltoalls(const __grid_constant__ gsh_kernel_coll_args a)
{
    if (is_to_end(a))
        return;
    switch (a.strided.elem_bytes) {
    case 1:
        run_alltoalls<uint8_t>(a);
        break;
    case 2:
        run_alltoalls<uint16_t>(a);
        break;
    case 4:
        run_alltoalls<uint32_t>(a);
        break;
    case 16:
        run_alltoalls<detail::vec16>(a);
        break;
    default:
        run_alltoalls<uint64_t>(a);
    }
}
#elif GSH_COLL_PART == 5
__global__ void __launch_bounds__(512)
    gsh_kernel_coll_far(const __grid_constant__ gsh_kernel_coll_args a)
{
    if (is_to_end(a))
        return;
    uint8_t *dest = pointer<uint8_t>(a.compute.dest);
    const uint8_t *source = pointer<const uint8_t>(a.compute.source);
    const uint64_t bytes = a.compute.nelems * a.compute.elem_bytes;
    const auto how = adder_of_number(a.compute.adder);
    const auto k = the_call(a);
    const group_blocks g = {blockIdx.x, gridDim.x};
    if (a.coll == GSH_COLL_REDUCE)
        detail::reduce_far(k, g, dest, source, bytes, how);
    else if (a.coll == GSH_COLL_REDUCESCATTER)
        detail::reducescatter_far(k, g, dest, source, bytes, how);
    else
        detail::scan_far(k, g, dest, source, bytes, a.coll == GSH_COLL_INSCAN, how);
}
#else
#define KERNEL(OP, NAME, T)                                                           \
    __global__ void __launch_bounds__(512)                                            \
        gsh_kernel_coll_##OP##_##NAME(const __grid_constant__ gsh_kernel_coll_args a) \
    {                                                                                 \
        if (!is_to_end(a))                                                            \
            compute_kernel<op_##OP, T>::run(a);                                       \
    }
#define PART_KERNELS_OF(PART, M) GSH_COLL_PART_##PART##_KERNELS(M)
#define PART_KERNELS(PART, M)    PART_KERNELS_OF(PART, M)
PART_KERNELS(GSH_COLL_PART, KERNEL)
#undef KERNEL
#endif
}
