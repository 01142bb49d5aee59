/* SPDX-License-Identifier: Apache-2.0
 * What two GPUs achieve with the same accesses without a library: plain loads and stores of the
 * other PE's memory in the loops of latency, bandwidth and rate, and CUDA's own copies in those of
 * host. Rows have the names of the other programs' rows; the library only finds the address. If
 * there are several ways to make an access, the row is the fastest of them, and its mode ends with
 * it: vectors in flight per thread x threads per block, or how a word is stored or loaded. */
#include "perftest/stream.h"

namespace
{

using namespace perftest;

enum operation { PUT, GET };
const char *const names[] = {"put", "get"};
enum access { WEAK, RELAXED };
const char *const access_names[] = {"weak", "relaxed"};

/* Bypasses the first cache: what an earlier wait has announced is seen. */
__device__ inline uint4 load_peer(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(__cvta_generic_to_global(p))
                 : "memory");
    return v;
}

/* bytes is a multiple of 16; each thread has up to `depth` vectors in flight. */
template <operation op, int depth>
__device__ inline void copy(char *dest, const char *source, size_t bytes)
{
    uint4 *const d = (uint4 *)dest;
    const uint4 *const s = (const uint4 *)source;
    const uint32_t n = (uint32_t)(bytes / 16), step = blockDim.x;
    uint32_t i = threadIdx.x;
    for (; i + (depth - 1) * step < n; i += depth * step) {
        uint4 v[depth];
#pragma unroll
        for (int k = 0; k < depth; k++)
            v[k] = op == PUT ? s[i + k * step] : load_peer(s + i + k * step);
#pragma unroll
        for (int k = 0; k < depth; k++)
            d[i + k * step] = v[k];
    }
    for (; i < n; i += step)
        d[i] = op == PUT ? s[i] : load_peer(s + i);
}

/* ---- one block, complete each time ----------------------------------------------------------- */

/* The minimum for a block's put with quiet: the source is ready, all have stored, one thread's
 * fence covers the stores, and all go on after it. */
template <operation op, int depth>
__global__ void __launch_bounds__(1024)
    latency(timing t, char *dest, const char *source, size_t bytes)
{
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        __syncthreads();
        copy<op, depth>(dest, source, bytes);
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("fence.sc.sys;" ::: "memory");
    }
    __syncthreads();
    t.end();
}

/* ---- blocks that share a message ------------------------------------------------------------- */

template <operation op, int depth>
__global__ void __launch_bounds__(1024)
    bandwidth(timing t, char *dest, const char *source, size_t bytes, unsigned *arrived)
{
    const size_t part = bytes / gridDim.x / 16 * 16, off = part * blockIdx.x;
    const size_t mine = blockIdx.x + 1 < gridDim.x ? part : bytes - off;
    for (int r = t.first(); r < t.rounds; r++) {
        grid_meet(arrived);
        t.begin(r);
        copy<op, depth>(dest + off, source + off, mine);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("fence.sc.sys;" ::: "memory");
    t.end();
}

/* ---- the fastest manner ---------------------------------------------------------------------- */

struct manner {
    std::vector<double> us;
    std::string name;
};

void keep_faster(manner *best, std::vector<double> us, const std::string &name)
{
    if (best->us.empty() || summarise(us).median < summarise(best->us).median)
        *best = {us, name};
}

void add(bench *b, row r, const manner &best)
{
    r.mode += (r.mode.empty() ? "" : " ") + best.name;
    if (b->leads())
        b->out.add(r, best.us);
}

template <operation op, int depth>
void try_copy(const bench &b, const plan &p, int blocks, size_t bytes, bool is_latency, char *dest,
              const char *source, manner *best)
{
    unsigned *const arrived = (unsigned *)b.wrong;
    for (int threads : {256, 512, 1024}) {
        CUDA(cudaMemset(arrived, 0, sizeof *arrived));
        CUDA(cudaDeviceSynchronize());
        const std::string name = std::to_string(depth) + "x" + std::to_string(threads);
        if (is_latency)
            keep_faster(best, samples(b, p, 1, threads, latency<op, depth>, dest, source, bytes),
                        name);
        else
            keep_faster(
                best,
                samples(b, p, blocks, threads, bandwidth<op, depth>, dest, source, bytes, arrived),
                name);
    }
}

template <operation op> void measure_copy(bench *b, bool is_latency, int blocks, size_t bytes)
{
    const uint32_t key = (uint32_t)bytes + op + (uint32_t)blocks * 7;
    row r;
    r.operation = names[op];
    r.group = "block";
    r.blocks = blocks;
    r.mode = is_latency ? "" : "one";
    r.bytes = bytes;
    r.moved = (double)bytes;
    r.made = make_plan(*b, guess_us(bytes, BLOCK, blocks));
    r.made.repetitions = std::min(r.made.repetitions, 20);
    prepare(*b, bytes, key);
    if (b->leads()) {
        char *const dest = op == PUT ? (char *)gshmem_ptr(b->dest, b->target) : b->dest;
        const char *const source =
            op == PUT ? b->source : (const char *)gshmem_ptr(b->source, b->target);
        manner best;
        try_copy<op, 1>(*b, r.made, blocks, bytes, is_latency, dest, source, &best);
        try_copy<op, 2>(*b, r.made, blocks, bytes, is_latency, dest, source, &best);
        try_copy<op, 4>(*b, r.made, blocks, bytes, is_latency, dest, source, &best);
        try_copy<op, 8>(*b, r.made, blocks, bytes, is_latency, dest, source, &best);
        add(b, r, best);
    }
    verify(b, bytes, key, op == PUT ? b->target : 0, names[op]);
}

/* ---- words ----------------------------------------------------------------------------------- */

#define WORD(T, SUFFIX, REGISTER)                                                                  \
    template <access how> __device__ inline void store_word(T *p, T v)                             \
    {                                                                                              \
        if constexpr (how == WEAK)                                                                 \
            asm volatile("st.weak.global." SUFFIX " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), \
                         REGISTER(v)                                                               \
                         : "memory");                                                              \
        else                                                                                       \
            asm volatile("st.relaxed.sys.global." SUFFIX                                           \
                         " [%0], %1;" ::"l"(__cvta_generic_to_global(p)),                          \
                         REGISTER(v)                                                               \
                         : "memory");                                                              \
    }                                                                                              \
    template <access how> __device__ inline T load_word(const T *p)                                \
    {                                                                                              \
        T v;                                                                                       \
        if constexpr (how == WEAK)                                                                 \
            asm volatile("ld.weak.global." SUFFIX " %0, [%1];"                                     \
                         : "=" REGISTER(v)                                                         \
                         : "l"(__cvta_generic_to_global(p))                                        \
                         : "memory");                                                              \
        else                                                                                       \
            asm volatile("ld.relaxed.sys.global." SUFFIX " %0, [%1];"                              \
                         : "=" REGISTER(v)                                                         \
                         : "l"(__cvta_generic_to_global(p))                                        \
                         : "memory");                                                              \
        return v;                                                                                  \
    }
WORD(uint32_t, "u32", "r")
WORD(uint64_t, "u64", "l")
#undef WORD

__device__ inline uint64_t fetch_add(uint64_t *p)
{
    uint64_t old;
    asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], 1;"
                 : "=l"(old)
                 : "l"(__cvta_generic_to_global(p))
                 : "memory");
    return old;
}

/* As in rate: each thread cycles through its word in each window. */
template <operation op, access how, class T>
__global__ void __launch_bounds__(1024) words(timing t, T *dest, const T *source, int windows)
{
    const uint32_t step = gridDim.x * blockDim.x, mine = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t end = (uint32_t)windows * step;
    uint32_t i = mine;
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        if constexpr (op == PUT)
            store_word<how>(dest + i, source[i]);
        else
            dest[i] = load_word<how>(source + i);
        i = i + step < end ? i + step : mine;
    }
    if constexpr (op == PUT)
        asm volatile("fence.sc.sys;" ::: "memory");
    __syncthreads();
    t.end();
}

template <operation op, class T> void measure_words(bench *b, int blocks)
{
    row r = describe_words(*b, op == PUT ? "p" : "g", blocks, sizeof(T), true);
    const size_t window = (size_t)(blocks * block_threads) * sizeof(T);
    const int windows = windows_of(*b, r.made, window);
    const size_t bytes = window * windows;
    const uint32_t key = (uint32_t)bytes + op;
    prepare(*b, bytes, key);
    if (b->leads()) {
        T *const dest = (T *)(op == PUT ? gshmem_ptr(b->dest, b->target) : (void *)b->dest);
        const T *const source =
            (const T *)(op == PUT ? (void *)b->source : gshmem_ptr(b->source, b->target));
        manner best;
        keep_faster(
            &best,
            samples(*b, r.made, blocks, block_threads, words<op, WEAK, T>, dest, source, windows),
            access_names[WEAK]);
        if (op == GET) { /* these may come from the first cache, unlike g */
            r.mode = "rate, may be old:";
            add(b, r, best);
            r.mode = "rate";
            best = {};
        }
        keep_faster(&best,
                    samples(*b, r.made, blocks, block_threads, words<op, RELAXED, T>, dest, source,
                            windows),
                    access_names[RELAXED]);
        add(b, r, best);
    }
    verify(b, bytes, key, op == PUT ? b->target : 0, r.operation.c_str());
}

/* Each thread accesses its own word on the other PE repeatedly: the compiler may issue the next
 * access before it has the value, or not, as with a call that returns the value. */
template <bool is_awaited> __global__ void __launch_bounds__(1024) adds(timing t, uint64_t *word)
{
    uint64_t *mine = word + blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t sum = 0;
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        const uint64_t old = fetch_add(mine);
        sum += old;
        if constexpr (is_awaited)
            mine += old == ~0ull;
    }
    if (sum == ~0ull) /* never true, but makes the loop wait for the values */
        t.stamps[0] = 0;
    __syncthreads();
    t.end();
}

void measure_adds(bench *b, int blocks)
{
    row r = describe_words(*b, "fetch_add", blocks, sizeof(uint64_t), true);
    gshmem_barrier_all();
    if (b->leads()) {
        uint64_t *const word = (uint64_t *)gshmem_ptr(b->dest, b->target);
        b->out.add(r, samples(*b, r.made, blocks, block_threads, adds<false>, word));
        r.mode = "rate, awaited";
        b->out.add(r, samples(*b, r.made, blocks, block_threads, adds<true>, word));
    }
    gshmem_barrier_all();
}

/* ---- flags ----------------------------------------------------------------------------------- */

/* A flag there and one back, by two otherwise idle kernels. */
__global__ void __launch_bounds__(1) bounce(timing t, bool leads, uint64_t *theirs, uint64_t *mine)
{
    uint64_t n = 0;
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        n++;
        if (leads)
            store_word<RELAXED>(theirs, n);
        while (load_word<RELAXED>(mine) != n) {
        }
        if (!leads)
            store_word<RELAXED>(theirs, n);
    }
    t.end();
}

/* In this many pages, since some are nearer than others. */
void measure_flags(bench *b)
{
    constexpr int n_pages = 8, page_words = 512;
    row r;
    r.operation = "signal";
    r.group = "thread";
    r.mode = "round_trip";
    r.bytes = sizeof(uint64_t);
    r.made = make_plan(*b, 1.5);
    r.made.repetitions = 10;
    std::vector<double> us;
    CUDA(cudaMemset(b->dest, 0, (size_t)n_pages * page_words * sizeof(uint64_t)));
    CUDA(cudaDeviceSynchronize());
    for (int page = 0; page < n_pages; page++) {
        uint64_t *const mine = (uint64_t *)b->dest + page * page_words;
        uint64_t *const theirs = (uint64_t *)gshmem_ptr(mine, b->leads() ? b->target : 0);
        for (int i = -1; i < r.made.repetitions; i++) {
            CUDA(cudaMemset(mine, 0, sizeof *mine));
            CUDA(cudaDeviceSynchronize());
            gshmem_barrier_all();
            if (b->me > b->target)
                continue;
            const double one = sample(*b, r.made, 1, 1, bounce, b->leads(), theirs, mine);
            if (i >= 0)
                us.push_back(one);
        }
    }
    gshmem_barrier_all();
    if (b->leads())
        b->out.add(r, us);
}

/* ---- one after another --------------------------------------------------------------------------
 */

enum step { FETCH_ADD, LOAD, SYSTEM_FENCE };
const char *const step_names[] = {"fetch_add", "g", "fence"};

/* Each address depends on the value before; a fence follows a store. */
template <step what> __global__ void __launch_bounds__(1) steps(timing t, uint64_t *word)
{
    uint64_t *p = word;
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        if constexpr (what == FETCH_ADD) {
            p += fetch_add(p) == ~0ull;
        } else if constexpr (what == LOAD) {
            p += load_word<RELAXED>(p) == ~0ull;
        } else {
            store_word<WEAK>(p, 1);
            asm volatile("fence.sc.sys;" ::: "memory");
        }
    }
    if (p != word) /* never true, but forces the loads */
        t.stamps[0] = 0;
    t.end();
}

template <step what> void measure_steps(bench *b)
{
    for (bool is_own : {true, false}) {
        row r;
        r.operation = step_names[what];
        r.group = "thread";
        r.mode = is_own ? "latency, own" : "latency";
        r.bytes = sizeof(uint64_t);
        r.made = make_plan(*b, 1);
        if (b->leads())
            b->out.add(r, samples(*b, r.made, 1, 1, steps<what>,
                                  (uint64_t *)(is_own ? b->dest : gshmem_ptr(b->dest, b->target))));
    }
    gshmem_barrier_all();
}

/* ---- the sum of two vectors, by both PEs at once ------------------------------------------------
 */

/* What a reduction must move: each PE adds one half of the vectors, one of them the other PE's, and
 * stores it on both PEs. Nothing orders the passes. */
template <int depth>
__global__ void __launch_bounds__(1024)
    sums(timing t, float4 *mine, float4 *theirs, const float4 *own, const float4 *other, size_t n)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
        for (; i < n; i += depth * step) {
            float4 v[depth];
            uint4 w[depth];
#pragma unroll
            for (int k = 0; k < depth; k++) {
                const size_t at = min(i + k * step, n - 1); /* past the end: the last once more */
                w[k] = load_peer((const uint4 *)other + at);
                v[k] = own[at];
            }
#pragma unroll
            for (int k = 0; k < depth; k++) {
                v[k].x += __uint_as_float(w[k].x);
                v[k].y += __uint_as_float(w[k].y);
                v[k].z += __uint_as_float(w[k].z);
                v[k].w += __uint_as_float(w[k].w);
                const size_t at = min(i + k * step, n - 1);
                mine[at] = theirs[at] = v[k];
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("fence.sc.sys;" ::: "memory");
    t.end();
}

template <int depth>
void try_sums(const bench &b, const plan &p, int blocks, size_t bytes, manner *best)
{
    const size_t n = bytes / 2 / sizeof(float4), at = b.me == b.target ? n : 0;
    const int other = b.me == b.target ? 0 : b.target;
    for (int threads : {512, 1024}) {
        gshmem_barrier_all();
        keep_faster(best,
                    samples(b, p, blocks, threads, sums<depth>, (float4 *)b.dest + at,
                            (float4 *)gshmem_ptr(b.dest, other) + at, (float4 *)b.source + at,
                            (float4 *)gshmem_ptr(b.source, other) + at, n),
                    std::to_string(depth) + "x" + std::to_string(threads));
    }
}

void measure_sums(bench *b, int blocks, size_t bytes)
{
    row r;
    r.operation = "reduce";
    r.group = "grid";
    r.blocks = blocks;
    r.bytes = bytes;
    r.moved = (double)bytes;
    r.made = make_plan(*b, guess_us(bytes, BLOCK, blocks));
    r.made.repetitions = std::min(r.made.repetitions, 20);
    manner best;
    try_sums<1>(*b, r.made, blocks, bytes, &best);
    try_sums<2>(*b, r.made, blocks, bytes, &best);
    try_sums<4>(*b, r.made, blocks, bytes, &best);
    add(b, r, best);
    gshmem_barrier_all();
}

/* ---- CUDA's copies --------------------------------------------------------------------------- */

template <class F> void measure_stream(bench *b, const char *name, size_t bytes, F call)
{
    for (stream_mode mode : stream_modes) {
        plan p = make_plan(*b, 6 + (double)bytes / 2e5);
        p.rounds = std::min(p.rounds, 50);
        const std::vector<double> us = stream_samples(*b, p, mode, call);
        b->out.add(describe(name, "stream", stream_mode_names[mode], bytes, p), us);
    }
}

void measure_copies(bench *b, size_t bytes)
{
    char *const there = (char *)gshmem_ptr(b->dest, b->target);
    char *const from = (char *)gshmem_ptr(b->source, b->target);
    if (b->leads()) {
        measure_stream(b, "put_on_stream", bytes, [=](cudaStream_t stream) {
            CUDA(cudaMemcpyAsync(there, b->source, bytes, cudaMemcpyDeviceToDevice, stream));
        });
        measure_stream(b, "get_on_stream", bytes, [=](cudaStream_t stream) {
            CUDA(cudaMemcpyAsync(b->dest, from, bytes, cudaMemcpyDeviceToDevice, stream));
        });
    }
    if (b->leads() && bytes == sizeof(uint64_t)) {
        const uint64_t word = 1;
        measure_stream(b, "p_on_stream", bytes, [=](cudaStream_t stream) {
            CUDA(cudaMemcpyAsync(there, &word, sizeof word, cudaMemcpyHostToDevice, stream));
        });
    }
    gshmem_barrier_all();
}

/* ---- all of it ------------------------------------------------------------------------------- */

int pe_main(int argc, char **argv)
{
    const program p = {"gpu_limits",
                       "what two GPUs give to the same accesses without a library",
                       {"latency", "bandwidth", "rate", "flag", "step", "copy", "reduce"},
                       false,
                       false,
                       true};
    bench b = {};
    const int status = begin(&b, p, argc, argv, (size_t)64 << 20);
    if (status >= 0)
        return status;
    if (!needs_two(b) || !gshmem_ptr(b.dest, b.me == b.target ? 0 : b.target)) {
        b.has_failed = true;
        return end(&b);
    }
    const std::vector<int> counts =
        block_counts(&b, b.o.is_quick ? std::vector<int>{1} : std::vector<int>{1, 4, 0});
    for (size_t bytes : {16, 1024, 4096, 16384, 65536, 1 << 20}) {
        if (!wants(b, "latency"))
            break;
        measure_copy<PUT>(&b, true, 1, bytes);
        measure_copy<GET>(&b, true, 1, bytes);
    }
    for (int blocks : counts) {
        for (size_t bytes : {1 << 16, 1 << 18, 1 << 20, 1 << 25}) {
            if (!wants(b, "bandwidth"))
                break;
            measure_copy<PUT>(&b, false, blocks, bytes);
            measure_copy<GET>(&b, false, blocks, bytes);
        }
        if (wants(b, "rate")) {
            measure_words<PUT, uint32_t>(&b, blocks);
            measure_words<PUT, uint64_t>(&b, blocks);
            measure_words<GET, uint32_t>(&b, blocks);
            measure_words<GET, uint64_t>(&b, blocks);
            measure_adds(&b, blocks);
        }
    }
    if (wants(b, "flag"))
        measure_flags(&b);
    if (wants(b, "step")) {
        measure_steps<FETCH_ADD>(&b);
        measure_steps<LOAD>(&b);
        measure_steps<SYSTEM_FENCE>(&b);
    }
    for (int blocks : {8, 32}) {
        for (size_t bytes : {1 << 20, 1 << 26})
            if (wants(b, "reduce"))
                measure_sums(&b, blocks, bytes);
    }
    for (size_t bytes : {8, 1024, 16384, 65536, 1 << 20}) {
        if (wants(b, "copy"))
            measure_copies(&b, bytes);
    }
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
