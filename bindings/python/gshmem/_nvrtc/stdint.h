/* SPDX-License-Identifier: Apache-2.0
 * NVRTC has no headers of C and C++. These have what gshmem's device headers use of them. */
#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
#define INT64_C(n)  n##L
#define UINT64_C(n) n##UL
#define INT32_MAX   0x7fffffff
#define INT64_MAX   0x7fffffffffffffffL
#define UINT8_MAX   0xff
#define UINT16_MAX  0xffff
#define UINT32_MAX  0xffffffffu
#define UINT64_MAX  0xffffffffffffffffUL
#define SIZE_MAX    UINT64_MAX
