/* SPDX-License-Identifier: Apache-2.0
 * The program's own spans in the timeline. */
#include "gshmem.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "trace/record.h"

void gshmemx_trace_begin(const char *name)
{
    if (gsh_trace_is_recording()) {
        struct gsh_instance *pe = gsh_instance_current();
        if (pe != NULL && pe->trace != NULL) {
            gsh_trace_span_begin(pe->trace, name != NULL ? name : "");
        }
    }
}

void gshmemx_trace_end(void)
{
    if (gsh_trace_is_recording()) {
        struct gsh_instance *pe = gsh_instance_current();
        if (pe != NULL && pe->trace != NULL) {
            gsh_trace_span_end(pe->trace);
        }
    }
}
