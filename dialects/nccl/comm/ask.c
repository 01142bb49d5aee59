/* SPDX-License-Identifier: Apache-2.0
 * What a program can ask of a communicator. */
#include "dialects/nccl/base/copier.h"
#include "dialects/nccl/comm/comm.h"
#include "runtime/layer.h"

static ncclResult_t answer(const char *call, const struct ncclComm *comm, const void *out)
{
    ncclResult_t r = gsh_nccl_need_ready(call, comm);
    return r == ncclSuccess && out == NULL
               ? gsh_nccl_fail(ncclInvalidArgument, "%s: the pointer for the result is NULL", call)
               : r;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    ncclResult_t r = answer("ncclCommCount", comm, count);
    if (r == ncclSuccess) {
        *count = comm->n_ranks;
    }
    return r;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    ncclResult_t r = answer("ncclCommUserRank", comm, rank);
    if (r == ncclSuccess) {
        *rank = comm->rank;
    }
    return r;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    ncclResult_t r = answer("ncclCommCuDevice", comm, device);
    if (r == ncclSuccess) {
        struct gshmemx_layer_scope scope;
        gsh_nccl_enter(comm->job, &scope);
        *device = gshmemx_layer_cuda_device();
        if (*device < 0) { /* the CPU device: a scope selects the rank's, or it is the caller's */
            *device = gshmemx_layer_current_device();
        }
        gsh_nccl_leave(&scope);
    }
    return r;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
{
    static const char call[] = "ncclCommGetAsyncError";
    ncclResult_t r = gsh_nccl_need_live(call, comm);
    if (r == ncclSuccess && asyncError == NULL) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: the pointer for the result is NULL", call);
    }
    if (r == ncclSuccess) {
        /* acquire: pairs with the release in gsh_nccl_comm_end_call */
        *asyncError = (ncclResult_t)__atomic_load_n(&comm->result, __ATOMIC_ACQUIRE);
        /* acquire: pairs with the store in gsh_nccl_comm_make */
        const struct gsh_nccl_job *job = __atomic_load_n(&comm->job, __ATOMIC_ACQUIRE);
        if (*asyncError == ncclSuccess && job != NULL && gsh_nccl_job_is_given_up(job)) {
            *asyncError = job->is_full ? ncclRemoteError : ncclInvalidUsage;
        }
        if (*asyncError == ncclSuccess && job != NULL && !comm->is_revoked &&
            gsh_nccl_comm_misses_rank(comm)) {
            *asyncError = ncclRemoteError;
        }
        if (*asyncError == ncclSuccess && job != NULL &&
            gsh_nccl_copier_error(gsh_nccl_job_copier(job)) != 0) {
            *asyncError = ncclUnhandledCudaError;
        }
        if (*asyncError == ncclSuccess) {
            gsh_nccl_latest_look(call, &comm->latest);
            *asyncError = gsh_nccl_latest_result(&comm->latest);
        }
    }
    return r;
}

/* acquire: pairs with the release in gsh_nccl_comm_end_call; error_text is there */
const char *ncclGetLastError(ncclComm_t comm)
{
    return comm != NULL && gsh_nccl_comm_is_live(comm) && comm->is_nonblocking &&
                   __atomic_load_n(&comm->result, __ATOMIC_ACQUIRE) != ncclInProgress &&
                   comm->error_text != NULL
               ? comm->error_text
               : gsh_nccl_last_text();
}
