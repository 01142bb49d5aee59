/* SPDX-License-Identifier: Apache-2.0
 * NCCL's own names of the calls whose structs have another layout here. Programs compiled with this
 * library's headers call them by other names (nccl_device/types.h, which this file therefore does
 * not include); callers of these were compiled with NCCL's. */
#include "dialects/nccl/base/error.h"

ncclResult_t ncclDevCommCreate(ncclComm_t comm, const void *reqs, void *outDevComm);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const void *devComm);

static ncclResult_t refuse_foreign(const char *call)
{
    return gsh_nccl_fail(ncclInvalidUsage,
                         "%s: the program was compiled with NCCL's device headers: kernels are "
                         "compiled anew with gshmem's",
                         call);
}

__attribute__((visibility("default"))) ncclResult_t
ncclDevCommCreate(ncclComm_t comm, const void *reqs, void *outDevComm)
{
    (void)comm, (void)reqs, (void)outDevComm;
    return refuse_foreign("ncclDevCommCreate");
}

__attribute__((visibility("default"))) ncclResult_t ncclDevCommDestroy(ncclComm_t comm,
                                                                       const void *devComm)
{
    (void)comm, (void)devComm;
    return refuse_foreign("ncclDevCommDestroy");
}
