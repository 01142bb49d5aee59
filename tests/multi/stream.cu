/* SPDX-License-Identifier: Apache-2.0
 * Proves that calls on a stream take their turn there: scalars are copied when the call is made,
 * nothing overtakes, and a sequence of every kind of call gives the same results when captured into
 * a CUDA graph and replayed. check tests that each call moves the right bytes.
 *
 *     stream [--count=REPLAYS] */
#include "tests/rig/pe.cuh"

enum { count = 1000, n_scalars = 50, threads = 64 };

/* Symmetric. */
struct room {
    long go; /* set by this PE's host: its stream waits here */
    int scalars[n_scalars];
    uint64_t sums[2];
    int out[count], in[4][count], got[count];
    uint64_t arrived[3];
    long flag, flags[4];
    int step; /* this PE's kernels count */
    uint64_t order[3];
};

/* ---- scalars --------------------------------------------------------------------------------- */

/* Holds the stream while calls are made and their variables overwritten; then lets it go. */
static void check_scalars(const test_pe *pe, room *r)
{
    int value = 0, to = pe->next;
    uint64_t signal = 0;
    long go = 5;
    gshmemx_long_wait_until_on_stream(&r->go, GSHMEM_CMP_EQ, go, pe->stream);
    go = -1;
    for (int i = 0; i < n_scalars; i++) {
        value = 100 + i;
        gshmemx_int_p_on_stream(&r->scalars[i], value, to, pe->stream);
        value = -1;
        signal = (uint64_t)i;
        gshmemx_signal_op_on_stream(&r->sums[0], signal, GSHMEM_SIGNAL_ADD, to, pe->stream);
        gshmemx_int_put_signal_on_stream(r->in[0], r->out, 1, &r->sums[1], signal,
                                         GSHMEM_SIGNAL_ADD, to, pe->stream);
        signal = 1u << 30;
    }
    gshmemx_quiet_on_stream(pe->stream);
    CHECK_EQ(cudaStreamQuery(pe->stream), cudaErrorNotReady);
    gshmem_barrier_all(); /* nothing may have been put yet */
    int first;
    test_copy(&first, &r->scalars[0], sizeof first);
    CHECK_EQ(first, 0);
    gshmem_barrier_all();
    gshmem_long_p(&r->go, 5, pe->me);
    test_sync(pe);
    gshmem_barrier_all();
    int scalars[n_scalars];
    uint64_t sums[2];
    test_copy(scalars, r->scalars, sizeof scalars);
    test_copy(sums, r->sums, sizeof sums);
    for (int i = 0; i < n_scalars; i++)
        CHECK_EQ(scalars[i], 100 + i);
    CHECK_EQ(sums[0], n_scalars * (n_scalars - 1) / 2);
    CHECK_EQ(sums[1], sums[0]);
}

/* ---- a sequence of every kind ---------------------------------------------------------------- */

static __device__ int word_of(int pe, int step, int i)
{
    return pe * 10000000 + step * 10000 + i;
}

__global__ void make_kernel(room *r)
{
    const int step = r->step + 1;
    for (int i = (int)threadIdx.x; i < count; i += threads)
        r->out[i] = word_of(gshmem_my_pe(), step, i);
    __syncthreads();
    if (threadIdx.x == 0)
        r->step = step;
}

/* What came from the previous PE by put, put_signal and put_nbi, from the next by get, and by iput,
 * which takes every second element. */
__global__ void check_kernel(const room *r, verdict *v)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes(), step = r->step;
    const int previous = (me + n - 1) % n, next = (me + 1) % n;
    for (int i = (int)threadIdx.x; i < count; i += threads) {
        EXPECT_AT(v, r->in[0][i], word_of(previous, step, i), step);
        EXPECT_AT(v, r->in[1][i], word_of(previous, step, i), step);
        EXPECT_AT(v, r->in[2][i], word_of(previous, step, i), step);
        EXPECT_AT(v, r->got[i], word_of(next, step, i), step);
        if (i < count / 2)
            EXPECT_AT(v, r->in[3][i], word_of(previous, step, 2 * i), step);
    }
}

/* One step. It leaves all signals and flags as it found them, so that it can be replayed. */
static void enqueue_step(const test_pe *pe, room *r, verdict *v, cudaStream_t s)
{
    const int next = pe->next, me = pe->me;
    gshmem_launch(make_kernel, dim3(1), dim3(threads), 0, s, r);
    gshmemx_int_put_on_stream(r->in[0], r->out, count, next, s);
    gshmemx_int_put_signal_on_stream(r->in[1], r->out, count, &r->arrived[0], 1, GSHMEM_SIGNAL_SET,
                                     next, s);
    gshmemx_int_put_signal_nbi_on_stream(r->in[2], r->out, count, &r->arrived[1], 3,
                                         GSHMEM_SIGNAL_ADD, next, s);
    gshmemx_int_iput_on_stream(r->in[3], r->out, 1, 2, count / 2, next, s);
    gshmemx_signal_op_on_stream(&r->arrived[2], 7, GSHMEM_SIGNAL_SET, next, s);
    for (int i = 0; i < 4; i++)
        gshmemx_long_p_on_stream(&r->flags[i], 20 + i, next, s);
    gshmemx_signal_wait_until_on_stream(&r->arrived[0], GSHMEM_CMP_EQ, 1, s);
    gshmemx_signal_wait_until_on_stream(&r->arrived[1], GSHMEM_CMP_GE, 3, s);
    gshmemx_uint64_wait_until_on_stream(&r->arrived[2], GSHMEM_CMP_EQ, 7, s);
    gshmemx_long_wait_until_all_on_stream(r->flags, 4, NULL, GSHMEM_CMP_GE, 20, s);
    gshmemx_barrier_all_on_stream(s); /* the next PE's out is ready */
    gshmemx_int_get_nbi_on_stream(r->got, r->out, count / 2, next, s);
    gshmemx_int_get_on_stream(r->got + count / 2, r->out + count / 2, count / 2, next, s);
    gshmemx_quiet_on_stream(s);
    gshmem_launch(check_kernel, dim3(1), dim3(threads), 0, s, (const room *)r, v);
    for (uint64_t &arrived : r->arrived)
        gshmemx_uint64_p_on_stream(&arrived, 0, me, s);
    for (long &flag : r->flags)
        gshmemx_long_p_on_stream(&flag, 0, me, s);
    CHECK_EQ(gshmemx_barrier_on_stream(GSHMEM_TEAM_WORLD, s), 0);
    gshmemx_sync_all_on_stream(s);
    CHECK_EQ(gshmemx_team_sync_on_stream(GSHMEMX_TEAM_NODE, s), 0);
}

static void check_steps(const test_pe *pe, room *r, verdict *v, int steps)
{
    for (int i = 0; i < steps; i++)
        enqueue_step(pe, r, v, pe->stream);
    test_sync(pe);
    JUDGE(pe, v, "the sequence, enqueued");
    int done;
    test_copy(&done, &r->step, sizeof done);
    CHECK_EQ(done, steps);
}

#ifdef __CUDACC__
/* The same, captured once. */
static void check_graph(const test_pe *pe, room *r, verdict *v, int replays)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int before, after;
    test_copy(&before, &r->step, sizeof before);
    CUDA(cudaStreamBeginCapture(pe->stream, cudaStreamCaptureModeThreadLocal));
    enqueue_step(pe, r, v, pe->stream);
    CUDA(cudaStreamEndCapture(pe->stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    gshmem_barrier_all();
    for (int i = 0; i < replays; i++) {
        CUDA(cudaGraphLaunch(exec, pe->stream));
        if (i % 10 == 9) /* calls in between that are not captured */
            enqueue_step(pe, r, v, pe->stream);
    }
    test_sync(pe);
    JUDGE(pe, v, "the sequence, replayed from a graph");
    test_copy(&after, &r->step, sizeof after);
    CHECK_EQ(after - before, replays + replays / 10);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
}
#endif

/* ---- streams beside each other --------------------------------------------------------------- */

/* A stream that waits does not hold up another of the same PE, which ends the wait. */
static void check_two_streams(const test_pe *pe, room *r)
{
    cudaStream_t other;
    const uint64_t zero[3] = {};
    gshmem_barrier_all();
    test_copy(r->order, zero, sizeof zero);
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    gshmemx_signal_wait_until_on_stream(&r->order[0], GSHMEM_CMP_EQ, 1, pe->stream);
    gshmemx_signal_op_on_stream(&r->order[1], 1, GSHMEM_SIGNAL_SET, pe->me, pe->stream);
    gshmemx_signal_op_on_stream(&r->order[2], 1, GSHMEM_SIGNAL_SET, pe->me, other);
    CUDA(cudaStreamSynchronize(other));
    CHECK_EQ(gshmem_signal_fetch(&r->order[1]), 0);
    CHECK_EQ(gshmem_signal_fetch(&r->order[2]), 1);
    gshmemx_signal_op_on_stream(&r->order[0], 1, GSHMEM_SIGNAL_SET, pe->me, other);
    test_sync(pe);
    CHECK_EQ(gshmem_signal_fetch(&r->order[1]), 1);
    /* g waits for earlier work. */
    gshmemx_uint64_p_on_stream(&r->order[2], 77, pe->me, other);
    CHECK_EQ(gshmemx_uint64_g_on_stream(&r->order[2], pe->me, other), 77);
    CUDA(cudaStreamDestroy(other));
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const int rounds = test_rounds(&pe, argc, argv, 50, 100);
    room *r = (room *)test_heap(sizeof *r);
    verdict *v = test_verdict();
    check_scalars(&pe, r);
    check_steps(&pe, r, v, rounds);
#ifdef __CUDACC__
    check_graph(&pe, r, v, rounds);
#endif
    check_two_streams(&pe, r);
    test_free(v);
    gshmem_free(r);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
