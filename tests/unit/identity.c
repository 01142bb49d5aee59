/* Proves that init finds the same nodes and the same PEs of its host, process and bells where the
 * bootstrap knows hosts, and only PEs of a host tell each other of themselves, as where all tell
 * all; with hosts of any numbers of PEs, and divided by GSHMEM_NODE_PES. That PEs
 * of hosts in another order come to the same by a table, and so do PEs that cannot tell their
 * host. And that a PE which told the rendezvous another host ends init with a line. PEs are
 * threads, on hosts by their numbers. SPDX-License-Identifier: Apache-2.0 */
#include "base/host.h"
#include "base/log.h"
#include "base/process.h"
#include "bootstrap/uid.h"
#include "runtime/init/identity.h"
#include "runtime/instance/bell.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "tests/rig/bootstrap_conform.h"

enum { MAX_PES = 24 };

static const struct gsh_uid_options options = {
    .ifname = "lo", .family = "ipv4", .timeout_ns = 60 * SECOND};

static _Thread_local uint64_t my_host;

/* In place of base/host.c. */
uint64_t gsh_host_id(void)
{
    return my_host;
}

struct job {
    int node_pes;
    const char *hosts; /* a letter for each PE's; '-': the system does not say */
    bool is_to_all;    /* whatever the bootstrap knows */
    int host_ranks;    /* what it is to know */
    int liar;          /* this PE's host is not what it told; -1: none */
    struct gsh_uid id;
    struct gsh_bootstrap_ops ops[MAX_PES]; /* if is_to_all */
    struct gsh_instance *pes[MAX_PES];
    enum gsh_result results[MAX_PES];
    char texts[MAX_PES][128];
};

static void be_pe(int rank, int n, void *arg)
{
    struct job *job = arg;
    struct gsh_uid_options mine = options;
    struct gsh_instance *pe = gsh_instance_allocate();
    job->pes[rank] = pe;
    my_host = mine.host = job->hosts[rank] == '-' ? 0 : (uint64_t)job->hosts[rank] << 40;
    if (!CHECK_EQ(gsh_env_read(&pe->env), GSH_OK) ||
        !CHECK_EQ(gsh_bootstrap_uid_create(&job->id, rank, n, &mine, &pe->bootstrap), GSH_OK)) {
        exit(1);
    }
    CHECK_EQ(pe->bootstrap->hosts.most, job->host_ranks);
    if (job->is_to_all) {
        job->ops[rank] = *pe->bootstrap->ops;
        job->ops[rank].gather_hosts = NULL;
        pe->bootstrap->ops = &job->ops[rank];
        pe->bootstrap->hosts.most = 0;
    }
    my_host += rank == job->liar;
    pe->my_pe = rank;
    pe->n_pes = n;
    pe->env.node_pes = job->node_pes;
    job->results[rank] = gsh_identity_exchange(pe);
    snprintf(job->texts[rank], sizeof(job->texts[rank]), "%s", gsh_last_error());
    CHECK_EQ(pe->bootstrap->ops->barrier(pe->bootstrap), GSH_OK);
}

static void start(struct job *job)
{
    CHECK_EQ(gsh_uid_create(&options, &job->id), GSH_OK);
    test_on_threads((int)strlen(job->hosts), be_pe, job);
}

static void end(struct job *job)
{
    for (size_t i = 0; i < strlen(job->hosts); i++) {
        struct gsh_instance *pe = job->pes[i];
        gsh_identity_forget(pe);
        gsh_bell_close(&pe->bell);
        pe->bootstrap->ops->destroy(pe->bootstrap);
        free(pe->peers);
        free(pe->near);
        free(pe->host_of_node);
        free(pe->host_pes);
        gsh_instance_release(pe);
    }
}

/* a has heard of all, b perhaps of its host alone. */
static int n_differences(const struct gsh_instance *a, const struct gsh_instance *b)
{
    int n = (a->n_nodes != b->n_nodes) + (a->n_host_pes != b->n_host_pes) +
            ((a->bell == NULL) != (b->bell == NULL));
    for (int i = 0; i < a->n_pes && n == 0; i++) {
        const bool is_of_host = gsh_host_of(a, i) == gsh_host_of(a, a->my_pe);
        const struct gsh_near *near = gsh_near_of(a, i), *its = gsh_near_of(b, i);
        n += a->peers[i].node != b->peers[i].node;
        n += a->peers[i].node_index != b->peers[i].node_index;
        n += is_of_host != (gsh_host_of(b, i) == gsh_host_of(b, b->my_pe));
        n += is_of_host && !gsh_is_of_process(b, i);
        n += (near != NULL) != (its != NULL);
        n += near != NULL && its != NULL &&
             (near->instance->my_pe != i || its->instance->my_pe != i || its->bell == 0);
        n += gsh_process_of(a, i) != gsh_process_of(b, i);
    }
    for (int i = 0; i < a->n_host_pes && n == 0; i++) {
        n += a->host_pes[i].pe != b->host_pes[i].pe;
    }
    return n;
}

/* Nodes in the order of their first PEs, which are of the letter's host. */
static int n_wrong(const struct gsh_instance *pe, const char *hosts, int node_pes)
{
    int n_nodes = 0, wrong = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        int before = 0, latest = -1;
        for (int k = 0; k < i; k++) {
            before += hosts[k] == hosts[i];
            latest = hosts[k] == hosts[i] ? k : latest;
        }
        const bool is_first = node_pes > 0 ? before % node_pes == 0 : before == 0;
        wrong += pe->peers[i].node != (is_first ? n_nodes : pe->peers[latest].node);
        wrong += (int)pe->peers[i].node_index != (node_pes > 0 ? before % node_pes : before);
        wrong +=
            (gsh_host_of(pe, i) == gsh_host_of(pe, pe->my_pe)) != (hosts[i] == hosts[pe->my_pe]);
        n_nodes += is_first;
    }
    return wrong + (pe->n_nodes != n_nodes);
}

static void test_same(const char *hosts, int node_pes, int host_ranks)
{
    static struct job all, known;
    all = (struct job){node_pes, hosts, .is_to_all = true, .host_ranks = host_ranks, .liar = -1};
    known = (struct job){node_pes, hosts, .host_ranks = host_ranks, .liar = -1};
    start(&all);
    start(&known);
    for (size_t i = 0; i < strlen(hosts); i++) {
        if (!CHECK_EQ(all.results[i], GSH_OK) || !CHECK_EQ(known.results[i], GSH_OK) ||
            !CHECK_EQ(n_differences(all.pes[i], known.pes[i]), 0) ||
            !CHECK_EQ(n_wrong(known.pes[i], hosts, node_pes), 0)) {
            printf("PE %zu of %s, nodes of %d: %s\n", i, hosts, node_pes, known.texts[i]);
        }
    }
    end(&all);
    end(&known);
}

/* Where the system does not say which host it is, PEs of a process are of one host, and no others:
 * the process stands for the host. */
static void test_untold(void)
{
    static struct job job;
    job = (struct job){.hosts = "aa--bb", .liar = -1};
    start(&job);
    for (size_t i = 0; i < strlen(job.hosts); i++) {
        CHECK_EQ(job.results[i], GSH_OK);
        CHECK_EQ(n_wrong(job.pes[i], job.hosts, 0), 0);
        CHECK_EQ(gsh_host_of(job.pes[i], 2), 1); /* the second */
    }
    end(&job);
}

/* The PEs of its host say so; on others nobody asks. */
static void test_liar(void)
{
    static struct job job;
    for (int by_turns = 0; by_turns < 2; by_turns++) {
        const int other = by_turns != 0 ? 5 : 3; /* of its host */
        job =
            (struct job){.hosts = by_turns != 0 ? "abcabc" : "aabbcc", .host_ranks = 2, .liar = 2};
        start(&job);
        for (int i = 0; i < 6; i++) {
            CHECK_EQ(job.results[i], i == 2 || i == other ? GSH_ERR_ARG : GSH_OK);
        }
        CHECK(
            strstr(job.texts[other], "init: PE 2 is not of this host, as it told the rendezvous"));
        CHECK(strstr(job.texts[2], "is not of this host"));
        end(&job);
    }
}

int main(void)
{
    gsh_log_setup(GSH_LOG_NONE, 0, NULL);
    for (int node_pes = 0; node_pes <= 3; node_pes++) {
        test_same("aaaaa", node_pes, 5);
        test_same("ccaabb", node_pes, 2);
        test_same("aaaabbbbccccddddeeeef", node_pes, 4);
        test_same("edcba", node_pes, 1);
        test_same("aaabb", node_pes, 3);
        test_same("abcabc", node_pes, 2);
        test_same("cabcabcab", node_pes, 3);
        test_same("aabbccaabbccaab", node_pes, 6);
        test_same("abbaab", node_pes, 0);
        test_same("abbbcc", node_pes, 3);
        test_same("aaaabbbbcddddeeeee", node_pes, 5);
        test_same("abbcddeffghhi", node_pes, 0);
    }
    test_untold();
    test_liar();
    return test_result();
}
