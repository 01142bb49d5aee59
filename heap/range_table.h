/* SPDX-License-Identifier: Apache-2.0
 * The memory of this process that ranges export, registered once however many ranges have it. */
#ifndef GSH_RANGE_TABLE_H
#define GSH_RANGE_TABLE_H

#include "heap/memory.h"
#include "heap/range_wire.h"

/* An exported one: registrations that follow one another. */
struct gsh_range {
    struct gsh_range *next;
    uint64_t number;
    uint64_t ptr, bytes;
    struct gsh_registered **parts; /* [n_parts] */
    int n_parts;
    bool is_cuda;
};

/* The table is locked by the callers of these. */
GSH_CHECK_RESULT enum gsh_result gsh_range_table_add(const struct gsh_memory_ops *ops,
                                                     const struct gsh_memory_options *options,
                                                     uint64_t ptr, uint64_t bytes,
                                                     struct gsh_range **out);
void gsh_range_table_remove(struct gsh_range *range);
struct gsh_range *gsh_range_table_find(uint64_t number);
/* Where the range begins in its first part. */
uint64_t gsh_range_table_at(const struct gsh_range *range);
/* The i-th piece of its parts; out->result tells whether there is one, *fd is the caller's. */
void gsh_range_table_piece(const struct gsh_range *range, uint32_t i, struct gsh_range_piece *out,
                           int *fd);

#endif
