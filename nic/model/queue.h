/* SPDX-License-Identifier: Apache-2.0
 * A model adapter's queues: their states, what a doorbell brings, and completions. */
#ifndef GSH_MODEL_QUEUE_H
#define GSH_MODEL_QUEUE_H

#include "nic/model/model.h"

/* From reset to init, to receive, to send, as the interface of verbs has it; from any to error, and
 * to reset. GSH_ERR_STATE, noted: not that way. */
GSH_CHECK_RESULT enum gsh_result gsh_model_set_state(struct gsh_model_queue *queue,
                                                     enum gsh_model_state state);

/* Takes what its doorbell covers. Returns whether there may be more later, though no doorbell
 * comes. */
bool gsh_model_take(struct gsh_model *model, struct gsh_model_queue *queue);
/* The copy of the entry at this position, and how many blocks it takes. */
const struct gsh_wq_block *gsh_model_entry(const struct gsh_model_queue *queue, uint64_t position);
uint32_t gsh_model_entry_blocks(const struct gsh_wq_block *entry);
/* The oldest entry that is not complete is; if syndrome is not 0, with that error, and the queue
 * goes to error. */
void gsh_model_complete(struct gsh_model *model, struct gsh_model_queue *queue, unsigned syndrome);
/* A write with an immediate has come. */
void gsh_model_receive(struct gsh_model *model, struct gsh_model_queue *queue, uint32_t immediate);

#endif
