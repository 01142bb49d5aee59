/* SPDX-License-Identifier: Apache-2.0
 * In init: gives the PEs of a node access to each other's pages. */
#ifndef GSH_PAGE_PASS_H
#define GSH_PAGE_PASS_H

#include <stdint.h>
#include "base/result.h"

struct gsh_instance;

/* Makes and maps this PE's page, of `bytes` bytes like all others, unless it is part of a file with
 * those of its whole node. */
GSH_CHECK_RESULT enum gsh_result gsh_page_make(struct gsh_instance *pe, uint64_t bytes);

/* Collective over the job: maps the pages of the node's other processes; PEs of this process are
 * reached by pointer. All PEs return the same result, as long as none is lost. *mine: GSH_OK or, on
 * several nodes, what this PE's part has come to, if the others do not know that yet: the next
 * exchange tells them. */
GSH_CHECK_RESULT enum gsh_result gsh_page_pass(struct gsh_instance *pe, uint64_t bytes,
                                               enum gsh_result *mine);

/* Memory for the node's book (book.h), zeroed, behind the page of the node's first PE; mapped until
 * gsh_pages_unmap. NULL: none, since the job is one node, or since another thread of this process
 * has mapped it, and may unmap it before. bytes: of a page, as above. */
void *gsh_page_book(const struct gsh_instance *pe, uint64_t bytes, uint64_t *room);

/* Unmaps this PE's page and what it has mapped of others. Accepts a half-made state. */
void gsh_pages_unmap(struct gsh_instance *pe, uint64_t bytes);

#endif
