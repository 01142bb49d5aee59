/* SPDX-License-Identifier: Apache-2.0
 * Proves that a call on a stream to a far PE whose launch fails costs nothing that a later one
 * needs: many more fail than may be under way, then as many succeed; and that a call which waits
 * for earlier ones ends when CUDA reports an error. On a driver of five functions. */
#include "tests/test.h"

#ifdef GSH_HAVE_CUDA

#include "proxy/request.h"
#include "runtime/backend/cuda/device.h"
#include "runtime/instance/instance.h"

enum { n_calls = 400 }; /* several times stream.c's limit */

static uint64_t words[GSH_OWN_STREAM_BYTES / 8];
static CUresult launch_result, query_result;
static bool is_run_at_once;

static CUresult current(CUcontext *context)
{
    *context = NULL;
    return CUDA_SUCCESS;
}

static CUresult capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction kernel, unsigned x, unsigned y, unsigned z, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
                       void **extra)
{
    const struct gsh_kernel_far_args *args = params[0];
    (void)kernel, (void)x, (void)y, (void)z, (void)bx, (void)by, (void)bz;
    (void)shared, (void)stream, (void)extra;
    CHECK_EQ(args->done, (uint64_t)(uintptr_t)&words[GSH_CUDA_FAR_WORD]);
    if (launch_result == CUDA_SUCCESS && is_run_at_once) {
        words[GSH_CUDA_FAR_WORD]++;
    }
    return launch_result;
}

static CUresult query(CUstream stream)
{
    (void)stream;
    return query_result;
}

static CUresult text(CUresult code, const char **out)
{
    (void)code;
    *out = "a failure that the test wants";
    return CUDA_SUCCESS;
}

static enum gsh_result call(struct gsh_instance *pe)
{
    static const struct gsh_request quiet = {.op = GSH_FAR_QUIET};
    return gsh_cuda_stream_far(pe, "call", &quiet, NULL);
}

int main(void)
{
    static const struct gsh_cuda table = {.CtxGetCurrent = current,
                                          .StreamIsCapturing = capturing,
                                          .LaunchKernel = launch,
                                          .StreamQuery = query,
                                          .GetErrorName = text,
                                          .GetErrorString = text};
    static struct gsh_cuda_device device = {.cuda = &table, .out = {.words = words}};
    static struct gsh_instance pe = {.device = &device};
    gsh_cuda_override(&table);
    launch_result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    for (int i = 0; i < n_calls; i++) {
        CHECK(call(&pe) != GSH_OK);
    }
    launch_result = CUDA_SUCCESS;
    is_run_at_once = true;
    for (int i = 0; i < n_calls; i++) {
        CHECK(call(&pe) == GSH_OK);
    }
    is_run_at_once = false;
    query_result = CUDA_ERROR_ILLEGAL_ADDRESS; /* no kernel runs any more */
    int n_enqueued = 0;
    while (call(&pe) == GSH_OK) {
        n_enqueued++;
    }
    CHECK(n_enqueued > 0 && n_enqueued < n_calls);
    return test_result();
}

#else

int main(void)
{
    return 0;
}

#endif
