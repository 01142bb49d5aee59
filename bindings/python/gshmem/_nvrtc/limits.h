/* SPDX-License-Identifier: Apache-2.0
 * For NVRTC: see stdint.h. */
#pragma once
#define CHAR_BIT   8
#define CHAR_MIN   (-128)
#define CHAR_MAX   127
#define SHRT_MAX   0x7fff
#define INT_MAX    0x7fffffff
#define INT_MIN    (-INT_MAX - 1)
#define UINT_MAX   0xffffffffu
#define LONG_MAX   0x7fffffffffffffffL
#define LONG_MIN   (-LONG_MAX - 1)
#define ULONG_MAX  0xffffffffffffffffUL
#define LLONG_MAX  0x7fffffffffffffffLL
#define LLONG_MIN  (-LLONG_MAX - 1)
#define ULLONG_MAX 0xffffffffffffffffULL
