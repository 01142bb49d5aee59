/* SPDX-License-Identifier: Apache-2.0
 * Globals and statics of an OpenSHMEM program are symmetric, initialised or not, in every kind of
 * call, as source and as dest, and constants as source; their contents are preserved by init and
 * stay after finalize; and a second init shares them again. pSync is static, as in most
 * programs. */
#include <shmem.h>
#include "tests/test.h"

enum { N = 1000 };

static long counter = 7;
static long cleared[N];
long target[N];
static uint64_t signal_word;
static long lock;
static int flag;
static long sync_words[SHMEM_REDUCE_SYNC_SIZE];
static double sum_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static double sums[3], parts[3] = {1, 2, 3};
static char far_away[3 << 20]; /* many pages */
static long *const here = &counter;
static char untouched[(size_t)256 << 20];
static const long constants[] = {11, 12, 13, 14};

/* Resident bytes of this process; 0: unknown, as a sanitizer's own are included. */
static size_t resident(void)
{
    long pages = 0;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
#endif
    return (size_t)pages * 4096;
}

static void check_once(int round)
{
    static long local_static = 40;
    const int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n,
              previous = (me + n - 1) % n;
    long source[N];
    CHECK_EQ(counter, round == 0 ? 7 : 100 + round);
    for (int i = 0; i < N; i++) {
        source[i] = 1000 * me + i + round;
        CHECK_EQ(cleared[i], round == 0 ? 0 : 5);
        cleared[i] = 5;
        target[i] = -1;
    }
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) {
        sync_words[i] = SHMEM_SYNC_VALUE;
    }
    flag = 0;
    local_static = 40;
    signal_word = 0;
    far_away[sizeof(far_away) - 1] = 0;
    CHECK(shmem_addr_accessible(target, next) && shmem_ptr(target, me) == target);
    if (shmem_ptr(target, next) != NULL && next != me) {
        CHECK(shmem_ptr(target, next) != target);
    }
    shmem_barrier_all();
    shmem_put(target, source, N / 2, next);
    shmem_put_nbi(target + N / 2, source + N / 2, N / 2, next);
    shmem_atomic_inc(here, 0);
    shmem_p(&local_static, 41L, next);
    shmem_char_p(far_away + sizeof(far_away) - 1, (char)(me + 1), next);
    shmem_quiet();
    shmem_putmem_signal(target, source, sizeof(long), &signal_word, 9, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 9);
    shmem_int_p(&flag, 3, next);
    shmem_wait_until(&flag, SHMEM_CMP_EQ, 3);
    shmem_barrier_all();
    for (int i = 0; i < N; i++) {
        CHECK_EQ(target[i], 1000 * previous + i + round);
    }
    CHECK_EQ(local_static, 41);
    CHECK_EQ(far_away[sizeof(far_away) - 1], previous + 1);
    CHECK_EQ(shmem_long_atomic_fetch(&counter, 0), (round == 0 ? 7 : 100 + round) + n);
    shmem_iget(source, target, 2, 3, 10, next);
    CHECK_EQ(source[2], 1000 * me + 3 + round);
    shmem_barrier_all();
    shmem_set_lock(&lock);
    shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
    shmem_clear_lock(&lock);
    shmem_double_sum_to_all(sums, parts, 3, 0, 0, n, sum_work, sync_words);
    CHECK(sums[2] == 3 * n);
    CHECK_EQ(shmem_g(constants + 3, next), 14);
    shmem_iget(source, constants, 1, 2, 2, next);
    CHECK_EQ(source[1], 13);
    CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, cleared, constants, 4) == 0);
    CHECK_EQ(cleared[4 * n - 2], 13);
    shmem_barrier_all();
    for (int i = 0; i < 4 * n; i++) {
        cleared[i] = 5;
    }
    CHECK_EQ(shmem_long_g(&counter, 0), (round == 0 ? 7 : 100 + round) + 2 * n);
    shmem_barrier_all();
    counter = 101 + round;
}

/* Far PEs' networks may pin all of it. */
static int all_are_near(void)
{
    int all = 1;
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        all = all && shmem_ptr(target, pe) != NULL;
    }
    return all;
}

/* Memory that the program has not touched takes none, in shared and in private pages. */
static void check_untouched(int round, int is_near, size_t before)
{
    const size_t middle = sizeof(untouched) / 2;
    CHECK_EQ(untouched[middle], round == 0 ? 0 : 3);
    CHECK_EQ(untouched[middle + 100000 * (size_t)(round + 1)], 0);
    untouched[middle] = 3;
    if (is_near) {
        CHECK(resident() < before + sizeof(untouched) / 4);
    }
}

int main(void)
{
    const size_t before = resident();
    for (int round = 0; round < 3; round++) {
        shmem_init();
        check_once(round);
        const int is_near = all_are_near();
        check_untouched(round, is_near, before);
        shmem_finalize();
        check_untouched(1, is_near, before);
        CHECK_EQ(counter, 101 + round);
        CHECK_EQ(cleared[N - 1], 5);
    }
    return test_result();
}
