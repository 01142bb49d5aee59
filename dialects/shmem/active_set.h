/* SPDX-License-Identifier: Apache-2.0
 * The PEs of an active set as a team, kept from their first call on; and what calls with one check.
 */
#ifndef GSH_ACTIVE_SET_H
#define GSH_ACTIVE_SET_H

#include <gshmem.h>

struct gsh_set_call {
    const char *name;
    long *sync; /* the caller's pSync, of as many bytes as it has to have */
    size_t sync_bytes;
};

/* The set's team, made by all of its PEs in their first call with it. Bad arguments end the job; in
 * checking builds a pSync that is too small, too. */
gshmem_team_t gsh_set_enter(const struct gsh_set_call *c, int PE_start, int logPE_stride,
                            int PE_size);
/* An error of the team's call ends the job. */
void gsh_set_leave(const struct gsh_set_call *c, int error);
/* The same for a number of elements below 0. */
size_t gsh_set_nelems(const struct gsh_set_call *c, int nreduce);

void gsh_sets_end(void); /* before finalize */

#endif
