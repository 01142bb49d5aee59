/* SPDX-License-Identifier: Apache-2.0
 * Errors, their texts, and the version. */
#include "dialects/nccl/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "gshmemx.h"

enum { HIGHEST_VERSION = 23203 };

static _Thread_local char last_text[512];

static void keep(const char *format, va_list args)
{
    char text[sizeof(last_text)];
    vsnprintf(text, sizeof(text), format, args);
    memcpy(last_text, text, sizeof(last_text));
}

ncclResult_t gsh_nccl_fail(ncclResult_t result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep(format, args);
    va_end(args);
    fprintf(stderr, "gshmem: %s\n", last_text);
    return result;
}

ncclResult_t gsh_nccl_lost(const char *call)
{
    return gsh_nccl_fail(ncclRemoteError,
                         "%s: the process of another rank of the communicator has died or exited",
                         call);
}

ncclResult_t gsh_nccl_base(const char *call, int error)
{
    if (error == 0) {
        return ncclSuccess;
    }
    const char *text = gshmemx_error_string(error);
    const char *named = strncmp(text, call, strlen(call)) == 0 ? "" : call;
    snprintf(last_text, sizeof(last_text), "%s%s%s", named, named[0] != '\0' ? ": " : "", text);
    switch (error) {
    case GSHMEMX_ERROR_INVALID_VALUE:
        return ncclInvalidArgument;
    case GSHMEMX_ERROR_NOT_SUPPORTED:
    case GSHMEMX_ERROR_SYMMETRY:
        return ncclInvalidUsage;
    case GSHMEMX_ERROR_OUT_OF_MEMORY:
        return ncclSystemError;
    default:
        return ncclInternalError;
    }
}

ncclResult_t ncclGetVersion(int *version)
{
    if (version == NULL) {
        return gsh_nccl_fail(ncclInvalidArgument, "ncclGetVersion: version is NULL");
    }
    *version = HIGHEST_VERSION;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[ncclNumResults] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "a call of CUDA failed",
        [ncclSystemError] = "the system refused, or memory ran out",
        [ncclInternalError] = "internal error",
        [ncclInvalidArgument] = "invalid argument",
        [ncclInvalidUsage] = "invalid usage, or not supported",
        [ncclRemoteError] = "another rank failed",
        [ncclInProgress] = "in progress",
        [ncclTimeout] = "the time limit passed",
    };
    return (unsigned)result < ncclNumResults ? texts[result] : "unknown result";
}

const char *gsh_nccl_last_text(void)
{
    return last_text;
}

void gsh_nccl_set_last_text(const char *text)
{
    snprintf(last_text, sizeof(last_text), "%s", text);
}
