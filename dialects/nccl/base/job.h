/* SPDX-License-Identifier: Apache-2.0
 * A PE as this dialect sees it: whether the program or this dialect started gshmem, and the
 * segment. The segment is one symmetric allocation. It has words by which ranks exchange data, the
 * records of windows, and the fixed part of pool.h. With it, communicators of a part of the job
 * have symmetric memory, too, which gshmem_malloc gives only to all PEs together. */
#ifndef GSH_NCCL_JOB_H
#define GSH_NCCL_JOB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dialects/nccl/include/nccl.h"
#include "gshmem/types.h"

enum {
    GSH_NCCL_N_WINDOWS = 1024,    /* at a time, of all communicators of a PE */
    GSH_NCCL_EXCHANGE_BYTES = 64, /* the most that a PE contributes to one exchange */
};

/* Of the fixed part; pool.h says how it is used. */
enum {
    GSH_NCCL_GRANULE_BYTES = 4096,
    /* In the first job of a process: several communicators have rings that keep NVLink busy, which
     * take 4 to 8 MiB for each peer. Else: what one communicator needs, and room for small device
     * communicators. */
    GSH_NCCL_FIXED_PART_BYTES = 64 << 20,
    GSH_NCCL_LATER_FIXED_PART_BYTES = 2304 << 10,
    /* So many jobs of a process have rings of 16 MiB in their first communicator of two ranks. */
    GSH_NCCL_EARLY_JOBS = 3,
    GSH_NCCL_N_GRANULES = GSH_NCCL_FIXED_PART_BYTES / GSH_NCCL_GRANULE_BYTES, /* at most */
    GSH_NCCL_MAP_WORDS = GSH_NCCL_N_GRANULES / 64,
    /* A member's offer to the others: its free granules, then which grown ranges are retired. */
    GSH_NCCL_OFFER_WORDS = GSH_NCCL_MAP_WORDS + 1,
};

struct gsh_nccl_copier;
struct gsh_nccl_worker;
struct gsh_nccl_mapped_pieces;

struct gsh_nccl_job {
    struct gsh_nccl_job *next; /* in the process's list */
    void *pe;                  /* in runtime/layer.h's terms */
    bool is_ours;              /* started for a communicator, by its id */
    ncclUniqueId id;           /* if it is ours */
    pthread_t maker;
    int device; /* selected by a scope (runtime/layer.h), or -1 */
    struct gsh_nccl_worker
        *worker; /* makes calls in which ranks agree; NULL: the caller does; atomic,
                    since a thread may create it while others make calls */
    int my_pe, n_pes;
    gshmem_team_t control_team; /* of all PEs: for agreements outside communicators */
    bool has_world;   /* a communicator uses GSHMEM_TEAM_WORLD, to which it has sole use if is_ours,
                         and which has more room for small collectives than other teams */
    int n_comms;      /* under lock */
    bool is_given_up; /* for good; atomic */
    bool has_lost_rank; /* a rank that has aborted will not end it; atomic, read by the last put */
    bool is_full;       /* that was for want of room (gsh_nccl_job_fill), not by ncclCommAbort */
    bool has_left; /* kernels leave their waits in the team `control_team`; of the thread that hears
                    */
    pthread_mutex_t agreement; /* see gsh_nccl_agreement_lock */
    uint64_t *exchanged;       /* of gsh_nccl_exchange; under the agreement lock */
    pthread_mutex_t lock;      /* of n_comms and the two maps below; held for moments */
    char *segment;             /* the parts that follow, in this order */
    struct ncclWindow_vidmem *windows;
    struct gsh_state *state;        /* a copy, for kernels */
    struct gsh_nccl_copier *copier; /* of GIN's large puts (copier.h); or NULL; atomic, written
                                       under the agreement lock */
    bool is_early;                  /* one of the first GSH_NCCL_EARLY_JOBS on all PEs */
    bool posts;                     /* kernels post to a NIC by themselves for far ranks */
    char *fixed_part;
    size_t fixed_part_bytes;
    struct gsh_nccl_mapped_pieces *pieces; /* of pieces.c; under the agreement lock */
    uint64_t free_map[GSH_NCCL_MAP_WORDS]; /* bit set: the granule is free on this PE */
    uint8_t is_window_used[GSH_NCCL_N_WINDOWS];
};

/* The arguments of InitRank, and its caller: the PE for which the caller acts, or NULL; its thread;
 * and its current device, or -1 if unknown. worker: whose thread runs this; NULL: the caller's. */
struct gsh_nccl_job_request {
    int n_ranks, rank, device;
    const ncclUniqueId *id;
    void *pe;
    pthread_t maker;
    struct gsh_nccl_worker *worker;
    bool is_new; /* always a new job */
};
/* Gets a PE for a communicator. It is the caller's if the program has started gshmem with as many
 * PEs, or if the caller made one with the same id. Otherwise it is a new one, and the call is
 * collective over the ranks. The PE's job then counts one more communicator. */
ncclResult_t gsh_nccl_job_get(const char *call, const struct gsh_nccl_job_request *request,
                              struct gsh_nccl_job **job);
/* There is one more communicator; to be undone by gsh_nccl_job_put. */
void gsh_nccl_job_hold(struct gsh_nccl_job *job);
/* A communicator of the job is gone; after the last one the segment is freed and gshmem, if it is
 * ours, ends. That is collective over all PEs, unless one has died: then the job is given up. */
void gsh_nccl_job_put(struct gsh_nccl_job *job);
/* The same, provided that other communicators are left. Returns false, and does nothing, if not.
 * Any thread. */
bool gsh_nccl_job_put_early(struct gsh_nccl_job *job);

struct gsh_nccl_worker *gsh_nccl_job_worker(const struct gsh_nccl_job *job);
/* From now on there is a worker; false: no thread. */
bool gsh_nccl_job_need_worker(struct gsh_nccl_job *job);

/* Any thread; NULL: nobody has needed one so far. */
struct gsh_nccl_copier *gsh_nccl_job_copier(const struct gsh_nccl_job *job);
/* From now on there is a copier, with its thread; false: it cannot be had. With the PE entered, and
 * its agreement lock held. CUDA may wait for running kernels. */
bool gsh_nccl_job_need_copier(struct gsh_nccl_job *job);

/* Any thread. From now on kernels of the job's PE leave their waits, and nothing waits for its
 * worker. The job stays until the process ends. */
void gsh_nccl_job_give_up(struct gsh_nccl_job *job);
bool gsh_nccl_job_is_given_up(const struct gsh_nccl_job *job);
/* The error of a call that finds its job given up. */
ncclResult_t gsh_nccl_job_given_up(const char *call, const struct gsh_nccl_job *job);
/* Gives the job up, because dead ranks have taken more with them than kernels can be told of. */
void gsh_nccl_job_fill(struct gsh_nccl_job *job);
/* A PE of pe's job has died, and its communicators are lost. Kernels leave their waits in these,
 * and in agreements outside communicators. is_full: there is no room to list more lost memory, so
 * kernels leave all waits. */
void gsh_nccl_jobs_lose(void *pe, bool is_full);
/* Waiting kernels of the PE leave, and its streams become idle; then kernels wait again. */
void gsh_nccl_job_interrupt(struct gsh_nccl_job *job);

/* Calls between the two concern the job's PE, on its device. */
struct gshmemx_layer_scope;
void gsh_nccl_enter(const struct gsh_nccl_job *job, struct gshmemx_layer_scope *scope);
void gsh_nccl_leave(const struct gshmemx_layer_scope *scope);
/* The job of this process whose window records hold the handle, or NULL. */
struct gsh_nccl_job *gsh_nccl_job_of_window(ncclWindow_t win);

/* No communicator will use the id: releases everything that this process has for it. */
void gsh_nccl_drop_id(const ncclUniqueId *id);

/* A call in which members agree uses parts of the segment, the PE's collectives of the host, and
 * the heap's lists. These serve one thread of a PE at a time, and other threads may make such calls
 * of other communicators. So the call is made under the PE's agreement lock. A thread takes its
 * PE's lock only if it is free. Then the members vote on whether all of them hold theirs. If not,
 * they release the lock, and try again. So no thread holds a lock while it waits for a rank that
 * may wait for that lock, in whatever order threads of different ranks arrive. pes: the n members
 * of the team that take part, the same on all; NULL: all members. An error, without the lock, if
 * the job is given up or one of these members has died. */
ncclResult_t gsh_nccl_agreement_lock(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                                     const int *pes, int n);
/* The same without a message; false: the error. */
bool gsh_nccl_agreement_trylock(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                                const int *pes, int n);
void gsh_nccl_agreement_unlock(struct gsh_nccl_job *job);

/* ncclRemoteError if a member of the team, of all PEs or of a communicator, has died. */
ncclResult_t gsh_nccl_check_lives(const char *call, const struct gsh_nccl_job *job,
                                  gshmem_team_t team);
/* A barrier of the team, after this PE's puts. */
ncclResult_t gsh_nccl_barrier(const char *call, const struct gsh_nccl_job *job, gshmem_team_t team);
/* Both with the PE's agreement lock held; waits of the host. Every member contributes `bytes`
 * bytes, a multiple of 4, and gets those of all, in team order. */
ncclResult_t gsh_nccl_exchange(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                               const void *mine, void *all, size_t bytes);
/* words[0..n), as many on all members, become the AND of all members'. */
ncclResult_t gsh_nccl_intersect(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                                uint64_t *words, size_t n);

static inline size_t gsh_nccl_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Copies between this PE's own symmetric memory and the host; done on return. */
void gsh_nccl_write(void *dest, const void *source, size_t bytes);
void gsh_nccl_read(void *dest, const void *source, size_t bytes);
void gsh_nccl_clear(void *dest, size_t bytes);

#endif
