/* SPDX-License-Identifier: Apache-2.0
 * Proves the memory model by litmus tests between kernels of different PEs: message passing in all
 * the ways that the model offers, store buffering, and chains over three PEs. A forbidden outcome
 * fails the test; surprising outcomes that the model allows are counted and printed. Also that a
 * batch's puts keep that order, and are published together.
 *
 *     order [--count=ROUNDS] */
#if !defined(GSHMEM_BATCH_PUTS)
#define GSHMEM_BATCH_PUTS 5
#endif
#include "tests/rig/pe.cuh"

enum { window = 16, words = 4, apart = 16, bulk = 1024, threads = 64 };
static_assert(bulk / threads == 1 + 2 + 4 + 9, "what each thread puts into a batch");

/* One PE's side, symmetric. The PE named writes the word; values are rounds and only grow. */
struct mail {
    long data[window][words * apart];   /* the previous PE, words on lines of their own */
    long flag[window];                  /* the previous PE */
    uint64_t sig[window];               /* the previous PE */
    long source[window][words * apart]; /* this PE: what it puts */
    long in[2][bulk], out[bulk];        /* in: the previous PE; out: this PE */
    uint64_t in_sig[2];
    uint64_t ack[3]; /* the PE that receives what this one sends: rounds done */
    long x[window], first[window], second[window]; /* chains */
    long turn[16], here, apart_too[15];            /* store buffering: the partner */
};

/* ---- message passing, one thread to one thread ----------------------------------------------- */

enum message {
    put_fence_p,
    put_quiet_p,
    put_nbi_fence_p,
    put_nbi_quiet_p,
    p_fence_set,
    put_fence_inc,
    put_signal_set,
    put_signal_add,
    put_signal_nbi,
    put_signal_op,
    put_nbi_signal_op,
    add_fence_p,
    add_signal_op,
    batch_fence_p,
    batch_quiet_p,
    batch_words_fence_p,
    n_messages
};
static const char *const message_names[n_messages] = {
    "put, fence, p",
    "put, quiet, p",
    "put_nbi, fence, p",
    "put_nbi, quiet, p",
    "p, fence, atomic_set",
    "put, fence, atomic_inc",
    "put_signal set",
    "put_signal add",
    "put_signal_nbi",
    "put, fence, signal_op",
    "put_nbi, quiet, signal_op",
    "atomic_add, fence, p",
    "atomic_add, fence, signal_op",
    "put_nbi in a batch, fence, p",
    "put_nbi in a batch, quiet, p",
    "put_nbi of words in a batch, fence, p",
};

/* Tells pe that this thread has read what came in round r: the fence follows the reads. */
static __device__ void acknowledge(uint64_t *ack, long r, int pe)
{
    gshmem_fence();
    gshmemx_signal_op(ack, (uint64_t)r, GSHMEM_SIGNAL_SET, pe);
}

static __device__ bool has_signal(int kind)
{
    return (kind >= put_signal_set && kind <= put_nbi_signal_op) || kind == add_signal_op;
}

static __device__ void send(mail *m, int kind, int slot, long r, int to)
{
    long *data = m->data[slot], *source = m->source[slot];
    const size_t n = words * apart;
    const long step = r <= window ? r : (long)window; /* since the slot's round before */
    for (int i = 0; i < words; i++)
        source[i * apart] = r;
    switch (kind) {
    case put_fence_p:
    case put_fence_inc:
    case put_quiet_p:
    case put_signal_op:
        gshmem_long_put(data, source, n, to);
        break;
    case batch_words_fence_p: /* which it does not hold all */
        for (int i = 0; i < 2 * words; i++)
            gshmem_long_put_nbi(&data[i / 2 * apart + i % 2], &source[i / 2 * apart + i % 2], 1,
                                to);
        break;
    case batch_fence_p:
    case batch_quiet_p:
    case put_nbi_fence_p:
    case put_nbi_quiet_p:
    case put_nbi_signal_op:
        gshmem_long_put_nbi(data, source, n, to);
        break;
    case p_fence_set:
        for (int i = 0; i < words; i++)
            gshmem_long_p(&data[i * apart], r, to);
        break;
    case add_fence_p:
    case add_signal_op:
        for (int i = 0; i < words; i++)
            gshmem_long_atomic_add(&data[i * apart], step, to);
        break;
    case put_signal_set:
        gshmem_long_put_signal(data, source, n, &m->sig[slot], (uint64_t)r, GSHMEM_SIGNAL_SET, to);
        return;
    case put_signal_add:
        gshmem_long_put_signal(data, source, n, &m->sig[slot], (uint64_t)step, GSHMEM_SIGNAL_ADD,
                               to);
        return;
    default:
        gshmem_long_put_signal_nbi(data, source, n, &m->sig[slot], (uint64_t)r, GSHMEM_SIGNAL_SET,
                                   to);
        return;
    }
    if (kind == put_quiet_p || kind == put_nbi_quiet_p || kind == put_nbi_signal_op ||
        kind == batch_quiet_p)
        gshmem_quiet();
    else
        gshmem_fence();
    if (has_signal(kind))
        gshmemx_signal_op(&m->sig[slot], (uint64_t)r, GSHMEM_SIGNAL_SET, to);
    else if (kind == p_fence_set)
        gshmem_long_atomic_set(&m->flag[slot], r, to);
    else if (kind == put_fence_inc)
        gshmem_long_atomic_inc(&m->flag[slot], to);
    else
        gshmem_long_p(&m->flag[slot], r, to);
}

static __device__ void receive(mail *m, int kind, int slot, long r, verdict *v)
{
    const long flag = kind == put_fence_inc ? (r + window - 1) / window : r;
    if (has_signal(kind)) {
        gshmem_signal_wait_until(&m->sig[slot], GSHMEM_CMP_GE, (uint64_t)r);
    } else if (r % 3) {
        gshmem_long_wait_until(&m->flag[slot], GSHMEM_CMP_GE, flag);
    } else {
        while (!gshmem_long_test(&m->flag[slot], GSHMEM_CMP_GE, flag)) {
        }
    }
    /* From the last word to the first: the word stored last is checked first. */
    for (int i = words; i-- > 0;)
        EXPECT_AT(v, m->data[slot][i * apart], r, kind);
}

/* Block 0 sends to the next PE, block 1 receives from the previous one. */
__global__ void message_kernel(mail *m, verdict *v, int kind, long rounds)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    const bool has_batch = kind >= batch_fence_p && blockIdx.x == 0;
    if (has_batch)
        gshmem::begin_batch();
    for (long r = 1; r <= rounds; r++) {
        const int slot = (int)((r - 1) % window);
        if (blockIdx.x == 0) {
            if (r > window)
                gshmem_signal_wait_until(&m->ack[0], GSHMEM_CMP_GE, (uint64_t)(r - window));
            send(m, kind, slot, r, (me + 1) % n);
        } else {
            receive(m, kind, slot, r, v);
            acknowledge(&m->ack[0], r, (me + n - 1) % n);
        }
    }
    if (has_batch)
        gshmem::end_batch();
    gshmem_quiet();
}

/* ---- bulk data from a warp or a block -------------------------------------------------------- */

enum bulk_kind {
    block_signal,
    block_signal_nbi,
    warp_signal,
    block_fence_p,
    block_nbi_quiet_p,
    threads_batch_fence_p,
    n_bulks
};
static const char *const bulk_names[n_bulks] = {
    "put_signal_block",    "put_signal_nbi_block",    "put_signal_warp, each warp a part",
    "put_block, fence, p", "put_nbi_block, quiet, p", "put_nbi in a batch by each thread, fence, p",
};

static __device__ void send_bulk(mail *m, int kind, int b, long r, int to)
{
    /* The call's own synchronisation must cover its threads' earlier writes. */
    for (int i = (int)threadIdx.x; i < bulk; i += threads)
        m->out[i] = r * bulk + i;
    const int n_warps = threads / 32, warp = (int)threadIdx.x / 32, part = bulk / n_warps;
    switch (kind) {
    case block_signal:
        gshmemx_long_put_signal_block(m->in[b], m->out, bulk, &m->in_sig[b], 1, GSHMEM_SIGNAL_ADD,
                                      to);
        break;
    case block_signal_nbi:
        gshmemx_long_put_signal_nbi_block(m->in[b], m->out, bulk, &m->in_sig[b], 1,
                                          GSHMEM_SIGNAL_ADD, to);
        break;
    case warp_signal:
        __syncthreads();
        gshmemx_long_put_signal_warp(m->in[b] + warp * part, m->out + warp * part, (size_t)part,
                                     &m->in_sig[b], 1, GSHMEM_SIGNAL_ADD, to);
        break;
    case threads_batch_fence_p:
        gshmem::begin_batch();
        __syncthreads();
        for (int i = (int)threadIdx.x * (bulk / threads), k = 0; k < 15; k += k + 1)
            gshmem_long_put_nbi(m->in[b] + i + k, m->out + i + k, (size_t)k + 1 + (k == 7), to);
        __syncthreads();
        if (threadIdx.x == 0) {
            gshmem_fence(); /* for all threads' puts */
            gshmem_uint64_p(&m->in_sig[b], (uint64_t)((r + 1) / 2), to);
        }
        gshmem::end_batch();
        break;
    default:
        if (kind == block_fence_p)
            gshmemx_long_put_block(m->in[b], m->out, bulk, to);
        else
            gshmemx_long_put_nbi_block(m->in[b], m->out, bulk, to);
        if (kind == block_nbi_quiet_p)
            gshmem_quiet();
        __syncthreads();
        if (threadIdx.x == 0) {
            gshmem_fence();
            gshmem_uint64_p(&m->in_sig[b], (uint64_t)((r + 1) / 2), to);
        }
    }
    __syncthreads();
    gshmem_quiet(); /* out is overwritten in the next round */
    __syncthreads();
}

__global__ void bulk_kernel(mail *m, verdict *v, int kind, long rounds)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    for (long r = 1; r <= rounds; r++) {
        const int b = (int)(r % 2);
        if (blockIdx.x == 0) {
            if (threadIdx.x == 0 && r > 2)
                gshmem_signal_wait_until(&m->ack[1], GSHMEM_CMP_GE, (uint64_t)(r - 2));
            __syncthreads();
            send_bulk(m, kind, b, r, (me + 1) % n);
        } else {
            const uint64_t arrivals =
                (uint64_t)((r + 1) / 2) * (kind == warp_signal ? threads / 32 : 1);
            gshmem_signal_wait_until(&m->in_sig[b], GSHMEM_CMP_GE, arrivals);
            for (int i = (int)threadIdx.x; i < bulk; i += threads)
                EXPECT_AT(v, m->in[b][bulk - 1 - i], r * bulk + bulk - 1 - i, kind);
            __syncthreads();
            if (threadIdx.x == 0)
                acknowledge(&m->ack[1], r, (me + n - 1) % n);
            __syncthreads();
        }
    }
}

/* ---- how often a batch is published ---------------------------------------------------------- */

#if !defined(__CUDACC__)
/* The proxy is told once for each reservation. */
struct counted {
    const gsh_ring_wake *before;
    int n;
};

static void count_wake(void *context)
{
    counted *const c = static_cast<counted *>(context);
    c->n++;
    c->before->call(c->before->context);
}

static void count_publications(mail *m, verdict *v)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes(), to = (me + 1) % n;
    gsh_ring *const ring = gshmem::detail::ring_at(
        gshmem::default_context(), gshmem::detail::ring_index(gshmem::default_context(), to));
    counted c = {reinterpret_cast<const gsh_ring_wake *>(ring->wake), 0};
    const gsh_ring_wake counting = {count_wake, &c};
    ring->wake = reinterpret_cast<uint64_t>(&counting);
    for (int i = 0; i < 20; i++)
        gshmem_long_put_nbi(&m->in[0][i], &m->out[i], 1, to);
    EXPECT_EQ(v, c.n, 20);
    gshmem::begin_batch();
    c.n = 0;
    for (int i = 20; i < 24; i++)
        gshmem_long_put_nbi(&m->in[0][i], &m->out[i], 1, to);
    gshmem_long_put_nbi(&m->in[0][24], &m->out[24], 16, to);
    EXPECT_EQ(v, c.n, 0);
    for (int i = 40; i < 55; i++)
        gshmem_long_put_nbi(&m->in[0][i], &m->out[i], 1, to);
    EXPECT_EQ(v, c.n, 3); /* of five each; the last five are kept */
    gshmem::end_batch();
    EXPECT_EQ(v, c.n, 4);
    gshmem_long_put_nbi(&m->in[0][55], &m->out[55], 1, to);
    EXPECT_EQ(v, c.n, 5);
    ring->wake = reinterpret_cast<uint64_t>(c.before);
}
#endif

__global__ void batch_kernel(mail *m, verdict *v)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes(), to = (me + 1) % n;
    bool is_sent = false;
    for (int i = 0; i < 56; i++)
        m->out[i] = 1000 * me + i;
#if !defined(__CUDACC__)
    if (gshmem_ptr(m, to) == NULL && !gshmem::detail::is_by_nic(gshmem::default_context(), to)) {
        count_publications(m, v);
        is_sent = true;
    }
#endif
    if (!is_sent)
        gshmem_long_put_nbi(m->in[0], m->out, 56, to);
    gshmem_barrier_all();
    for (int i = 0; i < 56; i++)
        EXPECT_EQ(v, m->in[0][i], 1000 * ((me + n - 1) % n) + i);
}

/* ---- store buffering ------------------------------------------------------------------------- */

/* Both leave within nanoseconds of each other if each has a core: the first to arrive polls. */
static __device__ void meet_closely(mail *m, long r, int partner)
{
    gshmem_fence();
    gshmem_long_p(&m->turn[0], r, partner);
    for (int polls = 0; polls < 5000; polls++)
        if (gshmem_long_g(&m->turn[0], gshmem_my_pe()) >= r)
            return;
    gshmem_long_wait_until(&m->turn[0], GSHMEM_CMP_GE, r);
}

/* Each of a pair stores to the other and then loads what the other stores to. After quiet the store
 * is complete, so they cannot both miss it; after fence they may. seen[r] on this PE: its
 * result. */
__global__ void buffering_kernel(mail *m, long *seen, int uses_quiet, long rounds)
{
    const int me = gshmem_my_pe(), partner = me ^ 1;
    for (long r = 1; r <= rounds && partner < gshmem_n_pes(); r++) {
        meet_closely(m, r, partner);
        gshmem_long_p(&m->here, r, partner);
        if (uses_quiet)
            gshmem_quiet();
        else
            gshmem_fence();
        seen[r - 1] = gshmem_long_g(&m->here, me);
    }
}

/* ---- chains over three PEs ------------------------------------------------------------------- */

/* Block 0 is the first PE of its chain: x to the third PE, then a flag to the second. Block 1 is
 * the second of another: it passes the flag on. Block 2 is the third: flag seen, is x there? After
 * quiet it must be; after fence it need not: fence orders only what goes to one PE. */
__global__ void chain_kernel(mail *m, verdict *stale, int uses_quiet, long rounds)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    const int next = (me + 1) % n, after = (me + 2) % n, first = (me + 2 * n - 2) % n;
    for (long r = 1; r <= rounds; r++) {
        const int slot = (int)((r - 1) % window);
        if (blockIdx.x == 0) {
            if (r > window)
                gshmem_signal_wait_until(&m->ack[2], GSHMEM_CMP_GE, (uint64_t)(r - window));
            gshmem_long_p(&m->x[slot], r, after);
            if (uses_quiet)
                gshmem_quiet();
            else
                gshmem_fence();
            gshmem_long_p(&m->first[slot], r, next);
        } else if (blockIdx.x == 1) {
            gshmem_long_wait_until(&m->first[slot], GSHMEM_CMP_GE, r);
            gshmem_fence();
            gshmem_long_p(&m->second[slot], r, next);
        } else {
            gshmem_long_wait_until(&m->second[slot], GSHMEM_CMP_GE, r);
            const long x = gshmem_long_g(&m->x[slot], me);
            EXPECT_AT(stale, x, r, slot);
            acknowledge(&m->ack[2], r, first);
        }
    }
}

/* ---- the runs -------------------------------------------------------------------------------- */

static void clear(mail *m)
{
    static const mail zero = {};
    gshmem_barrier_all();
    test_copy(m, &zero, sizeof zero);
    gshmem_barrier_all();
}

static void run_buffering(const test_pe *pe, mail *m, int rounds, bool uses_quiet)
{
    long *seen = (long *)test_heap((size_t)rounds * sizeof *seen);
    long *mine = (long *)calloc(2 * (size_t)rounds, sizeof *mine), *theirs = mine + rounds;
    clear(m);
    test_collective(pe, buffering_kernel, 1, 1, m, seen, (int)uses_quiet, (long)rounds);
    test_sync(pe);
    gshmem_barrier_all();
    const int partner = pe->me ^ 1;
    if (partner < pe->n && pe->me < partner) {
        gshmem_long_get(mine, seen, (size_t)rounds, pe->me);
        gshmem_long_get(theirs, seen, (size_t)rounds, partner);
        int n_missed = 0;
        for (int r = 0; r < rounds; r++)
            n_missed += mine[r] < r + 1 && theirs[r] < r + 1;
        if (uses_quiet)
            CHECK_EQ(n_missed, 0); /* store buffering after quiet */
        else
            printf(
                "order: PEs %d and %d: store buffering after fence seen %d times in %d (allowed)\n",
                pe->me, partner, n_missed, rounds);
    }
    free(mine);
    gshmem_free(seen);
}

static void run_chain(const test_pe *pe, mail *m, verdict *v, int rounds, bool uses_quiet)
{
    verdict found;
    const verdict zero = {};
    clear(m);
    test_collective(pe, chain_kernel, 3, 1, m, v, (int)uses_quiet, (long)rounds);
    test_sync(pe);
    if (uses_quiet) {
        JUDGE(pe, v, "chain over three PEs after quiet");
        return;
    }
    test_copy(&found, v, sizeof found);
    test_copy(v, &zero, sizeof zero);
    if (pe->me == 0)
        printf("order: chain over three PEs after fence: stale %u times in %d (allowed)\n",
               found.n_failed, rounds);
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const int rounds = test_rounds(&pe, argc, argv, 1000, 20000);
    mail *m = (mail *)test_heap(sizeof *m);
    verdict *v = test_verdict();
    for (int kind = 0; kind < n_messages; kind++) {
        clear(m);
        test_collective(&pe, message_kernel, 2, 1, m, v, kind, (long)rounds);
        test_sync(&pe);
        JUDGE(&pe, v, message_names[kind]);
    }
    for (int kind = 0; kind < n_bulks; kind++) {
        clear(m);
        test_collective(&pe, bulk_kernel, 2, threads, m, v, kind, (long)(rounds / 10 + 2));
        test_sync(&pe);
        JUDGE(&pe, v, bulk_names[kind]);
    }
    clear(m);
    test_collective(&pe, batch_kernel, 1, 1, m, v);
    test_sync(&pe);
    JUDGE(&pe, v, "a batch is published together");
    for (int uses_quiet = 0; uses_quiet < 2; uses_quiet++) {
        run_buffering(&pe, m, rounds, uses_quiet != 0);
        run_chain(&pe, m, v, rounds, uses_quiet != 0);
    }
    test_free(v);
    gshmem_free(m);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
