/* SPDX-License-Identifier: Apache-2.0
 * The kernels of the Jacobi example. All compute with the same function, sweep(); they differ in
 * who sends the halo rows and who waits for what. */
#ifndef JACOBI_KERNELS_CUH
#define JACOBI_KERNELS_CUH

#include <gshmem_device.cuh>
#include <math.h>
#include <stdint.h>

/* The rows of one PE: 1 .. rows; row 0 and row rows + 1 are the halo, copies of the neighbours'
 * rows. Columns 0 and nx - 1 are the fixed boundary. Rows are `pitch` floats apart, at least four
 * of them behind the last column: threads at the edge read those, but none writes them. */
struct slab {
    int nx, rows;
    ptrdiff_t pitch;
    int strips; /* blocks of threads side by side: each thread has four columns */
    int bands;  /* blocks one above the other */
};

enum { max_blocks = 4096, max_pes = 1024 };

/* Words with which kernels synchronise and count; all zero before a run. In the symmetric heap.
 * Words that different blocks wait for lie in different cache lines. */
struct control {
    alignas(128) unsigned n_done; /* jacobi_step: blocks that have stored their part of the norm */
    /* All the rest, except partials and sums, is for jacobi_persistent. */
    alignas(128) uint64_t arrived[2]; /* blocks of this PE that have stored their part, by turn */
    alignas(128) uint64_t verdict;    /* 2 * (latest iteration judged) + (1 if it is the last) */
    alignas(128) uint64_t progress;   /* for the host: that iteration << 32 | its norm as a float */
    double final_sum;                 /* the squared norm of the last iteration */
    int final_iteration;
    alignas(128) uint64_t signals[max_blocks][4]; /* a neighbour's latest iteration, by direction */
    uint64_t sum_here[max_pes];     /* the latest iteration whose sum has arrived from a PE */
    double sums[4][max_pes];        /* the PEs' parts of the squared norm, of four iterations */
    double partials[2][max_blocks]; /* the blocks' parts of this PE's sum */
};

/* ---- one block's rectangle ------------------------------------------------------------------- */

struct quad_state {
    float4 before, centre; /* the last row and the one to compute, in the unchanged field */
    double sum;            /* of the squared changes so far */
};

/* Computes the next N rows. All loads come first, so that 3 * N of them are under way together:
 * that decides the speed, not the arithmetic. Each value is loaded from memory once: rows stay in
 * registers, and left and right neighbours lie in lines that this block loads anyway. */
template <int N>
__device__ inline void sweep_rows(quad_state &q, const float *&in, float *&out, ptrdiff_t step,
                                  int column, int last_column)
{
    float4 after[N];
    float left[N], right[N];
    for (int r = 0; r < N; r++) {
        after[r] = *(const float4 *)(in + (r + 1) * step);
        left[r] = in[r * step - 1];
        right[r] = in[r * step + 4];
    }
    for (int r = 0; r < N; r++) {
        const float4 c = q.centre;
        float4 v;
        v.x = 0.25f * ((left[r] + c.y) + (q.before.x + after[r].x));
        v.y = 0.25f * ((c.x + c.z) + (q.before.y + after[r].y));
        v.z = 0.25f * ((c.y + c.w) + (q.before.z + after[r].z));
        v.w = 0.25f * ((c.z + right[r]) + (q.before.w + after[r].w));
        /* The boundary, and what lies behind it up to the pitch, stays unchanged. */
        v.x = column == 0 || column >= last_column ? c.x : v.x;
        v.y = column + 1 >= last_column ? c.y : v.y;
        v.z = column + 2 >= last_column ? c.z : v.z;
        v.w = column + 3 >= last_column ? c.w : v.w;
        *(float4 *)(out + r * step) = v;
        const float dx = v.x - c.x, dy = v.y - c.y, dz = v.z - c.z, dw = v.w - c.w;
        /* Four columns in float, everything else in double: then the sum does not depend, beyond
         * the last few bits of a double, on how the rows are divided. Products and sums in float
         * are rounded separately: fused, they might be rounded one way for four rows and another
         * way for one. */
        q.sum += (double)((__fmul_rn(dx, dx) + __fmul_rn(dy, dy)) +
                          (__fmul_rn(dz, dz) + __fmul_rn(dw, dw)));
        q.before = c;
        q.centre = after[r];
    }
    in += N * step;
    out += N * step;
}

/* Computes rows first .. first + count - 1 of this block's strip, from `in` to `out`; returns this
 * thread's sum of squared changes. Upwards and downwards give the same bits. Alternating the
 * direction from one iteration to the next finds the rows written last still in the cache. */
__device__ inline double sweep(const slab &s, int strip, int first, int count, bool is_upwards,
                               const float *in, float *out)
{
    const int column = (int)(strip * blockDim.x + threadIdx.x) * 4;
    if (column >= s.nx || count == 0)
        return 0;
    const ptrdiff_t step = is_upwards ? -s.pitch : s.pitch;
    const ptrdiff_t start = (is_upwards ? first + count - 1 : first) * s.pitch + column;
    in += start;
    out += start;
    quad_state q = {*(const float4 *)(in - step), *(const float4 *)in, 0};
    int rows = count;
    for (; rows >= 4; rows -= 4)
        sweep_rows<4>(q, in, out, step, column, s.nx - 1);
    for (; rows > 0; rows--)
        sweep_rows<1>(q, in, out, step, column, s.nx - 1);
    return q.sum;
}

/* Returns the sum of each thread's value over the block, the same bits in every thread. The order
 * of the additions is fixed. blockDim.x is a multiple of 32. */
__device__ inline double block_sum(double value)
{
    __shared__ double of_warp[32];
    for (int lanes = 16; lanes > 0; lanes /= 2)
        value += __shfl_down_sync(0xffffffffu, value, lanes);
    __syncthreads(); /* the array may still be read from the previous call */
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    double sum = 0;
    for (unsigned w = 0; w < blockDim.x / 32; w++)
        sum += of_warp[w];
    return sum;
}

/* The first row of a band, counted from the first of `rows` rows in `bands` bands. */
__host__ __device__ inline int band_start(int rows, int bands, int band)
{
    return (int)((long long)rows * band / bands);
}

/* ---- one iteration per launch ---------------------------------------------------------------- */

/* Who copies a PE's edge rows into its neighbours' halo rows. */
enum halo_by {
    HALO_BY_HOST,   /* puts on a stream, queued by the host behind the kernel */
    HALO_BY_KERNEL, /* puts in the kernel */
    HALO_ALONE,     /* a single PE with the whole domain: plain copies; no gshmem at all */
};

struct step_args {
    slab s;
    const float *in;
    float *out;
    int first, count; /* the rows of this launch, in s.bands bands */
    int above, below; /* PEs */
    int rows_above;   /* rows of the PE above; its lower halo row is the one after */
    bool is_upwards;
    bool is_norm_due;
    int first_partial; /* where this launch's blocks store their part of the norm */
    int n_partials;    /* blocks of all launches of the iteration */
    int turn;          /* which of control.sums is to be filled */
    control *c;
};

/* Stores the block's part of the norm. The last block of the iteration adds up all parts, in a
 * fixed order, and tells every PE. */
template <halo_by BY> __device__ inline void add_to_norm(const step_args &a, double value)
{
    __shared__ bool is_last;
    const double part = block_sum(value);
    if (threadIdx.x == 0) {
        a.c->partials[0][a.first_partial + blockIdx.x] = part;
        __threadfence(); /* the part is stored before it is counted ... */
        is_last = atomicAdd(&a.c->n_done, 1u) == (unsigned)a.n_partials - 1;
        __threadfence(); /* ... and all counted parts are visible to the last block */
    }
    __syncthreads();
    if (!is_last)
        return;
    double sum = 0;
    for (int i = threadIdx.x; i < a.n_partials; i += blockDim.x)
        sum += a.c->partials[0][i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        atomicExch(&a.c->n_done, 0u); /* for the next iteration */
    if (BY == HALO_ALONE) {
        if (threadIdx.x == 0)
            a.c->sums[a.turn][0] = sum;
    } else {
        for (int pe = threadIdx.x; pe < gshmem_n_pes(); pe += blockDim.x)
            gshmem_double_p(&a.c->sums[a.turn][gshmem_my_pe()], sum, pe);
    }
}

/* Copies this block's part of a row, by all its threads, to a neighbour's halo row. */
template <halo_by BY>
__device__ inline void send_row(const slab &s, int strip, float *halo_row, const float *row, int pe)
{
    const int begin = strip * blockDim.x * 4, width = blockDim.x * 4;
    const int n = begin + width < s.nx ? width : s.nx - begin;
    if (BY == HALO_BY_KERNEL)
        gshmemx_float_put_block(halo_row + begin, row + begin, n, pe);
    if (BY == HALO_ALONE)
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            halo_row[begin + i] = row[begin + i];
}

template <halo_by BY>
__global__ void __launch_bounds__(256, 4) jacobi_step(const __grid_constant__ step_args a)
{
    const int strip = blockIdx.x % a.s.strips, band = blockIdx.x / a.s.strips;
    const int begin = band_start(a.count, a.s.bands, band);
    const int end = band_start(a.count, a.s.bands, band + 1);
    const double sum = sweep(a.s, strip, a.first + begin, end - begin, a.is_upwards, a.in, a.out);

    if (BY != HALO_BY_HOST) {
        __syncthreads(); /* rows written by other threads of the block are sent, too */
        const ptrdiff_t pitch = a.s.pitch;
        if (band == 0)
            send_row<BY>(a.s, strip, a.out + (a.rows_above + 1) * pitch, a.out + pitch, a.above);
        if (band == a.s.bands - 1)
            send_row<BY>(a.s, strip, a.out, a.out + a.s.rows * pitch, a.below);
    }
    if (a.is_norm_due)
        add_to_norm<BY>(a, sum);
}

/* ---- all iterations in one launch ------------------------------------------------------------ */

enum direction { UP, DOWN, LEFT, RIGHT };

struct persistent_args {
    slab s;
    float *field[2]; /* iteration k goes from field[(k - 1) % 2] to field[k % 2] */
    int above, below, rows_above;
    int iterations, norm_every;
    double tolerance;
    control *c;
};

__host__ __device__ inline bool is_norm_due(int k, int norm_every, int iterations)
{
    return k % norm_every == 0 || k == iterations;
}

/* Norms are numbered 1, 2 ... and alternate between two places: a block may be one norm ahead of
 * another, but not two, since it then waits for the verdict on the earlier one. */
__device__ inline int norm_number(int k, int norm_every)
{
    return (k + norm_every - 1) / norm_every;
}

/* Where a block signals its neighbour in one direction. Bands wrap around: above the first band is
 * the last band of the PE above. */
struct neighbour {
    bool exists;
    int block, pe;
};

__device__ inline neighbour find_neighbour(const persistent_args &a, int strip, int band, int d)
{
    const int block = band * a.s.strips + strip, me = gshmem_my_pe();
    switch (d) {
    case UP:
        return band > 0 ? neighbour{true, block - a.s.strips, me}
                        : neighbour{true, (a.s.bands - 1) * a.s.strips + strip, a.above};
    case DOWN:
        return band < a.s.bands - 1 ? neighbour{true, block + a.s.strips, me}
                                    : neighbour{true, strip, a.below};
    case LEFT:
        return neighbour{strip > 0, block - 1, me};
    default:
        return neighbour{strip < a.s.strips - 1, block + 1, me};
    }
}

/* Tells the neighbours that this block has done iteration k: its new rows may be read and what it
 * has read may be overwritten. norm_turn: the place of its part of the norm, or -1 if none is due.
 * Call it from all threads after the block's barrier. */
__device__ inline void announce(const persistent_args &a, int strip, int band, int k, int norm_turn)
{
    /* A neighbour on another PE needs the row, too. */
    float *out = a.field[k % 2];
    const ptrdiff_t pitch = a.s.pitch;
    if (band == 0)
        send_row<HALO_BY_KERNEL>(a.s, strip, out + (a.rows_above + 1) * pitch, out + pitch,
                                 a.above);
    if (band == a.s.bands - 1)
        send_row<HALO_BY_KERNEL>(a.s, strip, out, out + a.s.rows * pitch, a.below);

    /* One thread for each direction, and one that counts for the norm. The fence orders the signals
     * after all the block's loads, stores and puts; signals to this PE and to others use the same
     * call. */
    neighbour to = {norm_turn >= 0, 0, gshmem_my_pe()};
    uint64_t *signal = &a.c->arrived[norm_turn >= 0 ? norm_turn : 0];
    if (threadIdx.x < 4) {
        const int seen_from_there = threadIdx.x ^ 1;
        to = find_neighbour(a, strip, band, threadIdx.x);
        signal = &a.c->signals[to.exists ? to.block : 0][seen_from_there];
    }
    if (threadIdx.x < 5 && to.exists) {
        gshmem_fence();
        gshmemx_signal_op(signal, threadIdx.x < 4 ? k : 1,
                          threadIdx.x < 4 ? GSHMEM_SIGNAL_SET : GSHMEM_SIGNAL_ADD, to.pe);
    }
}

/* A block that computes: the same rectangle in every iteration. It waits only for its four
 * neighbours: no barrier of the grid, let alone of the PEs. */
__device__ inline void work(const persistent_args &a)
{
    __shared__ bool is_over;
    const int strip = blockIdx.x % a.s.strips, band = blockIdx.x / a.s.strips;
    const int begin = band_start(a.s.rows, a.s.bands, band);
    const int end = band_start(a.s.rows, a.s.bands, band + 1);

    for (int k = 1; k <= a.iterations; k++) {
        /* Five threads wait, each for one word: four neighbours, and the norm. The norm lags: k
         * starts when k - 2 has been judged, which happened while k - 1 was computed. If k - 2 was
         * the last, all blocks stop here, and none earlier, since a neighbour may need this block's
         * k - 1. The field of k - 2 still exists: k - 1 went to the other one. */
        if (threadIdx.x < 5) {
            const bool is_norm = threadIdx.x == 4;
            const int judged = k > 2 ? (k - 2) - (k - 2) % a.norm_every : 0;
            const uint64_t seen = gshmem_signal_wait_until(
                is_norm ? &a.c->verdict : &a.c->signals[blockIdx.x][threadIdx.x], GSHMEM_CMP_GE,
                is_norm                                              ? 2 * (uint64_t)judged
                : find_neighbour(a, strip, band, threadIdx.x).exists ? k - 1
                                                                     : 0);
            if (is_norm)
                is_over = seen % 2 == 1 && (int)(seen / 2) <= k - 2;
        }
        __syncthreads();
        if (is_over)
            break;

        const double sum = sweep(a.s, strip, 1 + begin, end - begin, k % 2 == 0,
                                 a.field[(k - 1) % 2], a.field[k % 2]);
        const bool is_due = is_norm_due(k, a.norm_every, a.iterations);
        const int turn = norm_number(k, a.norm_every) % 2;
        if (is_due) {
            const double part = block_sum(sum);
            if (threadIdx.x == 0)
                a.c->partials[turn][blockIdx.x] = part;
        }
        __syncthreads();
        announce(a, strip, band, k, is_due ? turn : -1);
    }
}

/* The one block that does not compute: it adds up the norm, over this PE's blocks and then over the
 * PEs, while the others are already in the next iteration. All PEs add the same numbers in the same
 * order, so all stop after the same iteration. */
__device__ inline void judge(const persistent_args &a)
{
    __shared__ bool is_over;
    const int me = gshmem_my_pe(), n = gshmem_n_pes(), n_blocks = a.s.strips * a.s.bands;
    for (int k = 1; k <= a.iterations; k++) {
        if (!is_norm_due(k, a.norm_every, a.iterations))
            continue;
        const int number = norm_number(k, a.norm_every), turn = number % 2;
        if (threadIdx.x == 0)
            gshmem_signal_wait_until(&a.c->arrived[turn], GSHMEM_CMP_GE,
                                     (uint64_t)((number + 1) / 2) * n_blocks);
        __syncthreads();
        double part = 0;
        for (int b = threadIdx.x; b < n_blocks; b += blockDim.x)
            part += a.c->partials[turn][b];
        part = block_sum(part);

        for (int pe = threadIdx.x; pe < n; pe += blockDim.x) {
            gshmem_double_p(&a.c->sums[turn][me], part, pe);
            gshmem_fence();
            gshmemx_signal_op(&a.c->sum_here[me], k, GSHMEM_SIGNAL_SET, pe);
        }
        for (int pe = threadIdx.x; pe < n; pe += blockDim.x)
            gshmem_signal_wait_until(&a.c->sum_here[pe], GSHMEM_CMP_GE, k);
        __syncthreads();
        if (threadIdx.x == 0) {
            double sum = 0;
            for (int pe = 0; pe < n; pe++)
                sum += a.c->sums[turn][pe];
            const double norm = sqrt(sum);
            is_over = norm <= a.tolerance || k == a.iterations;
            a.c->final_iteration = k;
            a.c->final_sum = sum;
            gshmem_fence(); /* the blocks may now overwrite what has been read for this norm */
            gshmemx_signal_op(&a.c->verdict, 2 * (uint64_t)k + is_over, GSHMEM_SIGNAL_SET, me);
            gshmemx_signal_op(&a.c->progress, (uint64_t)k << 32 | __float_as_uint((float)norm),
                              GSHMEM_SIGNAL_SET, me);
        }
        __syncthreads();
        if (is_over)
            return;
        __syncthreads(); /* before is_over is written again */
    }
}

__global__ void __launch_bounds__(256, 4)
    jacobi_persistent(const __grid_constant__ persistent_args a)
{
    if ((int)blockIdx.x == a.s.strips * a.s.bands)
        judge(a);
    else
        work(a);
}

/* ---- before and after ------------------------------------------------------------------------ */

/* The known solution's boundary: one period of a sine down the left and right columns. first_row:
 * the number of the slab's row 1 in the whole domain of ny rows. */
__global__ void fill_boundary(slab s, float *field0, float *field1, int first_row, int ny)
{
    for (int row = 1 + blockIdx.x * blockDim.x + threadIdx.x; row <= s.rows;
         row += gridDim.x * blockDim.x) {
        const double angle = 2.0 * 3.14159265358979323846 * (first_row + row - 1) / (ny - 1);
        const float value = (float)sin(angle);
        field0[row * s.pitch] = field0[row * s.pitch + s.nx - 1] = value;
        field1[row * s.pitch] = field1[row * s.pitch + s.nx - 1] = value;
    }
}

/* *bits becomes the bits of the greatest |a[i] - b[i]|: the bits of non-negative floats are ordered
 * like the numbers, with NaN above all. */
__global__ void greatest_difference(const float *a, const float *b, size_t n, unsigned *bits)
{
    float greatest = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        const float difference = fabsf(a[i] - b[i]);
        greatest = difference <= greatest ? greatest : difference;
    }
    if (!(greatest <= 0))
        atomicMax(bits, __float_as_uint(greatest));
}

#endif
