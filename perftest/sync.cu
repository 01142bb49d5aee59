/* SPDX-License-Identifier: Apache-2.0
 * How long barrier_all and sync_all of all PEs take, called repeatedly by a thread, a warp, a
 * block, on a stream and by the host. Modes of a stream: "pipelined", calls one after another;
 * "single", a call and a wait for it; "graph", pipelined from a CUDA graph. */
#include "perftest/common.h"
#include "perftest/stream.h"

namespace
{

using namespace perftest;

enum operation { BARRIER, SYNC };
const char *const names[] = {"barrier_all", "sync_all"};

template <operation op, group g> __device__ inline void call()
{
    if constexpr (op == BARRIER) {
        if constexpr (g == THREAD)
            gshmem_barrier_all();
        else if constexpr (g == WARP)
            gshmemx_barrier_all_warp();
        else
            gshmemx_barrier_all_block();
    } else {
        if constexpr (g == THREAD)
            gshmem_sync_all();
        else if constexpr (g == WARP)
            gshmemx_sync_all_warp();
        else
            gshmemx_sync_all_block();
    }
}

template <operation op, group g>
__global__ void __launch_bounds__(group_threads(g)) repeat(timing t)
{
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        call<op, g>();
    }
    t.end();
}

void add(bench *b, operation op, const char *group, const char *mode, const plan &p,
         const std::vector<double> &us)
{
    row r;
    r.operation = names[op];
    r.group = group;
    r.mode = mode;
    r.made = p;
    if (b->leads())
        b->out.add(r, us);
}

template <operation op, group g> void measure(bench *b)
{
    if (!wants(*b, g))
        return;
    const plan p = make_plan(*b, is_cpu ? (g == THREAD ? 10 : 30) : 3);
    gshmem_barrier_all();
    add(b, op, group_names[g], "kernel", p, samples(*b, p, 1, group_threads(g), repeat<op, g>));
}

template <operation op> void measure_all(bench *b)
{
    if (!wants(*b, names[op]))
        return;
    measure<op, THREAD>(b);
    measure<op, WARP>(b);
    measure<op, BLOCK>(b);
    if (!b->o.groups.empty())
        return;
    const auto on_stream = [](cudaStream_t stream) {
        if (op == BARRIER)
            gshmemx_barrier_all_on_stream(stream);
        else
            gshmemx_sync_all_on_stream(stream);
    };
    for (stream_mode mode : stream_modes) {
        const plan p = make_plan(*b, is_cpu ? 40 : 8);
        gshmem_barrier_all();
        const std::vector<double> us = stream_samples(*b, p, mode, on_stream);
        if (!us.empty())
            add(b, op, "stream", stream_mode_names[mode], p, us);
    }
    const plan p = make_plan(*b, is_cpu ? 10 : 20);
    gshmem_barrier_all();
    add(b, op, "host", "host", p, host_samples(p, [](int rounds) {
            for (int i = 0; i < rounds; i++)
                op == BARRIER ? gshmem_barrier_all() : gshmem_sync_all();
        }));
}

int pe_main(int argc, char **argv)
{
    const program p = {
        "sync", "how long barrier_all and sync_all take", {"barrier_all", "sync_all"}, false, true,
        false};
    bench b = {};
    const int status = begin(&b, p, argc, argv, 0);
    if (status >= 0)
        return status;
    measure_all<BARRIER>(&b);
    measure_all<SYNC>(&b);
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
