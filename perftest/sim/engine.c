/* SPDX-License-Identifier: Apache-2.0
 * See engine.h. */
#include "perftest/sim/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bootstrap/uid_wire.h"
#include "perftest/sim/queue.h"
#include "runtime/instance/end_notice.h"

#define NONE SIM_NO_MESSAGE

enum event_kind { ARRIVES, IS_HERE, GOES_ON, IS_LATE, SEES_DEATH };

/* One that PEs share. */
struct core {
    uint64_t free; /* from then on */
    const struct sim_pe *pe;
};

struct sim {
    struct sim_model model;
    struct sim_call calls[SIM_MAX_CALLS];
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
    struct sim_fault fault;
    uint64_t fault_ns, n_events, begin_ns, end_ns, seed;
    bool is_fault_over;
};

/* ---- making ---- */

static void *need(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "the simulation has no memory left\n");
        exit(1);
    }
    return p;
}

struct sim *sim_create(const struct sim_model *model, int n_pes, uint64_t seed)
{
    struct sim *s = need(calloc(1, sizeof(*s)));
    const int on_node = (int)model->node_pes, n_nodes = (n_pes + on_node - 1) / on_node;
    s->model = *model;
    s->n_pes = n_pes;
    s->seed = seed;
    sim_mail_init(&s->mail, n_pes);
    s->pes = need(calloc((size_t)n_pes + 1, sizeof(*s->pes)));
    s->nodes = need(calloc((size_t)n_pes + (size_t)n_nodes + 1, sizeof(*s->nodes)));
    s->out = need(calloc((size_t)n_nodes * ((size_t)model->adapters + 1), sizeof(*s->out)));
    s->in = need(calloc((size_t)n_nodes * ((size_t)model->adapters + 1), sizeof(*s->in)));
    s->cores = need(calloc((size_t)model->cores + 1, sizeof(*s->cores)));
    for (int i = 0; i < n_pes; i++) {
        s->nodes[i] = i;
    }
    for (int i = 0; i <= n_nodes; i++) {
        s->nodes[n_pes + i] = i * on_node < n_pes ? i * on_node : n_pes;
    }
    return s;
}

void sim_destroy(struct sim *s)
{
    for (int i = 0; i <= s->n_pes; i++) {
        free(s->pes[i].voting);
    }
    sim_queue_finish(&s->queue);
    gsh_rendezvous_forget(&s->rendezvous);
    free(s->pes);
    free(s->nodes);
    free(s->out);
    free(s->in);
    free(s->cores);
    sim_mail_finish(&s->mail);
    free(s);
}

void sim_add(struct sim *s, const char *phase, struct sim_call call)
{
    int i = 0;
    phase = s->phases_name != NULL ? s->phases_name : phase;
    while (i < s->n_phases && strcmp(s->phases[i].name, phase) != 0) {
        i++;
    }
    if (i == SIM_MAX_PHASES || s->n_calls == SIM_MAX_CALLS) {
        fprintf(stderr, "the simulation has too many calls\n");
        exit(1);
    }
    s->n_phases += i == s->n_phases;
    s->phases[i].name = phase;
    call.phase = i;
    s->calls[s->n_calls++] = call;
    const uint64_t memory = sim_walk_memory(&s->model, &call, s->n_pes);
    s->phases[i].memory = memory > s->phases[i].memory ? memory : s->phases[i].memory;
}

void sim_name_phases(struct sim *s, const char *phase)
{
    s->phases_name = phase;
}

void sim_keep(struct sim *s, uint64_t bytes)
{
    s->phases[s->calls[s->n_calls - 1].phase].keeps_bytes += bytes;
}

/* ---- CPUs ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The PE's CPU works for so long, not before `from`, nor before it has done what came before: on
 * its own core, or on that of all which lets it begin first, the last one if it can choose. */
static void spend(struct sim *s, struct sim_pe *pe, uint64_t from, double ns)
{
    const int n_cores = (int)s->model.cores;
    uint64_t begins = later(pe->cpu_free, from);
    if (n_cores > 0 && ns > 0) {
        struct core *best = NULL;
        uint64_t first = UINT64_MAX;
        for (struct core *core = s->cores; core < &s->cores[n_cores]; core++) {
            const uint64_t at =
                later(begins, core->free) + (core->pe == pe ? 0 : (uint64_t)s->model.core_switch);
            if (at < first || (at == first && core->pe == pe)) {
                first = at;
                best = core;
            }
        }
        begins = first;
        *best = (struct core){begins + (uint64_t)ns, pe};
    }
    pe->cpu_free = begins + (uint64_t)ns;
}

/* ---- messages ---- */

/* The rendezvous is on PE 0's node. */
static int place_of(const struct sim *s, int pe)
{
    return pe < s->n_pes ? pe : 0;
}

/* A node has one more, for TCP. */
static int adapter_of(const struct sim *s, int pe, enum sim_way way)
{
    const int place = place_of(s, pe), on_node = (int)s->model.node_pes,
              adapters = (int)s->model.adapters;
    return place / on_node * (adapters + 1) +
           (way == SIM_TCP ? adapters : place % on_node % adapters);
}

/* For how long the message keeps an adapter busy. */
static uint64_t busy_ns(const struct sim_way_costs *costs, const struct sim_message *m)
{
    const double gaps = costs->gap * m->parts, bytes = (double)m->bytes / costs->bandwidth;
    return (uint64_t)(gaps > bytes ? gaps : bytes);
}

/* Of the sender, and of the receiver. */
static double cpu_ns(const struct sim_way_costs *costs, const struct sim_message *m)
{
    return costs->cpu * m->parts + costs->byte * (double)m->bytes;
}

static void send(struct sim *s, struct sim_pe *from, const struct sim_message *message)
{
    const struct sim_way_costs *costs = &s->model.way[message->way];
    const int a = sim_node_of(&s->model, place_of(s, message->from)),
              b = sim_node_of(&s->model, place_of(s, message->to));
    const uint32_t m = sim_mail_new(&s->mail);
    s->mail.messages[m] = *message;
    spend(s, from, 0, cpu_ns(costs, message));
    uint64_t begins = from->cpu_free;
    double latency = costs->latency + costs->hop * sim_hops(&s->model, a, b);
    if (a != b) {
        uint64_t *out = &s->out[adapter_of(s, message->from, message->way)];
        begins = later(begins, *out);
        *out = begins + busy_ns(costs, message);
    } else {
        latency = s->model.way[message->way == SIM_LOCAL ? SIM_LOCAL : SIM_NEAR].latency;
    }
    sim_queue_add(&s->queue, begins + (uint64_t)latency, ARRIVES, m);
    if (!message->is_notice) {
        const bool is_near = message->way == SIM_NEAR || message->way == SIM_LOCAL;
        from->counts.messages += is_near ? 0 : message->parts;
        from->counts.near_messages += is_near;
        from->counts.bytes += is_near ? 0 : message->bytes;
    }
}

/* ---- PEs ---- */

static void fold_counts(struct sim *s, struct sim_pe *pe)
{
    struct sim_phase *p = &s->phases[s->calls[pe->call].phase];
    const uint64_t mine[] = {pe->counts.messages, pe->counts.bytes, pe->counts.near_messages,
                             pe->counts.rounds};
    uint64_t *const most[] = {&p->most.messages, &p->most.bytes, &p->most.near_messages,
                              &p->most.rounds},
                    *const all[] = {&p->all.messages, &p->all.bytes, &p->all.near_messages,
                                    &p->all.rounds};
    for (int i = 0; i < 4; i++) {
        *most[i] = later(*most[i], mine[i]);
        *all[i] += pe < &s->pes[s->n_pes] ? mine[i] : 0;
    }
    p->end_ns = later(p->end_ns, pe->cpu_free);
    p->longest_ns = later(p->longest_ns, pe < &s->pes[s->n_pes] ? pe->cpu_free - pe->phase_ns : 0);
    pe->phase_ns = pe->cpu_free;
    memset(&pe->counts, 0, sizeof(pe->counts));
}

static void begin_call(struct sim *s, int index)
{
    struct sim_pe *pe = &s->pes[index];
    const struct sim_call *call = &s->calls[pe->call];
    memset(&pe->walk, 0, sizeof(pe->walk));
    if (call->kind == SIM_VOTE && index < s->n_pes) {
        pe->voting = need(malloc(sizeof(*pe->voting)));
        sim_vote_begin(pe->voting, call, index, s->n_pes);
    }
}

static void end_call(struct sim *s, struct sim_pe *pe)
{
    const int phase = s->calls[pe->call].phase;
    free(pe->voting);
    pe->voting = NULL;
    if (pe->call + 1 == s->n_calls || s->calls[pe->call + 1].phase != phase) {
        fold_counts(s, pe);
    }
    pe->call++;
    pe->end_ns = pe->cpu_free;
    s->end_ns = later(s->end_ns, pe->cpu_free);
}

/* Takes what the PE awaits off the early messages; NONE: it has not come. */
static uint32_t find_early(struct sim *s, int index)
{
    const struct sim_pe *pe = &s->pes[index];
    const uint32_t m =
        s->is_fault_over ? sim_mail_take(&s->mail, index, pe->awaits, SIM_NOTICE_CALL, 0) : NONE;
    return m != NONE ? m : sim_mail_take(&s->mail, index, pe->awaits, pe->call, pe->awaited_key);
}

static void tell(struct sim *s, int from, int to, enum sim_way way, int culprit)
{
    const struct sim_message notice = {.from = from,
                                       .to = to,
                                       .way = (uint8_t)way,
                                       .is_notice = true,
                                       .parts = 1,
                                       .bytes = way == SIM_TCP ? sizeof(struct gsh_frame)
                                                               : sizeof(struct gsh_end_notice),
                                       .value = {(uint64_t)culprit}};
    send(s, &s->pes[from], &notice);
}

/* Over TCP on all links (uid.c), over the proxy to those before (end_notice.c). */
static void tell_others(struct sim *s, int index, int culprit)
{
    const enum sim_way way = s->calls[s->pes[index].call].way;
    for (struct gsh_leg leg = {0}; gsh_leg_next(&leg, s->n_pes, index, -1);) {
        tell(s, index, leg.to, way, culprit);
        if (way == SIM_TCP) {
            tell(s, index, leg.from, way, culprit);
        }
    }
}

/* The PE has found that another one is gone, or has been told. */
static void fail(struct sim *s, int index, int culprit)
{
    struct sim_pe *pe = &s->pes[index];
    if (pe->state != SIM_LIVES || pe->call == s->n_calls) {
        return;
    }
    pe->state = SIM_FAILED;
    pe->culprit = culprit;
    pe->end_ns = pe->cpu_free;
    if (s->calls[pe->call].kind == SIM_RENDEZVOUS) {
        if (index == s->n_pes) {
            gsh_rendezvous_end_late(&s->rendezvous, s->model.timeout * 1e-9);
        }
        for (int i = 0; index == s->n_pes && i < s->n_pes; i++) {
            tell(s, index, i, SIM_TCP, culprit);
        }
    } else {
        tell_others(s, index, culprit);
    }
}

/* Who notices at once that the PE is gone: over TCP those with links to it, else its node. If it
 * hangs, nobody does. */
static void die(struct sim *s, int index)
{
    struct sim_pe *pe = &s->pes[index];
    const enum sim_kind kind = s->calls[pe->call].kind;
    const int on_node = (int)s->model.node_pes, node = sim_node_of(&s->model, index);
    pe->state = SIM_DEAD;
    s->fault_ns = pe->cpu_free;
    s->is_fault_over = true;
    if (s->fault.hangs || kind == SIM_RENDEZVOUS) {
        return;
    }
    const uint64_t seen = pe->cpu_free + (uint64_t)s->model.tcp_watch;
    if (s->calls[pe->call].way == SIM_TCP) {
        pe->cpu_free = seen; /* the system closes the connections; a notice stands for that */
        tell_others(s, index, index);
        return;
    }
    int n_near = 0;
    for (int i = node * on_node; i < (node + 1) * on_node && i < s->n_pes; i++) {
        if (i != index) {
            sim_queue_add(&s->queue, seen, SEES_DEATH, (uint32_t)i);
            n_near++;
        }
    }
    for (struct gsh_leg leg = {0}; n_near == 0 && gsh_leg_next(&leg, s->n_pes, index, -1);) {
        sim_queue_add(&s->queue, seen + (uint64_t)s->model.far_loss, SEES_DEATH, (uint32_t)leg.to);
    }
}

static void receive(struct sim *s, int index, struct sim_view *v, uint32_t m)
{
    struct sim_pe *pe = &s->pes[index];
    const struct sim_message its = s->mail.messages[m];
    sim_mail_end(&s->mail, m);
    pe->awaits = SIM_NOBODY;
    if (its.is_notice) {
        fail(s, index, (int)its.value[0]);
        return;
    }
    sim_walk_heard(v, its.value);
}

static void send_action(struct sim *s, int index, const struct sim_action *a)
{
    struct sim_pe *pe = &s->pes[index];
    struct sim_message m = {.from = index,
                            .to = a->other,
                            .call = pe->call,
                            .way = (uint8_t)a->way,
                            .key = a->key,
                            .parts = a->parts,
                            .bytes = a->bytes};
    if (a->value != NULL) {
        memcpy(m.value, a->value, a->value_bytes);
    }
    send(s, pe, &m);
    pe->has_sent = pe->has_sent || a->way != SIM_NEAR;
}

/* Returns whether the PE goes on at once. */
static bool act(struct sim *s, int index, struct sim_view *v)
{
    struct sim_pe *pe = &s->pes[index];
    struct sim_action a;
    uint32_t m;
    switch (sim_walk_next(v, &a)) {
    case SIM_SEND:
        send_action(s, index, &a);
        return true;
    case SIM_TAKES_TIME:
        spend(s, pe, 0, a.ns);
        sim_queue_add(&s->queue, pe->cpu_free, GOES_ON, (uint32_t)index);
        return false;
    case SIM_HEAR:
        pe->counts.rounds += pe->has_sent;
        pe->has_sent = false;
        pe->awaits = a.other;
        pe->awaited_key = a.key;
        pe->awaits_since = pe->cpu_free;
        m = find_early(s, index);
        if (m != NONE) {
            receive(s, index, v, m);
        }
        return m != NONE;
    default:
        end_call(s, pe);
        return true;
    }
}

/* Of the call in which the PE is. */
static struct sim_view view_of(struct sim *s, int index)
{
    struct sim_pe *pe = &s->pes[index];
    const bool has_rendezvous = s->rendezvous.n_ranks > 0 || s->calls[0].kind == SIM_RENDEZVOUS;
    return (struct sim_view){.model = &s->model,
                             .call = &s->calls[pe->call],
                             .nodes = s->nodes,
                             .pe = index,
                             .n_pes = s->n_pes,
                             .walk = &pe->walk,
                             .voting = pe->voting,
                             .absent = s->fault.pe >= 0 && s->fault.call == 0 ? s->fault.pe : -1,
                             .rendezvous = has_rendezvous ? &s->rendezvous : NULL};
}

static void run(struct sim *s, int index)
{
    struct sim_pe *pe = &s->pes[index];
    while (pe->state == SIM_LIVES && pe->call < s->n_calls) {
        const uint16_t call = pe->call;
        struct sim_view v = view_of(s, index);
        bool goes_on = true;
        while (goes_on && pe->state == SIM_LIVES && pe->call == call) {
            goes_on = act(s, index, &v);
        }
        if (!goes_on || pe->state != SIM_LIVES) {
            return;
        }
        if (pe->call < s->n_calls) {
            if (index == s->fault.pe && pe->call == s->fault.call && !s->is_fault_over) {
                die(s, index);
                return;
            }
            begin_call(s, index);
        }
    }
}

/* ---- events ---- */

static void arrive(struct sim *s, uint64_t ns, uint32_t m)
{
    const struct sim_message *its = &s->mail.messages[m];
    const int a = sim_node_of(&s->model, place_of(s, its->from)),
              b = sim_node_of(&s->model, place_of(s, its->to));
    if (a != b) {
        uint64_t *in = &s->in[adapter_of(s, its->to, its->way)];
        *in = later(ns, *in) + busy_ns(&s->model.way[its->way], its);
        ns = *in;
    } else {
        ns += (uint64_t)((double)its->bytes / s->model.way[SIM_NEAR].bandwidth);
    }
    sim_queue_add(&s->queue, ns, IS_HERE, m);
}

/* Over the proxy, and while links are made, a notice is heard whatever the PE awaits. */
static bool is_heard_at_once(const struct sim *s, const struct sim_pe *pe,
                             const struct sim_message *m)
{
    return m->is_notice && pe->call < s->n_calls &&
           (m->way != SIM_TCP || s->calls[pe->call].kind == SIM_LINK_UP ||
            s->calls[pe->call].kind == SIM_RENDEZVOUS);
}

static void come(struct sim *s, uint64_t ns, uint32_t m)
{
    struct sim_message *its = &s->mail.messages[m];
    const int index = its->to;
    struct sim_pe *pe = &s->pes[index];
    if (pe->state != SIM_LIVES) {
        sim_mail_end(&s->mail, m);
        return;
    }
    spend(s, pe, ns, cpu_ns(&s->model.way[its->way], its));
    if (is_heard_at_once(s, pe, its)) {
        const int culprit = (int)its->value[0];
        sim_mail_end(&s->mail, m);
        fail(s, index, culprit);
        return;
    }
    sim_mail_keep(&s->mail, m);
    if (pe->awaits == SIM_NOBODY) {
        return;
    }
    const uint32_t found = find_early(s, index);
    if (found != NONE) {
        struct sim_view v = view_of(s, index);
        receive(s, index, &v, found);
        run(s, index);
    }
}

static void happen(struct sim *s, const struct sim_event *e)
{
    struct sim_pe *pe = &s->pes[e->kind < GOES_ON ? 0 : e->index];
    switch ((enum event_kind)e->kind) {
    case ARRIVES:
        arrive(s, e->ns, e->index);
        break;
    case IS_HERE:
        come(s, e->ns, e->index);
        break;
    case GOES_ON:
        run(s, (int)e->index);
        break;
    case IS_LATE:
        if (pe->awaits != SIM_NOBODY && pe->state == SIM_LIVES) {
            pe->cpu_free = later(pe->cpu_free, e->ns);
            fail(s, (int)e->index, pe->awaits);
        }
        break;
    default:
        if (pe->state == SIM_LIVES) { /* another thread sees it, whatever the PE does */
            pe->cpu_free = e->ns;
            fail(s, (int)e->index, s->fault.pe);
        }
    }
}

/* Nothing happens any more, so whoever awaits something does so until its time is up. Returns
 * whether there is such a PE. */
static bool let_time_pass(struct sim *s)
{
    bool is_any = false;
    for (int i = 0; i <= s->n_pes; i++) {
        const struct sim_pe *pe = &s->pes[i];
        if (pe->state == SIM_LIVES && pe->awaits != SIM_NOBODY) {
            is_any = true;
            /* the rendezvous ends first: uid.c gives it a second */
            const double grace =
                i < s->n_pes && s->calls[pe->call].kind == SIM_RENDEZVOUS ? 1e9 : 0;
            sim_queue_add(&s->queue, pe->awaits_since + (uint64_t)(s->model.timeout + grace),
                          IS_LATE, (uint32_t)i);
        }
    }
    return is_any;
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* PEs do not begin at the same time: within a millisecond. */
static void begin(struct sim *s)
{
    for (int i = 0; i <= s->n_pes; i++) {
        struct sim_pe *pe = &s->pes[i];
        pe->awaits = SIM_NOBODY;
        pe->cpu_free = i < s->n_pes ? next_random(&s->seed) % 1000000 : 0;
        spend(s, pe, 0, i < s->n_pes ? s->model.begin : 0);
        pe->phase_ns = pe->cpu_free;
        s->begin_ns = later(s->begin_ns, pe->cpu_free);
        if (i == s->fault.pe && s->fault.call == 0) {
            die(s, i);
            continue;
        }
        begin_call(s, i);
        sim_queue_add(&s->queue, pe->cpu_free, GOES_ON, (uint32_t)i);
    }
}

bool sim_run(struct sim *s, struct sim_fault fault)
{
    struct sim_event e;
    bool has_let_pass = false;
    s->fault = fault;
    begin(s);
    for (;;) {
        while (sim_queue_take(&s->queue, &e)) {
            s->n_events++;
            happen(s, &e);
        }
        if (fault.pe < 0 || has_let_pass || !let_time_pass(s)) {
            break;
        }
        has_let_pass = true;
    }
    bool is_done = true;
    for (int i = 0; i < s->n_pes; i++) {
        is_done = is_done && (s->pes[i].state != SIM_LIVES || s->pes[i].call == s->n_calls);
    }
    return is_done;
}

/* ---- results ---- */

struct sim_notice sim_noticed(const struct sim *s)
{
    struct sim_notice n = {.at = s->fault_ns, .first = UINT64_MAX};
    for (int i = 0; i < s->n_pes; i++) {
        const struct sim_pe *pe = &s->pes[i];
        if (pe->state == SIM_FAILED) {
            n.first = pe->end_ns < n.first ? pe->end_ns : n.first;
            n.last = later(n.last, pe->end_ns);
            n.n_noticed++;
            n.n_wrong += pe->culprit != s->fault.pe;
        } else if (pe->state == SIM_LIVES) {
            n.n_done += pe->call == s->n_calls;
            n.n_waiting += pe->call != s->n_calls;
        }
    }
    return n;
}

const struct sim_model *sim_model_of(const struct sim *s)
{
    return &s->model;
}

int sim_n_pes(const struct sim *s)
{
    return s->n_pes;
}

const int32_t *sim_nodes(const struct sim *s)
{
    return s->nodes;
}

int sim_n_connections(const struct sim *s)
{
    int n = 0;
    for (int i = 0; i < s->rendezvous.n_ranks; i++) {
        n += s->rendezvous.ranks[i].has_come && s->rendezvous.ranks[i].via == i;
    }
    return n;
}

const char *sim_rendezvous_text(const struct sim *s)
{
    return s->rendezvous.text;
}

int sim_n_phases(const struct sim *s)
{
    return s->n_phases;
}

const struct sim_phase *sim_phase(const struct sim *s, int i)
{
    return &s->phases[i];
}

int sim_n_calls(const struct sim *s)
{
    return s->n_calls;
}

const struct sim_call *sim_call(const struct sim *s, int i)
{
    return &s->calls[i];
}

const char *sim_phase_of_call(const struct sim *s, int call)
{
    return s->phases[s->calls[call].phase].name;
}

uint64_t sim_begin_ns(const struct sim *s)
{
    return s->begin_ns;
}

uint64_t sim_end_ns(const struct sim *s)
{
    return s->end_ns;
}

uint64_t sim_n_events(const struct sim *s)
{
    return s->n_events;
}

const struct sim_pe *sim_pe(const struct sim *s, int pe)
{
    return &s->pes[pe];
}
