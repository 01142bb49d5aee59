/* SPDX-License-Identifier: Apache-2.0
 * Kinds of operations on far PEs, independent of what carries them: host calls, requests to the
 * proxy and the library's own kernels use these names. Only wire/ring.h knows how a ring encodes
 * them. Compiles as C17, C++17 and CUDA; wire headers only. */
#ifndef GSHMEM_FAR_OP_H
#define GSHMEM_FAR_OP_H

#include "state.h"

/* Host and device use the same values; both always come from one build. */
enum gsh_far_op {
    GSH_FAR_NONE,
    GSH_FAR_PUT,
    GSH_FAR_GET,
    GSH_FAR_P, /* a put that carries its data along */
    GSH_FAR_G,
    GSH_FAR_AMO,
    GSH_FAR_IPUT,
    GSH_FAR_IGET,
    GSH_FAR_PUT_SIGNAL,
    GSH_FAR_FENCE,
    GSH_FAR_QUIET,
    GSH_FAR_OPS
};

/* GSHMEM_SIGNAL_SET and _ADD, which a wire header cannot see; proxy/ring/reader.c asserts it. */
#define GSH_SIGNAL_SET 9
#define GSH_SIGNAL_ADD 10
/* With GSH_SIGNAL_ADD, for a put with signal: the signal also comes after all earlier puts to the
 * PE. To a near PE it always does. */
#define GSH_SIGNAL_STRONG 16

/* Whether there is such an operation on a word of so many bytes. */
static inline int gsh_amo_exists(uint64_t op, uint64_t bytes)
{
    return op < GSH_AMO_OPS && (bytes == 4 || bytes == 8 ||
                                (bytes == 2 && (op <= GSH_AMO_SWAP || op == GSH_AMO_FLOAT_ADD)));
}

#ifdef __CUDACC__
__host__ __device__
#endif
    static inline enum gsh_amo_op
    gsh_amo_of_signal(int sig_op)
{
    return sig_op == GSH_SIGNAL_SET ? GSH_AMO_SET : GSH_AMO_ADD;
}

#endif
