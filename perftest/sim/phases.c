/* SPDX-License-Identifier: Apache-2.0
 * The calls of init and of others, in the order in which the library makes them. Their lengths are
 * those of structures that its files do not share; tests/unit/sim.c counts what real PEs send. */
#include "perftest/sim/phases.h"

#include "bootstrap/vote.h"
#include "runtime/init/identity.h"
#include "runtime/instance/instance.h"

static void vote(struct sim *s, const char *phase, enum sim_way way, enum sim_voters voters)
{
    sim_add(s, phase,
            (struct sim_call){
                .kind = SIM_VOTE, .way = way, .is_by_nodes = way == SIM_FAR, .voters = voters});
}

static void barrier(struct sim *s, const char *phase, enum sim_way way)
{
    sim_add(s, phase,
            (struct sim_call){.kind = SIM_BARRIER, .way = way, .is_by_nodes = way == SIM_FAR});
}

/* way: how a PE that fails at it tells others. */
static void work(struct sim *s, const char *phase, enum sim_way way, double ns)
{
    if (ns > 0) {
        sim_add(s, phase, (struct sim_call){.kind = SIM_WORK, .way = way, .work_ns = ns});
    }
}

/* heap/physical.c: memory is committed, mapped on the node, and told to the network. */
static void grow(struct sim *s, const char *phase, enum sim_way way)
{
    const struct sim_model *m = sim_model_of(s);
    work(s, phase, way, m->grow);
    /* that all have done so; keys are looked up later */
    sim_add(s, phase,
            (struct sim_call){.kind = SIM_COMBINE, .way = way, .is_by_nodes = true, .bytes = 8});
}

void sim_add_init(struct sim *s)
{
    const struct sim_model *m = sim_model_of(s);
    const uint64_t n = (uint64_t)sim_n_pes(s);
    const enum sim_way tcp = SIM_TCP;
    sim_add(s, "rendezvous", (struct sim_call){.kind = SIM_RENDEZVOUS, .way = tcp});
    sim_add(s, "links", (struct sim_call){.kind = SIM_LINK_UP, .way = tcp});
    if (m->launcher_carries > 0) {
        barrier(s, "links", tcp); /* bootstrap/uid_over.c */
    }
    if (m->mixed_hosts > 0) {
        sim_add(s, "identities", (struct sim_call){.kind = SIM_HOST_PARTS, .way = tcp});
    }
    sim_add(s, "identities",
            (struct sim_call){.kind = SIM_HOST_GATHER,
                              .way = tcp,
                              .bytes = sizeof(struct gsh_identity),
                              .value_bytes = sizeof(struct gsh_identity_sum)});
    sim_keep(s, n * sizeof(struct gsh_peer));
    const uint64_t n_nodes = (uint64_t)sim_n_nodes(m, sim_n_pes(s));
    /* of each node: host_of_node; its leader and where it begins, of WORLD; the same, and the PE,
     * of the team of like places */
    sim_keep(s, n_nodes * (sizeof(uint64_t) + 5 * sizeof(int)));
    work(s, "heap", tcp, m->open);
    work(s, "heap", tcp, m->reserve);
    grow(s, "heap", tcp); /* and that all have met their node and the network */
}

void sim_add_malloc(struct sim *s)
{
    vote(s, "malloc", SIM_FAR, SIM_ALL_ALIKE);
}

void sim_add_grow(struct sim *s)
{
    vote(s, "malloc that grows", SIM_FAR, SIM_ALL_ALIKE);
    grow(s, "malloc that grows", SIM_FAR);
}

void sim_add_free(struct sim *s)
{
    vote(s, "free", SIM_FAR, SIM_ALL_ALIKE);
}

void sim_add_failed_malloc(struct sim *s, enum sim_voters voters)
{
    vote(s, voters == SIM_ONE_FAILS ? "malloc that fails" : "malloc that differs", SIM_FAR, voters);
}

void sim_add_sync(struct sim *s)
{
    sim_add(s, "sync_all", (struct sim_call){.kind = SIM_SYNC, .way = SIM_FAR});
}

/* runtime/team/create.c: among all on the arguments, and on free units, whose bitmap the ballot
 * carries; then among the members on their words. */
static void split(struct sim *s, enum sim_group members, uint64_t n_members)
{
    const uint64_t bitmap = (uint64_t)sim_model_of(s)->team_units / 8;
    sim_add(s, "team_split",
            (struct sim_call){.kind = SIM_BALLOT, .way = SIM_FAR, .bytes = bitmap});
    sim_add(s, "team_split",
            (struct sim_call){.kind = SIM_BALLOT, .way = SIM_FAR, .group = members});
    sim_keep(s, members == SIM_WORLD ? 0 : n_members * sizeof(int)); /* its list */
}

void sim_add_split(struct sim *s)
{
    split(s, SIM_HALF, (uint64_t)sim_n_pes(s) / 2);
}

void sim_add_finalize(struct sim *s)
{
    vote(s, "finalize", SIM_FAR, SIM_ALL_ALIKE);
    barrier(s, "finalize", SIM_TCP);
    work(s, "finalize", SIM_FAR, sim_model_of(s)->close);
}

void sim_add_scale(struct sim *s)
{
    sim_name_phases(s, "init");
    sim_add_init(s);
    sim_name_phases(s, "entry");
    sim_add_sync(s);
    sim_add_sync(s);
    sim_name_phases(s, "team");
    split(s, SIM_WORLD, (uint64_t)sim_n_pes(s));
    sim_name_phases(s, "malloc");
    sim_add_malloc(s);
    sim_name_phases(s, "barrier");
    for (int i = 0; i < SIM_SCALE_BARRIERS; i++) {
        sim_add_sync(s);
    }
    sim_name_phases(s, "byte");
    sim_add_sync(s);
    sim_add_sync(s);
    sim_name_phases(s, NULL);
    sim_add_free(s);
    sim_add_finalize(s);
}

const struct sim_exchange sim_exchanges[SIM_N_EXCHANGES] = {
    {"links", SIM_RENDEZVOUS, 0, 1},
    {"barrier", SIM_BARRIER, 0, 20},
    {"vote", SIM_VOTE, 0, 10},
    {"gather 8", SIM_ALLGATHER, 8, 10},
    {"gather 260", SIM_ALLGATHER, SIM_EXCHANGE_MAX_BYTES, 10},
};

void sim_add_exchanges(struct sim *s)
{
    const enum sim_way tcp = SIM_TCP;
    for (int i = 0; i < SIM_N_EXCHANGES; i++) {
        const struct sim_exchange *e = &sim_exchanges[i];
        for (int k = 0; k < e->times; k++) {
            sim_add(s, e->name, (struct sim_call){.kind = e->kind, .way = tcp, .bytes = e->bytes});
        }
        if (e->kind == SIM_RENDEZVOUS) {
            sim_add(s, e->name, (struct sim_call){.kind = SIM_LINK_UP, .way = tcp});
        }
    }
    barrier(s, "end", tcp);
}

void sim_add_coll(struct sim *s, const char *name, enum gsh_coll coll, uint64_t bytes,
                  bool is_by_leaders)
{
    sim_add(s, name,
            (struct sim_call){.kind = SIM_COLL,
                              .way = SIM_FAR,
                              .bytes = bytes,
                              .coll = coll,
                              .is_by_leaders = is_by_leaders});
}
