/* SPDX-License-Identifier: Apache-2.0
 * The program's error handler (gshmemx_set_error_handler). Code that is about to end the process
 * because of an error prints the line that says so, and then calls gsh_handler_tell, which does
 * nothing if no handler is set.
 *
 * The handler runs once in a process, for the error that comes first. A thread that finds another
 * error meanwhile waits for the handler to return, since ending the process would cut it short; a
 * handler that never returns holds it up for GSH_HANDLER_LIMIT_MS. An error of the handler's own
 * thread, in the handler, does not wait: the process ends at once. */
#ifndef GSH_HANDLER_H
#define GSH_HANDLER_H

#include "gshmem/types.h"

#define GSH_HANDLER_LIMIT_MS 10000

/* NULL: none. */
void gsh_handler_set(gshmemx_error_handler_t handler, void *context);
/* pe: -1 if there is none. status: the process's, unless another end of the job comes first. text:
 * the message. */
void gsh_handler_tell(int pe, int status, const char *text);

#endif
