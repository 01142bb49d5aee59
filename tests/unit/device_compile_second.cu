/* SPDX-License-Identifier: Apache-2.0
 * The second file of device_compile.cu. Its kernel uses p and wait_until only, the case whose
 * register use is kept under 40. */
#include <gshmem_device.cuh>

__global__ void kernel_p_and_wait(int *data, uint64_t *flag, int pe)
{
    gshmem_int_p(data, gshmem_my_pe(), pe);
    gshmem_fence();
    gshmem_uint64_p(flag, 1, pe);
    gshmem_uint64_wait_until(flag, GSHMEM_CMP_EQ, 1);
}

const void *second_unit(void);
const void *second_unit(void)
{
    return (const void *)kernel_p_and_wait;
}
