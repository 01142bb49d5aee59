/* SPDX-License-Identifier: Apache-2.0
 * Proves that an id's ranks have what joins GIN's large puts from their first device communicator
 * with signals or counters on, and not before; and that, if one rank cannot have it, the device
 * communicator is made all the same, on all ranks without it. Two ranks on the CPU device. */
#define _GNU_SOURCE 1
#include <nccl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "cpu/cpu.h"
#include "dialects/nccl/comm/comm.h"
#include "dialects/nccl/include/nccl_device/types.h"
#include "tests/test.h"

enum { N = 2, COUNT = 1000 };

/* This thread gets no pinned memory. */
static _Thread_local bool is_refused;

/* In the place of the library's own: every allocation passes here. */
int gshmemx_cpu_memory_given(const void *p, int kind)
{
    if (is_refused && kind == GSH_CPU_MEMORY_HOST) {
        return GSH_CPU_OK + 1;
    }
    int (*given)(const void *, int);
    *(void **)&given = dlsym(RTLD_NEXT, "gshmemx_cpu_memory_given");
    return given(p, kind);
}

static void need(ncclResult_t r, const char *what)
{
    if (!CHECK_EQ(r, ncclSuccess)) {
        fprintf(stderr, "%s: %s\n", what, ncclGetLastError(NULL));
        exit(1);
    }
}
#define NEED(call) need((call), #call)

/* Each rank is a thread. */
struct part {
    ncclUniqueId id;
    int rank;
    pthread_t thread;
};

static void create(ncclComm_t comm, int n_signals, bool has_copies)
{
    ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    ncclDevComm dev;
    q.lsaBarrierCount = 1;
    q.ginSignalCount = n_signals;
    NEED(ncclDevCommCreate(comm, &q, &dev));
    CHECK((dev.copies != NULL) == has_copies);
    CHECK((dev.copies_asked != NULL) == has_copies);
    NEED(ncclDevCommDestroy(comm, &dev));
}

static void *run(void *arg)
{
    const struct part *p = arg;
    static float numbers[N][COUNT];
    float *const own = numbers[p->rank];
    ncclComm_t comm;
    NEED(ncclCommInitRank(&comm, N, p->id, p->rank));
    NEED(ncclAllReduce(own, own, COUNT, ncclFloat, ncclSum, comm, NULL));
    create(comm, 0, false);
    CHECK(comm->job->copier == NULL);
    is_refused = p->rank == 1;
    create(comm, 4, false);
    CHECK((comm->job->copier != NULL) == !is_refused);
    is_refused = false;
    create(comm, 4, true);
    const struct gsh_nccl_copier *first = comm->job->copier;
    CHECK(first != NULL);
    create(comm, 4, true);
    CHECK(comm->job->copier == first);
    NEED(ncclCommDestroy(comm));
    return NULL;
}

int main(void)
{
    struct part parts[N];
    ncclUniqueId id;
    setenv("GSHMEM_DEVICE", "cpu", 1);
    NEED(ncclGetUniqueId(&id));
    for (int i = 0; i < N; i++) {
        parts[i] = (struct part){.id = id, .rank = i};
        CHECK_EQ(pthread_create(&parts[i].thread, NULL, run, &parts[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(parts[i].thread, NULL);
    }
    return test_result();
}
