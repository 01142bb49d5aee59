/* SPDX-License-Identifier: Apache-2.0
 * Active sets as teams, and what init and finalize have to do for them. */
#ifndef GSH_SHMEM_ACTIVE_SET_H
#define GSH_SHMEM_ACTIVE_SET_H

#include <gshmem.h>

/* The team of the set; made at its first use, by all of its PEs, which are in the same call. Ends
 * the job with one line when there is no such set or this PE is not in it. */
gshmem_team_t gsh_set_team(const char *call, int PE_start, int logPE_stride, int PE_size);

/* After init: collective. Before finalize. */
void gsh_sets_start(void);
void gsh_sets_end(void);
/* This PE's symmetric words, one for each PE, all 0 between calls. */
uint64_t *gsh_set_words(void);

#endif
