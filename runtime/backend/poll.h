/* SPDX-License-Identifier: Apache-2.0
 * How a host thread polls the words of a wait: for wait_until, test, and waits on the CPU device's
 * streams. */
#ifndef GSH_POLL_H
#define GSH_POLL_H

#include "runtime/instance/device_ops.h"
#include "runtime/instance/waits.h"

enum gsh_poll_stop { GSH_POLL_NEVER, GSH_POLL_AT_HELD, GSH_POLL_AT_UNMET };

struct gsh_poll {
    size_t n_held;
    size_t held; /* the first element whose comparison held, SIZE_MAX: none */
    uint64_t held_seen;
    size_t unmet; /* the first watched one whose comparison did not hold, SIZE_MAX: none */
    uint64_t unmet_seen;
};

/* Looks once at each watched element from `from` on, until `stop`. indices (or NULL) receives
 * those whose comparison held. */
struct gsh_poll gsh_poll(struct gsh_instance *pe, const struct gsh_wait_arg *w, size_t from,
                         enum gsh_poll_stop stop, size_t *indices);
/* What the hang report is to say of a poll that was in vain. */
struct gsh_waiting gsh_poll_waiting(const struct gsh_wait_arg *w, const struct gsh_poll *s);
/* Ends the job: the wait has passed its time limit. */
void gsh_poll_timed_out(struct gsh_instance *pe, const struct gsh_wait_arg *w,
                        const struct gsh_poll *s) __attribute__((noreturn));
/* Waits until all hold; on behalf of a stream, only as long as kernels would. */
void gsh_wait_all_checked(struct gsh_instance *pe, const struct gsh_wait_arg *w, bool is_on_stream);

#endif
