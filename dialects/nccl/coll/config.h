/* SPDX-License-Identifier: Apache-2.0
 * Configs of single collectives. The calls with one are the calls without, made between begin and
 * end: what a config says waits in the thread until the call is put together. */
#ifndef GSH_NCCL_CONFIG_H
#define GSH_NCCL_CONFIG_H

#include "dialects/nccl/group/call.h"

/* Checks the config, or NULL, and keeps it for the thread's next call, which is of that kind; else
 * the call is refused. */
ncclResult_t gsh_nccl_config_begin(const char *call, enum gsh_nccl_kind kind,
                                   const ncclCollConfig_t *config);
/* Forgets it; returns r. */
ncclResult_t gsh_nccl_config_end(ncclResult_t r);
/* The call, which has what it is carried out by, is carried out as the thread's config says, if
 * there is one. */
void gsh_nccl_config_apply(struct gsh_nccl_call *call);

#endif
