/* SPDX-License-Identifier: Apache-2.0
 * One operation on a far PE, as the proxy carries it out for a kernel (through a ring) or for host
 * code. Offsets count from the heap's base, the same on all PEs. */
#ifndef GSH_REQUEST_H
#define GSH_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"
#include "wire/far_op.h"

#define GSH_REQUEST_INLINE_MAX 104 /* bytes; a ring's requests bring no more (ring.h) */

/* The number of a context, below GSH_CONTEXTS: operations of one number are ordered and completed
 * by its fence and quiet, apart from those of others. Several of the user's contexts may share a
 * number. 0: GSHMEM_CTX_DEFAULT. */
typedef uint32_t gsh_context;
#define GSH_CONTEXT_DEFAULT 0u
#define GSH_CONTEXTS        41u

struct gsh_request {
    uint8_t op;         /* enum gsh_far_op */
    uint8_t amo_op;     /* AMO: enum gsh_amo_op */
    uint8_t word_bytes; /* AMO, G: 1 (G only), 2, 4 or 8 */
    uint8_t sig_op;     /* PUT_SIGNAL, and an AMO on a stream: GSHMEM_SIGNAL_SET or _ADD */
    bool is_strong;     /* PUT_SIGNAL: the signal comes after all earlier puts to the PE, in its
                         * context; else after its own put alone */
    bool is_fetch;      /* AMO: wants the old value; G: always */
    int32_t pe;         /* target */
    gsh_context ctx;
    const char *call; /* the public name of what a host thread called, for reports; or NULL */
    uint64_t remote_off;
    /* Source of puts, dest of gets; this PE's address space. P, and PUT_SIGNAL of few bytes: NULL
     * when the bytes are in inline_data. */
    void *local;
    uint64_t bytes;                        /* PUT, GET, P, PUT_SIGNAL */
    uint64_t elem_bytes, nelems;           /* IPUT, IGET */
    ptrdiff_t remote_stride, local_stride; /* IPUT, IGET: in elements, at least 1 */
    uint64_t operand, cond;                /* AMO */
    uint64_t sig_off, signal;              /* PUT_SIGNAL */
    uint64_t value;                        /* result of a fetching AMO or G */
    uint64_t position, ticket;             /* from a ring: where it was; where the reply goes */
    uint8_t inline_data[GSH_REQUEST_INLINE_MAX];

    /* Set by the submitter; called once, on the thread that progresses the proxy and under its
     * lock, when the request is complete in its own sense (put: the source may be reused; get: the
     * data are there; quiet: everything before it is seen at its PE). */
    void (*done)(struct gsh_request *request);
    void *context;
    struct gsh_request *next; /* the proxy's, while it has the request */
};

#endif
