/* SPDX-License-Identifier: Apache-2.0
 * A thread that launches the kernel which joins the large puts of a device communicator's GIN
 * (../include/nccl_device/copy_slots.h). */
#ifndef GSH_NCCL_COPIER_H
#define GSH_NCCL_COPIER_H

#include "dialects/nccl/base/job.h"
#include "dialects/nccl/include/nccl_device/copy_slots.h"

struct gsh_nccl_copier;

/* The job is entered. NULL: there is no thread or memory for it, and puts copy by themselves. It
 * ends by itself once the job is given up. */
struct gsh_nccl_copier *gsh_nccl_copier_create(struct gsh_nccl_job *job);
/* Both accept NULL. stop: the thread ends; kernels that have not left yet may still look at the
 * slots. end: frees them, too; no kernel uses them any more. */
void gsh_nccl_copier_stop(struct gsh_nccl_copier *copier);
void gsh_nccl_copier_end(struct gsh_nccl_copier *copier);
/* For kernels. */
struct gsh_nccl_copy_slots *gsh_nccl_copier_slots(const struct gsh_nccl_copier *copier);
uint64_t *gsh_nccl_copier_asked(const struct gsh_nccl_copier *copier);

#endif
