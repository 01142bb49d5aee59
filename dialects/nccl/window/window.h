/* SPDX-License-Identifier: Apache-2.0
 * A communicator's windows, for the rest of the layer. */
#ifndef GSH_NCCL_WINDOW_H
#define GSH_NCCL_WINDOW_H

#include "dialects/nccl/comm/comm.h"

/* comm's window with that handle, or NULL. */
const struct gsh_nccl_window *gsh_nccl_window_find(struct ncclComm *comm, ncclWindow_t win);
/* The symmetric address of these bytes if they lie in a symmetric window, else NULL. buffer may be
 * the user's address or the symmetric one. */
void *gsh_nccl_symmetric(const struct ncclComm *comm, const void *buffer, size_t bytes);
/* marks: of all ranks, in order. If they differ, the call fails on all ranks. */
ncclResult_t gsh_nccl_windows_compare(const char *call, const struct ncclComm *comm,
                                      const uint64_t *marks, size_t bytes_apart);
/* Frees the windows that the program has left registered. Collective. */
void gsh_nccl_windows_free(struct ncclComm *comm);

#endif
