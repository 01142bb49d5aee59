/* SPDX-License-Identifier: Apache-2.0
 * Wire of the collectives whose data go through an inbox in lines (device/coll/lines.cuh): the
 * arguments of the library's kernel that carries them out. Compiles as C17, C++17 and CUDA; C
 * standard headers only. */
#ifndef GSHMEM_LINES_H
#define GSHMEM_LINES_H

#include <stdint.h>
#include "coll.h"
#include "state.h"

/* A line: the bytes of data, and those that it takes in a slot. On GPUs eight threads of a warp
 * write one. Over NVLink it is one store of the warp, which arrives whole, with one flag; over
 * other links, and on the CPU device, it is words of 8 bytes, each with its own flag. */
#define GSH_LINE_THREADS      8u
#define GSH_LINE_BYTES_CUDA   120u
#define GSH_LINE_BYTES_CPU    128u
#define GSH_LINE_ROOM_WHOLE   128u
#define GSH_LINE_ROOM_WORDS   256u
#define GSH_LINES_THREADS_MAX 512u
#define GSH_LINES_BLOCKS_MAX  1024u
/* Of the short kernels, in which a group has one line, and of those in steps, in which it has all
 * that a block has under way. */
#define GSH_LINES_SHORT_THREADS 1024u
/* How many lines a group of eight threads has under way at a time, in sums of many members, and
 * otherwise: on GPUs a block has no more units than that. */
#define GSH_LINES_AHEAD   4
#define GSH_LINES_STREAMS 2
/* In how many rounds a unit may send before it has the other member's lines of the first of them;
 * each has two buffers. */
#define GSH_LINES_ROUNDS_AHEAD 2
#define GSH_LINES_BUFFERS      4u

/* From how many rounds on the kernels that are made for many rounds are worth their longer code. */
#define GSH_LINES_LONG 4u

/* Pieces: what two members have to stream goes through slots for pieces, which all communicators of
 * the two share: a warp has two for pieces and two for sums. A block and its helper have the warps
 * of one block here. */
#define GSH_PIECE_BYTES        4096u
#define GSH_PIECES_OF_WARP     4u
#define GSH_PIECES_THREADS     512u
#define GSH_PIECES_BLOCKS_CUDA 64u
#define GSH_PIECES_BLOCKS_CPU  1u
#define GSH_PIECES_WARPS_CUDA  32u
#define GSH_PIECES_WARPS_CPU   4u
#define GSH_PIECES_LOCK_ROOM   128u
#define GSH_PIECES_COUNT_ROOM  128u

/* The numbers of the kernels, behind those of wire/coll.h: for items that move data alone; for
 * those that add up float, half or bfloat16 of two members; both again for many rounds; and for all
 * items of two members, or of more. Those that read do the same for two members, of which one may
 * read the other's source, those of pieces for two members whose data may go in pieces, and the
 * short ones for one item of two members with a single round, whose addresses and sizes are
 * multiples of 8, or of 4. Those in steps have items of two members, each with blocks of its own,
 * whose addresses and sizes are multiples of 8. */
enum gsh_lines_kernel {
    GSH_COLL_KERNEL_lines_move = GSH_COLL_KERNEL_COUNT,
    GSH_COLL_KERNEL_lines_sums_of_two,
    GSH_COLL_KERNEL_lines_long_move,
    GSH_COLL_KERNEL_lines_long_sums_of_two,
    GSH_COLL_KERNEL_lines_of_two,
    GSH_COLL_KERNEL_lines_of_more,
    GSH_COLL_KERNEL_lines_read_move,
    GSH_COLL_KERNEL_lines_read_sums_of_two,
    GSH_COLL_KERNEL_lines_read_of_two,
    GSH_COLL_KERNEL_pieces_move,
    GSH_COLL_KERNEL_pieces_sums_of_two,
    GSH_COLL_KERNEL_lines_short_move,
    GSH_COLL_KERNEL_lines_short_sums,
    GSH_COLL_KERNEL_lines_short_move_by_4,
    GSH_COLL_KERNEL_lines_short_sums_by_4,
    GSH_COLL_KERNEL_lines_steps_move,
    GSH_COLL_KERNEL_lines_steps_sums,
    GSH_COLL_ALL_KERNELS
};

/* Members that an item concerns, besides this one. */
enum gsh_lines_whom { GSH_LINES_NOBODY, GSH_LINES_ALL, GSH_LINES_ROOT };

enum gsh_lines_way {
    /* Member m is given the block at source + m * source_step; what it gives goes to dest + m *
     * dest_step. */
    GSH_LINES_MOVE,
    /* The same, but what all give me is added up, with my own block, and goes to result. */
    GSH_LINES_ADD,
    /* As ADD, then the result is given to others, and what m gives goes to dest + m * dest_step:
     * two rounds for each line. */
    GSH_LINES_ADD_AND_GIVE,
};

/* What the elements of a line are computed with: M(operation, name, type). Elements of half,
 * bfloat16 and the 8-bit floating-point numbers are computed with as floats. */
#define GSH_LINES_FOLDS_OF(M, NAME, TYPE) \
    M(sum, NAME, TYPE) M(prod, NAME, TYPE) M(min, NAME, TYPE) M(max, NAME, TYPE)
#define GSH_LINES_ORDERS_OF(M, NAME, TYPE) M(min, NAME, TYPE) M(max, NAME, TYPE)
#define GSH_LINES_FOLDS(M)                \
    GSH_LINES_FOLDS_OF(M, float, float)   \
    GSH_LINES_FOLDS_OF(M, double, double) \
    GSH_LINES_FOLDS_OF(M, u8, uint8_t)    \
    GSH_LINES_FOLDS_OF(M, u16, uint16_t)  \
    GSH_LINES_FOLDS_OF(M, u32, uint32_t)  \
    GSH_LINES_FOLDS_OF(M, u64, uint64_t)  \
    GSH_LINES_ORDERS_OF(M, i8, int8_t)    \
    GSH_LINES_ORDERS_OF(M, i16, int16_t)  \
    GSH_LINES_ORDERS_OF(M, i32, int32_t)  \
    GSH_LINES_ORDERS_OF(M, i64, int64_t)  \
    M(and, bits, raw_bits)                \
    M(or, bits, raw_bits)                 \
    M(xor, bits, raw_bits)                \
    M(prod, complexf, complex_of<float>)
enum gsh_lines_fold {
    GSH_LINES_FOLD_NONE, /* of the terms only one counts */
#define GSH_LINES_FOLD_ROW(OP, NAME, TYPE) GSH_LINES_FOLD_##OP##_##NAME,
    GSH_LINES_FOLDS(GSH_LINES_FOLD_ROW)
#undef GSH_LINES_FOLD_ROW
        GSH_LINES_FOLD_COUNT
};

enum gsh_lines_scaling { GSH_LINES_NOT_SCALED, GSH_LINES_MULTIPLIED, GSH_LINES_DIVIDED };

/* One collective, as this member's blocks carry it out. Blocks [first_block, first_block +
 * n_blocks) of the launch take part, the same on all members; rounds.h says which lines each of
 * them handles in which round. */
struct gsh_lines_item {
    uint64_t dest, source; /* any memory */
    uint64_t result;       /* of what is added up; 0: it is not kept */
    uint64_t source_step, dest_step;
    uint64_t block_bytes; /* of each block, at most */
    uint64_t total_bytes; /* block m ends at total_bytes - m * part_step, if that is less */
    uint64_t part_step;
    uint64_t own_dest; /* MOVE: where my own block goes; 0: nowhere. ADD: where each source block
                          that is sent goes, at the same step; 0: nowhere */
    uint64_t scalar, scalar_at;
    uint64_t readable; /* may_read: where what I give lies in my heap, plus 1; 0: nowhere */
    uint32_t lines;    /* of each block in a round */
    uint32_t n_rounds; /* ADD_AND_GIVE: of pairs of rounds */
    uint16_t first_block, n_blocks;
    int32_t root;
    uint8_t way;            /* enum gsh_lines_way */
    uint8_t gives, takes;   /* enum gsh_lines_whom: in an ADD, whose blocks are added up */
    uint8_t gives2, takes2; /* of the result */
    uint8_t fold;           /* enum gsh_lines_fold */
    uint8_t element;        /* enum gsh_element */
    uint8_t scaling;        /* enum gsh_lines_scaling */
    uint32_t site;          /* of the call, for GSH_REPORT_CMP_AT */
    uint8_t may_read;     /* of two members one gives, and says first whether the other may read it
                             where it lies; the same on both */
    uint8_t may_piece;    /* two members' data go in pieces; the same on both */
    uint8_t has_helpers;  /* each of its blocks has a helper, half of the grid further on */
    uint8_t shares_slots; /* with other communicators: both agree first who has them */
};
GSH_STATIC_ASSERT(sizeof(struct gsh_lines_item) == 128, "gsh_lines_item is wire");

/* The inbox, and what the launch says of it. The same on all members. */
struct gsh_lines_inbox {
    uint64_t off;        /* from the heap's base */
    uint32_t n_channels; /* the most blocks */
    uint32_t slot_lines; /* room for each member's lines in one round of a channel */
    uint32_t line_room;  /* GSH_LINE_ROOM_WHOLE or _WORDS */
    uint32_t line_bytes;
    uint64_t pieces; /* where the slots for pieces are, from the heap's base, plus 1; 0: there are
                        none */
};

/* Of one launch; more would make all launches slower, which pass room for so many. */
#define GSH_LINES_ITEMS_MAX 8

/* Any grid within the inbox's channels, the same on all members. */
struct gsh_kernel_lines_args {
    struct gsh_team_state team;
    struct gsh_lines_inbox inbox;
    char call[40]; /* the public name, for reports */
    uint32_t n_items;
    uint32_t reserved;
    struct gsh_lines_item item[GSH_LINES_ITEMS_MAX];
};
GSH_STATIC_ASSERT(sizeof(struct gsh_kernel_lines_args) <= 4096,
                  "what a launch can pass to a kernel");

#ifdef __cplusplus
extern "C" {
#endif
void gsh_kernel_lines_move_on_cpu(void *args);
void gsh_kernel_lines_sums_of_two_on_cpu(void *args);
void gsh_kernel_lines_long_move_on_cpu(void *args);
void gsh_kernel_lines_long_sums_of_two_on_cpu(void *args);
void gsh_kernel_lines_of_two_on_cpu(void *args);
void gsh_kernel_lines_of_more_on_cpu(void *args);
void gsh_kernel_lines_read_move_on_cpu(void *args);
void gsh_kernel_lines_read_sums_of_two_on_cpu(void *args);
void gsh_kernel_lines_read_of_two_on_cpu(void *args);
void gsh_kernel_pieces_move_on_cpu(void *args);
void gsh_kernel_pieces_sums_of_two_on_cpu(void *args);
void gsh_kernel_lines_short_move_on_cpu(void *args);
void gsh_kernel_lines_short_sums_on_cpu(void *args);
void gsh_kernel_lines_short_move_by_4_on_cpu(void *args);
void gsh_kernel_lines_short_sums_by_4_on_cpu(void *args);
void gsh_kernel_lines_steps_move_on_cpu(void *args);
void gsh_kernel_lines_steps_sums_on_cpu(void *args);
#ifdef __cplusplus
}
#endif

#endif
