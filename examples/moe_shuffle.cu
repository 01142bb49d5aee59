/* SPDX-License-Identifier: Apache-2.0
 * A layer of a mixture of experts in one kernel: each PE has tokens and one expert; each token goes
 * to the expert that its router has chosen, and the expert's result comes back. How many go from
 * where to where varies and is not known in advance: the PEs exchange counts by an alltoall, then
 * put exactly those tokens. */
#include <gshmem_device.cuh>
#include <gshmemx.h>
#include <stdio.h>
#include <stdlib.h>

enum { tokens = 200, width = 32, threads = 128, max_pes = 64 };

/* Some experts are chosen more often than others. */
__host__ __device__ inline int expert_of(int pe, int token, int n_experts)
{
    const unsigned x = (unsigned)(pe * tokens + token + 1) * 2654435761u >> 16;
    return (int)(x % (x % 3 == 0 ? 1 + n_experts / 2 : n_experts));
}

__host__ __device__ inline float token_value(int pe, int token, int i)
{
    return (float)(pe * 1000 + token) + (float)i / width;
}

__host__ __device__ inline float expertise(int expert, float x)
{
    return 2 * x + (float)expert;
}

/* All of it is symmetric; [i] concerns PE i. */
struct shuffle {
    int n_out[max_pes], n_in[max_pes];     /* tokens from here to there, and from there to here */
    int put_at[max_pes], take_at[max_pes]; /* where they begin: in the other's inbox, in mine */
    int sorted_at[max_pes], back_at[max_pes]; /* in my sorted tokens, in the other's */
    int place[tokens];                        /* of each token in the sorted order */
    float sorted[tokens][width];              /* what goes out, later what has come back */
};

/* place[] and n_out[]: the tokens in the order of their experts. One thread, for clarity. */
__device__ void sort_tokens(shuffle *s, int me, int n)
{
    for (int e = 0, place = 0; e < n; e++) {
        s->sorted_at[e] = place;
        for (int t = 0; t < tokens; t++)
            if (expert_of(me, t, n) == e)
                s->place[t] = place++;
        s->n_out[e] = place - s->sorted_at[e];
    }
}

/* By one block. inbox has room for all tokens in the job. */
__global__ void moe_layer(shuffle *s, float *inbox)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes(), thread = threadIdx.x;
    const gshmem_team_t all = GSHMEM_TEAM_WORLD;

    if (thread == 0)
        sort_tokens(s, me, n);
    __syncthreads();
    for (int k = thread; k < tokens * width; k += threads)
        s->sorted[s->place[k / width]][k % width] = token_value(me, k / width, k % width);
    __syncthreads();

    /* How many come from each PE; hence where in my inbox each PE puts them, and where I put mine.
     * Then, for the way back, where each PE has its tokens for my expert. */
    gshmemx_int_alltoall_block(all, s->n_in, s->n_out, 1);
    if (thread == 0)
        for (int pe = 0, place = 0; pe < n; place += s->n_in[pe++])
            s->take_at[pe] = place;
    __syncthreads();
    gshmemx_int_alltoall_block(all, s->put_at, s->take_at, 1);
    gshmemx_int_alltoall_block(all, s->back_at, s->sorted_at, 1);

    for (int k = 0; k < n; k++) {
        const int e = (me + k) % n; /* PEs do not all target the same one at once */
        gshmemx_float_put_nbi_block(inbox + (size_t)s->put_at[e] * width,
                                    s->sorted[s->sorted_at[e]], (size_t)s->n_out[e] * width, e);
    }
    gshmemx_barrier_all_block(); /* all tokens are in place */

    const int n_mine = s->take_at[n - 1] + s->n_in[n - 1];
    for (int k = thread; k < n_mine * width; k += threads)
        inbox[k] = expertise(me, inbox[k]);
    __syncthreads();

    for (int k = 0; k < n; k++) {
        const int pe = (me + k) % n;
        gshmemx_float_put_nbi_block(s->sorted[s->back_at[pe]],
                                    inbox + (size_t)s->take_at[pe] * width,
                                    (size_t)s->n_in[pe] * width, pe);
    }
    gshmemx_barrier_all_block();
}

static int count_wrong(const shuffle *s, int me, int n)
{
    shuffle *found = (shuffle *)malloc(sizeof *found);
    int wrong = 0;
    gshmem_getmem(found, s, sizeof *found, me);
    for (int t = 0; t < tokens; t++)
        for (int i = 0; i < width; i++)
            wrong += found->sorted[found->place[t]][i] !=
                     expertise(expert_of(me, t, n), token_value(me, t, i));
    free(found);
    return wrong;
}

static int pe_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    gshmem_init();
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    shuffle *s = (shuffle *)gshmem_calloc(1, sizeof *s);
    float *inbox = (float *)gshmem_malloc((size_t)n * tokens * width * sizeof *inbox);
    if (n > max_pes || s == NULL || inbox == NULL)
        gshmem_global_exit(1);

    void *args[] = {&s, &inbox};
    const int failed =
        gshmemx_collective_launch(moe_layer, dim3(1), dim3(threads), args, 0, (cudaStream_t)0);
    if (failed || cudaStreamSynchronize((cudaStream_t)0) != cudaSuccess) {
        fprintf(stderr, "moe_shuffle: PE %d: %s\n", me, gshmemx_error_string(failed));
        gshmem_global_exit(1);
    }

    const int wrong = count_wrong(s, me, n);
    if (wrong)
        fprintf(stderr, "moe_shuffle: PE %d: %d numbers are wrong\n", me, wrong);
    else if (me == 0)
        printf("moe_shuffle: %d tokens of each of %d PEs, to the experts and back: right\n", tokens,
               n);

    gshmem_free(inbox);
    gshmem_free(s);
    gshmem_finalize();
    return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
