/* SPDX-License-Identifier: Apache-2.0
 * See engine_impl.h. */
#include "perftest/sim/engine_impl.h"

void sim_spend(struct sim *s, struct sim_pe *pe, uint64_t from, double ns)
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

/* The rendezvous is on PE 0's node. */
static int place_of(const struct sim *s, int pe)
{
    return pe < s->n_pes ? pe : 0;
}

/* A node has one more, for TCP. */
static int adapter_of(const struct sim *s, int pe, enum sim_way way)
{
    const struct sim_model *m = &s->model;
    const int place = place_of(s, pe), adapters = (int)m->adapters;
    return sim_node_of(m, place) * (adapters + 1) +
           (way == SIM_TCP ? adapters : sim_index_of(m, place) % adapters);
}

/* For how long the message keeps an adapter busy. */
static uint64_t busy_ns(const struct sim_way_costs *costs, const struct sim_message *m)
{
    const double gaps = costs->gap * m->parts, bytes = (double)m->bytes / costs->bandwidth;
    return (uint64_t)(gaps > bytes ? gaps : bytes);
}

double sim_message_cpu_ns(const struct sim_way_costs *costs, const struct sim_message *m)
{
    return costs->cpu * m->parts + costs->byte * (double)m->bytes;
}

void sim_send(struct sim *s, struct sim_pe *from, const struct sim_message *message)
{
    const struct sim_way_costs *costs = &s->model.way[message->way];
    const int a = sim_node_of(&s->model, place_of(s, message->from)),
              b = sim_node_of(&s->model, place_of(s, message->to));
    const uint32_t m = sim_mail_new(&s->mail);
    s->mail.messages[m] = *message;
    sim_spend(s, from, 0, sim_message_cpu_ns(costs, message));
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

void sim_arrive(struct sim *s, uint64_t ns, uint32_t m)
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
