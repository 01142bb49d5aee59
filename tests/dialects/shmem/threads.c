/* SPDX-License-Identifier: Apache-2.0
 * SHMEM_THREAD_MULTIPLE: threads of every PE make collective calls at the same time, on their own
 * teams; divide different parents; use one active set with separate pSyncs, and different,
 * overlapping sets, all for the first time at once. PEs are processes.
 *
 *     threads [ROUNDS] */
#include <pthread.h>
#include <shmem.h>
#include "tests/test.h"

enum { THREADS = 4, N = 64, MOST_PES = 8 };

static int me, n, rounds;
static long failures[THREADS]; /* only the main thread may CHECK */
static long source[THREADS][N], dest[THREADS][N * MOST_PES];
static long sync_words[THREADS][2][SHMEM_REDUCE_SYNC_SIZE];
static long work[THREADS][N / 2 + 1];
static shmem_team_t teams[THREADS];

static void expect(int t, int is_right)
{
    failures[t] += !is_right;
}

/* ---- collectives of teams ---- */

static void collectives(int t)
{
    shmem_team_t team = teams[t];
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < N; i++) {
            source[t][i] = me + i + r + t;
        }
        shmem_team_sync(team);
        expect(t, shmem_long_sum_reduce(team, dest[t], source[t], N) == 0);
        expect(t, dest[t][3] == (long)n * (n - 1) / 2 + (long)n * (3 + r + t));
        shmem_team_sync(team);
        shmem_long_fcollect(team, dest[t], source[t], 2);
        expect(t, dest[t][2 * (n - 1) + 1] == n - 1 + 1 + r + t);
        shmem_team_sync(team);
        shmem_long_broadcast(team, dest[t], source[t], 4, r % n);
        expect(t, dest[t][0] == r % n + r + t);
    }
}

/* ---- dividing ---- */

static void divide(int t)
{
    shmem_team_t team = teams[t], half, row, column;
    const int index = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
    if (team == SHMEM_TEAM_INVALID) {
        return;
    }
    for (int r = 0; r < rounds; r++) {
        expect(t, shmem_team_split_strided(team, 0, 1, (size + 1) / 2, NULL, 0, &half) == 0);
        expect(t, (half != SHMEM_TEAM_INVALID) == (index < (size + 1) / 2));
        expect(t, shmem_team_split_2d(team, 2, NULL, 0, &row, NULL, 0, &column) == 0);
        if (half != SHMEM_TEAM_INVALID) {
            expect(t, shmem_team_my_pe(half) == index && shmem_team_sync(half) == 0);
            shmem_team_destroy(half);
        }
        expect(t, shmem_team_translate_pe(row, 0, team) == index / 2 * 2);
        expect(t, shmem_team_sync(column) == 0 && shmem_team_sync(row) == 0);
        shmem_team_destroy(row);
        shmem_team_destroy(column);
    }
}

/* ---- active sets ---- */

static void use_set(int t, int size)
{
    long *a = sync_words[t][0], *b = sync_words[t][1];
    for (int r = 0; r < rounds; r++) {
        source[t][0] = me + r;
        shmem_barrier(0, 0, size, a);
        shmem_long_sum_to_all(dest[t], source[t], 1, 0, 0, size, work[t], b);
        expect(t, dest[t][0] == (long)size * (size - 1) / 2 + (long)size * r);
        shmem_sync(0, 0, size, a);
    }
}

static void one_set(int t)
{
    use_set(t, n);
}

static void many_sets(int t)
{
    const int size = n - t;
    if (me < size) {
        use_set(t, size);
    }
}

/* ---- */

struct task {
    void (*run)(int t);
    int t;
};

static void *start(void *argument)
{
    const struct task *task = argument;
    task->run(task->t);
    return NULL;
}

static void run(const char *name, void (*function)(int t))
{
    pthread_t threads[THREADS];
    struct task tasks[THREADS];
    for (int t = 0; t < THREADS; t++) {
        tasks[t] = (struct task){function, t};
        failures[t] = 0;
        pthread_create(&threads[t], NULL, start, &tasks[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        if (!CHECK_EQ(failures[t], 0)) {
            fprintf(stderr, "in %s\n", name);
        }
    }
    shmem_barrier_all();
}

static void make_teams(int is_smaller)
{
    for (int t = 0; t < THREADS; t++) {
        const int size = is_smaller && n > t ? n - t : n;
        CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size, NULL, 0, &teams[t]), 0);
    }
}

static void end_teams(void)
{
    for (int t = 0; t < THREADS; t++) {
        shmem_team_destroy(teams[t]);
    }
}

int main(int argc, char **argv)
{
    int provided = -1;
    rounds = argc > 1 ? atoi(argv[1]) : 20;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    CHECK_EQ(provided, SHMEM_THREAD_MULTIPLE);
    me = shmem_my_pe();
    n = shmem_n_pes();
    make_teams(0);
    run("collectives", collectives);
    end_teams();
    make_teams(1);
    run("divide", divide);
    end_teams();
    run("one_set", one_set);
    run("many_sets", many_sets);
    shmem_finalize();
    return test_result();
}
