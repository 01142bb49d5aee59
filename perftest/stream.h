/* SPDX-License-Identifier: Apache-2.0
 * Times calls made on a stream. */
#ifndef GSHMEM_PERFTEST_STREAM_H
#define GSHMEM_PERFTEST_STREAM_H

#include "perftest/common.h"

namespace perftest
{

/* PIPELINED: calls one after another, by the stream's clock. SINGLE: a call, then the host waits
 * for the stream, by the host's clock. GRAPH: like pipelined, all calls in one CUDA graph. */
enum stream_mode { PIPELINED, SINGLE, GRAPH };
constexpr const char *stream_mode_names[] = {"pipelined", "single", "graph"};
constexpr stream_mode stream_modes[] = {PIPELINED, SINGLE, GRAPH};

namespace detail
{

#if defined(__CUDACC__)
typedef cudaGraphExec_t graph;

/* NULL when these calls cannot be captured. */
template <class F> graph make_graph(const bench &b, int rounds, F call)
{
    cudaGraph_t captured = nullptr;
    cudaGraphExec_t made = nullptr;
    CUDA(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < rounds; i++)
        call(b.stream);
    if (cudaStreamEndCapture(b.stream, &captured) != cudaSuccess ||
        cudaGraphInstantiate(&made, captured, 0) != cudaSuccess)
        made = nullptr;
    if (captured)
        cudaGraphDestroy(captured);
    (void)cudaGetLastError(); /* a refused capture must not count against what follows */
    return made;
}

inline void launch(graph g, cudaStream_t stream)
{
    CUDA(cudaGraphLaunch(g, stream));
}

inline void destroy(graph g)
{
    CUDA(cudaGraphExecDestroy(g));
}
#else
typedef void *graph; /* the CPU device has none */

template <class F> graph make_graph(const bench &, int, F)
{
    return nullptr;
}
inline void launch(graph, cudaStream_t) {}
inline void destroy(graph) {}
#endif

/* The stream's time around enqueue(). */
template <class F> std::vector<double> event_samples(const bench &b, const plan &p, F enqueue)
{
    std::vector<double> us;
    cudaEvent_t start, stop;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    for (int i = -1; i < p.repetitions; i++) {
        float ms = 0;
        CUDA(cudaEventRecord(start, b.stream));
        enqueue();
        CUDA(cudaEventRecord(stop, b.stream));
        CUDA(cudaEventSynchronize(stop));
        CUDA(cudaEventElapsedTime(&ms, start, stop));
        if (i >= 0)
            us.push_back(1000.0 * ms / p.rounds);
    }
    CUDA(cudaEventDestroy(stop));
    CUDA(cudaEventDestroy(start));
    return us;
}

} // namespace detail

/* Microseconds of a call(stream). Empty if there are no graphs. */
template <class F>
std::vector<double> stream_samples(const bench &b, const plan &p, stream_mode mode, F call)
{
    if (mode == SINGLE)
        return host_samples(p, [&](int rounds) {
            for (int i = 0; i < rounds; i++) {
                call(b.stream);
                CUDA(cudaStreamSynchronize(b.stream));
            }
        });
    if (mode == PIPELINED)
        return detail::event_samples(b, p, [&] {
            for (int i = 0; i < p.rounds; i++)
                call(b.stream);
        });
    const detail::graph g = detail::make_graph(b, p.rounds, call);
    if (!g)
        return {};
    const std::vector<double> us =
        detail::event_samples(b, p, [&] { detail::launch(g, b.stream); });
    detail::destroy(g);
    return us;
}

} // namespace perftest

#endif
