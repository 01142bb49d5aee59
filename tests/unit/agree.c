/* Proves that PEs gather no list of all votes, and that each notices one vote that differs or
 * fails, names who did so, and has its words, with a bootstrap that combines and with one that does
 * not, for any number of PEs; and that PEs with different texts have both, and stay in step.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "bootstrap/agree.h"
#include "tests/rig/bootstrap_conform.h"

enum { MAX_PES = 9 };

static char key;
static int n_gathered; /* atomic: allgathers of votes */

/* ---- a bootstrap that combines as one over messages would ---- */

struct combining {
    struct gsh_bootstrap base;
    struct gsh_bootstrap *inner;
};

static enum gsh_result do_allgather(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                    void *all)
{
    struct gsh_bootstrap *inner = ((struct combining *)b)->inner;
    __atomic_add_fetch(&n_gathered, 1, __ATOMIC_RELAXED);
    return inner->ops->allgather(inner, mine, bytes, all);
}

static enum gsh_result do_barrier(struct gsh_bootstrap *b)
{
    struct gsh_bootstrap *inner = ((struct combining *)b)->inner;
    return inner->ops->barrier(inner);
}

static enum gsh_result do_combine(struct gsh_bootstrap *b, void *mine, size_t bytes,
                                  void (*fold)(void *into, const void *from))
{
    struct gsh_bootstrap *inner = ((struct combining *)b)->inner;
    uint64_t all[MAX_PES][GSH_COMBINE_MAX_BYTES / sizeof(uint64_t)];
    uint64_t padded[GSH_COMBINE_MAX_BYTES / sizeof(uint64_t)] = {0};
    CHECK(bytes <= GSH_COMBINE_MAX_BYTES);
    for (int distance = 1; distance < b->size; distance *= 2) {
        memcpy(padded, mine, bytes);
        enum gsh_result r = inner->ops->allgather(inner, padded, sizeof(padded), all);
        if (r != GSH_OK) {
            return r;
        }
        fold(mine, all[(b->rank + distance) % b->size]);
    }
    return GSH_OK;
}

static const struct gsh_bootstrap_ops combining_ops = {
    .name = "combining", .allgather = do_allgather, .barrier = do_barrier, .combine = do_combine};

/* ---- votes ---- */

struct votes {
    bool combines;
    int odd; /* the PE that votes otherwise; -1: none */
    enum { DIFFERENT_CALL, DIFFERENT_SIZE, FAILED, FAILED_AFTER_LOSS, N_WAYS } way;
    enum gsh_result results[MAX_PES];
    char texts[MAX_PES][256];
};

static void vote(int rank, int n, void *arg)
{
    struct votes *v = arg;
    struct combining c = {0};
    struct gsh_agreement a;
    struct gsh_vote mine = {.call = GSH_VOTE_MALLOC, .flags = rank == 0 ? 3 : 6, .args = {64, 8}};
    uint16_t flags = 0;
    if (!CHECK_EQ(gsh_bootstrap_local_create(&key, rank, n, 60 * SECOND, &c.inner), GSH_OK)) {
        return;
    }
    c.base = *c.inner;
    c.base.ops = &combining_ops;
    CHECK_EQ(gsh_agreement_init(&a, v->combines ? &c.base : c.inner), GSH_OK);
    if (rank == v->odd && v->way == DIFFERENT_CALL) {
        mine.call = GSH_VOTE_FREE;
    } else if (rank == v->odd && v->way == DIFFERENT_SIZE) {
        mine.args[0] = 65;
    } else if (rank == v->odd) {
        mine.outcome = gsh_fail(GSH_ERR_NOMEM, "nothing left");
    } else if (v->odd >= 0 && v->way == FAILED_AFTER_LOSS) {
        mine.outcome = gsh_fail(GSH_ERR_PEER, "lost another");
    }
    v->results[rank] = gsh_agree(&a, mine, "gshmem_malloc of 64 bytes", &flags);
    snprintf(v->texts[rank], sizeof(v->texts[rank]), "%s", gsh_last_error());
    CHECK_EQ(flags, v->results[rank] != GSH_OK ? 0 : n == 1 ? 3 : 2);
    gsh_agreement_finish(&a);
    c.inner->ops->destroy(c.inner);
}

static void test_odd(int n, int odd, int way)
{
    struct votes combined = {.combines = true, .odd = odd, .way = way};
    struct votes gathered = {.combines = false, .odd = odd, .way = way};
    const enum gsh_result failures[N_WAYS] = {GSH_ERR_SYMMETRY, GSH_ERR_SYMMETRY, GSH_ERR_NOMEM,
                                              GSH_ERR_NOMEM};
    /* a PE that differs is compared with PE 0; if it is PE 0, PE 1 is the first to differ */
    const char *const words[N_WAYS] = {
        odd == 0 ? "PE 1 called gshmem_malloc while PE 0 called gshmem_free" : "called gshmem_free",
        odd == 0 ? "PE 0 asks for 65 bytes" : "asks for 65 bytes", "nothing left", "nothing left"};
    char culprit[16];
    snprintf(culprit, sizeof(culprit), "PE %d", odd == 0 && way < FAILED ? 1 : odd);
    test_on_threads(n, vote, &combined);
    test_on_threads(n, vote, &gathered);
    for (int rank = 0; rank < n; rank++) {
        CHECK_EQ(combined.results[rank], failures[way]);
        CHECK_EQ(gathered.results[rank], failures[way]);
        CHECK_STR(combined.texts[rank], gathered.texts[rank]);
        CHECK(strstr(combined.texts[rank], words[way]) != NULL);
        CHECK(strstr(combined.texts[rank], culprit) != NULL);
    }
}

/* ---- texts ---- */

struct texts {
    bool combines;
    int odd; /* the PE with another text, -1: none; or with another call */
    bool is_other_call;
    enum gsh_result results[MAX_PES], after[MAX_PES];
    char words[MAX_PES][512];
};

static void compare(int rank, int n, void *arg)
{
    struct texts *t = arg;
    struct combining c = {0};
    struct gsh_agreement a;
    if (!CHECK_EQ(gsh_bootstrap_local_create(&key, rank, n, 60 * SECOND, &c.inner), GSH_OK)) {
        return;
    }
    c.base = *c.inner;
    c.base.ops = &combining_ops;
    CHECK_EQ(gsh_agreement_init(&a, t->combines ? &c.base : c.inner), GSH_OK);
    t->results[rank] =
        rank == t->odd && t->is_other_call
            ? gsh_agree(&a, (struct gsh_vote){.call = GSH_VOTE_FREE}, "gshmem_free", NULL)
            : gsh_agree_text(&a, rank == t->odd ? "frees array 2" : "frees array 1");
    snprintf(t->words[rank], sizeof(t->words[rank]), "%s", gsh_last_error());
    t->after[rank] = gsh_agree_text(&a, "goes on"); /* all are in step */
    gsh_agreement_finish(&a);
    c.inner->ops->destroy(c.inner);
}

static void test_texts(int n, int odd, bool combines, bool is_other_call)
{
    struct texts t = {.combines = combines, .odd = odd, .is_other_call = is_other_call};
    const bool is_good = odd < 0 || n == 1;
    char words[256];
    const int other = odd == 0 ? 1 : odd;
    if (is_other_call) {
        snprintf(words, sizeof(words), "PE %d called %s while PE 0 called %s", other,
                 gsh_vote_name(odd == 0 ? GSH_VOTE_TEXT : GSH_VOTE_FREE),
                 gsh_vote_name(odd == 0 ? GSH_VOTE_FREE : GSH_VOTE_TEXT));
    } else {
        snprintf(words, sizeof(words), "PE 0 frees array %d, PE %d frees array %d",
                 odd == 0 ? 2 : 1, other, odd == 0 ? 1 : 2);
    }
    test_on_threads(n, compare, &t);
    for (int rank = 0; rank < n; rank++) {
        CHECK_EQ(t.results[rank], is_good ? GSH_OK : GSH_ERR_SYMMETRY);
        CHECK(is_good || strstr(t.words[rank], words) != NULL);
        CHECK_EQ(t.after[rank], GSH_OK);
    }
}

int main(void)
{
    gsh_log_setup(GSH_LOG_NONE, 0, NULL); /* the failures are expected */
    for (int n = 1; n <= MAX_PES; n++) {
        struct votes alike = {.combines = true, .odd = -1};
        test_on_threads(n, vote, &alike);
        for (int rank = 0; rank < n; rank++) {
            CHECK_EQ(alike.results[rank], GSH_OK);
        }
    }
    CHECK_EQ(n_gathered, 0);
    for (int n = 2; n <= MAX_PES; n += n == 2 ? 3 : 4) {
        for (int odd = 0; odd < n; odd += n - 1) {
            for (int way = 0; way < N_WAYS; way++) {
                test_odd(n, odd, way);
            }
        }
    }
    CHECK_EQ(n_gathered, 0);
    for (int n = 2; n <= MAX_PES; n += n == 2 ? 3 : 4) {
        for (int odd = -1; odd < n; odd++) {
            for (int i = 0; i < 4; i++) {
                test_texts(n, odd, i % 2 == 0, i / 2 == 1 && odd >= 0);
            }
        }
    }
    return test_result();
}
