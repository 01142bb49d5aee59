/* SPDX-License-Identifier: Apache-2.0
 * An active set's PEs as a team, kept from the first call on; and checks of calls with one.
 */
#ifndef GSH_ACTIVE_SET_H
#define GSH_ACTIVE_SET_H

#include <gshmem.h>

struct gsh_set_call {
    const char *name;
    long *sync; /* the caller's pSync, of at least the required number of bytes */
    size_t sync_bytes;
};

/* The participants of a call. */
struct gsh_set {
    gshmem_team_t team; /* INVALID: the pool has no room, and psync.c carries the call out */
    int start, log_stride, size;
    int me; /* this PE's number in it */
    long *sync;
};

/* The set's team, made by all of its PEs in their first call with it. If a PE of the set allows
 * several threads (gsh_sets_allow_threads) there is a team for each pSync, so several threads may
 * make calls on one set at a time. Bad arguments end the job; in checking builds so does a pSync
 * that is too small. */
struct gsh_set gsh_set_enter(const struct gsh_set_call *c, int PE_start, int logPE_stride,
                             int PE_size);
/* An error of the team's call ends the job. */
void gsh_set_leave(const struct gsh_set_call *c, int error);
/* The same for a negative number of elements. */
size_t gsh_set_nelems(const struct gsh_set_call *c, int nreduce);

void gsh_sets_allow_threads(int is_allowed); /* init */
void gsh_sets_end(void);                     /* before finalize */

/* ---- psync.c: the calls by pSync's words and gets, for sets without a team ---- */

enum gsh_set_kind {
    GSH_SET_BROADCAST,
    GSH_SET_COLLECT,
    GSH_SET_FCOLLECT,
    GSH_SET_ALLTOALL,
    GSH_SET_ALLTOALLS
};
struct gsh_set_move {
    enum gsh_set_kind kind;
    void *dest;
    const void *source;
    size_t elem_bytes, nelems; /* 4 or 8 bytes */
    ptrdiff_t dst, sst;        /* of alltoalls */
    int root;                  /* of broadcast; its dest stays unchanged */
};

/* All have arrived; the second also does a quiet before that. */
void gsh_psync_sync(const struct gsh_set *set);
void gsh_psync_barrier(const struct gsh_set *set);
/* 0 or an error. */
int gsh_psync_move(const struct gsh_set *set, const struct gsh_set_move *m);
/* combine adds nelems elements to those at sum. dest may be source. */
int gsh_psync_reduce(const struct gsh_set *set, void *dest, const void *source, size_t nelems,
                     size_t elem_bytes,
                     void (*combine)(void *sum, const void *more, size_t nelems));

#endif
