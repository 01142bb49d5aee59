/* SPDX-License-Identifier: Apache-2.0
 * Host puts, gets, strided copies, atomics, signals, waits and stream calls between two PEs that
 * are threads move the right bytes, keep the promised order, and leave neighbouring bytes alone.
 * Uses the host API alone, so it runs on any device: GSHMEM_DEVICE=cuda needs two GPUs. */
#include <gshmemx.h>
#include <pthread.h>
#include "tests/test.h"

enum { N_PES = 2, N = 300, ROUNDS = 200 };

struct shared {
    long *numbers; /* N */
    uint64_t *signal, *reply;
    short *flags; /* N */
    double *real;
};

/* The heap may be in a GPU: read a copy. */
static void read_own(const struct shared *s, long numbers[N])
{
    gshmem_long_get(numbers, s->numbers, N, gshmem_my_pe());
}

static void clear(struct shared *s)
{
    gshmem_barrier_all();
    static const long zeros[N];
    gshmem_putmem(s->numbers, zeros, N * sizeof(long), gshmem_my_pe());
    gshmem_putmem(s->flags, zeros, N * sizeof(short), gshmem_my_pe());
    gshmem_double_atomic_set(s->real, 0, gshmem_my_pe());
    gshmem_uint64_atomic_set(s->signal, 0, gshmem_my_pe());
    gshmem_uint64_atomic_set(s->reply, 0, gshmem_my_pe());
    gshmem_barrier_all();
}

static void put_and_get(struct shared *s, int me, int other)
{
    long source[N], back[N];
    for (int i = 0; i < N; i++) {
        source[i] = 1000 * me + i;
    }
    clear(s);
    gshmem_long_put(s->numbers + 1, source, N - 2, other);
    gshmem_barrier_all();
    read_own(s, back);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(back[i], i == 0 || i == N - 1 ? 0 : 1000 * other + i - 1);
    }
    gshmem_get64(back, s->numbers, N, other);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(back[i], i == 0 || i == N - 1 ? 0 : source[i - 1]);
    }
    gshmem_getmem_nbi(back, s->numbers, sizeof(back), me);
    gshmem_quiet();
    CHECK_EQ(back[1], 1000 * other);
    gshmem_double_p(s->real, 0.5 + me, other);
    gshmem_barrier_all();
    CHECK(gshmem_double_g(s->real, me) == 0.5 + other);
}

/* Every other element of a peer's array from every third of ours, and back. */
static void strided(struct shared *s, int me, int other)
{
    long source[N], back[N];
    for (int i = 0; i < N; i++) {
        source[i] = 1000 * me + i;
    }
    clear(s);
    gshmem_long_iput(s->numbers, source, 2, 3, N / 3, other);
    gshmem_barrier_all();
    read_own(s, back);
    for (int i = 0; i < N; i++) {
        bool is_hit = i % 2 == 0 && i / 2 < N / 3;
        CHECK_EQ(back[i], is_hit ? 1000 * other + i / 2 * 3 : 0);
    }
    memset(back, 0, sizeof(back));
    gshmem_iget128(back, s->numbers, 1, 2, N / 4, other);
    for (int i = 0; i < N / 4; i++) {
        long value = 4 * i / 2 < N / 3 ? 1000 * me + 2 * i * 3 : 0;
        CHECK_EQ(back[2 * i], value);
        CHECK_EQ(back[2 * i + 1], 0);
    }
}

static void atomics(struct shared *s, int me)
{
    clear(s);
    for (int i = 0; i < ROUNDS; i++) {
        gshmem_long_atomic_inc(&s->numbers[0], 0);
        CHECK(gshmem_uint32_atomic_fetch_add((uint32_t *)&s->numbers[1], 2, 0) % 2 == 0);
        gshmem_uint64_atomic_xor((uint64_t *)&s->numbers[2], UINT64_C(1) << (i % 64), 0);
    }
    gshmem_barrier_all();
    CHECK_EQ(gshmem_long_atomic_fetch(&s->numbers[0], 0), N_PES * ROUNDS);
    CHECK_EQ(gshmem_long_g(&s->numbers[1], 0), 2 * N_PES * ROUNDS);
    CHECK_EQ(gshmem_long_g(&s->numbers[2], 0), 0);
    /* exactly one wins */
    int won = gshmem_int_atomic_compare_swap((int *)&s->numbers[3], 0, me + 1, 0) == 0;
    gshmem_int_atomic_add((int *)&s->numbers[4], won, 0);
    gshmem_barrier_all();
    CHECK_EQ(gshmem_int_g((int *)&s->numbers[4], 0), 1);
    CHECK(gshmem_double_atomic_swap(s->real, 2.5, me) == 0);
    CHECK(gshmem_double_atomic_fetch(s->real, me) == 2.5);
}

static void ping_pong(struct shared *s, int me, int other)
{
    clear(s);
    for (long round = 1; round <= ROUNDS; round++) {
        if (me == 0) {
            long data[2] = {round, -round};
            gshmem_putmem_signal(s->numbers, data, sizeof(data), s->signal, (uint64_t)round,
                                 GSHMEM_SIGNAL_SET, other);
            gshmem_uint64_wait_until(s->reply, GSHMEM_CMP_GE, (uint64_t)round);
        } else {
            CHECK_EQ(gshmem_signal_wait_until(s->signal, GSHMEM_CMP_GE, (uint64_t)round), round);
            long data[2];
            gshmem_getmem(data, s->numbers, sizeof(data), me);
            CHECK_EQ(data[0], round);
            CHECK_EQ(data[1], -round);
            gshmemx_signal_op(s->reply, 1, GSHMEM_SIGNAL_ADD, other);
        }
    }
    CHECK_EQ(gshmem_signal_fetch(me == 0 ? s->reply : s->signal), ROUNDS);
}

static void wait_forms(struct shared *s, int me, int other)
{
    int out[N] = {0};
    size_t indices[N];
    clear(s);
    CHECK_EQ(gshmem_short_test_any(s->flags, N, NULL, GSHMEM_CMP_NE, 0), SIZE_MAX);
    CHECK_EQ(gshmem_short_test_all(s->flags, N, NULL, GSHMEM_CMP_EQ, 0), 1);
    gshmem_sync_all();
    gshmem_short_p(&s->flags[N - 1], (short)-7, other);
    CHECK_EQ(gshmem_short_wait_until_any(s->flags, N, NULL, GSHMEM_CMP_LT, 0), N - 1);
    CHECK_EQ(gshmem_short_wait_until_some(s->flags, N, indices, NULL, GSHMEM_CMP_EQ, -7), 1);
    CHECK_EQ(indices[0], N - 1);
    out[N - 1] = 1;
    CHECK_EQ(gshmem_short_test_some(s->flags, N, indices, out, GSHMEM_CMP_LT, 0), 0);
    gshmem_sync_all();
    for (int i = 0; i < N; i++) {
        gshmem_short_p(&s->flags[i], (short)(i + me), other);
    }
    short wanted[N];
    for (int i = 0; i < N; i++) {
        wanted[i] = (short)(i + other);
        out[i] = 1;
    }
    gshmem_short_wait_until_all_vector(s->flags, N, NULL, GSHMEM_CMP_EQ, wanted);
    CHECK_EQ(gshmem_short_test_all_vector(s->flags, N, NULL, GSHMEM_CMP_LE, wanted), 1);
    CHECK_EQ(gshmem_short_wait_until_any(s->flags, N, out, GSHMEM_CMP_EQ, 0), SIZE_MAX);
    gshmem_short_wait_until_all(s->flags, 0, NULL, GSHMEM_CMP_EQ, 99);
}

/* If several words satisfy, a series of calls finds each, whatever happens in between. */
static void any_finds_each(struct shared *s, int me)
{
    enum { HELD = 5, CALLS = 2000 };
    const short wanted[HELD] = {1, 1, 1, 1, 1};
    const int status[HELD] = {0, 0, 1, 0, 0};
    int hits[4][HELD] = {{0}};
    clear(s);
    for (int i = 0; i < HELD; i++) {
        gshmem_short_p(&s->flags[i], i != 1, me);
    }
    gshmem_quiet();
    for (int i = 0; i < CALLS; i++) {
        hits[0][gshmem_short_test_any(s->flags, HELD, status, GSHMEM_CMP_EQ, 1)]++;
        hits[1][gshmem_short_wait_until_any(s->flags, HELD, status, GSHMEM_CMP_EQ, 1)]++;
        hits[2][gshmem_short_test_any_vector(s->flags, HELD, status, GSHMEM_CMP_EQ,
                                             (short *)wanted)]++;
        hits[3][gshmem_short_wait_until_any_vector(s->flags, HELD, status, GSHMEM_CMP_EQ,
                                                   (short *)wanted)]++;
    }
    for (int form = 0; form < 4; form++) {
        for (int i = 0; i < HELD; i++) {
            CHECK_EQ(hits[form][i] > CALLS / 20, i != 1 && i != 2);
        }
    }
}

/* The same exchange with everything enqueued: data, signal, wait, barrier; scalars are reused at
 * once, so the calls must have copied them. */
static void on_stream(struct shared *s, int me, int other)
{
    static long source[N_PES][N];
    clear(s);
    for (long round = 1; round <= 20; round++) {
        source[me][0] = round;
        gshmemx_long_put_signal_on_stream(&s->numbers[1], source[me], 1, s->signal, (uint64_t)round,
                                          GSHMEM_SIGNAL_SET, other, NULL);
        gshmemx_signal_wait_until_on_stream(s->signal, GSHMEM_CMP_EQ, (uint64_t)round, NULL);
        gshmemx_long_p_on_stream(&s->numbers[2], 10 * round + me, other, NULL);
        gshmemx_barrier_all_on_stream(NULL);
        CHECK_EQ(gshmemx_long_g_on_stream(&s->numbers[1], me, NULL), round);
        CHECK_EQ(gshmemx_long_g_on_stream(&s->numbers[2], me, NULL), 10 * round + other);
        CHECK_EQ(gshmemx_barrier_on_stream(GSHMEM_TEAM_WORLD, NULL), 0);
        CHECK_EQ(gshmemx_long_g_on_stream(&s->numbers[2], me, NULL), 10 * round + other);
    }
    CHECK(gshmemx_team_sync_on_stream(GSHMEM_TEAM_INVALID, NULL) != 0);
    gshmemx_long_iput_on_stream(&s->numbers[10], source[me], 2, 1, 1, other, NULL);
    gshmemx_quiet_on_stream(NULL);
    gshmemx_sync_all_on_stream(NULL);
    CHECK_EQ(gshmemx_long_g_on_stream(&s->numbers[10], other, NULL), 20);
}

static void *pe_main(void *arg)
{
    int me = (int)(intptr_t)arg, other = 1 - me;
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    static int key;
    gshmemx_set_attr_thread_args(me, N_PES, &key, &attr);
    if (!CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_THREAD_PES, &attr), 0)) {
        exit(1);
    }
    struct shared s = {
        .numbers = gshmem_malloc(N * sizeof(long)),
        .signal = gshmem_malloc(sizeof(uint64_t)),
        .reply = gshmem_malloc(sizeof(uint64_t)),
        .flags = gshmem_malloc(N * sizeof(short)),
        .real = gshmem_malloc(sizeof(double)),
    };
    put_and_get(&s, me, other);
    strided(&s, me, other);
    atomics(&s, me);
    ping_pong(&s, me, other);
    wait_forms(&s, me, other);
    any_finds_each(&s, me);
    on_stream(&s, me, other);
    gshmem_free(s.numbers);
    gshmem_finalize();
    return NULL;
}

int main(void)
{
    pthread_t threads[N_PES];
    setenv("GSHMEM_DEVICE", "cpu", 0);
    for (int i = 0; i < N_PES; i++) {
        pthread_create(&threads[i], NULL, pe_main, (void *)(intptr_t)i);
    }
    for (int i = 0; i < N_PES; i++) {
        pthread_join(threads[i], NULL);
    }
    return test_result();
}
