/* SPDX-License-Identifier: Apache-2.0
 * Producer and consumer: a block of threads sends a message together with a signal; a block of the
 * receiving PE's kernel waits for the signal and then knows that the message has arrived. Messages
 * go through two buffers, and a second signal says when a buffer may be reused. */
#include <gshmem_device.cuh>
#include <stdint.h>
#include <stdio.h>

enum { messages = 20, words = 1000, buffers = 2, threads = 64 };

__host__ __device__ inline int word_of(int pe, int message, int i)
{
    return pe * 1000000 + message * 1000 + i;
}

struct mailbox {
    int data[buffers][words];
    uint64_t arrived[buffers]; /* set by the sender, with the message in the buffer */
    uint64_t emptied[buffers]; /* set by the receiver, on the sender's PE */
    int out[words];            /* where this PE's next message is made */
    int wrong;
};

/* Block 0 sends to the next PE, block 1 receives from the previous one. */
__global__ void exchange(mailbox *box)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    const int next = (me + 1) % n, previous = (me + n - 1) % n;

    for (int m = 0; m < messages; m++) {
        const int b = m % buffers;
        const uint64_t use = m / buffers + 1; /* how many times the buffer has then been used */
        if (blockIdx.x == 0) {
            for (int i = threadIdx.x; i < words; i += threads)
                box->out[i] = word_of(me, m, i);
            if (threadIdx.x == 0)
                gshmem_signal_wait_until(&box->emptied[b], GSHMEM_CMP_GE, use - 1);
            __syncthreads();
            /* All threads of the block make this call: they share the copying. */
            gshmemx_int_put_signal_block(box->data[b], box->out, words, &box->arrived[b], use,
                                         GSHMEM_SIGNAL_SET, next);
        } else {
            /* Each thread waits, so each may read what came before the signal. */
            gshmem_signal_wait_until(&box->arrived[b], GSHMEM_CMP_GE, use);
            int wrong = 0;
            for (int i = threadIdx.x; i < words; i += threads)
                wrong += box->data[b][i] != word_of(previous, m, i);
            if (wrong)
                atomicAdd(&box->wrong, wrong);
            __syncthreads();
            if (threadIdx.x == 0) {
                gshmem_fence(); /* the reads come before the signal */
                gshmemx_signal_op(&box->emptied[b], use, GSHMEM_SIGNAL_SET, previous);
            }
        }
        __syncthreads();
    }
}

static int pe_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    gshmem_init();
    const int me = gshmem_my_pe();
    mailbox *box = (mailbox *)gshmem_calloc(1, sizeof *box);
    if (box == NULL)
        gshmem_global_exit(1);

    void *args[] = {&box};
    const int failed =
        gshmemx_collective_launch(exchange, dim3(2), dim3(threads), args, 0, (cudaStream_t)0);
    if (failed || cudaStreamSynchronize((cudaStream_t)0) != cudaSuccess) {
        fprintf(stderr, "put_signal: PE %d: %s\n", me, gshmemx_error_string(failed));
        gshmem_global_exit(1);
    }

    const int wrong = gshmem_int_g(&box->wrong, me);
    if (wrong)
        fprintf(stderr, "put_signal: PE %d: %d words are wrong\n", me, wrong);
    else if (me == 0)
        printf("put_signal: %d messages of %d words to each PE: right\n", messages, words);

    gshmem_free(box);
    gshmem_finalize();
    return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
