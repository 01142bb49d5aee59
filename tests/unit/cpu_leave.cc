/* SPDX-License-Identifier: Apache-2.0
 * Proves: on the CPU device a CUDA thread can end in the middle of its function; threads that wait
 * for it at a barrier of the block, of four warps or of the grid, or in a warp call, end, too,
 * whichever comes first; threads that wait for none run to their end; and the stream and the device
 * still work. */
#include <cooperative_groups.h>
#include "tests/rig/cpu_test.h"

enum where { AT_BLOCK, AT_GROUP, AT_WARP, AT_GRID, NOWHERE };

static unsigned n_ended, n_beyond;

static __device__ __attribute__((noinline)) void leave_from(volatile char *above)
{
    volatile char frame[512];
    frame[0] = above[0];
    gshmemx_cpu_leave();
    above[0] = frame[0];
}

/* Some threads leave: at once, after others have reached the barrier, or between two barriers. */
static __global__ void leaves(int where, unsigned turns, bool is_first)
{
    volatile char frame[8] = {};
    unsigned n = blockDim.x * blockDim.y * blockDim.z, blocks = gridDim.x;
    unsigned rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    __syncthreads();
    bool leaves_here =
        where == AT_GRID ? blockIdx.x == blocks / 2 : rank % 32 == (is_first ? 0 : 30);
    if (leaves_here) {
        for (unsigned i = 0; i < turns; i++) {
            gshmemx_cpu_yield();
        }
        leave_from(frame);
    }
    if (where == NOWHERE) {
        atomicAdd(&n_ended, 1u);
        return;
    }
    if (where == AT_BLOCK) {
        __syncthreads();
    } else if (where == AT_GROUP) {
        gshmemx_cpu_warpgroup();
    } else if (where == AT_WARP) {
        __syncwarp();
    } else {
        cooperative_groups::this_grid().sync();
    }
    if (where != AT_WARP || rank / 32 * 32 + (is_first ? 0 : 30) < n) {
        atomicAdd(&n_beyond, 1u);
    }
}

static __global__ void sums(unsigned *sum)
{
    __shared__ unsigned part;
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        part = 0;
    }
    __syncthreads();
    atomicAdd(&part, 1u);
    __syncthreads();
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        atomicAdd(sum, part);
    }
}

static void check_device(dim3 shape)
{
    unsigned sum = 0;
    run(sums, dim3(3), shape, 0, &sum);
    CHECK_EQ(sum, 3 * volume(shape));
}

int main()
{
    for (dim3 shape : test_shapes) {
        unsigned n = volume(shape), n_leavers = 0;
        for (unsigned i = 0; i < n; i++) {
            n_leavers += i % 32 == 0;
        }
        for (unsigned turns : {0u, 3u, 100u}) {
            for (int i = 0; i < 6; i++) {
                n_beyond = n_ended = 0;
                run(leaves, dim3(i % 2 == 0 ? 1 : 3), shape, 0, AT_BLOCK + i / 2, turns, true);
                CHECK_EQ(n_beyond, 0);
                run(leaves, dim3(2), shape, 0, AT_WARP, turns, false);
                CHECK_EQ(n_beyond, 0);
            }
            run(leaves, dim3(2), shape, 0, NOWHERE, turns, true);
            CHECK_EQ(n_ended, 2 * (n - n_leavers));
            int where = AT_GRID;
            bool is_first = true;
            void *args[] = {&where, &turns, &is_first};
            CHECK_EQ(gshmemx_collective_launch(leaves, 3, shape, args, 0, nullptr), 0);
            CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
            CHECK_EQ(n_beyond, 0);
        }
        check_device(shape);
    }
    return test_result();
}
