/* SPDX-License-Identifier: Apache-2.0
 * What other ranks and the program hand to NCCL's layer: any config, any ranks and near ranks in an
 * exchange, any words of a neighbour about its collectives. Nothing of it is an index or a size
 * that is not checked.
 *
 * The layer's parts are linked without the rest: what they call here are the functions below, and
 * nothing else. */
#include "dialects/nccl/init/init.c"
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include "dialects/nccl/comm/latest.h"
#include "gshmem.h"

#define MAX_RANKS 16

static struct fuzz_input in;
static uint64_t words[2][GSHMEMX_LAYER_TEAM_WORDS];
static char segment[1];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

/* ---- the rest of the layer ---- */

ncclResult_t gsh_nccl_fail(ncclResult_t result, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    FUZZ_CHECK(vsnprintf(text, sizeof(text), format, args) > 0);
    va_end(args);
    return result;
}

void gsh_nccl_set_last_text(const char *text)
{
    FUZZ_CHECK(strlen(text) < 512);
}

ncclResult_t gsh_nccl_exchange(const char *call, struct gsh_nccl_job *job, gshmem_team_t team,
                               const void *own, void *all, size_t bytes)
{
    (void)call, (void)team, (void)own;
    for (int i = 0; i < job->n_pes; i++) { /* small numbers of four bytes, more often than not */
        for (size_t at = 0; at < bytes; at += 4) {
            unsigned shape = (unsigned)fuzz_take(&in, 1);
            uint32_t value = shape < 224 ? shape % MAX_RANKS : (uint32_t)fuzz_take(&in, 4);
            memcpy((char *)all + (size_t)i * bytes + at, &value, 4);
        }
    }
    return ncclSuccess;
}

void *gshmem_ptr(const void *address, int pe)
{
    return pe % 4 == 3 ? NULL : (void *)((uintptr_t)address + 4096 * (uintptr_t)pe);
}

uint64_t *gshmemx_layer_team_words(gshmem_team_t team, int member)
{
    (void)team;
    return words[member % 2];
}

/* ---- ---- */

/* A program's memory that holds a config, no longer than it is. */
static void fuzz_config(void)
{
    size_t n = in.bytes < sizeof(size_t) + 2 * sizeof(unsigned) ? 16 : in.bytes;
    ncclConfig_t *config = malloc(n);
    FUZZ_CHECK(config != NULL);
    fuzz_take_bytes(&in, config, n);
    if (config->size > n) {
        config->size = n;
    }
    ncclResult_t r = gsh_nccl_config_check("ncclCommInitRankConfig", config);
    FUZZ_CHECK(r == ncclSuccess || r == ncclInvalidArgument);
    if (r == ncclSuccess) {
        (void)gsh_nccl_config_is_nonblocking(config, NULL);
    }
    free(config);
}

static void fuzz_ranks(void)
{
    struct gsh_nccl_job job = {.n_pes = 1 + (int)fuzz_take(&in, 1) % MAX_RANKS};
    int pe_of[MAX_RANKS];
    bool is_there[MAX_RANKS] = {false};
    if (exchange_ranks("ncclCommInitRank", &job, 0, pe_of) == ncclSuccess) {
        for (int i = 0; i < job.n_pes; i++) {
            FUZZ_CHECK(pe_of[i] >= 0 && pe_of[i] < job.n_pes && !is_there[pe_of[i]]);
            is_there[pe_of[i]] = true;
        }
    }
}

static void fuzz_near(void)
{
    int n = 1 + (int)fuzz_take(&in, 1) % MAX_RANKS, pe_of[MAX_RANKS];
    struct gsh_nccl_job job = {.n_pes = n, .segment = segment};
    static struct ncclComm comm;
    memset(&comm, 0, sizeof(comm));
    comm.job = &job;
    comm.n_ranks = n;
    comm.rank = (int)fuzz_take(&in, 1) % n;
    comm.pe_of = pe_of;
    for (int i = 0; i < n; i++) {
        pe_of[i] = i;
    }
    FUZZ_CHECK(gsh_nccl_find_lsa("ncclCommInitRank", &comm) == ncclSuccess);
    FUZZ_CHECK(comm.lsa_size >= 1 && n % comm.lsa_size == 0);
    FUZZ_CHECK(comm.lsa_rank == comm.rank % comm.lsa_size);
}

/* Own collectives, between them any words of the neighbour. */
static void fuzz_coll_check(void)
{
    static struct ncclComm comm;
    memset(&comm, 0, sizeof(comm));
    memset(words, 0, sizeof(words));
    comm.n_ranks = 2;
    comm.rank = (int)fuzz_take(&in, 1) % 2;
    gsh_nccl_latest_begin(&comm.latest, comm.control_team, comm.rank, comm.n_ranks);
    for (int i = 0; i < 40 && in.bytes > 0; i++) {
        uint64_t *its = words[1 - comm.rank];
        size_t at = 8 + fuzz_take(&in, 1) % 16 * 4; /* an entry */
        unsigned shape = (unsigned)fuzz_take(&in, 1);
        struct gsh_nccl_collective c = {.kind = 1 + shape % (GSH_NCCL_N_KINDS - 1),
                                        .type = (ncclDataType_t)(shape / 8 % ncclNumTypes),
                                        .count = fuzz_take(&in, 1)};
        its[at] = fuzz_take(&in, 1);
        its[at + 1] = fuzz_take(&in, shape & 1 ? 8 : 1);
        its[at + 2] = fuzz_take(&in, 8);
        its[at + 3] = fuzz_take(&in, 1);
        its[0] = shape >= 254;
        gsh_nccl_latest_add("ncclAllReduce", &comm.latest, &c);
    }
    ncclResult_t r = gsh_nccl_latest_result(&comm.latest);
    FUZZ_CHECK(r == ncclSuccess || (r == ncclInvalidArgument && comm.latest.text[0] != '\0'));
}

/* First byte: what the rest is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    in = (struct fuzz_input){data, bytes};
    switch (fuzz_take(&in, 1) % 4) {
    case 0:
        fuzz_config();
        break;
    case 1:
        fuzz_ranks();
        break;
    case 2:
        fuzz_near();
        break;
    default:
        fuzz_coll_check();
    }
    return 0;
}
