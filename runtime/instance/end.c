/* SPDX-License-Identifier: Apache-2.0
 * Ends that the library brings about: it tells the others in every available way, then exits. */
#include "runtime/instance/end.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/flush.h"
#include "base/handler.h"
#include "base/log.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/death.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/end_notice.h"
#include "runtime/instance/job_report.h"
#include "runtime/instance/page.h"
#include "runtime/instance/report.h"
#include "runtime/instance/host_wait.h"
#include "runtime/instance/monitor.h"
#include "runtime/instance/waits.h"

/* Puts behind the call's name, with which messages begin, where the call stands. */
static void name_site(char *text, size_t bytes)
{
    const struct gsh_waits_site_text site = gsh_waits_word_site();
    const size_t n = strcspn(text, ": "), length = strlen(text), more = strlen(site.text);
    if (text[n] == ':' && memchr(text, '_', n) != NULL && length + more < bytes) {
        memmove(text + n + more, text + n, length + 1 - n);
        memcpy(text + n, site.text, more);
    }
}

void gsh_abort(struct gsh_instance *pe, int status, const char *format, ...)
{
    char text[768];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    name_site(text, sizeof(text));
    gsh_fail(GSH_ERR_STATE, "%s", text);
    gsh_end_for_error(pe, status, text);
}

void gsh_end_for_error(struct gsh_instance *pe, int status, const char *text)
{
    gsh_handler_tell(pe != NULL ? pe->my_pe : -1, status, text);
    gsh_end_job(pe, status, text);
}

void gsh_end_job(struct gsh_instance *pe, int status, const char *text)
{
    /* the user's own thread: flush before others hear of the end and end this process */
    if (pe == gsh_instance_bound()) {
        gsh_flush_stdout();
    }
    if (pe != NULL) {
        if (pe->page != NULL) {
            gsh_store_release_u32(&pe->page->control.abort_word, GSH_ABORT_END);
        }
        gsh_monitor_tell_abort(pe->monitor, status);
        gsh_end_notice_tell(pe, pe->my_pe, status, text);
        if (pe->bootstrap != NULL && pe->n_pes > 1) {
            pe->bootstrap->ops->abort(pe->bootstrap, status, text);
        }
    }
    _exit(status);
}

void gsh_give_up(struct gsh_instance *pe, const char *call)
{
    /* one line is enough if it names the call, or init, to which device set-up belongs */
    const char *reason = gsh_last_error();
    bool is_named = strncmp(reason, "init: ", 6) == 0;
    if (!is_named) {
        (void)gsh_blame(gsh_last_error_code(), call);
        is_named = strstr(reason, call) != NULL;
    }
    gsh_log(is_named ? GSH_LOG_INFO : GSH_LOG_ERROR, GSH_LOG_INIT, "%s: failed; ending the job",
            call);
    gsh_end_for_error(pe, 1, reason);
}

void gsh_require_far(struct gsh_instance *pe, const char *call, enum gsh_result r)
{
    /* what is lost with a PE that the job outlives its callers ask by death.h */
    if (r == GSH_OK || (r == GSH_ERR_PEER && gsh_deaths_are_single(pe))) {
        return;
    }
    unsigned backoff = 0;
    uint64_t start_ns = 0;
    while (gsh_end_notice_is_ending(pe->net)) {
        if (gsh_page_is_leaving(pe->page)) {
            return; /* the job is being given up, so the result does not matter */
        }
        gsh_host_wait_poll(pe, &backoff, &start_ns, NULL);
    }
    gsh_require(pe, call, r);
}

void gsh_end_if_reported(struct gsh_instance *pe)
{
    int status = 0;
    if (gsh_report_is_of_wait(pe)) {
        gsh_job_report(pe, NULL, 0);
    }
    switch (gsh_report_take(pe, &status)) {
    case GSH_REPORTED_EXIT:
        gsh_end_job(pe, status, "gshmem_global_exit");
    case GSH_REPORTED_ERROR:
        gsh_end_for_error(pe, 1, gsh_last_error());
    default:
        break;
    }
}
