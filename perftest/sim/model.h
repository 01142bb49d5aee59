/* SPDX-License-Identifier: Apache-2.0
 * The machine that the simulation assumes. A file of parameters has one in each line, name and
 * number, and what follows # is a comment; infiniband.conf explains them all. */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "bootstrap/host_layout.h"

enum sim_way { SIM_NEAR, SIM_FAR, SIM_TCP, SIM_LOCAL, SIM_N_WAYS };

struct sim_way_costs {
    double cpu, byte, gap, latency, hop, bandwidth;
};

struct sim_model {
    double node_pes, host_nodes, dealt_hosts, mixed_hosts, adapters, leaf_nodes, pod_nodes;
    struct sim_way_costs way[SIM_N_WAYS];
    double launcher_carries;
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
    return m->dealt_hosts > 0 ? pe % (int)m->dealt_hosts : pe / (int)m->node_pes;
}

/* Among those of its node. */
static inline int sim_index_of(const struct sim_model *m, int pe)
{
    return m->dealt_hosts > 0 ? pe / (int)m->dealt_hosts : pe % (int)m->node_pes;
}

/* Of n PEs. */
static inline int sim_n_nodes(const struct sim_model *m, int n)
{
    return m->dealt_hosts <= 0  ? (n - 1) / (int)m->node_pes + 1
           : m->dealt_hosts < n ? (int)m->dealt_hosts
                                : n;
}

/* A node's PE with this index; n or more: it has no such one. */
static inline int sim_pe_of(const struct sim_model *m, int n, int node, int index)
{
    return m->dealt_hosts > 0         ? node + index * (int)m->dealt_hosts
           : index < (int)m->node_pes ? node * (int)m->node_pes + index
                                      : n;
}

/* Of PEs that lie on hosts without order, some behind one another. */
static inline int sim_mixed_host(int n_hosts, int pe)
{
    return (int)((int64_t)pe * pe / 3 % n_hosts);
}

/* How n PEs lie on hosts, if they are not mixed. */
static inline struct gsh_host_layout sim_hosts(const struct sim_model *m, int n)
{
    const double most = m->node_pes * m->host_nodes;
    return m->dealt_hosts > 0 && m->dealt_hosts < n
               ? gsh_host_layout_dealt(n, 1, (int)m->dealt_hosts)
               : gsh_host_layout_regular(n, m->dealt_hosts > 0 ? 1
                                            : most < n         ? (int)most
                                                               : n);
}

/* Switches between two nodes, less one, halved: 0 under one leaf, 1 in a pod, 2 beyond. */
static inline int sim_hops(const struct sim_model *m, int a, int b)
{
    return a / (int)m->leaf_nodes == b / (int)m->leaf_nodes ? 0
           : a / (int)m->pod_nodes == b / (int)m->pod_nodes ? 1
                                                            : 2;
}

#endif
