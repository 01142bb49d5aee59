/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of this library. */
#ifndef GSH_NVSHMEM_INTERNAL_H
#define GSH_NVSHMEM_INTERNAL_H

/* Applies the NVSHMEM_... variables, once: before anything reads gshmem's. */
void gsh_nvshmem_environment(void);

#endif
