/* SPDX-License-Identifier: Apache-2.0
 * Modules get the PE's state whenever they register: before init, or later at the next call; one of
 * another version is refused by a line naming both; unloaded ones are left alone. */
#include <gshmemx.h>
#include "tests/test.h"
#include "wire/state.h"

static int n_fills[3];
static struct gsh_state seen;

static int fill(int which, const void *state, size_t bytes)
{
    CHECK_EQ(bytes, sizeof(seen));
    memcpy(&seen, state, sizeof(seen));
    n_fills[which]++;
    return 0;
}

static int fill_early(const void *state, size_t bytes)
{
    return fill(0, state, bytes);
}

static int fill_late(const void *state, size_t bytes)
{
    return fill(1, state, bytes);
}

static int fill_old(const void *state, size_t bytes)
{
    return fill(2, state, bytes);
}

static struct gsh_module early = {GSH_STATE_VERSION, sizeof(struct gsh_state), fill_early, NULL};
static struct gsh_module late = {GSH_STATE_VERSION, sizeof(struct gsh_state), fill_late, NULL};
static struct gsh_module old = {GSH_STATE_VERSION + 1, sizeof(struct gsh_state), fill_old, NULL};

int main(void)
{
    setenv("GSHMEM_DEVICE", "cpu", 1);
    gshmemx_module_register(&early);
    gshmemx_module_register(&old);
    int error = gshmemx_init_attr(0, NULL);
    CHECK(error != 0);
    char theirs[32], ours[32];
    snprintf(theirs, sizeof(theirs), "layout %u", GSH_STATE_VERSION + 1);
    snprintf(ours, sizeof(ours), "layout %u", GSH_STATE_VERSION);
    CHECK(strstr(gshmemx_error_string(error), theirs) != NULL);
    CHECK(strstr(gshmemx_error_string(error), ours) != NULL);
    CHECK_EQ(n_fills[2], 0);
    gshmemx_module_unregister(&old);

    gshmem_init();
    CHECK_EQ(gshmemx_device_setup(), 0);
    CHECK(n_fills[0] >= 1);
    CHECK_EQ(seen.my_pe, 0);
    CHECK_EQ(seen.n_pes, 1);
    int before = n_fills[0];
    gshmem_barrier_all();
    CHECK_EQ(n_fills[0], before);

    gshmemx_module_register(&late);
    CHECK_EQ(n_fills[1], 0);
    gshmem_barrier_all();
    CHECK_EQ(n_fills[1], 1);
    gshmemx_module_unregister(&late);
    gshmem_barrier_all();
    CHECK_EQ(n_fills[1], 1);

    /* CUDA modules mean nothing to the CPU device */
    CHECK(gshmemx_cumodule_init(&late) == GSHMEMX_ERROR_NOT_SUPPORTED);
    CHECK(gshmemx_culibrary_init(NULL) == GSHMEMX_ERROR_INVALID_VALUE);
    gshmem_finalize();
    return test_result();
}
