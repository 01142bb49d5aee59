/* SPDX-License-Identifier: Apache-2.0
 * Proves each AMO by itself: for operation x type x place x target PE, on random and on edge
 * values, the word afterwards and the value fetched equal a sequential model's, bit for bit, and
 * the bytes around the word are unchanged. amo tests AMOs that run at the same time.
 *
 *     check_amo [--quick] [--seed=N] [--op=NAME] [--type=NAME] [--place=host|thread] */
#include "tests/multi/amo_calls.cuh"

enum { n_words = 128, n_calls_quick = 24, stride = 32 }; /* a word in the middle of 32 bytes */

struct checker {
    test_pe pe;
    uint64_t seed;
    int n_calls;
    bool is_quick;
    char *words;       /* symmetric, n_words * stride bytes */
    uint64_t *fetched; /* device memory */
    amo_call *calls;   /* device memory */
    amo_call host_calls[n_words];
    uint64_t host_fetched[n_words];
    char want[n_words * stride], got[n_words * stride];
};

struct combo {
    int op, shift;
    const amo_row *type;
    bool is_host;
    uint64_t key;
};

/* Carries into the upper half, signs, extremes, and floating-point values that arithmetic would
 * change: a signalling NaN, minus zero, a denormal. */
static uint64_t edge(uint64_t random)
{
    static const uint64_t edges[] = {
        0,          1,          UINT64_MAX,         INT64_MAX,          (uint64_t)INT64_MIN,
        0xffffffff, 0x7fffffff, 0xffffffff80000000, 0x100000000,        0xfffffffffffffffe,
        0x7fa00001, 0x80000000, 0x7ff4000000000001, 0x8000000000000000, 0x00000001,
    };
    const uint64_t i = random % 32;
    return i < sizeof edges / sizeof edges[0] ? edges[i] : random;
}

/* The word's own bytes and those around it, as they were on `pe` before. */
static void initial_words(const checker *x, const combo *c, int pe, char *to)
{
    uint64_t key = c->key + (uint64_t)pe;
    test_fill(to, sizeof x->want, test_random(&key));
    for (int i = 0; i < n_words; i++) {
        const uint64_t word = edge(test_random(&key));
        memcpy(to + i * stride + 8, &word, c->type->size);
    }
}

static void make_calls(checker *x, const combo *c, int from, amo_call *calls)
{
    uint64_t key = c->key + 1000 + (uint64_t)from;
    const int target = (from + c->shift) % x->pe.n;
    char *theirs = x->got;
    initial_words(x, c, target, theirs);
    for (int i = 0; i < x->n_calls; i++) {
        const uint64_t random = test_random(&key);
        amo_call call = {x->words + i * stride + 8, edge(test_random(&key)),
                         edge(test_random(&key)), c->is_host ? &x->host_fetched[i] : &x->fetched[i],
                         target};
        if (random % 2) /* so that compare_swap succeeds */
            memcpy(&call.cond, theirs + i * stride + 8, c->type->size);
        calls[i] = call;
    }
}

static void fail(const checker *x, const combo *c, int i, const char *what, uint64_t got,
                 uint64_t want, const amo_call *call)
{
    char text[512];
    snprintf(text, sizeof text,
             "atomic_%s, type %s, on %s: PE %d, shift %d: %s is 0x%llx, must be 0x%llx; call %d, "
             "value 0x%llx, condition 0x%llx\n    repeat: check_amo --seed=%llu --op=%s --type=%s "
             "--place=%s%s",
             amo_names[c->op], c->type->name, c->is_host ? "host" : "thread", x->pe.me, c->shift,
             what, (unsigned long long)got, (unsigned long long)want, i,
             (unsigned long long)call->value, (unsigned long long)call->cond,
             (unsigned long long)x->seed, amo_names[c->op], c->type->name,
             c->is_host ? "host" : "thread", x->is_quick ? " --quick" : "");
    test_check(false, __FILE__, __LINE__, text);
}

static bool fetches(int op)
{
    return strncmp(amo_names[op], "fetch", 5) == 0 || op == amo_swap || op == amo_compare_swap;
}

static uint64_t word_at(const char *words, int i, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, words + i * stride + 8, size);
    return word;
}

static void check_words(checker *x, const combo *c)
{
    amo_call calls[n_words];
    const size_t size = c->type->size;
    const int previous = (x->pe.me + x->pe.n - c->shift) % x->pe.n;
    make_calls(x, c, previous, calls);
    initial_words(x, c, x->pe.me, x->want);
    for (int i = 0; i < x->n_calls; i++)
        c->type->model(c->op, x->want + i * stride + 8, calls[i].value, calls[i].cond);
    test_copy(x->got, x->words, sizeof x->got);
    for (int i = 0; i < n_words; i++) {
        if (memcmp(x->got + i * stride, x->want + i * stride, stride) == 0)
            continue;
        const uint64_t got = word_at(x->got, i, size), want = word_at(x->want, i, size);
        fail(x, c, i, got != want ? "the word" : "(bytes around the word changed) the word", got,
             want, &calls[i]);
        break;
    }
}

static void check_fetched(checker *x, const combo *c)
{
    const size_t size = c->type->size;
    char theirs[n_words * stride];
    if (!c->is_host)
        test_copy(x->host_fetched, x->fetched, sizeof x->host_fetched);
    initial_words(x, c, (x->pe.me + c->shift) % x->pe.n, theirs);
    for (int i = 0; fetches(c->op) && i < x->n_calls; i++) {
        const uint64_t want = word_at(theirs, i, size);
        if (x->host_fetched[i] != want) {
            fail(x, c, i, "the value fetched", x->host_fetched[i], want, &x->host_calls[i]);
            break;
        }
    }
}

static void check_combo(checker *x, const combo *c)
{
    initial_words(x, c, x->pe.me, x->want);
    test_copy(x->words, x->want, sizeof x->want);
    make_calls(x, c, x->pe.me, x->host_calls);
    gshmem_barrier_all();
    if (c->is_host) {
        bool are_made = true;
        for (int i = 0; i < x->n_calls; i++)
            are_made &= c->type->on_host(c->op, x->host_calls[i]);
        CHECK(are_made);
        gshmem_quiet();
    } else {
        test_copy(x->calls, x->host_calls, sizeof x->host_calls);
        c->type->launch(c->op, x->calls, x->n_calls, x->pe.is_cpu ? 1 : 2, x->is_quick ? 16 : 64,
                        x->pe.stream);
        test_sync(&x->pe);
    }
    gshmem_barrier_all();
    check_fetched(x, c);
    check_words(x, c);
}

static int check_all(checker *x, int argc, char **argv)
{
    int n_combos = 0;
    for (const amo_row &type : amo_rows)
        for (int op = 0; op < n_amo_ops; op++)
            for (int is_host = 0; is_host < 2; is_host++) {
                if (!amo_exists(op, type.has_std, type.has_bit) ||
                    !test_is_wanted(test_option(argc, argv, "type"), type.name) ||
                    !test_is_wanted(test_option(argc, argv, "op"), amo_names[op]) ||
                    !test_is_wanted(test_option(argc, argv, "place"), is_host ? "host" : "thread"))
                    continue;
                uint64_t key = x->seed * 1000003 +
                               (uint64_t)((&type - amo_rows) * n_amo_ops + op) * 2 +
                               (uint64_t)is_host;
                for (int shift = 0; shift < (x->is_quick && x->pe.n > 2 ? 2 : x->pe.n); shift++) {
                    const combo c = {op, shift, &type, is_host != 0, test_random(&key)};
                    check_combo(x, &c);
                    n_combos++;
                }
            }
    return n_combos;
}

static int pe_main(int argc, char **argv)
{
    checker *x = (checker *)calloc(1, sizeof *x);
    if (x == NULL)
        return 1;
    x->pe = test_begin();
    x->seed = test_number(argc, argv, "seed", 1);
    x->is_quick = test_option(argc, argv, "quick") != NULL;
    x->n_calls = x->is_quick ? n_calls_quick : n_words;
    x->words = (char *)test_heap(sizeof x->want);
    x->fetched = (uint64_t *)test_device(sizeof x->host_fetched);
    x->calls = (amo_call *)test_device(sizeof x->host_calls);
    test_copy(x->fetched, x->host_fetched, sizeof x->host_fetched);

    const int n_combos = check_all(x, argc, argv);
    if (x->pe.me == 0)
        printf("check_amo: %d combinations, seed %llu, %d PEs on %s\n", n_combos,
               (unsigned long long)x->seed, x->pe.n, gshmemx_device_name());
    CHECK(n_combos > 0);

    test_free(x->calls);
    test_free(x->fetched);
    gshmem_free(x->words);
    test_end(&x->pe);
    free(x);
    return test_result();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
