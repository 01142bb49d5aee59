/* SPDX-License-Identifier: Apache-2.0
 * How these programs start, with gshmem and, if TEST_NVSHMEM is defined, with NVSHMEM itself: by
 * gshmemrun in both cases. The rest of each program is the same source for both. */
#ifndef GSH_TEST_NVSHMEM_START_H
#define GSH_TEST_NVSHMEM_START_H

#if defined(TEST_NVSHMEM)
#include "perftest/compare.h" /* gshmem_init and gshmemx_run for NVSHMEM */
/* Started by a unique id, it wants the GPU at once. */
#define START() (cudaSetDevice(perftest::detail::environment_number("GSHMEM_RANK")), gshmem_init())
#else
#include <nvshmem.h>
#include <nvshmemx.h>
#define START() nvshmem_init()
#endif

#include <cuda_runtime.h>
#include "tests/test.h"

#define CUDA(call) REQUIRE((call) == cudaSuccess)
#define REQUIRE(what)                                                          \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what); \
            nvshmem_global_exit(1);                                            \
        }                                                                      \
    } while (0)

/* As NVSHMEM's own programs do: after init, selects the GPU by the number in the node. With
 * GSHMEM_NODE_PES, nodes are parts of one host. */
static inline void start_pe(void)
{
    int n_devices = 0;
    START();
    const int number =
        getenv("GSHMEM_NODE_PES") ? nvshmem_my_pe() : nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE);
    CUDA(cudaGetDeviceCount(&n_devices));
    CUDA(cudaSetDevice(number % n_devices));
}

#endif
