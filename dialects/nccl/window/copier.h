/* SPDX-License-Identifier: Apache-2.0
 * A thread that gives the large puts of a device communicator's GIN to the copy engines
 * (../include/nccl_device/copy_ring.h). */
#ifndef GSH_NCCL_COPIER_H
#define GSH_NCCL_COPIER_H

#include "dialects/nccl/base/job.h"
#include "dialects/nccl/include/nccl_device/copy_ring.h"

struct gsh_nccl_copier;

/* The job is entered. NULL: there is no thread or memory for it, and puts copy by themselves. It
 * ends by itself once the job is given up. */
struct gsh_nccl_copier *gsh_nccl_copier_create(struct gsh_nccl_job *job);
/* Both accept NULL. stop: the thread ends; kernels that have not left yet may still look at the
 * ring. end: frees it, too; no kernel uses it any more. */
void gsh_nccl_copier_stop(struct gsh_nccl_copier *copier);
void gsh_nccl_copier_end(struct gsh_nccl_copier *copier);
/* For kernels. */
struct gsh_nccl_copy_ring *gsh_nccl_copier_ring(const struct gsh_nccl_copier *copier);
uint64_t *gsh_nccl_copier_head(const struct gsh_nccl_copier *copier);

#endif
