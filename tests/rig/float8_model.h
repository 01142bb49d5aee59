/* SPDX-License-Identifier: Apache-2.0
 * 8-bit floating-point numbers by their definition, for tests of code that computes with them: the
 * value of each code, and the code of the nearest value. */
#ifndef GSH_TEST_FLOAT8_MODEL_H
#define GSH_TEST_FLOAT8_MODEL_H

#include <math.h>

struct float8_format {
    int fraction_bits, bias;
    unsigned largest; /* finite, without the sign */
    bool has_infinity;
};
static const float8_format format_e4m3 = {3, 7, 0x7e, false}, format_e5m2 = {2, 15, 0x7b, true};

static inline double float8_value(const float8_format &f, unsigned code)
{
    const unsigned rest = code & 0x7f;
    const int exponent = (int)(rest >> f.fraction_bits);
    const int fraction = (int)(rest & ((1u << f.fraction_bits) - 1));
    double value;
    if (rest > f.largest) {
        value = f.has_infinity && rest == f.largest + 1 ? INFINITY : NAN;
    } else if (exponent == 0) {
        value = ldexp(fraction, 1 - f.bias - f.fraction_bits);
    } else {
        value = ldexp((1 << f.fraction_bits) + fraction, exponent - f.bias - f.fraction_bits);
    }
    return code & 0x80 ? -value : value;
}

static inline bool float8_is_nan(const float8_format &f, unsigned code)
{
    return isnan(float8_value(f, code));
}

/* The code of the nearest finite value; of two, the even one. Values increase with their codes. */
static inline unsigned float8_nearest(const float8_format &f, double x)
{
    const double size = fabs(x);
    const unsigned sign = signbit(x) ? 0x80 : 0;
    if (isnan(x)) {
        return 0x7f;
    }
    if (size >= float8_value(f, f.largest)) {
        return f.largest | sign;
    }
    unsigned code = 0, above = f.largest; /* code's value <= size < above's */
    while (above - code > 1) {
        const unsigned middle = (code + above) / 2;
        *(float8_value(f, middle) <= size ? &code : &above) = middle;
    }
    const double to_code = size - float8_value(f, code), to_above = float8_value(f, above) - size;
    const bool takes_above = to_above < to_code || (to_above == to_code && code % 2 == 1);
    return (takes_above ? above : code) | sign;
}

#endif
