/* SPDX-License-Identifier: Apache-2.0
 * Proves that a file with GSHMEM_NEAR_ONLY and one without can be linked together, the former
 * first: kernels of the latter still put to far PEs and get from them. For GSHMEM_NODE_PES=1. */
#include "tests/rig/pe.cuh"
#include "tests/multi/near_only.h"

static __global__ void far_kernel(sides s, int pe)
{
    gshmemx_long_put_block(s.in, s.out, near_only_nelems, pe);
    if (threadIdx.x == 0)
        gshmem_quiet();
    __syncthreads();
    gshmemx_long_get_block(s.back, s.in, near_only_nelems, pe);
    gshmemx_long_put_signal_block(s.in, s.out, near_only_nelems, s.signal, 1, GSHMEM_SIGNAL_ADD,
                                  pe);
    if (threadIdx.x == 0)
        gshmem_quiet();
}

static void check_values(const long *device, long first)
{
    long found[near_only_nelems];
    test_copy(found, device, sizeof found);
    for (size_t i = 0; i < near_only_nelems; i++)
        CHECK_EQ(found[i], first + (long)i);
}

static int pe_main(int, char **)
{
    test_pe pe = test_begin();
    const size_t bytes = near_only_nelems * sizeof(long);
    sides s = {(long *)test_heap(bytes), (long *)test_heap(bytes), (long *)test_heap(bytes),
               (uint64_t *)test_heap(sizeof(uint64_t))};
    long values[near_only_nelems];
    for (size_t i = 0; i < near_only_nelems; i++)
        values[i] = 1000 * (pe.me + 1) + (long)i;
    test_copy(s.out, values, bytes);
    gshmem_barrier_all();

    near_only_launch(s, pe.me, pe.stream);
    test_sync(&pe);
    check_values(s.back, values[0]);
    gshmem_barrier_all();

    gshmem_launch(far_kernel, dim3(1), dim3(64), 0, pe.stream, s, pe.next);
    test_sync(&pe);
    check_values(s.back, values[0]);
    gshmem_barrier_all();
    check_values(s.in, 1000 * (pe.previous + 1));
    uint64_t signal = 0;
    test_copy(&signal, s.signal, sizeof signal);
    CHECK_EQ(signal, 2);
    gshmem_barrier_all();
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
