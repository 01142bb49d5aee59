/* SPDX-License-Identifier: Apache-2.0
 * What the files of this library share. */
#ifndef GSH_NVSHMEM_INTERNAL_H
#define GSH_NVSHMEM_INTERNAL_H

/* Takes the variables NVSHMEM_... over, once: before whatever reads gshmem's. */
void gsh_nvshmem_environment(void);

#endif
