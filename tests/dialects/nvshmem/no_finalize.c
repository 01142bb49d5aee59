/* SPDX-License-Identifier: Apache-2.0
 * Proves that a program which returns 0 without nvshmem_finalize ends well, as with NVSHMEM, and
 * that its PEs wait there for each other: PE 1 still uses the memory of those that have returned.
 *
 *     no_finalize [exit]     calls exit, after a second init and with nvshmem_finalize as a handler
 */
#include <nvshmem.h>
#include <stdbool.h>
#include <stdlib.h>
#include "tests/test.h"

/* The others have returned, or soon will. */
static void work_on(int *words, int n)
{
    for (int round = 1; round <= 1000; round++) {
        for (int pe = 0; pe < n; pe++) {
            nvshmem_int_p(words, round, pe);
            CHECK_EQ(nvshmem_int_g(words, pe), round);
        }
    }
}

int main(int argc, char **argv)
{
    bool exits = argc > 1 && strcmp(argv[1], "exit") == 0;
    if (exits) {
        atexit(nvshmem_finalize);
    }
    nvshmem_init();
    int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    int *words = nvshmem_calloc(1, sizeof(int));
    CHECK(words != NULL);
    if (me == 1) {
        work_on(words, n);
    }
    if (exits) {
        nvshmem_init();
        exit(test_result());
    }
    return test_result();
}
