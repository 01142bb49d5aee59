/* Proves that PEs which are threads find each other by key, exchange blobs, and never hang if one
 * leaves, is missing, or was started wrongly; and the same for a job of one PE.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "tests/rig/bootstrap_conform.h"

#define MAX_THREADS 8

static int key, other_key;
static pthread_barrier_t others_gave_up;

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

static struct gsh_bootstrap *join(const void *k, int rank, int n)
{
    struct gsh_bootstrap *b = NULL;
    if (!CHECK_EQ(gsh_bootstrap_local_create(k, rank, n, 60 * SECOND, &b), GSH_OK)) {
        exit(1);
    }
    CHECK_EQ(b->rank, rank);
    CHECK_EQ(b->size, n);
    return b;
}

static void test_exchange(int rank, int n)
{
    struct gsh_bootstrap *b = join(&key, rank, n);
    conform_exchange(b, 1000000);
    b->ops->destroy(b);
}

/* Nothing holds a thread back from its next job with the same key. */
static void test_again(int rank, int n)
{
    for (int i = 0; i < 50; i++) {
        struct gsh_bootstrap *b = join(&key, rank, n);
        conform_allgather(b, 8, i);
        b->ops->destroy(b);
    }
}

/* Even and odd threads are two jobs at once. */
static void test_two_keys(int rank, int n)
{
    struct gsh_bootstrap *b = join(rank % 2 ? &key : &other_key, rank / 2, n / 2);
    conform_exchange(b, 100);
    b->ops->destroy(b);
}

static void test_one_leaves(int rank, int n)
{
    struct gsh_bootstrap *b = join(&key, rank, n);
    char all[MAX_THREADS];
    conform_allgather(b, 4, 0);
    if (rank != 2) {
        CHECK_EQ(b->ops->allgather(b, "x", 1, all), GSH_ERR_PEER);
        CHECK(strstr(gsh_last_error(), "PE 2"));
        CHECK_EQ(b->ops->barrier(b), GSH_ERR_PEER);
    }
    b->ops->destroy(b);
}

static void test_abort(int rank, int n)
{
    struct gsh_bootstrap *b = join(&key, rank, n);
    if (rank == 1) {
        b->ops->abort(b, 3, "enough");
    }
    CHECK_EQ(b->ops->barrier(b), GSH_ERR_PEER);
    CHECK(strstr(gsh_last_error(), "enough"));
    b->ops->destroy(b);
}

static void test_sizes_differ(int rank, int n)
{
    struct gsh_bootstrap *b = join(&key, rank, n);
    char mine[8] = {0}, all[8 * MAX_THREADS];
    CHECK_EQ(b->ops->allgather(b, mine, rank == 1 ? 8 : 4, all), GSH_ERR_SYMMETRY);
    b->ops->destroy(b);
}

static void test_barrier_timeout(int rank, int n)
{
    struct gsh_bootstrap *b = join(&key, rank, n);
    b->timeout_ns = SECOND / 20;
    if (rank != 0) {
        CHECK_EQ(b->ops->barrier(b), GSH_ERR_TIMEOUT);
        CHECK(strstr(gsh_last_error(), "PE 0"));
    }
    pthread_barrier_wait(&others_gave_up);
    if (rank == 0) {
        CHECK_EQ(b->ops->barrier(b), GSH_ERR_TIMEOUT);
    }
    b->ops->destroy(b);
}

static void expect_create(int rank, int n, uint64_t timeout_ns, enum gsh_result expected)
{
    struct gsh_bootstrap *b = NULL;
    CHECK_EQ(gsh_bootstrap_local_create(&key, rank, n, timeout_ns, &b), expected);
    CHECK(b == NULL);
}

static void test_same_rank(int rank, int n)
{
    expect_create(rank == 1 ? 0 : rank, n, 60 * SECOND, GSH_ERR_ARG);
}

static void test_other_size(int rank, int n)
{
    expect_create(rank, rank == 1 ? n + 1 : n, 60 * SECOND, GSH_ERR_ARG);
}

static void test_rank_out_of_range(int rank, int n)
{
    expect_create(rank == 1 ? n : rank, n, 60 * SECOND, GSH_ERR_ARG);
}

static void test_missing(int rank, int n)
{
    expect_create(rank, n + 1, SECOND / 20, GSH_ERR_TIMEOUT);
}

/* One rank will not come, before or after the others have. */
static void test_left(int rank, int n)
{
    if (rank == 1) {
        gsh_bootstrap_local_leave(&key, rank, n);
        return;
    }
    expect_create(rank, n, 60 * SECOND, GSH_ERR_PEER);
    CHECK(strstr(gsh_last_error(), "PE 1 "));
}

static void test_all_left(int rank, int n)
{
    gsh_bootstrap_local_leave(&key, rank, n);
}

static void test_single(void)
{
    struct gsh_bootstrap *b = NULL;
    if (!CHECK_EQ(gsh_bootstrap_single_create(&b), GSH_OK)) {
        return;
    }
    CHECK_EQ(b->size, 1);
    conform_exchange(b, 4096);
    b->ops->abort(b, 1, NULL);
    b->ops->destroy(b);
}

/* What another PE says is a PE of this process is looked up, and never read. */
static void test_record_of_process(void)
{
    struct gsh_instance *pe = gsh_instance_allocate(), *other = gsh_instance_allocate();
    CHECK(pe != NULL && other != NULL && pe != other);
    CHECK(gsh_instance_numbered(pe->number) == pe);
    CHECK(gsh_instance_numbered(other->number) == other);
    CHECK(gsh_instance_numbered(0) == NULL && gsh_instance_numbered(UINT32_MAX) == NULL);
    CHECK(gsh_instance_numbered((pe->number > other->number ? pe : other)->number + 1) == NULL);
    const uint32_t number = pe->number;
    gsh_instance_release(other);
    gsh_instance_release(pe);
    CHECK(gsh_instance_allocate() == pe); /* one that has ended is used again */
    CHECK_EQ(pe->number, number);
    gsh_instance_release(pe);
}

int main(void)
{
    test_record_of_process();
    test_single();
    on_threads(1, test_exchange);
    on_threads(3, test_exchange);
    on_threads(8, test_exchange);
    on_threads(4, test_again);
    on_threads(8, test_two_keys);
    on_threads(4, test_one_leaves);
    on_threads(3, test_abort);
    on_threads(2, test_sizes_differ);
    pthread_barrier_init(&others_gave_up, NULL, 3);
    on_threads(3, test_barrier_timeout);
    pthread_barrier_destroy(&others_gave_up);
    on_threads(2, test_same_rank);
    on_threads(2, test_other_size);
    on_threads(2, test_rank_out_of_range);
    on_threads(2, test_missing);
    on_threads(3, test_left);
    on_threads(3, test_all_left);
    expect_create(0, 0, 0, GSH_ERR_ARG);
    /* No failure has left anything behind. */
    on_threads(4, test_exchange);
    return test_result();
}
