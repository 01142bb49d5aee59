/* SPDX-License-Identifier: Apache-2.0
 * How many p, g and atomics per second PE 0 makes to PE 1, each thread to its own words (mode
 * "rate"), and how long one takes for one thread (mode "latency"): a fetching one until its value
 * has arrived, the others with a quiet. */
#include "perftest/common.h"

namespace
{

using namespace perftest;

constexpr int line_words = 32, latency_lines = 4096; /* successive g calls: a new line each time */
constexpr uint64_t never = 0x6e65766572207365;       /* a value that no word ever holds */

/* ---- atomics --------------------------------------------------------------------------------- */

enum amo {
    FETCH,
    SET,
    SWAP,
    COMPARE_SWAP,
    INC,
    FETCH_INC,
    ADD,
    FETCH_ADD,
    AND,
    FETCH_AND,
    OR,
    FETCH_OR,
    XOR,
    FETCH_XOR
};
constexpr const char *amo_names[] = {
    "fetch",     "set", "swap",      "compare_swap", "inc",      "fetch_inc", "add",
    "fetch_add", "and", "fetch_and", "or",           "fetch_or", "xor",       "fetch_xor"};

__host__ __device__ constexpr bool is_fetching(amo op)
{
    return op != SET && op != INC && op != ADD && op != AND && op != OR && op != XOR;
}

/* Call number n on a word, from 0; returns the value before if the operation fetches it. */
template <amo op> __device__ inline uint64_t apply(uint64_t *word, uint64_t n, int pe)
{
    const uint64_t bit = (uint64_t)1 << n % 64;
    if constexpr (op == FETCH)
        return gshmem_uint64_atomic_fetch(word, pe);
    else if constexpr (op == SET)
        gshmem_uint64_atomic_set(word, n + 1, pe);
    else if constexpr (op == SWAP)
        return gshmem_uint64_atomic_swap(word, n + 1, pe);
    else if constexpr (op == COMPARE_SWAP)
        return gshmem_uint64_atomic_compare_swap(word, n, n + 1, pe);
    else if constexpr (op == INC)
        gshmem_uint64_atomic_inc(word, pe);
    else if constexpr (op == FETCH_INC)
        return gshmem_uint64_atomic_fetch_inc(word, pe);
    else if constexpr (op == ADD)
        gshmem_uint64_atomic_add(word, 3, pe);
    else if constexpr (op == FETCH_ADD)
        return gshmem_uint64_atomic_fetch_add(word, 3, pe);
    else if constexpr (op == AND)
        gshmem_uint64_atomic_and(word, ~bit, pe);
    else if constexpr (op == FETCH_AND)
        return gshmem_uint64_atomic_fetch_and(word, ~bit, pe);
    else if constexpr (op == OR)
        gshmem_uint64_atomic_or(word, bit, pe);
    else if constexpr (op == FETCH_OR)
        return gshmem_uint64_atomic_fetch_or(word, bit, pe);
    else if constexpr (op == XOR)
        gshmem_uint64_atomic_xor(word, 1, pe);
    else
        return gshmem_uint64_atomic_fetch_xor(word, 1, pe);
    return 0;
}

uint64_t initial(amo op)
{
    return op == AND || op == FETCH_AND ? ~(uint64_t)0 : op == FETCH ? 0x5a5a5a5a5a5a5a5a : 0;
}

/* What a word holds after this many calls. */
uint64_t final(amo op, uint64_t calls)
{
    const uint64_t bits = calls >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << calls) - 1;
    switch (op) {
    case FETCH:
        return initial(op);
    case ADD:
    case FETCH_ADD:
        return 3 * calls;
    case AND:
    case FETCH_AND:
        return ~bits;
    case OR:
    case FETCH_OR:
        return bits;
    case XOR:
    case FETCH_XOR:
        return calls % 2;
    default:
        return calls;
    }
}

template <amo op>
__global__ void __launch_bounds__(block_threads)
    amo_rate(timing t, uint64_t *words, uint64_t first, int pe)
{
    uint64_t *const word = words + (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    bool is_strange = false;
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        is_strange |= apply<op>(word, first + (uint64_t)(r - t.first()), pe) == never;
    }
    gshmem_quiet();
    if (is_strange)
        t.stamps[0] = never;
    __syncthreads();
    t.end();
}

/* Each fetching call's address depends on the value of the call before. */
template <amo op>
__global__ void __launch_bounds__(1) amo_latency(timing t, uint64_t *words, uint64_t first, int pe)
{
    uint64_t *word = words;
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        word += apply<op>(word, first + (uint64_t)(r - t.first()), pe) == never;
        if constexpr (!is_fetching(op))
            gshmem_quiet();
    }
    t.end();
}

__global__ void set_words(uint64_t *words, size_t n, uint64_t value)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        words[i] = value;
}

__global__ void count_others(const uint64_t *words, size_t n, uint64_t value,
                             unsigned long long *n_others)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        if (words[i] != value)
            atomicAdd(n_others, 1ull);
}

/* blocks of 0: measures the latency. */
template <amo op> void measure_amo(bench *b, int blocks)
{
    const bool is_rate = blocks > 0;
    const size_t n = is_rate ? (size_t)blocks * block_threads : 1;
    uint64_t *const words = (uint64_t *)b->dest;
    row r = describe_words(*b, amo_names[op], is_rate ? blocks : 1, sizeof(uint64_t), is_rate);
    const uint64_t in_launch = (uint64_t)(r.made.rounds + warm_rounds(r.made));
    std::vector<double> us;
    uint64_t made = 0;
    run(*b, set_words, is_cpu ? 1 : 64, is_cpu ? 1 : 256, words, n, initial(op));
    gshmem_barrier_all();
    for (int i = -1; b->leads() && i < r.made.repetitions; i++, made += in_launch) {
        const double one =
            is_rate
                ? sample(*b, r.made, blocks, block_threads, amo_rate<op>, words, made, b->target)
                : sample(*b, r.made, 1, 1, amo_latency<op>, words, made, b->target);
        if (i >= 0)
            us.push_back(one);
    }
    if (b->leads())
        b->out.add(r, us);
    gshmem_barrier_all();
    made = in_launch * (uint64_t)(r.made.repetitions + 1);
    if (b->me == b->target)
        verify_none(b, amo_names[op], count_others, (const uint64_t *)words, n, final(op, made));
    gshmem_barrier_all();
}

template <amo op> void measure_amo_all(bench *b, const std::vector<int> &counts)
{
    if (!wants(*b, amo_names[op]))
        return;
    measure_amo<op>(b, 0);
    for (int blocks : counts)
        measure_amo<op>(b, blocks);
}

/* ---- p and g --------------------------------------------------------------------------------- */

template <class T> __device__ inline void put_one(T *dest, T value, int pe)
{
    if constexpr (sizeof(T) == 4)
        gshmem_uint32_p(dest, value, pe);
    else
        gshmem_uint64_p(dest, value, pe);
}

template <class T> __device__ inline T get_one(const T *source, int pe)
{
    if constexpr (sizeof(T) == 4)
        return gshmem_uint32_g(source, pe);
    else
        return gshmem_uint64_g(source, pe);
}

/* Which word is this thread's turn: its own in each window, one after another, so that g does not
 * measure old copies in the first cache. No division, which would take longer than the call. */
struct words_in_turn {
    uint32_t step = gridDim.x * blockDim.x;
    uint32_t mine = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t end, i = mine;

    __device__ explicit words_in_turn(int windows) : end((uint32_t)windows * step) {}
    __device__ void next()
    {
        i += step;
        if (i >= end)
            i = mine;
    }
};

template <class T>
__global__ void __launch_bounds__(block_threads)
    p_rate(timing t, T *dest, const T *source, int windows, int pe)
{
    words_in_turn word(windows);
    for (int r = t.first(); r < t.rounds; r++, word.next()) {
        t.begin(r);
        put_one(dest + word.i, source[word.i], pe);
    }
    gshmem_quiet();
    __syncthreads();
    t.end();
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    g_rate(timing t, T *dest, const T *source, int windows, int pe)
{
    words_in_turn word(windows);
    for (int r = t.first(); r < t.rounds; r++, word.next()) {
        t.begin(r);
        dest[word.i] = get_one(source + word.i, pe);
    }
    __syncthreads();
    t.end();
}

template <class T>
__global__ void __launch_bounds__(1) p_latency(timing t, T *dest, const T *source, int, int pe)
{
    const T value = *source;
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        put_one(dest, value, pe);
        gshmem_quiet();
    }
    t.end();
}

/* Each call's address depends on the value of the call before. The last call uses word 0. */
template <class T>
__global__ void __launch_bounds__(1) g_latency(timing t, T *dest, const T *source, int, int pe)
{
    T value = 0;
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        const int line = (t.rounds - 1 - r) % latency_lines;
        value = get_one(source + (size_t)line * line_words, pe);
        source += value == (T)never;
    }
    *dest = value;
    t.end();
}

template <class T> void measure_words(bench *b, bool is_put, int blocks)
{
    const bool is_rate = blocks > 0;
    row r = describe_words(*b, is_put ? "p" : "g", is_rate ? blocks : 1, sizeof(T), is_rate);
    const int threads = is_rate ? block_threads : 1;
    const size_t window = (size_t)(r.blocks * threads) * sizeof(T);
    const int windows = is_rate ? windows_of(*b, r.made, window) : 1;
    const size_t bytes = window * windows;
    const uint32_t key = (uint32_t)(bytes + is_put);
    prepare(*b, bytes, key);
    if (b->leads())
        b->out.add(r, samples(*b, r.made, r.blocks, threads,
                              is_put ? (is_rate ? p_rate<T> : p_latency<T>)
                                     : (is_rate ? g_rate<T> : g_latency<T>),
                              (T *)b->dest, (const T *)b->source, windows, b->target));
    verify(b, bytes, key, is_put ? b->target : 0, is_put ? "p" : "g");
}

void measure_words_all(bench *b, bool is_put, const std::vector<int> &counts)
{
    if (!wants(*b, is_put ? "p" : "g"))
        return;
    measure_words<uint32_t>(b, is_put, 0);
    measure_words<uint64_t>(b, is_put, 0);
    for (int blocks : counts) {
        measure_words<uint32_t>(b, is_put, blocks);
        measure_words<uint64_t>(b, is_put, blocks);
    }
}

template <int... op> void measure_amos(bench *b, const std::vector<int> &counts)
{
    (measure_amo_all<(amo)op>(b, counts), ...);
}

int pe_main(int argc, char **argv)
{
    program p = {"rate",     "p, g and atomics: how many a second, and how long one takes",
                 {"p", "g"}, false,
                 false,      true};
    p.operations.insert(p.operations.end(), std::begin(amo_names), std::end(amo_names));
    bench b = {};
    const int status = begin(&b, p, argc, argv, (size_t)(is_cpu ? 16 : 64) << 20);
    if (status >= 0)
        return status;
    const std::vector<int> counts =
        block_counts(&b, b.o.is_quick ? std::vector<int>{1} : std::vector<int>{1, 4, 0});
    measure_words_all(&b, true, counts);
    measure_words_all(&b, false, counts);
    measure_amos<FETCH, SET, SWAP, COMPARE_SWAP, INC, FETCH_INC, ADD, FETCH_ADD, AND, FETCH_AND, OR,
                 FETCH_OR, XOR, FETCH_XOR>(&b, counts);
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
