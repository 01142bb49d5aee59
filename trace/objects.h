/* SPDX-License-Identifier: Apache-2.0
 * The allocations of a PE's heap over time, which give an offset a name: "allocation 3 + 0x40".
 * Allocations are numbered from 1 in the order in which they were made, the same on all PEs. */
#ifndef GSH_TRACE_OBJECTS_H
#define GSH_TRACE_OBJECTS_H

#include "trace/timeline.h"

struct gsh_object {
    uint64_t off, bytes, begin_ns, end_ns;
};

struct gsh_objects {
    struct gsh_object *list; /* by begin_ns */
    size_t n, room;
};

/* One for each part; NULL: no memory. */
struct gsh_objects *gsh_objects_list(const struct gsh_timeline *t);
void gsh_objects_free(struct gsh_objects *objects, size_t n_parts);
/* At the time ns. */
void gsh_objects_name(const struct gsh_objects *objects, uint64_t off, uint64_t ns, char *text,
                      size_t room);
/* The bytes of the allocation that was at off until ns. */
uint64_t gsh_objects_bytes(const struct gsh_objects *objects, uint64_t off, uint64_t ns);

#endif
