/* SPDX-License-Identifier: Apache-2.0
 * Errors that kernels of the NCCL tests detect, and running a kernel that reports them. */
#ifndef GSH_TEST_NCCL_FAULTS_CUH
#define GSH_TEST_NCCL_FAULTS_CUH

#include "tests/nccl/ranks.cuh"

struct faults {
    int n, line; /* how many; where the first one is */
};
#define EXPECT(condition)                 \
    do {                                  \
        if (!(condition)) {               \
            if (atomicAdd(&f->n, 1) == 0) \
                f->line = __LINE__;       \
        }                                 \
    } while (0)

/* s.dev.rank: the rank. needs_host: the kernel waits for something that a host thread launches. */
template <class Setup>
void run_kernel(void (*kernel)(Setup, faults *), int n_blocks, int n_threads, const Setup &s,
                const char *name, bool needs_host = false)
{
    faults *f = NULL, seen = {};
    CUDA_OK(cudaMalloc(&f, sizeof *f));
    CUDA_OK(cudaMemset(f, 0, sizeof *f));
    gshmem_launch(kernel, dim3(n_blocks), dim3(n_threads), 0, 0, s, f);
    /* A kernel that waits for a far rank needs the host, too (several-nodes.md). */
    if (needs_host || gshmem_team_n_pes(GSHMEMX_TEAM_NODE) < gshmem_n_pes())
        CUDA_OK(cudaDeviceSynchronize());
    /* It waits for the kernel, and meanwhile keeps CUDA from launching what joins GIN's copies. */
    CUDA_OK(cudaMemcpy(&seen, f, sizeof seen, cudaMemcpyDefault));
    if (seen.n > 0) {
        fprintf(stderr, "%s: rank %d: %d times wrong, first in line %d\n", name, s.dev.rank, seen.n,
                seen.line);
        CHECK(!"right");
    }
    CUDA_OK(cudaFree(f));
}

#endif
