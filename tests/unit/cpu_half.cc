/* SPDX-License-Identifier: Apache-2.0
 * Proves: half and bfloat16 of the CPU device keep every value through float and back, and round
 * to nearest even, at the borders of subnormal and infinite too. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "tests/rig/cpu_test.h"

static void test_every_half()
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        __half h = __ushort_as_half((unsigned short)bits);
        float v = __half2float(h);
        if (v != v)
            CHECK((bits & 0x7c00) == 0x7c00 && __half2float(__float2half(v)) != v);
        else
            CHECK_EQ(__half_as_ushort(__float2half(v)), bits);
        /* Half way to the next one goes to the even one; a little more or less does not. */
        float next = __half2float(__ushort_as_half((unsigned short)(bits + 1)));
        if ((bits & 0x7fff) >= 0x7bff || v != v)
            continue;
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
        if (v == v)
            CHECK_EQ(__bfloat16_as_ushort(__float2bfloat16(v)), bits);
    }
    CHECK_EQ(__bfloat16_as_ushort(__float2bfloat16(1.00390625f)), 0x3f80); /* half way, to even */
    CHECK_EQ(__bfloat16_as_ushort(__float2bfloat16(1.01171875f)), 0x3f82); /* half way, to even */
    CHECK_EQ(__bfloat16_as_ushort(__float2bfloat16(3.3999e38f)), 0x7f80);
    CHECK(__bfloat162float(__float2bfloat16(NAN)) != 0);
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
    __half h = __float2half(1.5f);
    __nv_bfloat16 b = __float2bfloat16(4.0f);
    run(arithmetic, 1, 1, 0, &h, &b);
    CHECK(__half2float(h) == 3.5f);
    CHECK(__bfloat162float(b) == 3.0f);
    CHECK(h > __float2half(3.0f));
    return test_result();
}
