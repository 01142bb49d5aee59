/* SPDX-License-Identifier: Apache-2.0
 * A token goes round the PEs from kernel to kernel: each kernel waits for it, adds its PE number
 * and passes it on. The host only starts the kernels and checks the result. */
#include <gshmem_device.cuh>
#include <stdint.h>
#include <stdio.h>

enum { rounds = 10 };

/* A signal carries a number, too: token[r] is set once, by the previous PE, in round r; 0 means
 * that it has not arrived. */
__global__ void pass_token(uint64_t *token)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    for (int r = 0; r < rounds; r++) {
        if (me == 0) /* PE 0 starts each round and waits for its end; the others pass it on */
            gshmemx_signal_op(&token[r], 1, GSHMEM_SIGNAL_SET, 1 % n);
        const uint64_t value = gshmem_signal_wait_until(&token[r], GSHMEM_CMP_NE, 0);
        if (me != 0)
            gshmemx_signal_op(&token[r], value + me, GSHMEM_SIGNAL_SET, (me + 1) % n);
    }
}

static int pe_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    gshmem_init();
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    uint64_t *token = (uint64_t *)gshmem_calloc(rounds, sizeof *token);
    if (token == NULL)
        gshmem_global_exit(1);

    /* The kernels of all PEs wait for each other, so all of them must run at once, which a
     * collective launch guarantees. */
    void *args[] = {&token};
    const int failed =
        gshmemx_collective_launch(pass_token, dim3(1), dim3(1), args, 0, (cudaStream_t)0);
    if (failed || cudaStreamSynchronize((cudaStream_t)0) != cudaSuccess) {
        fprintf(stderr, "ring: PE %d: %s\n", me, gshmemx_error_string(failed));
        gshmem_global_exit(1);
    }

    /* On PE p the token is 1 + (1 + 2 + ... + (p - 1)); on PE 0 it has been round all of them. */
    const int last = me == 0 ? n - 1 : me - 1;
    const uint64_t expected = 1 + (uint64_t)last * (last + 1) / 2;
    int wrong = 0;
    for (int r = 0; r < rounds; r++)
        wrong += gshmem_signal_fetch(&token[r]) != expected;
    if (wrong)
        fprintf(stderr, "ring: PE %d: %d of %d tokens are wrong\n", me, wrong, rounds);
    else if (me == 0)
        printf("ring: %d rounds of %d PEs, token %d each: right\n", rounds, n, (int)expected);

    gshmem_free(token);
    gshmem_finalize();
    return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
