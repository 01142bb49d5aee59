/* SPDX-License-Identifier: Apache-2.0
 * Carries out one entry of a model adapter's queue. */
#ifndef GSH_MODEL_EXECUTE_H
#define GSH_MODEL_EXECUTE_H

#include "nic/model/model.h"

/* Whether it reads or changes the other end's memory and brings something back: a later entry that
 * does not may come before it, unless that has the fence bit. */
bool gsh_model_is_loose(const struct gsh_wq_block *entry);
bool gsh_model_is_write(const struct gsh_wq_block *entry);
bool gsh_model_is_fenced(const struct gsh_wq_block *entry);

/* The entry at this position, which has been taken. Its syndrome; 0: done. */
unsigned gsh_model_execute(struct gsh_model *model, struct gsh_model_queue *queue,
                           uint64_t position);

#endif
