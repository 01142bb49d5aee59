/* SPDX-License-Identifier: Apache-2.0
 * Does a known number of puts, signals, waits, spans and collectives, on the host, on a stream and
 * in kernels, for timeline.py to find in the job's timeline. PE p sends to PE p + 1, so each PE's
 * waits are ended by the PE before it. Compiled with GSHMEM_TRACE_KERNELS. With an argument, PE 1
 * is killed after the kernels. */
#include <gshmem_device.cuh>
#include <signal.h>

enum { ROUNDS = 7, BLOCKS = 3, BYTES = 1000, WORDS = 16, INTS = 8 };

/* signals[b] is block b's. */
__global__ void exchange(char *buffer, const char *source, uint64_t *signals, uint64_t *adds)
{
    const int next = (gshmem_my_pe() + 1) % gshmem_n_pes();
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        if (threadIdx.x == 0)
            gshmemx_trace_begin("round");
        gshmemx_putmem_signal_block(buffer + blockIdx.x * BYTES, source, BYTES,
                                    signals + blockIdx.x, i, GSHMEM_SIGNAL_SET, next);
        if (threadIdx.x == 0) {
            gshmem_signal_wait_until(signals + blockIdx.x, GSHMEM_CMP_GE, i);
            gshmemx_signal_op(adds + blockIdx.x, 1, GSHMEM_SIGNAL_ADD, next);
            gshmem_uint64_wait_until(adds + blockIdx.x, GSHMEM_CMP_GE, i);
            gshmemx_trace_end();
        }
        __syncthreads();
    }
}

__global__ void together(int *dest, const int *source)
{
    gshmemx_int_sum_reduce_block(GSHMEM_TEAM_WORLD, dest, source, INTS);
    gshmemx_barrier_all_block();
}

/* One thread waits while another one of its block makes calls, of which the last ends the wait of
 * the next PE. */
__global__ void beside(uint64_t *word, uint64_t *others)
{
    const int next = (gshmem_my_pe() + 1) % gshmem_n_pes();
    if (threadIdx.x == 0)
        gshmem_signal_wait_until(word, GSHMEM_CMP_EQ, 5);
    if (threadIdx.x == 1) {
        for (int i = 0; i < ROUNDS; i++)
            gshmemx_signal_op(others, 1, GSHMEM_SIGNAL_ADD, next);
        gshmemx_signal_op(word, 5, GSHMEM_SIGNAL_SET, next);
    }
}

/* The stream waits for PE p - 1. */
static int on_stream(char *buffer, const char *source, uint64_t *signal, int next)
{
    gshmem_launch(together, dim3(1), dim3(32), 0, (cudaStream_t)0, (int *)buffer,
                  (const int *)source);
    gshmem_launch(beside, dim3(1), dim3(2), 0, (cudaStream_t)0, signal + 1, signal + 2);
    gshmemx_putmem_signal_on_stream(buffer, source, BYTES, signal, 1, GSHMEM_SIGNAL_SET, next, 0);
    gshmemx_signal_wait_until_on_stream(signal, GSHMEM_CMP_GE, 1, 0);
    gshmemx_barrier_all_on_stream(0);
    return cudaStreamSynchronize(0) != cudaSuccess;
}

static int run(int argc, char **)
{
    gshmem_init();
    const int next = (gshmem_my_pe() + 1) % gshmem_n_pes();
    char *buffer = (char *)gshmem_malloc(BLOCKS * BYTES);
    char *source = (char *)gshmem_malloc(BYTES);
    uint64_t *signals = (uint64_t *)gshmem_calloc(WORDS, sizeof(uint64_t));
    uint64_t *adds = (uint64_t *)gshmem_calloc(WORDS, sizeof(uint64_t));
    gshmem_barrier_all();
    const char *from = source;
    gshmem_launch(exchange, dim3(BLOCKS), dim3(32), 0, (cudaStream_t)0, buffer, from, signals,
                  adds);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;
    gshmem_barrier_all();
    if (argc > 1 && gshmem_my_pe() == 1)
        raise(SIGKILL);
    if (on_stream(buffer, source, signals + BLOCKS + 1, next))
        return 1;
    gshmemx_trace_begin("rounds of the host");
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        gshmem_putmem_signal(buffer, source, BYTES, signals + BLOCKS, i, GSHMEM_SIGNAL_SET, next);
        gshmem_signal_wait_until(signals + BLOCKS, GSHMEM_CMP_GE, i);
        gshmem_uint64_p(adds + BLOCKS, i, next);
        gshmem_uint64_wait_until(adds + BLOCKS, GSHMEM_CMP_GE, i);
        gshmem_quiet();
        gshmem_getmem(source, buffer, BYTES / 2, next);
        gshmem_uint64_atomic_add(adds + BLOCKS + 1, i, next);
    }
    gshmemx_trace_end();
    gshmem_barrier_all();
    gshmem_free(adds);
    gshmem_free(signals);
    gshmem_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    return gshmemx_run(run, argc, argv);
}
