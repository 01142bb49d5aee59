/* SPDX-License-Identifier: Apache-2.0
 * Teams, whose config struct differs here, and queue pairs, which are contexts. */
#include <gshmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include "nvshmem.h"

/* The field that both structs share. */
static long config_of(const nvshmem_team_config_t *theirs, long mask, gshmem_team_config_t *ours)
{
    if (theirs == NULL || (mask & NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS) == 0) {
        return 0;
    }
    ours->num_contexts = theirs->num_contexts;
    return GSHMEM_TEAM_NUM_CONTEXTS;
}

int nvshmem_team_split_strided(nvshmem_team_t parent_team, int PE_start, int PE_stride, int PE_size,
                               const nvshmem_team_config_t *config, long config_mask,
                               nvshmem_team_t *new_team)
{
    gshmem_team_config_t ours = {0};
    long mask = config_of(config, config_mask, &ours);
    return gshmem_team_split_strided(parent_team, PE_start, PE_stride, PE_size, &ours, mask,
                                     new_team);
}

int nvshmem_team_split_2d(nvshmem_team_t parent_team, int xrange,
                          const nvshmem_team_config_t *xaxis_config, long xaxis_mask,
                          nvshmem_team_t *xaxis_team, const nvshmem_team_config_t *yaxis_config,
                          long yaxis_mask, nvshmem_team_t *yaxis_team)
{
    gshmem_team_config_t x = {0}, y = {0};
    long x_mask = config_of(xaxis_config, xaxis_mask, &x);
    long y_mask = config_of(yaxis_config, yaxis_mask, &y);
    return gshmem_team_split_2d(parent_team, xrange, &x, x_mask, xaxis_team, &y, y_mask,
                                yaxis_team);
}

void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config)
{
    const nvshmem_team_config_t fresh = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    gshmem_team_config_t ours = {0};
    if (gshmem_team_get_config(team, GSHMEM_TEAM_NUM_CONTEXTS, &ours) == 0) {
        *config = fresh;
        config->num_contexts = ours.num_contexts;
    }
}

int nvshmemx_team_get_uniqueid(nvshmemx_team_uniqueid_t *uniqueid)
{
    return gshmemx_team_get_uniqueid(uniqueid);
}

int nvshmemx_team_init(nvshmem_team_t *team, nvshmem_team_config_t *config, long config_mask,
                       int npes, int pe_idx_in_team)
{
    gshmem_team_config_t ours = {0};
    if (config == NULL || (config_mask & NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID) == 0) {
        fprintf(stderr, "gshmem: error: nvshmemx_team_init: config has no uniqueid; "
                        "nvshmemx_team_get_uniqueid makes one\n");
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    long mask = config_of(config, config_mask, &ours);
    return gshmemx_team_init(config->uniqueid, npes, pe_idx_in_team, &ours, mask, team);
}

/* ---- queue pairs ---- */

/* What remains of a context's handle (wire/state.h) if its team is that of all PEs, in an int above
 * NVSHMEMX_QP_DEFAULT: bits 0-5 its number, 6-19 its entry, 20-30 how often that entry has been
 * reused. -1: it does not fit. device/nvshmem_device.h restores the handle. */
static int queue_pair_of(gshmem_ctx_t ctx)
{
    uint64_t handle = (uint64_t)(uintptr_t)ctx;
    uint64_t number = handle & 255, entry = handle >> 32 & 16383, generation = handle >> 46;
    return number < 64 && generation < 2047 ? (int)(number | entry << 6 | generation << 20) + 2
                                            : -1;
}

int nvshmemx_qp_create(int num_qps, nvshmemx_qp_handle_t **qps)
{
    if (num_qps <= 0 || qps == NULL) {
        fprintf(stderr, "gshmem: error: nvshmemx_qp_create: %s\n",
                qps == NULL ? "qps is NULL" : "num_qps is not positive");
        return NVSHMEMX_ERROR_INVALID_VALUE;
    }
    nvshmemx_qp_handle_t *made = calloc((size_t)num_qps, sizeof(*made));
    gshmem_ctx_t *contexts = calloc((size_t)num_qps, sizeof(*contexts));
    int error = made == NULL || contexts == NULL ? NVSHMEMX_ERROR_OUT_OF_MEMORY : 0;
    int n = 0;
    while (error == 0 && n < num_qps) {
        error = gshmem_ctx_create(0, &contexts[n]);
        if (error == 0) {
            made[n] = queue_pair_of(contexts[n]);
            error = made[n++] == -1 ? NVSHMEMX_ERROR_NOT_SUPPORTED : 0;
        }
    }
    if (error != 0) {
        while (n > 0) {
            gshmem_ctx_destroy(contexts[--n]);
        }
        free(made);
        made = NULL;
    }
    free(contexts);
    if (made != NULL) {
        *qps = made;
    }
    return error;
}
