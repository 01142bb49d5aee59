/* SPDX-License-Identifier: Apache-2.0
 * Wire structs between the host library and the kernels it launches itself (kernels.cu): one struct
 * by value for each kernel. Compiles as C17, C++17 and CUDA; C standard headers only. Addresses are
 * mapped addresses on the launching PE, unless stated otherwise. */
#ifndef GSHMEM_KERNELS_H
#define GSHMEM_KERNELS_H

#include <stdint.h>
#include "far_op.h"
#include "state.h"

/* gsh_kernel_amo, 1 thread: its fence orders it after all that the stream did before. */
struct gsh_kernel_amo_args {
    uint64_t address, operand, cond;
    uint64_t result; /* uint64_t *: receives the value before; 0: not wanted */
    uint32_t op;     /* enum gsh_amo_op */
    uint32_t bytes;  /* 4 or 8 */
};
GSH_STATIC_ASSERT(sizeof(struct gsh_kernel_amo_args) == 40, "gsh_kernel_amo_args is wire");

/* gsh_kernel_put_signal, 1 block: copies (bytes may be 0), then changes the signal (0: none).
 * Either side may be a peer's memory: without a signal it is a plain put or get. */
struct gsh_kernel_put_signal_args {
    uint64_t dest, source, bytes;
    uint64_t signal, value;
    uint64_t op; /* GSHMEM_SIGNAL_ */
};
GSH_STATIC_ASSERT(sizeof(struct gsh_kernel_put_signal_args) == 48, "put_signal_args is wire");

/* gsh_kernel_store, 1 thread: one element of 1, 2, 4 or 8 bytes. */
struct gsh_kernel_store_args {
    uint64_t dest, bits, bytes;
};
GSH_STATIC_ASSERT(sizeof(struct gsh_kernel_store_args) == 24, "gsh_kernel_store_args is wire");

/* gsh_kernel_copy_strided, any grid; strides in elements of 1, 2, 4, 8 or 16 bytes, which need only
 * byte alignment. */
struct gsh_kernel_strided_args {
    uint64_t dest, source;
    int64_t dst, sst;
    uint64_t elem_bytes, nelems;
};
GSH_STATIC_ASSERT(sizeof(struct gsh_kernel_strided_args) == 48, "strided_args is wire");

/* gsh_kernel_wait, 1 block: until the comparison has held for every element not excluded. */
struct gsh_kernel_wait_args {
    uint64_t ivars, nelems;
    uint64_t status; /* const int *; 0: no element excluded */
    uint64_t values; /* const word *; 0: `value` for all */
    uint64_t value;
    int32_t cmp;
    uint16_t bytes; /* of a word: 2, 4 or 8 */
    uint16_t is_signed;
    char call[40]; /* for the report */
};
GSH_STATIC_ASSERT(sizeof(struct gsh_kernel_wait_args) == 88, "gsh_kernel_wait_args is wire");

/* gsh_kernel_far, 1 block: an operation on a far PE, ordered as device.h's stream_far says. */
struct gsh_kernel_far_args {
    uint64_t remote; /* a put's dest, a get's source: the symmetric address on this PE */
    uint64_t local;  /* puts and gets */
    uint64_t bytes;  /* P: 1, 2, 4 or 8 */
    uint64_t signal; /* PUT_SIGNAL, AMO: the symmetric address on this PE */
    uint64_t value;  /* of the signal; P: the element */
    int64_t dst, sst;
    uint64_t elem_bytes, nelems;
    uint32_t
        op; /* enum gsh_far_op: PUT, GET, P, IPUT, IGET, PUT_SIGNAL; AMO: a signal alone; QUIET */
    uint32_t sig_op;
    int32_t pe;
    uint32_t reserved;
    uint64_t done; /* a uint64_t that counts finished launches; or 0 */
    char call[40]; /* for reports */
};
GSH_STATIC_ASSERT(sizeof(struct gsh_kernel_far_args) == 136, "gsh_kernel_far_args is wire");

/* gsh_kernel_sync, 1 block. */
struct gsh_kernel_sync_args {
    int32_t team;
    uint32_t is_barrier; /* quiet first */
    char call[40];       /* for reports */
};
GSH_STATIC_ASSERT(sizeof(struct gsh_kernel_sync_args) == 48, "gsh_kernel_sync_args is wire");

/* gsh_kernel_trace, 1 thread: events of the timeline (trace.h), at the time when the stream comes
 * to them. */
struct gsh_kernel_trace_args {
    uint64_t who;        /* the stream's number */
    uint64_t word;       /* whose value an END tells; 0: none */
    uint32_t word_bytes; /* 2, 4 or 8 */
    uint32_t n;
    uint8_t kind[8]; /* enum gsh_trace_event_kind */
    uint64_t payload[6];
};
GSH_STATIC_ASSERT(sizeof(struct gsh_kernel_trace_args) == 80, "gsh_kernel_trace_args is wire");

/* The same kernels on the CPU device, as a launch calls them; args: the struct above. */
#ifdef __cplusplus
extern "C" {
#endif
void gsh_kernel_sync_on_cpu(void *args);
void gsh_kernel_trace_on_cpu(void *args);
#ifdef __cplusplus
}
#endif

#endif
