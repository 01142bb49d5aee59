/* SPDX-License-Identifier: Apache-2.0
 * Shared by the two files of near_only.cu. */
#ifndef GSHMEM_TESTS_NEAR_ONLY_H
#define GSHMEM_TESTS_NEAR_ONLY_H

#include <stddef.h>
#include <stdint.h>

/* Not whole vectors: no call takes the usual path. */
static const size_t near_only_nelems = 7;

/* Symmetric, except out and back. */
struct sides {
    long *in, *out, *back;
    uint64_t *signal;
};

void near_only_launch(sides s, int pe, cudaStream_t stream);

#endif
