/* SPDX-License-Identifier: Apache-2.0
 * Proves that after init one PE alone may make any call that is not collective, both first of all
 * and while the others are on their way to finalize. */
#include <gshmemx.h>
#include "tests/test.h"

static void put_nothing(void)
{
    gshmem_putmem(NULL, NULL, 0, gshmem_n_pes() - 1);
    gshmem_getmem_nbi(NULL, NULL, 0, 0);
    gshmem_int_put(NULL, NULL, 0, 0);
    gshmem_double_iget(NULL, NULL, 1, 1, 0, gshmem_n_pes() - 1);
}

static void pointers(void)
{
    int x = 0;
    CHECK(gshmem_ptr(&x, 0) == NULL);
    CHECK(gshmem_ptr(NULL, gshmem_n_pes() - 1) == NULL);
    CHECK(gshmem_team_ptr(GSHMEM_TEAM_WORLD, &x, 0) == NULL);
}

static void order(void)
{
    gshmem_fence();
    gshmem_quiet();
    gshmemx_quiet_on_stream(NULL);
}

static void waits(void)
{
    CHECK_EQ(gshmem_int_test_any(NULL, 0, NULL, GSHMEM_CMP_EQ, 0), SIZE_MAX);
    CHECK_EQ(gshmem_long_test_all(NULL, 0, NULL, GSHMEM_CMP_EQ, 0), 1);
    gshmem_long_wait_until_all(NULL, 0, NULL, GSHMEM_CMP_EQ, 0);
}

static void queries(void)
{
    gshmemx_heap_info_t info;
    CHECK_EQ(gshmemx_heap_info(&info), 0);
    CHECK_EQ(info.used, 0);
    CHECK_EQ(gshmemx_route_name(0) == NULL, gshmemx_device_name() == NULL);
    CHECK(gshmemx_route_name(gshmem_n_pes()) == NULL);
    CHECK_EQ(gshmem_team_my_pe(GSHMEM_TEAM_WORLD), gshmem_my_pe());
    gshmem_free(NULL);
}

static int pe_main(int argc, char **argv)
{
    static void (*const calls[])(void) = {put_nothing, pointers, order, waits, queries};
    (void)argc;
    (void)argv;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        gshmem_init();
        if (gshmem_my_pe() == 0) {
            calls[i]();
        }
        gshmem_finalize();
    }
    return test_result();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
