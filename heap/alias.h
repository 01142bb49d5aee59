/* SPDX-License-Identifier: Apache-2.0
 * Memory that the program obtained by other means and registered with a heap, for all PEs or some
 * of them: it is mapped at the same offset of each one's range, after the heap's internal part,
 * from the end of the range downwards. Each PE knows only the memory that it shares in, nothing of
 * other PEs' groups. */
#ifndef GSH_ALIAS_H
#define GSH_ALIAS_H

#include <pthread.h>
#include "bootstrap/agree.h"
#include "heap/physical.h"

struct gsh_alias {
    /* The addresses reserved for it: they end `area` bytes before the range's end. */
    uint64_t area, area_bytes;
    uint64_t off, bytes; /* of the program's memory, from each PE's heap base */
    uint64_t whole_off;  /* of the granules that contain it, as told to subscribers */
    uint64_t own_off;    /* of this PE's first piece */
    struct gsh_registration registration;
    int *pes; /* [n_pes], its PEs, by rank; NULL: all PEs */
    int n_pes;
    struct gsh_peer_group group; /* its bootstrap is the caller's, and invalid after the call */
};

struct gsh_aliases {
    struct gsh_physical *physical;
    uint64_t stride;
    pthread_rwlock_t *lock; /* the heap's: held exclusively while list changes, and shared by
                             * readers other than the thread in a collective call */
    struct gsh_alias *list; /* ascending by off, and by the beginning of the area */
    int n;
    size_t room;
};

/* Not collective. finish: no PE may use the memory; accepts zeros, and comes before physical's. */
void gsh_aliases_init(struct gsh_aliases *a, struct gsh_physical *physical, uint64_t stride,
                      pthread_rwlock_t *lock);
void gsh_aliases_finish(struct gsh_aliases *a);

/* The limit of the heap's own part on this PE. */
uint64_t gsh_aliases_limit(const struct gsh_aliases *a);
/* The alias that holds the byte at off; NULL: none. */
const struct gsh_alias *gsh_aliases_find(const struct gsh_aliases *a, uint64_t off);

/* Collective over the group: physical's agreement, or one among some PEs. On any failure nothing
 * has changed. *off: ptr's offset from each member's heap base. */
GSH_CHECK_RESULT enum gsh_result gsh_aliases_add(struct gsh_aliases *a, struct gsh_agreement *group,
                                                 void *ptr, uint64_t bytes, uint64_t *off);
/* Collective over the group that added it: removes the one with these bytes at `off`, else
 * GSH_ERR_ARG. Nothing happens until all members have called it. */
GSH_CHECK_RESULT enum gsh_result gsh_aliases_remove(struct gsh_aliases *a,
                                                    struct gsh_agreement *group, uint64_t off,
                                                    uint64_t bytes);

#endif
