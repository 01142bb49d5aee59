/* SPDX-License-Identifier: Apache-2.0
 * Where collectives change from one algorithm to the next: a device's table, as GSHMEM_COLLECTIVES
 * may change it. The same on all PEs, since members choose by it without asking each other. */
#ifndef GSH_COLL_TABLE_H
#define GSH_COLL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/result.h"

struct gsh_coll_table {
    uint32_t ll_max[4];           /* gsh_state's: by a thread, a warp, a block, several blocks */
    uint32_t max_blocks;          /* of one of the library's launches; GPUs may have less room */
    uint32_t bytes_per_block;     /* of such a launch, if not LL */
    uint32_t far_flat, far_piece; /* gsh_state's */
    /* On a stream, through an inbox in lines with flags: more than lines_above bytes from each
     * member to each other, up to lines_most; what is added up from sums_above to sums_most. What
     * is added up, or comes from one member, goes to all at once if that is at most lines_flat
     * bytes more than it must be. Of more than read_above bytes that one of two members gives the
     * other in a dialect's reduce, broadcast, gather or scatter, lines only say when the other may
     * read them, if they lie in symmetric memory. Else they go in pieces if they are more than
     * pieces_above bytes, in a reduce more than reduce_in_pieces. So does what both of two members
     * give each other: in an all-reduce of more than sums_in_pieces bytes, and in an all-gather or
     * all-to-all of blocks of more than swaps_in_pieces. What goes in pieces in one launch counts
     * together. */
    uint32_t lines_above, lines_most, sums_above, sums_most, lines_flat, read_above;
    uint32_t pieces_above, reduce_in_pieces, sums_in_pieces, swaps_in_pieces;
};

extern const struct gsh_coll_table gsh_coll_table_cpu, gsh_coll_table_cuda;

/* What the table says, a line for each choice. */
void gsh_coll_table_print(FILE *out, const struct gsh_coll_table *table);

/* Changes the table as the text says: NAME=BYTES,... with the names thread, warp, block, blocks,
 * per_block, far, far_piece, lines_above, lines, sums_above, sums, lines_flat, read_above,
 * pieces_above, pieces_reduce, pieces_sums and pieces_swap, and grid=NUMBER, with blanks between
 * them. GSH_ERR_ARG, with a message, for other text. */
GSH_CHECK_RESULT enum gsh_result gsh_coll_table_read(const char *text,
                                                     struct gsh_coll_table *table);

/* The first entry in which two tables differ: its name in that text, and its values; NULL: none. */
const char *gsh_coll_table_difference(const struct gsh_coll_table *a,
                                      const struct gsh_coll_table *b, uint32_t *value_a,
                                      uint32_t *value_b);

#endif
