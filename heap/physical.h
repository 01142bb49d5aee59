/* SPDX-License-Identifier: Apache-2.0
 * The physical memory of a heap: grows and shrinks at its end, on all PEs together or on none.
 * Growing has two phases, each ended by a vote: every PE commits its own chunk and makes what
 * others need to map it; then every process maps its peers' chunks. Then each
 * subscriber is told of the chunk, and a vote follows on what all PEs' said. A failure anywhere
 * takes all back everywhere. */
#ifndef GSH_PHYSICAL_H
#define GSH_PHYSICAL_H

#include "bootstrap/agree.h"
#include "heap/heap.h"
#include "heap/peer.h"

struct gsh_physical {
    struct gsh_agreement agreement;
    struct gsh_peers peers;
    struct gsh_memory *memory;
    int n_subscribers;
    struct gsh_heap_events subscribers[GSH_HEAP_SUBSCRIBERS_MAX];
    struct gsh_chunk *chunks; /* own; the same on all PEs */
    int n_chunks, n_chunks_room;
    uint64_t committed; /* the end of the last chunk */
};

/* Not collective; accepts zeroes. */
void gsh_physical_finish(struct gsh_physical *p);

/* Collective: adds one chunk of `bytes` at the end; the first zero_bytes of it are zeroed. what:
 * as for gsh_agree. On failure everything is as it was. */
GSH_CHECK_RESULT enum gsh_result gsh_physical_grow(struct gsh_physical *p, uint64_t bytes,
                                                   uint64_t zero_bytes, const char *what);

/* Collective: of the chunks that lie at or beyond `end`, a multiple of 2 MiB, beyond which no PE
 * uses anything any more, gives back as few as leave no more than keep_bytes there. A failure says
 * only that a PE was lost; the chunks are gone here in any case. */
GSH_CHECK_RESULT enum gsh_result gsh_physical_shrink(struct gsh_physical *p, uint64_t end,
                                                     uint64_t keep_bytes);

/* For memory that lies apart from what grows. Collective over the group: tells subscribers that it
 * has come; on failure none has heard of it. goes: not collective. */
GSH_CHECK_RESULT enum gsh_result gsh_physical_tell(struct gsh_physical *p,
                                                   struct gsh_agreement *group,
                                                   struct gsh_chunk chunk, const char *what);
void gsh_physical_tell_goes(struct gsh_physical *p, uint64_t off,
                            const struct gsh_heap_members *members);

#endif
