/* SPDX-License-Identifier: Apache-2.0
 * The smallest program: every PE says who it is and leaves its number with the next PE. Host calls
 * only, so plain C is enough.
 *
 *     gshmemrun -n 4 ./hello         4 processes (mpirun -n 4 ./hello does the same)
 *     gshmemrun -n 4 --threads ./hello    4 threads of one process */
#include <gshmemx.h>
#include <stdio.h>

static int pe_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    gshmem_init();
    const int me = gshmem_my_pe(), n = gshmem_n_pes();

    /* Symmetric: every PE has a box of its own, and all use the same name for it. */
    int *box = gshmem_calloc(1, sizeof(*box));
    if (box == NULL) {
        fprintf(stderr, "hello: PE %d: %s\n", me,
                gshmemx_error_string(GSHMEMX_ERROR_OUT_OF_MEMORY));
        gshmem_global_exit(1);
    }

    printf("PE %d of %d, number %d of %d on this host, device %s\n", me, n,
           gshmem_team_my_pe(GSHMEMX_TEAM_NODE), gshmem_team_n_pes(GSHMEMX_TEAM_NODE),
           gshmemx_device_name());

    /* My number plus one goes into the next PE's box. The other side need not do anything ... */
    gshmem_int_p(box, me + 1, (me + 1) % n);
    /* ... but has to know when to look: after the barrier every put before it has arrived. */
    gshmem_barrier_all();

    /* The box may lie in GPU memory, so the host reads it with a get, from its own PE. */
    const int expected = (me + n - 1) % n + 1;
    const int found = gshmem_int_g(box, me);
    if (found != expected) {
        fprintf(stderr, "hello: PE %d: found %d, expected %d\n", me, found, expected);
    }

    gshmem_free(box);
    gshmem_finalize();
    return found == expected ? 0 : 1;
}

int main(int argc, char **argv)
{
    /* Calls pe_main once in each process or, under gshmemrun --threads, once in each thread. */
    return gshmemx_run(pe_main, argc, argv);
}
