/* SPDX-License-Identifier: Apache-2.0
 * Proves: under the thread sanitizer, kernels of the CPU device that lack a barrier between threads
 * of a block, between warps, between blocks or between devices are reported with both stacks, and
 * correct ones, also with reused shared memory and stacks, are not. Elsewhere: skipped. */
#include <pthread.h>
#include "tests/rig/cpu_test.h"

#ifndef GSHMEM_CPU_TSAN

int main()
{
    test_skip("the thread sanitizer (-fsanitize=thread)");
}

#else

static int shared_word;

/* The same kernel, right and wrong. */
template <bool IsRight> static __global__ void neighbours(int *out)
{
    __shared__ int slot[64];
    slot[threadIdx.x] = (int)threadIdx.x;
    if (IsRight) {
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = slot[(threadIdx.x + 1) % blockDim.x];
}

template <bool IsRight> static __global__ void lanes(int *out)
{
    __shared__ int slot[64];
    slot[threadIdx.x] = (int)threadIdx.x;
    if (IsRight) {
        __syncwarp();
    } else {
        __shfl_sync(0xffffffffu, 0, 0); /* orders no memory */
    }
    out[threadIdx.x] = slot[threadIdx.x ^ 1];
}

template <bool IsRight> static __global__ void handed_over(int *data, unsigned *flag)
{
    if (blockIdx.x == 0) {
        *data = 1;
        if (IsRight) {
            __threadfence();
        }
        atomicExch(flag, 1u);
    } else {
        while (atomicAdd(flag, 0u) == 0) {
        }
        if (IsRight) {
            __threadfence();
        }
        *data += 1;
    }
}

static __global__ void write_word(int *word)
{
    *word = 1;
}

/* Deep enough that the stacks of threads overlap with those of earlier blocks. */
static __global__ void uses_stack(int *out)
{
    volatile int local[256];
    for (int i = 0; i < 256; i++) {
        local[i] = i + (int)threadIdx.x;
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = local[255];
}

static void *other_device(void *word)
{
    struct gsh_cpu_device *device = gshmemx_cpu_device_create(nullptr);
    gshmemx_cpu_device_bind(device);
    gshmem_launch(write_word, 1, 1, 0, nullptr, (int *)word);
    gshmemx_cpu_device_destroy(device);
    return nullptr;
}

/* The sanitizer may miss two simultaneous accesses: then try again. */
template <class F> static void expect(bool is_race, const char *function, F f)
{
    std::string got;
    int status = 0;
    bool is_reported = false;
    for (int i = 0; i < 20 && !is_reported && (is_race || i == 0); i++) {
        got.clear();
        status = in_child(f, &got);
        is_reported = got.find("data race") != std::string::npos;
    }
    CHECK_EQ(is_reported, is_race);
    CHECK_EQ(status, is_race ? 66 : 0); /* the sanitizer's exit status */
    if (is_race) {
        CHECK(got.find(function) != std::string::npos && got.find("Previous") != std::string::npos);
    }
    if (is_reported != is_race) {
        fprintf(stderr, "%s: %.3000s\n", function, got.c_str());
    }
}

int main()
{
    static int out[1024];
    static unsigned flag;
    expect(true, "neighbours", [] { run(neighbours<false>, 1, 64, 0, out); });
    expect(false, "neighbours", [] { run(neighbours<true>, 4, 64, 0, out); });
    expect(true, "lanes", [] { run(lanes<false>, 1, 64, 0, out); });
    expect(false, "lanes", [] { run(lanes<true>, 1, 64, 0, out); });
    expect(true, "handed_over", [] { run(handed_over<false>, 2, 1, 0, &shared_word, &flag); });
    expect(false, "handed_over", [] { run(handed_over<true>, 2, 1, 0, &shared_word, &flag); });
    expect(true, "write_word", [] { run(write_word, 2, 1, 0, &shared_word); });
    expect(true, "write_word", [] {
        pthread_t thread;
        pthread_create(&thread, nullptr, other_device, &shared_word);
        other_device(&shared_word);
        pthread_join(thread, nullptr);
    });
    expect(false, "uses_stack", [] {
        for (int i = 0; i < 4; i++) {
            run(uses_stack, 8, 32, 0, out);
            run(uses_stack, 3, 64, 0, out);
        }
    });
    return test_result();
}

#endif
