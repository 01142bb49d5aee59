/* SPDX-License-Identifier: Apache-2.0
 * What a timeline costs: round trips between PE 0 and PE 1, each a put with signal and a wait on
 * both sides, with some arithmetic before each put that sets the rate. Compiled with
 * GSHMEM_TRACE_KERNELS, each PE writes 10 events in a round trip while a timeline is recorded
 * (6 of the put, 4 of the wait). Run it with and without GSHMEM_TRACE, and compare it with the
 * same program compiled without the macro.
 *
 *     trace [WORK[,WORK...] [ROUNDS [BYTES]]]    WORK: dependent multiplications before each put
 *
 * Prints for each WORK the median of 9 launches, in us for a round trip, and the events that go
 * with it. */
#include <algorithm>
#include <gshmem_device.cuh>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHES = 9, EVENTS = 10 };

__global__ void round_trips(char *dest, const char *source, size_t bytes, uint64_t *signal,
                            uint64_t first, int rounds, int work, float *sink, uint64_t *ns)
{
    const int me = gshmem_my_pe(), other = 1 - me;
    float x = (float)(threadIdx.x + 1);
    const uint64_t begin = gshmem::detail::clock_ns();
    for (int i = 0; i < rounds; i++) {
        if (me == 1 && threadIdx.x == 0)
            gshmem_signal_wait_until(signal, GSHMEM_CMP_GE, first + (uint64_t)i);
        for (int k = 0; k < work; k++)
            x = x * 1.0001f + 0.5f;
        __syncthreads();
        gshmemx_putmem_signal_block(dest, source, bytes, signal, first + (uint64_t)i,
                                    GSHMEM_SIGNAL_SET, other);
        if (me == 0 && threadIdx.x == 0)
            gshmem_signal_wait_until(signal, GSHMEM_CMP_GE, first + (uint64_t)i);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *ns = gshmem::detail::clock_ns() - begin;
        *sink = x;
    }
}

struct memory {
    char *dest, *source, *result; /* result: ns, and the arithmetic's */
    uint64_t *signal, first;      /* first: the value of the next launch's first signal */
};

/* False: a kernel has failed. */
static bool measure(memory *m, int work, int rounds, size_t bytes)
{
    double us[LAUNCHES];
    for (int i = 0; i < LAUNCHES; i++, m->first += (uint64_t)rounds) {
        const char *from = m->source;
        uint64_t ns = 0;
        gshmem_launch(round_trips, dim3(1), dim3(32), 0, (cudaStream_t)0, m->dest, from, bytes,
                      m->signal, m->first, rounds, work, (float *)(m->result + 8),
                      (uint64_t *)m->result);
        if (cudaDeviceSynchronize() != cudaSuccess)
            return false;
        gshmem_getmem(&ns, m->result, sizeof ns, gshmem_my_pe());
        us[i] = (double)ns / 1e3 / rounds;
    }
    std::sort(us, us + LAUNCHES);
    if (gshmem_my_pe() == 0)
        printf("work %d, %zu bytes: %.3f us a round trip (%.3f to %.3f), %.2f million events/s\n",
               work, bytes, us[LAUNCHES / 2], us[0], us[LAUNCHES - 1], EVENTS / us[LAUNCHES / 2]);
    return true;
}

static int run(int argc, char **argv)
{
    const int rounds = argc > 2 ? atoi(argv[2]) : 20000;
    const size_t bytes = argc > 3 ? (size_t)atoi(argv[3]) : 64;
    gshmem_init();
    memory m = {(char *)gshmem_malloc(bytes), (char *)gshmem_malloc(bytes),
                (char *)gshmem_calloc(2, sizeof(uint64_t)),
                (uint64_t *)gshmem_calloc(1, sizeof(uint64_t)), 1};
    for (const char *work = argc > 1 ? argv[1] : "0"; work && gshmem_my_pe() < 2;) {
        if (!measure(&m, atoi(work), rounds, bytes))
            return 1;
        work = strchr(work, ',');
        work += work != NULL;
    }
    gshmem_barrier_all();
    gshmem_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    return gshmemx_run(run, argc, argv);
}
