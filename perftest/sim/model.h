/* SPDX-License-Identifier: Apache-2.0
 * The machine that the simulation assumes. A file of parameters has one in each line, name and
 * number, and what follows # is a comment; infiniband.conf explains them all. */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum sim_way { SIM_NEAR, SIM_FAR, SIM_TCP, SIM_LOCAL, SIM_N_WAYS };

struct sim_way_costs {
    double cpu, byte, gap, latency, hop, bandwidth;
};

struct sim_model {
    double node_pes, host_nodes, adapters, leaf_nodes, pod_nodes;
    struct sim_way_costs way[SIM_N_WAYS];
    double tcp_listen, tcp_connect, tcp_watch, local_connect, far_loss;
    double cores, core_switch, begin, open, close;
    double message_max, team_units, far_piece, far_flat, half_slot;
    double reserve, grow, timeout;
};

/* An InfiniBand cluster, as in infiniband.conf. */
void sim_model_init(struct sim_model *m);
/* False: a line is no parameter; says which on stderr. */
bool sim_model_read(struct sim_model *m, FILE *file, const char *name);
/* The same for one "name=number". */
bool sim_model_set(struct sim_model *m, const char *setting);
/* Writes all parameters, as a file of them. */
void sim_model_write(const struct sim_model *m, FILE *file);

static inline int sim_node_of(const struct sim_model *m, int pe)
{
    return pe / (int)m->node_pes;
}

/* PEs of a host among n. */
static inline int sim_host_pes(const struct sim_model *m, int n)
{
    const double all = m->node_pes * m->host_nodes;
    return all < n ? (int)all : n;
}

/* Switches between two nodes, less one, halved: 0 under one leaf, 1 in a pod, 2 beyond. */
static inline int sim_hops(const struct sim_model *m, int a, int b)
{
    return a / (int)m->leaf_nodes == b / (int)m->leaf_nodes ? 0
           : a / (int)m->pod_nodes == b / (int)m->pod_nodes ? 1
                                                            : 2;
}

#endif
