/* SPDX-License-Identifier: Apache-2.0
 * How a call of this dialect fails: it returns a result, prints one line on stderr, and keeps the
 * same text for ncclGetLastError. */
#ifndef GSH_NCCL_ERROR_H
#define GSH_NCCL_ERROR_H

#include "dialects/nccl/include/nccl.h"

/* Makes the text of a failure where it is detected, and returns the result. */
ncclResult_t gsh_nccl_fail(ncclResult_t result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for an error of gshmem, which has printed its line; 0 is success. */
ncclResult_t gsh_nccl_base(const char *call, int error);

/* For a call that needs a rank that has died, or whose process has exited. */
ncclResult_t gsh_nccl_lost(const char *call);

/* The text of the calling thread's latest failure; and taking over another thread's. */
const char *gsh_nccl_last_text(void);
void gsh_nccl_set_last_text(const char *text);

#endif
