/* SPDX-License-Identifier: Apache-2.0
 * Proves: CUDA's atomics and bit and number intrinsics have CUDA's results on the CPU device,
 * atomics also between blocks, and a lock taken by all threads of a block makes progress. */
#include "tests/rig/cpu_test.h"

#if defined(__x86_64__) && defined(__GNUC__)
/* A compiler that may fuse a product and a sum does so where it can. */
__attribute__((target("fma"), noinline)) static float product_and_sum(volatile float *v)
{
    return __fadd_rn(v[0] * v[1], v[2]);
}
#endif

static __global__ void results()
{
    int i = 5;
    CHECK_EQ(atomicAdd(&i, 3), 5);
    CHECK_EQ(atomicSub(&i, 10), 8);
    CHECK_EQ(i, -2);
    CHECK_EQ(atomicMin(&i, 4), -2);
    CHECK_EQ(atomicMax(&i, 4), -2);
    CHECK_EQ(atomicExch_system(&i, 12), 4);
    CHECK_EQ(atomicAnd(&i, 10), 12);
    CHECK_EQ(atomicOr(&i, 1), 8);
    CHECK_EQ(atomicXor_block(&i, 3), 9);
    CHECK_EQ(atomicCAS(&i, 9, 1), 10);
    CHECK_EQ(atomicCAS(&i, 10, 1), 10);
    CHECK_EQ(i, 1);
    unsigned u = 0;
    CHECK_EQ(atomicInc(&u, 1), 0);
    CHECK_EQ(atomicInc(&u, 1), 1);
    CHECK_EQ(atomicDec(&u, 7), 0);
    CHECK_EQ(atomicDec(&u, 7), 7);
    CHECK_EQ(u, 6);
    CHECK_EQ(atomicMax(&u, 0xffffffffu), 6);
    CHECK_EQ(atomicMin(&u, 1u), 0xffffffffu);
    unsigned long long w = 1ull << 40;
    CHECK_EQ(atomicAdd_system(&w, 1ull << 41), 1ull << 40);
    CHECK_EQ(atomicCAS(&w, 3ull << 40, 7ull), 3ull << 40);
    CHECK_EQ(atomicOr(&w, 8ull), 7);
    CHECK_EQ(w, 15);
    float f = 1.5f;
    CHECK(atomicAdd(&f, 2) == 1.5f && f == 3.5f);
    CHECK(atomicExch(&f, 1.0f) == 3.5f);
    double d = 0.25;
    CHECK(atomicAdd(&d, 0.5) == 0.25 && d == 0.75);
}

static __global__ void intrinsics()
{
    CHECK_EQ(__popc(0xf0f0u), 8);
    CHECK_EQ(__popcll(~0ull), 64);
    CHECK_EQ(__ffs(0), 0);
    CHECK_EQ(__ffs(8), 4);
    CHECK_EQ(__ffsll(1ll << 40), 41);
    CHECK_EQ(__clz(0), 32);
    CHECK_EQ(__clz(-1), 0);
    CHECK_EQ(__clz(1), 31);
    CHECK_EQ(__clzll(0), 64);
    CHECK_EQ(__clzll(1), 63);
    CHECK_EQ(__brev(1), 0x80000000u);
    CHECK_EQ(__brev(0x12345678u), 0x1e6a2c48u);
    CHECK_EQ(__umulhi(0x80000000u, 6), 3);
    CHECK_EQ(__umul64hi(1ull << 63, 6), 3);
    CHECK_EQ(__funnelshift_l(0x80000000u, 1, 1), 3);
    CHECK_EQ(__funnelshift_r(0x80000000u, 1, 1), 0xc0000000u);
    CHECK_EQ(__float_as_int(1.0f), 0x3f800000);
    const float above_one = 1.0f + 0x1p-20f; /* its square rounds 2^-40 away */
    CHECK(__fadd_rn(__fmul_rn(above_one, above_one), -1.0f - 0x1p-19f) == 0.0f);
#if defined(__x86_64__) && defined(__GNUC__)
    volatile float operands[3] = {above_one, above_one, -1.0f - 0x1p-19f};
    CHECK(!__builtin_cpu_supports("fma") || product_and_sum(operands) == 0.0f);
#endif
    CHECK(__fmaf_rn(above_one, above_one, -1.0f - 0x1p-19f) == 0x1p-40f);
    CHECK(__dsub_rn(__dmul_rn(3.0, 0.5), __ddiv_rn(1.0, 2.0)) == 1.0);
    CHECK(__int_as_float(0x40000000) == 2.0f);
    CHECK(__longlong_as_double(__double_as_longlong(-3.25)) == -3.25);
    CHECK(rsqrtf(4.0f) == 0.5f);
    CHECK_EQ(min(3, -2), -2);
    CHECK_EQ(max(3u, 7u), 7);
    CHECK(max(1.0f, 2.0f) == 2.0f);
    int4 v = make_int4(1, 2, 3, 4);
    CHECK_EQ(__ldg(&v).w, 4);
    CHECK_EQ(sizeof(double2), 16);
    CHECK_EQ(alignof(float4), 16);
    CHECK_EQ(sizeof(float3), 12);
    CHECK_EQ(warpSize, 32);
}

/* Twice the sum over all threads, once by each method. */
static __global__ void add_up(int *i, unsigned long long *w, float *f, double *d)
{
    atomicAdd(i, 1);
    atomicAdd(w, 1ull);
    atomicAdd(f, 1.0f);
    atomicAdd(d, 0.5);
}

/* A lock between the threads of a block, which run one at a time here. */
static __global__ void locked(int *lock, int *count)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    int seen = *count;
    __nanosleep(10); /* switch threads while holding it */
    *count = seen + 1;
    __threadfence();
    atomicExch(lock, 0);
    __syncthreads();
}

int main()
{
    run(results, dim3(1), dim3(33), 0);
    run(intrinsics, dim3(1), dim3(1), 0);
    for (dim3 shape : test_shapes) {
        int i = 0;
        unsigned long long w = 0;
        float f = 0;
        double d = 0;
        run(add_up, dim3(5), shape, 0, &i, &w, &f, &d);
        int n = 5 * (int)volume(shape);
        CHECK_EQ(i, n);
        CHECK_EQ(w, n);
        CHECK(f == (float)n);
        CHECK(d == n * 0.5);
    }
    int lock = 0, count = 0;
    run(locked, dim3(3), dim3(64), 0, &lock, &count);
    CHECK_EQ(count, 3 * 64);
    return test_result();
}
