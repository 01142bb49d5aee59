/* SPDX-License-Identifier: Apache-2.0
 * A PE as this dialect sees it: who started gshmem, and the desk, one symmetric allocation of which
 * communicators take what they need. Members of a communicator agree on a range that is free on all
 * of them; so communicators of a part of the job have symmetric memory, too, which gshmem_malloc
 * gives only to all PEs together. */
#ifndef GSH_NCCL_JOB_H
#define GSH_NCCL_JOB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dialects/nccl/include/nccl.h"
#include "gshmem/types.h"

enum {
    GSH_NCCL_GRANULE_BYTES = 4096,
    GSH_NCCL_ARENA_BYTES = 32 << 20, /* rings that keep NVLink busy need 4 MiB */
    GSH_NCCL_N_GRANULES = GSH_NCCL_ARENA_BYTES / GSH_NCCL_GRANULE_BYTES,
    GSH_NCCL_MAP_WORDS = GSH_NCCL_N_GRANULES / 64,
    GSH_NCCL_N_WINDOWS = 1024,    /* at a time, of all communicators of a PE */
    GSH_NCCL_EXCHANGE_BYTES = 64, /* the most that a PE gives in one exchange */
};

struct gsh_nccl_worker;

struct gsh_nccl_job {
    struct gsh_nccl_job *next; /* in the process's list */
    void *pe;                  /* runtime/layer.h's */
    bool is_ours;              /* started for a communicator, by its id */
    ncclUniqueId id;           /* if it is ours */
    pthread_t maker;
    int device;                     /* what a turn chooses (runtime/layer.h), or -1 */
    struct gsh_nccl_worker *worker; /* makes what the ranks agree on; NULL: the caller does */
    int my_pe, n_pes;
    gshmem_team_t meet; /* of all PEs: for what they agree on beside communicators */
    bool has_world;     /* a communicator has GSHMEM_TEAM_WORLD, which nobody else uses where gshmem
                         * is ours, and which has more room for small collectives than other teams */
    int n_comms;
    bool is_given_up;           /* by ncclCommAbort, for good; atomic */
    pthread_mutex_t lock;       /* of the two maps below; the worker and callers take and give */
    char *desk;                 /* the parts that follow, in this order */
    uint64_t *map_in, *map_out; /* [GSH_NCCL_MAP_WORDS] */
    char *one, *all;            /* what this PE gives in an exchange, and what all gave */
    struct ncclWindow_vidmem *windows;
    struct gsh_state *state; /* a copy, for kernels */
    char *arena;
    uint64_t free_map[GSH_NCCL_MAP_WORDS]; /* bit set: the granule is free on this PE */
    uint8_t is_window_used[GSH_NCCL_N_WINDOWS];
};

/* What InitRank was given, and by whom: the PE that the caller speaks for, or NULL, its thread, and
 * its current device, -1: unknown. worker: on whose thread this is, or NULL: the caller's. */
struct gsh_nccl_job_wish {
    int n_ranks, rank, device;
    const ncclUniqueId *id;
    void *pe;
    pthread_t maker;
    struct gsh_nccl_worker *worker;
    bool is_new; /* in any case */
};
/* A PE for a communicator: the caller's where the program has started gshmem with as many PEs, or
 * where the caller made one by the same id; else a new one, collective over the ranks. It has one
 * communicator more from now on. */
ncclResult_t gsh_nccl_job_get(const char *call, const struct gsh_nccl_job_wish *wish,
                              struct gsh_nccl_job **job);
/* A communicator of the job has gone; after the last one the desk is freed and gshmem, if it is
 * ours, ends. Collective over all PEs then. */
void gsh_nccl_job_put(struct gsh_nccl_job *job);

/* By any thread: kernels of the job's PE leave their waits from now on, and nobody waits for its
 * worker. The job stays until the process ends. */
void gsh_nccl_job_give_up(struct gsh_nccl_job *job);
bool gsh_nccl_job_is_given_up(const struct gsh_nccl_job *job);
/* Kernels of the PE that wait leave, and its streams are idle; afterwards kernels wait again. */
void gsh_nccl_job_interrupt(struct gsh_nccl_job *job);

/* What is between the two is about the job's PE, on its device. */
struct gshmemx_layer_turn;
void gsh_nccl_enter(const struct gsh_nccl_job *job, struct gshmemx_layer_turn *turn);
void gsh_nccl_leave(const struct gshmemx_layer_turn *turn);
/* The job of this process whose window records hold the handle, or NULL. */
struct gsh_nccl_job *gsh_nccl_job_of_window(ncclWindow_t win);

/* No communicator will take the id: what this process has for it ends. */
void gsh_nccl_drop_id(const ncclUniqueId *id);

/* Every member gives `bytes` bytes and gets those of all, in the order of the team. */
ncclResult_t gsh_nccl_exchange(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                               const void *mine, void *all, size_t bytes);
/* Collective: a range that is free on all members, the same on all, of *bytes bytes or of what can
 * be spared, at least `least`. *off counts from the arena's start. */
ncclResult_t gsh_nccl_take(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                           size_t least, size_t *bytes, size_t *off);
void gsh_nccl_give(struct gsh_nccl_job *job, size_t off, size_t bytes);

/* Between this PE's own part of symmetric memory and the host; done on return. */
void gsh_nccl_write(void *dest, const void *source, size_t bytes);
void gsh_nccl_read(void *dest, const void *source, size_t bytes);
void gsh_nccl_clear(void *dest, size_t bytes);

#endif
