/* SPDX-License-Identifier: Apache-2.0
 * Carries out a PE's requests to itself. */
#ifndef GSH_EXECUTE_H
#define GSH_EXECUTE_H

#include "proxy/engine/state.h"

/* Complete on return. */
void gsh_task_execute(struct gsh_task *task);

#endif
