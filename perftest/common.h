/* SPDX-License-Identifier: Apache-2.0
 * How the benchmarks measure: clocks inside kernels, durations, and the check that the bytes have
 * arrived.
 *
 * A sample is the mean of `rounds` calls, timed inside the kernel, after rounds/10 warm-up calls
 * that, in tests of two PEs, let both arrive. A row has up to 100 samples after a launch that is
 * discarded. The same buffers serve every call, so data no larger than the L2 cache comes from it;
 * where nothing between two calls makes a get bypass the first cache (rates, streams), the rounds
 * cycle through windows_bytes. After each row the bytes are compared, and the program fails if one
 * is wrong. */
#ifndef GSHMEM_PERFTEST_COMMON_H
#define GSHMEM_PERFTEST_COMMON_H

#include "perftest/pe.h"

namespace perftest
{

/* ---- in kernels ------------------------------------------------------------------------------ */

__device__ inline unsigned long long now_ns()
{
#if defined(__CUDA_ARCH__)
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
#else
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
#endif
}

template <group g> __device__ inline void group_sync()
{
    if constexpr (g == WARP)
        __syncwarp();
    else if constexpr (g == BLOCK)
        __syncthreads();
}

/* Waits for all blocks of the grid; they run at the same time, since each has a multiprocessor.
 * *arrived is 0 at first. */
__device__ inline void grid_meet(unsigned *arrived)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned before = atomicAdd(arrived, 1u);
        const unsigned goal = before / gridDim.x * gridDim.x + gridDim.x;
        while ((int)(atomicAdd(arrived, 0u) - goal) < 0) {
        }
        __threadfence();
    }
    __syncthreads();
}

/* How a kernel times itself: for (int r = t.first(); r < t.rounds; r++) { t.begin(r); call; }
 * t.end(). Round 0 is the first that counts. Each block stores two time stamps. */
struct timing {
    int warm, rounds;
    unsigned long long *stamps; /* [2 * blocks] */

    __device__ int first() const { return -warm; }
    __device__ void begin(int r) const
    {
        if (r == 0 && threadIdx.x == 0)
            stamps[2 * blockIdx.x] = now_ns();
    }
    __device__ void end() const
    {
        if (threadIdx.x == 0)
            stamps[2 * blockIdx.x + 1] = now_ns();
    }
};

/* The 32-bit word at index i of a buffer with this key. */
__host__ __device__ inline uint32_t pattern(uint32_t key, size_t i)
{
    return (uint32_t)i * 2654435761u + key * 40503u + 1;
}

static __global__ void fill(uint32_t *to, size_t n, uint32_t key)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        to[i] = pattern(key, i);
}

static __global__ void count_wrong(const uint32_t *in, size_t n, uint32_t key,
                                   unsigned long long *n_wrong)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    unsigned long long mine = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        mine += in[i] != pattern(key, i);
    if (mine)
        atomicAdd(n_wrong, mine);
}

/* ---- what to measure, and for how long ------------------------------------------------------- */

inline bool wants(const bench &b, const char *operation)
{
    const auto &list = b.o.operations;
    return list.empty() || std::find(list.begin(), list.end(), operation) != list.end();
}

inline bool wants(const bench &b, group g)
{
    return b.o.groups.empty() ||
           std::find(b.o.groups.begin(), b.o.groups.end(), g) != b.o.groups.end();
}

/* --sizes, or the powers of two from `least` to `most`; fewer on the CPU device. */
inline std::vector<size_t> sizes(const bench &b, size_t least, size_t most)
{
    if (!b.o.sizes.empty())
        return b.o.sizes;
    if (b.o.is_quick)
        return {least <= 8 ? (size_t)8 : least * 4, quick_bytes};
    std::vector<size_t> all;
    for (size_t bytes = least; bytes <= std::min(most, is_cpu ? cpu_bytes : most); bytes *= 2)
        all.push_back(bytes);
    return all;
}

/* --blocks, or `otherwise` without the counts for which the device lacks multiprocessors. */
inline std::vector<int> block_counts(bench *b, const std::vector<int> &otherwise)
{
    const bool is_asked = !b->o.blocks.empty();
    std::vector<int> counts;
    for (int n : is_asked ? b->o.blocks : otherwise) {
        const int real = n == 0 ? b->multiprocessors : n;
        if (real > b->multiprocessors) {
            if (is_asked && b->leads())
                fprintf(stderr, "perftest: --blocks: %d, but there are %d multiprocessors\n", real,
                        b->multiprocessors);
            b->has_failed = b->has_failed || is_asked;
        } else if (std::find(counts.begin(), counts.end(), real) == counts.end()) {
            counts.push_back(real);
        }
    }
    return counts;
}

/* For calls of about this many microseconds: the same on all PEs, for any library, since it uses a
 * guess, not a measurement. A guess that is too low only costs time. */
inline plan make_plan(const bench &b, double us)
{
    const double sample_us = b.o.is_quick ? 20 : 300, row_us = b.o.is_quick ? 1 : 400000;
    plan p;
    p.rounds = b.o.rounds ? b.o.rounds : (int)std::max(1.0, std::min(sample_us / us, 1000.0));
    const int most = b.o.repetitions ? b.o.repetitions : 100;
    p.repetitions = (int)std::max(3.0, std::min(row_us / (us * p.rounds), (double)most));
    if (b.o.repetitions)
        p.repetitions = b.o.repetitions;
    return p;
}

/* The guess for a call that moves this many bytes. */
inline double guess_us(size_t bytes, group g, int blocks = 1)
{
    const double gb_per_s = is_cpu        ? 2
                            : g == THREAD ? 0.1
                            : g == WARP   ? 1
                                          : std::min(30.0 * blocks, 250.0);
    const double fixed = is_cpu ? (g == THREAD ? 0.5 : 10) : 1.5;
    return fixed + (double)bytes / gb_per_s / 1e3;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* The calls before the timed ones. */
inline int warm_rounds(const plan &p)
{
    return p.rounds / 10 + 1;
}

/* The row of a call made by one thread, or by each thread of the blocks on a word of its own. */
inline row describe_words(const bench &b, const char *name, int blocks, size_t bytes, bool is_rate)
{
    const int threads = is_rate ? blocks * block_threads : 1;
    row r = describe(name, "thread", is_rate ? "rate" : "latency", bytes,
                     make_plan(b, is_cpu ? 0.2 * threads : 1.5 + threads / 4000.0));
    r.blocks = blocks;
    r.calls = is_rate ? threads : 0;
    r.moved = is_rate ? (double)threads * (double)bytes : 0;
    return r;
}

/* How many windows of this many bytes the rounds cycle through if each is to have its own bytes: as
 * many as there are rounds, or room for. */
inline int windows_of(const bench &b, const plan &p, size_t bytes)
{
    const size_t room = std::min(b.bytes, windows_bytes) / bytes;
    return (int)std::max((size_t)1, std::min(room, (size_t)(p.rounds + warm_rounds(p))));
}

/* One sample: microseconds per round, from the first block's begin to the last block's end. */
template <class... P, class... A>
double sample(const bench &b, const plan &p, int blocks, int threads, void (*kernel)(timing, P...),
              A... args)
{
    run(b, kernel, blocks, threads, timing{warm_rounds(p), p.rounds, b.stamps}, args...);
    std::vector<unsigned long long> s((size_t)blocks * 2);
    CUDA(cudaMemcpy(s.data(), b.stamps, s.size() * sizeof s[0], cudaMemcpyDeviceToHost));
    unsigned long long first = s[0], last = s[1];
    for (size_t i = 2; i < s.size(); i += 2) {
        first = std::min(first, s[i]);
        last = std::max(last, s[i + 1]);
    }
    return (double)(last - first) / 1e3 / p.rounds;
}

template <class... P, class... A>
std::vector<double> samples(const bench &b, const plan &p, int blocks, int threads,
                            void (*kernel)(timing, P...), A... args)
{
    std::vector<double> us;
    for (int i = -1; i < p.repetitions; i++) {
        const double one = sample(b, p, blocks, threads, kernel, args...);
        if (i >= 0)
            us.push_back(one);
    }
    return us;
}

/* The host's clock around calls(rounds), which returns once all is done. */
template <class F> std::vector<double> host_samples(const plan &p, F calls)
{
    std::vector<double> us;
    for (int i = -1; i < p.repetitions; i++) {
        const double t = now_us();
        calls(p.rounds);
        if (i >= 0)
            us.push_back((now_us() - t) / p.rounds);
    }
    return us;
}

/* ---- proof ----------------------------------------------------------------------------------- */

namespace detail
{

inline int sweep_blocks(const bench &b)
{
    return is_cpu ? 1 : 4 * b.multiprocessors;
}
constexpr int sweep_threads = is_cpu ? 1 : 256;

} // namespace detail

/* Collective: fills source with what `key` gives on every PE, and dest with something else. */
inline void prepare(const bench &b, size_t bytes, uint32_t key)
{
    const int blocks = detail::sweep_blocks(b), threads = detail::sweep_threads;
    run(b, fill, blocks, threads, (uint32_t *)b.source, bytes / 4, key);
    run(b, fill, blocks, threads, (uint32_t *)b.dest, bytes / 4, ~key);
    gshmem_barrier_all();
}

/* count(args..., n_wrong), a kernel, must find no errors. */
template <class... P, class... A>
void verify_none(bench *b, const char *what, void (*count)(P...), A... args)
{
    unsigned long long n_wrong = 0;
    CUDA(cudaMemset(b->wrong, 0, sizeof *b->wrong));
    CUDA(cudaDeviceSynchronize());
    run(*b, count, detail::sweep_blocks(*b), detail::sweep_threads, args..., b->wrong);
    CUDA(cudaMemcpy(&n_wrong, b->wrong, sizeof n_wrong, cudaMemcpyDeviceToHost));
    if (n_wrong == 0)
        return;
    fprintf(stderr, "perftest: %s: %llu words are wrong on PE %d\n", what, n_wrong, b->me);
    b->has_failed = true;
}

/* Collective: dest on that PE must hold what the source held. */
inline void verify(bench *b, size_t bytes, uint32_t key, int pe, const char *what)
{
    gshmem_barrier_all();
    if (b->me == pe)
        verify_none(b, what, count_wrong, (const uint32_t *)b->dest, bytes / 4, key);
    gshmem_barrier_all();
}

/* Collective: the word on that PE must be as expected. */
inline void verify_word(bench *b, const uint64_t *word, uint64_t expected, int pe, const char *what)
{
    gshmem_barrier_all();
    uint64_t found = 0;
    CUDA(cudaMemcpy(&found, word, sizeof found, cudaMemcpyDefault));
    if (b->me == pe && found != expected) {
        fprintf(stderr, "perftest: %s: %llu on PE %d, not %llu\n", what, (unsigned long long)found,
                pe, (unsigned long long)expected);
        b->has_failed = true;
    }
    gshmem_barrier_all();
}

/* Collective: the words are zero everywhere. */
inline void clear_words(const bench &b)
{
    gshmem_barrier_all();
    CUDA(cudaMemset(b.words, 0, n_words * sizeof *b.words));
    CUDA(cudaDeviceSynchronize());
    gshmem_barrier_all();
}

} // namespace perftest

#endif
