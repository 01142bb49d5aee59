/* SPDX-License-Identifier: Apache-2.0
 * The kernels behind collectives on a stream and of the host. Any grid, the same on all members;
 * the launch's beginning and end synchronise the blocks. One kernel for each operation and element
 * type, named gsh_kernel_coll_OP_ELEMENT; arguments and numbers are in coll/coll.h. */
#if !defined(GSH_COLL_PART)
#error "GSH_COLL_PART says which of the kernels are to be compiled: 0 to 4"
#elif GSH_COLL_PART != 0
#define GSHMEM_NEAR_ONLY 1 /* part 0 has the kernels for far members */
#endif
#define GSHMEM_LIBRARY_KERNELS 1
#include "device/coll/coll.cuh"
#include "wire/coll.h"

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

/* Whether a kernel before this one may have been left. If all members are near, a GPU asks that
 * later, when it need not wait for the answer: in a meeting or a flight. */
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

#if GSH_COLL_PART != 0

/* The steps of collectives that compute over far members. */
template <class C, class H>
__device__ GSHMEM_OUT_OF_LINE void add_step(const gsh_kernel_coll_args &a,
                                            const detail::coll_call<C> &k, group_launch g,
                                            uint64_t elem_bytes, H how)
{
    uint8_t *dest = pointer<uint8_t>(a.dest);
    const uint8_t *source = pointer<const uint8_t>(a.source);
    const uint64_t bytes = a.nelems * elem_bytes;
    switch (a.coll) {
    case GSH_COLL_ADD_NODE:
        detail::add_node(k, g.block_part(), source, bytes, how);
        break;
    case GSH_COLL_ADD_BLOCKS:
        detail::add_blocks(k, g, dest, bytes, (uint64_t)a.sst, (uint64_t)a.dst * elem_bytes, how);
        break;
    case GSH_COLL_ADD_NEAR:
        detail::add_near(k, g, dest, source, bytes, how);
        break;
    case GSH_COLL_ADD_SLOTS:
        detail::add_slots(k, g, dest, bytes, (uint64_t)a.sst, (uint64_t)a.dst, how);
        break;
    case GSH_COLL_ADD_PARTS:
        detail::add_parts(k, g, source, bytes, (uint64_t)a.dst * elem_bytes, (uint64_t)a.sst, how);
        break;
    default:
        if (a.team.is_node_by_node)
            detail::scan_blocks(k, g, dest, source, bytes, a.root != 0, how);
        else
            detail::scan_gathered(k, g, dest, bytes, a.root != 0, how);
    }
}

/* The public call has checked the team. */
template <class Op, class T> struct compute_kernel {
    static __device__ __forceinline__ void run(const gsh_kernel_coll_args &a)
    {
        T *dest = pointer<T>(a.dest);
        const T *source = pointer<const T>(a.source);
        const group_launch g = whole_launch();
        if (a.coll == GSH_COLL_REDUCE) {
            reduce<Op>(default_context(), g, &a.team, dest, source, a.nelems, a.lane, a.call);
        } else if (a.coll == GSH_COLL_REDUCESCATTER) {
            reducescatter<Op>(default_context(), g, &a.team, dest, source, a.nelems, a.lane,
                              a.call);
        } else {
            const auto k = the_call(a);
            add_step(a, k, g, sizeof(T), detail::adder_of<Op, T, group_launch>());
        }
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
        if (a.coll == GSH_COLL_INSCAN) {
            scan<true>(default_context(), g, &a.team, dest, source, a.nelems, a.lane, a.call);
        } else if (a.coll == GSH_COLL_EXSCAN) {
            scan<false>(default_context(), g, &a.team, dest, source, a.nelems, a.lane, a.call);
        } else {
            const auto k = the_call(a);
            add_step(a, k, g, sizeof(T), detail::adder_of<op_sum, T, group_launch>());
        }
    }
};

#else

/* The steps that send to far members, and those that end what the others have begun. */
template <class C>
__device__ void run_step(const gsh_kernel_coll_args &a, const detail::coll_call<C> &k,
                         group_block g)
{
    uint8_t *dest = pointer<uint8_t>(a.dest);
    const uint64_t n = a.nelems, piece = (uint64_t)a.sst;
    switch (a.coll) {
    case GSH_COLL_EXCHANGE_BLOCKS:
        if (n == 0)
            detail::all_have_come(k, g);
        else
            (void)detail::exchange_blocks(k, g, n, false);
        break;
    case GSH_COLL_GATHER:
        (void)detail::gather_far(k, g, pointer<const uint8_t>(a.source), n,
                                 gsh_coll_block_bytes(n));
        break;
    case GSH_COLL_FINISH_SCAN:
        detail::finish_scan(k, g, dest, n);
        break;
    case GSH_COLL_SEND_RAILS:
        detail::send_rails(k, g, dest, n, piece);
        break;
    case GSH_COLL_HEAR_RAILS:
        detail::hear_rails(k, g, dest, n, piece);
        break;
    case GSH_COLL_EXCHANGE_PARTS:
        detail::exchange_parts(k, g, n, piece);
        break;
    default:
        detail::end_far(k, g, (uint64_t)a.dst, piece != 0);
    }
}

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
    if (is_to_end(a))
        return;
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
        if (g.block() == 0)
            detail::check_calls(the_call(a), g.block_part(), a.team.handle, (uint64_t)a.dst,
                                (uint64_t)a.sst);
        break;
    case GSH_COLL_EXCHANGE_BLOCKS:
    case GSH_COLL_GATHER:
    case GSH_COLL_FINISH_SCAN:
    case GSH_COLL_SEND_RAILS:
    case GSH_COLL_HEAR_RAILS:
    case GSH_COLL_EXCHANGE_PARTS:
    case GSH_COLL_END:
        if (g.block() == 0)
            run_step(a, the_call(a), g.block_part());
        break;
    default:
        alltoallmem(default_context(), g, &a.team, dest, source, bytes, a.lane, a.call);
    }
}

__global__ void __launch_bounds__(512)
    gsh_kernel_coll_alltoalls(const __grid_constant__ gsh_kernel_coll_args a)
{
    if (is_to_end(a))
        return;
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
        if (!is_to_end(a))                                                            \
            compute_kernel<op_##OP, T>::run(a);                                       \
    }
#define PART_KERNELS_OF(PART, M) GSH_COLL_PART_##PART##_KERNELS(M)
#define PART_KERNELS(PART, M)    PART_KERNELS_OF(PART, M)
PART_KERNELS(GSH_COLL_PART, KERNEL)
#undef KERNEL
#endif
}
