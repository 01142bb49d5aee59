/* SPDX-License-Identifier: Apache-2.0
 * What a reduction does to elements before and after gshmem combines them. */
#ifndef GSH_NCCL_SCALE_H
#define GSH_NCCL_SCALE_H

#include "dialects/nccl/coll/work.h"

ncclResult_t gsh_nccl_scale(const struct gsh_nccl_work *w, struct gsh_nccl_scale args);
/* Divides elements of the work's type by its operator's scalar, in place. */
ncclResult_t gsh_nccl_divide(const struct gsh_nccl_work *w, void *elements, size_t nelems);

#endif
