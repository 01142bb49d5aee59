/* SPDX-License-Identifier: Apache-2.0
 * See engine.h. */
#include "perftest/sim/engine_impl.h"

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
