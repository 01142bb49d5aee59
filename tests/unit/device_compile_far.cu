/* SPDX-License-Identifier: Apache-2.0
 * A third file of device_compile: every call on far PEs, for each group. */
#include <gshmem_device.cuh>
#include "device/ring.cuh"

struct far_operands {
    void *dest, *source;
    size_t bytes, nelems;
    uint64_t *sig_addr, bits, cond;
    ptrdiff_t stride;
    uint32_t op, width;
    int pe;
};

template <class G> __global__ void kernel_far_groups(far_operands o)
{
    using namespace gshmem::detail;
    G g;
    far_put(g, o.dest, o.source, o.bytes, o.pe, true, "a");
    far_put(g, o.dest, o.source, o.bytes, o.pe, false, "b");
    far_get(g, o.dest, o.source, o.bytes, o.pe, true, "c");
    far_get(g, o.dest, o.source, o.bytes, o.pe, false, "d");
    far_iput(g, o.dest, o.source, o.stride, 2 * o.stride, o.width, o.nelems, o.pe, "e");
    far_iget(g, o.dest, o.source, o.stride, 2 * o.stride, o.width, o.nelems, o.pe, "f");
    far_put_signal(g, o.dest, o.source, o.bytes, o.sig_addr, o.bits, GSHMEM_SIGNAL_ADD, o.pe, true,
                   "g");
    far_put_signal(g, o.dest, o.source, o.bytes, o.sig_addr, o.bits, GSHMEM_SIGNAL_SET, o.pe, false,
                   "h");
}
template __global__ void kernel_far_groups<gshmem::group_thread>(far_operands);
template __global__ void kernel_far_groups<gshmem::group_warp>(far_operands);
template __global__ void kernel_far_groups<gshmem::group_block>(far_operands);

__global__ void kernel_far_p(far_operands o)
{
    gshmem::detail::far_p(o.dest, o.bits, 8, o.pe, "gshmem_uint64_p");
}

__global__ void kernel_far_words(far_operands o)
{
    using namespace gshmem::detail;
    uint64_t got = far_g(o.source, o.width, o.pe, "g");
    far_signal(o.sig_addr, got, GSHMEM_SIGNAL_ADD, o.pe, "signal");
    far_fence();
    got += far_amo(o.op, o.dest, o.width, o.bits, o.cond, true, o.pe, "amo");
    far_amo(GSH_AMO_XOR, o.dest, 4, got, 0, false, o.pe, "amo");
    far_quiet();
}
