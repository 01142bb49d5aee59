/* SPDX-License-Identifier: Apache-2.0
 * The host's side of the Jacobi example: the three variants and the single PE they are compared
 * with. All stop after the same iteration, and leave its field in field[iteration % 2]. */
#ifndef JACOBI_SOLVERS_CUH
#define JACOBI_SOLVERS_CUH

#include "kernels.cuh"
#include "options.h"
#include <time.h>
#include <unistd.h>

/* A part of the domain and what is needed to compute it: a PE's part, in the symmetric heap, or the
 * whole domain in one PE's private memory. */
struct domain {
    slab s;
    int first_row; /* the number of row 1 in the whole domain */
    int above, below, rows_above;
    int threads; /* of a block */
    int slots;   /* how many blocks run at once, the same number on all PEs */
    float *field[2];
    control *c;
};

struct outcome {
    int iterations;
    double residual, seconds;
};

/* Ends the job, with all its PEs, after one line. */
[[noreturn]] static void fail(const char *what, const char *why)
{
    fprintf(stderr, "jacobi: PE %d: %s: %s\n", gshmem_my_pe(), what, why);
    gshmem_global_exit(1);
    abort();
}

/* The same for failures that all PEs detect at once: PE 0 reports it. */
[[noreturn]] static void fail_together(const char *what, const char *why)
{
    if (gshmem_my_pe() != 0)
        gshmem_barrier_all(); /* never returns: PE 0 ends the job */
    fail(what, why);
}

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        fail(what, cudaGetErrorString(error));
}

/* ---- progress -------------------------------------------------------------------------------- */

struct progress {
    const char *label;
    int iterations;
    bool is_shown;
    double last; /* when a line was printed */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Prints a line, at most twice a second; a terminal's line is overwritten each time. */
static void show_progress(progress *p, int k, double residual)
{
    if (!p->is_shown || now() - p->last < 0.5)
        return;
    p->last = now();
    fprintf(stderr, "%s%10s: iteration %d of %d, residual %.6e%s", isatty(2) ? "\r" : "", p->label,
            k, p->iterations, residual, isatty(2) ? "" : "\n");
}

static void end_progress(const progress *p)
{
    if (p->is_shown && isatty(2))
        fprintf(stderr, "\r%78s\r", "");
}

/* ---- streams and events of one run ----------------------------------------------------------- */

struct queue {
    cudaStream_t main, inner;
    cudaEvent_t start, stop, main_done, inner_done;
    cudaEvent_t norm_ready[4]; /* by iteration */
};

static void create_queue(queue *q)
{
    check(cudaStreamCreateWithFlags(&q->main, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaStreamCreateWithFlags(&q->inner, cudaStreamNonBlocking), "cudaStreamCreate");
    cudaEvent_t *events[] = {&q->start,         &q->stop,          &q->main_done,
                             &q->inner_done,    &q->norm_ready[0], &q->norm_ready[1],
                             &q->norm_ready[2], &q->norm_ready[3]};
    for (cudaEvent_t *event : events)
        check(cudaEventCreate(event), "cudaEventCreate");
    check(cudaEventRecord(q->main_done, q->main), "cudaEventRecord");
}

static void destroy_queue(queue *q)
{
    for (cudaEvent_t event : {q->start, q->stop, q->main_done, q->inner_done, q->norm_ready[0],
                              q->norm_ready[1], q->norm_ready[2], q->norm_ready[3]})
        cudaEventDestroy(event);
    cudaStreamDestroy(q->inner);
    cudaStreamDestroy(q->main);
}

static double seconds_between(cudaEvent_t start, cudaEvent_t stop)
{
    float ms = 0;
    check(cudaEventSynchronize(stop), "cudaEventSynchronize");
    check(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
    return 1e-3 * ms;
}

/* ---- one iteration per launch ---------------------------------------------------------------- */

/* Cuts `rows` rows into bands, giving about `blocks` blocks. */
static int cut_bands(const slab &s, int rows, int blocks)
{
    const int fitting = blocks / s.strips, useful = rows / 8; /* a block should have some rows */
    const int bands = fitting < useful ? fitting : useful;
    return bands > 0 ? bands : 1;
}

/* Arguments common to all launches of iteration k. */
static step_args step_of(const domain &d, const options &o, int k)
{
    step_args a = {};
    a.s = d.s;
    a.in = d.field[(k - 1) % 2];
    a.out = d.field[k % 2];
    a.above = d.above;
    a.below = d.below;
    a.rows_above = d.rows_above;
    a.is_upwards = k % 2 == 0;
    a.is_norm_due = is_norm_due(k, o.norm_every, o.iterations);
    a.turn = k % 4;
    a.c = d.c;
    return a;
}

/* All of iteration k in one launch. */
template <halo_by BY>
static void launch_step(const domain &d, const options &o, int k, cudaStream_t stream)
{
    step_args a = step_of(d, o, k);
    a.s.bands = cut_bands(d.s, d.s.rows, d.slots);
    a.first = 1;
    a.count = d.s.rows;
    a.n_partials = a.s.strips * a.s.bands;
    gshmem_launch(jacobi_step<BY>, dim3(a.n_partials), dim3(d.threads), 0, stream, a);
}

/* Host variant. Its main stream computes the first and the last row and sends them while the inner
 * stream computes the rows between. */
static void queue_by_host(const domain &d, const options &o, int k, const queue &q)
{
    const slab &s = d.s;
    const int n_inner = s.rows > 2 ? s.rows - 2 : 0, n_edges = s.rows > 1 ? 2 : 1;
    step_args edge = step_of(d, o, k), inner = edge;
    edge.s.bands = 1;
    edge.count = 1;
    /* Two edge launches need room beside the inner one. */
    inner.s.bands = cut_bands(s, n_inner, d.slots - 2 * s.strips);
    inner.first = 2;
    inner.count = n_inner;
    inner.first_partial = n_edges * s.strips;
    edge.n_partials = inner.n_partials = (n_edges + (n_inner > 0 ? inner.s.bands : 0)) * s.strips;

    for (int e = 0; e < n_edges; e++) {
        edge.first = e == 0 ? 1 : s.rows;
        edge.first_partial = e * s.strips;
        gshmem_launch(jacobi_step<HALO_BY_HOST>, dim3(s.strips), dim3(d.threads), 0, q.main, edge);
    }
    check(cudaStreamWaitEvent(q.inner, q.main_done, 0), "cudaStreamWaitEvent");
    if (n_inner > 0)
        gshmem_launch(jacobi_step<HALO_BY_HOST>, dim3(s.strips * inner.s.bands), dim3(d.threads), 0,
                      q.inner, inner);
    check(cudaEventRecord(q.inner_done, q.inner), "cudaEventRecord");

    float *out = edge.out;
    gshmemx_float_put_on_stream(out + (d.rows_above + 1) * s.pitch, out + s.pitch, s.nx, d.above,
                                q.main);
    gshmemx_float_put_on_stream(out, out + s.rows * s.pitch, s.nx, d.below, q.main);
    check(cudaStreamWaitEvent(q.main, q.inner_done, 0), "cudaStreamWaitEvent");
    gshmemx_barrier_all_on_stream(q.main); /* the halo has arrived, and the PEs' sums */
    check(cudaEventRecord(q.main_done, q.main), "cudaEventRecord");
}

/* The squared norm of iteration k, once it is ready. */
static double read_norm(const domain &d, halo_by by, int k)
{
    double sums[max_pes], sum = 0;
    const int n = by == HALO_ALONE ? 1 : gshmem_n_pes();
    if (by == HALO_ALONE)
        check(cudaMemcpy(sums, d.c->sums[k % 4], sizeof *sums, cudaMemcpyDeviceToHost),
              "cudaMemcpy");
    else
        gshmem_double_get(sums, d.c->sums[k % 4], n, gshmem_my_pe());
    for (int pe = 0; pe < n; pe++) /* in the same order on all PEs */
        sum += sums[pe];
    return sum;
}

/* Runs launches of jacobi_step. Iteration k is queued before the norm of k - 1 is read, so the
 * device never waits for the host. If k - 1 turns out to be the last, its field still exists: k
 * goes to the other one. */
static outcome run_steps(const domain &d, const options &o, halo_by by, progress *p)
{
    queue q;
    create_queue(&q);
    outcome result = {0, 0, 0};
    check(cudaEventRecord(q.start, q.main), "cudaEventRecord");
    for (int k = 1; k <= o.iterations + 1 && result.iterations == 0; k++) {
        if (k <= o.iterations) {
            if (by == HALO_BY_HOST) {
                queue_by_host(d, o, k, q);
            } else if (by == HALO_BY_KERNEL) {
                launch_step<HALO_BY_KERNEL>(d, o, k, q.main);
                gshmemx_barrier_all_on_stream(q.main);
            } else {
                launch_step<HALO_ALONE>(d, o, k, q.main);
            }
            check(cudaEventRecord(q.norm_ready[k % 4], q.main), "cudaEventRecord");
            if (k == o.iterations)
                check(cudaEventRecord(q.stop, q.main), "cudaEventRecord");
        }
        if (k == 1 || !is_norm_due(k - 1, o.norm_every, o.iterations))
            continue;
        check(cudaEventSynchronize(q.norm_ready[(k - 1) % 4]), "jacobi_step");
        result.residual = sqrt(read_norm(d, by, k - 1));
        show_progress(p, k - 1, result.residual);
        if (result.residual <= o.tolerance || k - 1 == o.iterations)
            result.iterations = k - 1;
    }
    if (result.iterations < o.iterations)
        check(cudaEventRecord(q.stop, q.main), "cudaEventRecord");
    result.seconds = seconds_between(q.start, q.stop);
    end_progress(p);
    destroy_queue(&q);
    return result;
}

/* ---- all iterations in one launch ------------------------------------------------------------ */

static persistent_args persistent_args_of(const domain &d, const options &o)
{
    persistent_args a = {};
    a.s = d.s;
    /* One block judges; the bands are the same on all PEs, since blocks signal each other by
     * number: no PE may have fewer rows than bands, and row counts differ by at most one. */
    const int fewest = (o.ny - 2) / gshmem_n_pes();
    a.s.bands = cut_bands(d.s, fewest, d.slots - 1);
    a.field[0] = d.field[0];
    a.field[1] = d.field[1];
    a.above = d.above;
    a.below = d.below;
    a.rows_above = d.rows_above;
    a.iterations = o.iterations;
    a.norm_every = o.norm_every;
    a.tolerance = o.tolerance;
    a.c = d.c;
    return a;
}

static outcome run_persistent(const domain &d, const options &o, progress *p)
{
    queue q;
    create_queue(&q);
    persistent_args a = persistent_args_of(d, o);
    void *args[] = {&a};
    check(cudaEventRecord(q.start, q.main), "cudaEventRecord");
    const int error = gshmemx_collective_launch(jacobi_persistent, dim3(a.s.strips * a.s.bands + 1),
                                                dim3(d.threads), args, 0, q.main);
    if (error)
        fail("gshmemx_collective_launch", gshmemx_error_string(error));
    check(cudaEventRecord(q.stop, q.main), "cudaEventRecord");

    /* The host only watches. */
    while (cudaEventQuery(q.stop) == cudaErrorNotReady) {
        usleep(1000);
        if (p->is_shown && now() - p->last >= 0.5) {
            const uint64_t seen = gshmem_signal_fetch(&d.c->progress);
            const uint32_t bits = (uint32_t)seen;
            float residual;
            memcpy(&residual, &bits, sizeof residual);
            if (seen != 0)
                show_progress(p, (int)(seen >> 32), residual);
        }
    }
    outcome result;
    result.seconds = seconds_between(q.start, q.stop);
    result.iterations = gshmem_int_g(&d.c->final_iteration, gshmem_my_pe());
    result.residual = sqrt(gshmem_double_g(&d.c->final_sum, gshmem_my_pe()));
    end_progress(p);
    destroy_queue(&q);
    return result;
}

/* ---- one run, from the initial state --------------------------------------------------------- */

static void reset(const domain &d, const options &o)
{
    const size_t bytes = (d.s.rows + 2) * d.s.pitch * sizeof(float);
    check(cudaMemset(d.field[0], 0, bytes), "cudaMemset");
    check(cudaMemset(d.field[1], 0, bytes), "cudaMemset");
    check(cudaMemset(d.c, 0, sizeof *d.c), "cudaMemset");
    gshmem_launch(fill_boundary, dim3(16), dim3(128), 0, (cudaStream_t)0, d.s, d.field[0],
                  d.field[1], d.first_row, o.ny);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

/* Runs one variant twice, a few iterations first so that everything is loaded and warm. by:
 * HALO_ALONE for the single PE, otherwise `variant` decides. Collective unless alone. */
static outcome run(const domain &d, const options &o, int variant, bool is_alone)
{
    options warm_up = o;
    warm_up.iterations = o.iterations < 4 ? o.iterations : 4;
    progress silent = {"", 0, false, 0};
    progress shown = {is_alone ? "one PE" : variant_name[variant], o.iterations,
                      !o.is_quiet && gshmem_my_pe() == 0, now()};
    outcome result = {0, 0, 0};
    for (int turn = 0; turn < 2; turn++) {
        const options &now_run = turn == 0 ? warm_up : o;
        progress *p = turn == 0 ? &silent : &shown;
        reset(d, o);
        if (!is_alone)
            gshmem_barrier_all(); /* no puts into a domain that is still being reset */
        if (is_alone)
            result = run_steps(d, now_run, HALO_ALONE, p);
        else if (variant == VARIANT_PERSISTENT)
            result = run_persistent(d, now_run, p);
        else
            result =
                run_steps(d, now_run, variant == VARIANT_HOST ? HALO_BY_HOST : HALO_BY_KERNEL, p);
        if (!is_alone)
            gshmem_barrier_all();
    }
    return result;
}

#endif
