/* SPDX-License-Identifier: Apache-2.0
 * Proves: what programs written for CUDA say in ordinary C++ means the same for the CPU device:
 * built-in variables and local ones of the same names, devices by number, versions, kernels
 * launched by a cast address, min and max of mixed types, intrinsics, attributes. */
#include <cooperative_groups.h>
#include <limits.h>
#include <type_traits>
#include "tests/unit/cpu_test.h"

/* ---- built-in variables ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
static void test_local_names()
{
    dim3 gridDim(3, 2);
    dim3 blockDim(32);
    uint3 blockIdx = {1, 2, 3};
    unsigned threadIdx = 5;
    CHECK_EQ(volume(gridDim), 6);
    CHECK_EQ(volume(blockDim), 32);
    CHECK_EQ(blockIdx.z, 3);
    CHECK_EQ(threadIdx, 5);
}
#pragma GCC diagnostic pop

/* Held across a wait, by every thread. */
static __global__ void built_in(dim3 grid, dim3 block, unsigned *n)
{
    static_assert(std::is_same<decltype(threadIdx.x), const unsigned>::value ||
                      std::is_same<decltype(threadIdx.x), unsigned>::value,
                  "an ordinary number");
    const uint3 mine = threadIdx, where = blockIdx;
    unsigned rank = mine.x + block.x * (mine.y + block.y * mine.z);
    CHECK_EQ(rank, gshmem_cpu_self->rank);
    for (int i = 0; i < 3; i++) {
        __syncthreads();
        dim3 b = blockDim, g = gridDim;
        CHECK(threadIdx.x == mine.x && threadIdx.y == mine.y && threadIdx.z == mine.z);
        CHECK(blockIdx.x == where.x && blockIdx.y == where.y && blockIdx.z == where.z);
        CHECK(b.x == block.x && b.y == block.y && b.z == block.z);
        CHECK(g.x == grid.x && g.y == grid.y && g.z == grid.z);
        gshmemx_cpu_yield();
    }
    atomicAdd(n, 1u);
}

static void test_built_in()
{
    for (dim3 shape : test_shapes) {
        unsigned n = 0;
        run(built_in, dim3(2, 3, 2), shape, 0, dim3(2, 3, 2), shape, &n);
        CHECK_EQ(n, 12 * volume(shape));
    }
}

/* ---- devices ---- */

static void test_devices()
{
    int count = 0, device = -1, value = 0, version = 0;
    cudaDeviceProp prop;
    unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    CHECK_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    CHECK_EQ(count, 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "6", 1);
    CHECK_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    CHECK_EQ(count, 6);
    CHECK_EQ(cudaGetDevice(&device), cudaSuccess);
    CHECK_EQ(device, 0);
    CHECK_EQ(cudaSetDevice(3), cudaSuccess);
    CHECK_EQ(cudaGetDevice(&device), cudaSuccess);
    CHECK_EQ(device, 3);
    CHECK_EQ(cudaGetDeviceProperties(&prop, device), cudaSuccess);
    CHECK_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, device), cudaSuccess);
    CHECK_EQ(value, 32);
    CHECK_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    CHECK_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
    CHECK_EQ(cudaGetDevice(&device), cudaSuccess);
    CHECK_EQ(device, 3);
    CHECK_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
    CHECK_EQ(version, CUDART_VERSION);
    CHECK_EQ(cudaDriverGetVersion(&version), cudaSuccess);
    CHECK(version >= CUDART_VERSION);
}

/* ---- launches: the kernel itself, or its address as CUDA's programs pass it ---- */

static __global__ void count(int *n, int by)
{
    cooperative_groups::this_grid().sync();
    atomicAdd(n, by);
}

template <class A, class B> static __global__ void count_as(A *n, B by)
{
    atomicAdd(n, by);
}

static void test_launches()
{
    int n = 0, *out = &n, by = 1, n_blocks = 0;
    void *args[] = {&out, &by};
    bool is_first = true;
    const dim3 one(1);
#define LAUNCH(CALL) CHECK_EQ((int)(CALL), 0)
    LAUNCH(cudaLaunchCooperativeKernel((const void *)count, 2, one, args, 0, nullptr));
    LAUNCH(cudaLaunchCooperativeKernel((void *)&count, dim3(2), 1, args, 0, nullptr));
    LAUNCH(::cudaLaunchCooperativeKernel(count, dim3(2), dim3(1), args));
    LAUNCH(gshmemx_collective_launch((const void *)count, 2, 1, args, 0, nullptr));
    LAUNCH(gshmemx_collective_launch(count, 2, 1, args, 0, nullptr));
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ(n, 10);
    LAUNCH(cudaLaunchKernel((const void *)count_as<int, int>, 1, 1, args, 0, nullptr));
    LAUNCH(cudaLaunchKernel((void *)(count_as<int, int>), one, one, args, 0, nullptr));
    LAUNCH(cudaLaunchKernel((count_as<int, int>), 1, 1, args));
    LAUNCH(cudaLaunchKernel((is_first ? count_as<int, int> : count), 1, 1, args, 0, nullptr));
    LAUNCH(gshmemx_collective_launch_query_gridsize((void *)count, 1, args, 0, &n_blocks));
    CHECK(n_blocks >= 1);
    cudaLaunchAttribute attribute = {cudaLaunchAttributeCooperative, {1}};
    cudaLaunchConfig_t config = {dim3(2), dim3(1), 0, nullptr, &attribute, 1};
    LAUNCH(cudaLaunchKernelEx(&config, count, &n, 'a'));
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ(n, 14 + 2 * 'a');
#undef LAUNCH
}

int main()
{
    test_local_names();
    test_built_in();
    test_devices();
    test_launches();
    return test_result();
}
