/* SPDX-License-Identifier: Apache-2.0
 * How many bytes a second blocks move that share a message: each puts or gets its part of it. Modes
 * "one" and "both": one PE calls, or both at once. In the plain modes all blocks finish a message
 * before the next begins, which costs small messages time; in the _stream modes each block goes on
 * with its part of the next one, in the next window: nothing between the calls makes a get bypass
 * what the last one left in the first cache. A quiet ends each sample. */
#include "perftest/common.h"

namespace
{

using namespace perftest;

enum operation { PUT, GET };
const char *const names[] = {"put", "get"};

template <operation op, bool is_stream>
__global__ void __launch_bounds__(block_threads)
    repeat(timing t, char *dest, const char *source, size_t bytes, int windows, int pe,
           unsigned *arrived)
{
    const size_t part = bytes / gridDim.x / 16 * 16, first = part * blockIdx.x;
    const size_t mine = blockIdx.x + 1 < gridDim.x ? part : bytes - first;
    const size_t end = bytes * windows;
    size_t off = first;
    for (int r = t.first(); r < t.rounds; r++) {
        if (!is_stream || r == 0)
            grid_meet(arrived);
        t.begin(r);
        if constexpr (op == PUT)
            gshmemx_putmem_nbi_block(dest + off, source + off, mine, pe);
        else
            gshmemx_getmem_nbi_block(dest + off, source + off, mine, pe);
        if (is_stream) {
            off += bytes;
            if (off >= end)
                off = first;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        gshmem_quiet();
    t.end();
}

struct direction {
    bool is_both, is_stream;
    const char *mode;
};
const direction directions[] = {{false, false, "one"},
                                {false, true, "one_stream"},
                                {true, false, "both"},
                                {true, true, "both_stream"}};

/* The samples of PEs 0 and 1, the slower of each pair, on PE 0. Collective. */
std::vector<double> slower(const bench &b, std::vector<double> mine)
{
    const size_t bytes = mine.size() * sizeof(double);
    std::vector<double> other(mine.size());
    if (b.me == 1) {
        CUDA(cudaMemcpy(b.words, mine.data(), bytes, cudaMemcpyDefault));
        CUDA(cudaDeviceSynchronize());
        gshmem_putmem(b.words, b.words, bytes, 0);
        gshmem_quiet();
    }
    gshmem_barrier_all();
    if (b.me != 0)
        return mine;
    CUDA(cudaMemcpy(other.data(), b.words, bytes, cudaMemcpyDefault));
    for (size_t i = 0; i < mine.size(); i++)
        mine[i] = std::max(mine[i], other[i]);
    return mine;
}

template <operation op, bool is_stream>
std::vector<double> measure_blocks(const bench &b, const plan &p, int blocks, size_t bytes,
                                   int windows, int pe, bool is_both)
{
    std::vector<double> us;
    unsigned *const arrived = (unsigned *)b.wrong;
    for (int i = -1; i < p.repetitions; i++) {
        CUDA(cudaMemset(arrived, 0, sizeof *arrived));
        CUDA(cudaDeviceSynchronize());
        if (is_both) /* both begin together, within some microseconds */
            gshmem_barrier_all();
        if (b.me > (is_both ? 1 : 0))
            continue;
        const double one = sample(b, p, blocks, block_threads, repeat<op, is_stream>, b.dest,
                                  (const char *)b.source, bytes, windows, pe, arrived);
        if (i >= 0)
            us.push_back(one);
    }
    return us;
}

template <operation op> void measure(bench *b, const direction &d, int blocks, size_t bytes)
{
    const uint32_t key = (uint32_t)(bytes + op * 3) + (uint32_t)blocks;
    const int pe = b->me == 0 ? b->target : 0;
    row r;
    r.operation = names[op];
    r.group = "block";
    r.blocks = blocks;
    r.mode = d.mode;
    r.bytes = bytes;
    r.moved = (double)bytes * (d.is_both ? 2 : 1);
    r.made = make_plan(*b, guess_us(bytes, BLOCK, blocks));
    r.made.repetitions = std::min(r.made.repetitions, (int)n_words);
    const bool is_turning =
        d.is_stream && bytes % 16 == 0; /* all windows have the same alignment */
    const int windows = is_turning ? windows_of(*b, r.made, bytes) : 1;
    prepare(*b, bytes * windows, key);
    std::vector<double> us =
        d.is_stream ? measure_blocks<op, true>(*b, r.made, blocks, bytes, windows, pe, d.is_both)
                    : measure_blocks<op, false>(*b, r.made, blocks, bytes, windows, pe, d.is_both);
    if (d.is_both)
        us = slower(*b, us);
    if (b->leads())
        b->out.add(r, us);
    if (op == PUT || d.is_both)
        verify(b, bytes * windows, key, b->target, names[op]);
    if (op == GET || d.is_both)
        verify(b, bytes * windows, key, 0, names[op]);
}

template <operation op> void measure_all(bench *b, const std::vector<int> &counts)
{
    if (!wants(*b, names[op]))
        return;
    for (const direction &d : directions) {
        if (d.is_both && b->n < 2)
            continue;
        for (int blocks : counts)
            for (size_t bytes : sizes(*b, 1024, (size_t)1 << 30))
                if (bytes >= (size_t)blocks * 16)
                    measure<op>(b, d, blocks, bytes);
    }
}

int pe_main(int argc, char **argv)
{
    const program p = {"bandwidth",
                       "how many bytes a second blocks move that share a message",
                       {"put", "get"},
                       true,
                       false,
                       true,
                       true};
    bench b = {};
    const int status = begin(&b, p, argc, argv, (size_t)1 << 30);
    if (status >= 0)
        return status;
    std::vector<int> counts = {1, 2, 4, 8, 32, 0};
    if (b.o.is_quick)
        counts = {1, 2};
    counts = block_counts(&b, counts);
    measure_all<PUT>(&b, counts);
    measure_all<GET>(&b, counts);
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
