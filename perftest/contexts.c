/* SPDX-License-Identifier: Apache-2.0
 * The cost of contexts on the host, between two PEs: making and ending one, and 8 B puts by PE 0 to
 * PE 1 without a context and with one of each kind. The rows of a table take their samples in turn,
 * so a disturbance affects all alike. A sample is the mean of as many calls as take some 0.1 ms,
 * without the quiets after the puts.
 *
 *     contexts [--quick] */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES = 201 };

struct row {
    const char *name;
    void (*call)(shmem_ctx_t ctx, long n);
    shmem_ctx_t ctx;
    long n; /* calls per sample */
    double samples[SAMPLES];
};

static long *word;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- the calls ---- */

static void create_destroy(shmem_ctx_t ctx, long n)
{
    for (long i = 0; i < n; i++) {
        shmem_ctx_create(0, &ctx);
        shmem_ctx_destroy(ctx);
    }
}

static void create_destroy_of_team(shmem_ctx_t ctx, long n)
{
    for (long i = 0; i < n; i++) {
        shmem_team_create_ctx(SHMEM_TEAM_WORLD, SHMEM_CTX_PRIVATE, &ctx);
        shmem_ctx_destroy(ctx);
    }
}

static void put(shmem_ctx_t ctx, long n)
{
    (void)ctx;
    for (long i = 0; i < n; i++) {
        shmem_long_put(word, &i, 1, 1);
    }
}

static void ctx_put(shmem_ctx_t ctx, long n)
{
    for (long i = 0; i < n; i++) {
        shmem_ctx_long_put(ctx, word, &i, 1, 1);
    }
}

static void p(shmem_ctx_t ctx, long n)
{
    (void)ctx;
    for (long i = 0; i < n; i++) {
        shmem_long_p(word, i, 1);
    }
}

static void ctx_p(shmem_ctx_t ctx, long n)
{
    for (long i = 0; i < n; i++) {
        shmem_ctx_long_p(ctx, word, i, 1);
    }
}

/* ---- measuring ---- */

static double sample(const struct row *row)
{
    const double start = now_ns();
    row->call(row->ctx, row->n);
    const double took = now_ns() - start;
    shmem_quiet();
    shmem_ctx_quiet(row->ctx);
    return took / (double)row->n;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct row *rows, int n_rows, int n_samples)
{
    for (int r = 0; r < n_rows; r++) {
        rows[r].n = 100;
        rows[r].n = (long)(1e5 / sample(&rows[r])) + 1;
    }
    for (int s = 0; s < n_samples; s++) {
        for (int r = 0; r < n_rows; r++) {
            rows[r].samples[s] = sample(&rows[r]);
        }
    }
    for (int r = 0; r < n_rows; r++) {
        qsort(rows[r].samples, (size_t)n_samples, sizeof(double), compare);
        printf("%-28s %8.1f %8.1f %8.1f\n", rows[r].name, rows[r].samples[n_samples / 2],
               rows[r].samples[0], rows[r].samples[n_samples * 9 / 10]);
    }
}

int main(int argc, char **argv)
{
    const int n_samples = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 5 : SAMPLES;
    shmem_ctx_t shared = SHMEM_CTX_INVALID, own = SHMEM_CTX_INVALID, of_team = SHMEM_CTX_INVALID;
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_init();
    word = shmem_calloc(1, sizeof(*word));
    if (shmem_n_pes() < 2 || word == NULL ||
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team) != 0 ||
        shmem_ctx_create(0, &shared) != 0 || shmem_ctx_create(SHMEM_CTX_PRIVATE, &own) != 0 ||
        shmem_team_create_ctx(team, 0, &of_team) != 0) {
        fprintf(stderr, "contexts: needs two PEs, memory and contexts\n");
        shmem_global_exit(1);
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        static struct row made[] = {
            {.name = "ctx_create, ctx_destroy", .call = create_destroy},
            {.name = "team_create_ctx, ctx_destroy", .call = create_destroy_of_team},
        };
        static struct row moved[] = {
            {.name = "put 8 B", .call = put},
            {.name = "put 8 B, ctx", .call = ctx_put},
            {.name = "put 8 B, private ctx", .call = ctx_put},
            {.name = "put 8 B, a team's ctx", .call = ctx_put},
            {.name = "p", .call = p},
            {.name = "p, ctx", .call = ctx_p},
        };
        made[0].ctx = made[1].ctx = moved[0].ctx = moved[4].ctx = SHMEM_CTX_DEFAULT;
        moved[1].ctx = moved[5].ctx = shared;
        moved[2].ctx = own;
        moved[3].ctx = of_team;
        printf("%-28s %8s %8s %8s  ns\n", "call", "median", "least", "90th");
        measure(made, 2, n_samples);
        measure(moved, 6, n_samples);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
