/* SPDX-License-Identifier: Apache-2.0
 * The standard's environment variables. */
#ifndef GSH_SHMEM_ENVIRONMENT_H
#define GSH_SHMEM_ENVIRONMENT_H

/* Before init: offers gshmem the standard's variables for its own, once per process. Returns 0, or
 * an error after a line that says which variable is wrong. */
int gsh_shmem_environment(void);
/* After init: prints what the variables ask for. */
void gsh_shmem_announce(void);

#endif
