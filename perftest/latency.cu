/* SPDX-License-Identifier: Apache-2.0
 * How long one put or get takes to complete: one thread, one warp or one block of PE 0 calls, PE 1
 * does nothing. Each is followed by a quiet: the put is then complete, and the next get of the same
 * bytes cannot come from a copy in this PE's own cache. --lent=64K: the block lends that much
 * shared memory. */
#include "perftest/common.h"

namespace
{

using namespace perftest;

enum operation { PUT, GET, PUT_NBI };
const char *const names[] = {"put", "get", "put_nbi"};

template <operation op, group g>
__device__ inline void call(char *dest, const char *source, size_t bytes, int pe)
{
    if constexpr (op == PUT) {
        if constexpr (g == THREAD)
            gshmem_putmem(dest, source, bytes, pe);
        else if constexpr (g == WARP)
            gshmemx_putmem_warp(dest, source, bytes, pe);
        else
            gshmemx_putmem_block(dest, source, bytes, pe);
    } else if constexpr (op == PUT_NBI) {
        if constexpr (g == THREAD)
            gshmem_putmem_nbi(dest, source, bytes, pe);
        else if constexpr (g == WARP)
            gshmemx_putmem_nbi_warp(dest, source, bytes, pe);
        else
            gshmemx_putmem_nbi_block(dest, source, bytes, pe);
    } else {
        if constexpr (g == THREAD)
            gshmem_getmem(dest, source, bytes, pe);
        else if constexpr (g == WARP)
            gshmemx_getmem_warp(dest, source, bytes, pe);
        else
            gshmemx_getmem_block(dest, source, bytes, pe);
    }
}

/* A kernel for each operation and group, so none pays for another's registers. */
template <operation op, group g>
__global__ void __launch_bounds__(group_threads(g))
    repeat(timing t, char *dest, const char *source, size_t bytes, int pe, size_t lent)
{
    GSHMEM_DYNAMIC_SHARED(char, shared);
    if (lent > 0)
        gshmem::lend_shared(shared, lent);
    for (int r = t.first(); r < t.rounds; r++) {
        t.begin(r);
        call<op, g>(dest, source, bytes, pe);
        group_sync<g>();
        if (threadIdx.x == 0)
            gshmem_quiet();
        group_sync<g>();
    }
    t.end();
    if (lent > 0)
        gshmem::take_back_shared();
}

template <operation op, group g> void measure(bench *b)
{
    if (!wants(*b, names[op]) || !wants(*b, g))
        return;
    CUDA(cudaFuncSetAttribute(repeat<op, g>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              (int)b->o.lent));
    const size_t most = g == THREAD ? 1u << 20 : g == WARP ? 16u << 20 : 256u << 20;
    for (size_t bytes : sizes(*b, 4, most)) {
        const uint32_t key = (uint32_t)(bytes + op * 3 + g);
        prepare(*b, bytes, key);
        if (b->leads()) {
            row r;
            r.operation = names[op];
            r.group = group_names[g];
            r.bytes = bytes;
            r.moved = (double)bytes;
            r.made = make_plan(*b, guess_us(bytes, g));
            b->shared = b->o.lent;
            b->out.add(r, samples(*b, r.made, 1, group_threads(g), repeat<op, g>, b->dest,
                                  (const char *)b->source, bytes, b->target, b->o.lent));
            b->shared = 0;
        }
        verify(b, bytes, key, op == GET ? 0 : b->target, names[op]);
    }
}

template <operation op> void measure_groups(bench *b)
{
    measure<op, THREAD>(b);
    measure<op, WARP>(b);
    measure<op, BLOCK>(b);
}

int pe_main(int argc, char **argv)
{
    const program p = {"latency",
                       "how long a put or get takes, until it is complete",
                       {"put", "get", "put_nbi"},
                       true,
                       true,
                       false,
                       false,
                       false,
                       true};
    bench b = {};
    const int status = begin(&b, p, argc, argv, (size_t)256 << 20);
    if (status >= 0)
        return status;
    measure_groups<PUT>(&b);
    measure_groups<GET>(&b);
    measure_groups<PUT_NBI>(&b);
    return end(&b);
}

} // namespace

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
