/* SPDX-License-Identifier: Apache-2.0
 * A known number of requests that PE 0's kernel posts to a NIC, for nic.py to find in the job's
 * timeline. It waits for each, and so sees when it is done. Each takes one position of a queue: so
 * all are counted, however seldom somebody looks.
 */
#include <gshmem_device.cuh>
#include "tests/test.h"

enum { PUTS = 100, BYTES = 8 };

__global__ void put_all(char *dest, const char *source)
{
    for (int i = 0; i < PUTS; i++) {
        gshmem_putmem(dest, source, BYTES, 1);
        gshmem_quiet();
    }
}

static int pe_main(int, char **)
{
    gshmem_init();
    char *buffer = (char *)gshmem_calloc(2, BYTES);
    if (gshmem_my_pe() == 0) {
        CHECK(gshmem_launch(put_all, 1, 1, 0, (cudaStream_t)0, buffer, buffer + BYTES) ==
              cudaSuccess);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
    }
    gshmem_barrier_all();
    gshmem_free(buffer);
    gshmem_finalize();
    return test_result();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
