/* SPDX-License-Identifier: Apache-2.0
 * The physical memory of a heap: grows and shrinks at its end, on all PEs together or on none.
 * Growing has two phases, each ended by a vote: every PE commits its own chunk and makes what
 * others need to map it; then every process maps its peers' chunks. Then each subscriber is told of
 * the chunk, followed by a vote on its results on all PEs; the second phase has its vote with the
 * first subscriber's. If that gathers something of all PEs anyway, it also says what they have come
 * to, in place of a vote.
 *
 * Only PEs of one node map each other's memory. If they have a bootstrap of their own, they end the
 * first phase over it, and the job votes but once. A failure on any PE undoes everything on all
 * PEs. */
#ifndef GSH_PHYSICAL_H
#define GSH_PHYSICAL_H

#include "bootstrap/agree.h"
#include "heap/heap.h"
#include "heap/peer.h"

struct gsh_physical {
    struct gsh_agreement agreement;
    struct gsh_agreement first; /* for the first chunk; without a bootstrap: it is `agreement` */
    bool is_over;               /* GSH_HEAP_OVER */
    struct gsh_bootstrap *node; /* NULL: the first phase ends with a vote of the job */
    struct gsh_peers peers;
    struct gsh_memory *memory;
    int n_subscribers;
    struct gsh_heap_events subscribers[GSH_HEAP_SUBSCRIBERS_MAX];
    struct gsh_chunk *chunks; /* own; the same on all PEs */
    int n_chunks;
    size_t chunks_room;
    uint64_t committed; /* the end of the last chunk */
};

/* Not collective; accepts all zeros. */
void gsh_physical_finish(struct gsh_physical *p);

/* Collective over the node, if it has a bootstrap: mine if that is a failure, else GSH_ERR_PEER if
 * another PE's is. */
GSH_CHECK_RESULT enum gsh_result gsh_physical_agree_on_node(struct gsh_physical *p,
                                                            enum gsh_result mine);

/* Collective: adds one chunk of `bytes` at the end; the first zero_bytes of it are zeroed. prior:
 * the outcome of this PE's steps so far, which the others do not know yet, nor wait for. what: as
 * for gsh_agree. On failure nothing has changed. */
GSH_CHECK_RESULT enum gsh_result gsh_physical_grow(struct gsh_physical *p, uint64_t bytes,
                                                   uint64_t zero_bytes, enum gsh_result prior,
                                                   const char *what);

/* Collective: no PE uses anything at or beyond `end`, a multiple of 2 MiB. Of the chunks there,
 * gives back as few as leave at most keep_bytes. A failure only means that a PE was lost; the
 * chunks here are gone in any case. */
GSH_CHECK_RESULT enum gsh_result gsh_physical_shrink(struct gsh_physical *p, uint64_t end,
                                                     uint64_t keep_bytes);

/* For memory separate from what grows. Collective over the group. Tells subscribers that the memory
 * has come; on failure, each subscriber that has heard of it is told that it goes again. prior: the
 * outcome of this PE's steps so far, which the others do not know yet. gsh_physical_tell_goes is
 * not collective. */
GSH_CHECK_RESULT enum gsh_result gsh_physical_tell(struct gsh_physical *p,
                                                   struct gsh_agreement *group,
                                                   struct gsh_chunk chunk, enum gsh_result prior,
                                                   const char *what);
void gsh_physical_tell_goes(struct gsh_physical *p, uint64_t off,
                            const struct gsh_heap_members *members);

#endif
