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
    /* The steps of collectives that compute over far members, a launch for each, called like the
     * functions of coll/far.cuh and coll/far_leaders.cuh. */
    GSH_COLL_CHECK, /* checking builds: dst and sst, a signature and bytes, agree on all members */
    GSH_COLL_ADD_NODE,        /* nelems elements */
    GSH_COLL_EXCHANGE_BLOCKS, /* nelems bytes each; 0: all members have arrived */
    GSH_COLL_ADD_BLOCKS,      /* of sst bytes, from element dst on */
    GSH_COLL_GATHER,          /* nelems bytes from each */
    GSH_COLL_ADD_SCAN,        /* root: 1 in an inclusive scan, else 0 */
    GSH_COLL_FINISH_SCAN,     /* nelems bytes */
    GSH_COLL_ADD_NEAR,        /* nelems elements */
    GSH_COLL_SEND_RAILS,      /* piece sst of nelems bytes */
    GSH_COLL_HEAR_RAILS,      /* the same */
    GSH_COLL_ADD_SLOTS,       /* of piece sst: the nodes' slots, dst bytes each */
    GSH_COLL_ADD_PARTS,       /* piece sst: nelems elements of each part of dst elements */
    GSH_COLL_EXCHANGE_PARTS,  /* piece sst, nelems bytes of each part */
    GSH_COLL_END,             /* of a call with dst far steps; sst: its source is being read */
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

/* ---- reduces of many bytes over far members, node by node -------------------------------------
 */

/* A reduce goes in pieces. On each node the first n_rails near members, each a rail, own one
 * segment of each piece. The members that own the same segment on their nodes exchange it among
 * themselves; the one on node i adds up its i-th share. Sizes are in bytes; all but those of the
 * last parts are multiples of 16. */
#define GSH_COLL_ALIGN 16u

struct gsh_rails {
    uint64_t bytes, piece_bytes;
    uint64_t slot_bytes; /* of the work area: for one node's share */
    uint64_t n_pieces;
    uint32_t n_rails, n_nodes;
};

struct gsh_range {
    uint64_t begin, bytes;
};

#if defined(__CUDACC__)
#define GSH_COLL_INLINE static __host__ __device__ __forceinline__
#else
#define GSH_COLL_INLINE static inline
#endif

/* Rounds a block's size up, so that elements of any type in the next block are aligned. */
GSH_COLL_INLINE uint64_t gsh_coll_block_bytes(uint64_t bytes)
{
    return (bytes + GSH_COLL_ALIGN - 1) / GSH_COLL_ALIGN * GSH_COLL_ALIGN;
}

/* Part i of n bytes in equal parts, each a multiple of GSH_COLL_ALIGN. */
GSH_COLL_INLINE struct gsh_range gsh_equal_part(uint64_t n, uint32_t n_parts, uint32_t i)
{
    const uint64_t each = gsh_coll_block_bytes((n + n_parts - 1) / n_parts);
    struct gsh_range r;
    r.begin = each * i < n ? each * i : n;
    r.bytes = n - r.begin < each ? n - r.begin : each;
    return r;
}

/* half_bytes: half the lane's work area; piece: the most bytes in a share. */
GSH_COLL_INLINE struct gsh_rails gsh_rails_of(uint64_t bytes, uint32_t n_rails, uint32_t n_nodes,
                                              uint64_t half_bytes, uint64_t piece)
{
    struct gsh_rails r;
    r.bytes = bytes;
    r.n_rails = n_rails;
    r.n_nodes = n_nodes;
    r.slot_bytes = half_bytes / n_nodes / GSH_COLL_ALIGN * GSH_COLL_ALIGN;
    if (piece < r.slot_bytes)
        r.slot_bytes = piece / GSH_COLL_ALIGN * GSH_COLL_ALIGN;
    r.piece_bytes = r.slot_bytes * n_nodes * n_rails;
    r.n_pieces = (bytes + r.piece_bytes - 1) / r.piece_bytes;
    return r;
}

/* Rail `rail`'s segment of piece t; empty if there is no such rail or piece. */
GSH_COLL_INLINE struct gsh_range gsh_rail_segment(const struct gsh_rails *r, uint64_t t,
                                                  uint32_t rail)
{
    struct gsh_range s = {0, 0};
    if (t < r->n_pieces && rail < r->n_rails) {
        const uint64_t begin = t * r->piece_bytes, rest = r->bytes - begin;
        s = gsh_equal_part(rest < r->piece_bytes ? rest : r->piece_bytes, r->n_rails, rail);
        s.begin += begin;
    }
    return s;
}

/* Node `node`'s share of a segment. */
GSH_COLL_INLINE struct gsh_range gsh_rail_share(const struct gsh_rails *r, struct gsh_range segment,
                                                uint32_t node)
{
    struct gsh_range s = gsh_equal_part(segment.bytes, r->n_nodes, node);
    s.begin += segment.begin;
    return s;
}

/* ---- scans and reducescatters ------------------------------------------------------------------
 */

GSH_COLL_INLINE uint64_t gsh_slot_of(uint64_t half_bytes, uint64_t n_slots, uint64_t piece)
{
    const uint64_t bytes = half_bytes / n_slots < piece ? half_bytes / n_slots : piece;
    return bytes / GSH_COLL_ALIGN * GSH_COLL_ALIGN;
}

/* The bytes of a scan that go at once: what a half can hold of each node and, behind that, of the
 * result; or else of each member. */
GSH_COLL_INLINE uint64_t gsh_scan_piece_bytes(const struct gsh_team_state *t, uint64_t half_bytes,
                                              uint64_t piece)
{
    const int n_slots = !t->is_node_by_node      ? t->n_pes
                        : t->n_nodes == t->n_pes ? t->n_nodes
                                                 : t->n_nodes + 1;
    return gsh_slot_of(half_bytes, (uint64_t)n_slots, piece);
}

/* The same for a part of a reducescatter: a slot for each node, and one for each part that a member
 * adds up for others, of which there is one on each node for every n_rails. */
GSH_COLL_INLINE uint64_t gsh_part_slot_bytes(const struct gsh_team_state *t, uint64_t half_bytes,
                                             uint64_t piece)
{
    const int32_t n_passed = t->n_pes / t->n_rails + t->n_nodes;
    return gsh_slot_of(half_bytes,
                       (uint64_t)(t->n_nodes + (n_passed < t->n_pes ? n_passed : t->n_pes)), piece);
}

/* Any grid, the same on all members of the team. Addresses are symmetric addresses on this PE. */
struct gsh_kernel_coll_args {
    uint64_t dest, source;
    uint64_t nelems; /* as the public call has it */
    int64_t dst, sst;
    int32_t lane;
    int32_t root;
    uint16_t coll;       /* enum gsh_coll */
    uint16_t elem_bytes; /* of calls that only move */
    uint32_t reserved;
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

/* Divided among compilations of one file, kernels/coll.cu; part 0 has those that only move data. */
#define GSH_COLL_PARTS             5 /* for GPUs; part 5 is the CPU device's */
#define GSH_COLL_PART_1_KERNELS(M) GSH_LOGIC_KERNELS(M) GSH_ORDER_KERNELS(M, min)
#define GSH_COLL_PART_2_KERNELS(M) GSH_COMPLEX_KERNELS(M) GSH_ORDER_KERNELS(M, max)
#define GSH_COLL_PART_3_KERNELS(M) GSH_ARITH_KERNELS(M, sum) GSH_ARITH_KERNELS(M, prod)
#define GSH_COLL_PART_4_KERNELS(M) GSH_SCAN_KERNELS(M)
#define GSH_COLL_PART_5_KERNELS(M) GSH_CPU_REDUCE_KERNELS(M) GSH_CPU_SCAN_KERNELS(M)

/* The kernels: gsh_kernel_coll_ and the name here. */
enum gsh_coll_kernel {
    GSH_COLL_KERNEL_move,
    GSH_COLL_KERNEL_alltoalls,
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
