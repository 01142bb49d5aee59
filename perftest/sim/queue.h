/* SPDX-License-Identifier: Apache-2.0
 * Events in the order of their times; those of equal time in the order in which they were added. */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct sim_event {
    uint64_t ns, serial;
    uint32_t kind, index;
};

/* Zeroed before the first event. */
struct sim_queue {
    struct sim_event *heap; /* each has four below it, none of them earlier */
    uint64_t n, room, serial;
};

void sim_queue_add(struct sim_queue *q, uint64_t ns, uint32_t kind, uint32_t index);
/* The next event; false: there is none. */
bool sim_queue_take(struct sim_queue *q, struct sim_event *out);
void sim_queue_finish(struct sim_queue *q);

#endif
