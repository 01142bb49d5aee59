/* SPDX-License-Identifier: Apache-2.0
 * See record.h. */
#include "dialects/nccl/window/record.h"

#include "dialects/nccl/include/nccl_device/window_record.h"
#include "runtime/layer.h"

int gsh_nccl_record_take(struct gsh_nccl_job *job)
{
    int record_index = 0;
    pthread_mutex_lock(&job->lock);
    while (record_index < GSH_NCCL_N_WINDOWS && job->is_window_used[record_index] != 0) {
        record_index++;
    }
    if (record_index < GSH_NCCL_N_WINDOWS) {
        job->is_window_used[record_index] = 1;
    }
    pthread_mutex_unlock(&job->lock);
    return record_index < GSH_NCCL_N_WINDOWS ? record_index : -1;
}

ncclResult_t gsh_nccl_record_none(const char *call)
{
    return gsh_nccl_fail(ncclSystemError, "%s: no room: a rank has at most %d windows", call,
                         GSH_NCCL_N_WINDOWS);
}

uint64_t gsh_nccl_comm_id(struct ncclComm *comm)
{
    static uint64_t latest; /* atomic: threads make communicators */
    if (comm->id == 0) {
        comm->id = __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED);
    }
    return comm->id;
}

void gsh_nccl_record_write(struct ncclComm *comm, int record_index, void *buffer, size_t bytes,
                           int flags)
{
    struct ncclWindow_vidmem record = {
        .local = (uint64_t)(uintptr_t)buffer,
        .lsa_base = (uint64_t)(uintptr_t)buffer - (uint64_t)(comm->lsa_rank * comm->lsa_stride),
        .lsa_rank = comm->lsa_rank,
        .rank = comm->rank,
        .stride_4g = (uint32_t)((uint64_t)comm->lsa_stride >> 32),
        .flags = (uint32_t)flags,
        .lsa_stride = comm->lsa_stride,
        .bytes = bytes,
        .n_segments = 1,
        .lsa_size = comm->lsa_size,
        .owner = gsh_nccl_comm_id(comm),
        .state = comm->job->state,
    };
    gsh_nccl_write(&comm->job->windows[record_index], &record, sizeof(record));
}

void gsh_nccl_record_hide(struct ncclComm *comm, int record_index)
{
    static const uint64_t gone = GSHMEM_NCCL_WINDOW_GONE;
    struct gshmemx_layer_scope scope;
    gsh_nccl_enter(comm->job, &scope);
    gsh_nccl_write(&comm->job->windows[record_index].owner, &gone, sizeof(gone));
    gsh_nccl_leave(&scope);
}

void gsh_nccl_record_give(struct ncclComm *comm, int record_index)
{
    pthread_mutex_lock(&comm->job->lock);
    comm->job->is_window_used[record_index] = 0;
    pthread_mutex_unlock(&comm->job->lock);
}
