/* SPDX-License-Identifier: Apache-2.0
 * How many requests kernels have posted to NICs, for the timeline: one thread looks again and again
 * at the doorbells of the queues that have been used. */
#include <stdlib.h>
#include "base/sanitizer.h"
#include "runtime/far/far.h"
#include "runtime/far/nic_queues.h"
#include "runtime/trace/kernels.h"

/* Which of the queues to a PE it is. */
static uint32_t number_to_pe(const struct gsh_far_nic *nic, uint32_t queue)
{
    const uint32_t n_pes = (uint32_t)nic->pe->n_pes;
    return queue < n_pes * nic->n_queues ? queue % nic->n_queues : queue / n_pes;
}

/* If a whole queue of entries and more has been posted since the last look, the positions that were
 * written anew count as an entry each. Adds to *outstanding. */
static void count(struct gsh_far_nic *nic, uint32_t queue, uint64_t *outstanding)
{
    const struct gsh_adapter *a = gsh_nic_stripe_of(nic, number_to_pe(nic, queue))->adapter;
    const struct gsh_adapter_site *site = &nic->sites[queue];
    const uint32_t last = gsh_nic_word_at(a, site->completion + GSH_WQ_COMPLETION_LAST);
    const uint16_t end = gsh_nic_rung_index(a, site);
    const bool has_completed = gsh_wq_completed_opcode(last) == GSH_WQ_DONE;
    struct gsh_nic_count *seen = &nic->counted[queue];
    const uint64_t done = has_completed ? gsh_wq_completed_end(last, seen->done) : seen->done;
    uint16_t from = seen->rung;
    if (done != seen->done) {
        gsh_trace_kernels_note_done(nic->pe, queue, done);
        seen->done = done;
    }
    if ((uint16_t)(end - from) > a->options.depth) {
        const uint16_t n = (uint16_t)(end - from - a->options.depth);
        nic->n_posted += n;
        from = (uint16_t)(from + n);
    }
    nic->n_posted += gsh_nic_count_entries(a, site, from, end);
    seen->rung = end;
    *outstanding += gsh_nic_count_entries(a, site, (uint16_t)done, end);
}

bool gsh_far_nic_count(struct gsh_instance *pe, struct gsh_trace_nic *counts)
{
    if (!gsh_far_has_nic(pe)) {
        return false;
    }
    struct gsh_far_nic *nic = pe->far->nic;
    const uint32_t n = gsh_nic_n_all_queues(nic);
    if (nic->counted == NULL) {
        nic->counted = calloc(n, sizeof(*nic->counted));
    }
    if (nic->counted == NULL) {
        return false;
    }
    *counts = (struct gsh_trace_nic){0};
    gsh_look_begin(); /* at what kernels and the adapter write meanwhile */
    for (uint32_t queue = 0; gsh_nic_used_next(&nic->used, &queue, n); queue++) {
        count(nic, queue, &counts->outstanding);
    }
    gsh_look_end();
    counts->posted = nic->n_posted;
    return true;
}
