/* SPDX-License-Identifier: Apache-2.0
 * A PE's communication contexts. A handle holds all that a call needs (wire/state.h). The table
 * here records which handles exist, and gives out their numbers. */
#ifndef GSH_CONTEXT_H
#define GSH_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include "base/result.h"
#include "gshmem/types.h"
#include "proxy/request.h"
#include "wire/state.h"

struct gsh_instance;

/* The table, without a context in it; not collective. */
GSH_CHECK_RESULT enum gsh_result gsh_contexts_create(struct gsh_instance *pe);
/* Accepts a half-made table. Nothing may be outstanding in the remaining contexts. */
void gsh_contexts_destroy(struct gsh_instance *pe);
/* The memory of the table, for kernels' checks. */
void *gsh_contexts_table(const struct gsh_instance *pe, size_t *bytes);
/* After device set-up: the proxy reads the rings of contexts made earlier. */
GSH_CHECK_RESULT enum gsh_result gsh_contexts_open(struct gsh_instance *pe);

/* Any thread. 0: no room. private: for the calling thread only. */
uint64_t gsh_context_make(struct gsh_instance *pe, gshmem_team_t team, bool is_private);
/* False: there is no such context. */
bool gsh_context_end(struct gsh_instance *pe, uint64_t handle);
/* Ends all contexts of the team, each with a quiet. */
void gsh_contexts_end(struct gsh_instance *pe, gshmem_team_t team, const char *call);

bool gsh_context_exists(const struct gsh_instance *pe, uint64_t handle);
/* Whether the calling thread may use this context, which exists. */
bool gsh_context_is_ours(const struct gsh_instance *pe, uint64_t handle);
/* Completes the host's calls in the context with this number. Nothing can be outstanding before
 * device set-up. */
void gsh_context_quiet(struct gsh_instance *pe, gsh_context number, const char *call);
/* Completes what this PE and its complete kernels have asked for in any context. The device is set
 * up. */
void gsh_contexts_quiet(struct gsh_instance *pe, const char *call);

#endif
