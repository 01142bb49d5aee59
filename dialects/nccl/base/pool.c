/* SPDX-License-Identifier: Apache-2.0
 * See pool.h. */
#include "dialects/nccl/base/pool.h"

#include <stdlib.h>
#include <string.h>
#include "dialects/nccl/base/error.h"
#include "gshmem.h"
#include "runtime/layer.h"

/* Grown ranges are whole units, the least that can be mapped of a GPU's memory. */
enum { GROWN_UNIT = 2 << 20, MAX_GROWN_TOLD = 64 };

struct gsh_nccl_grown {
    struct gsh_nccl_grown *next;
    struct gsh_nccl_range range;
    bool is_retired;
};

/* ---- granules ---- */

static bool is_free(const uint64_t *map, size_t granule)
{
    return (map[granule / 64] >> (granule % 64) & 1) != 0;
}

/* The first n free granules in a row; GSH_NCCL_N_GRANULES: none. */
static size_t first_fit(const uint64_t *map, size_t n)
{
    size_t run = 0;
    for (size_t i = 0; i < GSH_NCCL_N_GRANULES; i++) {
        run = is_free(map, i) ? run + 1 : 0;
        if (run == n) {
            return i + 1 - n;
        }
    }
    return GSH_NCCL_N_GRANULES;
}

static size_t count_free(const uint64_t *map)
{
    size_t n = 0;
    for (size_t i = 0; i < GSH_NCCL_N_GRANULES; i++) {
        n += is_free(map, i);
    }
    return n;
}

static size_t granules_of(size_t bytes)
{
    return (bytes + GSH_NCCL_GRANULE_BYTES - 1) / GSH_NCCL_GRANULE_BYTES;
}

/* How many granules one request gets, so that some are left for later ones: a quarter of the free
 * ones, or fewer once less than half of all are free. */
static size_t fair_share(size_t n_free)
{
    return n_free / 4 * gsh_nccl_smaller(n_free, GSH_NCCL_N_GRANULES / 2) /
           (GSH_NCCL_N_GRANULES / 2);
}

static void mark(uint64_t *map, size_t first, size_t n, bool is_to_be_free)
{
    for (size_t i = first; i < first + n; i++) {
        uint64_t bit = (uint64_t)1 << (i % 64);
        map[i / 64] = (map[i / 64] & ~bit) | (is_to_be_free ? bit : 0);
    }
}

/* ---- the fixed part ---- */

static void mark_taken(struct gsh_nccl_job *job, struct gsh_nccl_holding *holding, size_t first,
                       size_t n)
{
    pthread_mutex_lock(&job->lock);
    mark(job->free_map, first, n, false);
    pthread_mutex_unlock(&job->lock);
    mark(holding->retired, first, n, false);
}

/* Takes at least `least` granules and at most a fair share, of those free on all members. */
static bool take_granules(struct gsh_nccl_job *job, struct gsh_nccl_holding *holding,
                          const uint64_t *map, size_t least, size_t most,
                          struct gsh_nccl_range *range)
{
    size_t n = gsh_nccl_smaller(most, fair_share(count_free(map)));
    for (;; n /= 2) {
        n = n < least ? least : n;
        size_t first = first_fit(map, n);
        if (first < GSH_NCCL_N_GRANULES) {
            mark_taken(job, holding, first, n);
            *range =
                (struct gsh_nccl_range){.base = job->fixed_part + first * GSH_NCCL_GRANULE_BYTES,
                                        .bytes = n * GSH_NCCL_GRANULE_BYTES};
            return true;
        }
        if (n == least) {
            return false;
        }
    }
}

/* ---- growing ---- */

/* Bit i: the i-th grown range is retired on this PE. */
static uint64_t retired_here(const struct gsh_nccl_holding *holding)
{
    uint64_t bits = 0;
    int i = 0;
    for (const struct gsh_nccl_grown *g = holding->grown; g != NULL && i < MAX_GROWN_TOLD;
         g = g->next, i++) {
        bits |= (uint64_t)g->is_retired << i;
    }
    return bits;
}

/* Takes one that all members have retired. */
static bool take_grown(struct gsh_nccl_holding *holding, uint64_t retired, size_t least,
                       struct gsh_nccl_range *range)
{
    int i = 0;
    for (struct gsh_nccl_grown *g = holding->grown; g != NULL && i < MAX_GROWN_TOLD;
         g = g->next, i++) {
        if ((retired >> i & 1) != 0 && g->range.bytes >= least) {
            g->is_retired = false;
            *range = g->range;
            return true;
        }
    }
    return false;
}

/* Registered memory stays when the memory is freed, so only the symmetric address is kept. A member
 * that got no memory takes part, too; then all fail. */
static ncclResult_t grow(const char *call, size_t fixed_part_bytes, gshmem_team_t team,
                         struct gsh_nccl_holding *holding, size_t bytes,
                         struct gsh_nccl_range *range)
{
    void *memory = NULL, *symmetric = NULL;
    struct gsh_nccl_grown *g = calloc(1, sizeof(*g));
    bytes = (bytes + GROWN_UNIT - 1) / GROWN_UNIT * GROWN_UNIT;
    if (g != NULL && gshmemx_layer_alloc(call, bytes, &memory) != 0) {
        memory = NULL;
    }
    int error = gshmemx_layer_register(call, team, memory, bytes, &symmetric);
    if (memory != NULL) {
        (void)gshmemx_layer_free(call, memory);
    }
    if (error != 0) {
        free(g);
        return gsh_nccl_fail(ncclSystemError,
                             "%s: of the %zu bytes that communicators and device communicators "
                             "share, %zu are not free in a row, and a rank could not get or share "
                             "more",
                             call, fixed_part_bytes, bytes);
    }
    *range = (struct gsh_nccl_range){.base = symmetric, .bytes = bytes};
    *g = (struct gsh_nccl_grown){.next = holding->grown, .range = *range};
    holding->grown = g;
    return ncclSuccess;
}

/* ---- taking and giving back ---- */

/* What all members have free or retired. */
static ncclResult_t compare_offers(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                                   const struct gsh_nccl_holding *holding, uint64_t *offer)
{
    pthread_mutex_lock(&job->lock);
    memcpy(offer, job->free_map, sizeof(job->free_map));
    pthread_mutex_unlock(&job->lock);
    for (size_t i = 0; i < GSH_NCCL_MAP_WORDS; i++) {
        offer[i] |= holding->retired[i];
    }
    offer[GSH_NCCL_MAP_WORDS] = retired_here(holding);
    ncclResult_t r = gsh_nccl_intersect(call, job, team, offer, GSH_NCCL_OFFER_WORDS);
    /* What kernels of other members have written into the range for its last user comes before what
     * its new user writes. */
    return r == ncclSuccess ? gsh_nccl_barrier(call, job, team) : r;
}

ncclResult_t gsh_nccl_take(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                           struct gsh_nccl_holding *holding, const struct gsh_nccl_wanted *wanted,
                           struct gsh_nccl_range *range)
{
    uint64_t offer[GSH_NCCL_OFFER_WORDS];
    ncclResult_t r = compare_offers(call, job, team, holding, offer);
    if (r != ncclSuccess ||
        take_granules(job, holding, offer, granules_of(wanted->least), granules_of(wanted->most),
                      range) ||
        take_grown(holding, offer[GSH_NCCL_MAP_WORDS], wanted->least, range)) {
        return r;
    }
    r = grow(call, job->fixed_part_bytes, team, holding, wanted->least, range);
    return gsh_nccl_check_lives(call, job, team) != ncclSuccess ? ncclRemoteError : r;
}

void gsh_nccl_retire(const struct gsh_nccl_job *job, struct gsh_nccl_holding *holding,
                     struct gsh_nccl_range range)
{
    struct gsh_nccl_grown *g = holding->grown;
    while (g != NULL && g->range.base != range.base) {
        g = g->next;
    }
    if (g != NULL) {
        g->is_retired = true;
    } else if (range.base != NULL) {
        size_t off = (size_t)(range.base - job->fixed_part);
        mark(holding->retired, off / GSH_NCCL_GRANULE_BYTES, granules_of(range.bytes), true);
    }
}

void gsh_nccl_give_back(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                        struct gsh_nccl_holding *holding)
{
    while (holding->grown != NULL) {
        struct gsh_nccl_grown *g = holding->grown;
        holding->grown = g->next;
        (void)gshmemx_layer_unregister(call, team, g->range.base, g->range.bytes);
        free(g);
    }
    pthread_mutex_lock(&job->lock);
    for (size_t i = 0; i < GSH_NCCL_MAP_WORDS; i++) {
        job->free_map[i] |= holding->retired[i];
        holding->retired[i] = 0;
    }
    pthread_mutex_unlock(&job->lock);
}
