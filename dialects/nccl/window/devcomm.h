/* SPDX-License-Identifier: Apache-2.0
 * Device communicators, for the rest of the layer. */
#ifndef GSH_NCCL_DEVCOMM_H
#define GSH_NCCL_DEVCOMM_H

#include "dialects/nccl/window/layout.h"

enum { GSH_NCCL_MAX_COUNT = 1 << 20 }; /* of any one thing that a device communicator is to have */

static inline bool gsh_nccl_is_count(int n)
{
    return n >= 0 && n <= GSH_NCCL_MAX_COUNT;
}

/* Whether comm is ready, and neither pointer NULL. */
ncclResult_t gsh_nccl_devcomm_need(const char *call, struct ncclComm *comm, const void *reqs,
                                   const void *result);
/* Checks the requirements, which have all fields, and submits the call, which fills in *result by
 * the layout; NULL: this library's, ncclDevComm, whose kernels may ask for help with copies. */
ncclResult_t gsh_nccl_devcomm_create(const char *call, struct ncclComm *comm,
                                     const ncclDevCommRequirements *requirements,
                                     const struct gsh_nccl_layout *layout, void *result);
/* is_foreign: it was made by a layout. */
ncclResult_t gsh_nccl_devcomm_destroy(const char *call, struct ncclComm *comm, const void *devcomm,
                                      bool is_foreign);

/* Frees those that the program has left. Collective. */
void gsh_nccl_devcomms_free(struct ncclComm *comm);
/* The bytes that they use. */
size_t gsh_nccl_devcomms_bytes(const struct ncclComm *comm);

#endif
