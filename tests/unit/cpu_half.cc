/* SPDX-License-Identifier: Apache-2.0
 * Proves: half and bfloat16 of the CPU device keep every value through float and back, and round to
 * nearest even, also at the limits of subnormal and infinite; they convert from and to numbers of
 * all types, rounding once; their operators, functions and atomics are CUDA's. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <limits.h>
#include <type_traits>
#include "tests/rig/cpu_test.h"

static void test_every_half()
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        __half h = __ushort_as_half((unsigned short)bits);
        float v = __half2float(h);
        if (v != v) {
            CHECK((bits & 0x7c00) == 0x7c00 && __half2float(__float2half(v)) != v);
        } else {
            CHECK_EQ(__half_as_ushort(__float2half(v)), bits);
        }
        /* Half way between two numbers rounds to the even one; a little more or less does not. */
        float next = __half2float(__ushort_as_half((unsigned short)(bits + 1)));
        if ((bits & 0x7fff) >= 0x7bff || v != v) {
            continue;
        }
        float middle = v + (next - v) / 2;
        CHECK_EQ(__half_as_ushort(__float2half(middle)), bits + (bits & 1));
        CHECK_EQ(__half_as_ushort(__float2half(nextafterf(middle, v))), bits);
        CHECK_EQ(__half_as_ushort(__float2half(nextafterf(middle, next))), bits + 1);
    }
    CHECK_EQ(__half_as_ushort(__float2half(65519.0f)), 0x7bff);
    CHECK_EQ(__half_as_ushort(__float2half(65520.0f)), 0x7c00);
    CHECK_EQ(__half_as_ushort(__float2half(-1e30f)), 0xfc00);
}

static void test_every_bfloat16()
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        float v = __bfloat162float(__ushort_as_bfloat16((unsigned short)bits));
        if (v == v) {
            CHECK_EQ(__bfloat16_as_ushort(__float2bfloat16(v)), bits);
        }
    }
    CHECK_EQ(__bfloat16_as_ushort(__float2bfloat16(1.00390625f)), 0x3f80); /* half way, to even */
    CHECK_EQ(__bfloat16_as_ushort(__float2bfloat16(1.01171875f)), 0x3f82); /* half way, to even */
    CHECK_EQ(__bfloat16_as_ushort(__float2bfloat16(3.3999e38f)), 0x7f80);
    CHECK(__bfloat162float(__float2bfloat16(NAN)) != 0);
}

/* From a number and back to each type, if that is exact. */
template <class H> static void test_conversions()
{
    static_assert(std::is_trivially_copyable<H>::value && sizeof(H) == 2, "passed as its bits");
    static_assert(std::is_same<H, gshmem_half_t>::value ||
                      std::is_same<H, gshmem_bfloat16_t>::value,
                  "what the calls take");
    const H from[] = {(short)7, (unsigned short)7, 7, 7u, 7l, 7ul, 7ll, 7ull, 7.0f, 7.0,
                      H(7.0f),  (signed char)7};
    for (H h : from) {
        float f = h;
        double d = h;
        int i = h;
        unsigned u = h;
        long long ll = h;
        unsigned char uc = h;
        CHECK(f == 7.0f && d == 7.0 && i == 7 && u == 7 && ll == 7 && uc == 7);
    }
    H h = -3;
    CHECK(h == H(-3.0) && -h == H(3u) && +h == h);
    h = 2;
    h += 3;
    h *= H(4);
    h -= 2.0;
    h /= 3ll;
    CHECK_EQ((int)h, 6);
    CHECK_EQ((int)h++, 6);
    CHECK_EQ((int)--h, 6);
    CHECK(h ? true : false);
    CHECK(!H(0));
    CHECK_EQ((int)H(-2.75f), -2); /* towards zero */
    CHECK_EQ((unsigned)H(-5), 0);
    CHECK_EQ((int)H(INFINITY), INT_MAX);
    CHECK_EQ((signed char)H(-1000), -128);
    CHECK_EQ((int)H(NAN), 0);
    CHECK(H(NAN) != H(NAN) && !(H(NAN) == H(NAN)) && !__hne(H(NAN), H(NAN)));
    CHECK(__hneu(H(NAN), H(NAN)) && __hisnan(H(NAN)) && __hisinf(H(-INFINITY)) == -1);
    CHECK_EQ((int)__hmax(H(3), H(4)), 4);
    CHECK_EQ((int)__habs(H(-4)), 4);
    CHECK_EQ((int)hfloor(H(-1.5)), -2);
    CHECK_EQ((int)hsqrt(H(49)), 7);
}

/* A little more than half way between 1 and the next number: lost in a float, which would then be
 * half way and round to the even 1. */
static void test_rounded_once()
{
    CHECK_EQ(__half_as_ushort(__half(1 + 0x1p-11 + 0x1p-40)), 0x3c01);
    CHECK_EQ(__half_as_ushort(__half(1 + 0x1p-11)), 0x3c00);
    CHECK_EQ(__half_as_ushort(__half(-1 - 0x1p-11 - 0x1p-40)), 0xbc01);
    CHECK_EQ(__half_as_ushort(__half(1 + 0x1p-10 + 0x1p-11 - 0x1p-40)), 0x3c01);
    CHECK_EQ(__bfloat16_as_ushort(__nv_bfloat16(1 + 0x1p-8 + 0x1p-40)), 0x3f81);
    CHECK_EQ(__bfloat16_as_ushort(__nv_bfloat16((1l << 40) + (1l << 32))), 0x5380);
    CHECK_EQ(__bfloat16_as_ushort(__nv_bfloat16((1l << 40) + (1l << 32) + 1)), 0x5381);
    CHECK_EQ(__bfloat16_as_ushort(__nv_bfloat16(-(1l << 40) - (1l << 32) - 1)), 0xd381);
    CHECK_EQ(__half_as_ushort(__half(LLONG_MIN)), 0xfc00);
    CHECK_EQ(__half_as_ushort(__half(65519)), 0x7bff);
    CHECK_EQ(__half_as_ushort(__half(65520u)), 0x7c00);
    CHECK_EQ(__half_as_ushort(__half(1e300)), 0x7c00);
    CHECK_EQ(__half_as_ushort(__half(__nv_bfloat16(3))), 0x4200);
    /* (1 + 2^-10)^2 is 1 + 2^-9 + 2^-20: its last digit decides whether the sum is half way. */
    __half e = 1 + 0x1p-10;
    CHECK_EQ(__half_as_ushort(__hfma(e, e, __half(0x1p-11 - 0x1p-20))), 0x3c02);
    CHECK_EQ(__half_as_ushort(__hfma(e, e, __half(0x1p-11))), 0x3c03);
}

template <class H2> static __global__ void add_all(H2 *pair, decltype(H2::x) *one)
{
    using H = decltype(H2::x);
    atomicAdd(one, H(1));
    atomicAdd(pair, H2(1, 2));
    H v = __shfl_xor_sync(0xffffffffu, H(threadIdx.x), 1);
    CHECK_EQ((int)v, threadIdx.x ^ 1);
}

static void test_pairs()
{
    __half2 h = __floats2half2_rn(1.0f, 2.0f);
    h = __hfma2(h, h, __half2half2(1)) + __float2half2_rn(0.5f);
    CHECK(__low2float(h) == 2.5f && __high2float(h) == 5.5f);
    __nv_bfloat162 b = __halves2bfloat162(1, 2);
    b *= __bfloat162bfloat162(3);
    float2 f = __bfloat1622float2(b);
    CHECK(f.x == 3.0f && f.y == 6.0f);
    h = __half2(0, 0);
    b = __nv_bfloat162(0, 0);
    __half one_h = 0;
    __nv_bfloat16 one_b = 0;
    run(add_all<__half2>, 2, 64, 0, &h, &one_h);
    run(add_all<__nv_bfloat162>, 1, 64, 0, &b, &one_b);
    CHECK(h == __half2(128, 256) && one_h == __half(128));
    CHECK(b == __nv_bfloat162(64, 128) && one_b == __nv_bfloat16(64));
}

static __global__ void arithmetic(__half *h, __nv_bfloat16 *b)
{
    *h = *h * __float2half(2.0f) + __float2half(0.5f);
    *b = *b - __float2bfloat16(1.0f);
}

int main()
{
    test_every_half();
    test_every_bfloat16();
    test_conversions<__half>();
    test_conversions<__nv_bfloat16>();
    test_rounded_once();
    test_pairs();
    __half h = __float2half(1.5f);
    __nv_bfloat16 b = __float2bfloat16(4.0f);
    run(arithmetic, 1, 1, 0, &h, &b);
    CHECK(__half2float(h) == 3.5f);
    CHECK(__bfloat162float(b) == 3.0f);
    CHECK(h > __float2half(3.0f));
    return test_result();
}
