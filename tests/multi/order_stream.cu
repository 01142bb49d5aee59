/* SPDX-License-Identifier: Apache-2.0
 * Proves that a signal sent on a stream comes after the data put before it there: the receiver
 * waits on its own stream or in a kernel, and the data must have arrived. Each PE sends to the next
 * and receives from the previous one, on one stream each.
 *
 *     order_stream [--count=ROUNDS] */
#include "tests/rig/pe.cuh"

/* A sheet is more than the library copies by a kernel; a note is less. Each further word that the
 * thread sanitizer reports takes it longer than the one before. */
enum { note = 64, sheet = TEST_SANITIZED ? 2000 : 40000, window = 16, threads = 64 };

/* One PE's side, symmetric. The previous PE writes data and sig, the next one ack. */
struct post {
    long data[2 * sheet]; /* one slot after another */
    uint64_t sig[window];
    uint64_t ack;
};

enum post_call { by_put_signal, by_put_signal_nbi, by_signal_op };

struct post_kind {
    const char *name;
    post_call call;
    int n, n_slots;
};
static const post_kind post_kinds[] = {
    {"put_signal", by_put_signal, note, window},
    {"put_signal_nbi add", by_put_signal_nbi, note, window},
    {"putmem, quiet, signal_op", by_signal_op, note, window},
    {"put_signal of a sheet", by_put_signal, sheet, 2},
    {"putmem of a sheet, quiet, signal_op", by_signal_op, sheet, 2},
};

/* The value of the slot's signal after round r. */
static HD uint64_t visit_of(long r, int n_slots)
{
    return (uint64_t)((r - 1) / n_slots + 1);
}

/* Round r brings r, r + 1, ... The word stored last is checked first. */
static __device__ void check_post(const post *p, verdict *v, int n, int slot, long r)
{
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        EXPECT_AT(v, p->data[slot * n + n - 1 - i], r + n - 1 - i, n);
}

__global__ void check_post_kernel(const post *p, verdict *v, int n, int slot, long r)
{
    check_post(p, v, n, slot, r);
}

__global__ void receive_post_kernel(post *p, verdict *v, int n, int n_slots, long rounds)
{
    const int n_pes = gshmem_n_pes(), from = (gshmem_my_pe() + n_pes - 1) % n_pes;
    for (long r = 1; r <= rounds; r++) {
        const int slot = (int)((r - 1) % n_slots);
        gshmem_signal_wait_until(&p->sig[slot], GSHMEM_CMP_GE, visit_of(r, n_slots));
        check_post(p, v, n, slot, r);
        __syncthreads();
        if (threadIdx.x == 0) {
            gshmem_fence(); /* after the reads */
            gshmemx_signal_op(&p->ack, (uint64_t)r, GSHMEM_SIGNAL_SET, from);
        }
    }
}

/* tape holds 0, 1, 2, ... */
static void send_on_stream(post *p, const post_kind *k, const long *tape, long r, int to,
                           cudaStream_t s)
{
    const size_t n = (size_t)k->n;
    const int slot = (int)((r - 1) % k->n_slots);
    long *data = &p->data[slot * k->n];
    uint64_t *sig = &p->sig[slot];
    const uint64_t visit = visit_of(r, k->n_slots);
    if (r > k->n_slots)
        gshmemx_signal_wait_until_on_stream(&p->ack, GSHMEM_CMP_GE, (uint64_t)(r - k->n_slots), s);
    if (k->call == by_put_signal) {
        gshmemx_long_put_signal_on_stream(data, tape + r, n, sig, visit, GSHMEM_SIGNAL_SET, to, s);
    } else if (k->call == by_put_signal_nbi) {
        gshmemx_long_put_signal_nbi_on_stream(data, tape + r, n, sig, 1, GSHMEM_SIGNAL_ADD, to, s);
    } else {
        gshmemx_putmem_on_stream(data, tape + r, n * sizeof *data, to, s);
        gshmemx_quiet_on_stream(s);
        gshmemx_signal_op_on_stream(sig, visit, GSHMEM_SIGNAL_SET, to, s);
    }
}

static void receive_on_stream(post *p, const post_kind *k, verdict *v, long r, int from,
                              unsigned block, cudaStream_t s)
{
    const int slot = (int)((r - 1) % k->n_slots);
    gshmemx_signal_wait_until_on_stream(&p->sig[slot], GSHMEM_CMP_GE, visit_of(r, k->n_slots), s);
    gshmem_launch(check_post_kernel, dim3(1), dim3(block), 0, s, (const post *)p, v, k->n, slot, r);
    gshmemx_signal_op_on_stream(&p->ack, (uint64_t)r, GSHMEM_SIGNAL_SET, from, s);
}

/* Sends on one stream what it receives on another, or in a kernel there. */
static void run_post(const test_pe *pe, const post_kind *k, verdict *v, long rounds, bool by_kernel)
{
    const unsigned block = k->n == note ? 1 : threads;
    const size_t length = (size_t)rounds + 1 + (size_t)k->n;
    post *p = (post *)test_heap(sizeof *p);
    long *tape = (long *)test_device(length * sizeof *tape);
    long *numbers = (long *)malloc(length * sizeof *numbers);
    cudaStream_t out;
    for (size_t i = 0; i < length; i++)
        numbers[i] = (long)i;
    test_copy(tape, numbers, length * sizeof *tape);
    CUDA(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
    if (by_kernel)
        test_collective(pe, receive_post_kernel, 1, block, p, v, k->n, k->n_slots, rounds);
    for (long r = 1; r <= rounds; r++) {
        send_on_stream(p, k, tape, r, pe->next, out);
        if (!by_kernel)
            receive_on_stream(p, k, v, r, pe->previous, block, pe->stream);
    }
    CUDA(cudaStreamSynchronize(out));
    test_sync(pe);
    char text[128];
    snprintf(text, sizeof text, "%s on a stream, to a %s", k->name,
             by_kernel ? "kernel" : "stream");
    JUDGE(pe, v, text);
    CUDA(cudaStreamDestroy(out));
    test_free(tape);
    free(numbers);
    gshmem_free(p);
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const int rounds = test_rounds(&pe, argc, argv, 5000, 20000);
    verdict *v = test_verdict();
    /* First on a stream: no kernel is loaded while one waits for what that kernel would send. */
    for (const post_kind &k : post_kinds)
        for (int by_kernel = 0; by_kernel < 2; by_kernel++)
            run_post(&pe, &k, v, k.n == note ? rounds : rounds / 20 + 3, by_kernel != 0);
    test_free(v);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
