/* SPDX-License-Identifier: Apache-2.0
 * The cost of host calls, direct and on a stream: PE 0 calls, PE 1 does nothing. Modes of a direct
 * call: "single", each with a quiet; "pipelined", one quiet after all. Modes on a stream: see
 * stream.h. */
#include "perftest/common.h"
#include "perftest/stream.h"

namespace
{

using namespace perftest;

plan host_plan(const bench &b, size_t bytes)
{
    return make_plan(b, (is_cpu ? 1 : 8) + (double)bytes / (is_cpu ? 2e3 : 100e3));
}

/* ---- direct ---------------------------------------------------------------------------------- */

template <class F> void measure_direct(bench *b, const char *name, size_t bytes, F call)
{
    for (bool is_single : {true, false}) {
        if (!b->leads())
            continue;
        const plan p = host_plan(*b, bytes);
        const std::vector<double> us = host_samples(p, [&](int rounds) {
            for (int i = 0; i < rounds; i++) {
                call();
                if (is_single)
                    gshmem_quiet();
            }
            if (!is_single)
                gshmem_quiet();
        });
        b->out.add(describe(name, "host", is_single ? "single" : "pipelined", bytes, p), us);
    }
}

void direct_data(bench *b, size_t bytes)
{
    const uint32_t key = (uint32_t)bytes;
    if (wants(*b, "put")) {
        prepare(*b, bytes, key);
        measure_direct(b, "put", bytes,
                       [=] { gshmem_putmem(b->dest, b->source, bytes, b->target); });
        verify(b, bytes, key, b->target, "host put");
    }
    if (wants(*b, "get")) {
        prepare(*b, bytes, key + 1);
        measure_direct(b, "get", bytes,
                       [=] { gshmem_getmem(b->dest, b->source, bytes, b->target); });
        verify(b, bytes, key + 1, 0, "host get");
    }
}

void direct_words(bench *b)
{
    if (wants(*b, "p")) {
        clear_words(*b);
        measure_direct(b, "p", sizeof(uint64_t), [=] { gshmem_uint64_p(b->words, 17, b->target); });
        verify_word(b, b->words, 17, b->target, "host p");
    }
    if (wants(*b, "g")) {
        uint64_t sum = 0;
        clear_words(*b);
        measure_direct(b, "g", sizeof(uint64_t),
                       [&] { sum += gshmem_uint64_g(b->words, b->target); });
        b->has_failed = b->has_failed || sum != 0;
    }
#if !defined(PERFTEST_NVSHMEM) /* NVSHMEM's host has no atomics */
    if (wants(*b, "fetch_add")) {
        uint64_t n = 0;
        clear_words(*b);
        measure_direct(b, "fetch_add", sizeof(uint64_t), [&] {
            n++;
            (void)gshmem_uint64_atomic_fetch_add(b->words, 1, b->target);
        });
        if (b->leads())
            gshmem_uint64_p(b->words + 1, n, b->target);
        gshmem_barrier_all();
        uint64_t told = 0;
        CUDA(cudaMemcpy(&told, b->words + 1, sizeof told, cudaMemcpyDefault));
        verify_word(b, b->words, told, b->target, "host fetch_add");
    }
#endif
}

/* ---- on a stream ----------------------------------------------------------------------------- */

template <class F> void measure_stream(bench *b, const char *name, size_t bytes, F call)
{
    for (stream_mode mode : stream_modes) {
        if (!b->leads())
            continue;
        const plan p = host_plan(*b, bytes);
        const std::vector<double> us = stream_samples(*b, p, mode, call);
        if (!us.empty())
            b->out.add(describe(name, "stream", stream_mode_names[mode], bytes, p), us);
    }
}

void stream_data(bench *b, size_t bytes)
{
    const uint32_t key = (uint32_t)bytes;
    if (wants(*b, "put_on_stream")) {
        prepare(*b, bytes, key + 2);
        measure_stream(b, "put_on_stream", bytes, [=](cudaStream_t stream) {
            gshmemx_putmem_on_stream(b->dest, b->source, bytes, b->target, stream);
        });
        verify(b, bytes, key + 2, b->target, "put_on_stream");
    }
    if (wants(*b, "get_on_stream")) {
        prepare(*b, bytes, key + 3);
        measure_stream(b, "get_on_stream", bytes, [=](cudaStream_t stream) {
            gshmemx_getmem_on_stream(b->dest, b->source, bytes, b->target, stream);
        });
        verify(b, bytes, key + 3, 0, "get_on_stream");
    }
    if (wants(*b, "put_signal_on_stream")) {
        prepare(*b, bytes, key + 4);
        clear_words(*b);
        measure_stream(b, "put_signal_on_stream", bytes, [=](cudaStream_t stream) {
            gshmemx_putmem_signal_on_stream(b->dest, b->source, bytes, b->words, 5,
                                            GSHMEM_SIGNAL_SET, b->target, stream);
        });
        verify(b, bytes, key + 4, b->target, "put_signal_on_stream");
        verify_word(b, b->words, 5, b->target, "put_signal_on_stream");
    }
}

void stream_words(bench *b)
{
    if (wants(*b, "p_on_stream")) {
        clear_words(*b);
        /* No graph: it must not hold the address of the caller's value. */
        if (b->leads())
            for (stream_mode mode : {PIPELINED, SINGLE}) {
                const plan p = host_plan(*b, sizeof(uint64_t));
                b->out.add(
                    describe("p_on_stream", "stream", stream_mode_names[mode], sizeof(uint64_t), p),
                    stream_samples(*b, p, mode, [=](cudaStream_t stream) {
                        gshmemx_uint64_p_on_stream(b->words, 23, b->target, stream);
                    }));
            }
        verify_word(b, b->words, 23, b->target, "p_on_stream");
    }
    if (wants(*b, "signal_on_stream")) {
        clear_words(*b);
        measure_stream(b, "signal_on_stream", sizeof(uint64_t), [=](cudaStream_t stream) {
            gshmemx_signal_op_on_stream(b->words, 29, GSHMEM_SIGNAL_SET, b->target, stream);
        });
        verify_word(b, b->words, 29, b->target, "signal_on_stream");
    }
}

int pe_main(int argc, char **argv)
{
    const program p = {"host",
                       "what calls of the host cost, direct and on a stream",
                       {"put", "get", "p", "g",
#if !defined(PERFTEST_NVSHMEM)
                        "fetch_add",
#endif
                        "put_on_stream", "get_on_stream", "put_signal_on_stream", "p_on_stream",
                        "signal_on_stream"},
                       true,
                       false,
                       false};
    bench b = {};
    const int status = begin(&b, p, argc, argv, (size_t)256 << 20);
    if (status >= 0)
        return status;
    direct_words(&b);
    stream_words(&b);
    for (size_t bytes : sizes(b, 4, (size_t)256 << 20))
        direct_data(&b, bytes);
    for (size_t bytes : sizes(b, 4, (size_t)256 << 20))
        stream_data(&b, bytes);
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
