/* SPDX-License-Identifier: Apache-2.0
 * A call, with its arguments, as it waits for the end of its group. */
#ifndef GSH_NCCL_CALL_H
#define GSH_NCCL_CALL_H

#include "dialects/nccl/comm/comm.h"

/* The load of a call on this rank's links, for ncclGroupSimulateEnd: bytes to and from other ranks.
 * Transfers of a group run at the same time. */
enum gsh_nccl_load_kind { GSH_NCCL_LOAD_NONE, GSH_NCCL_LOAD_CALL, GSH_NCCL_LOAD_TRANSFER };
struct gsh_nccl_load {
    enum gsh_nccl_load_kind kind;
    size_t out_bytes, in_bytes;
};

/* How calls of a communicator that a group has gathered are carried out together. */
struct gsh_nccl_gatherer {
    bool (*has_any)(const struct ncclComm *comm);
    /* Enqueues what comm has gathered. The PE is entered. */
    ncclResult_t (*launch)(struct ncclComm *comm);
    /* Discards it. */
    void (*forget)(struct ncclComm *comm);
};

/* A call with its arguments, checked as far as possible. Unused ones are 0. */
struct gsh_nccl_call {
    const char *name;
    enum gsh_nccl_kind kind;
    ncclResult_t (*run)(const struct gsh_nccl_call *call);
    const struct gsh_nccl_gatherer *gatherer; /* run only gathers; NULL: run does all */
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

#endif
