/* SPDX-License-Identifier: Apache-2.0
 * A PE's communication contexts. A handle holds what a call needs (device/state.h); the table here
 * says which handles there are, and gives out their numbers. */
#ifndef GSH_CONTEXT_H
#define GSH_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include "device/state.h"
#include "gshmem/types.h"
#include "proxy/request.h"
#include "runtime/base/result.h"

struct gsh_instance;

/* The table, without a context in it; not collective. */
GSH_CHECK_RESULT enum gsh_result gsh_contexts_create(struct gsh_instance *pe);
/* Accepts what a failed create left. Nothing is outstanding in contexts that are left. */
void gsh_contexts_destroy(struct gsh_instance *pe);
/* The memory of the table, for kernels' checks. */
void *gsh_contexts_table(const struct gsh_instance *pe, size_t *bytes);
/* The device is set up: the proxy reads the rings of contexts that have been made before. */
GSH_CHECK_RESULT enum gsh_result gsh_contexts_open(struct gsh_instance *pe);

/* Any thread. 0: no room. private: the calling thread's. */
uint64_t gsh_context_make(struct gsh_instance *pe, gshmem_team_t team, bool is_private);
/* False: there is no such context. */
bool gsh_context_end(struct gsh_instance *pe, uint64_t handle);
/* All contexts of the team, with a quiet each. */
void gsh_contexts_end(struct gsh_instance *pe, gshmem_team_t team, const char *call);

bool gsh_context_exists(const struct gsh_instance *pe, uint64_t handle);
/* Whether the calling thread may use it, which exists. */
bool gsh_context_is_ours(const struct gsh_instance *pe, uint64_t handle);
/* Of the host's calls in the context with this number. Before device set-up nothing can be
 * outstanding. */
void gsh_context_quiet(struct gsh_instance *pe, gsh_context number, const char *call);

#endif
