/* SPDX-License-Identifier: Apache-2.0
 * The largest eigenvalue of a matrix by power iteration, x = A x / |A x|, in one kernel from the
 * first step to the last: each PE has some rows of A; a reduce by the block computes the dot
 * products, and an fcollect gives all PEs the new x. The host waits once. A is the Hilbert matrix,
 * A[i][j] = 1 / (i + j + 1), which need not be stored. */
#include <gshmem_device.cuh>
#include <gshmemx.h>
#include <math.h>
#include <stdio.h>

enum { rows = 32, threads = 64, max_steps = 200 }; /* rows: of each PE */

struct iteration {
    double partial[2], dots[2]; /* x . Ax and Ax . Ax: of this PE's rows, and of all */
    double y[rows];             /* this PE's part of Ax */
    double eigenvalue, residual;
    int steps;
};

/* Returns the sum over the threads, in all threads. */
__device__ double block_sum(double mine)
{
    alignas(16) __shared__ double sums[threads];
    sums[threadIdx.x] = mine;
    for (int half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    const double sum = sums[0];
    __syncthreads(); /* before the next call writes */
    return sum;
}

/* y = A x for this PE's rows: the block adds up one row after another. */
__device__ void multiply(iteration *it, const double *x, int first, int n)
{
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int j = threadIdx.x; j < n; j += threads)
            sum += x[j] / (first + r + j + 1);
        sum = block_sum(sum);
        if (threadIdx.x == 0)
            it->y[r] = sum;
    }
    __syncthreads();
}

/* x . y and y . y over all PEs; the same bits on all, so that all stop at the same step. */
__device__ void dot_products(iteration *it, const double *x, int first)
{
    double xy = 0, yy = 0;
    for (int r = threadIdx.x; r < rows; r += threads) {
        xy += x[first + r] * it->y[r];
        yy += it->y[r] * it->y[r];
    }
    xy = block_sum(xy);
    yy = block_sum(yy);
    if (threadIdx.x == 0) {
        it->partial[0] = xy;
        it->partial[1] = yy;
    }
    __syncthreads();
    gshmemx_double_sum_reduce_block(GSHMEM_TEAM_WORLD, it->dots, it->partial, 2);
}

/* By one block. x: the whole vector, on each PE. */
__global__ void power_iteration(iteration *it, double *x)
{
    const int n = rows * gshmem_n_pes(), first = rows * gshmem_my_pe();
    double eigenvalue = 0, change = 1;
    int step = 0;
    for (int j = threadIdx.x; j < n; j += threads)
        x[j] = 1 / sqrt((double)n);
    __syncthreads();

    for (; step < max_steps && change > 1e-15; step++) {
        multiply(it, x, first, n);
        dot_products(it, x, first);
        change = fabs(it->dots[0] - eigenvalue);
        eigenvalue = it->dots[0];
        const double norm = sqrt(it->dots[1]);
        for (int r = threadIdx.x; r < rows; r += threads)
            it->y[r] /= norm;
        __syncthreads();
        gshmemx_double_fcollect_block(GSHMEM_TEAM_WORLD, x, it->y, rows);
    }

    /* |Ax|^2 - (x . Ax)^2 is |Ax - eigenvalue x|^2, since x has length 1. */
    multiply(it, x, first, n);
    dot_products(it, x, first);
    if (threadIdx.x == 0) {
        it->eigenvalue = it->dots[0];
        it->residual = fabs(it->dots[1] - it->dots[0] * it->dots[0]);
        it->steps = step;
    }
}

static int pe_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    gshmem_init();
    const int me = gshmem_my_pe(), n = rows * gshmem_n_pes();
    iteration *it = (iteration *)gshmem_calloc(1, sizeof *it), found, other;
    double *x = (double *)gshmem_malloc((size_t)n * sizeof *x);
    if (it == NULL || x == NULL)
        gshmem_global_exit(1);

    void *args[] = {&it, &x};
    const int failed = gshmemx_collective_launch(power_iteration, dim3(1), dim3(threads), args, 0,
                                                 (cudaStream_t)0);
    if (failed || cudaStreamSynchronize((cudaStream_t)0) != cudaSuccess) {
        fprintf(stderr, "power_iteration: PE %d: %s\n", me, gshmemx_error_string(failed));
        gshmem_global_exit(1);
    }

    gshmem_barrier_all();
    gshmem_getmem(&found, it, sizeof found, me);
    gshmem_getmem(&other, it, sizeof other, 0);
    const bool is_right = found.steps < max_steps && found.residual < 1e-12 &&
                          found.eigenvalue == other.eigenvalue && found.steps == other.steps;
    if (!is_right)
        fprintf(stderr, "power_iteration: PE %d: %.17g and %g after %d steps, PE 0 has %.17g\n", me,
                found.eigenvalue, found.residual, found.steps, other.eigenvalue);
    else if (me == 0)
        printf("power_iteration: the largest eigenvalue of the matrix of Hilbert of %d rows is "
               "%.15g (%d steps)\n",
               n, found.eigenvalue, found.steps);

    gshmem_barrier_all(); /* no PE reads PE 0's any more */
    gshmem_free(x);
    gshmem_free(it);
    gshmem_finalize();
    return is_right ? 0 : 1;
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
