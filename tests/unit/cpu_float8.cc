/* SPDX-License-Identifier: Apache-2.0
 * Proves: every 8-bit floating-point number converts to the float of its definition, and back;
 * floats round to nearest even, also at the limits of subnormal numbers and of the range; the types
 * of <cuda_fp8.h> convert likewise from and to all others. */
#include <cuda_fp8.h>
#include <float.h>
#include <string.h>
#include "gshmem/detail/float8.h"
#include "tests/rig/cpu_test.h"
#include "tests/rig/float8_model.h"

template <class F> static unsigned code_of(float x)
{
    return gshmem::float8_detail::from_float<F>(x);
}

template <class F> static void check(const float8_format &f, float x)
{
    const unsigned got = code_of<F>(x), expected = float8_nearest(f, (double)x);
    if (got != expected) {
        fprintf(stderr, "%a is 0x%02x, not 0x%02x\n", (double)x, got, expected);
        CHECK(!"right");
    }
}

template <class F> static void check_around(const float8_format &f, float x)
{
    for (float y : {x, nextafterf(x, INFINITY), nextafterf(x, -INFINITY)}) {
        check<F>(f, y);
        check<F>(f, -y);
    }
}

template <class F> static void test_every_code(const float8_format &f)
{
    for (unsigned code = 0; code < 256; code++) {
        const float x = gshmem::float8_detail::to_float<F>((uint8_t)code);
        const double value = float8_value(f, code);
        if (isnan(value)) {
            CHECK(isnan(x));
            CHECK_EQ(code_of<F>(x), 0x7f);
        } else {
            CHECK((double)x == value && !signbit(x) == !(code & 0x80));
            CHECK_EQ(code_of<F>(x), isinf(x) ? (code & 0x80) | f.largest : code);
        }
    }
}

template <class F> static void test_rounding(const float8_format &f)
{
    for (unsigned code = 0; code < f.largest; code++) {
        const double value = float8_value(f, code), next = float8_value(f, code + 1);
        check_around<F>(f, (float)value);
        check_around<F>(f, (float)((value + next) / 2));
        check_around<F>(f, (float)(value + (next - value) / 4));
    }
    const double largest = float8_value(f, f.largest), before = float8_value(f, f.largest - 1);
    check_around<F>(f, (float)largest);
    check_around<F>(f, (float)(largest + (largest - before) / 2));
    check_around<F>(f, (float)(largest + (largest - before)));
    for (float x :
         {FLT_MAX, FLT_MIN, FLT_MIN / 2, nextafterf(0, 1), INFINITY, -INFINITY, NAN, -NAN})
        check<F>(f, x);
    /* through all floats, in steps that keep no bits */
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 40009) {
        const uint32_t some = (uint32_t)bits;
        float x;
        memcpy(&x, &some, sizeof(x));
        check<F>(f, x);
    }
}

template <class T> static void test_type(const float8_format &f)
{
    for (unsigned code = 0; code < 256; code++) {
        T x;
        x.__x = (unsigned char)code;
        const double value = float8_value(f, code);
        if (isnan(value) || isinf(value))
            continue;
        CHECK(static_cast<double>(x) == value && static_cast<float>(x) == (float)value);
        CHECK((float)static_cast<__half>(x) == (float)value);
        CHECK((float)static_cast<__nv_bfloat16>(x) == (float)value);
        CHECK_EQ(static_cast<int>(x), (int)value);
        CHECK_EQ(static_cast<bool>(x), value < 0 || value > 0);
        CHECK_EQ(T(value).__x, code);
        CHECK_EQ(T(static_cast<__half>(x)).__x, code);
        CHECK_EQ(T(static_cast<__nv_bfloat16>(x)).__x, code);
        /* rounded once, though as a float it would be half way */
        if (code < f.largest) {
            const double middle = (value + float8_value(f, code + 1)) / 2;
            CHECK_EQ(T(nextafter(middle, 1e9)).__x, code + 1);
            CHECK_EQ(T(nextafter(middle, 0)).__x, code);
        }
    }
    CHECK_EQ(T(1000000).__x, f.largest == 0x7e ? 0x7e : 0x7b);
    CHECK_EQ(T(-17).__x, float8_nearest(f, -17));
}

int main()
{
    test_every_code<gshmem::float8_detail::e4m3>(format_e4m3);
    test_every_code<gshmem::float8_detail::e5m2>(format_e5m2);
    test_rounding<gshmem::float8_detail::e4m3>(format_e4m3);
    test_rounding<gshmem::float8_detail::e5m2>(format_e5m2);
    test_type<__nv_fp8_e4m3>(format_e4m3);
    test_type<__nv_fp8_e5m2>(format_e5m2);
    return test_result();
}
