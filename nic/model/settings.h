/* SPDX-License-Identifier: Apache-2.0
 * How a model adapter behaves, and which faults it injects: GSHMEM_NIC_MODEL, a list like
 * "seed=7,lose=1@100". */
#ifndef GSH_MODEL_SETTINGS_H
#define GSH_MODEL_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/result.h"

struct gsh_model_settings {
    uint64_t seed; /* seed=: of the order and the delays */
    /* delay=: the most rounds that an entry usually takes; a WRITE may overtake READs and atomics.
     * 0, as without it: all that a queue has is carried out at once, in order. */
    uint32_t delay;
    bool has_amos;      /* amos=0: its atomics are not atomic with the device's own */
    bool has_records;   /* record=0: its queues have no doorbell records */
    uint32_t late_bell; /* late_bell=N: one doorbell in N is seen late; 0: none */
    uint32_t twice;     /* twice=N: one in N is seen twice */
    uint32_t stale;     /* stale=N: for one in N the record is read as it was before */
    /* lose=PE@N: after N entries, PE answers nothing any more. deny=PE@N: after N entries, PE
     * refuses one. break=PE@N: the queue to PE goes to error by itself. -1: none. */
    int lose_pe, deny_pe, break_pe;
    uint64_t lose_after, deny_after, break_after;
};

/* GSH_ERR_ARG, noted: it names the part that is wrong. */
GSH_CHECK_RESULT enum gsh_result gsh_model_read_settings(const char *text,
                                                         struct gsh_model_settings *out);

#endif
