/* SPDX-License-Identifier: Apache-2.0
 * The kernels behind collectives on a stream and of the host. Any grid, the same on all members;
 * the launch's beginning and end are the blocks' synchronisation. One kernel for each operation and
 * element type, named gsh_kernel_coll_OP_ELEMENT; coll/coll.h has the arguments and the numbers. */
#if !defined(GSH_COLL_PART)
#error "GSH_COLL_PART says which of the kernels are to be compiled: 0 to 4"
#elif GSH_COLL_PART != 0
#define GSHMEM_NEAR_ONLY 1 /* what goes to far members is part 0's */
#endif
#include "device/coll/coll.cuh"
#include "device/coll/coll.h"

namespace
{

using namespace gshmem;

__device__ __forceinline__ group_launch whole_launch()
{
    group_launch g;
    g.index = blockIdx.x;
    g.count = gridDim.x;
    return g;
}

__device__ __forceinline__ auto the_call(const gsh_kernel_coll_args &a)
{
    return detail::begin_coll(default_context(), &a.team, a.lane, a.call);
}

template <class T> __device__ T *pointer(uint64_t address)
{
    return reinterpret_cast<T *>(address);
}

#if GSH_COLL_PART != 0

/* The public call has checked the team. */
template <class Op, class T> struct compute_kernel {
    static __device__ __forceinline__ void run(const gsh_kernel_coll_args &a)
    {
        T *dest = pointer<T>(a.dest);
        const T *source = pointer<const T>(a.source);
        const group_launch g = whole_launch();
        if (a.coll == GSH_COLL_ADD)
            detail::add_slots<Op>(the_call(a), g, dest, a.nelems, a.root, (uint64_t)a.dst);
        else if (a.coll == GSH_COLL_NEAR)
            detail::add_near<Op>(the_call(a), g, dest, source, a.nelems);
        else if (a.coll == GSH_COLL_REDUCE)
            reduce<Op>(default_context(), g, &a.team, dest, source, a.nelems, a.lane, a.call);
        else
            reducescatter<Op>(default_context(), g, &a.team, dest, source, a.nelems, a.lane,
                              a.call);
    }
};

struct op_scan {
};
template <class T> struct compute_kernel<op_scan, T> {
    static __device__ __forceinline__ void run(const gsh_kernel_coll_args &a)
    {
        T *dest = pointer<T>(a.dest);
        const T *source = pointer<const T>(a.source);
        const group_launch g = whole_launch();
        if (a.coll == GSH_COLL_ADD)
            detail::add_slots<op_sum>(the_call(a), g, dest, a.nelems, a.root);
        else if (a.coll == GSH_COLL_INSCAN)
            scan<true>(default_context(), g, &a.team, dest, source, a.nelems, a.lane, a.call);
        else
            scan<false>(default_context(), g, &a.team, dest, source, a.nelems, a.lane, a.call);
    }
};

#else

template <class T> __device__ void run_alltoalls(const gsh_kernel_coll_args &a)
{
    alltoalls(default_context(), whole_launch(), &a.team, pointer<T>(a.dest),
              pointer<const T>(a.source), (ptrdiff_t)a.dst, (ptrdiff_t)a.sst, a.nelems, a.lane,
              a.call);
}

#endif

} // namespace

extern "C" {

#if GSH_COLL_PART == 0
__global__ void __launch_bounds__(512)
    gsh_kernel_coll_move(const __grid_constant__ gsh_kernel_coll_args a)
{
    void *dest = pointer<void>(a.dest);
    const void *source = pointer<const void>(a.source);
    const uint64_t bytes = a.nelems * a.elem_bytes;
    const group_launch g = whole_launch();
    switch (a.coll) {
    case GSH_COLL_BROADCAST:
        broadcastmem(default_context(), g, &a.team, dest, source, bytes, a.root, a.lane, a.call);
        break;
    case GSH_COLL_COLLECT:
        collectmem(default_context(), g, &a.team, dest, source, bytes, a.lane, a.call);
        break;
    case GSH_COLL_FCOLLECT:
        fcollectmem(default_context(), g, &a.team, dest, source, bytes, a.lane, a.call);
        break;
    case GSH_COLL_CHECK:
        detail::check_calls(the_call(a), g, (uint64_t)a.dst, (uint64_t)a.sst);
        break;
    case GSH_COLL_SCATTER:
        if (g.block() == 0)
            detail::scatter_far(the_call(a), g.block_part(), static_cast<const uint8_t *>(source),
                                a.nelems, (uint64_t)a.dst, (uint64_t)a.sst);
        break;
    case GSH_COLL_MEET:
        if (g.block() == 0)
            detail::far_barrier(the_call(a), g.block_part());
        break;
    case GSH_COLL_RAILS:
        if (g.block() == 0)
            detail::rails_far(the_call(a), g.block_part(), static_cast<uint8_t *>(dest), a.nelems,
                              (uint64_t)a.sst);
        break;
    case GSH_COLL_SPREAD:
        if (g.block() == 0)
            detail::spread_far(the_call(a), g.block_part(), static_cast<uint8_t *>(dest), a.nelems);
        break;
    default:
        alltoallmem(default_context(), g, &a.team, dest, source, bytes, a.lane, a.call);
    }
}

__global__ void __launch_bounds__(512)
    gsh_kernel_coll_alltoalls(const __grid_constant__ gsh_kernel_coll_args a)
{
    switch (a.elem_bytes) {
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
#else
#define KERNEL(OP, NAME, T)                                                           \
    __global__ void __launch_bounds__(512)                                            \
        gsh_kernel_coll_##OP##_##NAME(const __grid_constant__ gsh_kernel_coll_args a) \
    {                                                                                 \
        compute_kernel<op_##OP, T>::run(a);                                           \
    }
#define PART_KERNELS_OF(PART, M) GSH_COLL_PART_##PART##_KERNELS(M)
#define PART_KERNELS(PART, M)    PART_KERNELS_OF(PART, M)
PART_KERNELS(GSH_COLL_PART, KERNEL)
#undef KERNEL
#endif
}
