/* SPDX-License-Identifier: Apache-2.0
 * Sums of halves (IEEE binary16), by their bits, for hosts, whose C may have no such type.
 * Compiles as C17 and C++17; C standard headers only. */
#ifndef GSH_HALF_H
#define GSH_HALF_H

#include <stdint.h>
#include <string.h>

static inline float gsh_half_to_float(uint16_t bits16)
{
    uint32_t sign = (uint32_t)(bits16 & 0x8000u) << 16, exponent = bits16 >> 10 & 31u;
    uint32_t fraction = bits16 & 0x3ffu, bits;
    float value = (float)fraction / 16777216; /* below the least normal half: multiples of 2^-24 */
    memcpy(&bits, &value, sizeof(bits));
    if (exponent == 31) {
        bits = 0x7f800000u | fraction << 13;
    } else if (exponent != 0) {
        bits = (exponent + 112) << 23 | fraction << 13;
    }
    bits |= sign;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* The nearest half; of two equally near ones the even. Any NaN becomes one NaN, as on GPUs. */
static inline uint16_t gsh_half_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) {
        return 0x7fff;
    }
    if (bits >= 0x477ff000u) { /* 65520 and more */
        return sign | 0x7c00;
    }
    if (bits < 0x38800000u) { /* below the least normal half */
        /* Between 0.5 and 1 neighbouring floats are 2^-24 apart: the sum is rounded to that. */
        float magnitude, middle = 0.5f;
        uint32_t rounded, base;
        memcpy(&magnitude, &bits, sizeof(magnitude));
        magnitude += middle;
        memcpy(&rounded, &magnitude, sizeof(rounded));
        memcpy(&base, &middle, sizeof(base));
        return (uint16_t)(sign | (rounded - base));
    }
    bits += 0xfffu + (bits >> 13 & 1u);
    return (uint16_t)(sign | (bits - 0x38000000u) >> 13);
}

/* A float holds more than twice a half's digits, so rounding its sum once more changes nothing. */
static inline uint16_t gsh_half_sum(uint16_t a, uint16_t b)
{
    return gsh_half_from_float(gsh_half_to_float(a) + gsh_half_to_float(b));
}

#endif
