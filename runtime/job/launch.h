/* SPDX-License-Identifier: Apache-2.0
 * How this PE was started, and the bootstrap that follows from it. */
#ifndef GSH_LAUNCH_H
#define GSH_LAUNCH_H

#include "bootstrap/bootstrap.h"
#include "gshmem/types.h"
#include "runtime/base/env.h"

/* flags: at most one GSHMEMX_INIT_ flag; 0: ask the environment. attr may be NULL with 0. */
GSH_CHECK_RESULT enum gsh_result gsh_launch_bootstrap(const struct gsh_env *env, unsigned flags,
                                                      const gshmemx_init_attr_t *attr,
                                                      struct gsh_bootstrap **out);

/* No job will start by this id, which this process made. */
void gsh_launch_drop_uniqueid(const gshmemx_uniqueid_t *id);

#endif
