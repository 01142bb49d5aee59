/* SPDX-License-Identifier: Apache-2.0
 * What start-up's exchanges over TCP take real processes of this machine, for fit.py. Each process
 * is a PE that meets the others by a unique id, as in a job, and makes the exchanges that the
 * simulation's `sim exchanges` makes. For each phase of each run it prints
 *
 *     PEs,run,phase,ms of the slowest PE, for one exchange
 *
 *     exchanges PEs RUNS */
#define _GNU_SOURCE 1
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bootstrap/agree.h"
#include "bootstrap/uid.h"
#include "perftest/sim/phases.h"

#define LIMIT_NS UINT64_C(300000000000)

static const struct gsh_uid_options options = {
    .ifname = "lo", .family = "ipv4", .timeout_ns = LIMIT_NS};
static struct gsh_uid id;

/* Each phase's ns of a PE. */
typedef uint64_t times[SIM_N_EXCHANGES];

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool exchange(struct gsh_bootstrap *b, const struct sim_exchange *e, void *all)
{
    static const uint8_t mine[SIM_EXCHANGE_MAX_BYTES];
    const struct gsh_vote vote = {.call = GSH_VOTE_MALLOC, .args = {64, 8}};
    struct gsh_agreement a;
    switch (e->kind) {
    case SIM_BARRIER:
        return b->ops->barrier(b) == GSH_OK;
    case SIM_VOTE:
        if (gsh_agreement_init(&a, b) != GSH_OK) {
            return false;
        }
        const bool is_good = gsh_agree(&a, vote, "a vote", NULL) == GSH_OK;
        gsh_agreement_finish(&a);
        return is_good;
    default:
        return b->ops->allgather(b, mine, e->bytes, all) == GSH_OK;
    }
}

static bool be_pe(int rank, int n, times *mine)
{
    struct gsh_bootstrap *b = NULL;
    void *all = calloc((size_t)n, SIM_EXCHANGE_MAX_BYTES);
    bool is_good = all != NULL;
    uint64_t begin_ns = now_ns();
    for (int i = 0; is_good && i < SIM_N_EXCHANGES; i++) {
        if (sim_exchanges[i].kind == SIM_RENDEZVOUS) {
            is_good = gsh_bootstrap_uid_create(&id, rank, n, &options, &b) == GSH_OK;
        }
        for (int k = 0;
             is_good && sim_exchanges[i].kind != SIM_RENDEZVOUS && k < sim_exchanges[i].times;
             k++) {
            is_good = exchange(b, &sim_exchanges[i], all);
        }
        const uint64_t end_ns = now_ns();
        (*mine)[i] = end_ns - begin_ns;
        begin_ns = end_ns;
    }
    is_good = is_good && b->ops->barrier(b) == GSH_OK;
    if (b != NULL) {
        b->ops->destroy(b);
    }
    free(all);
    return is_good;
}

/* The PEs begin together, once all are there: when nobody holds the pipe's other end. */
static bool run(int n, times *all)
{
    int ends[2], status;
    bool is_good = gsh_uid_create(&options, &id) == GSH_OK && pipe(ends) == 0;
    int n_children = 0;
    for (; is_good && n_children < n; n_children++) {
        const pid_t pid = fork();
        if (pid == 0) {
            char byte;
            close(ends[1]);
            const bool is_told = read(ends[0], &byte, 1) == 0;
            _exit(is_told && be_pe(n_children, n, &all[n_children]) ? 0 : 1);
        }
        if (pid < 0) {
            perror("exchanges: fork");
            is_good = false;
            break;
        }
    }
    close(ends[0]);
    close(ends[1]);
    while (n_children-- > 0) {
        is_good = wait(&status) > 0 && status == 0 && is_good;
    }
    return is_good;
}

int main(int argc, char **argv)
{
    const int n = argc == 3 ? atoi(argv[1]) : 0, n_runs = argc == 3 ? atoi(argv[2]) : 0;
    if (n < 2 || n > 4096 || n_runs < 1) {
        fprintf(stderr, "usage: exchanges PEs RUNS\n");
        return 2;
    }
    times *all = mmap(NULL, (size_t)n * sizeof(*all), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        perror("exchanges");
        return 1;
    }
    for (int r = 0; r < n_runs; r++) {
        if (!run(n, all)) {
            fprintf(stderr, "exchanges: %d PEs: a PE has failed\n", n);
            return 1;
        }
        for (int i = 0; i < SIM_N_EXCHANGES; i++) {
            uint64_t most = 0;
            for (int pe = 0; pe < n; pe++) {
                most = all[pe][i] > most ? all[pe][i] : most;
            }
            printf("%d,%d,%s,%.4f\n", n, r, sim_exchanges[i].name,
                   (double)most * 1e-6 / sim_exchanges[i].times);
        }
        fflush(stdout);
    }
    return 0;
}
