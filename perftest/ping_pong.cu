/* SPDX-License-Identifier: Apache-2.0
 * How long a message to PE 1 and another one back take (a round trip): a put and then a flag, a
 * signal, a put with its signal, an atomic. Data goes by thread, warp or block; one thread waits.
 * put_signal_beside: the word lies beside its signal, in the same 16 aligned bytes. --lent=64K: the
 * block lends that much shared memory.
 *
 * A flag's time depends on where it lies: on H200s by up to 0.2 us, in pages of 4 KiB. So the
 * rounds use flags in several pages. */
#include "perftest/common.h"

namespace
{

using namespace perftest;

enum operation { PUT, PUT_SIGNAL, SIGNAL, ATOMIC, BESIDE };
const char *const names[] = {"put", "put_signal", "signal", "atomic", "put_signal_beside"};

/* The data, then the flag: once the flag is seen the data have arrived. */
template <operation op, group g>
__device__ inline void send(char *dest, const char *source, size_t bytes, uint64_t *flag,
                            uint64_t value, int pe)
{
    if constexpr (op == PUT) {
        if constexpr (g == THREAD)
            gshmem_putmem(dest, source, bytes, pe);
        else if constexpr (g == WARP)
            gshmemx_putmem_warp(dest, source, bytes, pe);
        else
            gshmemx_putmem_block(dest, source, bytes, pe);
        group_sync<g>();
        if (threadIdx.x == 0) {
            gshmem_fence();
            gshmem_uint64_p(flag, value, pe);
        }
    } else if constexpr (op == PUT_SIGNAL || op == BESIDE) {
        if constexpr (g == THREAD)
            gshmem_putmem_signal(dest, source, bytes, flag, value, GSHMEM_SIGNAL_SET, pe);
        else if constexpr (g == WARP)
            gshmemx_putmem_signal_warp(dest, source, bytes, flag, value, GSHMEM_SIGNAL_SET, pe);
        else
            gshmemx_putmem_signal_block(dest, source, bytes, flag, value, GSHMEM_SIGNAL_SET, pe);
    } else if constexpr (op == SIGNAL) {
        gshmemx_signal_op(flag, value, GSHMEM_SIGNAL_SET, pe);
    } else {
        gshmem_uint64_atomic_inc(flag, pe);
    }
}

template <operation op, group g> __device__ inline void wait(uint64_t *flag, uint64_t value)
{
    if (threadIdx.x == 0) {
        if constexpr (op == PUT || op == ATOMIC)
            gshmem_uint64_wait_until(flag, GSHMEM_CMP_GE, value);
        else
            gshmem_signal_wait_until(flag, GSHMEM_CMP_GE, value);
    }
    group_sync<g>();
}

constexpr size_t places = 8, place_bytes = 4096; /* of flags */
static_assert(places * place_bytes == n_words * sizeof(uint64_t), "the flags fill the words");

/* PE 0 begins. Each flag counts its messages, starting at `before` in this launch. */
template <operation op, group g>
__global__ void __launch_bounds__(group_threads(g))
    repeat(timing t, char *dest, const char *source, size_t bytes, uint64_t *flag, uint64_t before,
           size_t lent)
{
    GSHMEM_DYNAMIC_SHARED(char, shared);
    if (lent > 0)
        gshmem::lend_shared(shared, lent);
    const int me = gshmem_my_pe(), other = 1 - me;
    for (int r = t.first(); r < t.rounds; r++) {
        const size_t n = (size_t)(r - t.first()), off = n % places * place_bytes;
        const uint64_t value = before + n / places + 1;
        uint64_t *here = flag + off / sizeof *flag;
        char *to = op == BESIDE ? dest + off : dest;
        t.begin(r);
        if (me == 1)
            wait<op, g>(here, value);
        send<op, g>(to, source, bytes, here, value, other);
        if (me == 0)
            wait<op, g>(here, value);
    }
    t.end();
    if (lent > 0)
        gshmem::take_back_shared();
}

template <operation op, group g> void measure_size(bench *b, size_t bytes)
{
    const bool has_data = op == PUT || op == PUT_SIGNAL || op == BESIDE;
    uint64_t *flag = op == BESIDE ? (uint64_t *)b->dest + 1 : b->words;
    const uint32_t key = (uint32_t)(bytes + op * 3 + g);
    row r;
    r.operation = names[op];
    r.group = group_names[g];
    r.mode = "round_trip";
    r.bytes = bytes;
    r.made = make_plan(*b, 2 * (guess_us(has_data ? bytes : 0, g) + (is_cpu ? 5 : 0)));
    while ((r.made.rounds + warm_rounds(r.made)) % (int)places != 0)
        r.made.rounds++;
    const uint64_t in_launch = (uint64_t)(r.made.rounds + warm_rounds(r.made)) / places;
    std::vector<double> us;
    uint64_t sent = 0;
    prepare(*b, bytes, key);
    for (size_t i = 0; i < places; i++)
        CUDA(cudaMemset(flag + i * place_bytes / sizeof *flag, 0, sizeof *flag));
    clear_words(*b);
    b->shared = b->o.lent;
    for (int i = -1; b->me < 2 && i < r.made.repetitions; i++, sent += in_launch) {
        const double one = sample(*b, r.made, 1, group_threads(g), repeat<op, g>, b->dest,
                                  (const char *)b->source, bytes, flag, sent, b->o.lent);
        if (i >= 0)
            us.push_back(one);
    }
    b->shared = 0;
    if (b->leads())
        b->out.add(r, us);
    for (int pe = 0; pe < 2; pe++) {
        if (has_data)
            verify(b, bytes, key, pe, names[op]);
        verify_word(b, flag, in_launch * (uint64_t)(r.made.repetitions + 1), pe, names[op]);
    }
}

template <operation op, group g> void measure(bench *b)
{
    if (!wants(*b, names[op]) || !wants(*b, g))
        return;
    CUDA(cudaFuncSetAttribute(repeat<op, g>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              (int)b->o.lent));
    if constexpr (op == SIGNAL || op == ATOMIC || op == BESIDE) {
        measure_size<op, g>(b, sizeof(uint64_t));
    } else {
        const size_t most = g == THREAD ? 1u << 20 : g == WARP ? 4u << 20 : 64u << 20;
        for (size_t bytes : sizes(*b, 4, most))
            measure_size<op, g>(b, bytes);
    }
}

int pe_main(int argc, char **argv)
{
    const program p = {"ping_pong",
                       "how long a message takes to another PE and one back",
                       {"put", "put_signal", "signal", "atomic", "put_signal_beside"},
                       true,
                       true,
                       false,
                       false,
                       false,
                       true};
    bench b = {};
    const int status = begin(&b, p, argc, argv, (size_t)64 << 20);
    if (status >= 0)
        return status;
    if (!needs_two(b))
        return end(&b), 2;
    measure<SIGNAL, THREAD>(&b);
    measure<ATOMIC, THREAD>(&b);
    measure<BESIDE, THREAD>(&b);
    measure<BESIDE, BLOCK>(&b);
    measure<PUT_SIGNAL, THREAD>(&b);
    measure<PUT_SIGNAL, WARP>(&b);
    measure<PUT_SIGNAL, BLOCK>(&b);
    measure<PUT, THREAD>(&b);
    measure<PUT, WARP>(&b);
    measure<PUT, BLOCK>(&b);
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
