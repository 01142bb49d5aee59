/* Proves the bootstrap over shared memory, for few ranks, which wait for each other, and for many,
 * which wait for the first: exchanges, barriers and combines in any order, a rank in another call,
 * which all hear of before they go on, also as part of their owner's call, and a rank that does not
 * come, which is the one named.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/atomic.h"
#include "base/log.h"
#include "base/util.h"
#include "bootstrap/shm.h"
#include "tests/rig/bootstrap_conform.h"

enum { MAX_RANKS = 70, ROUNDS = 12 };

static struct gsh_shm_area areas[MAX_RANKS];
static int n_without; /* atomic: ranks that have ended their wait for the one that does not come */

/* One run's ranks. */
struct run {
    int odd; /* the rank in another call, or that does not come */
    enum { TOGETHER, OTHER_CALL, ABSENT } way;
};

/* Gives up once the rank that has not come is named; 0 is what the others wait for meanwhile. */
static enum gsh_result wait_for(void *context, unsigned *backoff, uint64_t *start_ns, int rank)
{
    const struct run *run = context;
    *start_ns = *start_ns == 0 ? gsh_now_ns() : *start_ns;
    gsh_backoff(backoff);
    if (run->way == ABSENT && rank == run->odd) {
        return GSH_ERR_TIMEOUT;
    }
    return gsh_now_ns() - *start_ns > 60 * SECOND ? GSH_ERR_BUG : GSH_OK;
}

static void exchange_all(struct gsh_bootstrap *b)
{
    for (int round = 0; round < ROUNDS; round++) {
        conform_combine(b, (uint64_t)round);
        CHECK_EQ(b->ops->barrier(b), GSH_OK);
        conform_allgather(b, round % 2 == 0 ? 16 : GSH_SHM_SLOT_BYTES + 1, round);
        conform_combine(b, (uint64_t)round);
    }
}

/* Each kind of call by the odd rank while the others make each other kind. */
static void differ(struct gsh_bootstrap *b, bool is_odd)
{
    enum { GATHER, BARRIER, COMBINE, N_KINDS };
    for (int kinds = 0; kinds < N_KINDS * N_KINDS; kinds++) {
        const int kind = is_odd ? kinds / N_KINDS : kinds % N_KINDS;
        uint64_t value[2] = {0}, all[2 * MAX_RANKS];
        const enum gsh_result r = kind == GATHER ? b->ops->allgather(b, value, sizeof(value), all)
                                  : kind == BARRIER
                                      ? b->ops->barrier(b)
                                      : b->ops->combine(b, value, sizeof(value), conform_fold);
        CHECK_EQ(r, kinds % N_KINDS == kinds / N_KINDS ? GSH_OK : GSH_ERR_SYMMETRY);
    }
    exchange_all(b); /* all are in step */
}

/* As parts of calls of their own: the odd rank is in another one, and each rank gets the length of
 * one that is not in its own. */
static void differ_in_parts(struct gsh_bootstrap *b, const struct run *run)
{
    const uint64_t length = b->rank == run->odd ? 7 : 16;
    uint64_t value[2] = {UINT64_C(1) << b->rank % 64, (uint64_t)b->rank};
    struct gsh_shm_other other;
    CHECK_EQ(gsh_shm_combine(b, length, value, sizeof(value), conform_fold, &other), GSH_OK);
    CHECK_EQ(other.length, 16 + 7 - length);
    CHECK(b->rank == run->odd ? other.pe >= 0 && other.pe != run->odd : other.pe == run->odd);
    CHECK_EQ(gsh_shm_combine(b, 16, value, sizeof(value), conform_fold, &other), GSH_OK);
    CHECK_EQ(other.pe, -1);
    CHECK_EQ(value[1], (uint64_t)b->size - 1);
    CHECK_EQ(gsh_shm_combine(b, 0, NULL, 0, NULL, &other), GSH_OK);
    CHECK_EQ(other.pe, -1);
    exchange_all(b);
}

static void on_rank(int rank, int n, void *arg)
{
    struct run *run = arg;
    struct gsh_shm_area *places[MAX_RANKS];
    struct gsh_bootstrap base = {.rank = rank, .size = n}, *b = NULL;
    for (int i = 0; i < n; i++) {
        places[i] = &areas[i];
    }
    if (!CHECK_EQ(
            gsh_bootstrap_shm_create(&base, base.rank, base.size, places, NULL, wait_for, run, &b),
            GSH_OK)) {
        return;
    }
    if (run->way == TOGETHER) {
        exchange_all(b);
    } else if (run->way == OTHER_CALL) {
        differ(b, rank == run->odd);
        differ_in_parts(b, run);
    } else if (rank != run->odd) {
        CHECK_EQ(b->ops->barrier(b), GSH_ERR_TIMEOUT);
        __atomic_add_fetch(&n_without, 1, __ATOMIC_RELAXED);
    }
    b->ops->destroy(b);
}

static void run_on(int n, struct run run)
{
    memset(areas, 0, sizeof(areas));
    test_on_threads(n, on_rank, &run);
}

int main(void)
{
    gsh_log_setup(GSH_LOG_NONE, 0, NULL); /* the failures are expected */
    const int sizes[] = {1, 5, 64, 65, MAX_RANKS};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const int n = sizes[i];
        run_on(n, (struct run){.odd = -1, .way = TOGETHER});
        if (n == 1 || n == 64) {
            continue;
        }
        for (int odd = 0; odd < n; odd += n / 2) {
            run_on(n, (struct run){.odd = odd, .way = OTHER_CALL});
            n_without = 0;
            run_on(n, (struct run){.odd = odd, .way = ABSENT});
            CHECK_EQ(n_without, n - 1);
        }
    }
    return test_result();
}
