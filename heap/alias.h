/* SPDX-License-Identifier: Apache-2.0
 * Memory that the program obtained by other means and lends to the heap: it is mapped at the same
 * offset of each PE's range, behind the heap's own part, from the end of the range downwards. */
#ifndef GSH_ALIAS_H
#define GSH_ALIAS_H

#include <pthread.h>
#include "heap/offset.h"
#include "heap/physical.h"

struct gsh_alias {
    uint64_t area;       /* in gsh_aliases.offset */
    uint64_t off, bytes; /* of the program's memory, from each PE's heap base */
    uint64_t whole_off;  /* of the granules that it lies in, which subscribers hear of */
    uint64_t own_off;    /* of this PE's first piece */
    struct gsh_lent lent;
};

struct gsh_aliases {
    struct gsh_physical *physical;
    struct gsh_offset *offset; /* manages offsets that count backwards from the range's end */
    uint64_t stride;
    pthread_rwlock_t *lock; /* the heap's: held alone while list changes, and shared by readers
                             * other than the thread in a collective call */
    struct gsh_alias *list; /* ascending by off */
    int n, room;
};

/* Not collective. finish: no PE uses the memory; accepts zeroes, and comes before physical's. */
GSH_CHECK_RESULT enum gsh_result gsh_aliases_init(struct gsh_aliases *a,
                                                  struct gsh_physical *physical, uint64_t stride,
                                                  pthread_rwlock_t *lock);
void gsh_aliases_finish(struct gsh_aliases *a);

/* Where the heap's own part must end at the latest. */
uint64_t gsh_aliases_limit(const struct gsh_aliases *a);
/* The one that has the byte at off; NULL: none. */
const struct gsh_alias *gsh_aliases_find(const struct gsh_aliases *a, uint64_t off);

/* Collective; on any failure nothing has changed. *off: where ptr is from each PE's heap base. */
GSH_CHECK_RESULT enum gsh_result gsh_aliases_add(struct gsh_aliases *a, void *ptr, uint64_t bytes,
                                                 uint64_t *off);
/* Collective: takes away the one that has these bytes at `off`, else GSH_ERR_ARG. All PEs have
 * called it before anything is done. */
GSH_CHECK_RESULT enum gsh_result gsh_aliases_remove(struct gsh_aliases *a, uint64_t off,
                                                    uint64_t bytes);

#endif
