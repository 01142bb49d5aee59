/* SPDX-License-Identifier: Apache-2.0
 * What a job does: the list of its calls. */
#ifndef SIM_PHASES_H
#define SIM_PHASES_H

#include "perftest/sim/engine.h"

/* From the first connection to the end of init, over TCP and then the proxy. */
void sim_add_init(struct sim *s);
/* gshmem_malloc from memory that is there, and of memory that the heap must grow for. */
void sim_add_malloc(struct sim *s);
void sim_add_grow(struct sim *s);
void sim_add_free(struct sim *s);
/* A malloc of which one PE's part fails, or for which one PE gives another size. */
void sim_add_failed_malloc(struct sim *s, enum sim_voters voters);
void sim_add_sync(struct sim *s);
/* gshmem_team_split_strided into the first half of the PEs. */
void sim_add_split(struct sim *s);
void sim_add_finalize(struct sim *s);
/* What perftest/scale.c does, in phases of its names. */
enum { SIM_SCALE_BARRIERS = 20 };
void sim_add_scale(struct sim *s);

/* Exchanges over TCP one after another, which exchanges.c makes among real PEs, too: each so often.
 * The first is the rendezvous and the links. */
struct sim_exchange {
    const char *name;
    enum sim_kind kind;
    uint64_t bytes; /* of an allgather */
    int times;
};
enum { SIM_N_EXCHANGES = 5, SIM_EXCHANGE_MAX_BYTES = 260 };
extern const struct sim_exchange sim_exchanges[SIM_N_EXCHANGES];
void sim_add_exchanges(struct sim *s);

/* A collective of kernels; `name` lives as long as s. */
void sim_add_coll(struct sim *s, const char *name, enum gsh_coll coll, uint64_t bytes,
                  bool is_by_leaders);

#endif
