/* SPDX-License-Identifier: Apache-2.0
 * Puts measured like ucx_perftest's, for comparison with it (compare_ucx.py). "put_lat": a put that
 * the other side sees in its memory and answers, half of a round trip; by the host and by a thread
 * of a kernel. "put_bw": puts by the host without waiting for each, and a quiet after the last. Run
 * it with GSHMEM_NODE_PES=1 to make PEs of one machine far. */
#include "perftest/common.h"

namespace
{

using namespace perftest;

plan far_plan(const bench &b, double us, size_t bytes)
{
    plan p = make_plan(b, us + (double)bytes / 1e3);
    if (!b.o.rounds && !b.o.is_quick)
        p.rounds = (int)std::max(8.0, std::min(5e4 / (us + (double)bytes / 1e3), 10000.0));
    if (!b.o.repetitions)
        p.repetitions = b.o.is_quick ? 3 : 11;
    return p;
}

/* The median of many short samples, since ucx_perftest's median is of single exchanges. */
plan latency_plan(const bench &b, size_t bytes, int repetitions)
{
    plan p = make_plan(b, 1);
    if (!b.o.rounds && !b.o.is_quick)
        p.rounds = bytes < 65536 ? 20 : 1;
    if (!b.o.repetitions && !b.o.is_quick)
        p.repetitions = bytes < 65536 ? repetitions : repetitions / 10;
    return p;
}

row describe_rate(const char *operation, const char *group, const char *mode, size_t bytes,
                  const plan &p)
{
    row r = describe(operation, group, mode, bytes, p);
    r.calls = 1;
    return r;
}

/* ---- put_lat --------------------------------------------------------------------------------- */

/* The last word of the data says which round it was. The wait polls it, like ucx_perftest's. */
__host__ __device__ inline void exchange(bool leads, char *dest, char *source, size_t bytes,
                                         uint64_t round, int other)
{
    uint64_t *const sent = (uint64_t *)(source + bytes) - 1;
    uint64_t *const seen = (uint64_t *)(dest + bytes) - 1;
    if (!leads)
        gshmem_uint64_wait_until(seen, GSHMEM_CMP_EQ, round);
    *sent = round;
    gshmem_putmem(dest, source, bytes, other);
    if (leads)
        gshmem_uint64_wait_until(seen, GSHMEM_CMP_EQ, round);
}

__global__ void __launch_bounds__(1)
    bounce(timing t, bool leads, char *dest, char *source, size_t bytes, uint64_t first, int other)
{
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        exchange(leads, dest, source, bytes, first + (uint64_t)(r - t.first()), other);
    }
    gshmem_quiet();
    t.end();
}

void halve(std::vector<double> *us)
{
    for (double &one : *us)
        one /= 2;
}

void measure_host_latency(bench *b, size_t bytes)
{
    const plan p = latency_plan(*b, bytes, 1000);
    const int other = b->leads() ? b->target : 0;
    uint64_t round = 0;
    prepare(*b, bytes, 0);
    if (b->me <= b->target) {
        std::vector<double> us = host_samples(p, [&](int rounds) {
            for (int i = 0; i < rounds; i++)
                exchange(b->leads(), b->dest, b->source, bytes, ++round, other);
            gshmem_quiet();
        });
        halve(&us);
        if (b->leads())
            b->out.add(describe_rate("put_lat", "host", "one_way", bytes, p), us);
    }
    gshmem_barrier_all();
}

void measure_kernel_latency(bench *b, size_t bytes)
{
    const plan p = latency_plan(*b, bytes, 300);
    const int other = b->leads() ? b->target : 0;
    uint64_t round = 1000000000;
    prepare(*b, bytes, 0);
    if (b->me <= b->target) {
        std::vector<double> us;
        for (int i = 0; i <= p.repetitions; i++) {
            const double one =
                sample(*b, p, 1, 1, bounce, b->leads(), b->dest, b->source, bytes, round, other);
            round += (uint64_t)(p.rounds + warm_rounds(p));
            if (i > 0)
                us.push_back(one);
        }
        halve(&us);
        if (b->leads())
            b->out.add(describe_rate("put_lat", "thread", "one_way", bytes, p), us);
    }
    gshmem_barrier_all();
}

/* ---- put_bw ---------------------------------------------------------------------------------- */

void measure_bandwidth(bench *b, size_t bytes)
{
    const plan p = far_plan(*b, 1, bytes);
    const uint32_t key = (uint32_t)bytes + 1;
    prepare(*b, bytes, key);
    if (b->leads()) {
        const std::vector<double> us = host_samples(p, [&](int rounds) {
            for (int i = 0; i < rounds; i++)
                gshmem_putmem_nbi(b->dest, b->source, bytes, b->target);
            gshmem_quiet();
        });
        b->out.add(describe_rate("put_bw", "host", "pipelined", bytes, p), us);
    }
    verify(b, bytes, key, b->target, "put_bw");
}

int pe_main(int argc, char **argv)
{
    const program p = {
        "far", "puts in the manner of ucx_perftest", {"put_lat", "put_bw"}, true, true, false};
    bench b = {};
    const int status = begin(&b, p, argc, argv, (size_t)64 << 20);
    if (status >= 0)
        return status;
    if (!needs_two(b))
        return end(&b);
    for (size_t bytes : sizes(b, 8, (size_t)16 << 20)) {
        if (wants(b, "put_lat") && bytes % 8 == 0 && is_cpu) /* the host writes the words itself */
            measure_host_latency(&b, bytes);
        if (wants(b, "put_lat") && bytes % 8 == 0 && wants(b, THREAD))
            measure_kernel_latency(&b, bytes);
        if (wants(b, "put_bw"))
            measure_bandwidth(&b, bytes);
    }
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
