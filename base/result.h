/* SPDX-License-Identifier: Apache-2.0
 * Result codes of internal functions, grouped by what the caller can do about them, and the one
 * place that composes the text of a failure. Knows nothing of PEs beyond the label log.h prints. */
#ifndef GSH_RESULT_H
#define GSH_RESULT_H

#include <stdbool.h>

enum gsh_result {
    GSH_OK = 0,
    GSH_ERR_ARG,         /* the caller's argument is wrong; nothing was changed */
    GSH_ERR_NOMEM,       /* memory or address space ran out; nothing was changed */
    GSH_ERR_UNSUPPORTED, /* not available here; take the fallback or say so */
    GSH_ERR_SYMMETRY,    /* PEs called a collective with different arguments */
    GSH_ERR_STATE,       /* called before init, after finalize, or twice */
    GSH_ERR_TIMEOUT,     /* a time limit passed */
    GSH_ERR_PEER,        /* another PE died or left */
    GSH_ERR_SYSTEM,      /* the operating system refused; errno is in the message */
    GSH_ERR_CUDA,        /* the CUDA driver refused; its error name is in the message */
    GSH_ERR_BUG,         /* cannot happen */
    GSH_ERR_LAUNCH,      /* a collective launch does not fit on the device */
    GSH_RESULT_COUNT
};

#define GSH_CHECK_RESULT __attribute__((warn_unused_result))

/* A collective call found that a PE is gone, or has not arrived in time: no more can follow. */
static inline bool gsh_is_loss(enum gsh_result r)
{
    return r == GSH_ERR_PEER || r == GSH_ERR_TIMEOUT;
}

/* A short fixed text for r, never NULL. */
const char *gsh_result_name(enum gsh_result r);
/* The public code of r, GSHMEMX_SUCCESS or GSHMEMX_ERROR_. */
int gsh_public_error(enum gsh_result r);

/* Reports a failure once, where it is found: logs it at error level and keeps the text as the
 * calling thread's last error. Returns r, so a function can end with `return gsh_fail(...)`. */
enum gsh_result gsh_fail(enum gsh_result r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As gsh_fail, for a failed system call: appends errno's text. */
enum gsh_result gsh_fail_errno(enum gsh_result r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As gsh_fail, printed at info level only: for failures that a fallback may still handle. */
enum gsh_result gsh_note(enum gsh_result r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* From now on gsh_fail and gsh_fail_errno of the calling thread are as gsh_note, or no longer: a
 * fallback may handle what fails. Returns what was so before. */
bool gsh_expect_failures(bool does_expect);
/* When no fallback has handled the calling thread's last failure: if gsh_note kept it, and it does
 * not name that public call, reports it as the call's. (A failure of several PEs names the call,
 * and one of them reports it.) Returns r, which may be GSH_OK. */
enum gsh_result gsh_blame(enum gsh_result r, const char *call);

/* The text of the calling thread's last failure ("" when none). Valid until its next failure. */
const char *gsh_last_error(void);
enum gsh_result gsh_last_error_code(void);
/* Whether it was printed, not noted. */
bool gsh_last_error_is_printed(void);

#endif
