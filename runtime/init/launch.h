/* SPDX-License-Identifier: Apache-2.0
 * How this PE was started, and the bootstrap that follows from it. */
#ifndef GSH_LAUNCH_H
#define GSH_LAUNCH_H

#include "base/env.h"
#include "bootstrap/bootstrap.h"
#include "gshmem/types.h"

/* flags: at most one GSHMEMX_INIT_ flag; 0: ask the environment. attr may be NULL with 0. */
GSH_CHECK_RESULT enum gsh_result gsh_launch_bootstrap(const struct gsh_env *env, unsigned flags,
                                                      const gshmemx_init_attr_t *attr,
                                                      struct gsh_bootstrap **out);

/* How many threads of this process are to be PEs, by the launcher; 0: none, or the launcher meant
 * the process of a PE, and that PE has started this process. */
int gsh_launch_n_threads(const struct gsh_env *env);

/* No job will start by this id, which this process made. */
void gsh_launch_drop_uniqueid(const gshmemx_uniqueid_t *id);

#endif
