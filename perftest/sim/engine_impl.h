/* SPDX-License-Identifier: Apache-2.0
 * What the engine's files share: lead.c (calls, walks and events), network.c (CPUs, and messages
 * on their way), fault.c (a PE that is gone, and who learns it), results.c (what has been). */
#ifndef SIM_ENGINE_IMPL_H
#define SIM_ENGINE_IMPL_H

#include "perftest/sim/engine.h"
#include "perftest/sim/queue.h"

enum event_kind { ARRIVES, IS_HERE, GOES_ON, IS_LATE, SEES_DEATH };

/* One that PEs share. */
struct core {
    uint64_t free; /* from then on */
    const struct sim_pe *pe;
};

struct sim {
    struct sim_model model;
    struct sim_call calls[SIM_MAX_CALLS];
    uint32_t depths[SIM_MAX_CALLS]; /* of the longest chain at the end of each call */
    struct sim_phase phases[SIM_MAX_PHASES];
    int n_calls, n_phases, n_pes;
    int32_t *nodes;     /* members by node, and where each node begins */
    struct sim_pe *pes; /* [n_pes + 1]: the last is the rendezvous */
    uint64_t *out, *in; /* adapters: free from then on */
    struct core *cores; /* [model.cores] */
    const char *phases_name;
    struct sim_mail mail;
    struct sim_queue queue;
    struct gsh_rendezvous rendezvous;
    struct gsh_host_table table; /* of mixed hosts */
    struct sim_fault fault;
    uint64_t fault_ns, n_events, begin_ns, end_ns, seed;
    bool is_fault_over;
};

static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- network.c ---- */

/* The PE's CPU works for so long, not before `from`, nor before it has done what came before: on
 * its own core, or on that of all which lets it begin first, the last one if it can choose. */
void sim_spend(struct sim *s, struct sim_pe *pe, uint64_t from, double ns);
/* Of the sender, and of the receiver. */
double sim_message_cpu_ns(const struct sim_way_costs *costs, const struct sim_message *m);
/* The PE sends a copy of the message. */
void sim_send(struct sim *s, struct sim_pe *from, const struct sim_message *message);
/* It has come to the receiver's node. */
void sim_arrive(struct sim *s, uint64_t ns, uint32_t m);

/* ---- fault.c ---- */

/* The PE has found that another one is gone, or has been told. */
void sim_fail(struct sim *s, int index, int culprit);
/* Who notices at once that the PE is gone: over TCP those with links to it, else its node. If it
 * hangs, nobody does. */
void sim_die(struct sim *s, int index);
/* Over the proxy, while links are made, and among the PEs of a node, a notice is heard whatever the
 * PE awaits. */
bool sim_is_heard_at_once(const struct sim *s, const struct sim_pe *pe,
                          const struct sim_message *m);
/* Nothing happens any more, so whoever awaits something does so until its time is up. Returns
 * whether there is such a PE. */
bool sim_let_time_pass(struct sim *s);

#endif
