/* SPDX-License-Identifier: Apache-2.0
 * A stand-in for libibverbs and libmlx5, for tests: the functions that the plug-in for mlx5
 * adapters calls by name, over the model adapter (nic/model), which carries out the entries. It
 * takes DevX commands apart as an adapter does, and refuses what one would. Machines have four
 * devices: mlx5_0 with RoCE, mlx5_1 with InfiniBand, mlx5_2 whose port is down, and qib_0 of
 * another family.
 *
 * STANDIN_FAIL=FUNCTION:N lets the N-th call of a function fail. STANDIN_MODEL is as
 * GSHMEM_NIC_MODEL, where PEs are numbered in the order in which a queue joins them.
 *
 * STANDIN_PATH=CLASS,LEVEL,RETRY,TIMEOUT refuses connections with other settings than these.
 *
 * One register takes the doorbells of all queues, and threads may write it at a time: when it has
 * changed, all doorbell records are looked at. */
#ifndef GSH_STANDIN_H
#define GSH_STANDIN_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include "nic/mlx5/command.h"
#include "nic/model/model.h"

#define STANDIN_QUEUES  512u
#define STANDIN_PEERS   64u
#define STANDIN_OBJECTS 2048u

enum standin_device_kind { STANDIN_ROCE, STANDIN_INFINIBAND, STANDIN_DOWN, STANDIN_FOREIGN };

struct standin_context {
    struct ibv_context base; /* first */
    enum standin_device_kind kind;
    struct gsh_model model;
    union ibv_gid gid;
    union ibv_gid peers[STANDIN_PEERS];
    unsigned n_peers;
    uint64_t bells[STANDIN_QUEUES];
    int joined[STANDIN_QUEUES]; /* the other end's slot, of queues that do not send yet */
    uint8_t *page;              /* of registers; one for the context */
    uint64_t seen_bell;
    pthread_mutex_t lock; /* of all here but the registers */
    pthread_t thread;
    uint32_t is_stopping; /* atomic */
    unsigned n_objects;   /* of any kind, that are there */
};

struct standin_mr {
    struct ibv_mr base; /* first */
    struct standin_context *context;
};

static inline struct standin_context *standin_of(struct ibv_context *context)
{
    return (struct standin_context *)context;
}

/* Whether this call of the function is to fail; errno is EIO then. */
bool standin_fails(const char *function);

/* nic.c: the adapter behind a context. NULL: it cannot be. */
struct standin_context *standin_open(enum standin_device_kind kind);
/* How many objects were still there. */
unsigned standin_close(struct standin_context *c);
/* The other end's slot for its GID; -1: nobody has it. */
int standin_find_peer(struct standin_context *c, const uint8_t *gid);
/* What joined ends call each other. */
int32_t standin_identity(const union ibv_gid *gid);
void standin_mac(const uint8_t *gid, uint8_t *mac);

/* devx.c: the key's pieces that lie in the registration are gone. Under the context's lock. */
void standin_drop_pieces(struct standin_context *c, uint32_t registration);

#endif
