/* SPDX-License-Identifier: Apache-2.0
 * How long the small things take: signal ping-pong, put and quiet by thread, warp and block,
 * barrier and sync, calls on a stream and from the host; and what set-up costs in time and memory.
 * PE 0 and PE 1 exchange; barriers are of all PEs. Each figure is the median over repetitions of
 * one launch that makes the call many times; data is checked after the clock has stopped.
 *
 *     latency [--rounds=N] [--repetitions=N] */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include "perftest/header.h"

namespace
{

struct options {
    int rounds = 2000; /* calls in a launch */
    int repetitions = 11;
};

__global__ void ping_pong(uint64_t *signal, uint64_t first, int rounds)
{
    const int me = gshmem_my_pe(), other = 1 - me;
    for (uint64_t r = first; r < first + (uint64_t)rounds; r++) {
        if (me == 0)
            gshmemx_signal_op(signal, r, GSHMEM_SIGNAL_SET, other);
        gshmem_signal_wait_until(signal, GSHMEM_CMP_GE, r);
        if (me == 1)
            gshmemx_signal_op(signal, r, GSHMEM_SIGNAL_SET, other);
    }
}

__global__ void put_signal_ping_pong(uint64_t *dest, uint64_t *signal, uint64_t first, int rounds)
{
    const int me = gshmem_my_pe(), other = 1 - me;
    for (uint64_t r = first; r < first + (uint64_t)rounds; r++) {
        if (me == 0)
            gshmem_uint64_put_signal(dest, dest + 1, 1, signal, r, GSHMEM_SIGNAL_SET, other);
        gshmem_signal_wait_until(signal, GSHMEM_CMP_GE, r);
        if (me == 1)
            gshmem_uint64_put_signal(dest, dest + 1, 1, signal, r, GSHMEM_SIGNAL_SET, other);
    }
}

enum group { THREAD, WARP, BLOCK };
const char *const group_name[] = {"thread", "warp", "block"};
const int group_threads[] = {1, 32, 1024};

template <group g>
__global__ void __launch_bounds__(1024)
    put_quiet(char *dest, const char *source, size_t bytes, int pe, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        if constexpr (g == THREAD)
            gshmem_putmem(dest, source, bytes, pe);
        else if constexpr (g == WARP)
            gshmemx_putmem_warp(dest, source, bytes, pe);
        else
            gshmemx_putmem_block(dest, source, bytes, pe);
        if (threadIdx.x == 0)
            gshmem_quiet();
        __syncthreads();
    }
}

template <group g>
__global__ void __launch_bounds__(1024)
    get(char *dest, const char *source, size_t bytes, int pe, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        if constexpr (g == THREAD)
            gshmem_getmem(dest, source, bytes, pe);
        else if constexpr (g == WARP)
            gshmemx_getmem_warp(dest, source, bytes, pe);
        else
            gshmemx_getmem_block(dest, source, bytes, pe);
        __syncthreads();
    }
}

template <group g> __global__ void __launch_bounds__(1024) synchronise(bool is_barrier, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        if constexpr (g == THREAD)
            is_barrier ? gshmem_barrier_all() : gshmem_sync_all();
        else if constexpr (g == WARP)
            is_barrier ? gshmemx_barrier_all_warp() : gshmemx_sync_all_warp();
        else
            is_barrier ? gshmemx_barrier_all_block() : gshmemx_sync_all_block();
    }
}

/* Microseconds of one round: median over repetitions, with the smallest and largest. */
struct figure {
    double median, least, most;
};

template <class F> figure measure(const options &o, int rounds, F launch)
{
    std::vector<double> us;
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    for (int i = -1; i < o.repetitions; i++) { /* the first warms up */
        cudaEventRecord(start);
        launch(rounds);
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        float ms = 0;
        cudaEventElapsedTime(&ms, start, stop);
        if (i >= 0)
            us.push_back(1000.0 * ms / rounds);
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
        fprintf(stderr, "latency: %s\n", cudaGetErrorString(error));
        gshmem_global_exit(1);
    }
    std::sort(us.begin(), us.end());
    return {us[us.size() / 2], us.front(), us.back()};
}

template <class F> figure measure_host(const options &o, int rounds, F call)
{
    std::vector<double> us;
    for (int i = -1; i < o.repetitions; i++) {
        const auto start = std::chrono::steady_clock::now();
        call(rounds);
        const std::chrono::duration<double> s = std::chrono::steady_clock::now() - start;
        if (i >= 0)
            us.push_back(1e6 * s.count() / rounds);
    }
    std::sort(us.begin(), us.end());
    return {us[us.size() / 2], us.front(), us.back()};
}

void row(const char *what, size_t bytes, figure f)
{
    if (gshmem_my_pe() == 0) {
        printf("%-34s %9zu B %9.2f us  (%.2f to %.2f)\n", what, bytes, f.median, f.least, f.most);
        fflush(stdout);
    }
}

struct buffers {
    char *dest, *source;
    uint64_t *signal;
    size_t bytes;
};

/* How many of the first bytes of dest on `pe` are not the pattern; on the others 0. Collective. */
size_t count_wrong(const buffers &b, size_t bytes, int pe)
{
    gshmem_barrier_all();
    if (gshmem_my_pe() != pe)
        return 0;
    std::vector<char> got(bytes);
    cudaMemcpy(got.data(), b.dest, bytes, cudaMemcpyDefault);
    cudaMemset(b.dest, 0, bytes);
    cudaDeviceSynchronize();
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += got[i] != (char)(i * 7 + 1);
    if (wrong > 0)
        fprintf(stderr, "latency: %zu of %zu bytes are wrong\n", wrong, bytes);
    return wrong;
}

/* Only PE 0 moves data, to and from PE 1. Returns how many bytes are wrong. */
template <group g> size_t transfers(const options &o, const buffers &b)
{
    size_t wrong = 0;
    for (size_t bytes : {(size_t)8, (size_t)1024, (size_t)65536, (size_t)1 << 20}) {
        const size_t per_thread = bytes / (size_t)group_threads[g];
        const int rounds = std::max(1, (int)(o.rounds / (1 + per_thread / 256)));
        const dim3 threads(group_threads[g]);
        char what[64];
        if (gshmem_my_pe() == 0) {
            snprintf(what, sizeof what, "put + quiet, %s", group_name[g]);
            row(what, bytes, measure(o, rounds, [&](int r) {
                    gshmem_launch(put_quiet<g>, dim3(1), threads, 0, (cudaStream_t)0, b.dest,
                                  b.source, bytes, 1, r);
                }));
        }
        wrong += count_wrong(b, bytes, 1);
        if (gshmem_my_pe() == 0) {
            snprintf(what, sizeof what, "get, %s", group_name[g]);
            row(what, bytes, measure(o, rounds, [&](int r) {
                    gshmem_launch(get<g>, dim3(1), threads, 0, (cudaStream_t)0, b.dest, b.source,
                                  bytes, 1, r);
                }));
        }
        wrong += count_wrong(b, bytes, 0);
    }
    return wrong;
}

/* Both sides launch the same number of times. */
void signals(const options &o, const buffers &b)
{
    uint64_t next = 1;
    gshmem_barrier_all();
    if (gshmem_my_pe() < 2) {
        row("signal ping-pong, round trip", 8, measure(o, o.rounds, [&](int r) {
                gshmem_launch(ping_pong, dim3(1), dim3(1), 0, (cudaStream_t)0, b.signal, next, r);
                next += (uint64_t)r;
            }));
        next = 1;
        row("put_signal ping-pong, round trip", 8, measure(o, o.rounds, [&](int r) {
                gshmem_launch(put_signal_ping_pong, dim3(1), dim3(1), 0, (cudaStream_t)0,
                              b.signal + 2, b.signal + 1, next, r);
                next += (uint64_t)r;
            }));
    }
    gshmem_barrier_all();
}

template <group g> void synchronisation_of_group(const options &o)
{
    for (int is_barrier = 1; is_barrier >= 0; is_barrier--) {
        char what[64];
        snprintf(what, sizeof what, "%s_all, %s", is_barrier ? "barrier" : "sync", group_name[g]);
        row(what, 0, measure(o, o.rounds, [&](int r) {
                gshmem_launch(synchronise<g>, dim3(1), dim3(group_threads[g]), 0, (cudaStream_t)0,
                              is_barrier != 0, r);
            }));
    }
}

void synchronisation(const options &o)
{
    synchronisation_of_group<THREAD>(o);
    synchronisation_of_group<WARP>(o);
    synchronisation_of_group<BLOCK>(o);
    row("barrier_all_on_stream", 0, measure(o, std::max(1, o.rounds / 4), [&](int r) {
            for (int i = 0; i < r; i++)
                gshmemx_barrier_all_on_stream((cudaStream_t)0);
        }));
    row("barrier_all, host", 0, measure_host(o, o.rounds, [&](int r) {
            for (int i = 0; i < r; i++)
                gshmem_barrier_all();
        }));
}

void host_calls(const options &o, const buffers &b)
{
    const int other = gshmem_n_pes() > 1 ? 1 : 0;
    const int rounds = std::max(1, o.rounds / 10);
    if (gshmem_my_pe() == 0) {
        row("host uint64_p", 8, measure_host(o, rounds, [&](int r) {
                for (int i = 0; i < r; i++)
                    gshmem_uint64_p(b.signal + 3, (uint64_t)i, other);
            }));
        row("host uint64_g", 8, measure_host(o, rounds, [&](int r) {
                for (int i = 0; i < r; i++)
                    (void)gshmem_uint64_g(b.signal + 3, other);
            }));
        row("host uint64_atomic_fetch_add", 8, measure_host(o, rounds, [&](int r) {
                for (int i = 0; i < r; i++)
                    (void)gshmem_uint64_atomic_fetch_add(b.signal + 3, 1, other);
            }));
        row("putmem_on_stream", 65536, measure(o, rounds, [&](int r) {
                for (int i = 0; i < r; i++)
                    gshmemx_putmem_on_stream(b.dest, b.source, 65536, other, (cudaStream_t)0);
            }));
    }
    gshmem_barrier_all();
}

int number(const char *text, int otherwise)
{
    const int n = atoi(text);
    return n > 0 ? n : otherwise;
}

int pe_main(int argc, char **argv)
{
    options o;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--rounds=", 9) == 0)
            o.rounds = number(argv[i] + 9, o.rounds);
        else if (strncmp(argv[i], "--repetitions=", 14) == 0)
            o.repetitions = number(argv[i] + 14, o.repetitions);
        else {
            fprintf(stderr, "usage: latency [--rounds=N] [--repetitions=N]\n");
            return 2;
        }
    }
    const perftest::start begun = perftest::print_header("latency");
    buffers b;
    b.bytes = (size_t)1 << 20;
    b.dest = (char *)gshmem_malloc(b.bytes);
    b.source = (char *)gshmem_malloc(b.bytes);
    b.signal = (uint64_t *)gshmem_calloc(4, sizeof(uint64_t));
    if (!b.dest || !b.source || !b.signal)
        gshmem_global_exit(1);
    std::vector<char> pattern(b.bytes);
    for (size_t i = 0; i < b.bytes; i++)
        pattern[i] = (char)(i * 7 + 1);
    cudaMemcpy(b.source, pattern.data(), b.bytes, cudaMemcpyDefault);
    gshmem_barrier_all();

    perftest::print_setup(begun);
    size_t wrong = 0;
    if (gshmem_n_pes() > 1) {
        signals(o, b);
        wrong += transfers<THREAD>(o, b);
        wrong += transfers<WARP>(o, b);
        wrong += transfers<BLOCK>(o, b);
    }
    synchronisation(o);
    host_calls(o, b);
    gshmem_finalize();
    return wrong > 0;
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
