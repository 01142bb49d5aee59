/* SPDX-License-Identifier: Apache-2.0
 * How much memory a communicator has; the memory always stays. */
#include "dialects/nccl/window/devcomm.h"

ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags)
{
    static const char call[] = "ncclCommSuspend";
    ncclResult_t r = gsh_nccl_need(call, comm);
    return r != ncclSuccess ? r
                            : gsh_nccl_fail(ncclInvalidUsage,
                                            "%s (flags %d): memory of a communicator is symmetric "
                                            "and stays: not supported",
                                            call, flags);
}

ncclResult_t ncclCommResume(ncclComm_t comm)
{
    static const char call[] = "ncclCommResume";
    ncclResult_t r = gsh_nccl_need(call, comm);
    return r != ncclSuccess
               ? r
               : gsh_nccl_fail(ncclInvalidUsage, "%s: the communicator is not suspended", call);
}

ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t *value)
{
    static const char call[] = "ncclCommMemStats";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r != ncclSuccess) {
        return r;
    }
    if (value == NULL || (unsigned)stat > ncclStatGpuMemTotal) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: statistic %d, result %p: not valid", call,
                             (int)stat, (void *)value);
    }
    bool is_all = stat == ncclStatGpuMemPersist || stat == ncclStatGpuMemTotal;
    *value = is_all ? comm->range.bytes + gsh_nccl_own_pieces_bytes(&comm->pieces) +
                          gsh_nccl_devcomms_bytes(comm)
                    : 0;
    return ncclSuccess;
}

void ncclResetDebugInit(void) {}

void ncclResetDebugInitInternal(void) {}
