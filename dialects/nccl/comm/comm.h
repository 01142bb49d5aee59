/* SPDX-License-Identifier: Apache-2.0
 * A communicator: two teams of the same PEs, and a range of the pool. */
#ifndef GSH_NCCL_COMM_H
#define GSH_NCCL_COMM_H

#include "dialects/nccl/base/error.h"
#include "dialects/nccl/base/pieces.h"
#include "dialects/nccl/base/pool.h"
#include "dialects/nccl/comm/latest.h"
#include "dialects/nccl/include/nccl_device/types.h"
#include "dialects/nccl/kernels/args.h"
#include "dialects/nccl/kernels/streams.h"
#include "runtime/layer.h"

struct gsh_nccl_window {
    struct gsh_nccl_window *next;
    char *user;   /* what the program gave */
    char *buffer; /* its symmetric address; equal to user if not is_registered */
    size_t bytes;
    int flags;
    int record_index;   /* in the job's records */
    bool is_registered; /* for comm's ranks alone, and must be undone */
    uint64_t mark;      /* 0, or its part of comm's marks */
};

struct gsh_nccl_devcomm {
    struct gsh_nccl_devcomm *next;
    struct gsh_nccl_range range;
    int record_index;                     /* of its window in the job's records */
    ncclDevComm made;                     /* a copy */
    const struct gsh_nccl_layout *layout; /* of what the program was given; NULL: the same */
};

/* An operator made by ncclRedOpCreatePreMulSum. */
struct gsh_nccl_op {
    bool is_used;
    ncclDataType_t type;
    uint64_t scalar;       /* the bits */
    const void *scalar_at; /* memory to read when a reduction takes its input; or NULL */
};

enum { GSH_NCCL_MAX_OPS = 64 };

/* Scratch is divided into pieces of whole units, at most two for each rank. */
enum { GSH_NCCL_PIECE_UNIT = 512 };

/* The streams that a launch in the making is for, each once. */
struct gsh_nccl_streams {
    cudaStream_t *all;
    size_t n, room;
};

/* transfer/: sends and receives gathered by a group, in call order. */
struct gsh_nccl_gathered {
    struct gsh_nccl_transfer transfer;
    size_t number;
    bool is_own; /* from the rank to itself */
};
struct gsh_nccl_gathering {
    struct gsh_nccl_gathered *gathered;
    size_t n, gathered_room;
    struct gsh_nccl_streams streams;
    /* Of a launch in the making. */
    struct gsh_nccl_transfer *sorted; /* [n] */
    uint32_t *row_begin;              /* [n + 1] */
    size_t sorted_room, row_begin_room;
    /* Device memory for the latest launch that needed some, and earlier blocks that were too small
     * for a later launch: graphs may still use them. */
    struct gsh_nccl_launch_memory {
        struct gsh_nccl_launch_memory *next;
        void *p;
        size_t bytes;
    } * memory;
};

/* coll/: collectives gathered by a group, in call order, all of one kind. */
struct gsh_nccl_batched {
    const char *name; /* the call's */
    struct gsh_nccl_collective collective;
};
struct gsh_nccl_batch {
    struct gsh_nccl_batched *calls;
    struct gshmemx_layer_coll *colls; /* the same in the base's terms */
    size_t n, calls_room, colls_room;
    struct gsh_nccl_streams streams;
    uint64_t n_launches; /* so far */
};

enum { GSH_NCCL_NOTE_WORDS = 3 }; /* at `note` below */

struct ncclComm {
    struct ncclComm *next;          /* in the process's list of live ones */
    struct gsh_nccl_job *job;       /* NULL until the communicator is made; atomic until then */
    struct gsh_nccl_worker *worker; /* makes the communicator, or NULL */
    bool is_aborted;                /* while it was being made; atomic */
    struct gsh_nccl_clique *clique; /* clique.h; or NULL */
    bool is_nonblocking;
    int result;       /* atomic: ncclInProgress while the worker has work for it, then the result */
    char *error_text; /* for that result; or NULL */
    /* Two, since calls on one team may not be under way at the same time: for work on streams, and
     * for agreements of the host. */
    gshmem_team_t team, control_team;
    uint64_t id; /* by which kernels know its windows; 0: none yet */
    int rank, n_ranks;
    int *pe_of; /* [n_ranks] */
    int lsa_rank, lsa_size;
    int64_t lsa_stride; /* bytes from one LSA rank's memory to the next */
    bool is_finalized;
    bool is_revoked;  /* valid only for making other communicators, and for its end */
    bool is_made;     /* it has everything, not only `control_team` and what comes before it;
                       * atomic */
    bool is_refused;  /* a call has failed because a rank has died; atomic */
    bool has_left;    /* kernels leave their waits in it; under comm.c's lock */
    bool is_deserted; /* its end found work that no other rank's comes for (init/settle.h) */

    /* The range: words for sends and receives, their rings, then scratch, then the team's
     * buffers. If all ranks are near, scratch is the inbox of collectives on any memory; the team
     * of all PEs has its own. */
    struct gsh_nccl_range range;
    struct gsh_nccl_holding holding;
    struct gsh_nccl_rings rings;
    uint64_t *signals; /* symmetric, [n_ranks]: of ncclPutSignal, each added to by one rank */
    uint64_t *awaited; /* own, [n_ranks]: total that ncclWaitSignal has waited for */
    uint64_t *note;    /* symmetric: what others read about this rank's latest windows; window/ */
    uint64_t *check_words; /* symmetric, of coll/compare.c */
    char *scratch;
    size_t scratch_bytes;
    struct gshmemx_layer_inbox inbox; /* 0 bytes: the team has its own */
    bool has_inbox;                   /* collectives on any memory go through one */
    struct gsh_nccl_pieces pieces;    /* of two near ranks, for large ones */

    struct gsh_nccl_window *windows;
    uint64_t n_registrations; /* of windows, including failed ones: the same on all ranks */
    uint64_t marks; /* sum over the windows on memory from gshmem_malloc: the same on all ranks */
    struct gsh_nccl_devcomm *devcomms; /* changed with the job's lock held */
    struct gsh_nccl_op ops[GSH_NCCL_MAX_OPS];
    size_t n_registered; /* by ncclCommRegister */
    struct gsh_nccl_stream_chain chain;
    const struct gsh_nccl_stream_ops *stream_ops; /* launch.c's */

    struct gsh_nccl_gathering gathering;
    struct gsh_nccl_batch batch;
    struct gsh_nccl_latest latest;
};

/* What a call requires of comm, else an error. need_live: the program has neither destroyed nor
 * aborted it. need_ready: besides, it has been made, and no call of it is in progress. need:
 * besides, it has been neither revoked nor given up. need_open: besides, ncclCommFinalize has not
 * been called: for calls by which work or memory would be added. */
ncclResult_t gsh_nccl_need_live(const char *call, const struct ncclComm *comm);
ncclResult_t gsh_nccl_need_ready(const char *call, const struct ncclComm *comm);
ncclResult_t gsh_nccl_need(const char *call, struct ncclComm *comm);
ncclResult_t gsh_nccl_need_open(const char *call, struct ncclComm *comm);
bool gsh_nccl_comm_is_live(const struct ncclComm *comm);
/* Whether the process of one of its ranks has died or exited; comm has been made. */
bool gsh_nccl_comm_is_lost(const struct ncclComm *comm);
/* Whether something needs a rank that has died: a call has been refused, a kernel has left its
 * wait, or the user's kernels may wait, through a device communicator. Before that a dead rank is
 * no error. */
bool gsh_nccl_comm_misses_rank(struct ncclComm *comm);
/* The thread that hears of deaths no longer looks at comm. */
void gsh_nccl_comm_hide(struct ncclComm *comm);
/* Kernels leave their waits in comm, which is lost. False: there is no room to say so. */
bool gsh_nccl_comm_lose(struct ncclComm *comm);
/* For gshmemx_layer_subscribe_deaths: kernels leave their waits in communicators with that PE. */
void gsh_nccl_comms_lose(void *pe, int dead);

/* Begins a communicator, which lives but is not made yet: ncclInProgress. NULL: no memory. */
struct ncclComm *gsh_nccl_comm_begin(bool is_nonblocking);
/* The result of making it, or of a call that the worker made. */
void gsh_nccl_comm_end_call(struct ncclComm *comm, ncclResult_t result);
/* comm lives no longer; returns whether it did. Afterwards it is discarded, which frees it, or, if
 * it was aborted, kept until the process ends. */
bool gsh_nccl_comm_forget(struct ncclComm *comm);
void gsh_nccl_comm_discard(struct ncclComm *comm);
void gsh_nccl_comm_keep(struct ncclComm *comm);
/* Makes the call for each of the PE's communicators that live and are made, until one returns true.
 * Only tries: while another thread adds or removes a communicator, it makes none. */
void gsh_nccl_comms_for_each(void *pe, bool (*call)(const struct ncclComm *comm, void *arg),
                             void *arg);
/* The rank of the PE in comm; -1: none. */
int gsh_nccl_rank_of(const struct ncclComm *comm, int pe);

/* awaited_word.c, for gshmemx_layer_explain_by: asks the PE's communicators, until one has the
 * word. */
void gsh_nccl_comms_explain(void *pe, const void *address, int peer, char *text, size_t bytes);

/* near_ranks.c, once the teams are made; both are collective. LSA teams are blocks of consecutive
 * ranks. All have the same size, and each is within a run of near ranks. The size is the largest
 * for which this holds on all ranks. */
ncclResult_t gsh_nccl_find_lsa(const char *call, struct ncclComm *comm);
ncclResult_t gsh_nccl_take_range(const char *call, struct ncclComm *comm);
/* The inbox in the base's terms: NULL: the team's own. */
static inline const struct gshmemx_layer_inbox *gsh_nccl_inbox(const struct ncclComm *comm)
{
    return comm->inbox.bytes > 0 ? &comm->inbox : NULL;
}
/* The part of the range that is for the buffers of its team: none for GSHMEM_TEAM_WORLD, which has
 * its own. */
void *gsh_nccl_team_buffers(const struct ncclComm *comm, size_t *bytes);

#endif
