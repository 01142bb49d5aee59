/* SPDX-License-Identifier: Apache-2.0
 * See engine.h. */
#include "perftest/sim/engine_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE SIM_NO_MESSAGE

/* ---- making ---- */

static void mix_hosts(struct sim *s)
{
    struct gsh_host_part *parts = sim_need(calloc((size_t)s->n_pes, sizeof(*parts)));
    for (int i = 0; i < s->n_pes; i++) {
        parts[i].host[0] = (uint32_t)sim_mixed_host((int)s->model.mixed_hosts, i);
        parts[i].ranks = 1;
    }
    if (gsh_host_table_make(&s->table, s->n_pes, parts, 0) != GSH_OK) {
        sim_need(NULL);
    }
    free(parts);
}

struct sim *sim_create(const struct sim_model *model, int n_pes, uint64_t seed)
{
    struct sim *s = sim_need(calloc(1, sizeof(*s)));
    const int n_nodes = sim_n_nodes(model, n_pes);
    s->model = *model;
    s->n_pes = n_pes;
    s->seed = seed;
    sim_mail_init(&s->mail, n_pes);
    s->pes = sim_need(calloc((size_t)n_pes + 1, sizeof(*s->pes)));
    s->nodes = sim_need(calloc((size_t)n_pes + (size_t)n_nodes + 1, sizeof(*s->nodes)));
    s->out = sim_need(calloc((size_t)n_nodes * ((size_t)model->adapters + 1), sizeof(*s->out)));
    s->in = sim_need(calloc((size_t)n_nodes * ((size_t)model->adapters + 1), sizeof(*s->in)));
    s->cores = sim_need(calloc((size_t)model->cores + 1, sizeof(*s->cores)));
    int n = 0;
    for (int node = 0; node < n_nodes; node++) {
        s->nodes[n_pes + node] = n;
        for (int k = 0, i; (i = sim_pe_of(model, n_pes, node, k)) < n_pes; k++) {
            s->nodes[n++] = i;
        }
    }
    s->nodes[n_pes + n_nodes] = n;
    if (model->mixed_hosts > 0) {
        mix_hosts(s);
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
    gsh_host_table_free(&s->table);
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

/* ---- PEs ---- */

static void fold_counts(struct sim *s, struct sim_pe *pe)
{
    struct sim_phase *p = &s->phases[s->calls[pe->call].phase];
    const uint64_t mine[] = {pe->counts.messages, pe->counts.bytes, pe->counts.near_messages};
    uint64_t *const most[] = {&p->most.messages, &p->most.bytes, &p->most.near_messages},
                    *const all[] = {&p->all.messages, &p->all.bytes, &p->all.near_messages};
    for (int i = 0; i < 3; i++) {
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
        pe->voting = sim_need(malloc(sizeof(*pe->voting)));
        sim_vote_begin(pe->voting, call, index, s->n_pes);
    }
}

static void end_call(struct sim *s, struct sim_pe *pe)
{
    const int phase = s->calls[pe->call].phase;
    uint32_t *depth = &s->depths[pe->call];
    *depth = pe->depth > *depth ? pe->depth : *depth;
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

static void receive(struct sim *s, int index, struct sim_view *v, uint32_t m)
{
    struct sim_pe *pe = &s->pes[index];
    const struct sim_message its = s->mail.messages[m];
    sim_mail_end(&s->mail, m);
    pe->awaits = SIM_NOBODY;
    if (its.is_notice) {
        sim_fail(s, index, (int)its.value[0]);
        return;
    }
    pe->depth = its.depth > pe->depth ? its.depth : pe->depth;
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
                            .depth = pe->depth + (a->way != SIM_NEAR),
                            .bytes = a->bytes};
    if (a->value != NULL) {
        memcpy(m.value, a->value, a->value_bytes);
    }
    sim_send(s, pe, &m);
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
        sim_spend(s, pe, 0, a.ns);
        sim_queue_add(&s->queue, pe->cpu_free, GOES_ON, (uint32_t)index);
        return false;
    case SIM_HEAR:
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
                             .rendezvous = has_rendezvous ? &s->rendezvous : NULL,
                             .table = s->table.n_hosts > 0 ? &s->table : NULL};
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
                sim_die(s, index);
                return;
            }
            begin_call(s, index);
        }
    }
}

/* ---- events ---- */

static void come(struct sim *s, uint64_t ns, uint32_t m)
{
    struct sim_message *its = &s->mail.messages[m];
    const int index = its->to;
    struct sim_pe *pe = &s->pes[index];
    if (pe->state != SIM_LIVES) {
        sim_mail_end(&s->mail, m);
        return;
    }
    sim_spend(s, pe, ns, sim_message_cpu_ns(&s->model.way[its->way], its));
    if (sim_is_heard_at_once(s, pe, its)) {
        const int culprit = (int)its->value[0];
        sim_mail_end(&s->mail, m);
        sim_fail(s, index, culprit);
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
        sim_arrive(s, e->ns, e->index);
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
            sim_fail(s, (int)e->index, pe->awaits);
        }
        break;
    default:
        if (pe->state == SIM_LIVES) { /* another thread sees it, whatever the PE does */
            pe->cpu_free = e->ns;
            sim_fail(s, (int)e->index, s->fault.pe);
        }
    }
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
        sim_spend(s, pe, 0, i < s->n_pes ? s->model.begin : 0);
        pe->phase_ns = pe->cpu_free;
        s->begin_ns = later(s->begin_ns, pe->cpu_free);
        if (i == s->fault.pe && s->fault.call == 0) {
            sim_die(s, i);
            continue;
        }
        begin_call(s, i);
        sim_queue_add(&s->queue, pe->cpu_free, GOES_ON, (uint32_t)i);
    }
}

/* A call that only some PEs make may leave the longest chain as it was. */
static void count_rounds(struct sim *s)
{
    uint32_t before = 0;
    for (int i = 0; i < s->n_calls; i++) {
        const uint32_t depth = s->depths[i] > before ? s->depths[i] : before;
        s->phases[s->calls[i].phase].rounds += depth - before;
        before = depth;
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
        if (fault.pe < 0 || has_let_pass || !sim_let_time_pass(s)) {
            break;
        }
        has_let_pass = true;
    }
    count_rounds(s);
    bool is_done = true;
    for (int i = 0; i < s->n_pes; i++) {
        is_done = is_done && (s->pes[i].state != SIM_LIVES || s->pes[i].call == s->n_calls);
    }
    return is_done;
}
