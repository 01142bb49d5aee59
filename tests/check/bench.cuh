/* SPDX-License-Identifier: Apache-2.0
 * Times the calls that check compares: the same functions, one group of the smallest grid, median
 * of several samples. Each is timed with one call and with many, to subtract what a sample costs
 * besides its calls. */
#ifndef GSH_TEST_BENCH_CUH
#define GSH_TEST_BENCH_CUH

#include <algorithm>
#include "tests/check/calls.cuh"

enum { bench_samples = 15 };

struct bench {
    const test_pe *pe;
    const type_row *type;
    int op, where;
    call *calls;      /* device memory, holds n_calls copies */
    call *host_calls; /* the same on the host */
    int n_calls;
};

static double bench_sample(const bench *b, int n)
{
    const double start = test_now_ns();
    if (b->where == place_host) {
        for (int i = 0; i < n; i++)
            b->type->on_host(b->op, b->host_calls[i]);
        gshmem_quiet();
    } else if (b->where == place_stream) {
        for (int i = 0; i < n; i++)
            b->type->on_stream(b->op, b->host_calls[i], b->pe->stream);
        gshmemx_quiet_on_stream(b->pe->stream);
        test_sync(b->pe);
    } else {
        const unsigned block = b->where == place_thread ? 1 : b->where == place_warp ? 32 : 256;
        b->type->launch(b->where, 1, b->pe->is_cpu && block > 64 ? 64 : block, b->op, b->calls, n,
                        b->pe->stream);
        test_sync(b->pe);
    }
    return test_now_ns() - start;
}

/* Nanoseconds per call. */
static double bench_median(const bench *b)
{
    double of[bench_samples];
    bench_sample(b, b->n_calls); /* warm-up */
    for (double &ns : of) {
        const double one = bench_sample(b, 1), all = bench_sample(b, b->n_calls);
        ns = (all - one) / (b->n_calls - 1);
    }
    std::sort(of, of + bench_samples);
    return of[bench_samples / 2];
}

static void bench_call(const bench *b, const call *c)
{
    for (int i = 0; i < b->n_calls; i++)
        b->host_calls[i] = *c;
    test_copy(b->calls, b->host_calls, (size_t)b->n_calls * sizeof *c);
    const double ns = bench_median(b);
    const size_t bytes = c->nelems * b->type->size;
    printf("%-15s %-10s %-7s %9zu %12.1f %10.3f\n", op_names[b->op], b->type->name,
           place_names[b->where], bytes, ns, ns > 0 ? (double)bytes / ns : 0.0);
}

static inline void bench_header(void)
{
    printf("%-15s %-10s %-7s %9s %12s %10s\n", "op", "type", "place", "bytes", "ns (median)",
           "GB/s");
}

#endif
