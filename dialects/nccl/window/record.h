/* SPDX-License-Identifier: Apache-2.0
 * The records of windows, where kernels find them: of all communicators of a PE in one array of its
 * symmetric memory. Any thread may call these; only one at a time for the same window. */
#ifndef GSH_NCCL_RECORD_H
#define GSH_NCCL_RECORD_H

#include "dialects/nccl/comm/comm.h"

/* Reserves a record, and returns its record_index; -1: all are in use. */
int gsh_nccl_record_take(struct gsh_nccl_job *job);
/* The error of a call that gets none. */
ncclResult_t gsh_nccl_record_none(const char *call);
/* Fills it in: kernels find the window from now on. The PE is entered. */
void gsh_nccl_record_write(struct ncclComm *comm, int record_index, void *buffer, size_t bytes,
                           int flags);
/* Kernels find that the window is gone. Then it is given back. */
void gsh_nccl_record_hide(struct ncclComm *comm, int record_index);
void gsh_nccl_record_give(struct ncclComm *comm, int record_index);
/* By which kernels know the communicator's windows. */
uint64_t gsh_nccl_comm_id(struct ncclComm *comm);

#endif
