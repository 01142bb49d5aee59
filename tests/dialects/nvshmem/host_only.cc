/* SPDX-License-Identifier: Apache-2.0
 * Proves that the host calls alone make a program: what libraries that only allocate and start do.
 */
#define NVSHMEM_HOSTLIB_ONLY 1
#include <nvshmem.h>
#include <nvshmemx.h>

#if defined(NVSHMEM_DEVICE_CODE)
#error "there are kernels' calls here"
#endif

int main()
{
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    assert(nvshmemx_hostlib_init_attr(0, &attr) == 0);
    int *box = (int *)nvshmem_calloc(4, sizeof(int));
    nvshmem_int_p(box, 1 + nvshmem_my_pe(), (nvshmem_my_pe() + 1) % nvshmem_n_pes());
    nvshmem_barrier_all();
    const int got = nvshmem_int_g(box, nvshmem_my_pe());
    nvshmemx_hostlib_finalize();
    return got == 0;
}
