/* Proves that the simulation's PEs send what real ones do, message for message and byte for byte:
 * for several numbers of PEs and nodes, from the first connection to team_split. With the argument
 * "processes", under gshmemrun or mpirun, it does so for what processes send over TCP, with a
 * number behind it for processes that take themselves for so many on each host, and with "dealt"
 * and a number for those that take themselves for dealt to so many hosts, with "mixed" for those
 * that lie on them without order; with two numbers, for so
 * many PEs, up to 512, and PEs of a node. Then that a thousand PEs need as many rounds as they
 * should, that a hundred thousand keep little of each other, that PEs share cores, that each run is
 * the same, that a PE which dies or hangs is noticed by all others in each call, and that a job's
 * GOAL file has a send for each receive. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bootstrap/uid.h"
#include "bootstrap/uid_wire.h"
#include "base/host.h"
#include "gshmem.h"
#include "gshmemx.h"
#include "perftest/sim/goal.h"
#include "perftest/sim/phases.h"
#include "proxy/proxy.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "runtime/team/team.h"
#include "tests/rig/bootstrap_conform.h"

enum { MAX_PES = 512, N_STAGES = 5 };

/* What a PE has sent by the end of each stage of the job. */
struct sent {
    struct gsh_bootstrap_counts tcp, asked;
    struct gsh_proxy_sent far;
};

static struct sent sent[MAX_PES][N_STAGES];
static gshmemx_uniqueid_t id;
static uint64_t message_max, team_units;

/* ---- real PEs ---- */

static int host_pes;    /* of a pretended host, by PE number; 0: this machine is the only one */
static int mixed_hosts; /* on so many they lie without order, or 0 */
static int dealt_hosts; /* to so many pretended hosts PEs are dealt one by one, or 0 */

/* In place of base/host.c. */
uint64_t gsh_host_id(void)
{
    const char *rank = getenv("GSHMEM_RANK");
    rank = rank != NULL ? rank : getenv("PMIX_RANK");
    const int pe = rank != NULL ? atoi(rank) : 0;
    if (mixed_hosts > 0) {
        return 1 + (uint64_t)sim_mixed_host(mixed_hosts, pe);
    }
    return 1 + (uint64_t)(dealt_hosts > 0 ? pe % dealt_hosts : host_pes > 0 ? pe / host_pes : 0);
}

static void note(int rank, int stage)
{
    const struct gsh_instance *pe = gsh_instance_bound();
    sent[rank][stage].tcp = pe->bootstrap->counts;
    sent[rank][stage].asked.messages =
        __atomic_load_n(&pe->bootstrap->asked.messages, __ATOMIC_RELAXED);
    sent[rank][stage].far = gsh_proxy_sent(pe->proxy);
}

static void real_pe(int rank, int n, void *unused)
{
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    gshmem_team_t half = GSHMEM_TEAM_INVALID;
    (void)unused;
    gshmemx_set_attr_uniqueid_args(rank, n, &id, &attr);
    if (!CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_WITH_UNIQUEID, &attr), 0)) {
        exit(1);
    }
    note(rank, 0);
    void *small = gshmem_malloc(64);
    note(rank, 1);
    void *large = gshmem_malloc(4 << 20);
    CHECK(small != NULL && large != NULL);
    note(rank, 2);
    gshmem_sync_all();
    note(rank, 3);
    CHECK_EQ(gshmem_team_split_strided(GSHMEM_TEAM_WORLD, 0, 1, n / 2, NULL, 0, &half), 0);
    note(rank, 4);
    if (rank == 0) {
        const struct gsh_instance *pe = gsh_instance_bound();
        message_max = gsh_proxy_message_max(pe->proxy);
        team_units = pe->teams->n_units;
    }
    gshmem_free(large);
    gshmem_free(small);
    gshmem_finalize();
}

/* ---- the simulated ones ---- */

static struct sim_counts sum(const struct sim *s, const char *const *names)
{
    struct sim_counts all = {0};
    for (; *names != NULL; names++) {
        for (int i = 0; i < sim_n_phases(s); i++) {
            const struct sim_phase *p = sim_phase(s, i);
            if (strcmp(p->name, *names) == 0) {
                all.messages += p->all.messages;
                all.bytes += p->all.bytes;
            }
        }
    }
    return all;
}

static void compare(const struct sim *s, int n, const char *const *names, int stage, bool is_tcp)
{
    struct sim_counts real = {0}, simulated = sum(s, names);
    for (int rank = 0; rank < n; rank++) {
        const struct sent *now = &sent[rank][stage];
        const struct sent before = stage > 0 ? now[-1] : (struct sent){{0}, {0}, {0}};
        real.messages += is_tcp ? now->tcp.messages - before.tcp.messages
                                : now->far.messages - before.far.messages;
        real.bytes +=
            is_tcp ? now->tcp.bytes - before.tcp.bytes : now->far.bytes - before.far.bytes;
    }
    if (!CHECK_EQ(simulated.messages, real.messages) || !CHECK_EQ(simulated.bytes, real.bytes)) {
        printf("%d PEs, %s\n", n, names[0]);
    }
}

/* Threads, on a host of many nodes. */
static void test_counts(int n, int node_pes)
{
    static const char *const
        tcp[] = {"rendezvous", "links", "identities", "heap", NULL},
        *const none[] = {"nothing over the proxy", NULL}, *const malloc_small[] = {"malloc", NULL},
        *const malloc_large[] = {"malloc that grows", NULL}, *const sync[] = {"sync_all", NULL},
        *const split[] = {"team_split", NULL};
    static struct test_thread threads[MAX_PES];
    char text[16];
    struct sim_model model;
    snprintf(text, sizeof(text), "%d", node_pes);
    setenv("GSHMEM_NODE_PES", text, 1);
    if (!CHECK_EQ(gshmemx_get_uniqueid(&id), 0)) {
        return;
    }
    test_start_threads(n, real_pe, NULL, threads);
    test_join_threads(n, threads);
    sim_model_init(&model);
    model.node_pes = node_pes;
    model.host_nodes = n;
    model.message_max = (double)message_max;
    model.team_units = (double)team_units;
    struct sim *s = sim_create(&model, n, 1);
    sim_add_init(s);
    sim_add_malloc(s);
    sim_add_grow(s);
    sim_add_sync(s);
    sim_add_split(s);
    CHECK(sim_run(s, (struct sim_fault){.pe = -1}));
    /* Who tells where partners are: of each, at most as many as there are rounds. */
    const uint64_t rounds = (uint64_t)gsh_uid_rounds(n);
    for (int rank = 0; rank < n; rank++) {
        CHECK(sent[rank][0].asked.messages <= rounds * rounds);
    }
    compare(s, n, tcp, 0, true);
    compare(s, n, none, 0, false);
    compare(s, n, malloc_small, 1, false);
    compare(s, n, malloc_large, 2, false);
    compare(s, n, sync, 3, false);
    compare(s, n, split, 4, false);
    sim_destroy(s);
}

/* A process that gshmemrun has started: over TCP all PEs send the same, which is not what threads
 * of one process do. Each pretended host is a node. */
static int process_main(void)
{
    static const char *const tcp[] = {"rendezvous", "links", "identities", "heap", NULL};
    struct sim_model model;
    gshmem_init();
    const struct gsh_instance *pe = gsh_instance_bound();
    const uint64_t n = (uint64_t)gshmem_n_pes();
    sim_model_init(&model);
    model.node_pes = host_pes > 0 ? host_pes : pe->env.node_pes > 0 ? pe->env.node_pes : 1;
    model.host_nodes = host_pes > 0 ? 1 : (double)n;
    model.dealt_hosts = dealt_hosts;
    model.mixed_hosts = mixed_hosts;
    model.launcher_carries = pe->bootstrap->launcher != NULL;
    struct sim *s = sim_create(&model, (int)n, 1);
    sim_add_init(s);
    CHECK(sim_run(s, (struct sim_fault){.pe = -1}));
    const struct sim_counts all = sum(s, tcp);
    const struct gsh_bootstrap_counts mine = pe->bootstrap->counts;
    struct gsh_bootstrap_counts *theirs = calloc(n, sizeof(*theirs)), real = {0};
    CHECK_EQ(pe->bootstrap->ops->allgather(pe->bootstrap, &mine, sizeof(mine), theirs), GSH_OK);
    for (uint64_t i = 0; i < n; i++) {
        real.messages += theirs[i].messages;
        real.bytes += theirs[i].bytes;
    }
    free(theirs);
    CHECK_EQ(all.messages, real.messages);
    CHECK_EQ(all.bytes, real.bytes);
    sim_destroy(s);
    gshmem_finalize();
    return test_result();
}

/* ---- many ---- */

static const struct sim_phase *phase_of(const struct sim *s, const char *name)
{
    for (int i = 0; i < sim_n_phases(s); i++) {
        if (strcmp(sim_phase(s, i)->name, name) == 0) {
            return sim_phase(s, i);
        }
    }
    CHECK(false);
    return sim_phase(s, 0);
}

static struct sim *make_job(int n, uint64_t seed)
{
    struct sim_model model;
    sim_model_init(&model);
    struct sim *s = sim_create(&model, n, seed);
    sim_add_init(s);
    sim_add_malloc(s);
    sim_add_failed_malloc(s, SIM_ONE_FAILS);
    sim_add_sync(s);
    sim_add_split(s);
    sim_add_coll(s, "reduce", GSH_COLL_REDUCE, 8, true);
    sim_add_coll(s, "large reduce", GSH_COLL_REDUCE, 1000000, false);
    sim_add_coll(s, "broadcast", GSH_COLL_BROADCAST, 1000000, false);
    return s;
}

/* 125 nodes of 8. */
static void test_thousand(void)
{
    struct sim *s = make_job(1000, 1), *again = make_job(1000, 1), *other = make_job(1000, 2);
    CHECK(sim_run(s, (struct sim_fault){.pe = -1}));
    CHECK(sim_run(again, (struct sim_fault){.pe = -1}));
    CHECK(sim_run(other, (struct sim_fault){.pe = -1}));
    CHECK_EQ(phase_of(s, "rendezvous")->rounds, 2); /* there and back */
    CHECK_EQ(phase_of(s, "links")->rounds, 2);
    CHECK_EQ(phase_of(s, "identities")->rounds, 10);
    CHECK_EQ(phase_of(s, "heap")->rounds, 7); /* once those of a node have combined */
    CHECK_EQ(phase_of(s, "malloc")->rounds, 7);
    CHECK_EQ(phase_of(s, "malloc that fails")->rounds, (1 + 1 + 7 + 1) * 7);
    CHECK_EQ(phase_of(s, "malloc that fails")->most.bytes, 70 * 64);
    CHECK_EQ(phase_of(s, "sync_all")->rounds, 7);
    CHECK_EQ(phase_of(s, "reduce")->rounds, 7);
    CHECK(phase_of(s, "team_split")->rounds <= 2 * 10);
    CHECK_EQ(phase_of(s, "broadcast")->all.near_messages,
             phase_of(other, "broadcast")->all.near_messages);
    CHECK_EQ(sim_end_ns(s), sim_end_ns(again));
    CHECK(sim_end_ns(s) != sim_end_ns(other));
    CHECK_EQ(sim_n_events(s), sim_n_events(other));
    sim_destroy(s);
    sim_destroy(again);
    sim_destroy(other);
}

/* The same, dealt to the nodes one by one: they hear of their node alone, but do not begin on it.
 */
static void test_dealt(void)
{
    struct sim_model model;
    sim_model_init(&model);
    model.dealt_hosts = 125;
    struct sim *s = sim_create(&model, 1000, 1);
    sim_add_init(s);
    sim_add_sync(s);
    CHECK(sim_run(s, (struct sim_fault){.pe = -1}));
    CHECK_EQ(phase_of(s, "identities")->rounds, 10);
    CHECK(phase_of(s, "identities")->most.bytes < 2000);
    CHECK_EQ(phase_of(s, "heap")->rounds, 10);
    CHECK_EQ(phase_of(s, "sync_all")->rounds, 7);
    sim_destroy(s);
}

/* What each of very many PEs keeps of the others once init is over. */
static void test_memory(void)
{
    struct sim_model model;
    sim_model_init(&model);
    struct sim *s = sim_create(&model, 100000, 1);
    uint64_t kept = 0;
    sim_add_init(s);
    for (int i = 0; i < sim_n_phases(s); i++) {
        kept += sim_phase(s, i)->keeps_bytes;
    }
    CHECK(kept > 1000000 && kept <= 16 * 100000);
    sim_destroy(s);
}

/* So many PEs come to the rendezvous by relays, each of 16 or of what a node has left, with as many
 * messages as otherwise; dealt to nodes, too. One that never comes is named, and no other. */
static void test_relays(void)
{
    enum { N = 1024 };
    static const char missing[] = "1 of 1024 PEs did not come within 300 s; missing: 512";
    static const struct {
        int on_node, dealt_hosts, n_connections;
    } cases[] = {{8, 0, N / 8}, {1, 0, N}, {20, 0, 51 * 2 + 1}, {8, N / 8, N / 8}, {1, 3, 3 * 22}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sim_model model;
        sim_model_init(&model);
        model.node_pes = cases[i].on_node;
        model.dealt_hosts = cases[i].dealt_hosts;
        for (int pe = -1; pe <= N / 2; pe += N / 2 + 1) {
            struct sim *s = sim_create(&model, N, 1);
            sim_add_init(s);
            CHECK(sim_run(s, (struct sim_fault){.pe = pe}));
            if (pe < 0) {
                CHECK_EQ(phase_of(s, "rendezvous")->all.messages, N);
                CHECK_EQ(phase_of(s, "rendezvous")->most.messages, N);
                CHECK_EQ(sim_n_connections(s), cases[i].n_connections);
            } else if (!CHECK(strcmp(sim_rendezvous_text(s), missing) == 0)) {
                printf("%s\n", sim_rendezvous_text(s));
            }
            sim_destroy(s);
        }
    }
}

static void test_faults(int n)
{
    struct sim *all = make_job(n, 1);
    const int n_calls = sim_n_calls(all);
    struct sim_model model;
    char missing[32];
    snprintf(missing, sizeof(missing), "missing: %d", n / 3);
    sim_model_init(&model);
    for (int call = 0; call < n_calls; call++) {
        for (int hangs = 0; hangs < 2; hangs++) {
            struct sim *s = make_job(n, 1);
            CHECK(sim_run(s, (struct sim_fault){n / 3, call, hangs != 0}));
            const struct sim_notice notice = sim_noticed(s);
            /* those who are done no longer wait for it */
            const bool is_good = CHECK_EQ(notice.n_waiting, 0) &&
                                 CHECK_EQ(notice.n_noticed + notice.n_done, n - 1) &&
                                 (call + 4 > n_calls || CHECK_EQ(notice.n_noticed, n - 1));
            if (!is_good) {
                printf("%s, %s\n", sim_phase_of_call(s, call), hangs != 0 ? "hangs" : "dies");
            }
            CHECK_EQ(call == 0, strstr(sim_rendezvous_text(s), missing) != NULL);
            CHECK(hangs != 0 || call == 0 || (double)(notice.last - notice.at) < model.timeout);
            sim_destroy(s);
        }
    }
    sim_destroy(all);
}

/* How long init takes a PE of 8 nodes at most, of which `open_ns` are work of its own. */
static uint64_t init_ns(double n_cores, double open_ns)
{
    struct sim_model model;
    sim_model_init(&model);
    model.node_pes = 1;
    model.cores = n_cores;
    model.open = open_ns;
    struct sim *s = sim_create(&model, 8, 1);
    sim_add_scale(s);
    CHECK(sim_run(s, (struct sim_fault){.pe = -1}));
    const uint64_t ns = phase_of(s, "init")->longest_ns;
    CHECK_EQ(phase_of(s, "team")->rounds, 2 * 3);
    CHECK_EQ(phase_of(s, "barrier")->rounds, SIM_SCALE_BARRIERS * 3);
    sim_destroy(s);
    return ns;
}

/* A second's work of each of 8 PEs takes as long as they have to share cores for it. */
static void test_cores(void)
{
    const uint64_t second = 1000000000, alone = init_ns(0, 1e9);
    CHECK(alone > second && alone < second + second / 10);
    CHECK_EQ(init_ns(9, 1e9), alone); /* one each, and one for the rendezvous */
    for (unsigned cores = 1; cores <= 4; cores *= 2) {
        const uint64_t ns = init_ns(cores, 1e9);
        CHECK(ns > 8 / cores * second && ns < 8 / cores * second + second / 10);
        CHECK(init_ns(cores, 0) > init_ns(cores * 2, 0));
    }
}

static void test_goal(void)
{
    const char name[] = "sim_test.goal";
    struct sim *s = make_job(16, 1);
    char line[128];
    int n_ranks = 0, n_sends = 0, n_receives = 0;
    CHECK(sim_write_goal(s, name));
    FILE *file = fopen(name, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        n_ranks += strncmp(line, "rank ", 5) == 0;
        n_sends += strstr(line, ": send ") != NULL;
        n_receives += strstr(line, ": recv ") != NULL;
    }
    CHECK_EQ(n_ranks, 16);
    CHECK(n_sends > 0);
    CHECK_EQ(n_sends, n_receives);
    if (file != NULL) {
        fclose(file);
    }
    remove(name);
    sim_destroy(s);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "processes") == 0) {
        host_pes = argc == 3 ? atoi(argv[2]) : 0;
        dealt_hosts = argc > 3 && strcmp(argv[2], "dealt") == 0 ? atoi(argv[3]) : 0;
        mixed_hosts = argc > 3 && strcmp(argv[2], "mixed") == 0 ? atoi(argv[3]) : 0;
        return process_main();
    }
    if (argc > 2) {
        setenv("GSHMEM_DEVICE", "cpu", 1);
        test_counts(atoi(argv[1]) <= MAX_PES ? atoi(argv[1]) : MAX_PES, atoi(argv[2]));
        return test_result();
    }
    setenv("GSHMEM_DEVICE", "cpu", 1);
    for (int n = 2; n <= 8; n += n < 5 ? 1 : 3) {
        test_counts(n, 1);
    }
    test_counts(8, 2);
    test_counts(6, 3);
    test_counts(16, 8);
    test_thousand();
    test_dealt();
    test_memory();
    test_relays();
    test_cores();
    test_faults(24);
    test_faults(64); /* some PEs begin with the heap while others still learn of their hosts */
    test_goal();
    return test_result();
}
