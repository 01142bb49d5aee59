/* SPDX-License-Identifier: Apache-2.0
 * Proves that a thread that drives several ranks launches once for each collective and rank, in
 * groups and outside, and enqueues nothing else: no copies, no signals, no waits. Nor does a
 * broadcast on symmetric windows. And that a config's limits reach the launch. Two ranks on the CPU
 * device, with tables of device functions that count. */
#include <nccl.h>
#include <stdlib.h>
#include "dialects/nccl/comm/comm.h"
#include "runtime/instance/device_ops.h"
#include "runtime/instance/instance.h"
#include "runtime/layer.h"
#include "tests/test.h"

enum { N = 2, COUNT = 3000 };

static const struct gsh_device_ops *device;
static unsigned n_launches, n_blocks;
static bool is_dry; /* nothing is carried out */

static enum gsh_result count_launch(struct gsh_instance *pe, const struct gsh_coll_launch *launch,
                                    gsh_stream stream)
{
    n_launches++;
    n_blocks = launch->n_blocks;
    return is_dry ? GSH_OK : device->stream_coll(pe, launch, stream);
}

static struct gsh_instance *pe_of(ncclComm_t comm)
{
    return comm->job->pe;
}

/* All that the rank has put on its streams. */
static void await(ncclComm_t comm)
{
    struct gshmemx_layer_scope scope;
    gshmemx_layer_enter(comm->job->pe, comm->job->device, &scope);
    gshmemx_layer_synchronize();
    gshmemx_layer_leave(&scope);
}

/* The functions that put anything else on a stream would end the process. */
static void use_table(ncclComm_t *comms, struct gsh_device_ops *table)
{
    *table = *device;
    table->stream_coll = count_launch;
    table->stream_copy = NULL;
    table->stream_signal = NULL;
    table->stream_copy_strided = NULL;
    table->stream_store = NULL;
    table->stream_wait = NULL;
    table->stream_sync = NULL;
    table->stream_quiet = NULL;
    table->stream_far = NULL;
    for (int i = 0; i < N; i++) {
        pe_of(comms[i])->device_ops = table;
    }
}

static void check(ncclResult_t r, const char *what)
{
    if (!CHECK_EQ(r, ncclSuccess)) {
        fprintf(stderr, "%s: %s\n", what, ncclGetLastError(NULL));
        exit(1);
    }
}
#define OK(call) check((call), #call)

static float *source[N], *dest[N];

/* The i-th kind of collective, of one rank. */
static ncclResult_t call(int i, ncclComm_t c, const float *from, float *to)
{
    switch (i) {
    case 0:
        return ncclAllReduce(from, to, COUNT, ncclFloat, ncclSum, c, NULL);
    case 1:
        return ncclReduce(from, to, COUNT, ncclFloat, ncclMax, 1, c, NULL);
    case 2:
        return ncclBroadcast(from, to, COUNT, ncclFloat, 0, c, NULL);
    case 3:
        return ncclReduceScatter(from, to, COUNT / N, ncclFloat, ncclSum, c, NULL);
    case 4:
        return ncclAllGather(from, to, COUNT / N, ncclFloat, c, NULL);
    case 5:
        return ncclAlltoAll(from, to, COUNT / N, ncclFloat, c, NULL);
    case 6:
        return ncclGather(from, to, COUNT / N, ncclFloat, 0, c, NULL);
    default:
        return ncclScatter(from, to, COUNT / N, ncclFloat, 1, c, NULL);
    }
}
enum { N_KINDS = 8 };

/* Kinds [first, end), each `times` times, of all ranks in one group. */
static void group(ncclComm_t *comms, int first, int end, int times)
{
    OK(ncclGroupStart());
    for (int kind = first; kind < end; kind++) {
        for (int i = 0; i < times * N; i++) {
            OK(call(kind, comms[i % N], source[i % N], dest[i % N]));
        }
    }
    OK(ncclGroupEnd());
    for (int i = 0; i < N; i++) {
        await(comms[i]);
    }
}

static void test_counts(ncclComm_t *comms)
{
    for (int kind = 0; kind < N_KINDS; kind++) {
        n_launches = 0;
        group(comms, kind, kind + 1, 1);
        CHECK_EQ(n_launches, N);
        n_launches = 0;
        group(comms, kind, kind + 1, 5); /* of one kind */
        CHECK_EQ(n_launches, N);
    }
    n_launches = 0;
    group(comms, 0, N_KINDS, 2);
    CHECK_EQ(n_launches, N * N_KINDS);
    /* outside groups, rank by rank: a launch waits for no other rank */
    n_launches = 0;
    for (int i = 0; i < N; i++) {
        OK(call(0, comms[i], source[i], dest[i]));
        CHECK_EQ(n_launches, i + 1);
    }
    for (int i = 0; i < N; i++) {
        await(comms[i]);
        CHECK_EQ(dest[i][COUNT - 1], 3 * (COUNT - 1));
    }
}

static void register_windows(ncclComm_t *comms, ncclWindow_t *windows, float **in)
{
    OK(ncclGroupStart());
    for (int i = 0; i < N; i++) {
        OK(ncclMemAlloc((void **)&in[i], COUNT * sizeof(float)));
        OK(ncclCommWindowRegister(comms[i], in[i], COUNT * sizeof(float), &windows[i],
                                  NCCL_WIN_COLL_SYMMETRIC));
    }
    OK(ncclGroupEnd());
}

/* Threads of the library do this while the ranks' next calls are made: they must not find a table
 * of this test. */
static void deregister_windows(ncclComm_t *comms, const ncclWindow_t *windows, float **in)
{
    for (int i = 0; i < N; i++) {
        OK(ncclCommWindowDeregister(comms[i], windows[i]));
        OK(ncclMemFree(in[i]));
    }
    for (int i = 0; i < N; i++) {
        OK(call(0, comms[i], source[i], dest[i]));
    }
    for (int i = 0; i < N; i++) {
        await(comms[i]);
        CHECK_EQ(dest[i][COUNT - 1], 3 * (COUNT - 1));
    }
}

static void test_windows(ncclComm_t *comms, float **in)
{
    n_launches = 0;
    OK(ncclGroupStart());
    for (int i = 0; i < N; i++) {
        OK(call(2, comms[i], source[i], in[i]));
    }
    OK(ncclGroupEnd());
    CHECK_EQ(n_launches, N);
    for (int i = 0; i < N; i++) {
        await(comms[i]);
        CHECK_EQ(in[i][COUNT - 1], COUNT - 1);
    }
}

/* By all ranks: a build with checks compares their calls. */
static unsigned blocks_with(ncclComm_t *comms, int least, int most, bool is_in_group)
{
    ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
    config.minCTAs = least;
    config.maxCTAs = most;
    n_blocks = 0;
    if (is_in_group) {
        OK(ncclGroupStart());
    }
    for (int i = 0; i < N; i++) {
        OK(ncclAllReduceConfig(source[i], dest[i], 40000000, ncclFloat, ncclSum, comms[i], NULL,
                               &config));
    }
    if (is_in_group) {
        OK(ncclGroupEnd());
    }
    return n_blocks;
}

/* As if on a GPU, where launches have many blocks; nothing runs. */
static void test_limits(ncclComm_t *comms, struct gsh_device_ops *table)
{
    const int none = NCCL_CONFIG_UNDEF_INT;
    is_dry = true;
    table->memory = GSH_MEMORY_CUDA;
    for (int i = 0; i < N; i++) {
        pe_of(comms[i])->coll_table.max_blocks = 24;
    }
    for (int is_in_group = 0; is_in_group < 2; is_in_group++) {
        const unsigned best = blocks_with(comms, none, none, is_in_group != 0);
        CHECK(best > 3 && best <= 2 * 24); /* each with a helper, in pieces */
        CHECK_EQ(blocks_with(comms, none, 3, is_in_group != 0), 3);
        CHECK_EQ(blocks_with(comms, 1, 1, is_in_group != 0), 1);
        CHECK_EQ(blocks_with(comms, 100, 200, is_in_group != 0), best);
    }
}

int main(void)
{
    struct gsh_device_ops table;
    ncclComm_t comms[N];
    ncclWindow_t windows[N];
    float *in[N];
    setenv("GSHMEM_DEVICE", "cpu", 1);
    for (int i = 0; i < N; i++) {
        source[i] = calloc(COUNT, sizeof(float));
        dest[i] = calloc(COUNT, sizeof(float));
        for (int k = 0; k < COUNT; k++) {
            source[i][k] = (float)((i + 1) * k);
        }
    }
    OK(ncclCommInitAll(comms, N, NULL));
    register_windows(comms, windows, in);
    device = pe_of(comms[0])->device_ops;
    use_table(comms, &table);
    test_counts(comms);
    test_windows(comms, in);
    test_limits(comms, &table);
    for (int i = 0; i < N; i++) {
        pe_of(comms[i])->device_ops = device;
    }
    deregister_windows(comms, windows, in);
    for (int i = 0; i < N; i++) {
        OK(ncclCommDestroy(comms[i]));
        free(source[i]);
        free(dest[i]);
    }
    return test_result();
}
