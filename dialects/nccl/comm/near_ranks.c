/* SPDX-License-Identifier: Apache-2.0
 * Placement of a communicator's ranks and memory: which ranks are near, and its range of the pool.
 */
#include <stdlib.h>
#include "dialects/nccl/comm/comm.h"
#include "dialects/nccl/comm/launch.h"
#include "gshmem.h"

enum {
    NEED_BYTES = 4 << 20,         /* of a range of few ranks: each communicator has that much, */
    NEED_SCRATCH_BYTES = 2 << 20, /* of it for scratch, less if it needs no scratch */
    MOST_BYTES = 16 << 20, /* of a range, where memory is plentiful, or two ranks are early */
    FAR_SCRATCH_PART = 2,  /* of what the words leave, if there are far ranks */
    SCRATCH_PIECE_BYTES = 16 << 10, /* of each rank, two at least */
    RING_SLOTS = 4,
    MIN_SLOT_BYTES = 4 << 10,
    STRIPED_SLOT_BYTES = 8 << 10, /* at least, for rings with several channels */
    MAX_SLOT_BYTES = 64 << 10,    /* longer pieces move no faster */
    TEAM_PART = 16,               /* of the range, the team's buffers have one part in so many */
};

/* ---- which ranks are near ---- */

static int64_t distance_to(const struct ncclComm *comm, int rank, bool *is_near)
{
    char *there = gshmem_ptr(comm->job->segment, comm->pe_of[rank]);
    *is_near = there != NULL;
    return (int64_t)((intptr_t)there - (intptr_t)comm->job->segment);
}

static int greatest_divisor(int a, int b)
{
    while (b != 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Whether ranks begin .. begin + n - 1 are evenly spaced here: *stride apart. */
static bool is_regular(const struct ncclComm *comm, int begin, int n, int64_t *stride)
{
    bool is_near;
    *stride =
        n > 1 ? distance_to(comm, begin + 1, &is_near) - distance_to(comm, begin, &is_near) : 0;
    for (int i = begin; i + 1 < begin + n; i++) {
        if (distance_to(comm, i + 1, &is_near) - distance_to(comm, i, &is_near) != *stride) {
            return false;
        }
    }
    return true;
}

ncclResult_t gsh_nccl_find_lsa(const char *call, struct ncclComm *comm)
{
    struct run {
        int32_t begin, n;
    } own = {comm->rank, 1};
    bool is_near = true;
    while (own.begin > 0 && (distance_to(comm, own.begin - 1, &is_near), is_near)) {
        own.begin--;
        own.n++;
    }
    while (own.begin + own.n < comm->n_ranks &&
           (distance_to(comm, own.begin + own.n, &is_near), is_near)) {
        own.n++;
    }
    struct run *all = malloc((size_t)comm->n_ranks * sizeof(*all));
    if (all == NULL) {
        return gsh_nccl_fail(ncclSystemError, "%s: no memory", call);
    }
    ncclResult_t r = gsh_nccl_exchange(call, comm->job, comm->control_team, &own, all, sizeof(own));
    int size = comm->n_ranks;
    for (int i = 0; r == ncclSuccess && i < comm->n_ranks; i++) {
        bool is_run = all[i].begin >= 0 && all[i].begin < comm->n_ranks && all[i].n > 0;
        size = is_run ? greatest_divisor(greatest_divisor(size, all[i].n), all[i].begin) : 1;
    }
    struct run verdict = {0, 1};
    if (r == ncclSuccess) {
        verdict.n = is_regular(comm, comm->rank / size * size, size, &comm->lsa_stride);
        r = gsh_nccl_exchange(call, comm->job, comm->control_team, &verdict, all, sizeof(verdict));
    }
    for (int i = 0; r == ncclSuccess && i < comm->n_ranks; i++) {
        size = all[i].n != 0 ? size : 1;
    }
    comm->lsa_size = size;
    comm->lsa_rank = comm->rank % size;
    free(all);
    return r;
}

/* ---- the range of the pool ---- */

static size_t align_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t lines_bytes(size_t n_ranks, size_t n_channels)
{
    return n_channels * n_ranks * RING_SLOTS * GSH_NCCL_LINES_BYTES;
}

/* The words, with the lines for small sends before them: the part that is cleared. */
static size_t words_bytes(size_t n_ranks, size_t n_channels)
{
    const size_t words_of_rank = (RING_SLOTS + 3) * n_channels + 2 + GSH_NCCL_CHECK_FIELDS;
    const size_t more_words = GSH_NCCL_NOTE_WORDS + GSH_NCCL_CHECK_FIELDS;
    const size_t words = n_ranks * words_of_rank + more_words;
    return lines_bytes(n_ranks, n_channels) +
           align_up(words * sizeof(uint64_t) + n_ranks * sizeof(int32_t), 512);
}

/* At the range's end. */
static size_t team_bytes(const struct ncclComm *comm)
{
    return comm->team == GSHMEM_TEAM_WORLD ? 0 : comm->range.bytes / TEAM_PART / 128 * 128;
}

void *gsh_nccl_team_buffers(const struct ncclComm *comm, size_t *bytes)
{
    *bytes = team_bytes(comm);
    return comm->range.base + comm->range.bytes - *bytes;
}

static size_t rings_bytes(size_t n_ranks, size_t n_channels, size_t slot_bytes)
{
    return align_up(n_ranks * n_channels * RING_SLOTS * slot_bytes, GSH_NCCL_PIECE_UNIT);
}

static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The team of all PEs may have an inbox of its own. */
static bool has_own_inbox(const struct ncclComm *comm)
{
    return comm->team == GSHMEM_TEAM_WORLD && gshmemx_layer_has_colls(comm->team, NULL);
}

/* What each communicator has of scratch, at least. */
static size_t scratch_bytes(const struct ncclComm *comm)
{
    const size_t n_ranks = (size_t)comm->n_ranks;
    if (has_own_inbox(comm)) {
        return 0;
    }
    return align_up(
        greater(gshmemx_layer_inbox_bytes((int)n_ranks), 2 * n_ranks * SCRATCH_PIECE_BYTES),
        GSH_NCCL_PIECE_UNIT);
}

/* The whole range, with the team's part, that the communicator needs. */
static size_t needed_bytes(const struct ncclComm *comm)
{
    const size_t n_ranks = (size_t)comm->n_ranks, usual = NEED_BYTES - NEED_SCRATCH_BYTES;
    const size_t scratch = scratch_bytes(comm);
    size_t bytes = words_bytes(n_ranks, 1) + rings_bytes(n_ranks, 1, MIN_SLOT_BYTES) + scratch;
    return greater(usual + gsh_nccl_smaller(scratch, NEED_SCRATCH_BYTES),
                   bytes + align_up(bytes / (TEAM_PART - 1), 128) + 128);
}

/* Of the space that the words leave, the scratch gets what it needs, and the rings get the rest.
 * With far ranks, whose collectives take several steps in scratch, it gets as much as the rings. */
static void lay_range(struct ncclComm *comm)
{
    size_t n = (size_t)comm->n_ranks, n_channels = gsh_nccl_kernels()->rings.n_channels, room, slot;
    for (;; n_channels /= 2) {
        room = comm->range.bytes - team_bytes(comm) - words_bytes(n, n_channels);
        size_t scratch = scratch_bytes(comm);
        if (comm->lsa_size < comm->n_ranks) {
            scratch = greater(scratch, room / FAR_SCRATCH_PART);
        }
        slot = (room - scratch) / (n * n_channels * RING_SLOTS) / 16 * 16;
        slot = gsh_nccl_smaller(slot, MAX_SLOT_BYTES);
        if (n_channels == 1 ||
            (slot >= STRIPED_SLOT_BYTES && words_bytes(n, n_channels) < comm->range.bytes / 4)) {
            break;
        }
    }
    char *base = comm->range.base;
    struct gsh_nccl_rings *rings = &comm->rings;
    *rings = (struct gsh_nccl_rings){
        .lines = base,
        .arrived = (uint64_t *)(base + lines_bytes(n, n_channels)),
        .slots = base + words_bytes(n, n_channels),
        .slot_bytes = (uint32_t)slot,
        .n_slots = RING_SLOTS,
        .rank = comm->rank,
        .n_ranks = comm->n_ranks,
        .n_channels = (uint32_t)n_channels,
        .channel_bytes = gsh_nccl_kernels()->rings.channel_bytes,
    };
    size_t n_words = n * n_channels;
    rings->freed = rings->arrived + n_words * RING_SLOTS;
    rings->sent = rings->freed + n_words;
    rings->taken = rings->sent + n_words;
    comm->signals = rings->taken + n_words;
    comm->awaited = comm->signals + n;
    comm->note = comm->awaited + n;
    comm->check_words = comm->note + GSH_NCCL_NOTE_WORDS;
    rings->pe_of = (int32_t *)(comm->check_words + (n + 1) * GSH_NCCL_CHECK_FIELDS);
    size_t slots_bytes = rings_bytes(n, n_channels, rings->slot_bytes);
    comm->scratch = rings->slots + slots_bytes;
    comm->scratch_bytes = room - slots_bytes;
    comm->inbox = (struct gshmemx_layer_inbox){comm->scratch, scratch_bytes(comm)};
}

ncclResult_t gsh_nccl_take_range(const char *call, struct ncclComm *comm)
{
    size_t n = (size_t)comm->n_ranks, need = needed_bytes(comm);
    const size_t most = greater(need, MOST_BYTES);
    ncclResult_t r = ncclSuccess;
    if (comm->n_ranks == 2 && comm->lsa_size == 2) {
        r = gsh_nccl_take_pieces(call, comm->job, comm->control_team, &comm->pieces);
    }
    /* Through rings of 2 MiB sends reach a fifth of the link's rate. */
    const bool is_early =
        comm->pieces.memory != NULL &&
        (!comm->pieces.is_shared || (comm->job->is_early && comm->team == GSHMEM_TEAM_WORLD));
    const struct gsh_nccl_wanted wanted = {.least = is_early ? most : need, .most = most};
    if (r == ncclSuccess) {
        r = gsh_nccl_take(call, comm->job, comm->control_team, &comm->holding, &wanted,
                          &comm->range);
    }
    if (r != ncclSuccess) {
        return r;
    }
    lay_range(comm);
    gsh_nccl_clear(comm->rings.lines, words_bytes(n, comm->rings.n_channels));
    gsh_nccl_write((void *)(uintptr_t)comm->rings.pe_of, comm->pe_of, n * sizeof(int32_t));
    int error = comm->inbox.bytes > 0 ? gshmemx_layer_inbox_clear(&comm->inbox) : 0;
    if (error != 0) {
        return gsh_nccl_base(call, error);
    }
    gsh_nccl_latest_begin(&comm->latest, comm->control_team, comm->rank, comm->n_ranks);
    /* No rank may send before all have cleared. */
    return gsh_nccl_barrier(call, comm->job, comm->control_team);
}
