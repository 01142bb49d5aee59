/* SPDX-License-Identifier: Apache-2.0
 * PEs as light objects in virtual time. Each makes the calls of one list, one after the other. A
 * call is a walk: a generator of actions, made of the same steps as the library's own blocking code
 * (bootstrap/leg.h, host_leg.h, bootstrap/voting.h, device/coll/schedule.h). The engine lets
 * messages travel through the model's network, and continues the walk of a PE when what it awaits
 * has come.
 *
 * A message costs the sender's CPU, then the sender's adapter (the gap, or the time for its bytes),
 * the way, the receiver's adapter, and the receiver's CPU. Adapters and CPUs do one thing at a
 * time. A PE has a CPU of its own, or all share a few cores: then it keeps a core until it waits.
 * Events of equal time happen in the order in which they were made, so a run is always the same. */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "bootstrap/host_table.h"
#include "bootstrap/leg.h"
#include "bootstrap/rendezvous.h"
#include "bootstrap/voting.h"
#include "perftest/sim/mail.h"
#include "perftest/sim/model.h"
#include "device/coll/schedule.h"

enum sim_kind {
    SIM_RENDEZVOUS, /* of start-up by unique id */
    SIM_LINK_UP,
    SIM_ALLGATHER,   /* of a bootstrap: over TCP, or over the proxy (net_job.c) */
    SIM_HOST_PARTS,  /* over TCP, which ranks are of which host (bootstrap/host_table.h) */
    SIM_HOST_GATHER, /* over TCP, of those of the host alone (bootstrap/host_leg.h) */
    SIM_BARRIER,
    SIM_COMBINE,
    SIM_VOTE,
    SIM_BALLOT, /* of a team (runtime/team/agree.c) */
    SIM_SYNC,   /* of host threads (runtime/team/host_sync.c) */
    SIM_COLL,   /* of device/coll/ */
    SIM_WORK,   /* on each PE by itself */
};

/* Whom a call concerns: all PEs, or the first half of them. */
enum sim_group { SIM_WORLD, SIM_HALF };

/* How the PEs vote. */
enum sim_voters { SIM_ALL_ALIKE, SIM_ONE_FAILS, SIM_ONE_DIFFERS };

struct sim_call {
    int phase;
    enum sim_kind kind;
    enum sim_way way;
    enum sim_group group;
    uint64_t value_bytes; /* of gathers: of a value that is combined in the same messages */
    uint64_t bytes;       /* of each PE's part; SIM_COLL: of a member's part, or of everything */
    enum gsh_coll coll;
    bool is_by_leaders;
    bool is_by_nodes; /* a combine, barrier or vote: first on each node (leg.h) */
    enum sim_voters voters;
    double work_ns;
};

/* What a PE has sent in a phase. */
struct sim_counts {
    uint64_t messages, bytes, near_messages;
};

struct sim_phase {
    const char *name;
    struct sim_counts most, all; /* all: without the rendezvous, which is part of `most` */
    /* By how much the phase makes the longest chain longer, of messages each of which was sent only
     * after the one before it had come; those within a node's memory do not count. */
    uint64_t rounds;
    uint64_t memory;      /* the most that a PE has for the phase's calls at one time */
    uint64_t end_ns;      /* when the last PE has ended it */
    uint64_t longest_ns;  /* of a PE, from where its phase before ended */
    uint64_t keeps_bytes; /* for as long as the job lasts */
};

enum { SIM_MAX_PHASES = 32, SIM_MAX_CALLS = 128 };

enum sim_next { SIM_SEND, SIM_HEAR, SIM_OVER, SIM_TAKES_TIME };

/* The next action of a walk: a message to send; one to hear, from `other` with that key. */
struct sim_action {
    int other;
    enum sim_way way;
    uint32_t key, parts;
    uint64_t bytes;
    const void *value; /* to send; value_bytes of it */
    uint32_t value_bytes;
    double ns;
};

/* Where a PE is in its call. */
struct sim_walk {
    struct gsh_leg leg;
    struct gsh_cursor cursor;
    int stage, i, row;
    int met;             /* on the node: messages sent and heard */
    int32_t greeting[3]; /* of a rendezvous */
    uint64_t phase;
};

enum sim_state { SIM_LIVES, SIM_DEAD, SIM_FAILED };

struct sim_pe {
    struct sim_walk walk;
    struct gsh_voting *voting; /* while it votes */
    uint64_t cpu_free;         /* ns */
    uint64_t phase_ns;         /* when it began the phase */
    uint64_t awaits_since;
    int32_t awaits; /* whom, in SIM_HEAR, or SIM_ANYBODY, or SIM_NOBODY: it runs */
    uint32_t awaited_key;
    uint16_t call;
    uint8_t state;
    uint32_t depth;           /* messages of the longest chain that has led to it */
    struct sim_counts counts; /* in this phase */
    uint64_t end_ns;
    int32_t culprit;
};

struct sim;

/* What happens to one PE, on purpose. */
struct sim_fault {
    int pe;     /* -1: nothing */
    int call;   /* it dies when it begins this call */
    bool hangs; /* it stays, and does nothing any more */
};

struct sim *sim_create(const struct sim_model *model, int n_pes, uint64_t seed);
void sim_destroy(struct sim *s);

/* Appends a call to the list; the phase's name may be one of those before. */
void sim_add(struct sim *s, const char *phase, struct sim_call call);
/* Calls that are added from now on are of this phase, whatever their own; NULL: of theirs again. */
void sim_name_phases(struct sim *s, const char *phase);
/* The phase of the last call keeps so many bytes more on each PE. */
void sim_keep(struct sim *s, uint64_t bytes);

/* All PEs make all calls. False: some wait for what never comes, and no fault explains it. */
bool sim_run(struct sim *s, struct sim_fault fault);

const struct sim_model *sim_model_of(const struct sim *s);
int sim_n_pes(const struct sim *s);
const int32_t *sim_nodes(const struct sim *s);
int sim_n_phases(const struct sim *s);
const struct sim_phase *sim_phase(const struct sim *s, int i);
int sim_n_calls(const struct sim *s);
const struct sim_call *sim_call(const struct sim *s, int i);
const char *sim_phase_of_call(const struct sim *s, int call);
/* When the last PE has begun, and the last has ended all calls. */
uint64_t sim_begin_ns(const struct sim *s);
uint64_t sim_end_ns(const struct sim *s);
uint64_t sim_n_events(const struct sim *s);
const struct sim_pe *sim_pe(const struct sim *s, int pe);

/* After a run with a fault: when the fault was, when the first and the last PE noticed it, how many
 * did, and how many names another as the culprit. */
struct sim_notice {
    uint64_t at, first, last;
    int n_noticed, n_waiting, n_done, n_wrong;
};
struct sim_notice sim_noticed(const struct sim *s);
/* How many connections the rendezvous has had. */
int sim_n_connections(const struct sim *s);
/* What the rendezvous has told all; "": nothing. */
const char *sim_rendezvous_text(const struct sim *s);

/* ---- walks (walk.c, coll.c) ---- */

/* What a walk needs to know of its PE. */
struct sim_view {
    const struct sim_model *model;
    const struct sim_call *call;
    const int32_t *nodes; /* members by node, and where each node begins (state.h) */
    int pe, n_pes;
    int absent; /* a PE that never begins, or -1 */
    struct sim_walk *walk;
    struct gsh_voting *voting;
    struct gsh_rendezvous *rendezvous;  /* NULL: the job has begun otherwise */
    const struct gsh_host_table *table; /* of mixed hosts, or NULL */
};

/* The next action. A walk is zeroed before the first. */
enum sim_next sim_walk_next(struct sim_view *v, struct sim_action *a);
/* What it awaited has come. */
void sim_walk_heard(struct sim_view *v, const void *value);
enum sim_next sim_coll_next(struct sim_view *v, struct sim_action *a);
/* Bytes that a PE has for the call, besides what it keeps. */
uint64_t sim_walk_memory(const struct sim_model *model, const struct sim_call *call, int n_pes);

/* Begins a vote. */
void sim_vote_begin(struct gsh_voting *voting, const struct sim_call *call, int rank, int n);

/* Whether the PE is among those of its node, in a call that begins with these. */
bool sim_is_on_node(const struct sim_model *model, const struct sim_call *call,
                    const struct sim_walk *walk, int pe, int n_pes);

/* How many PEs, from 0 on, make the call. */
static inline int sim_n_members(const struct sim_view *v)
{
    return v->call->group == SIM_WORLD ? v->n_pes : v->n_pes / 2;
}

#endif
