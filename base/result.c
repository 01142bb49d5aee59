/* SPDX-License-Identifier: Apache-2.0
 * Names of result codes, and the text of the calling thread's last failure. log.c prints. */
#include "base/result.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/log.h"
#include "base/util.h"
#include "gshmem/types.h"

static _Thread_local char last_text[1024];
static _Thread_local enum gsh_result last_code;
static _Thread_local bool is_only_noted; /* the last text, by gsh_note */
static _Thread_local bool expects_failures;

static const char *const names[GSH_RESULT_COUNT] = {
    [GSH_OK] = "success",
    [GSH_ERR_ARG] = "invalid argument",
    [GSH_ERR_NOMEM] = "out of memory",
    [GSH_ERR_UNSUPPORTED] = "not supported here",
    [GSH_ERR_SYMMETRY] = "PEs gave different arguments to a collective call",
    [GSH_ERR_STATE] = "called before init, after finalize, or twice",
    [GSH_ERR_TIMEOUT] = "time limit passed",
    [GSH_ERR_PEER] = "another PE died or left",
    [GSH_ERR_SYSTEM] = "refused by the operating system",
    [GSH_ERR_CUDA] = "refused by CUDA",
    [GSH_ERR_BUG] = "internal error",
    [GSH_ERR_LAUNCH] = "collective launch failed",
};

const char *gsh_result_name(enum gsh_result r)
{
    return (size_t)r < GSH_ARRAY_LEN(names) ? names[r] : "unknown result";
}

static void keep(enum gsh_result r, const char *suffix, const char *format, va_list args)
{
    /* Formatted into a copy first: an argument may be gsh_last_error() itself. */
    char text[sizeof(last_text)];
    int n = vsnprintf(text, sizeof(text), format, args);
    size_t used = n < 0 ? 0 : gsh_min_u64((uint64_t)n, sizeof(text) - 1);
    text[used] = '\0';
    if (suffix != NULL) {
        snprintf(text + used, sizeof(text) - used, ": %s", suffix);
    }
    memcpy(last_text, text, sizeof(last_text));
    last_code = r;
    is_only_noted = expects_failures;
}

/* As an error, unless it is expected. */
static void print(void)
{
    gsh_log(expects_failures ? GSH_LOG_INFO : GSH_LOG_ERROR, GSH_LOG_ALL, "%s", last_text);
}

bool gsh_expect_failures(bool does_expect)
{
    const bool before = expects_failures;
    expects_failures = does_expect;
    return before;
}

enum gsh_result gsh_fail(enum gsh_result r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep(r, NULL, format, args);
    va_end(args);
    print();
    return r;
}

enum gsh_result gsh_fail_errno(enum gsh_result r, const char *format, ...)
{
    char text[128];
    int code = errno;
    snprintf(text, sizeof(text), "%m");
    va_list args;
    va_start(args, format);
    keep(r, text, format, args);
    va_end(args);
    print();
    errno = code;
    return r;
}

enum gsh_result gsh_note(enum gsh_result r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep(r, NULL, format, args);
    va_end(args);
    is_only_noted = true;
    gsh_log(GSH_LOG_INFO, GSH_LOG_ALL, "%s", last_text);
    return r;
}

enum gsh_result gsh_blame(enum gsh_result r, const char *call)
{
    if (r == GSH_OK || !is_only_noted || strstr(last_text, call) != NULL) {
        return r;
    }
    return gsh_fail(r, "%s: %s", call, last_text);
}

const char *gsh_last_error(void)
{
    return last_text;
}

bool gsh_last_error_is_printed(void)
{
    return !is_only_noted;
}

enum gsh_result gsh_last_error_code(void)
{
    return last_code;
}

int gsh_public_error(enum gsh_result r)
{
    switch (r) {
    case GSH_OK:
        return GSHMEMX_SUCCESS;
    case GSH_ERR_ARG:
    case GSH_ERR_STATE:
        return GSHMEMX_ERROR_INVALID_VALUE;
    case GSH_ERR_NOMEM:
        return GSHMEMX_ERROR_OUT_OF_MEMORY;
    case GSH_ERR_UNSUPPORTED:
        return GSHMEMX_ERROR_NOT_SUPPORTED;
    case GSH_ERR_SYMMETRY:
        return GSHMEMX_ERROR_SYMMETRY;
    case GSH_ERR_LAUNCH:
        return GSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
    default:
        return GSHMEMX_ERROR_INTERNAL;
    }
}
