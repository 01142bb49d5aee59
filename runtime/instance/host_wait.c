/* SPDX-License-Identifier: Apache-2.0
 * One poll of a wait of the host: backs off, lets the proxy work, and checks the wait's limits. */
#include "runtime/instance/host_wait.h"

#include <unistd.h>
#include "base/flush.h"
#include "base/util.h"
#include "proxy/proxy.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/job_report.h"
#include "runtime/instance/page.h"
#include "runtime/instance/report.h"
#include "runtime/instance/waits.h"

/* The job is ending: the PE that set the abort word has reported why, and its process or the
 * monitor ends this one. */
static void __attribute__((noreturn)) await_end(struct gsh_instance *pe, unsigned *backoff)
{
    gsh_report_print(pe);
    if (pe == gsh_instance_bound()) {
        gsh_flush_stdout();
    }
    for (unsigned i = 0; i < 100000; i++) {
        gsh_backoff(backoff);
    }
    _exit(1);
}

/* This thread's latest wait of which it has said that it is long: when it began, and after how long
 * it will be worth another line. */
static _Thread_local uint64_t noticed_start_ns, next_notice_ns;

static void notice(struct gsh_instance *pe, const struct gsh_waiting *what, uint64_t start_ns)
{
    if (pe->env.wait_notice_ns == 0 || what == NULL || what->kind != GSH_WAITS_COLLECTIVE) {
        return;
    }
    const uint64_t waited_ns = gsh_now_ns() - start_ns;
    const uint64_t after_ns =
        noticed_start_ns == start_ns ? next_notice_ns : pe->env.wait_notice_ns;
    if (waited_ns > after_ns) {
        noticed_start_ns = start_ns;
        next_notice_ns = 2 * waited_ns;
        gsh_job_notice(pe, what, start_ns);
    }
}

/* Checks what bounds a wait, and whether somebody asks about it. */
static bool look(struct gsh_instance *pe, unsigned *backoff, uint64_t *start_ns, uint64_t limit_ns,
                 const struct gsh_waiting *what)
{
    if (gsh_page_is_ending(pe->page)) {
        await_end(pe, backoff);
    }
    if (*start_ns == 0) {
        *start_ns = gsh_now_ns();
    }
    gsh_waits_tell(pe, what, *start_ns);
    notice(pe, what, *start_ns);
    if (pe->env.wait_timeout_ns == 0 || gsh_now_ns() - *start_ns <= limit_ns) {
        return false;
    }
    if (what != NULL) {
        gsh_job_report(pe, what, *start_ns);
    }
    if (gsh_page_is_ending(pe->page)) {
        await_end(pe, backoff);
    }
    return true;
}

/* What is awaited may come through the proxy, or depend on a request of a waiting peer. */
static void back_off(struct gsh_instance *pe, unsigned *backoff)
{
    if (pe->proxy != NULL) {
        gsh_proxy_help(pe->proxy);
        gsh_backoff_busy(backoff);
    } else {
        gsh_backoff(backoff);
    }
}

bool gsh_host_wait_poll(struct gsh_instance *pe, unsigned *backoff, uint64_t *start_ns,
                        const struct gsh_waiting *what)
{
    back_off(pe, backoff);
    return look(pe, backoff, start_ns, pe->env.wait_timeout_ns, what);
}

bool gsh_host_sync_poll(struct gsh_instance *pe, unsigned *backoff, uint64_t *start_ns,
                        const struct gsh_waiting *what)
{
    back_off(pe, backoff);
    return look(pe, backoff, start_ns, GSH_SYNC_LIMIT_NS(pe->env.wait_timeout_ns), what);
}

bool gsh_host_sync_check(struct gsh_instance *pe, uint64_t *start_ns,
                         const struct gsh_waiting *what)
{
    unsigned backoff = 0;
    return look(pe, &backoff, start_ns, GSH_SYNC_LIMIT_NS(pe->env.wait_timeout_ns), what);
}

double gsh_host_sync_limit_s(const struct gsh_instance *pe)
{
    return (double)GSH_SYNC_LIMIT_NS(pe->env.wait_timeout_ns) / 1e9;
}
