/* SPDX-License-Identifier: Apache-2.0
 * The environment variables of the standard. */
#ifndef GSH_SHMEM_ENVIRONMENT_H
#define GSH_SHMEM_ENVIRONMENT_H

/* Before init: sets gshmem's variables by the standard's, once in a process. 0, or an error with a
 * line that says which variable is wrong. */
int gsh_shmem_environment(void);
/* After init: what the variables want printed. */
void gsh_shmem_announce(void);

#endif
