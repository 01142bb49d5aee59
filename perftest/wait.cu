/* SPDX-License-Identifier: Apache-2.0
 * How fast a wait notices: PE 0 and PE 1 wake each other in turn by a p (signal_wait_until: by a
 * signal; on a stream: by calls on the stream), and the figure is the round trip of two wakings.
 * Mode "words=n": the wait or test reads n words, all of which the waker writes, the word that is
 * read last being written last. */
#include "perftest/common.h"
#include "perftest/stream.h"

namespace
{

using namespace perftest;

enum operation { UNTIL, SIGNAL, ALL, ANY, TEST };
const char *const names[] = {"wait_until", "signal_wait_until", "wait_until_all", "wait_until_any",
                             "test"};

template <operation op> __device__ inline void wait(uint64_t *words, int n, uint64_t value)
{
    if constexpr (op == UNTIL)
        gshmem_uint64_wait_until(words, GSHMEM_CMP_GE, value);
    else if constexpr (op == SIGNAL)
        gshmem_signal_wait_until(words, GSHMEM_CMP_GE, value);
    else if constexpr (op == ALL)
        gshmem_uint64_wait_until_all(words, (size_t)n, nullptr, GSHMEM_CMP_GE, value);
    else if constexpr (op == ANY)
        (void)gshmem_uint64_wait_until_any(words, (size_t)n, nullptr, GSHMEM_CMP_GE, value);
    else
        while (!gshmem_uint64_test(words, GSHMEM_CMP_GE, value)) {
        }
}

/* Only the last word wakes wait_until_any. */
template <operation op> __device__ inline void wake(uint64_t *words, int n, uint64_t value, int pe)
{
    if constexpr (op == SIGNAL)
        gshmemx_signal_op(words, value, GSHMEM_SIGNAL_SET, pe);
    else
        for (int i = op == ANY ? n - 1 : 0; i < n; i++)
            gshmem_uint64_p(words + i, value, pe);
}

template <operation op>
__global__ void __launch_bounds__(1) repeat(timing t, uint64_t *words, int n, uint64_t before)
{
    const int me = gshmem_my_pe(), other = 1 - me;
    for (int r = t.first(); r < t.rounds; r++) {
        const uint64_t value = before + (uint64_t)(r - t.first()) + 1;
        t.begin(r);
        if (me == 1)
            wait<op>(words, n, value);
        wake<op>(words, n, value, other);
        if (me == 0)
            wait<op>(words, n, value);
    }
    t.end();
}

row describe(const char *name, const char *group, const std::string &mode, const plan &p)
{
    row r;
    r.operation = name;
    r.group = group;
    r.mode = mode;
    r.made = p;
    return r;
}

template <operation op> void measure(bench *b, int n)
{
    if (!wants(*b, names[op]))
        return;
    const plan p = make_plan(*b, (is_cpu ? 10 : 2) + 0.02 * n);
    const uint64_t in_launch = (uint64_t)(p.rounds + warm_rounds(p));
    std::vector<double> us;
    uint64_t woken = 0;
    clear_words(*b);
    for (int i = -1; b->me < 2 && i < p.repetitions; i++, woken += in_launch) {
        const double one = sample(*b, p, 1, 1, repeat<op>, b->words, n, woken);
        if (i >= 0)
            us.push_back(one);
    }
    if (b->leads())
        b->out.add(describe(names[op], "thread", "words=" + std::to_string(n), p), us);
    for (int pe = 0; pe < 2; pe++)
        verify_word(b, b->words + n - 1, in_launch * (uint64_t)(p.repetitions + 1), pe, names[op]);
}

/* The streams of both PEs wake each other. */
void measure_on_stream(bench *b)
{
    const char *const name = "wait_on_stream";
    if (!wants(*b, name))
        return;
    const plan p = make_plan(*b, is_cpu ? 40 : 15);
    const int me = b->me, other = 1 - me;
    uint64_t value = 0;
    std::vector<double> us;
    clear_words(*b);
    if (me < 2)
        us = stream_samples(*b, p, PIPELINED, [&](cudaStream_t stream) {
            value++;
            if (me == 1)
                gshmemx_signal_wait_until_on_stream(b->words, GSHMEM_CMP_GE, value, stream);
            gshmemx_signal_op_on_stream(b->words, value, GSHMEM_SIGNAL_SET, other, stream);
            if (me == 0)
                gshmemx_signal_wait_until_on_stream(b->words, GSHMEM_CMP_GE, value, stream);
        });
    if (b->leads())
        b->out.add(describe(name, "stream", stream_mode_names[PIPELINED], p), us);
    const uint64_t woken = (uint64_t)p.rounds * (uint64_t)(p.repetitions + 1);
    for (int pe = 0; pe < 2; pe++)
        verify_word(b, b->words, woken, pe, name);
}

int pe_main(int argc, char **argv)
{
    program p = {"wait", "how fast a wait notices", {"wait_on_stream"}, false, false, false};
    p.operations.insert(p.operations.begin(), std::begin(names), std::end(names));
    bench b = {};
    const int status = begin(&b, p, argc, argv, sizeof(uint64_t));
    if (status >= 0)
        return status;
    if (!needs_two(b))
        return end(&b), 2;
    measure<UNTIL>(&b, 1);
    measure<SIGNAL>(&b, 1);
    measure<TEST>(&b, 1);
    for (int n : {1, 8, 64}) {
        measure<ALL>(&b, n);
        measure<ANY>(&b, n);
    }
    measure_on_stream(&b);
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
