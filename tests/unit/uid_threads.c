/* Proves that ranks of a unique id exchange blobs whatever their number, that they know how they
 * lie on hosts and exchange blobs within these, that an id can serve one job after another, and
 * that wrong ranks and sizes, and too few descriptors, give every rank the reason. Ranks are
 * threads, so the thread sanitizer sees the rendezvous too. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "bootstrap/uid.h"
#include "tests/rig/asking_conform.h"
#include "base/log.h"
#include "base/util.h"

#define MAX_THREADS 9

static struct gsh_uid_options options = {
    .ifname = "lo", .family = "ipv4", .timeout_ns = 60 * SECOND};
static struct gsh_uid id;

/* The main function of one of n ranks. */
typedef void rank_main(int rank, int n);

static void call(int rank, int n, void *arg)
{
    rank_main **f = arg;
    (*f)(rank, n);
}

static void on_threads(int n, rank_main *f)
{
    test_on_threads(n, call, &f);
}

static void with_new_id(int n, void (*f)(int rank, int n))
{
    if (CHECK_EQ(gsh_uid_create(&options, &id), GSH_OK)) {
        on_threads(n, f);
    }
}

static struct gsh_bootstrap *join(int rank, int n)
{
    struct gsh_bootstrap *b = NULL;
    if (!CHECK_EQ(gsh_bootstrap_uid_create(&id, rank, n, &options, &b), GSH_OK)) {
        exit(1);
    }
    CHECK_EQ(b->rank, rank);
    CHECK_EQ(b->size, n);
    /* a key of the ranks that is not in the id's bytes, nor sent */
    static const uint8_t none[GSH_KEY_BYTES];
    uint8_t *all = malloc((size_t)n * sizeof(none));
    CHECK(memcmp(b->shared_key, none, sizeof(none)) != 0);
    CHECK(memmem(id.bytes, sizeof(id.bytes), b->shared_key, 8) == NULL);
    CHECK_EQ(b->ops->allgather(b, b->shared_key, sizeof(none), all), GSH_OK);
    for (int i = 0; i < n; i++) {
        CHECK(memcmp(all + (size_t)i * sizeof(none), b->shared_key, sizeof(none)) == 0);
    }
    free(all);
    return b;
}

static void test_exchange(int rank, int n)
{
    struct gsh_bootstrap *b = join(rank, n);
    CHECK_EQ(b->hosts.most, 0); /* nobody says */
    conform_exchange(b, n < 4 ? 1000000 : 65537);
    b->ops->destroy(b);
}

static void test_again(int rank, int n)
{
    for (int i = 0; i < 10; i++) {
        struct gsh_bootstrap *b = join(rank, n);
        conform_allgather(b, 8, i);
        CHECK_EQ(b->ops->barrier(b), GSH_OK);
        b->ops->destroy(b);
    }
}

/* ---- what ranks look up of each other ---- */

static void test_look_up(int rank, int n)
{
    struct gsh_bootstrap *b = join(rank, n);
    asking_conform(b);
    b->ops->destroy(b);
}

static void test_look_up_past(int rank, int n)
{
    struct gsh_bootstrap *b = join(rank, n);
    asking_conform_past(b);
    b->ops->destroy(b);
}

/* What all epoll descriptors of this process watch together. */
static int count_watched(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++) {
        char path[64], line[256];
        snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
        FILE *info = fopen(path, "re");
        while (info != NULL && fgets(line, sizeof(line), info) != NULL) {
            n += strncmp(line, "tfd:", 4) == 0;
        }
        if (info != NULL) {
            fclose(info);
        }
    }
    return n;
}

/* What answers the questions of others is not woken by links, which end as ranks leave. */
static void test_watches_no_link(int rank, int n)
{
    struct gsh_bootstrap *b = join(rank, n);
    CHECK_EQ(gsh_uid_publish(b->asking, 1, "x", 1), GSH_OK);
    CHECK_EQ(b->ops->barrier(b), GSH_OK);
    CHECK(count_watched() <= n); /* where each listens */
    CHECK_EQ(b->ops->barrier(b), GSH_OK);
    b->ops->destroy(b);
}

/* ---- hosts ---- */

/* A letter for each rank's host. */
static const char *hosts;
static int host_ranks; /* what the ranks are to know */

static struct gsh_bootstrap *join_from(char host, int rank, int n)
{
    struct gsh_bootstrap *b = NULL;
    struct gsh_uid_options mine = options;
    mine.host = (uint64_t)host;
    if (!CHECK_EQ(gsh_bootstrap_uid_create(&id, rank, n, &mine, &b), GSH_OK)) {
        exit(1);
    }
    return b;
}

static void test_hosts(int rank, int n)
{
    struct gsh_bootstrap *b = join_from(hosts[rank], rank, n);
    CHECK_EQ(b->hosts.most, host_ranks);
    const struct gsh_host_ranks host = gsh_host_range(b);
    for (int i = 0; i < n && host_ranks > 0; i++) {
        CHECK_EQ(gsh_host_ranks_index(&host, i) >= 0, hosts[i] == hosts[rank]);
    }
    conform_exchange(b, 4096);
    b->ops->destroy(b);
}

static void with_hosts(const char *letters, int expected)
{
    hosts = letters;
    host_ranks = expected;
    with_new_id((int)strlen(letters), test_hosts);
}

/* Whether it waits for the one that leaves, or for one that waits for it. */
static void test_host_leaves(int rank, int n)
{
    struct gsh_bootstrap *b = join_from((char)('a' + rank / 3), rank, n);
    uint64_t value[2] = {0};
    char theirs[3];
    CHECK_EQ(b->hosts.most, 3);
    conform_gather_host(b, 100, 0);
    if (rank != 3) {
        CHECK_EQ(gsh_gather_host(b, "x", 1, theirs, value, sizeof(value), conform_fold),
                 GSH_ERR_PEER);
        CHECK(strstr(gsh_last_error(), "PE 3"));
    }
    b->ops->destroy(b);
}

/* A rank that takes hosts for known, while the other does not, is in another call. */
static void test_hosts_differ(int rank, int n)
{
    struct gsh_bootstrap *b = join_from('a', rank, n);
    uint64_t value[2] = {0};
    char theirs[2];
    b->hosts.most = rank == 0 ? 0 : b->hosts.most;
    enum gsh_result r = gsh_gather_host(b, "x", 1, theirs, value, sizeof(value), conform_fold);
    CHECK(r == GSH_ERR_BUG || r == GSH_ERR_PEER || r == GSH_ERR_SYMMETRY);
    b->ops->destroy(b);
}

static void test_sizes_differ(int rank, int n)
{
    struct gsh_bootstrap *b = join(rank, n);
    char mine[8] = {0}, all[8 * MAX_THREADS];
    CHECK_EQ(b->ops->allgather(b, mine, rank == 1 ? 8 : 4, all), GSH_ERR_SYMMETRY);
    CHECK_EQ(b->ops->barrier(b), GSH_ERR_PEER);
    b->ops->destroy(b);
}

/* Each rank, whether it waits for the one that leaves or for one that waits for it. */
static void test_one_leaves(int rank, int n)
{
    struct gsh_bootstrap *b = join(rank, n);
    char all[MAX_THREADS];
    conform_allgather(b, 100, 0);
    if (rank != 3) {
        CHECK_EQ(b->ops->allgather(b, "x", 1, all), GSH_ERR_PEER);
        CHECK(strstr(gsh_last_error(), "PE 3"));
    }
    b->ops->destroy(b);
}

static void test_abort(int rank, int n)
{
    struct gsh_bootstrap *b = join(rank, n);
    /* Otherwise a rank that is still linking up would learn it there. */
    CHECK_EQ(b->ops->barrier(b), GSH_OK);
    if (rank == 1) {
        b->ops->abort(b, 1, "enough");
    } else {
        CHECK_EQ(b->ops->barrier(b), GSH_ERR_PEER);
    }
    b->ops->destroy(b);
}

static void expect_create(int rank, int n, enum gsh_result expected, const char *text)
{
    struct gsh_bootstrap *b = NULL;
    CHECK_EQ(gsh_bootstrap_uid_create(&id, rank, n, &options, &b), expected);
    CHECK(b == NULL);
    if (!CHECK(strstr(gsh_last_error(), text))) {
        fprintf(stderr, "the error was: %s\n", gsh_last_error());
    }
}

static void test_same_rank(int rank, int n)
{
    expect_create(rank == 2 ? 0 : rank, n, GSH_ERR_ARG, "came as PE 0");
}

static void test_other_size(int rank, int n)
{
    expect_create(rank, rank == 1 ? n - 1 : n, GSH_ERR_ARG, "was started as one of");
}

static void test_rank_out_of_range(int rank, int n)
{
    expect_create(rank == 2 ? -1 : rank, n, GSH_ERR_ARG, "PE number -1 is not in 0 .. 2");
}

static void test_no_ranks(int rank, int n)
{
    (void)n;
    expect_create(rank, 0, GSH_ERR_ARG, "one of 0");
}

/* The first rank knows at once that the rendezvous cannot hold them all. */
static void test_few_files(int rank, int n)
{
    (void)n;
    expect_create(rank, 257, GSH_ERR_SYSTEM, "a start-up of 257 PEs needs more than the 256 descr");
}

/* Nor their relays, of which there is one for 16 ranks at least. */
static void test_few_files_of_relays(int rank, int n)
{
    (void)n;
    expect_create(rank, 256 * 16 + 1, GSH_ERR_SYSTEM,
                  "a start-up of 4097 PEs needs more than the 256 descr");
}

static void with_few_files(void (*test)(int rank, int n))
{
    struct rlimit before, few;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 256;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    with_new_id(1, test);
    gsh_uid_drop(&id); /* it would tell the others */
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* Set if the rendezvous gave up before both ranks had come, which a busy machine may cause. */
static bool was_too_early;

static void test_missing(int rank, int n)
{
    struct gsh_bootstrap *b = NULL;
    enum gsh_result r = gsh_bootstrap_uid_create(&id, rank, n + 2, &options, &b);
    CHECK(r != GSH_OK && b == NULL);
    if (r != GSH_ERR_TIMEOUT || !strstr(gsh_last_error(), "missing: 2 3")) {
        __atomic_store_n(&was_too_early, true, __ATOMIC_RELAXED);
    }
}

/* The rendezvous gives up before the ranks do, so they see its reason. */
static void test_missing_within(uint64_t limit_ns)
{
    was_too_early = false;
    options.timeout_ns = limit_ns;
    CHECK_EQ(gsh_uid_create(&options, &id), GSH_OK);
    options.timeout_ns = 60 * SECOND;
    on_threads(2, test_missing);
}

/* The threads that served end by themselves, after the ranks. */
static void expect_nothing_left(int n_fds)
{
    for (uint64_t end = gsh_now_ns() + 20 * SECOND; gsh_now_ns() < end;) {
        if (test_count_fds() == n_fds) {
            return;
        }
        sched_yield();
    }
    CHECK_EQ(test_count_fds(), n_fds);
}

int main(void)
{
    gsh_log_setup(GSH_LOG_NONE, 0, NULL);
    int n_fds = test_count_fds();
    for (int n = 1; n <= MAX_THREADS; n += n < 4 ? 1 : 4) {
        with_new_id(n, test_exchange);
    }
    with_new_id(8, test_watches_no_link);
    with_new_id(5, test_look_up);
    with_new_id(9, test_look_up);
    with_new_id(8, test_look_up_past);
    with_hosts("a", 1);
    with_hosts("aab", 2);
    with_hosts("abc", 1);
    with_hosts("bbbaaac", 3);
    with_hosts("aaaaabbbbb", 5);
    with_hosts("aabbccdde", 2);
    with_hosts("abab", 2);
    with_hosts("abcabcabca", 4);
    with_hosts("aabbccaabbc", 4);
    with_hosts("aaaabbbbaaaabb", 8);
    with_hosts("abba", 0);
    with_hosts("abb", 2);
    with_hosts("abbccccdee", 4);
    with_hosts("aaaaabcccccccc", 8);
    with_hosts("abbcddeffghhi", 0);
    with_new_id(8, test_host_leaves);
    with_new_id(2, test_hosts_differ);
    with_new_id(8, test_one_leaves);
    with_new_id(3, test_abort);
    with_new_id(2, test_sizes_differ);
    with_new_id(3, test_same_rank);
    with_new_id(4, test_other_size);
    with_new_id(3, test_rank_out_of_range);
    with_new_id(1, test_no_ranks);
    with_few_files(test_few_files);
    with_few_files(test_few_files_of_relays);

    test_missing_within(SECOND / 4);
    if (was_too_early) {
        test_missing_within(20 * SECOND);
    }
    CHECK(!was_too_early);

    expect_nothing_left(n_fds);
    options.serves_again = true;
    with_new_id(3, test_again);
    on_threads(5, test_again);
    on_threads(3, test_same_rank);
    on_threads(3, test_exchange);
    return test_result();
}
