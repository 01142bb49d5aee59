/* SPDX-License-Identifier: Apache-2.0
 * Proves that blocks which spin on each other all make progress with any number of cores: 64 blocks
 * on each PE wait for flags from blocks of another PE, in an order that running whole blocks in any
 * sequence cannot satisfy; and that the user's own loops end: on CUDA atomics between blocks, and
 * on gets of any kind within one.
 *
 *     cpu_progress [--count=ROUNDS] */
#include "tests/rig/pe.cuh"

enum { blocks = 64, threads = 4 };

/* flag[b] is set by block `partner` of the previous PE. */
__global__ void spin_kernel(long *flag, verdict *v, long rounds)
{
    const int next = (gshmem_my_pe() + 1) % gshmem_n_pes();
    const int partner = blocks - 1 - (int)blockIdx.x;
    __shared__ long seen[threads];
    for (long r = 1; r <= rounds; r++) {
        /* In odd rounds the upper half speaks first, in even ones the lower half. */
        const bool speaks_first = ((int)blockIdx.x < blocks / 2) == (r % 2 == 0);
        if (speaks_first && threadIdx.x == 0)
            gshmem_long_p(&flag[partner], r, next);
        gshmem_long_wait_until(&flag[blockIdx.x], GSHMEM_CMP_GE, r);
        seen[threadIdx.x] = r;
        __syncthreads();
        for (long s : seen)
            EXPECT_AT(v, s, r, blockIdx.x);
        __syncthreads();
        if (!speaks_first && threadIdx.x == 0)
            gshmem_long_p(&flag[partner], r, next);
    }
}

/* A user's own spin, on CUDA atomics. */
__global__ void own_spin_kernel(unsigned *turn, verdict *v, unsigned rounds)
{
    for (unsigned r = 0; r < rounds; r++) {
        const unsigned mine = r * gridDim.x + (gridDim.x - 1 - blockIdx.x);
        if (threadIdx.x == 0) {
            while (atomicAdd(turn, 0u) != mine)
                __nanosleep(100);
            const unsigned before = atomicAdd(turn, 1u);
            EXPECT_AT(v, before, mine, blockIdx.x);
        }
        __syncthreads();
    }
}

/* The first thread gets a word, a vector and three words until the second thread, which runs when
 * the first yields, has put there. */
__global__ void get_spin_kernel(long *data, verdict *v)
{
    const int me = gshmem_my_pe();
#ifdef GSHMEM_CPU_TSAN
    const size_t most = 1; /* larger gets use plain loads: races with p */
#else
    const size_t most = 3;
#endif
    for (size_t nelems = 1; nelems <= most; nelems++, data += 4) {
        alignas(16) long seen[4] = {}; /* 2: a whole vector */
        if (threadIdx.x == 1)
            gshmem_long_p(&data[nelems - 1], 5, me);
        while (threadIdx.x == 0 && seen[nelems - 1] != 5)
            gshmem_long_get(seen, data, nelems, me);
        EXPECT_EQ(v, seen[nelems - 1], threadIdx.x == 0 ? 5 : 0);
        __syncthreads();
    }
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const int rounds = test_rounds(&pe, argc, argv, 10, 1000);
    long *flag = (long *)test_heap(blocks * sizeof *flag);
    unsigned *turn = (unsigned *)test_heap(sizeof *turn);
    verdict *v = test_verdict();
    test_collective(&pe, spin_kernel, blocks, threads, flag, v, (long)rounds);
    test_sync(&pe);
    JUDGE(&pe, v, "waits across PEs");
    test_collective(&pe, own_spin_kernel, blocks, threads, turn, v, (unsigned)rounds / 5 + 1);
    test_sync(&pe);
    JUDGE(&pe, v, "waits within a PE");
    long *data = (long *)test_heap(12 * sizeof *data);
    test_collective(&pe, get_spin_kernel, 1, 2, data, v);
    test_sync(&pe);
    JUDGE(&pe, v, "gets until another thread has put");
    gshmem_barrier_all();
    test_free(v);
    gshmem_free(data);
    gshmem_free(turn);
    gshmem_free(flag);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
