/* SPDX-License-Identifier: Apache-2.0
 * A model of a group's time, from this rank's view and without the other ranks: a call costs its
 * launch, plus its bytes at the rate of the communicator's slowest link. A group's sends and
 * receives share one launch, and both directions run at once. Passing through scratch, other use of
 * the links and waiting for other ranks are ignored. */
#include "dialects/nccl/group/simulate.h"

#include <string.h>
#include "gshmemx.h"

/* From one call to the next on a stream; the GPU's value is from
 * perftest/results/2026-11-23-h200-nccl-layer.md. */
#define GPU_LAUNCH_US 3.6
#define CPU_LAUNCH_US 20.0

/* NCCL's value, set by NCCL_SIM_INFO_INITIALIZER. */
#define SIM_INFO_MAGIC 0x74685283u

/* By gshmemx_route_name, fastest first: bytes per microsecond in one direction. same gpu: a copy in
 * an H200's memory; nvlink: long collectives between H200s; pcie: generation 4, 16 lanes; ucx: a
 * 200 Gb/s card; the others: a copy by one thread. */
static const struct {
    const char *route;
    double rate;
} rates[] = {
    {"same gpu", 2000e3}, {"nvlink", 350e3}, {"pcie", 25e3}, {"ucx", 25e3},
    {"memory", 5e3},      {"thread", 5e3},   {"loop", 1e3},
};

static double rate_of(const char *route)
{
    for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
        if (route != NULL && strcmp(rates[i].route, route) == 0) {
            return rates[i].rate;
        }
    }
    return rates[0].rate;
}

static double slowest_rate(const struct ncclComm *comm)
{
    double slowest = rates[0].rate;
    for (int i = 0; i < comm->n_ranks; i++) {
        double rate = rate_of(gshmemx_route_name(comm->pe_of[i]));
        slowest = i != comm->rank && rate < slowest ? rate : slowest;
    }
    return slowest;
}

static double launch_us(void)
{
    const char *device = gshmemx_device_name();
    return device == NULL || strcmp(device, "cpu") == 0 ? CPU_LAUNCH_US : GPU_LAUNCH_US;
}

void gsh_nccl_estimate_add(struct gsh_nccl_estimate *e, const struct gsh_nccl_call *call)
{
    if (call->load_of == NULL) {
        return;
    }
    const struct gsh_nccl_load load = call->load_of(call);
    double rate = slowest_rate(call->comm);
    if (load.kind == GSH_NCCL_LOAD_CALL) {
        e->calls_us += launch_us() + (double)load.out_bytes / rate;
        return;
    }
    e->has_transfers = true;
    e->sending_us += (double)load.out_bytes / rate;
    e->receiving_us += (double)load.in_bytes / rate;
}

double gsh_nccl_estimate_us(const struct gsh_nccl_estimate *e)
{
    double longer = e->sending_us > e->receiving_us ? e->sending_us : e->receiving_us;
    return e->calls_us + (e->has_transfers ? launch_us() + longer : 0);
}

ncclResult_t gsh_nccl_sim_info_check(const char *call, const ncclSimInfo_t *info)
{
    if (info == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "%s: simInfo is NULL", call);
    }
    if (info->size < sizeof(*info) || info->magic != SIM_INFO_MAGIC || info->version < 22200) {
        return gsh_nccl_fail(ncclInvalidArgument,
                             "%s: the info (size %zu, magic 0x%x, version %u) was not made by "
                             "NCCL_SIM_INFO_INITIALIZER",
                             call, info->size, info->magic, info->version);
    }
    return ncclSuccess;
}
