/* SPDX-License-Identifier: Apache-2.0
 * A program with a choice of mistakes, for the proof that the thread sanitizer sees races between
 * PEs that are threads: race.sh runs it and expects a report for each mistake and none without one.
 *
 *     race good | no_wait | no_fence | no_barrier */
#include "tests/multi/pe.cuh"

enum { count = 64 };

/* Each PE sends to the next and reads what comes from the previous one. */
__global__ void exchange_kernel(long *data, long *out, long *flag, long *sum, int waits, int fences)
{
    const int next = (gshmem_my_pe() + 1) % gshmem_n_pes();
    for (int i = 0; i < count; i++)
        out[i] = i;
    gshmem_long_put(data, out, count, next);
    if (fences)
        gshmem_fence();
    gshmem_long_p(flag, 1, next);
    if (waits)
        gshmem_long_wait_until(flag, GSHMEM_CMP_EQ, 1);
    for (int i = 0; i < count; i++)
        *sum += data[i];
}

__global__ void write_kernel(long *data, int pe)
{
    for (int i = 0; i < count; i++)
        gshmem_long_p(&data[i], i, pe);
}

__global__ void read_kernel(const long *data, long *sum)
{
    for (int i = 0; i < count; i++)
        *sum += data[i];
}

static int pe_main(int argc, char **argv)
{
    const char *mistake = argc > 1 ? argv[1] : "good";
    test_pe pe = test_begin();
    long *data = (long *)test_heap(count * sizeof *data);
    long *out = (long *)test_heap(count * sizeof *out);
    long *flag = (long *)test_heap(sizeof *flag);
    long *sum = (long *)test_heap(sizeof *sum);

    test_collective(&pe, exchange_kernel, 1, 1, data, out, flag, sum,
                    (int)(strcmp(mistake, "no_wait") != 0),
                    (int)(strcmp(mistake, "no_fence") != 0));
    test_sync(&pe);
    gshmem_barrier_all();

    /* From kernel to kernel, by a barrier of the host or, wrongly, without one. */
    gshmem_launch(write_kernel, dim3(1), dim3(1), 0, pe.stream, data, pe.next);
    test_sync(&pe);
    if (strcmp(mistake, "no_barrier") != 0)
        gshmem_barrier_all();
    gshmem_launch(read_kernel, dim3(1), dim3(1), 0, pe.stream, (const long *)data, sum);
    test_sync(&pe);
    if (strcmp(mistake, "good") == 0)
        CHECK_EQ(*sum, count * (count - 1)); /* two times */
    gshmem_barrier_all();
    gshmem_free(sum);
    gshmem_free(flag);
    gshmem_free(out);
    gshmem_free(data);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
