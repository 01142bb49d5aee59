/* SPDX-License-Identifier: Apache-2.0
 * Begins and ends a PE's recording, and brings the clocks of several hosts together: PEs of one
 * host have one clock; all others note when they entered and left a few exchanges, from which
 * merging derives offsets. */
#include "runtime/trace/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/keys.h"
#include "base/log.h"
#include "bootstrap/bootstrap.h"
#include "runtime/instance/instance.h"
#include "runtime/trace/kernels.h"
#include "trace/merge.h"
#include "trace/record.h"

enum { ROUNDS = 16 }; /* exchanges, of which the fastest count */

static bool has_several_clocks(const struct gsh_instance *pe)
{
    for (int i = 0; i < pe->n_pes; i++) {
        if (gsh_host_of(pe, i) != gsh_host_of(pe, 0)) {
            return true;
        }
    }
    return false;
}

/* Whether GSHMEM_TRACE is set is the same on all PEs, or those that lack it hang nobody: the
 * exchange is one that all make. */
static enum gsh_result note_clocks(struct gsh_instance *pe)
{
    struct gsh_bootstrap *b = pe->job_bootstrap;
    enum gsh_result r = GSH_OK;
    bool is_needed = has_several_clocks(pe);
    for (int i = 0; is_needed && r == GSH_OK && i < ROUNDS; i++) {
        struct gsh_trace_slot slot = {.kind = GSH_TRACE_SYNC,
                                      .pe = -1,
                                      .value = pe->trace_rounds++,
                                      .begin_ns = gsh_now_ns()};
        r = b->ops->barrier(b);
        slot.end_ns = gsh_now_ns();
        if (r == GSH_OK) {
            gsh_trace_write(pe->trace, NULL, &slot);
        }
    }
    return r;
}

/* Whether it makes the file when the job is over. */
static bool is_merger(const struct gsh_instance *pe)
{
    return pe->my_pe == 0 && pe->env.launcher <= 0;
}

enum gsh_result gsh_trace_job_begin(struct gsh_instance *pe)
{
    uint8_t key[GSH_KEY_BYTES];
    if (pe->env.trace[0] == '\0') {
        return GSH_OK;
    }
    gsh_key_derive(pe->secret, "timeline", key);
    struct gsh_trace_options options = {.file = pe->env.trace,
                                        .limit_bytes = pe->env.trace_limit_bytes,
                                        .pe = pe->my_pe,
                                        .n_pes = pe->n_pes,
                                        .host = gsh_host_of(pe, pe->my_pe)};
    memcpy(&options.job, key, sizeof(options.job));
    enum gsh_result r = GSH_OK;
    if (is_merger(pe)) {
        r = gsh_trace_try_file(pe->env.trace);
    }
    return r == GSH_OK ? gsh_trace_create(&options, &pe->trace) : r;
}

enum gsh_result gsh_trace_job_note_clocks(struct gsh_instance *pe)
{
    return pe->trace != NULL ? note_clocks(pe) : GSH_OK;
}

enum gsh_result gsh_trace_job_end(struct gsh_instance *pe)
{
    gsh_trace_kernels_note_clock(pe);
    gsh_trace_kernels_stop(pe);
    return pe->trace == NULL ? GSH_OK : note_clocks(pe);
}

void gsh_trace_job_close(struct gsh_instance *pe)
{
    if (pe->trace != NULL) {
        __atomic_store_n(&gsh_trace_head(pe->trace)->is_over, 1, __ATOMIC_RELAXED);
    }
}

void gsh_trace_job_merge(struct gsh_instance *pe)
{
    static uint32_t n_merged;
    if (pe->trace == NULL || !is_merger(pe)) {
        return;
    }
    char file[sizeof(pe->env.trace) + 16];
    uint32_t n = __atomic_add_fetch(&n_merged, 1, __ATOMIC_RELAXED);
    snprintf(file, sizeof(file), n > 1 ? "%s.%u" : "%s", pe->env.trace, n);
    if (gsh_trace_merge(pe->env.trace, gsh_trace_head(pe->trace)->job, file, NULL) != GSH_OK) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_INIT, "GSHMEM_TRACE: the parts of the timeline are left");
    }
}

void gsh_trace_job_destroy(struct gsh_instance *pe)
{
    gsh_trace_destroy(&pe->trace, false);
}
