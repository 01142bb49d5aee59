/* SPDX-License-Identifier: Apache-2.0
 * A table of how ranks lie on hosts, for layouts of which no few numbers tell: made of parts, each
 * of which says how many ranks that follow one another are of a host. */
#ifndef GSH_HOST_TABLE_H
#define GSH_HOST_TABLE_H

#include "base/result.h"
#include "bootstrap/host_layout.h"

struct gsh_host_part {
    uint32_t host[2], ranks; /* a host's number of 8 bytes; at least 1 */
};
_Static_assert(sizeof(struct gsh_host_part) == 12, "parts are exchanged between processes");

/* The parts have n ranks, from this one on, modulo n. GSH_ERR_NOMEM: noted. */
GSH_CHECK_RESULT enum gsh_result gsh_host_table_make(struct gsh_host_table *out, int n,
                                                     const struct gsh_host_part *parts, int first);
/* Accepts zeros. */
void gsh_host_table_free(struct gsh_host_table *table);
/* The most ranks that a host has. */
int gsh_host_table_most(const struct gsh_host_table *table);

#endif
