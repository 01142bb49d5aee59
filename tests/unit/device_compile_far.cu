/* SPDX-License-Identifier: Apache-2.0
 * A third file of device_compile: every call on far PEs, for each group; and calls on a state that
 * a kernel receives as its argument, in shared memory, and through a pointer. */
#include <gshmem_device.cuh>
#include "device/far.cuh"

struct far_operands {
    void *dest, *source;
    size_t bytes, nelems;
    uint64_t *sig_addr, bits, cond;
    ptrdiff_t stride;
    gsh_amo_op op;
    uint32_t width;
    int pe;
};

template <class G, class C> __device__ void call_far_groups(const C &c, far_operands o)
{
    using namespace gshmem::detail;
    G g;
    far_put(c, g, o.dest, o.source, o.bytes, o.pe, true, "a");
    far_put(c, g, o.dest, o.source, o.bytes, o.pe, false, "b");
    far_get(c, g, o.dest, o.source, o.bytes, o.pe, true, "c");
    far_get(c, g, o.dest, o.source, o.bytes, o.pe, false, "d");
    far_iput(c, g, o.dest, o.source, o.stride, 2 * o.stride, o.width, o.nelems, o.pe, "e");
    far_iget(c, g, o.dest, o.source, o.stride, 2 * o.stride, o.width, o.nelems, o.pe, "f");
    far_put_signal(c, g, o.dest, o.source, o.bytes, o.sig_addr, o.bits, GSHMEM_SIGNAL_ADD, o.pe,
                   true, "g");
    far_put_signal(c, g, o.dest, o.source, o.bytes, o.sig_addr, o.bits, GSHMEM_SIGNAL_SET, o.pe,
                   false, "h");
}

template <class G> __global__ void kernel_far_groups(far_operands o)
{
    call_far_groups<G>(gshmem::default_context(), o);
}
template __global__ void kernel_far_groups<gshmem::group_thread>(far_operands);
template __global__ void kernel_far_groups<gshmem::group_warp>(far_operands);
template __global__ void kernel_far_groups<gshmem::group_block>(far_operands);

__global__ void kernel_far_p(far_operands o)
{
    gshmem::detail::far_p(gshmem::default_context(), o.dest, o.bits, 8, o.pe, "gshmem_uint64_p");
}

template <class C> __device__ void call_far_words(const C &c, far_operands o)
{
    using namespace gshmem::detail;
    uint64_t got = far_g(c, o.source, o.width, o.pe, "g");
    far_signal(c, o.sig_addr, got, GSHMEM_SIGNAL_ADD, o.pe, "signal");
    far_fence(c);
    got += far_amo(c, o.op, o.dest, o.width, o.bits, o.cond, true, o.pe, "amo");
    far_amo(c, GSH_AMO_XOR, o.dest, 4, got, 0, false, o.pe, "amo");
    far_quiet(c);
}

__global__ void kernel_far_words(far_operands o)
{
    call_far_words(gshmem::default_context(), o);
}

/* ---- a state that is not the unit's ---------------------------------------------------------- */

template <class C> __device__ void call_all(const C &c, far_operands o)
{
    using namespace gshmem;
    int *ints = (int *)o.dest, *words = (int *)o.source, status = 0;
    uint64_t *wide = o.sig_addr;
    size_t index;
    int pe = n_pes(c) - 1 - my_pe(c);
    if (!ptr(c, o.dest, pe))
        global_exit(c, 1);
    put(c, group_warp(), ints, words, o.nelems, pe);
    put_nbi(c, group_block(), ints, words, o.nelems, pe);
    get(c, group_thread(), words, ints, o.nelems, pe);
    get_nbi(c, group_block(), words, ints, o.nelems, pe);
    iput(c, group_warp(), ints, words, 2, 1, o.nelems, pe);
    iget(c, group_warp(), words, ints, 1, 2, o.nelems, pe);
    p(c, ints, g(c, ints, pe), pe);
    atomic_set(c, wide, atomic_fetch(c, wide, pe), pe);
    atomic_add(c, ints, atomic_swap(c, ints, 3, pe), pe);
    atomic_inc(c, wide, pe);
    atomic_xor(c, ints, atomic_fetch_inc(c, ints, pe) + atomic_fetch_or(c, ints, 1, pe), pe);
    (void)atomic_compare_swap(c, ints, 1, 2, pe);
    put_signal(c, group_block(), ints, words, o.nelems, wide, o.bits, GSHMEM_SIGNAL_SET, pe);
    put_signal_nbi(c, group_warp(), ints, words, o.nelems, wide, o.bits, GSHMEM_SIGNAL_ADD, pe);
    signal_op(c, wide, signal_fetch(c, wide), GSHMEM_SIGNAL_ADD, pe);
    fence(c);
    wait_until(c, ints, GSHMEM_CMP_NE, 0);
    (void)signal_wait_until(c, wide, GSHMEM_CMP_GE, o.bits);
    wait_until_all(c, ints, o.nelems, &status, GSHMEM_CMP_GT, 1);
    wait_until_all_vector(c, ints, o.nelems, &status, GSHMEM_CMP_GT, words);
    index = wait_until_any(c, ints, o.nelems, &status, GSHMEM_CMP_GT, 1);
    index += wait_until_some(c, ints, o.nelems, &index, &status, GSHMEM_CMP_GT, 1);
    index += (size_t)test(c, ints, GSHMEM_CMP_EQ, (int)index);
    index += test_some_vector(c, ints, o.nelems, &index, &status, GSHMEM_CMP_GT, words);
    quiet(c);
    (void)barrier(c, group_block(), GSHMEM_TEAM_WORLD);
    (void)sync(c, group_thread(), GSHMEM_TEAM_SHARED);
    barrier_all(c, group_warp());
    sync_all(c, group_block());
    if (index == 0)
        global_exit(c, team_my_pe(c, GSHMEM_TEAM_WORLD) + team_n_pes(c, GSHMEM_TEAM_WORLD));
}

#if defined(__CUDACC__)
#define BY_VALUE const __grid_constant__
#else
#define BY_VALUE const
#endif

__global__ void kernel_state_by_value(BY_VALUE gsh_state state, far_operands o)
{
    call_all(gshmem::context{state, 0}, o);
}

__global__ void kernel_state_far(BY_VALUE gsh_state state, far_operands o)
{
    gshmem::context c = {state, 1};
    call_far_groups<gshmem::group_block>(c, o);
    call_far_words(c, o);
}

__global__ void kernel_state_by_pointer(const gsh_state *state, far_operands o)
{
    call_all(gshmem::context{*state, 0}, o);
}

__global__ void kernel_state_in_shared(const gsh_state *state, far_operands o)
{
    __shared__ gsh_state copy;
    if (threadIdx.x == 0)
        copy = *state;
    __syncthreads();
    call_all(gshmem::context{copy, 0}, o);
}

__global__ void kernel_default(far_operands o)
{
    call_all(gshmem::default_context(), o);
}
