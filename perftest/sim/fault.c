/* SPDX-License-Identifier: Apache-2.0
 * See engine_impl.h. */
#include "perftest/sim/engine_impl.h"

#include "bootstrap/uid_wire.h"
#include "runtime/instance/end_notice.h"

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
    sim_send(s, &s->pes[from], &notice);
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

void sim_fail(struct sim *s, int index, int culprit)
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

void sim_die(struct sim *s, int index)
{
    struct sim_pe *pe = &s->pes[index];
    const enum sim_kind kind = s->calls[pe->call].kind;
    const int node = sim_node_of(&s->model, index);
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
    }
    if (s->calls[pe->call].way == SIM_TCP && kind != SIM_WORK && !s->calls[pe->call].is_by_nodes) {
        return;
    }
    int n_near = 0;
    for (int k = 0, i; (i = sim_pe_of(&s->model, s->n_pes, node, k)) < s->n_pes; k++) {
        if (i != index) {
            sim_queue_add(&s->queue, seen, SEES_DEATH, (uint32_t)i);
            n_near++;
        }
    }
    for (struct gsh_leg leg = {0}; n_near == 0 && gsh_leg_next(&leg, s->n_pes, index, -1);) {
        sim_queue_add(&s->queue, seen + (uint64_t)s->model.far_loss, SEES_DEATH, (uint32_t)leg.to);
    }
}

bool sim_is_heard_at_once(const struct sim *s, const struct sim_pe *pe, const struct sim_message *m)
{
    const struct sim_call *call = &s->calls[pe->call];
    const int index = (int)(pe - s->pes);
    return m->is_notice && pe->call < s->n_calls &&
           (m->way != SIM_TCP || call->kind == SIM_LINK_UP || call->kind == SIM_RENDEZVOUS ||
            sim_is_on_node(&s->model, call, &pe->walk, index, s->n_pes));
}

bool sim_let_time_pass(struct sim *s)
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
