/* SPDX-License-Identifier: Apache-2.0
 * Proves: on the CPU device a kernel whose threads diverge at a barrier, leave before one, or name
 * an absent thread, or whose stack overflows, ends the process with one line that says what is
 * wrong; none hangs. */
#include <cooperative_groups.h>
#include "tests/rig/cpu_test.h"

#if defined(__SANITIZE_ADDRESS__)
#define TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ASAN 1
#endif
#endif
#ifndef TEST_ASAN
#define TEST_ASAN 0
#endif

static __global__ void exits()
{
    if (threadIdx.x < 3) {
        __syncthreads();
    }
}

static __global__ void parts()
{
    if (threadIdx.x < 5) {
        __syncthreads();
    } else {
        __syncwarp();
    }
}

static __global__ void mixes()
{
    if (threadIdx.x % 2) {
        __syncthreads();
    } else {
        __syncthreads_or(1);
    }
}

static __global__ void other_masks()
{
    if (threadIdx.x < 4) {
        __shfl_sync(0xffu, 1, 0);
    } else {
        __shfl_sync(0xf0u, 1, 4);
    }
}

static __global__ void not_in_mask()
{
    __ballot_sync(2u, 1);
}

static __global__ void spins_while_one_left(unsigned *flag)
{
    if (threadIdx.x == 1) {
        return;
    }
    if (threadIdx.x == 2) {
        __syncthreads();
    }
    while (__atomic_load_n(flag, __ATOMIC_RELAXED) == 0) {
        gshmemx_cpu_yield();
    }
}

static __global__ void grid_sync()
{
    cooperative_groups::this_grid().sync();
}

static __global__ void grid_sync_by_one()
{
    if (blockIdx.x == 1) {
        cooperative_groups::this_grid().sync();
    }
}

[[maybe_unused]] static __global__ void overflows(volatile char *p, int depth)
{
    if (blockIdx.x > 0) {
        return;
    }
    volatile char big[512];
    big[0] = 1;
    p[0] = big[0];
    if (depth > 0) {
        overflows(big, depth - 1);
    }
    p[1] = big[0];
}

/* Its frame ends far below the page that guards the stack. */
[[maybe_unused]] static __global__ void overflows_at_once(volatile char *p)
{
    volatile char big[4 << 20];
    for (unsigned i = 0; i < sizeof big; i += 4096) {
        big[i] = p[0];
    }
    p[1] = big[4096];
}

static __global__ void faults(volatile char *p)
{
    p[0] = 1;
}

template <class... P, class... A>
static void expect(const char *text, void (*kernel)(P...), dim3 grid, dim3 block, A &&...args)
{
    std::string got;
    int status = in_child(
        [&] {
            gshmem_launch(kernel, grid, block, 0, nullptr, args...);
            cudaDeviceSynchronize();
        },
        &got);
    CHECK_EQ(status, 1);
    bool is_there = got.find("gshmem: kernel ") != std::string::npos &&
                    got.find(text) != std::string::npos && got.find('\n') == got.size() - 1;
    if (!CHECK(is_there)) {
        fprintf(stderr, "expected: %s\ngot: %s\n", text, got.c_str());
    }
}

static void stop(void *context, const char *message)
{
    fprintf(stderr, "%s says: %s", (const char *)context, message);
    exit(42);
}

static void test_hook()
{
    std::string got;
    int status = in_child(
        [] {
            char name[] = "hook";
            struct gsh_cpu_config config = {};
            config.fatal = stop;
            config.context = name;
            gshmemx_cpu_device_bind(gshmemx_cpu_device_create(&config));
            gshmem_launch(exits, 1, 8, 0, nullptr);
            cudaDeviceSynchronize();
        },
        &got);
    CHECK_EQ(status, 42);
    CHECK(got.find("hook says: kernel ") == 0);
}

static void test_cooperative()
{
    std::string got;
    int status = in_child(
        [] {
            void *none = nullptr;
            gshmemx_collective_launch(grid_sync_by_one, 3, 4, &none, 0, nullptr);
            cudaDeviceSynchronize();
        },
        &got);
    CHECK_EQ(status, 1);
    CHECK(got.find("of 3 blocks wait at this_grid().sync()") != std::string::npos);
}

/* Under the sanitizers, they word the report of the fault. */
static void test_overflow()
{
    [[maybe_unused]] char bytes[2];
    char *none = nullptr;
    std::string got;
#if !defined(GSHMEM_CPU_TSAN) && !TEST_ASAN
    const char text[] = ": block (0,0,0): stack overflow in a CPU-device kernel thread, which has "
                        "131072 bytes; raise GSHMEM_CPU_STACK\n";
    expect(text, overflows, 1, 1, bytes, 5000);
    expect(text, overflows_at_once, 1, 1, bytes);
    expect(text, overflows, 3, 1, bytes, 5000);
#endif
#ifndef GSHMEM_CPU_TSAN
    /* Below a stack is a page that faults. */
    int status = in_child(
        [&] {
            gshmem_launch(overflows, 1, 1, 0, nullptr, bytes, 100000);
            cudaDeviceSynchronize();
        },
        &got);
    CHECK(status != 0);
#endif
    /* Any other fault is not ours. */
    got.clear();
    int faulted = in_child(
        [&] {
            gshmem_launch(faults, 1, 1, 0, nullptr, none);
            cudaDeviceSynchronize();
        },
        &got);
    CHECK(faulted != 0);
    CHECK(got.find("overflow in a CPU") == std::string::npos);
}

int main()
{
    unsigned flag = 0;
    expect(": block (0,0,0): 3 of 8 threads wait at __syncthreads while 5 have exited\n", exits, 1,
           8);
    expect(": block (0,0,0): 5 of 8 threads wait at __syncthreads, 3 at __syncwarp\n", parts, 1, 8);
    expect("4 of 8 threads wait at __syncthreads, 4 at __syncthreads_or\n", mixes, 1, 8);
    expect("4 of 8 threads wait at __shfl_sync while 4 have exited\n", other_masks, 1, 8);
    expect("does not name it", not_in_mask, 1, 1);
    expect("1 of 4 threads wait at __syncthreads while 1 have exited and 2 still run\n",
           spins_while_one_left, 1, 4, &flag);
    expect("not collective", grid_sync, 1, 4);
    test_cooperative();
    test_hook();
    std::string got;
    CHECK_EQ(in_child([] { __syncthreads(); }, &got), 1);
    CHECK_STR(got.c_str(), "gshmem: a barrier of threads was called in host code\n");
    test_overflow();
    return test_result();
}
