/* SPDX-License-Identifier: Apache-2.0
 * A program whose own lines give no warning: neither do the headers that they include, nor the
 * constants and templates that they use. */
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gshmem.h>
#include <gshmem_device.cuh>
#include <gshmemx.h>
#include <nccl_device.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <shmem.h>
#include <shmemx.h>

__global__ static void kernel(long *words, __half *halves)
{
    gshmem_long_p(words, 3L, 0);
    gshmem_put(words, words, 1, 0);
    gshmem_put(halves, halves, 1, 0);
    gshmem_put(GSHMEM_CTX_DEFAULT, halves, halves, 1, 0);
    gshmem_wait_until(words, GSHMEM_CMP_EQ, 3L);
    gshmem_atomic_add(words, 1L, 0);
    gshmemx_long_sum_reduce_block(GSHMEM_TEAM_WORLD, words, words, 1);
    nvshmem_long_p(words, 3L, 0);
    nvshmemx_long_put_block(words, words, 1, 0);
    shmem_long_p(words, 3L, 0);
    cooperative_groups::this_thread_block().sync();
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(reinterpret_cast<unsigned *>(words), 1u);
}

int main()
{
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    const gshmemx_uniqueid_t id = GSHMEMX_UNIQUEID_INITIALIZER;
    const nvshmemx_init_attr_t other_attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    const nvshmem_team_config_t team_config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    const ncclConfig_t nccl_config = NCCL_CONFIG_INITIALIZER;
    gshmem_ctx_t ctx = GSHMEM_CTX_INVALID;
    gshmem_team_t team = GSHMEM_TEAM_INVALID;
    gshmem_init();
    long *words = static_cast<long *>(gshmem_malloc(64));
    __half *halves = static_cast<__half *>(gshmem_malloc(64));
    gshmem_ctx_create(GSHMEM_CTX_PRIVATE, &ctx);
    gshmem_put(ctx, words, words, 1, 0);
    gshmem_sum_reduce(GSHMEM_TEAM_WORLD, words, words, 1);
    shmem_sum_reduce(SHMEM_TEAM_WORLD, words, words, 1);
    shmem_barrier(SHMEM_TEAM_WORLD);
    gshmem_launch(kernel, 1, 32, 0, nullptr, words, halves);
    cudaDeviceSynchronize();
    gshmem_finalize();
    return attr.version == id.version || other_attr.version == team_config.version ||
           nccl_config.blocking == 0 || team == GSHMEMX_TEAM_NEAR;
}
