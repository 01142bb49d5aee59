/* SPDX-License-Identifier: Apache-2.0
 * A call, with its arguments, as it waits for the end of its group. */
#ifndef GSH_NCCL_CALL_H
#define GSH_NCCL_CALL_H

#include <pthread.h>
#include "dialects/nccl/comm/collective.h"
#include "dialects/nccl/comm/comm.h"
#include "dialects/nccl/include/nccl_device/types.h"

/* The load of a call on this rank's links, for ncclGroupSimulateEnd: bytes to and from other ranks.
 * Transfers of a group run at the same time. */
enum gsh_nccl_load_kind { GSH_NCCL_LOAD_CALL, GSH_NCCL_LOAD_TRANSFER };
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
    bool are_collectives; /* which are the same on all ranks, in the same order */
};

/* The families of calls: which member of a call's union has its arguments. */
enum gsh_nccl_family {
    GSH_NCCL_PLAIN, /* its communicator says all */
    GSH_NCCL_COLLECTIVE,
    GSH_NCCL_MESSAGE,
    GSH_NCCL_PUT,
    GSH_NCCL_WAIT,
    GSH_NCCL_REGISTER,
    GSH_NCCL_DEREGISTER,
    GSH_NCCL_DEVCOMM,
    GSH_NCCL_BIRTH,
};

/* A send or receive. */
struct gsh_nccl_message {
    void *buffer; /* a send only reads it */
    size_t bytes;
    int peer;
    bool is_send;
    cudaStream_t stream;
};

/* A put with a signal, or a signal alone. */
struct gsh_nccl_put {
    const void *source;
    void *dest; /* symmetric; NULL: the signal alone */
    size_t bytes;
    int peer;
    cudaStream_t stream;
};

/* A wait for n more signals of the peer. */
struct gsh_nccl_signals {
    int peer;
    uint64_t n;
    cudaStream_t stream;
};

/* A window's registration, and its end. */
struct gsh_nccl_registration {
    void *buffer;
    size_t bytes;
    int flags;
    ncclWindow_t *window; /* the result */
};
struct gsh_nccl_deregistration {
    struct gsh_nccl_window *window; /* the call owns it */
    bool is_visible;                /* kernels still find its record */
};

struct gsh_nccl_devcomm_request {
    const ncclDevCommRequirements *requirements; /* the call owns them */
    void *result;                                /* by the layout; */
    const struct gsh_nccl_layout *layout;        /* NULL: an ncclDevComm */
};

/* A call that makes a communicator. */
struct gsh_nccl_birth {
    ncclComm_t *new_comm;           /* the result */
    bool is_nonblocking;            /* of the new communicator */
    bool has_own_job;               /* it always starts a new job */
    struct ncclComm *shell;         /* the new communicator, begun; or NULL */
    struct gsh_nccl_worker *worker; /* the new one's; without comm, the thread that runs the call */
    void *pe;                       /* the caller's, if ranks meet by an id; and */
    pthread_t maker;                /* its thread, */
    int device;                     /* its device */
    union {
        struct {
            int n_ranks, rank;
            bool has_id; /* of the ranks of comm, some may have none */
            ncclUniqueId id;
        } by_id; /* ranks that start by an id */
        struct {
            int color, key;
        } split;
        const bool *is_left_out; /* of each rank; the call owns it */
    };
};

/* A call with its arguments, checked as far as possible. */
struct gsh_nccl_call {
    const char *name;
    uint32_t site; /* where it stands in the program (runtime/layer.h) */
    enum gsh_nccl_family family;
    struct ncclComm *comm; /* NULL: the call makes the first one of its ranks */
    ncclResult_t (*run)(const struct gsh_nccl_call *call);
    ncclResult_t (*configured)(const struct gsh_nccl_call *call); /* what run does by a config */
    const struct gsh_nccl_gatherer *gatherer; /* run only gathers; NULL: run does all */
    bool is_alone;                            /* in no group: nothing is gathered after it */
    /* Ranks agree on something: a thread with several ranks must not wait in one rank's call. */
    bool agrees;
    bool is_detached; /* and it is not waited for */
    /* Of those that ncclGroupSimulateEnd estimates, else NULL. Not for a call that is carried out:
     * it costs more than the rest of a small one. */
    struct gsh_nccl_load (*load_of)(const struct gsh_nccl_call *call);
    void *owned; /* from malloc: freed with the call */
    /* Restores what the program's call has changed already, if it is not carried out; takes owned.
     */
    void (*undo)(const struct gsh_nccl_call *call);
    union {
        struct gsh_nccl_collective collective;
        struct gsh_nccl_message message;
        struct gsh_nccl_put put;
        struct gsh_nccl_signals wait;
        struct gsh_nccl_registration registration;
        struct gsh_nccl_deregistration deregistration;
        struct gsh_nccl_devcomm_request devcomm;
        struct gsh_nccl_birth birth;
    };
};

#endif
