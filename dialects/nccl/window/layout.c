/* SPDX-License-Identifier: Apache-2.0
 * See layout.h. */
#include "dialects/nccl/window/layout.h"

#include <stddef.h>
#include <string.h>

/* What follows `rank` in all versions. */
struct begin {
    int32_t rank, n_ranks;
    uint32_t n_ranks_reciprocal;
    int32_t lsa_rank, lsa_size;
    uint32_t lsa_size_reciprocal;
    uint64_t window_table; /* NULL: kernels do not search for windows */
    ncclWindow_t resource_window;
};

_Static_assert(offsetof(struct begin, resource_window) == 32 && sizeof(struct begin) == 40, "");

static const struct gsh_nccl_layout layouts[] = {
    /* 2.28.9 */
    {.requirements_bytes = 56,
     .bytes = 200,
     .rank = 0,
     .resources_base = 48,
     .resources_stride = 64,
     .lsa_barrier = 120},
    /* 2.29.2 */
    {.requirements_bytes = 72,
     .bytes = 200,
     .rank = 0,
     .resources_base = 48,
     .resources_stride = 64,
     .lsa_barrier = 120},
    /* 2.29.7 */
    {.requirements_bytes = 88,
     .bytes = 224,
     .rank = 0,
     .resources_base = 48,
     .resources_stride = 64,
     .lsa_barrier = 120},
    /* 2.30 */
    {.requirements_bytes = 96,
     .bytes = 240,
     .rank = 8,
     .resources_base = 56,
     .resources_stride = 72,
     .lsa_barrier = 128,
     .hybrid_lsa_barrier = 216,
     .has_version = true},
    /* 2.31, 2.32 */
    {.requirements_bytes = 120,
     .bytes = 248,
     .rank = 8,
     .resources_base = 48,
     .resources_stride = 56,
     .lsa_barrier = 80,
     .hybrid_lsa_barrier = 176,
     .has_version = true},
};
enum { N_LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

const struct gsh_nccl_layout *gsh_nccl_layout_find(size_t requirements_bytes)
{
    for (int i = 0; i < N_LAYOUTS; i++) {
        if (layouts[i].requirements_bytes == requirements_bytes) {
            return &layouts[i];
        }
    }
    return NULL;
}

const struct gsh_nccl_layout *gsh_nccl_layout_newest(void)
{
    return &layouts[N_LAYOUTS - 1];
}

/* By which kernels divide: x / n is the high half of x * this, or one more. */
static uint32_t reciprocal(uint32_t n)
{
    return UINT32_MAX / n + ((n & (n - 1)) == 0);
}

void gsh_nccl_layout_write(const struct gsh_nccl_layout *layout, unsigned version,
                           const ncclDevComm *d, void *out)
{
    char *to = out;
    const struct begin begin = {
        .rank = d->rank,
        .n_ranks = d->nRanks,
        .n_ranks_reciprocal = reciprocal((uint32_t)d->nRanks),
        .lsa_rank = d->lsaRank,
        .lsa_size = d->lsaSize,
        .lsa_size_reciprocal = reciprocal((uint32_t)d->lsaSize),
        .resource_window = d->resourceWindow,
    };
    const uint64_t base =
        (uint64_t)(uintptr_t)d->resources - (uint64_t)(d->lsaRank * d->lsa_stride);
    const uint32_t stride_4g = (uint32_t)((uint64_t)d->lsa_stride >> 32);
    memset(to, 0, layout->bytes);
    if (layout->has_version) {
        const unsigned head[2] = {NCCL_API_MAGIC, version};
        memcpy(to, head, sizeof(head));
    }
    memcpy(to + layout->rank, &begin, sizeof(begin));
    memcpy(to + layout->resources_base, &base, sizeof(base));
    memcpy(to + layout->resources_stride, &stride_4g, sizeof(stride_4g));
    memcpy(to + layout->lsa_barrier, &d->lsaBarrier, sizeof(d->lsaBarrier));
    if (layout->hybrid_lsa_barrier != 0) {
        memcpy(to + layout->hybrid_lsa_barrier, &d->hybridLsaBarrier, sizeof(d->hybridLsaBarrier));
    }
}

ncclWindow_t gsh_nccl_layout_window(const struct gsh_nccl_layout *layout, const void *devcomm)
{
    struct begin begin;
    memcpy(&begin, (const char *)devcomm + layout->rank, sizeof(begin));
    return begin.resource_window;
}
