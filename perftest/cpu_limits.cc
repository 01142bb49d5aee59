/* SPDX-License-Identifier: Apache-2.0
 * The CPU device compared with the bare machine, in turn: a put with a memcpy between the same
 * buffers, an 8-byte put with signal with a bare flag in the same shared memory. Modes: "bare",
 * "host" (the host's call), "kernel" (one thread of a kernel). Rows "..._share" hold the ratio:
 * bandwidth as a fraction of memcpy's, time as a multiple of the bare flag's. */
#include <sched.h>
#include "perftest/common.h"

namespace
{

using namespace perftest;

enum mode { BARE, HOST, KERNEL };
const char *const mode_names[] = {"bare", "host", "kernel"};

row describe(const char *operation, mode m, size_t bytes, const plan &p)
{
    row r;
    r.operation = operation;
    r.group = m == KERNEL ? "thread" : "host";
    r.mode = mode_names[m];
    r.bytes = bytes;
    r.made = p;
    return r;
}

/* us[mode][sample]; ratios are of samples adjacent in time. */
void add(bench *b, const char *name, const char *bare_name, size_t bytes, const plan &p,
         const std::vector<double> (&us)[3], bool is_bandwidth)
{
    if (!b->leads())
        return;
    for (mode m : {BARE, HOST, KERNEL}) {
        row r = describe(m == BARE ? bare_name : name, m, bytes, p);
        r.moved = is_bandwidth ? (double)bytes : 0;
        b->out.add(r, us[m]);
    }
    for (mode m : {HOST, KERNEL}) {
        std::vector<double> ratios;
        for (size_t i = 0; i < us[m].size(); i++)
            ratios.push_back(is_bandwidth ? us[BARE][i] / us[m][i] : us[m][i] / us[BARE][i]);
        row r = describe((std::string(name) + "_share").c_str(), m, bytes, p);
        r.unit = "x";
        b->out.add(r, ratios);
    }
}

/* ---- put beside memcpy ----------------------------------------------------------------------- */

__global__ void put(timing t, char *dest, const char *source, size_t bytes, int pe)
{
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        gshmem_putmem(dest, source, bytes, pe);
    }
    gshmem_quiet();
    t.end();
}

void measure_put(bench *b, size_t bytes)
{
    const plan p = make_plan(*b, 0.1 + (double)bytes / 4e3);
    char *const there = (char *)gshmem_ptr(b->dest, b->target);
    std::vector<double> us[3];
    prepare(*b, bytes, 7);
    for (int i = -1; b->leads() && i < p.repetitions; i++) {
        double t[4] = {now_us()};
        for (int r = 0; r < p.rounds; r++) {
            memcpy(there, b->source, bytes);
            asm volatile("" ::: "memory"); /* forces every copy */
        }
        t[1] = now_us();
        for (int r = 0; r < p.rounds; r++)
            gshmem_putmem(b->dest, b->source, bytes, b->target);
        gshmem_quiet();
        t[2] = now_us();
        const double in_kernel =
            sample(*b, p, 1, 1, put, b->dest, (const char *)b->source, bytes, b->target);
        if (i < 0)
            continue;
        us[BARE].push_back((t[1] - t[0]) / p.rounds);
        us[HOST].push_back((t[2] - t[1]) / p.rounds);
        us[KERNEL].push_back(in_kernel);
    }
    verify(b, bytes, 7, b->target, "put");
    add(b, "put", "memcpy", bytes, p, us, true);
}

/* ---- put with signal beside a bare flag ------------------------------------------------------ */

/* Waits for the peer's release store of `value`. */
void await_flag(const uint64_t *flag, uint64_t value)
{
    for (int turn = 1; __atomic_load_n(flag, __ATOMIC_ACQUIRE) < value; turn++) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        if (turn % 4096 == 0) /* the peer may have no core */
            sched_yield();
    }
}

void bare_flags(const bench &b, uint64_t before, int rounds)
{
    const uint64_t *const mine = b.words + 64;
    uint64_t *const there = (uint64_t *)gshmem_ptr(b.words + 64, 1 - b.me);
    for (uint64_t value = before + 1; value <= before + (uint64_t)rounds; value++) {
        if (b.me == 1)
            await_flag(mine, value);
        __atomic_store_n(there, value, __ATOMIC_RELEASE); /* pairs with await_flag's load */
        if (b.me == 0)
            await_flag(mine, value);
    }
}

__host__ __device__ void signals(uint64_t *dest, const uint64_t *source, uint64_t *flag,
                                 uint64_t before, int rounds)
{
    const int me = gshmem_my_pe(), other = 1 - me;
    for (uint64_t value = before + 1; value <= before + (uint64_t)rounds; value++) {
        if (me == 1)
            gshmem_signal_wait_until(flag, GSHMEM_CMP_GE, value);
        gshmem_putmem_signal(dest, source, 8, flag, value, GSHMEM_SIGNAL_SET, other);
        if (me == 0)
            gshmem_signal_wait_until(flag, GSHMEM_CMP_GE, value);
    }
}

__global__ void ping_pong(timing t, uint64_t *dest, const uint64_t *source, uint64_t *flag,
                          uint64_t before)
{
    signals(dest, source, flag, before, t.warm);
    t.begin(0);
    signals(dest, source, flag, before + (uint64_t)t.warm, t.rounds);
    t.end();
}

/* Half a round trip. Collective of PE 0 and PE 1. */
void measure_signal(bench *b)
{
    const plan p = make_plan(*b, 3);
    const uint64_t in_launch = (uint64_t)(p.rounds + warm_rounds(p));
    uint64_t *const dest = (uint64_t *)b->dest, *const source = (uint64_t *)b->source;
    std::vector<double> us[3];
    prepare(*b, 8, 9);
    clear_words(*b);
    uint64_t sent = 0, launched = 0;
    for (int i = -1; i < p.repetitions; i++, sent += (uint64_t)p.rounds, launched += in_launch) {
        gshmem_barrier_all();
        if (b->me > 1)
            continue;
        double t[2] = {now_us()};
        bare_flags(*b, sent, p.rounds);
        t[0] = now_us() - t[0];
        t[1] = now_us();
        signals(dest, source, b->words + 128, sent, p.rounds);
        t[1] = now_us() - t[1];
        const double in_kernel = sample(*b, p, 1, 1, ping_pong, dest, (const uint64_t *)source,
                                        b->words + 192, launched);
        if (i < 0)
            continue;
        us[BARE].push_back(t[0] / p.rounds / 2);
        us[HOST].push_back(t[1] / p.rounds / 2);
        us[KERNEL].push_back(in_kernel / 2);
    }
    for (int pe = 0; pe < 2; pe++)
        verify(b, 8, 9, pe, "put_signal");
    add(b, "put_signal", "flag", 8, p, us, false);
}

int pe_main(int argc, char **argv)
{
    const program p = {"cpu_limits",
                       "the CPU device beside memcpy and a bare flag in shared memory",
                       {"put", "put_signal"},
                       true,
                       false,
                       false};
    bench b = {};
    const int status = begin(&b, p, argc, argv, cpu_bytes);
    if (status >= 0)
        return status;
    if (!needs_two(b))
        return end(&b), 2;
    if (wants(b, "put_signal"))
        measure_signal(&b);
    for (size_t bytes : sizes(b, 4096, cpu_bytes))
        if (wants(b, "put"))
            measure_put(&b, bytes);
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
