/* SPDX-License-Identifier: Apache-2.0
 * Memory that the program obtained by other means and lends to the heap, for all PEs or some of
 * them: it is mapped at the same offset of each one's range, behind the heap's own part, from the
 * end of the range downwards. Each PE knows what it has a part in, and nothing of other PEs'
 * groups. */
#ifndef GSH_ALIAS_H
#define GSH_ALIAS_H

#include <pthread.h>
#include "bootstrap/agree.h"
#include "heap/physical.h"

struct gsh_alias {
    /* The addresses that are set aside for it: they end `area` bytes before the range's end. */
    uint64_t area, area_bytes;
    uint64_t off, bytes; /* of the program's memory, from each PE's heap base */
    uint64_t whole_off;  /* of the granules that it lies in, which subscribers hear of */
    uint64_t own_off;    /* of this PE's first piece */
    struct gsh_lent lent;
    int *pes; /* [n_pes], who has it, by rank; NULL: all PEs */
    int n_pes;
    struct gsh_peer_group group; /* its bootstrap is the caller's, and gone after the call */
};

struct gsh_aliases {
    struct gsh_physical *physical;
    uint64_t stride;
    pthread_rwlock_t *lock; /* the heap's: held alone while list changes, and shared by readers
                             * other than the thread in a collective call */
    struct gsh_alias *list; /* ascending by off, and by where the area begins */
    int n, room;
};

/* Not collective. finish: no PE uses the memory; accepts zeroes, and comes before physical's. */
void gsh_aliases_init(struct gsh_aliases *a, struct gsh_physical *physical, uint64_t stride,
                      pthread_rwlock_t *lock);
void gsh_aliases_finish(struct gsh_aliases *a);

/* Where the heap's own part must end at the latest, on this PE. */
uint64_t gsh_aliases_limit(const struct gsh_aliases *a);
/* The one that has the byte at off; NULL: none. */
const struct gsh_alias *gsh_aliases_find(const struct gsh_aliases *a, uint64_t off);

/* Collective over the group, which is physical's agreement or one of some PEs; on any failure
 * nothing has changed. *off: where ptr is from each member's heap base. */
GSH_CHECK_RESULT enum gsh_result gsh_aliases_add(struct gsh_aliases *a, struct gsh_agreement *group,
                                                 void *ptr, uint64_t bytes, uint64_t *off);
/* Collective over the group that added it: takes away the one that has these bytes at `off`, else
 * GSH_ERR_ARG. All members have called it before anything is done. */
GSH_CHECK_RESULT enum gsh_result gsh_aliases_remove(struct gsh_aliases *a,
                                                    struct gsh_agreement *group, uint64_t off,
                                                    uint64_t bytes);

#endif
