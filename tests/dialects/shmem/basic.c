/* SPDX-License-Identifier: Apache-2.0
 * An OpenSHMEM 1.5 program in C11: set-up and queries, generic and typed puts, gets, atomics,
 * signals, waits, teams, contexts, locks, in the standard's spelling. */
#include <shmem.h>
#include <shmemx.h>
#include "tests/test.h"

enum { N = 100 };

static void queries(int me, int n)
{
    int major = 0, minor = 0, provided = -1, is_initialized = 0;
    char name[SHMEM_MAX_NAME_LEN] = "";
    shmem_info_get_version(&major, &minor);
    shmem_info_get_name(name);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    CHECK_STR(name, SHMEM_VENDOR_STRING);
    shmem_query_thread(&provided);
    shmem_query_initialized(&is_initialized);
    CHECK(provided >= SHMEM_THREAD_FUNNELED && is_initialized == 1);
    CHECK(shmem_pe_accessible(n - 1) && !shmem_pe_accessible(n) && me >= 0 && me < n);
    shmem_pcontrol(1);
}

static void put_get(int me, int next, int previous)
{
    long *dest = shmem_malloc(N * sizeof(long));
    long double *wide = shmem_calloc(2, sizeof(long double));
    long source[N], back[N];
    CHECK(shmem_addr_accessible(dest, next) && shmem_ptr(dest, me) == dest);
    for (int i = 0; i < N; i++) {
        source[i] = 1000 * me + i;
        dest[i] = -1; /* host code stores to symmetric memory */
    }
    shmem_barrier_all();
    shmem_put(dest, source, N / 2, next);
    shmem_long_put_nbi(dest + N / 2, source + N / 2, N / 2, next);
    shmem_p(wide, 0.25L + me, next);
    shmem_quiet();
    CHECK_EQ(shmem_g(dest + 7, next), source[7]);
    shmem_barrier_all();
    CHECK_EQ(dest[N - 1], 1000 * previous + N - 1);
    CHECK(wide[0] == 0.25L + previous);
    shmem_get(back, dest, N, next);
    CHECK(memcmp(back, source, sizeof(back)) == 0);
    shmem_iget(back, dest, 2, 3, 10, next);
    CHECK_EQ(back[2], source[3]);
    shmem_barrier_all();
    shmem_free(wide);
    shmem_free(dest);
}

static void atomics(int me, int n)
{
    long *word = shmem_calloc(4, sizeof(long));
    unsigned int *bits = shmem_calloc(1, sizeof(*bits));
    long fetched = -1;
    shmem_atomic_inc(word, 0);
    shmem_atomic_add(word, 2, 0);
    shmem_atomic_or(bits, 1u << me, 0);
    CHECK(shmem_atomic_fetch_add(word + 1, 1L, 0) < n);
    shmem_atomic_fetch_inc_nbi(&fetched, word + 2, 0);
    shmem_quiet();
    CHECK(fetched >= 0 && fetched < n);
    shmem_barrier_all();
    CHECK_EQ(shmem_atomic_fetch(word, 0), 3 * n);
    CHECK_EQ(shmem_uint_atomic_fetch(bits, 0), (1u << n) - 1);
    CHECK_EQ(shmem_long_atomic_compare_swap(word + 3, 0, 5, me), 0);
    CHECK_EQ(shmem_atomic_swap(word + 3, 6L, me), 5);
    shmem_barrier_all();
    shmem_free(bits);
    shmem_free(word);
}

static void signals(int next)
{
    uint64_t *signal = shmem_calloc(1, sizeof(uint64_t));
    int *data = shmem_calloc(4, sizeof(int)), source[4] = {1, 2, 3, 4};
    size_t indices[4];
    shmem_put_signal(data, source, 4, signal, 2, SHMEM_SIGNAL_SET, next);
    CHECK_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_GE, 2), 2);
    CHECK_EQ(shmem_signal_fetch(signal), 2);
    CHECK_EQ(shmem_int_test_all_vector(data, 4, NULL, SHMEM_CMP_EQ, source), 1);
    CHECK_EQ(shmem_wait_until_some(data, 4, indices, NULL, SHMEM_CMP_GT, 2), 2);
    shmem_wait_until(data, SHMEM_CMP_NE, 0);
    shmem_barrier_all();
    shmemx_signal_add(signal, 1, next);
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 3);
    shmem_barrier_all();
    shmem_free(data);
    shmem_free(signal);
}

static void teams(int me, int n)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_team_config_t config = {.num_contexts = 1}, got;
    shmem_ctx_t ctx;
    long *word = shmem_calloc(1, sizeof(long));
    CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, &config,
                                      SHMEM_TEAM_NUM_CONTEXTS, &team),
             0);
    CHECK_EQ(team == SHMEM_TEAM_INVALID, me % 2 == 1);
    if (team != SHMEM_TEAM_INVALID) {
        CHECK_EQ(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got), 0);
        CHECK_EQ(shmem_team_translate_pe(team, shmem_team_my_pe(team), SHMEM_TEAM_WORLD), me);
        CHECK_EQ(shmem_sync(team), 0);
        CHECK_EQ(shmem_barrier(team), 0);
        CHECK_EQ(shmem_team_create_ctx(team, SHMEM_CTX_PRIVATE, &ctx), 0);
        shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
        shmem_atomic_inc(ctx, word, 0); /* PE 0 of the team */
        shmem_ctx_fence(ctx);
        shmem_ctx_quiet(ctx);
        shmem_ctx_session_stop(ctx);
        shmem_ctx_destroy(ctx);
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_g(word, 0), (n + 1) / 2);
    shmem_team_destroy(team);
    shmem_barrier_all();
    shmem_free(word);
}

static void collectives(int me, int n)
{
    long *source = shmem_malloc(4 * sizeof(long)),
         *dest = shmem_malloc(4 * (size_t)n * sizeof(long));
    long double *wide = shmem_malloc(sizeof(long double));
    double _Complex *z = shmem_malloc(2 * sizeof(double _Complex));
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        source[i] = 10 * me + i;
    }
    for (int pe = 0; pe < n; pe++) {
        sum += 10 * pe + 3;
    }
    *wide = me + 0.5L;
    __real__ z[0] = 1;
    __imag__ z[0] = me;
    CHECK_EQ(shmem_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 4), 0);
    CHECK_EQ(dest[3], sum);
    CHECK_EQ(shmem_fcollect(SHMEM_TEAM_WORLD, dest, source, 4), 0);
    CHECK_EQ(dest[4 * (n - 1) + 1], 10 * (n - 1) + 1);
    CHECK_EQ(shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, 4, n - 1), 0);
    CHECK_EQ(dest[2], 10 * (n - 1) + 2);
    CHECK_EQ(shmem_max_reduce(SHMEM_TEAM_WORLD, wide, wide, 1), 0);
    CHECK(*wide == n - 0.5L);
    CHECK_EQ(shmem_complexd_sum_inscan(SHMEM_TEAM_WORLD, z + 1, z, 1), 0);
    CHECK(__real__ z[1] == me + 1 && __imag__ z[1] == me * (me + 1) / 2);
    shmem_barrier_all();
    shmem_free(z);
    shmem_free(wide);
    shmem_free(dest);
    shmem_free(source);
}

static void locks(int n)
{
    long *lock = shmem_calloc(2, sizeof(long));
    for (int i = 0; i < 20; i++) {
        shmem_set_lock(lock);
        shmem_p(lock + 1, shmem_g(lock + 1, 0) + 1, 0);
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    CHECK_EQ(shmem_g(lock + 1, 0), 20 * n);
    shmem_barrier_all();
    shmem_free(lock);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    queries(me, n);
    put_get(me, (me + 1) % n, (me + n - 1) % n);
    atomics(me, n);
    signals((me + 1) % n);
    teams(me, n);
    collectives(me, n);
    locks(n);
    shmem_finalize();
    return test_result();
}
