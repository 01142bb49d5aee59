/* SPDX-License-Identifier: Apache-2.0
 * A program with selectable mistakes, for proving that the thread sanitizer sees races between PEs
 * that are threads: race.sh runs it and expects a report for each mistake and none without one.
 *
 *     race good | no_wait | no_fence | no_barrier */
#include "tests/rig/pe.cuh"

enum { count = 64 };

/* Each PE sends to the next and reads what comes from the previous one. The syncs, which order
 * nothing, keep all PEs in their kernels: otherwise the executor's actions before and after a
 * kernel might happen to order one PE's accesses before another's and so hide a race. */
__global__ void exchange_kernel(long *data, long *out, long *flag, long *sum, int waits, int fences)
{
    const int next = (gshmem_my_pe() + 1) % gshmem_n_pes();
    gshmem_sync_all();
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
    gshmem_sync_all();
}

/* From PE 0 to PE 1, which reads in its own kernel. stays: PE 0 stays in its kernel until PE 1 has
 * read, so again only a barrier could order the two. */
__global__ void write_kernel(long *data, int stays)
{
    for (int i = 0; i < count; i++)
        gshmem_long_p(&data[i], i, 1);
    if (stays) {
        gshmem_sync_all(); /* written */
        gshmem_sync_all(); /* read */
    }
}

__global__ void read_kernel(const long *data, long *sum, int stays)
{
    if (stays)
        gshmem_sync_all();
    for (int i = 0; i < count; i++)
        *sum += data[i];
    if (stays)
        gshmem_sync_all();
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

    /* From kernel to kernel, with a host barrier or, wrongly, without one. */
    const bool has_barrier = strcmp(mistake, "no_barrier") != 0;
    if (pe.me == 0) {
        gshmem_launch(write_kernel, dim3(1), dim3(1), 0, pe.stream, data, (int)!has_barrier);
        test_sync(&pe);
    }
    if (has_barrier)
        gshmem_barrier_all();
    if (pe.me == 1) {
        gshmem_launch(read_kernel, dim3(1), dim3(1), 0, pe.stream, (const long *)data, sum,
                      (int)!has_barrier);
        test_sync(&pe);
    }
    if (strcmp(mistake, "good") == 0)
        CHECK_EQ(*sum, (pe.me + 1) * (count * (count - 1) / 2)); /* PE 1: twice */
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
