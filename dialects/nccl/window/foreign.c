/* SPDX-License-Identifier: Apache-2.0
 * NCCL's own names of the calls whose structs have another layout here. Programs compiled with this
 * library's headers call them by other names (nccl_device/types.h); callers of these were compiled
 * with NCCL's, and get device communicators for its kernels. */
#include <string.h>
#include "dialects/nccl/group/group.h"
#include "dialects/nccl/window/devcomm.h"

ncclResult_t gsh_nccl_foreign_create(ncclComm_t comm, const void *reqs,
                                     void *result) __asm__("ncclDevCommCreate");
ncclResult_t gsh_nccl_foreign_destroy(ncclComm_t comm,
                                      const void *devcomm) __asm__("ncclDevCommDestroy");

/* How requirements begin from 2.29.2 on. */
struct begin {
    size_t size;
    unsigned magic, version;
};

enum { FIRST_VERSION = 22809 };

_Static_assert(sizeof(ncclDevCommRequirements) == 120, "NCCL 2.32's requirements");

/* The requirements with all fields. Before 2.29.2 they begin with their lists: a list's place in
 * memory never has the magic for its low half, since that is odd. */
static const struct gsh_nccl_layout *read_requirements(const void *reqs,
                                                       ncclDevCommRequirements *whole)
{
    const size_t lists = offsetof(ncclDevCommRequirements, resourceRequirementsList);
    const struct gsh_nccl_layout *layout;
    struct begin begin;
    memcpy(&begin, reqs, sizeof(begin));
    *whole = (ncclDevCommRequirements){0};
    if (begin.magic != NCCL_API_MAGIC) {
        layout = gsh_nccl_layout_find(offsetof(ncclDevCommRequirements, ginConnectionType) - lists);
        memcpy((char *)whole + lists, reqs, layout->requirements_bytes);
        whole->version = FIRST_VERSION;
        return layout;
    }
    layout = gsh_nccl_layout_find(begin.size);
    if (layout != NULL) {
        memcpy(whole, reqs, layout->requirements_bytes);
    } else {
        memcpy(whole, &begin, sizeof(begin));
    }
    return layout;
}

/* What these requirements ask of GIN; NULL: nothing. A rail of one rank, as each is if all ranks
 * reach each other, has barriers without any word: a kernel's loop over its other ranks is empty.
 */
static const char *gin_field(const struct ncclComm *comm, const ncclDevCommRequirements *q)
{
    const bool are_rails_of_one = comm->lsa_size == comm->n_ranks;
    for (const ncclDevResourceRequirements *r = q->resourceRequirementsList; r != NULL;
         r = r->next) {
        if (r->ginSignalCount != 0 || r->ginCounterCount != 0) {
            return "resourceRequirementsList";
        }
    }
    return q->ginForceEnable                                  ? "ginForceEnable"
           : q->barrierCount != 0                             ? "barrierCount"
           : q->railGinBarrierCount != 0 && !are_rails_of_one ? "railGinBarrierCount"
           : q->worldGinBarrierCount != 0                     ? "worldGinBarrierCount"
           : q->ginSignalCount != 0                           ? "ginSignalCount"
           : q->ginCounterCount != 0                          ? "ginCounterCount"
           : q->ginConnectionType != NCCL_GIN_CONNECTION_NONE ? "ginConnectionType"
                                                              : NULL;
}

static ncclResult_t check(const char *call, const struct ncclComm *comm,
                          const struct gsh_nccl_layout *layout, const ncclDevCommRequirements *q)
{
    if (layout == NULL) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: requirements of %zu bytes, version %u: the program was compiled "
                             "with headers of NCCL that this library does not know",
                             call, q->size, q->version);
    }
    const char *field = gin_field(comm, q);
    if (field != NULL) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: %s: the program was compiled with NCCL's device headers, whose "
                             "GIN needs NCCL's library: kernels are compiled anew with gshmem's",
                             call, field);
    }
    if (((uint64_t)comm->lsa_stride & UINT32_MAX) != 0) {
        return gsh_nccl_fail(ncclInvalidUsage,
                             "%s: kernels compiled with NCCL's device headers need heaps that are "
                             "multiples of 4 GiB apart: set GSHMEM_HEAP_RANGE to one",
                             call);
    }
    return ncclSuccess;
}

__attribute__((visibility("default"))) ncclResult_t
gsh_nccl_foreign_create(ncclComm_t comm, const void *reqs, void *result)
{
    static const char call[] = "ncclDevCommCreate";
    ncclDevCommRequirements whole;
    ncclResult_t r = gsh_nccl_devcomm_need(call, comm, reqs, result);
    if (r != ncclSuccess) {
        return gsh_nccl_refuse(r);
    }
    const struct gsh_nccl_layout *layout = read_requirements(reqs, &whole);
    r = check(call, comm, layout, &whole);
    return r == ncclSuccess ? gsh_nccl_devcomm_create(call, comm, &whole, layout, result)
                            : gsh_nccl_refuse(r);
}

__attribute__((visibility("default"))) ncclResult_t gsh_nccl_foreign_destroy(ncclComm_t comm,
                                                                             const void *devcomm)
{
    static const char call[] = "ncclDevCommDestroy";
    ncclResult_t r = gsh_nccl_need(call, comm);
    if (r == ncclSuccess && devcomm == NULL) {
        r = gsh_nccl_fail(ncclInvalidArgument, "%s: %p is not a device communicator", call,
                          devcomm);
    }
    return r == ncclSuccess ? gsh_nccl_devcomm_destroy(call, comm, devcomm, true) : r;
}
