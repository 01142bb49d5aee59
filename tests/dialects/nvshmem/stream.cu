/* SPDX-License-Identifier: Apache-2.0
 * Proves that NVSHMEM's names on the host and on streams do what they say: the calls of its host
 * benchmarks and examples. */
#include "start.h"

enum { n_elems = 1000 };

/* In the heap. */
struct board {
    float *source, *dest;
    uint64_t *signal;
};

/* Kernels on streams may wait for far PEs, and a copy of pageable memory would wait for them with
 * CUDA's lock, which the proxy needs. */
static void fill(const board &b, float first)
{
    float values[n_elems];
    for (int i = 0; i < n_elems; i++)
        values[i] = first + (float)i;
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(b.source, values, sizeof values, cudaMemcpyDefault));
}

static bool dest_is(const board &b, int n, float first, float step)
{
    float values[n_elems];
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(values, b.dest, n * sizeof *values, cudaMemcpyDefault));
    for (int i = 0; i < n; i++)
        if (values[i] != first + step * (float)i)
            return false;
    return true;
}

static void on_stream(const board &b, int me, int n, cudaStream_t stream)
{
    const int next = (me + 1) % n, previous = (me + n - 1) % n;
    fill(b, 100.0f * (float)me);
    nvshmemx_barrier_all_on_stream(stream);
    nvshmemx_float_put_signal_on_stream(b.dest, b.source, n_elems, b.signal, 1, NVSHMEM_SIGNAL_SET,
                                        next, stream);
    nvshmemx_signal_wait_until_on_stream(b.signal, NVSHMEM_CMP_EQ, 1, stream);
    CUDA(cudaStreamSynchronize(stream));
    CHECK(dest_is(b, n_elems, 100.0f * (float)previous, 1));

    nvshmemx_barrier_all_on_stream(stream);
    nvshmemx_getmem_nbi_on_stream(b.dest, b.source, n_elems * sizeof(float), next, stream);
    nvshmemx_quiet_on_stream(stream);
    CUDA(cudaStreamSynchronize(stream));
    CHECK(dest_is(b, n_elems, 100.0f * (float)next, 1));

    nvshmemx_barrier_on_stream(NVSHMEM_TEAM_WORLD, stream);
    nvshmemx_float_p_on_stream(b.dest, 7.0f, next, stream);
    nvshmemx_barrier_all_on_stream(stream);
    CUDA(cudaStreamSynchronize(stream));
    CHECK(dest_is(b, 1, 7, 0));
    nvshmemx_sync_all_on_stream(stream);

    nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, b.dest, b.source, n_elems, stream);
    CUDA(cudaStreamSynchronize(stream));
    CHECK(dest_is(b, n_elems, 50.0f * (float)(n * (n - 1)), (float)n));

    nvshmemx_float_broadcast_on_stream(NVSHMEM_TEAM_WORLD, b.dest, b.source, n_elems, n - 1,
                                       stream);
    nvshmemx_team_sync_on_stream(NVSHMEM_TEAM_WORLD, stream);
    CUDA(cudaStreamSynchronize(stream));
    CHECK(dest_is(b, n_elems, 100.0f * (float)(n - 1), 1));
}

static void on_host(const board &b, int me, int n)
{
    const int next = (me + 1) % n, previous = (me + n - 1) % n;
    fill(b, 10.0f * (float)me);
    nvshmem_barrier_all();
    nvshmem_float_put(b.dest, b.source, n_elems, next);
    nvshmem_quiet();
    nvshmem_barrier(NVSHMEM_TEAM_WORLD);
    CHECK(dest_is(b, n_elems, 10.0f * (float)previous, 1));
    nvshmem_sync_all();
    nvshmem_getmem_nbi(b.dest, b.source, n_elems * sizeof(float), previous);
    nvshmem_quiet();
    CHECK(dest_is(b, n_elems, 10.0f * (float)previous, 1));
    nvshmem_sync(NVSHMEM_TEAM_WORLD);
    nvshmem_float_max_reduce(NVSHMEM_TEAM_WORLD, b.dest, b.source, n_elems);
    CHECK(dest_is(b, n_elems, 10.0f * (float)(n - 1), 1));
    nvshmem_barrier_all();
}

/* Every second PE; its config is empty. */
static void teams(const board &b, int me, int n)
{
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_t even = NVSHMEM_TEAM_INVALID;
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, &config, 0, &even) ==
          0);
    CHECK((even == NVSHMEM_TEAM_INVALID) == (me % 2 == 1));
    fill(b, (float)me);
    nvshmem_barrier_all();
    if (even != NVSHMEM_TEAM_INVALID) {
        CHECK_EQ(nvshmem_team_my_pe(even), me / 2);
        CHECK_EQ(nvshmem_team_translate_pe(even, nvshmem_team_n_pes(even) - 1, NVSHMEM_TEAM_WORLD),
                 (n - 1) / 2 * 2);
        nvshmem_float_max_reduce(even, b.dest, b.source, 10);
        CHECK(dest_is(b, 10, (float)((n - 1) / 2 * 2), 1));
        nvshmem_team_destroy(even);
    }
    nvshmem_barrier_all();
}

#if NVSHMEM_VENDOR_VERSION >= 30500
/* The odd PEs, or PE 0 alone, the last one first, by a number from PE 0. */
static void teams_that_meet(const board &b, int me, int n)
{
    const int first = n > 1 ? 1 : 0, size = n > 1 ? n / 2 : 1, place = size - 1 - (me - first) / 2;
    nvshmemx_team_uniqueid_t id = NVSHMEM_TEAM_UNIQUID_INITIALIZER;
    if (me == 0)
        CHECK_EQ(nvshmemx_team_get_uniqueid(&id), 0);
    uint64_t *board_id = (uint64_t *)nvshmem_calloc(1, sizeof(uint64_t));
    REQUIRE(board_id != NULL);
    if (me == 0)
        CUDA(cudaMemcpy(board_id, &id, sizeof id, cudaMemcpyDefault));
    nvshmem_uint64_broadcast(NVSHMEM_TEAM_WORLD, board_id, board_id, 1, 0);
    CUDA(cudaMemcpy(&id, board_id, sizeof id, cudaMemcpyDefault));
    fill(b, (float)me);
    nvshmem_barrier_all();
    if (me >= first && (me - first) % 2 == 0) {
        nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
        nvshmem_team_t team = NVSHMEM_TEAM_INVALID;
        config.uniqueid = id;
        CHECK_EQ(nvshmemx_team_init(&team, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, size, place),
                 0);
        CHECK_EQ(nvshmem_team_my_pe(team), place);
        CHECK_EQ(nvshmem_team_n_pes(team), size);
        nvshmem_float_broadcast(team, b.dest, b.source, 10, 0);
        CHECK(dest_is(b, 10, (float)(first + 2 * (size - 1)), 1));
        nvshmem_team_destroy(team);
    }
    nvshmem_barrier_all();
    nvshmem_free(board_id);
}
#endif

static int pe_main(int, char **)
{
    start_pe();
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    const board b = {(float *)nvshmem_malloc(n_elems * sizeof(float)),
                     (float *)nvshmem_align(1024, n_elems * sizeof(float)),
                     (uint64_t *)nvshmem_calloc(1, sizeof(uint64_t))};
    REQUIRE(b.source != NULL && b.dest != NULL && b.signal != NULL);
    CHECK_EQ(nvshmemx_init_status() >= NVSHMEM_STATUS_IS_INITIALIZED, 1);
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    on_stream(b, me, n, stream);
    on_host(b, me, n);
    teams(b, me, n);
#if NVSHMEM_VENDOR_VERSION >= 30500
    teams_that_meet(b, me, n);
#endif
    CUDA(cudaStreamDestroy(stream));
    nvshmem_free(b.signal);
    nvshmem_finalize();
    return test_result();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
