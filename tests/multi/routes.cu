/* SPDX-License-Identifier: Apache-2.0
 * Proves, with a mixture of near and far PEs (GSHMEM_NODE_PES, several hosts): small signals do not
 * overtake puts of any size, a fence holds between a large put and a word of the same range, chains
 * over three PEs hold if one of their hops is far, and atomics on one word count exactly, from
 * kernels, hosts and streams of all PEs at once.
 *
 *     routes [--count=ROUNDS] */
#include "tests/rig/pe.cuh"

enum { window = 4, threads = 64, large = 128 << 10 /* longs, a MiB */ };

/* Sizes on both sides of every border between the forms of a request. */
static const __device__ size_t sizes[] = {
    1, 10, 11, 13, 14, 100, 4096, large / 4 - 1, large / 4, large / 2, large};
static const int n_sizes = (int)(sizeof sizes / sizeof sizes[0]);

/* One PE's side, symmetric. Comments name the writer. */
struct post {
    uint64_t sig[2], flag[2]; /* the previous PE */
    uint64_t ack, chain_ack;  /* the next PE; the last of a chain */
    long x[window];           /* chains: the first PE */
    uint64_t passed[window], told[window];
    /* counting: all PEs, on PE 0 */
    long count;
    unsigned count32;
    uint64_t tickets, signals, swaps;
};

static __device__ void acknowledge(uint64_t *ack, long r, int pe)
{
    gshmem_fence();
    gshmemx_signal_op(ack, (uint64_t)r, GSHMEM_SIGNAL_SET, pe);
}

/* ---- large puts and small signals ------------------------------------------------------------ */

enum message {
    put_fence_signal,
    put_nbi_fence_signal,
    put_nbi_quiet_p,
    put_signal_add,
    put_signal_nbi_set,
    put_fence_p_over, /* the signal is a word of the range itself, which the put wrote before */
    iput_fence_signal,
    n_messages
};
static const char *const message_names[n_messages] = {
    "put, fence, signal_op",  "put_nbi, fence, signal_op", "put_nbi, quiet, p",
    "put_signal add",         "put_signal_nbi set",        "put, fence, p over it",
    "iput, fence, signal_op",
};

static __device__ void send(post *m, long *in, long *out, int kind, long r, int to)
{
    const int b = (int)(r % 2);
    const size_t n = sizes[r % n_sizes];
    long *dest = in + (size_t)b * large;
    const bool is_first = threadIdx.x == 0;
    for (size_t i = threadIdx.x; i < n; i += threads)
        out[i] = r * large + (long)i;
    __syncthreads();
    if (kind == put_fence_p_over && is_first)
        out[n - 1] = -r; /* not yet */
    if (kind == put_signal_add)
        gshmemx_long_put_signal_block(dest, out, n, &m->sig[b], 1, GSHMEM_SIGNAL_ADD, to);
    else if (kind == put_signal_nbi_set)
        gshmemx_long_put_signal_nbi_block(dest, out, n, &m->sig[b], (uint64_t)(r + 1) / 2,
                                          GSHMEM_SIGNAL_SET, to);
    else if (kind == put_nbi_fence_signal || kind == put_nbi_quiet_p)
        gshmemx_long_put_nbi_block(dest, out, n, to);
    else if (kind == iput_fence_signal)
        gshmemx_long_iput_block(dest, out, 1, 1, n, to);
    else
        gshmemx_long_put_block(dest, out, n, to);
    if (is_first && kind == put_nbi_quiet_p)
        gshmem_quiet();
    else if (is_first)
        gshmem_fence();
    if (is_first && kind == put_nbi_quiet_p)
        gshmem_uint64_p(&m->sig[b], (uint64_t)(r + 1) / 2, to);
    else if (is_first && kind == put_fence_p_over)
        gshmem_long_p(&dest[n - 1], r * large + (long)n - 1, to);
    else if (is_first && kind != put_signal_add && kind != put_signal_nbi_set)
        gshmemx_signal_op(&m->sig[b], 1, GSHMEM_SIGNAL_ADD, to);
    gshmem_quiet(); /* out is overwritten */
    __syncthreads();
}

static __device__ void receive(post *m, long *in, int kind, long r, verdict *v)
{
    const int b = (int)(r % 2);
    const size_t n = sizes[r % n_sizes];
    long *data = in + (size_t)b * large;
    if (kind == put_fence_p_over)
        gshmem_long_wait_until(&data[n - 1], GSHMEM_CMP_EQ, r * large + (long)n - 1);
    else
        gshmem_signal_wait_until(&m->sig[b], GSHMEM_CMP_GE, (uint64_t)(r + 1) / 2);
    for (size_t i = n - 1 - threadIdx.x; i < n; i -= threads) /* the last first */
        EXPECT_AT(v, data[i], r * large + (long)i, kind);
    __syncthreads();
}

/* Block 0 sends to the next PE, block 1 receives from the previous one. */
__global__ void message_kernel(post *m, long *in, long *out, verdict *v, int kind, long rounds)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    for (long r = 1; r <= rounds; r++) {
        if (blockIdx.x == 0) {
            if (threadIdx.x == 0 && r > 2)
                gshmem_signal_wait_until(&m->ack, GSHMEM_CMP_GE, (uint64_t)(r - 2));
            __syncthreads();
            send(m, in, out, kind, r, (me + 1) % n);
        } else {
            receive(m, in, kind, r, v);
            if (threadIdx.x == 0)
                acknowledge(&m->ack, r, (me + n - 1) % n);
            __syncthreads();
        }
    }
}

/* ---- chains over three PEs ------------------------------------------------------------------- */

enum chain { put_quiet_relay, relay_and_get, n_chains };
static const char *const chain_names[n_chains] = {
    "chain: put to the third, quiet, flag to the second, flag to the third",
    "chain: put and flag to the second, flag to the third, which gets from the second",
};

/* The PE at that distance from this one in the ring. */
static __device__ int at(int distance)
{
    const int n = gshmem_n_pes();
    return ((gshmem_my_pe() + distance) % n + n) % n;
}

/* Block 0 is the first PE of its chain, block 1 the second of another, block 2 the third of yet
 * another. The second is `a` PEs after the first, the third `b` after the second. */
__global__ void chain_kernel(post *m, verdict *v, int kind, int a, int b, long rounds)
{
    for (long r = 1; r <= rounds; r++) {
        const int slot = (int)((r - 1) % window);
        if (blockIdx.x == 0) {
            if (r > window)
                gshmem_signal_wait_until(&m->chain_ack, GSHMEM_CMP_GE, (uint64_t)(r - window));
            gshmem_long_put_nbi(&m->x[slot], &r, 1, at(kind == relay_and_get ? a : a + b));
            if (kind == relay_and_get)
                gshmem_fence();
            else
                gshmem_quiet();
            gshmem_uint64_p(&m->passed[slot], (uint64_t)r, at(a));
            gshmem_quiet(); /* r changes */
        } else if (blockIdx.x == 1) {
            gshmem_uint64_wait_until(&m->passed[slot], GSHMEM_CMP_GE, (uint64_t)r);
            gshmem_fence();
            gshmemx_signal_op(&m->told[slot], (uint64_t)r, GSHMEM_SIGNAL_SET, at(b));
        } else {
            gshmem_signal_wait_until(&m->told[slot], GSHMEM_CMP_GE, (uint64_t)r);
            const int where = kind == relay_and_get ? at(-b) : at(0);
            EXPECT_AT(v, gshmem_long_g(&m->x[slot], where), r, 10 * a + b);
            acknowledge(&m->chain_ack, r, at(-a - b));
        }
    }
}

/* ---- counting -------------------------------------------------------------------------------- */

/* What each thread does on PE 0's words, per round: adds 1 + 2 + 1 to count, 3 to count32, 1 to
 * signals, 1 to swaps; and draws a ticket. */
__global__ void count_kernel(post *m, uint64_t *drawn, long rounds)
{
    const size_t me = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (long r = 0; r < rounds; r++) {
        gshmem_long_atomic_inc(&m->count, 0);
        gshmem_long_atomic_add(&m->count, 2, 0);
        gshmem_long_atomic_fetch_add(&m->count, 1, 0);
        gshmem_uint_atomic_add(&m->count32, 3, 0);
        gshmemx_signal_op(&m->signals, 1, GSHMEM_SIGNAL_ADD, 0);
        drawn[(size_t)r * n + me] = gshmem_uint64_atomic_fetch_inc(&m->tickets, 0);
        uint64_t seen = 0, before;
        while ((before = gshmem_uint64_atomic_compare_swap(&m->swaps, seen, seen + 1, 0)) != seen)
            seen = before;
    }
}

static int compare_words(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Every ticket was drawn exactly once. drawn: this PE's share, n_drawn for each PE. */
static void check_tickets(const test_pe *pe, const uint64_t *drawn, size_t n_drawn)
{
    const size_t total = n_drawn * (size_t)pe->n;
    uint64_t *all = (uint64_t *)calloc(total, sizeof *all);
    for (int i = 0; i < pe->n; i++)
        gshmem_uint64_get(all + (size_t)i * n_drawn, drawn, n_drawn, i);
    qsort(all, total, sizeof *all, compare_words);
    size_t n_wrong = 0;
    for (size_t i = 0; i < total; i++)
        n_wrong += all[i] != i;
    CHECK_EQ(n_wrong, 0u); /* tickets drawn twice or not at all */
    free(all);
}

static void run_count(const test_pe *pe, post *m, long rounds)
{
    enum { grid = 2, block = 32 };
    const size_t n_threads = grid * block, n_drawn = n_threads * (size_t)rounds;
    uint64_t *drawn = (uint64_t *)test_heap(n_drawn * sizeof *drawn);
    cudaStream_t other;
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    test_collective(pe, count_kernel, grid, block, m, drawn, rounds);
    for (long r = 0; r < rounds; r++) { /* meanwhile the host, and a stream */
        gshmem_long_atomic_add(&m->count, 5, 0);
        gshmem_uint_atomic_fetch_add(&m->count32, 7, 0);
        gshmemx_signal_op(&m->signals, 1, GSHMEM_SIGNAL_ADD, 0);
        gshmemx_signal_op_on_stream(&m->signals, 2, GSHMEM_SIGNAL_ADD, 0, other);
    }
    gshmemx_quiet_on_stream(other);
    CUDA(cudaStreamSynchronize(other));
    test_sync(pe);
    gshmem_barrier_all();
    const uint64_t all = (uint64_t)pe->n * (uint64_t)rounds, kernels = all * n_threads;
    CHECK_EQ((uint64_t)gshmem_long_atomic_fetch(&m->count, 0), kernels * 4 + all * 5);
    CHECK_EQ((uint64_t)gshmem_uint_atomic_fetch(&m->count32, 0),
             (kernels * 3 + all * 7) & 0xffffffffu);
    CHECK_EQ(gshmem_uint64_atomic_fetch(&m->signals, 0), kernels + all * 3);
    CHECK_EQ(gshmem_uint64_atomic_fetch(&m->swaps, 0), kernels);
    if (pe->me == pe->n - 1)
        check_tickets(pe, drawn, n_drawn);
    CUDA(cudaStreamDestroy(other));
    gshmem_barrier_all();
    gshmem_free(drawn);
}

/* ---- the runs -------------------------------------------------------------------------------- */

/* Clears what an earlier run has left, which would be mistaken for this one's. */
static void clear(post *m, long *in)
{
    static const post zero = {};
    gshmem_barrier_all();
    test_copy(m, &zero, sizeof zero);
    CUDA(cudaMemset(in, 0, 2 * large * sizeof *in));
    CUDA(cudaStreamSynchronize((cudaStream_t)0));
    gshmem_barrier_all();
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const int rounds = test_rounds(&pe, argc, argv, 66, 1100);
    post *m = (post *)test_heap(sizeof *m);
    long *in = (long *)test_heap(2 * large * sizeof *in);
    long *out = (long *)test_heap(large * sizeof *out);
    verdict *v = test_verdict();
    for (int kind = 0; kind < n_messages; kind++) {
#ifdef GSHMEM_CPU_TSAN
        if (kind == put_fence_p_over) /* it waits for a word that plain stores also write */
            continue;
#endif
        clear(m, in);
        test_collective(&pe, message_kernel, 2, threads, m, in, out, v, kind, (long)rounds);
        test_sync(&pe);
        JUDGE(&pe, v, message_names[kind]);
    }
    for (int i = 0; i < n_chains * 4; i++) {
        clear(m, in);
        test_collective(&pe, chain_kernel, 3, 1, m, v, i / 4, 1 + i % 2, 1 + i / 2 % 2,
                        (long)rounds);
        test_sync(&pe);
        JUDGE(&pe, v, chain_names[i / 4]);
    }
    clear(m, in);
    run_count(&pe, m, rounds / 20 + 1);
    test_free(v);
    gshmem_free(out);
    gshmem_free(in);
    gshmem_free(m);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
