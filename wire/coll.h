/* SPDX-License-Identifier: Apache-2.0
 * Wire of the collectives: their numbers, and the arguments of the library's kernels that carry
 * them out on a stream. Compiles as C17, C++17 and CUDA; C standard headers only. */
#ifndef GSHMEM_COLL_H
#define GSHMEM_COLL_H

#include <stdint.h>
#include "state.h"

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
    GSH_COLL_CHECK, /* checking builds: a signature and bytes agree on all members */
    GSH_COLL_COUNT
};

/* The rows of gsh_state.ll_max. */
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
    GSH_ELEMENT_e4m3, /* for the NCCL layer; no scans */
    GSH_ELEMENT_e5m2,
    GSH_ELEMENT_float,
    GSH_ELEMENT_double,
    GSH_ELEMENT_longdouble, /* not on GPUs */
    GSH_ELEMENT_complexf,
    GSH_ELEMENT_complexd,
    GSH_ELEMENT_bits,
    GSH_ELEMENT_COUNT
};

/* What members of a collective must agree on besides its size. op: enum gsh_reduce_op, or
 * GSH_REDUCE_COUNT; element: enum gsh_element, or GSH_ELEMENT_bits of width bytes if the type is
 * unknown; root: for alltoalls its strides, see below. Fields that do not apply are 0. */
#define GSH_COLL_SIGNATURE(COLL, OP, ELEMENT, WIDTH, ROOT)                         \
    ((uint64_t)(COLL) | (uint64_t)(OP) << 8 | (uint64_t)(uint8_t)(ELEMENT) << 16 | \
     (uint64_t)(uint8_t)(WIDTH) << 24 | (uint64_t)(ROOT) << 32)
/* For alltoalls, the strides in place of a root; large ones are capped at GSH_COLL_LONG_STRIDE. */
#define GSH_COLL_LONG_STRIDE       0xffff
#define GSH_COLL_STRIDE(S)         ((uint32_t)((S) < GSH_COLL_LONG_STRIDE ? (S) : GSH_COLL_LONG_STRIDE))
#define GSH_COLL_STRIDES(DST, SST) (GSH_COLL_STRIDE(DST) | GSH_COLL_STRIDE(SST) << 16)

/* ---- arguments of the kernels ------------------------------------------------------------------
 * Addresses are symmetric addresses on this PE; nelems is as the public call has it. */

/* BROADCAST, COLLECT, FCOLLECT, ALLTOALL; root: of a broadcast. */
struct gsh_coll_move_args {
    uint64_t dest, source, nelems;
    int32_t root;
    uint32_t elem_bytes;
};

/* ALLTOALLS: strides in elements. */
struct gsh_coll_strided_args {
    uint64_t dest, source, nelems;
    int64_t dest_stride, source_stride;
    uint32_t elem_bytes;
    uint32_t reserved;
};

/* REDUCE, REDUCESCATTER, INSCAN, EXSCAN. Over far members one kernel computes with all types. */
struct gsh_coll_compute_args {
    uint64_t dest, source, nelems;
    uint32_t adder;      /* enum gsh_coll_kernel: how two elements are added up */
    uint32_t elem_bytes; /* both for that kernel alone */
};

/* CHECK: what all members must agree on. bytes: for each, or 0 if members may differ. */
struct gsh_coll_check_args {
    uint64_t signature, bytes;
};

/* Any grid; the same on all members if all of them are near. */
struct gsh_kernel_coll_args {
    union { /* by coll */
        struct gsh_coll_move_args move;
        struct gsh_coll_strided_args strided;
        struct gsh_coll_compute_args compute;
        struct gsh_coll_check_args check;
    };
    int32_t channel;
    uint32_t coll; /* enum gsh_coll */
    char call[40]; /* the public name, for reports */
    struct gsh_team_state team;
};
GSH_STATIC_ASSERT(sizeof(struct gsh_kernel_coll_args) == 232, "gsh_kernel_coll_args is wire");

/* The kernels that compute: M(operation, element's name, its type in kernels). Signed integers are
 * added and multiplied as unsigned ones; and, or, xor treat all types as bits, by bytes; complex
 * numbers are added by parts. */
#define GSH_UNSIGNED_KERNELS(M, OP) \
    M(OP, u8, uint8_t) M(OP, u16, uint16_t) M(OP, u32, uint32_t) M(OP, u64, uint64_t)
#define GSH_SIGNED_KERNELS(M, OP) \
    M(OP, i8, int8_t) M(OP, i16, int16_t) M(OP, i32, int32_t) M(OP, i64, int64_t)
#define GSH_FLOAT_KERNELS(M, OP) \
    M(OP, half, half_bits) M(OP, bfloat16, bfloat16_bits) M(OP, float, float) M(OP, double, double)
#define GSH_FLOAT8_KERNELS(M, OP) M(OP, e4m3, e4m3_bits) M(OP, e5m2, e5m2_bits)
#define GSH_LOGIC_KERNELS(M)      M(and, bits, raw_bits) M(or, bits, raw_bits) M(xor, bits, raw_bits)
#define GSH_ORDER_KERNELS(M, OP)  GSH_SIGNED_KERNELS(M, OP) GSH_ARITH_KERNELS(M, OP)
#define GSH_ARITH_KERNELS(M, OP)  GSH_SUM_KERNELS(M, OP) GSH_FLOAT8_KERNELS(M, OP)
#define GSH_SUM_KERNELS(M, OP)    GSH_UNSIGNED_KERNELS(M, OP) GSH_FLOAT_KERNELS(M, OP)
#define GSH_COMPLEX_KERNELS(M) \
    M(prod, complexf, complex_of<float>) M(prod, complexd, complex_of<double>)
#define GSH_REDUCE_KERNELS(M) \
    GSH_LOGIC_KERNELS(M)      \
    GSH_ORDER_KERNELS(M, min) \
    GSH_ORDER_KERNELS(M, max) \
    GSH_ARITH_KERNELS(M, sum) GSH_ARITH_KERNELS(M, prod) GSH_COMPLEX_KERNELS(M)
/* The scans' sums. */
#define GSH_SCAN_KERNELS(M) GSH_SUM_KERNELS(M, scan)

/* Kernels that only the CPU device has. */
#define GSH_CPU_REDUCE_KERNELS(M)   \
    M(min, longdouble, long double) \
    M(max, longdouble, long double) M(sum, longdouble, long double) M(prod, longdouble, long double)
#define GSH_CPU_SCAN_KERNELS(M) M(scan, longdouble, long double)

/* Divided among compilations of one file, kernels/coll.cu; part 0 has those that only move data,
 * part 5 the one that computes over far members. */
#define GSH_COLL_PARTS             6 /* for GPUs; part 6 is the CPU device's */
#define GSH_COLL_PART_1_KERNELS(M) GSH_LOGIC_KERNELS(M) GSH_ORDER_KERNELS(M, min)
#define GSH_COLL_PART_2_KERNELS(M) GSH_COMPLEX_KERNELS(M) GSH_ORDER_KERNELS(M, max)
#define GSH_COLL_PART_3_KERNELS(M) GSH_ARITH_KERNELS(M, sum) GSH_ARITH_KERNELS(M, prod)
#define GSH_COLL_PART_4_KERNELS(M) GSH_SCAN_KERNELS(M)
#define GSH_COLL_PART_6_KERNELS(M) GSH_CPU_REDUCE_KERNELS(M) GSH_CPU_SCAN_KERNELS(M)

/* The kernels: gsh_kernel_coll_ and the name here. */
enum gsh_coll_kernel {
    GSH_COLL_KERNEL_move,
    GSH_COLL_KERNEL_alltoalls,
    GSH_COLL_KERNEL_far,
#define GSH_COLL_KERNEL_ROW(OP, NAME, T) GSH_COLL_KERNEL_##OP##_##NAME,
    GSH_REDUCE_KERNELS(GSH_COLL_KERNEL_ROW) GSH_SCAN_KERNELS(GSH_COLL_KERNEL_ROW)
        GSH_CPU_REDUCE_KERNELS(GSH_COLL_KERNEL_ROW) GSH_CPU_SCAN_KERNELS(GSH_COLL_KERNEL_ROW)
#undef GSH_COLL_KERNEL_ROW
            GSH_COLL_KERNEL_COUNT
};

/* The same kernels on the CPU device, as a launch calls them; args: gsh_kernel_coll_args. */
#ifdef __cplusplus
extern "C" {
#endif
void gsh_kernel_coll_move_on_cpu(void *args);
void gsh_kernel_coll_alltoalls_on_cpu(void *args);
void gsh_kernel_coll_far_on_cpu(void *args);
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
