/* SPDX-License-Identifier: Apache-2.0
 * Proves that AMOs are atomic with each other: kernels and hosts of all PEs use the same words of
 * each PE at the same time, and no update is lost, torn, seen twice, or spilt to a neighbour.
 * check_amo tests what each AMO computes.
 *
 *     amo [--count=ROUNDS] [--type=NAME] */
#include "tests/multi/amo_calls.cuh"

enum {
    threads = 32,
    blocks = 2,
    workers = threads * blocks + 1
}; /* per PE; the last one is the host */

/* On each PE; all workers use all of these. */
enum { w_count, w_sum, w_cas, w_swap, w_xor, w_or, w_torn, n_words };

template <class Row>
static HD typename Row::type amo_do(int op, typename Row::type *dest, typename Row::type value,
                                    int pe, typename Row::type cond = 0)
{
    typename Row::type got = 0;
    if (!amo_ext<Row>::run(op, dest, value, cond, &got, pe) &&
        !amo_std<Row>::run(op, dest, value, cond, &got, pe))
        amo_bit<Row>::run(op, dest, value, cond, &got, pe);
    return got;
}

/* Added by worker w in round r: carries between the halves of a word, and negative values. */
template <class T> static HD T addend(int w, int r)
{
    const uint64_t v = 0x80000001ull * (uint64_t)(w + 1) + ((uint64_t)r << 29);
    return (T)((w + r) % 3 == 0 ? 0 - v : v);
}

/* A value that no other worker swaps in: exact even in a float. */
template <class T> static HD T token(int w, int r, int rounds)
{
    return (T)(1 + w * rounds + r);
}

template <class T> struct arena {
    T *words;       /* symmetric, n_words */
    uint32_t *seen; /* symmetric, counts how often each value was fetched from w_count */
    unsigned long long *swapped; /* symmetric: the sum of what was swapped out */
};

/* Two values, and the 0 before them: a torn store would leave a different one. */
template <class T> static HD T torn_pattern(int w)
{
    const uint64_t half = sizeof(T) == 8 ? 0xffffffffull : 0xffffull;
    return (T)(w % 2 ? half : ~half);
}

/* What one worker does with the words of PE `pe`. */
template <class Row>
static HD void contend(const arena<typename Row::type> *a, verdict *v, int w, int rounds, int pe)
{
    typedef typename Row::type T;
    unsigned long long out = 0;
    for (int r = 0; r < rounds; r++) {
        const T at = r % 2 ? amo_do<Row>(amo_fetch_inc, &a->words[w_count], 0, pe)
                           : amo_do<Row>(amo_fetch_add, &a->words[w_count], 1, pe);
        gshmem_uint32_atomic_inc(&a->seen[(size_t)at], pe);

        amo_do<Row>(r % 2 ? amo_add : amo_fetch_add, &a->words[w_sum], addend<T>(w, r), pe);

        T old = amo_do<Row>(amo_fetch, &a->words[w_cas], 0, pe);
        for (;;) {
            const T found = amo_do<Row>(amo_compare_swap, &a->words[w_cas], (T)(old + 1), pe, old);
            if (found == old)
                break;
            old = found;
        }
        out += (unsigned long long)amo_do<Row>(amo_swap, &a->words[w_swap], token<T>(w, r, rounds),
                                               pe);
        if (r % 2)
            amo_do<Row>(amo_set, &a->words[w_torn], torn_pattern<T>(w), pe);
        const T torn = amo_do<Row>(amo_fetch, &a->words[w_torn], 0, pe);
        EXPECT_AT(v, torn == 0 || torn == torn_pattern<T>(0) || torn == torn_pattern<T>(1), true,
                  torn);
    }
    gshmem_ulonglong_atomic_add(a->swapped, out, pe);
}

/* Bits: each worker turns its own one on and off an odd number of times. */
template <class Row>
static HD void contend_bits(const arena<typename Row::type> *a, int w, int rounds, int pe)
{
    typedef typename Row::type T;
    const T own = (T)((T)1 << w % (int)(8 * sizeof(T)));
    for (int r = 0; r < 2 * rounds + 1; r++)
        amo_do<Row>(r % 2 ? amo_fetch_xor : amo_xor, &a->words[w_xor], own, pe);
    /* Or sets bits and never loses one; with all ones it changes nothing. */
    amo_do<Row>(w % 2 ? amo_or : amo_fetch_or, &a->words[w_or], own, pe);
    amo_do<Row>(w % 2 ? amo_and : amo_fetch_and, &a->words[w_or], (T) ~(T)0, pe);
}

template <class Row>
static HD void work(const arena<typename Row::type> *a, verdict *v, int me, int n, int worker,
                    int rounds)
{
    for (int i = 0; i < n; i++) {
        const int pe = (me + i) % n;
        contend<Row>(a, v, me * workers + worker, rounds, pe);
        if (!std::is_base_of<amo_none, amo_bit<Row>>::value)
            contend_bits<Row>(a, me * workers + worker, rounds, pe);
    }
}

template <class Row>
__global__ void work_kernel(arena<typename Row::type> a, verdict *v, int rounds)
{
    const int worker = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    work<Row>(&a, v, gshmem_my_pe(), gshmem_n_pes(), worker, rounds);
    gshmem_quiet();
}

/* The words of this PE, when all workers are done. */
template <class Row>
static void check_words(const test_pe *pe, const arena<typename Row::type> *a, int rounds,
                        const char *name)
{
    typedef typename Row::type T;
    const int all = pe->n * workers;
    T words[n_words];
    unsigned long long swapped;
    test_copy(words, a->words, sizeof words);
    test_copy(&swapped, a->swapped, sizeof swapped);
    uint64_t sum = 0, tokens = 0, ors = 0, xors = 0;
    for (int w = 0; w < all; w++) {
        for (int r = 0; r < rounds; r++) {
            sum += (uint64_t)addend<T>(w, r);
            tokens += (uint64_t)token<T>(w, r, rounds);
        }
        const uint64_t own = 1ull << w % (int)(8 * sizeof(T));
        ors |= own;
        xors ^= own;
    }
    bool is_good = CHECK_EQ(words[w_count], (T)((uint64_t)all * (uint64_t)rounds)) &&
                   CHECK_EQ(words[w_sum], (T)sum) && CHECK_EQ(words[w_cas], words[w_count]) &&
                   CHECK_EQ(swapped + (unsigned long long)words[w_swap], tokens);
    if (!std::is_base_of<amo_none, amo_bit<Row>>::value)
        is_good = CHECK_EQ(words[w_xor], (T)xors) && CHECK_EQ(words[w_or], (T)ors) && is_good;

    const size_t n_seen = (size_t)all * (size_t)rounds;
    uint32_t *seen = (uint32_t *)malloc((n_seen + 1) * sizeof *seen);
    test_copy(seen, a->seen, (n_seen + 1) * sizeof *seen);
    for (size_t i = 0; i < n_seen && is_good; i++)
        is_good = CHECK_EQ(seen[i], 1);
    free(seen);
    if (!is_good)
        fprintf(stderr, "    with type %s on PE %d\n", name, pe->me);
}

template <class Row> static void test_row(const test_pe *pe, int rounds, const char *name)
{
    typedef typename Row::type T;
    if (std::is_base_of<amo_none, amo_std<Row>>::value)
        return;
    const size_t n_seen = (size_t)pe->n * workers * (size_t)rounds;
    arena<T> a;
    a.words = (T *)test_heap(n_words * sizeof(T));
    a.seen = (uint32_t *)test_heap((n_seen + 1) * sizeof *a.seen);
    a.swapped = (unsigned long long *)test_heap(sizeof *a.swapped);
    verdict *v = test_verdict();
    verdict on_host = {};

    gshmem_launch(work_kernel<Row>, dim3(blocks), dim3(threads), 0, pe->stream, a, v, rounds);
    work<Row>(&a, &on_host, pe->me, pe->n, workers - 1, rounds);
    gshmem_quiet();
    test_sync(pe);
    gshmem_barrier_all();
    CHECK_EQ(on_host.n_failed, 0);
    JUDGE(pe, v, name);
    check_words<Row>(pe, &a, rounds, name);
    gshmem_barrier_all();
    test_free(v);
    gshmem_free(a.swapped);
    gshmem_free(a.seen);
    gshmem_free(a.words);
}

/* ---- float and double: only moved, so every bit pattern must survive ------------------------- */

template <class Row> static HD void swap_bits(typename Row::type *words, verdict *v, int w, int pe)
{
    typedef typename Row::type T;
    /* Quiet and signalling NaNs with a number in them, of either sign. */
    const uint64_t base = sizeof(T) == 8 ? (w % 2 ? 0x7ff0000000000001ull : 0xfff8000000000001ull)
                                         : (w % 2 ? 0x7f800001ull : 0xffc00001ull);
    const uint64_t mine = base + ((uint64_t)w << 4);
    const T value = amo_from_bits<T>(mine);
    T got = T();
    amo_ext<Row>::run(amo_set, &words[w], value, value, &got, pe);
    gshmem_quiet();
    amo_ext<Row>::run(amo_fetch, &words[w], value, value, &got, pe);
    EXPECT_AT(v, amo_to_bits(got), mine, w);
    const T minus_zero = amo_from_bits<T>(sizeof(T) == 8 ? 1ull << 63 : 1ull << 31);
    amo_ext<Row>::run(amo_swap, &words[w], minus_zero, value, &got, pe);
    EXPECT_AT(v, amo_to_bits(got), mine, w);
    amo_ext<Row>::run(amo_fetch, &words[w], value, value, &got, pe);
    EXPECT_AT(v, amo_to_bits(got), amo_to_bits(minus_zero), w);
}

template <class Row> __global__ void swap_bits_kernel(typename Row::type *words, verdict *v, int pe)
{
    const int worker = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    swap_bits<Row>(words, v, gshmem_my_pe() * workers + worker, pe);
}

template <class Row> static void test_float_row(const test_pe *pe, const char *name)
{
    typedef typename Row::type T;
    T *words = (T *)test_heap((size_t)pe->n * workers * sizeof(T));
    verdict *v = test_verdict();
    verdict on_host = {};
    gshmem_launch(swap_bits_kernel<Row>, dim3(blocks), dim3(threads), 0, pe->stream, words, v,
                  pe->next);
    swap_bits<Row>(words, &on_host, pe->me * workers + workers - 1, pe->next);
    test_sync(pe);
    CHECK_EQ(on_host.n_failed, 0);
    JUDGE(pe, v, name);
    gshmem_barrier_all();
    test_free(v);
    gshmem_free(words);
}

/* ---- floating-point sums -------------------------------------------------------------------- */

template <class T> struct float_calls;
#define FLOAT(NAME, T)                                                                   \
    template <> struct float_calls<T> {                                                  \
        static HD void add(T *d, T v, int pe) { gshmemx_##NAME##_atomic_add(d, v, pe); } \
        static HD T fetch_add(T *d, T v, int pe)                                         \
        {                                                                                \
            return gshmemx_##NAME##_atomic_fetch_add(d, v, pe);                          \
        }                                                                                \
    };
GSHMEM_TYPES_FLOAT(FLOAT)
#undef FLOAT

/* Small multiples of 1/4: every sum that occurs is exact, in a half, too. */
template <class T> static HD float float_addend(int w, int r)
{
    return (float)(r % 2 ? -(w % 4 + 1) : w % 4 + 1) / 4;
}

/* Neighbours, of which two halves share a word; the odd ones also take part in a swap of bits. */
enum { float_words = 2 };

/* An odd number of rounds: the negative addends do not cancel the others. */
template <class T>
static HD void add_floats(T *words, verdict *v, int worker, int me, int n, int rounds)
{
    for (int i = 0; i < n; i++)
        for (int r = 0; r < 2 * rounds + 1; r++) {
            T *const word = &words[(worker + r) % float_words];
            const int pe = (me + i) % n, w = me * workers + worker;
            const T addend = (T)float_addend<T>(w, r);
            if (r % 3 == 0)
                float_calls<T>::add(word, addend, pe);
            else {
                const float found = (float)float_calls<T>::fetch_add(word, addend, pe);
                EXPECT_AT(v, found * 4 == (float)(int)(found * 4), true, w);
            }
        }
}

template <class T> __global__ void add_floats_kernel(T *words, verdict *v, int rounds)
{
    const int worker = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    add_floats(words, v, worker, gshmem_my_pe(), gshmem_n_pes(), rounds);
    gshmem_quiet();
}

template <class T> static void test_sums(const test_pe *pe, int rounds, const char *name)
{
    T *words = (T *)test_heap(float_words * sizeof(T));
    verdict *v = test_verdict();
    verdict on_host = {};
    gshmem_launch(add_floats_kernel<T>, dim3(blocks), dim3(threads), 0, pe->stream, words, v,
                  rounds);
    add_floats(words, &on_host, workers - 1, pe->me, pe->n, rounds);
    gshmem_quiet();
    test_sync(pe);
    gshmem_barrier_all();
    CHECK_EQ(on_host.n_failed, 0);
    JUDGE(pe, v, name);
    T found[float_words];
    test_copy(found, words, sizeof found);
    float want[float_words] = {};
    for (int w = 0; w < pe->n * workers; w++)
        for (int r = 0; r < 2 * rounds + 1; r++)
            want[(w % workers + r) % float_words] += float_addend<T>(w, r);
    for (int i = 0; i < float_words; i++)
        if (!CHECK_EQ((float)found[i], want[i]))
            fprintf(stderr, "    with type %s on PE %d\n", name, pe->me);
    gshmem_barrier_all();
    test_free(v);
    gshmem_free(words);
}

/* Sums that are not exact, infinite, or no number, by one caller; and the other calls on a half. */
template <class T> static HD void add_one(T *word, verdict *v, float a, float b, float sum, int pe)
{
    float_calls<T>::add(word, (T)a, pe);
    gshmem_quiet();
    const float before = (float)float_calls<T>::fetch_add(word, (T)b, pe);
    gshmem_quiet();
    const float after = (float)float_calls<T>::fetch_add(word, (T)0.0f, pe);
    EXPECT_AT(v, before, a, a);
    EXPECT_AT(v, after, sum, b);
}

static HD void use_half(gshmem_half_t *words, verdict *v, int pe)
{
    gshmemx_half_atomic_set(&words[0], (gshmem_half_t)1.5f, pe);
    gshmemx_half_atomic_set(&words[1], (gshmem_half_t)-2.0f, pe);
    gshmem_quiet();
    const float swapped = (float)gshmemx_half_atomic_swap(&words[0], (gshmem_half_t)4.0f, pe);
    const float first = (float)gshmemx_half_atomic_fetch(&words[0], pe);
    const float second = (float)gshmemx_half_atomic_fetch(&words[1], pe);
    EXPECT_AT(v, swapped, 1.5f, 0);
    EXPECT_AT(v, first, 4.0f, 1);
    EXPECT_AT(v, second, -2.0f, 2);
}

struct float_slots {
    gshmem_half_t *halves;
    float *floats;
    double *doubles;
};

static HD void add_all(float_slots s, verdict *v, int worker, int pe)
{
    const float least = 1.0f / 16777216; /* of a half */
    gshmem_half_t *h = &s.halves[8 * worker];
    add_one(h, v, 2048, 1, 2048, pe); /* the even one of two neighbours */
    add_one(h + 1, v, 2050, 1, 2052, pe);
    add_one(h + 2, v, 65504, 16, INFINITY, pe);
    add_one(h + 3, v, least, least, 2 * least, pe); /* below normal */
    add_one(h + 4, v, 1024, 0.75f, 1025, pe);
    use_half(h + 6, v, pe);
    add_one(&s.floats[worker], v, 16777216, 3, 16777220, pe);
    add_one(&s.doubles[worker], v, 1e30f, -1e30f, 0, pe);
}

__global__ void add_all_kernel(float_slots s, verdict *v, int pe)
{
    add_all(s, v, (int)(blockIdx.x * blockDim.x + threadIdx.x), pe);
}

static void test_rounding(const test_pe *pe)
{
    float_slots s;
    s.halves = (gshmem_half_t *)test_heap(8 * workers * sizeof *s.halves);
    s.floats = (float *)test_heap(workers * sizeof *s.floats);
    s.doubles = (double *)test_heap(workers * sizeof *s.doubles);
    verdict *v = test_verdict();
    verdict on_host = {};
    gshmem_launch(add_all_kernel, dim3(blocks), dim3(threads), 0, pe->stream, s, v, pe->next);
    add_all(s, &on_host, workers - 1, pe->next);
    test_sync(pe);
    CHECK_EQ(on_host.n_failed, 0);
    JUDGE(pe, v, "rounding");
    gshmem_barrier_all();
    test_free(v);
    gshmem_free(s.doubles);
    gshmem_free(s.floats);
    gshmem_free(s.halves);
}

/* ---- neighbouring words ---------------------------------------------------------------------- */

/* Each PE owns every n-th 32-bit word: an access that is too wide reverts others' updates. */
static HD void count_apart(uint32_t *words, int me, int n, int worker, int rounds)
{
    for (int r = 0; r < rounds; r++)
        for (int i = me; i < 4 * n; i += n)
            gshmem_uint32_atomic_add(&words[i], (uint32_t)worker + 1, (me + r) % n);
}

__global__ void count_apart_kernel(uint32_t *words, int rounds)
{
    const int worker = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    count_apart(words, gshmem_my_pe(), gshmem_n_pes(), worker, rounds);
    gshmem_quiet();
}

static void test_apart(const test_pe *pe, int rounds)
{
    rounds *= pe->n; /* the same number for each target */
    uint32_t *words = (uint32_t *)test_heap((size_t)pe->n * 4 * sizeof *words);
    gshmem_launch(count_apart_kernel, dim3(blocks), dim3(threads), 0, pe->stream, words, rounds);
    count_apart(words, pe->me, pe->n, workers - 1, rounds);
    gshmem_quiet();
    test_sync(pe);
    gshmem_barrier_all();
    for (int i = 0; i < 4 * pe->n; i++) {
        uint32_t found;
        test_copy(&found, &words[i], sizeof found);
        CHECK_EQ(found, (uint32_t)(rounds / pe->n) * (workers * (workers + 1) / 2));
    }
    gshmem_free(words);
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const int rounds = test_rounds(&pe, argc, argv, 10, 40);
    const char *type = test_option(argc, argv, "type");
    test_apart(&pe, rounds);
#define TYPE(NAME, T)                \
    if (test_is_wanted(type, #NAME)) \
        test_row<NAME##_row>(&pe, rounds, #NAME);
    GSHMEM_TYPES_AMO_STD(TYPE)
#undef TYPE
#define FLOAT(NAME, T)               \
    if (test_is_wanted(type, #NAME)) \
        test_sums<T>(&pe, rounds, #NAME);
    GSHMEM_TYPES_FLOAT(FLOAT)
#undef FLOAT
    test_rounding(&pe);
    test_float_row<float_row>(&pe, "float");
    test_float_row<double_row>(&pe, "double");
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
