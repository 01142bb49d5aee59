/* SPDX-License-Identifier: Apache-2.0
 * One look of a model adapter at all its queues, in which some of them make a step. */
#ifndef GSH_MODEL_ROUND_H
#define GSH_MODEL_ROUND_H

#include "nic/model/model.h"

/* Under the adapter's lock, if it has a thread. How much is still to do; 0: it may sleep until a
 * doorbell rings. */
unsigned gsh_model_round(struct gsh_model *model);

#endif
