/* SPDX-License-Identifier: Apache-2.0
 * Groups: calls that are carried out when the outermost group ends. */
#ifndef GSH_NCCL_GROUP_H
#define GSH_NCCL_GROUP_H

#include "dialects/nccl/comm/comm.h"

/* The load of a call on this rank's links, for ncclGroupSimulateEnd: bytes to and from other ranks.
 * Transfers of a group run at the same time. */
enum gsh_nccl_load_kind { GSH_NCCL_LOAD_NONE, GSH_NCCL_LOAD_CALL, GSH_NCCL_LOAD_TRANSFER };
struct gsh_nccl_load {
    enum gsh_nccl_load_kind kind;
    size_t out_bytes, in_bytes;
};

/* Collectives, for comparison with other ranks'. */
enum gsh_nccl_kind {
    GSH_NCCL_NO_COLLECTIVE,
    GSH_NCCL_ALL_REDUCE,
    GSH_NCCL_REDUCE,
    GSH_NCCL_REDUCE_SCATTER,
    GSH_NCCL_ALL_GATHER,
    GSH_NCCL_ALL_TO_ALL,
    GSH_NCCL_BROADCAST,
    GSH_NCCL_GATHER,
    GSH_NCCL_SCATTER,
    GSH_NCCL_N_KINDS
};

/* A call with its arguments, checked as far as possible. Unused ones are 0. */
struct gsh_nccl_call {
    const char *name;
    enum gsh_nccl_kind kind;
    ncclResult_t (*run)(const struct gsh_nccl_call *call);
    struct ncclComm *comm;
    /* Ranks agree on something: a thread with several ranks must not wait in one rank's call. */
    bool meets;
    bool is_detached; /* and it is not waited for */
    const void *source;
    void *dest;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int peer; /* or root */
    cudaStream_t stream;
    /* for calls that make something */
    ncclUniqueId id;
    ncclConfig_t *config;
    ncclComm_t *new_comm;
    bool is_nonblocking;            /* of the new communicator */
    bool is_birth;                  /* the new communicator always starts a new job */
    struct ncclComm *shell;         /* the new communicator, begun; or NULL */
    struct gsh_nccl_worker *worker; /* the new one's; without comm, the thread that runs this */
    void *pe;                       /* for InitRank: the caller's PE, */
    pthread_t maker;                /* thread */
    int device;                     /* and device */
    int a, b;
    ncclWindow_t *window;
    void *out;
    const void *in;
    void *owned; /* from malloc: freed with the call */
    /* Restores what the program's call has changed already, if it is not carried out; takes owned.
     */
    void (*undo)(const struct gsh_nccl_call *call);
    struct gsh_nccl_load load;
};

/* Carries the call out, now or at the end of the calling thread's group. checked: what checks of
 * its arguments have found; on an error the call is refused. */
ncclResult_t gsh_nccl_submit(ncclResult_t checked, const struct gsh_nccl_call *call);
/* For a call that is refused, with its error, which it returns: an open group fails, too. */
ncclResult_t gsh_nccl_refuse(ncclResult_t r);
/* Whether the calling thread has an open group. */
bool gsh_nccl_is_in_group(void);
/* Whether the calling thread has an open group with calls that refer to comm. */
bool gsh_nccl_is_awaited(const struct ncclComm *comm);

/* alike.c: the communicator's next collective; compares it with its neighbours' if they have made
 * theirs, otherwise they compare it with this one. */
void gsh_nccl_latest_add(const struct gsh_nccl_call *call);

/* transfer.c: launches what comm has gathered, or discards it. */
ncclResult_t gsh_nccl_transfers_launch(struct ncclComm *comm);
void gsh_nccl_transfers_forget(struct ncclComm *comm);

#endif
