/* SPDX-License-Identifier: Apache-2.0
 * How fast kernels hand requests to the proxy, or post to a NIC with GSHMEM_REMOTE=nic: each thread
 * puts its own word to a far PE, by p ("push"), by a put of 8 bytes ("put"), or by one in a batch
 * of its block ("batch"), two slots of a ring or one block of a queue. Modes: "burst", as many as
 * fit into an empty ring or queue, until they are written; "sustained", more than that and a quiet,
 * so the proxy's or the NIC's and the network's speed count. Run it with GSHMEM_NODE_PES=1 to make
 * PEs of one machine far. For GPUs, compile it with -DGSHMEM_WITH_NIC to post. */
#if !defined(GSHMEM_BATCH_PUTS)
#define GSHMEM_BATCH_PUTS 64
#endif
#include "perftest/common.h"

namespace
{

using namespace perftest;

constexpr int slots_each = 2;

enum how { PUSH, PUT, BATCH };
constexpr const char *how_names[] = {"push", "put", "batch"};

int number_of(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text != NULL && atoi(text) > 0 ? atoi(text) : otherwise;
}

bool is_by_nic()
{
    const char *remote = getenv("GSHMEM_REMOTE");
    return remote != NULL && strcmp(remote, "nic") == 0;
}

/* Half of the puts that fit into an empty ring or queue. */
int burst_puts()
{
    return is_by_nic() ? number_of("GSHMEM_NIC_DEPTH", 256) / 2
                       : number_of("GSHMEM_PROXY_RING_SLOTS", 4096) / slots_each / 2;
}

template <bool is_burst, how by>
__global__ void __launch_bounds__(1024) push(timing t, uint64_t *words, uint64_t first, int pe)
{
    uint64_t *const word = words + (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        gshmem_quiet();
    __syncthreads();
    if (by == BATCH)
        gshmem::begin_batch();
    for (int r = t.first(); r < t.rounds; r++) {
        const uint64_t value = first + (uint64_t)(r - t.first());
        t.begin(r);
        if (by == BATCH)
            gshmem_uint64_put_nbi(word, &value, 1, pe);
        else if (by == PUT)
            gshmem_uint64_put(word, &value, 1, pe);
        else
            gshmem_uint64_p(word, value, pe);
    }
    if (by == BATCH)
        gshmem::end_batch();
    if (!is_burst)
        gshmem_quiet();
    __syncthreads();
    t.end();
}

/* A thread's puts of one word are not ordered: any put of the last launch may have arrived last. */
__global__ void count_others(const uint64_t *words, size_t n, uint64_t least, uint64_t most,
                             unsigned long long *n_others)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        if (words[i] < least || words[i] > most)
            atomicAdd(n_others, 1ull);
}

template <bool is_burst, how by> void measure(bench *b, group g, int blocks)
{
    const int threads = g == THREAD ? 1 : g == WARP ? 32 : is_cpu ? 64 : 256;
    const int pushes = blocks * threads;
    row r;
    r.operation = how_names[by];
    r.group = group_names[g];
    r.blocks = blocks;
    r.mode = is_burst ? "burst" : "sustained";
    r.bytes = sizeof(uint64_t);
    r.calls = pushes;
    r.moved = (double)pushes * sizeof(uint64_t);
    r.made = make_plan(*b, 1 + 0.2 * pushes);
    if (is_burst) {
        const int most = burst_puts() / pushes; /* warm_rounds() come before */
        r.made.rounds = std::min(r.made.rounds, (most - 1) * 10 / 11);
        if (r.made.rounds < 1)
            return;
    }
    uint64_t *const words = (uint64_t *)b->dest;
    const uint64_t in_launch = (uint64_t)(r.made.rounds + warm_rounds(r.made));
    const uint64_t launches = (uint64_t)r.made.repetitions + 1;
    gshmem_barrier_all();
    if (b->leads()) {
        std::vector<double> us;
        for (uint64_t i = 0; i < launches; i++) {
            const double one = sample(*b, r.made, blocks, threads, push<is_burst, by>, words,
                                      i * in_launch, b->target);
            if (i > 0)
                us.push_back(one);
        }
        b->out.add(r, us);
    }
    gshmem_barrier_all();
    if (b->me == b->target)
        verify_none(b, r.operation.c_str(), count_others, (const uint64_t *)words, (size_t)pushes,
                    (launches - 1) * in_launch, launches * in_launch - 1);
    gshmem_barrier_all();
}

template <how by> void measure_modes(bench *b, group g, int blocks)
{
    if (!wants(*b, how_names[by]))
        return;
    measure<true, by>(b, g, blocks);
    measure<false, by>(b, g, blocks);
}

int pe_main(int argc, char **argv)
{
    const program p = {
        "ring", "how fast kernels push requests to far PEs", {"push", "put", "batch"}, false, true,
        true};
    bench b = {};
    const int status = begin(&b, p, argc, argv, (size_t)1 << 20);
    if (status >= 0)
        return status;
    if (!needs_two(b) || gshmem_ptr(b.dest, b.me == b.target ? 0 : b.target)) {
        if (b.leads() && b.n > 1)
            fprintf(stderr, "perftest: PE 1 is near, no ring leads to it; GSHMEM_NODE_PES=1 makes "
                            "it far\n");
        b.has_failed = true;
        return end(&b);
    }
    for (group g : {THREAD, WARP, BLOCK}) {
        if (!wants(b, g))
            continue;
        for (int blocks :
             block_counts(&b, b.o.is_quick ? std::vector<int>{1} : std::vector<int>{1, 16, 0})) {
            measure_modes<PUSH>(&b, g, blocks);
            measure_modes<PUT>(&b, g, blocks);
            measure_modes<BATCH>(&b, g, blocks);
        }
    }
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
