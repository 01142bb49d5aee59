/* A program with kernels by nvcc that runs without a GPU is told what was looked for and what to
 * do; host calls alone run if the user asks for it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <gshmemx.h>
#include "base/cuda.h"
#include "tests/test.h"
#include "wire/state.h"

static int fill(const void *state, size_t bytes)
{
    (void)state;
    (void)bytes;
    return 0;
}

/* As nvcc's would register. */
static struct gsh_module module = {GSH_STATE_VERSION, sizeof(struct gsh_state), fill, NULL};

int main(void)
{
    if (gsh_cuda() != NULL) {
        test_skip("a machine without a GPU");
    }
    unsetenv("GSHMEM_DEVICE");
    gshmemx_module_register(&module);
    gshmem_init();
    int error = gshmemx_device_setup();
    CHECK(error == GSHMEMX_ERROR_NOT_SUPPORTED);
    const char *text = gshmemx_error_string(error);
    CHECK(strstr(text, "nvcc") && strstr(text, "CUDA") && strstr(text, "g++ -x c++") &&
          strstr(text, "GSHMEM_DEVICE=cpu"));
    gshmem_finalize();

    setenv("GSHMEM_DEVICE", "cpu", 1);
    gshmem_init();
    CHECK_EQ(gshmemx_device_setup(), 0);
    gshmem_finalize();
    return test_result();
}
