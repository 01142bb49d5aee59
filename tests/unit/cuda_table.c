/* SPDX-License-Identifier: Apache-2.0
 * Proves that the driver's table is complete or absent with a reason, and that a driver's error
 * becomes the right result in its own words. */
#include <pthread.h>
#include "base/cuda.h"
#include "base/log.h"
#include "tests/test.h"

#ifdef GSH_HAVE_CUDA

static void *open_table(void *out)
{
    *(const struct gsh_cuda **)out = gsh_cuda();
    if (!gsh_cuda()) {
        CHECK(gsh_last_error()[0] && gsh_last_error_code() == GSH_ERR_UNSUPPORTED);
    }
    return NULL;
}

static void test_same_for_all_threads(void)
{
    const struct gsh_cuda *tables[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, open_table, &tables[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    for (int i = 1; i < 4; i++) {
        CHECK(tables[i] == tables[0]);
    }
    if (!tables[0]) {
        return;
    }
    int n_devices = 0;
    CHECK(tables[0]->DeviceGetCount(&n_devices) == CUDA_SUCCESS && n_devices > 0);
#define GSH_CUDA_OPTIONAL(name)
#define GSH_CUDA_FUNCTION(name) CHECK(tables[0]->name != NULL);
#include "base/cuda.def"
#undef GSH_CUDA_FUNCTION
}

static CUresult error_name(CUresult code, const char **name)
{
    *name = code == CUDA_ERROR_OUT_OF_MEMORY ? "NAME" : NULL;
    return CUDA_SUCCESS;
}

static CUresult error_text(CUresult code, const char **text)
{
    *text = code == CUDA_ERROR_OUT_OF_MEMORY ? "text" : NULL;
    return CUDA_SUCCESS;
}

static void test_words(void)
{
    const struct gsh_cuda table = {.GetErrorName = error_name, .GetErrorString = error_text};
    gsh_cuda_override(&table);
    CHECK(gsh_cuda() == &table);
    CHECK(gsh_cuda_result(CUDA_SUCCESS, "cuThis") == GSH_OK);
    CHECK(gsh_cuda_result(CUDA_ERROR_OUT_OF_MEMORY, "cuThis") == GSH_ERR_NOMEM);
    CHECK_STR(gsh_last_error(), "cuThis: NAME (text)");
    CHECK(gsh_cuda_note(CUDA_ERROR_NOT_SUPPORTED, "cuThat") == GSH_ERR_UNSUPPORTED);
    CHECK_STR(gsh_last_error(), "cuThat: CUDA error 801");
    CHECK(gsh_cuda_note(CUDA_ERROR_INVALID_VALUE, "cuThat") == GSH_ERR_CUDA);
    gsh_cuda_override(NULL);
    CHECK(gsh_cuda() != &table);
}

int main(void)
{
    gsh_log_setup(GSH_LOG_NONE, GSH_LOG_ALL, NULL);
    test_same_for_all_threads();
    test_words();
    return test_result();
}

#else

int main(void)
{
    CHECK(gsh_cuda() == NULL);
    CHECK(strstr(gsh_last_error(), "without CUDA") != NULL);
    return test_result();
}

#endif
