/* SPDX-License-Identifier: Apache-2.0
 * What calls for dialects without a job return. */
#ifndef GSH_LAYER_OUTCOME_H
#define GSH_LAYER_OUTCOME_H

#include "base/result.h"

/* One of GSHMEMX_LAYER_DONE and so on. */
int gsh_layer_outcome(enum gsh_result r);

#endif
