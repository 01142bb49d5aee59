/* SPDX-License-Identifier: Apache-2.0
 * Ending the job from within the library. Ends that the program brings about are leave.h's. */
#ifndef GSH_END_H
#define GSH_END_H

#include "base/result.h"

struct gsh_instance;

/* Ends the job: prints one line "gshmem: PE n: <message>", informs the other PEs, and exits with
 * status. */
void gsh_abort(struct gsh_instance *pe, int status, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
/* The same without a line of its own; text is for the launcher. pe may be half-built. */
void gsh_end_job(struct gsh_instance *pe, int status, const char *text) __attribute__((noreturn));
/* The same because of an error that has been printed. The program's error handler gets text, which
 * is the message, before other PEs are told. */
void gsh_end_for_error(struct gsh_instance *pe, int status, const char *text)
    __attribute__((noreturn));
/* Ends the job with the last error. */
void gsh_give_up(struct gsh_instance *pe, const char *call) __attribute__((noreturn));
/* For results a void public call cannot return: gsh_abort with the last error when r is not OK. */
static inline void gsh_require(struct gsh_instance *pe, const char *call, enum gsh_result r)
{
    if (r != GSH_OK) {
        gsh_give_up(pe, call);
    }
}
/* As gsh_require, for results of the proxy: if the proxy has failed, the reason has already been
 * printed; this call then waits for the job to end. In a job that outlives deaths it returns if a
 * far PE is lost. */
void gsh_require_far(struct gsh_instance *pe, const char *call, enum gsh_result r);
/* If the device has reported something, prints it and ends the job. */
void gsh_end_if_reported(struct gsh_instance *pe);

#endif
