/* SPDX-License-Identifier: Apache-2.0
 * Laplace's equation on a grid, by Jacobi iteration on several PEs. The rows are divided among the
 * PEs; in every iteration each PE needs its neighbours' edge rows, and all need the residual, the
 * Euclidean norm of the change. The left and right columns are fixed to one period of a sine; top
 * and bottom are joined.
 *
 * Three ways to send the rows, one after the other:
 *   host         the host queues puts and a barrier on a stream, beside the kernel for inner rows
 *   kernel       the kernel puts its edge rows itself; a barrier on the stream follows
 *   persistent   one launch for all iterations: blocks put rows and signal the blocks that need
 *                them, and wait for their neighbours only
 * Read kernels.cuh first, then solvers.cuh. This file has the division of the domain, the
 * comparison with the same computation on a single PE, and the report. */
#include "kernels.cuh"
#include "options.h"
#include "solvers.cuh"
#include <float.h>

/* How far a result may be from that of one PE. The same additions in the same order give the same
 * field; only the sums of the norm are grouped differently, in double. */
static const double field_bound = 4 * FLT_EPSILON, norm_bound = 1e-11;

enum { line_bytes = 256 };

/* Symmetric: for what the PEs tell each other between the runs. */
struct board {
    double values[max_pes];
    char lines[max_pes][line_bytes];
};

struct job {
    options o;
    int me, n;
    board *shared;
    domain part;  /* this PE's */
    domain whole; /* PE 0: everything, for the run on one PE; unused elsewhere */
    outcome alone;
};

/* ---- the division of the domain -------------------------------------------------------------- */

static int rows_of(const job &j, int pe)
{
    return (j.o.ny - 2) / j.n + (pe < (j.o.ny - 2) % j.n);
}

static int first_row_of(const job &j, int pe)
{
    const int fewest = (j.o.ny - 2) / j.n, longer = (j.o.ny - 2) % j.n;
    return 1 + pe * fewest + (pe < longer ? pe : longer);
}

/* Returns all PEs' values, in `values`, on all PEs. Collective. */
static void exchange(const job &j, double value, double *values)
{
    for (int pe = 0; pe < j.n; pe++)
        gshmem_double_p(&j.shared->values[j.me], value, pe);
    gshmem_barrier_all();
    gshmem_double_get(values, j.shared->values, j.n, j.me);
    gshmem_barrier_all(); /* the board may be written again */
}

static double greatest(const job &j, double value)
{
    double values[max_pes];
    exchange(j, value, values);
    for (int pe = 0; pe < j.n; pe++)
        value = values[pe] > value ? values[pe] : value;
    return value;
}

static slab slab_of(const job &j, int rows)
{
    slab s = {};
    s.nx = j.o.nx;
    s.rows = rows;
    s.pitch = (j.o.nx + 4 + 31) / 32 * 32; /* rows start at a cache line */
    return s;
}

/* Chooses the layout of the blocks: `threads` per block, `strips` blocks side by side, and room for
 * `slots` blocks at once. Collective. */
static void lay_out(const job &j, domain *d)
{
    const int quads = (j.o.nx + 3) / 4;
    d->threads = quads < 256 ? (quads + 31) / 32 * 32 : 256;
    d->s.strips = (quads + d->threads - 1) / d->threads;

    persistent_args a = {};
    void *args[] = {&a};
    int slots = 0;
    const int error = gshmemx_collective_launch_query_gridsize(jacobi_persistent, dim3(d->threads),
                                                               args, 0, &slots);
    if (error)
        fail("gshmemx_collective_launch_query_gridsize", gshmemx_error_string(error));
    if (j.o.blocks > 0)
        slots = j.o.blocks;
    /* The host variant has three launches at once, each at least a strip wide. */
    slots = slots < 3 * d->s.strips ? 3 * d->s.strips : slots;
    slots = slots < max_blocks ? slots : max_blocks;
    d->slots = (int)-greatest(j, -slots); /* the same on all PEs */
}

static void create_part(job *j)
{
    domain *d = &j->part;
    d->s = slab_of(*j, rows_of(*j, j->me));
    lay_out(*j, d);
    d->first_row = first_row_of(*j, j->me);
    d->above = (j->me + j->n - 1) % j->n;
    d->below = (j->me + 1) % j->n;
    d->rows_above = rows_of(*j, d->above);
    /* Symmetric memory has the same size everywhere: PE 0 has the most rows. */
    const size_t bytes = (rows_of(*j, 0) + 2) * d->s.pitch * sizeof(float);
    d->field[0] = (float *)gshmem_malloc(bytes);
    d->field[1] = (float *)gshmem_malloc(bytes);
    d->c = (control *)gshmem_malloc(sizeof *d->c);
    if (!d->field[0] || !d->field[1] || !d->c)
        fail_together("gshmem_malloc", gshmemx_error_string(GSHMEMX_ERROR_OUT_OF_MEMORY));
}

static void destroy_part(domain *d)
{
    gshmem_free(d->c);
    gshmem_free(d->field[1]);
    gshmem_free(d->field[0]);
}

/* The whole domain in PE 0's own memory: PE 0 is its own neighbour above and below. */
static void create_whole(job *j)
{
    domain *d = &j->whole;
    *d = j->part;
    d->s.rows = d->rows_above = j->o.ny - 2;
    d->first_row = 1;
    const size_t bytes = j->o.ny * d->s.pitch * sizeof(float);
    check(cudaMalloc((void **)&d->field[0], bytes), "memory for the run on one PE");
    check(cudaMalloc((void **)&d->field[1], bytes), "memory for the run on one PE");
    check(cudaMalloc((void **)&d->c, sizeof *d->c), "memory for the run on one PE");
}

static void destroy_whole(domain *d)
{
    cudaFree(d->c);
    cudaFree(d->field[1]);
    cudaFree(d->field[0]);
}

/* ---- the comparison -------------------------------------------------------------------------- */

/* On PE 0: the greatest difference between all PEs' rows after iteration k and those of one PE. The
 * rows are fetched into the field that the run on one PE no longer needs. */
static double compare_fields(const job &j, int k)
{
    const ptrdiff_t pitch = j.whole.s.pitch;
    const float *expected = j.whole.field[j.alone.iterations % 2];
    float *found = j.whole.field[(j.alone.iterations + 1) % 2];
    const float *part = j.part.field[k % 2];
    for (int pe = 0; pe < j.n; pe++)
        gshmem_float_get(found + first_row_of(j, pe) * pitch, part + pitch, rows_of(j, pe) * pitch,
                         pe);

    unsigned *bits = &j.whole.c->n_done; /* any word that is free by now */
    check(cudaMemset(bits, 0, sizeof *bits), "cudaMemset");
    gshmem_launch(greatest_difference, dim3(2 * j.part.slots), dim3(j.part.threads), 0,
                  (cudaStream_t)0, expected + pitch, (const float *)(found + pitch),
                  (size_t)((j.o.ny - 2) * pitch), bits);
    float difference;
    check(cudaMemcpy(&difference, bits, sizeof difference, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaMemset(bits, 0, sizeof *bits), "cudaMemset");
    return difference;
}

struct verdict {
    bool is_right;
    bool is_compared;
    double field_difference, norm_difference; /* absolute; relative */
};

/* PE 0 compares; the others only agree on the number of iterations. Collective. */
static verdict judge_result(const job &j, const outcome &r)
{
    verdict v = {true, false, 0, 0};
    const int most = (int)greatest(j, r.iterations), fewest = (int)-greatest(j, -r.iterations);
    if (most != fewest) {
        if (j.me == 0)
            fprintf(stderr, "jacobi: the PEs stopped after %d to %d iterations\n", fewest, most);
        v.is_right = false;
    }
    if (j.o.is_check && j.me == 0) {
        v.is_compared = true;
        v.field_difference = compare_fields(j, r.iterations);
        v.norm_difference = fabs(r.residual - j.alone.residual);
        if (j.alone.residual > 0)
            v.norm_difference /= j.alone.residual;
        v.is_right = v.is_right && r.iterations == j.alone.iterations &&
                     v.field_difference <= field_bound && v.norm_difference <= norm_bound;
    }
    gshmem_barrier_all(); /* PE 0 has fetched the rows */
    return v;
}

/* ---- the report ------------------------------------------------------------------------------ */

static double bandwidth(const options &o, const outcome &r, int n)
{
    return 8e-9 * o.nx * (o.ny - 2) * r.iterations / r.seconds / n;
}

/* Each PE writes its line, "device; route PEs, route PEs ...", and PE 0 prints them. Collective. */
static void report_routes(const job &j)
{
    char line[line_bytes];
    int used = snprintf(line, sizeof line, "PE %d: %s; routes:", j.me, gshmemx_device_name());
    for (int pe = 0, last; pe < j.n && used < line_bytes; pe = last + 1) {
        const char *route = gshmemx_route_name(pe);
        for (last = pe; last + 1 < j.n && !strcmp(gshmemx_route_name(last + 1), route); last++)
            ;
        used += last == pe ? snprintf(line + used, line_bytes - used, " %s %d", route, pe)
                           : snprintf(line + used, line_bytes - used, " %s %d-%d", route, pe, last);
    }
    gshmem_putmem(j.shared->lines[j.me], line, sizeof line, 0);
    gshmem_barrier_all();
    for (int pe = 0; pe < j.n && j.me == 0 && !j.o.is_csv; pe++) {
        gshmem_getmem(line, j.shared->lines[pe], sizeof line, 0);
        printf("  %s\n", line);
    }
}

static void report_alone(const job &j)
{
    if (!j.o.is_csv)
        printf("%10s: %d iterations, residual %.6e, %.6f s, %.1f GB/s\n", "one PE",
               j.alone.iterations, j.alone.residual, j.alone.seconds, bandwidth(j.o, j.alone, 1));
}

static void report(const job &j, int variant, const outcome &r, const verdict &v)
{
    const double efficiency =
        v.is_compared ? j.alone.seconds / j.alone.iterations / j.n / (r.seconds / r.iterations) : 0;
    if (j.o.is_csv) {
        printf("%s,%d,%d,%d,%d,%.9e,%.6f,%.1f,%.6f,%.4f,%.3e,%.3e,%s\n", variant_name[variant], j.n,
               j.o.nx, j.o.ny, r.iterations, r.residual, r.seconds, bandwidth(j.o, r, j.n),
               v.is_compared ? j.alone.seconds : 0.0, efficiency, v.field_difference,
               v.norm_difference,
               !v.is_right     ? "wrong"
               : v.is_compared ? "right"
                               : "unchecked");
        return;
    }
    printf("%10s: %d iterations, residual %.6e, %.6f s, %.1f GB/s per PE", variant_name[variant],
           r.iterations, r.residual, r.seconds, bandwidth(j.o, r, j.n));
    if (v.is_compared)
        printf(", efficiency %.3f\n"
               "            against one PE: field differs by %.1e (bound %.1e), residual by %.1e"
               " of itself (bound %.0e): %s",
               efficiency, v.field_difference, field_bound, v.norm_difference, norm_bound,
               v.is_right ? "right" : "WRONG");
    printf("\n");
    fflush(stdout);
}

/* Only the kernel on PE 0, nothing read back, compared with a copy within device memory. */
static void report_kernel_bandwidth(const job &j)
{
    const domain &d = j.whole;
    const size_t bytes = (size_t)(j.o.ny - 2) * d.s.pitch * sizeof(float);
    const int repetitions = j.o.iterations < 100 ? j.o.iterations : 100;
    queue q;
    create_queue(&q);
    reset(d, j.o);
    double seconds[2];
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        for (int k = -1; k <= repetitions; k++) { /* two to warm up */
            if (k == 1)
                check(cudaEventRecord(q.start, q.main), "cudaEventRecord");
            if (is_copy)
                check(cudaMemcpyAsync(d.field[1], d.field[0], bytes, cudaMemcpyDeviceToDevice,
                                      q.main),
                      "cudaMemcpyAsync");
            else
                launch_step<HALO_ALONE>(d, j.o, k + 2, q.main);
        }
        check(cudaEventRecord(q.stop, q.main), "cudaEventRecord");
        seconds[is_copy] = seconds_between(q.start, q.stop) / repetitions;
    }
    destroy_queue(&q);
    const double kernel = 8e-9 * j.o.nx * (j.o.ny - 2) / seconds[0];
    const double copy = 2e-9 * (double)bytes / seconds[1];
    if (j.o.is_csv)
        printf("kernel-bandwidth,1,%d,%d,%d,%.6e,%.1f,%.1f,%.4f\n", j.o.nx, j.o.ny, repetitions,
               seconds[0], kernel, copy, kernel / copy);
    else
        printf("    kernel: %.3f us, %.1f GB/s; a copy moves %.1f GB/s: %.1f %%\n",
               1e6 * seconds[0], kernel, copy, 100 * kernel / copy);
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Returns true if all results are right (on PE 0; the others know only a part). Collective. */
static bool run_variants(job *j)
{
    const options &o = j->o;
    if (j->me == 0 && o.is_csv && !o.is_kernel_bandwidth)
        printf("variant,pes,nx,ny,iterations,residual,seconds,gb_per_s_per_pe,one_pe_seconds,"
               "efficiency,field_difference,residual_difference,result\n");
    if (j->me == 0 && o.is_check) {
        j->alone = run(j->whole, o, VARIANT_ALL, true);
        report_alone(*j);
    }
    gshmem_barrier_all(); /* PE 0 has worked alone until here */

    bool is_right = true;
    for (int v = 0; v < VARIANT_ALL; v++) {
        if (o.variant != VARIANT_ALL && o.variant != v)
            continue;
        outcome r = run(j->part, o, v, false);
        r.seconds = greatest(*j, r.seconds);
        const verdict judged = judge_result(*j, r);
        if (j->me == 0)
            report(*j, v, r, judged);
        is_right = is_right && judged.is_right;
    }
    return is_right;
}

static bool run_job(job *j)
{
    j->shared = (board *)gshmem_malloc(sizeof *j->shared);
    if (j->shared == NULL)
        fail_together("gshmem_malloc", gshmemx_error_string(GSHMEMX_ERROR_OUT_OF_MEMORY));
    create_part(j);
    const bool is_whole_needed = j->me == 0 && (j->o.is_check || j->o.is_kernel_bandwidth);
    if (is_whole_needed)
        create_whole(j);

    if (j->me == 0 && !j->o.is_csv)
        printf("jacobi: %d x %d on %d PE%s, %d to %d rows and at most %d blocks of %d each\n",
               j->o.nx, j->o.ny, j->n, j->n == 1 ? "" : "s", rows_of(*j, j->n - 1), rows_of(*j, 0),
               j->part.slots, j->part.threads);
    report_routes(*j);
    bool is_right = true;
    if (j->o.is_kernel_bandwidth) {
        if (j->me == 0)
            report_kernel_bandwidth(*j);
        gshmem_barrier_all();
    } else {
        is_right = run_variants(j);
    }

    if (is_whole_needed)
        destroy_whole(&j->whole);
    destroy_part(&j->part);
    gshmem_free(j->shared);
    return is_right;
}

/* Checks the options as a whole. Returns true, or false with one line in `reason`. */
static bool fits(const job &j, char *reason, size_t size)
{
    if (j.n > max_pes)
        snprintf(reason, size, "more than %d PEs", max_pes);
    else if (j.o.ny - 2 < j.n)
        snprintf(reason, size, "--ny: %d rows do not give each of %d PEs one", j.o.ny, j.n);
    else
        return true;
    return false;
}

static int pe_main(int argc, char **argv)
{
    gshmem_init();
    job j = {};
    j.me = gshmem_my_pe();
    j.n = gshmem_n_pes();
    char reason[256];
    int status;
    if (!parse_options(argc, argv, &j.o, reason, sizeof reason) ||
        !fits(j, reason, sizeof reason)) {
        if (j.me == 0)
            fprintf(stderr, "jacobi: %s\n", reason);
        status = 2;
    } else if (j.o.is_help) {
        if (j.me == 0)
            fputs(usage, stdout);
        status = 0;
    } else {
        status = run_job(&j) ? 0 : 1;
    }
    gshmem_finalize();
    return status;
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
