/* SPDX-License-Identifier: Apache-2.0
 * In init: gives the PEs of a node access to each other's pages. */
#ifndef GSH_PAGE_PASS_H
#define GSH_PAGE_PASS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/result.h"

struct gsh_instance;

/* Makes and maps this PE's page, of `bytes` bytes like all others, unless it is part of a file with
 * those of its whole node. */
GSH_CHECK_RESULT enum gsh_result gsh_page_make(struct gsh_instance *pe, uint64_t bytes);

/* Passing pages, of which this PE's part comes first. */
struct gsh_page_passing {
    int *ranks, *fds; /* [n] those whom this PE meets, in processes of their own or all of a file */
    int n;
    bool is_one_file;
};

/* Not collective: makes what this PE needs for it, so that it can be met. Noted. */
GSH_CHECK_RESULT enum gsh_result gsh_page_open(struct gsh_instance *pe,
                                               struct gsh_page_passing *out);
/* Collective over the node, all of whose PEs have opened: maps the pages of its other processes;
 * PEs of this process are reached by pointer. Noted. */
GSH_CHECK_RESULT enum gsh_result gsh_page_exchange(struct gsh_instance *pe, uint64_t bytes,
                                                   const struct gsh_page_passing *passing);
/* After either of them, whatever it has come to. */
void gsh_page_end_passing(struct gsh_instance *pe, struct gsh_page_passing *passing);

/* Memory for the node's book (book.h), zeroed, behind the page of the node's first PE; mapped until
 * gsh_pages_unmap. NULL: none, since the job is one node, or since another thread of this process
 * has mapped it, and may unmap it before. bytes: of a page, as above. */
void *gsh_page_book(const struct gsh_instance *pe, uint64_t bytes, uint64_t *room);

/* Unmaps this PE's page and what it has mapped of others. Accepts a half-made state. */
void gsh_pages_unmap(struct gsh_instance *pe, uint64_t bytes);

#endif
