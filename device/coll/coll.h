/* SPDX-License-Identifier: Apache-2.0
 * Wire of the collectives: their numbers, and the arguments of the library's kernels that carry
 * them out on a stream. Compiles as C17, C++17 and CUDA; C standard headers only. */
#ifndef GSHMEM_COLL_H
#define GSHMEM_COLL_H

#include <stdint.h>
#include "device/state.h"

enum gsh_coll {
    GSH_COLL_BROADCAST,
    GSH_COLL_COLLECT,
    GSH_COLL_FCOLLECT,
    GSH_COLL_ALLTOALL,
    GSH_COLL_ALLTOALLS,
    GSH_COLL_REDUCE,
    GSH_COLL_REDUCESCATTER,
    GSH_COLL_INSCAN,
    GSH_COLL_EXSCAN,
    /* The steps of collectives that compute over far members, a launch for each (coll/far.cuh). */
    GSH_COLL_CHECK,   /* checking builds: dst and sst, a signature and bytes, are all members' */
    GSH_COLL_SCATTER, /* every member's part of a piece into its work area */
    GSH_COLL_ADD,     /* what the parts are together */
    GSH_COLL_SPREAD,  /* this PE's part of a result to all others */
    GSH_COLL_COUNT
};

/* The rows of gsh_state.flagged_max. */
enum gsh_coll_group { GSH_GROUP_THREAD, GSH_GROUP_WARP, GSH_GROUP_BLOCK, GSH_GROUP_BLOCKS };

enum gsh_reduce_op {
    GSH_REDUCE_and,
    GSH_REDUCE_or,
    GSH_REDUCE_xor,
    GSH_REDUCE_min,
    GSH_REDUCE_max,
    GSH_REDUCE_sum,
    GSH_REDUCE_prod,
    GSH_REDUCE_COUNT
};

/* What members of a collective must agree on besides its size. op: enum gsh_reduce_op, or
 * GSH_REDUCE_COUNT; width: bytes of an element; 0 of what does not concern the call. */
#define GSH_COLL_SIGNATURE(COLL, OP, WIDTH, ROOT) \
    ((uint64_t)(COLL) | (uint64_t)(OP) << 8 | (uint64_t)(WIDTH) << 16 | (uint64_t)(ROOT) << 32)

/* Elements that are computed with. */
enum gsh_element {
    GSH_ELEMENT_i8,
    GSH_ELEMENT_i16,
    GSH_ELEMENT_i32,
    GSH_ELEMENT_i64,
    GSH_ELEMENT_u8,
    GSH_ELEMENT_u16,
    GSH_ELEMENT_u32,
    GSH_ELEMENT_u64,
    GSH_ELEMENT_half,
    GSH_ELEMENT_bfloat16,
    GSH_ELEMENT_float,
    GSH_ELEMENT_double,
    GSH_ELEMENT_longdouble, /* not on GPUs */
    GSH_ELEMENT_complexf,
    GSH_ELEMENT_complexd,
    GSH_ELEMENT_bits,
    GSH_ELEMENT_COUNT
};

/* Any grid, the same on all members of the
 * team. Addresses are symmetric addresses on this PE. */
struct gsh_kernel_coll_args {
    uint64_t dest, source;
    uint64_t nelems;  /* as the public call has it */
    int64_t dst, sst; /* SCATTER: most bytes of a part; bytes from one member's to the next */
    int32_t lane;
    int32_t root;        /* ADD: the parts of the members before this one */
    uint16_t coll;       /* enum gsh_coll */
    uint16_t elem_bytes; /* of calls that only move */
    uint32_t reserved;
    char call[40]; /* the public name, for reports */
    struct gsh_team_state team;
};
GSH_STATIC_ASSERT(sizeof(struct gsh_kernel_coll_args) == 224, "gsh_kernel_coll_args is wire");

/* The kernels that compute: M(operation, element's name, its type in kernels). Sums and products of
 * signed integers are those of unsigned ones; and, or, xor know only bits, in bytes; sums of
 * complex numbers are those of their parts. */
#define GSH_UNSIGNED_KERNELS(M, OP) \
    M(OP, u8, uint8_t) M(OP, u16, uint16_t) M(OP, u32, uint32_t) M(OP, u64, uint64_t)
#define GSH_SIGNED_KERNELS(M, OP) \
    M(OP, i8, int8_t) M(OP, i16, int16_t) M(OP, i32, int32_t) M(OP, i64, int64_t)
#define GSH_FLOAT_KERNELS(M, OP) \
    M(OP, half, half_bits) M(OP, bfloat16, bfloat16_bits) M(OP, float, float) M(OP, double, double)
#define GSH_LOGIC_KERNELS(M) M(and, bits, raw_bits) M(or, bits, raw_bits) M(xor, bits, raw_bits)
#define GSH_ORDER_KERNELS(M, OP) \
    GSH_UNSIGNED_KERNELS(M, OP) GSH_SIGNED_KERNELS(M, OP) GSH_FLOAT_KERNELS(M, OP)
#define GSH_ARITH_KERNELS(M, OP) GSH_UNSIGNED_KERNELS(M, OP) GSH_FLOAT_KERNELS(M, OP)
#define GSH_COMPLEX_KERNELS(M) \
    M(prod, complexf, complex_of<float>) M(prod, complexd, complex_of<double>)
#define GSH_REDUCE_KERNELS(M) \
    GSH_LOGIC_KERNELS(M)      \
    GSH_ORDER_KERNELS(M, min) \
    GSH_ORDER_KERNELS(M, max) \
    GSH_ARITH_KERNELS(M, sum) GSH_ARITH_KERNELS(M, prod) GSH_COMPLEX_KERNELS(M)
/* The scans' sums. */
#define GSH_SCAN_KERNELS(M) GSH_ARITH_KERNELS(M, scan)

/* Those that only the CPU device has. */
#define GSH_CPU_REDUCE_KERNELS(M)   \
    M(min, longdouble, long double) \
    M(max, longdouble, long double) M(sum, longdouble, long double) M(prod, longdouble, long double)
#define GSH_CPU_SCAN_KERNELS(M) M(scan, longdouble, long double)

/* Shared out among compilations of one file, kernels_coll.cu; part 0 are those that only move. */
#define GSH_COLL_PARTS             5 /* for GPUs; part 5 is the CPU device's */
#define GSH_COLL_PART_1_KERNELS(M) GSH_LOGIC_KERNELS(M) GSH_ORDER_KERNELS(M, min)
#define GSH_COLL_PART_2_KERNELS(M) GSH_COMPLEX_KERNELS(M) GSH_ORDER_KERNELS(M, max)
#define GSH_COLL_PART_3_KERNELS(M) GSH_ARITH_KERNELS(M, sum) GSH_ARITH_KERNELS(M, prod)
#define GSH_COLL_PART_4_KERNELS(M) GSH_SCAN_KERNELS(M)
#define GSH_COLL_PART_5_KERNELS(M) GSH_CPU_REDUCE_KERNELS(M) GSH_CPU_SCAN_KERNELS(M)

/* The kernels, each named gsh_kernel_coll_ and what is here. */
enum gsh_coll_kernel {
    GSH_COLL_KERNEL_move,
    GSH_COLL_KERNEL_alltoalls,
#define GSH_COLL_KERNEL_ROW(OP, NAME, T) GSH_COLL_KERNEL_##OP##_##NAME,
    GSH_REDUCE_KERNELS(GSH_COLL_KERNEL_ROW) GSH_SCAN_KERNELS(GSH_COLL_KERNEL_ROW)
        GSH_CPU_REDUCE_KERNELS(GSH_COLL_KERNEL_ROW) GSH_CPU_SCAN_KERNELS(GSH_COLL_KERNEL_ROW)
#undef GSH_COLL_KERNEL_ROW
            GSH_COLL_KERNEL_COUNT
};

/* The same kernels on the CPU device, as a launch enters them; args: gsh_kernel_coll_args. */
#ifdef __cplusplus
extern "C" {
#endif
void gsh_kernel_coll_move_on_cpu(void *args);
void gsh_kernel_coll_alltoalls_on_cpu(void *args);
#define GSH_COLL_KERNEL_ENTRY(OP, NAME, T) void gsh_kernel_coll_##OP##_##NAME##_on_cpu(void *args);
GSH_REDUCE_KERNELS(GSH_COLL_KERNEL_ENTRY)
GSH_SCAN_KERNELS(GSH_COLL_KERNEL_ENTRY)
GSH_CPU_REDUCE_KERNELS(GSH_COLL_KERNEL_ENTRY)
GSH_CPU_SCAN_KERNELS(GSH_COLL_KERNEL_ENTRY)
#undef GSH_COLL_KERNEL_ENTRY
#ifdef __cplusplus
}
#endif

#endif
