/* SPDX-License-Identifier: Apache-2.0
 * What this PE has asked of others by messages, and not been answered: gets, strided gets, and
 * atomic operations that fetch. The question carries a token, which the answer returns: an index
 * into this table, and a generation that grows with each use of the entry. So an answer that nobody
 * has asked for, or that came before, finds nothing. The caller locks. */
#ifndef GSH_OUTSTANDING_H
#define GSH_OUTSTANDING_H

#include <stdbool.h>
#include <stdint.h>
#include "base/result.h"

struct gsh_task;

struct gsh_outstanding {
    struct gsh_task *task; /* NULL: the entry is free */
    int pe;                /* who is to answer */
    uint8_t kind;          /* the answer's: VALUE, DATA or ELEMENTS */
    uint64_t at, n;        /* the part of the task, in bytes; ELEMENTS: in elements */
    uint32_t generation;   /* the table's, as the next */
    uint32_t next_free;
};

/* Zeroed: empty. */
struct gsh_outstanding_table {
    struct gsh_outstanding *entries;
    uint32_t n_entries, first_free; /* n_entries: none is free */
};

/* Copies the question. False: no memory. */
GSH_CHECK_RESULT bool gsh_outstanding_add(struct gsh_outstanding_table *table,
                                          const struct gsh_outstanding *asked, uint64_t *token);
/* Removes the question that this answer of pe is for, and copies it to *asked. False: there is
 * none. Any token. */
GSH_CHECK_RESULT bool gsh_outstanding_take(struct gsh_outstanding_table *table, int pe,
                                           unsigned kind, uint64_t token,
                                           struct gsh_outstanding *asked);
/* Removes one question to pe, as above: the first at *from or later, and moves *from past it.
 * False: there is none. */
GSH_CHECK_RESULT bool gsh_outstanding_take_of(struct gsh_outstanding_table *table, int pe,
                                              uint32_t *from, struct gsh_outstanding *asked);
void gsh_outstanding_finish(struct gsh_outstanding_table *table);

#endif
