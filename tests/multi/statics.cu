/* SPDX-License-Identifier: Apache-2.0
 * Proves that with GSHMEMX_INIT_STATIC_DATA a program's globals are symmetric in its kernels, too:
 * as dest, source, signal, word of an atomic and lock. If PEs are threads they are not: then init
 * says so and nothing else changes. */
#include "tests/rig/pe.cuh"

static long values[8], taken, words[2], lock, counted;
static uint64_t signal_word;

__global__ void global_kernel(int me, int next, int last)
{
    long mine = 100 + me;
    gshmem_long_put(values, &mine, 1, next);
    gshmem_long_p(values + 1, 200 + me, next);
    gshmem_quiet();
    taken = gshmem_long_g(values + 1, next);
    gshmem_long_atomic_inc(words, last);
    gshmem_fence();
    gshmemx_signal_op(&signal_word, 1, GSHMEM_SIGNAL_ADD, next);
    gshmem_signal_wait_until(&signal_word, GSHMEM_CMP_EQ, 1);
    gshmem_set_lock(&lock);
    gshmem_long_p(&counted, gshmem_long_g(&counted, last) + 1, last);
    gshmem_clear_lock(&lock);
    words[1] = gshmem_ptr(values, me) != nullptr && gshmem_addr_accessible(values, next) &&
               !gshmem_addr_accessible(&mine, next);
}

static int pe_main(int, char **)
{
    CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_STATIC_DATA, NULL), 0);
    test_pe pe = test_join();
    if (getenv("GSHMEM_THREADS") != NULL && pe.n > 1) {
        CHECK(!gshmem_addr_accessible(values, 0));
        return test_end(&pe);
    }
    test_collective(&pe, global_kernel, 1, 1, pe.me, pe.next, pe.n - 1);
    test_sync(&pe);
    gshmem_barrier_all();
    CHECK_EQ(values[0], 100 + pe.previous);
    CHECK_EQ(values[1], 200 + pe.previous);
    CHECK_EQ(taken, 200 + pe.me);
    CHECK_EQ(words[1], 1);
    CHECK_EQ(gshmem_long_g(words, pe.n - 1), pe.n);
    CHECK_EQ(gshmem_long_g(&counted, pe.n - 1), pe.n);
    gshmem_barrier_all();
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
