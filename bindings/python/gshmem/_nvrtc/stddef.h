/* SPDX-License-Identifier: Apache-2.0
 * For NVRTC: see stdint.h. */
#pragma once
typedef unsigned long size_t;
typedef long ptrdiff_t;
#ifndef NULL
#define NULL 0
#endif
