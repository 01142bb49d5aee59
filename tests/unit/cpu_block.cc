/* SPDX-License-Identifier: Apache-2.0
 * Proves: indices, barriers with and without a result, static and dynamic shared memory, tiles and
 * the grid's barrier of the CPU device, for blocks and grids of all shapes. */
#include <cooperative_groups.h>
#include "tests/rig/cpu_test.h"

namespace cg = cooperative_groups;

static __global__ void indices(unsigned *seen)
{
    CHECK(threadIdx.x < blockDim.x && threadIdx.y < blockDim.y && threadIdx.z < blockDim.z);
    CHECK(blockIdx.x < gridDim.x && blockIdx.y < gridDim.y && blockIdx.z < gridDim.z);
    unsigned n = blockDim.x * blockDim.y * blockDim.z;
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    atomicAdd(&seen[block * n + thread], 1u);
    CHECK_EQ(cg::this_thread_block().thread_rank(), thread);
    CHECK_EQ(cg::this_grid().thread_rank(), block * n + thread);
}

static __global__ void barriers(int rounds)
{
    __shared__ int value[1024];
    int n = (int)cg::this_thread_block().size(), rank = (int)cg::this_thread_block().thread_rank();
    for (int i = 0; i < rounds; i++) {
        value[rank] = rank + i;
        __syncthreads();
        CHECK_EQ(value[(rank + i) % n], (rank + i) % n + i);
        CHECK_EQ(__syncthreads_count(rank % 3 == 0), (n + 2) / 3);
        CHECK_EQ(__syncthreads_and(rank >= 0), 1);
        CHECK_EQ(__syncthreads_and(rank != n - 1), 0);
        CHECK_EQ(__syncthreads_or(rank == i % n), 1);
        CHECK_EQ(__syncthreads_or(0), 0);
    }
}

template <class T> static __global__ void dynamic(T *sum, unsigned count)
{
    GSHMEM_DYNAMIC_SHARED(T, a);
    unsigned n = blockDim.x * blockDim.y * blockDim.z;
    unsigned rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    CHECK_EQ((uintptr_t)a % 16, 0);
    for (unsigned i = rank; i < count; i += n) {
        a[i] = (T)i;
    }
    __syncthreads();
    if (rank == 0) {
        *sum = 0;
        for (unsigned i = 0; i < count; i++) {
            *sum += a[i];
        }
    }
}

/* Each thread works on its own stack between barriers. */
static __global__ void deep_stacks()
{
    volatile unsigned char mine[4096];
    unsigned rank = threadIdx.x;
    for (unsigned i = 0; i < sizeof mine; i += 64) {
        mine[i] = (unsigned char)rank;
    }
    for (int round = 0; round < 3; round++) {
        __syncthreads();
    }
    for (unsigned i = 0; i < sizeof mine; i += 64) {
        CHECK_EQ(mine[i], rank % 256);
    }
}

static __global__ void grid_rounds(int *slot, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    unsigned long long n = grid.size(), me = grid.thread_rank();
    for (int i = 0; i < rounds; i++) {
        slot[me] = (int)me + i;
        grid.sync();
        unsigned long long other = (me * 7 + 13) % n;
        CHECK_EQ(slot[other], (int)other + i);
        grid.sync();
    }
}

static __global__ void tiles()
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int rank = (int)tile.thread_rank();
    CHECK_EQ(tile.shfl_xor(rank, 1), rank ^ 1);
    CHECK_EQ(tile.shfl(rank, 3), 3);
    CHECK_EQ(tile.ballot(rank < 2), 3);
    CHECK_EQ(tile.meta_group_rank(), threadIdx.x / 8);
    if (tile.meta_group_rank() % 2) {
        tile.sync();
    }
    CHECK_EQ(tile.any(rank == 7), 1);
}

static __constant__ float coefficient[3];
static __device__ int counter;

static __global__ void symbols()
{
    CHECK(coefficient[2] == 2.5f);
    atomicAdd(&counter, 2);
}

static void test_collective()
{
    int slot[6 * 40] = {0}, *p = slot, rounds = 20, gridsize = 0;
    void *args[] = {&p, &rounds};
    CHECK_EQ(gshmemx_collective_launch(grid_rounds, dim3(3, 2), dim3(5, 8), args, 0, nullptr), 0);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ(gshmemx_collective_launch(grid_rounds, dim3(1), dim3(40), args, 0, nullptr), 0);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ(gshmemx_collective_launch(grid_rounds, dim3(100000), dim3(1), args, 0, nullptr),
             GSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED);
    CHECK(strstr(gshmemx_error_string(GSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED),
                 "the grid of 100000 blocks cannot run at one time: at most 1024 such blocks can"));
    CHECK_EQ(gshmemx_collective_launch(grid_rounds, dim3(1), dim3(1025), args, 0, nullptr),
             GSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(gshmemx_collective_launch_query_gridsize(grid_rounds, dim3(40), args, 0, &gridsize),
             0);
    CHECK(gridsize >= 1);
}

int main()
{
    for (dim3 shape : test_shapes) {
        unsigned n = volume(shape) * 12;
        std::vector<unsigned> seen(n);
        run(indices, dim3(2, 3, 2), shape, 0, seen.data());
        for (unsigned i = 0; i < n; i++) {
            CHECK_EQ(seen[i], 1);
        }
        run(barriers, dim3(3), shape, 0, 5);
        double sum = 0;
        run(dynamic<double>, dim3(1), shape, 3000 * sizeof(double), &sum, 3000);
        CHECK(sum == 3000.0 * 2999 / 2);
        unsigned short small = 0;
        run(dynamic<unsigned short>, dim3(1), shape, 100 * 2, &small, 100);
        CHECK_EQ(small, 4950);
    }
    run(deep_stacks, dim3(2), test_shapes[5 - 1], 0);
    run(tiles, dim3(2), dim3(64), 0);
    test_collective();
    float value = 2.5f;
    CHECK_EQ(cudaMemcpyToSymbol(coefficient, &value, 4, 8), cudaSuccess);
    run(symbols, dim3(2), dim3(4), 0);
    int count = 0;
    CHECK_EQ(cudaMemcpyFromSymbol(&count, counter, sizeof count), cudaSuccess);
    CHECK_EQ(count, 16);
    return test_result();
}
