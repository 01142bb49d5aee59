/* SPDX-License-Identifier: Apache-2.0
 * What the adapters have not done yet of what kernels have posted, for the hang report. Kernels
 * note no time, so an age counts from when somebody looked first. The queues' doorbells,
 * completions and entries lie in memory of the host; what they say is of one moment or another. */
#include <stdlib.h>
#include "base/sanitizer.h"
#include "base/util.h"
#include "nic/names.h"
#include "runtime/far/far.h"
#include "runtime/far/nic_queues.h"

/* Adds the entries of a queue from position `done` on that its doorbell covers. */
static void add_entries(struct gsh_nic_unfinished *u, const struct gsh_adapter *a,
                        const struct gsh_adapter_site *site, uint16_t done, uint16_t end, int peer,
                        uint64_t since_ns)
{
    const uint64_t first = gsh_nic_first_word(a, site, done);
    if (u->n == 0 || since_ns < u->since_ns) {
        u->since_ns = since_ns;
        u->name = gsh_nic_opcode_name((unsigned)(first >> 32 & 0xff));
        u->pe = peer;
    }
    u->n += gsh_nic_count_entries(a, site, done, end);
}

static void look_at(struct gsh_nic_unfinished *u, struct gsh_far_nic *nic, int peer, uint32_t k)
{
    const struct gsh_adapter *a = gsh_nic_stripe_of(nic, k)->adapter;
    const uint32_t queue = gsh_nic_queue_to(nic, peer, k);
    const struct gsh_adapter_site *site = &nic->sites[queue];
    struct gsh_nic_look *look = &nic->looks[queue];
    const uint32_t last = gsh_nic_word_at(a, site->completion + GSH_WQ_COMPLETION_LAST);
    const uint16_t end = gsh_nic_rung_index(a, site);
    const bool has_completed = gsh_wq_completed_opcode(last) == GSH_WQ_DONE;
    const uint16_t done = has_completed ? (uint16_t)gsh_wq_completed_end(last, 0) : look->done;
    if (done == end) {
        *look = (struct gsh_nic_look){.done = done};
        return;
    }
    if (look->since_ns == 0 || done != look->done) {
        *look = (struct gsh_nic_look){.done = done, .since_ns = gsh_now_ns()};
    }
    add_entries(u, a, site, done, end, peer, look->since_ns);
}

bool gsh_far_nic_find_unfinished(struct gsh_instance *pe, struct gsh_nic_unfinished *u)
{
    *u = (struct gsh_nic_unfinished){.pe = -1};
    if (!gsh_far_has_nic(pe)) {
        return false;
    }
    struct gsh_far_nic *nic = pe->far->nic;
    if (nic->looks == NULL) {
        nic->looks = calloc(gsh_nic_n_all_queues(nic), sizeof(*nic->looks));
    }
    if (nic->looks == NULL) {
        return false;
    }
    gsh_look_begin(); /* at what kernels and the adapter write meanwhile */
    for (int peer = 0; peer < pe->n_pes; peer++) {
        for (uint32_t k = 0; gsh_is_far(pe, peer) && k < gsh_nic_n_queues_to(nic); k++) {
            look_at(u, nic, peer, k);
        }
    }
    gsh_look_end();
    return true;
}
