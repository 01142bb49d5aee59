/* SPDX-License-Identifier: Apache-2.0
 * Proves: shuffles, votes, matches, reductions and __syncwarp of the CPU device give CUDA's results
 * for full, partial and several disjoint masks, in blocks of all shapes. */
#include "tests/rig/cpu_test.h"

static __device__ unsigned rank_of_thread()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

/* The lanes of the caller's warp that exist. */
static __device__ unsigned lanes()
{
    unsigned first = rank_of_thread() / 32 * 32, n = blockDim.x * blockDim.y * blockDim.z - first;
    return n >= 32 ? 0xffffffffu : (1u << n) - 1;
}

template <class T> static __global__ void shuffle(T scale)
{
    int lane = (int)rank_of_thread() % 32, n = __popc(lanes());
    for (int width = 1; width <= 32; width *= 2) {
        int first = lane / width * width, end = first + width;
        for (int d = 0; d < 34; d++) {
            /* The value of lane s; a lane that does not exist yields the caller's own. */
            auto value = [&](int s) { return (T)((s < n ? s : lane) + 1) * scale; };
            int s = first + d % width;
            CHECK(__shfl_sync(0xffffffffu, value(lane), d, width) == value(s));
            s = lane - d >= first ? lane - d : lane;
            CHECK(__shfl_up_sync(0xffffffffu, value(lane), (unsigned)d, width) == value(s));
            s = lane + d < end ? lane + d : lane;
            CHECK(__shfl_down_sync(0xffffffffu, value(lane), (unsigned)d, width) == value(s));
            if (d < 32) {
                s = (lane ^ d) < end ? lane ^ d : lane;
                CHECK(__shfl_xor_sync(0xffffffffu, value(lane), d, width) == value(s));
            }
        }
    }
}

static __global__ void vote()
{
    unsigned lane = rank_of_thread() % 32, all = lanes();
    CHECK_EQ(__ballot_sync(0xffffffffu, lane % 3 == 0), 0x49249249u & all);
    CHECK_EQ(__any_sync(0xffffffffu, lane == 0), 1);
    CHECK_EQ(__any_sync(0xffffffffu, 0), 0);
    CHECK_EQ(__all_sync(0xffffffffu, 1), 1);
    CHECK_EQ(__all_sync(0xffffffffu, lane != 0), 0);
    unsigned quarter = 0x11111111u << lane % 4;
    CHECK_EQ(__match_any_sync(0xffffffffu, lane % 4), quarter & all);
    CHECK_EQ(__match_any_sync(0xffffffffu, (double)(lane % 4)), quarter & all);
    int is_same;
    CHECK_EQ(__match_all_sync(0xffffffffu, 7ll, &is_same), all);
    CHECK_EQ(is_same, 1);
    CHECK_EQ(__match_all_sync(0xffffffffu, lane, &is_same), __popc(all) == 1 ? all : 0);
    CHECK_EQ(is_same, __popc(all) == 1);
    CHECK_EQ(__activemask() >> lane & 1, 1);
    CHECK_EQ(__ballot_sync(__activemask(), 1), __activemask());
}

static __global__ void reduce()
{
    int lane = (int)rank_of_thread() % 32, n = __popc(lanes());
    CHECK_EQ(__reduce_add_sync(0xffffffffu, (unsigned)lane), n * (n - 1) / 2);
    CHECK_EQ(__reduce_add_sync(0xffffffffu, -lane), -n * (n - 1) / 2);
    CHECK_EQ(__reduce_min_sync(0xffffffffu, -lane), 1 - n);
    CHECK_EQ(__reduce_max_sync(0xffffffffu, lane - 5), n - 6);
    CHECK_EQ(__reduce_min_sync(0xffffffffu, (unsigned)-lane), n == 1 ? 0 : 0);
    CHECK_EQ(__reduce_max_sync(0xffffffffu, (unsigned)lane), n - 1);
    CHECK_EQ(__reduce_and_sync(0xffffffffu, ~(1u << lane)), ~lanes());
    CHECK_EQ(__reduce_or_sync(0xffffffffu, 1u << lane), lanes());
    CHECK_EQ(__reduce_xor_sync(0xffffffffu, 1u << lane), lanes());
}

/* Even and odd lanes diverge, at different speeds, with their own masks. */
static __global__ void diverge(int *sum)
{
    unsigned lane = rank_of_thread() % 32, mine = lane % 2 ? 0xaaaaaaaau : 0x55555555u;
    mine &= lanes();
    if (lane % 2) {
        for (int i = 0; i < 10; i++) {
            int from = __shfl_sync(mine, (int)lane * i, 1);
            CHECK_EQ(from, i);
        }
    } else {
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(__ballot_sync(mine, 1), mine);
        }
        __nanosleep(100);
    }
    __syncwarp();
    /* Written and read with only __syncwarp between. */
    static __device__ thread_local int slot[1024];
    slot[rank_of_thread()] = (int)lane;
    __syncwarp();
    unsigned next = (lane + 1) % (unsigned)__popc(lanes());
    CHECK_EQ(slot[rank_of_thread() / 32 * 32 + next], next);
    atomicAdd(sum, 1);
}

int main()
{
    for (dim3 shape : test_shapes) {
        run(shuffle<int>, dim3(2), shape, 0, 3);
        run(shuffle<double>, dim3(1), shape, 0, 0.5);
        run(shuffle<unsigned long long>, dim3(1), shape, 0, 1ull << 40);
        run(vote, dim3(3), shape, 0);
        run(reduce, dim3(2), shape, 0);
        int sum = 0;
        run(diverge, dim3(4), shape, 0, &sum);
        CHECK_EQ(sum, 4 * volume(shape));
    }
    return test_result();
}
