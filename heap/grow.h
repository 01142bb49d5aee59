/* SPDX-License-Identifier: Apache-2.0
 * Growing a heap: how far, the same on all PEs, and in what chunks. */
#ifndef GSH_GROW_H
#define GSH_GROW_H

#include "heap/heap_impl.h"

/* How far to grow for one allocation: what it needs, and what would be better. 0: not at all. */
struct gsh_heap_plan {
    uint64_t exact, generous;
};

/* The flag of a vote: this PE has room for the generous amount. */
enum { GSH_HEAP_GENEROUS_ADMITTED = 1 };

/* For the library's own part, at the start. */
struct gsh_heap_plan gsh_heap_first_plan(const struct gsh_heap *heap, uint64_t internal_bytes);
/* For an allocation. The plan is the same on all PEs, whatever each of them has registered. If its
 * exact amount does not fit beside what this PE has registered, the result is an error to vote
 * with; if the generous one does not, *flags becomes 0. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_plan(const struct gsh_heap *heap, uint64_t bytes,
                                               uint64_t align, struct gsh_heap_plan *plan,
                                               uint16_t *flags);

/* Collective: takes the generous amount, if it is to be tried and can be had, else the exact one.
 * zero_bytes, prior, what: as for gsh_physical_grow. On failure the heap is as before, as long as
 * no PE is lost. */
GSH_CHECK_RESULT enum gsh_result gsh_heap_grow(struct gsh_heap *heap,
                                               const struct gsh_heap_plan *plan, bool try_generous,
                                               uint64_t zero_bytes, enum gsh_result prior,
                                               const char *what);

#endif
