/* SPDX-License-Identifier: Apache-2.0
 * See job_report.h. */
#include "runtime/instance/job_report.h"

#include "base/atomic.h"
#include "base/util.h"
#include "proxy/proxy.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/instance/report.h"
#include "runtime/instance/waits.h"

/* A PE that has not printed by then is stopped, or its node is. */
#define PATIENCE_NS 4000000000u

static bool (*begin_report)(struct gsh_instance *pe); /* atomic: PEs as threads give the same */

void gsh_job_report_by(bool (*begin)(struct gsh_instance *pe))
{
    __atomic_store_n(&begin_report, begin, __ATOMIC_RELAXED);
}

void gsh_job_report_end(struct gsh_instance *pe)
{
    /* release: pairs with the acquire in gsh_job_report */
    gsh_store_release_u32(&pe->page->has_ended_report, 1);
}

static void answer(struct gsh_instance *pe, const struct gsh_waiting *what, uint64_t since_ns)
{
    /* acquire: pairs with the release in gsh_waits_ask */
    uint32_t request = gsh_load_acquire_u32(&pe->page->control.wait_request);
    if (request != 0 && what != NULL) {
        gsh_waits_tell(pe, what, since_ns, request);
    }
}

void gsh_job_report(struct gsh_instance *pe, const struct gsh_waiting *what, uint64_t since_ns)
{
    bool (*begin)(struct gsh_instance *) = __atomic_load_n(&begin_report, __ATOMIC_RELAXED);
    struct gsh_host_page *own = pe->page;
    uint64_t start_ns = gsh_now_ns();
    unsigned backoff = 0;
    if (begin == NULL || !pe->env.hang_report) {
        return;
    }
    bool prints = gsh_report_take_word(pe);
    if (prints && __atomic_exchange_n(&own->has_begun_report, 1, __ATOMIC_RELAXED) == 0 &&
        !begin(pe)) {
        gsh_job_report_end(pe);
    }
    /* acquire: pairs with the release in gsh_job_report_end */
    while (!(prints && gsh_load_acquire_u32(&own->has_ended_report) != 0) &&
           !gsh_page_is_ending(own) && gsh_now_ns() - start_ns < PATIENCE_NS) {
        answer(pe, what, since_ns);
        if (pe->proxy != NULL) {
            gsh_proxy_help(pe->proxy);
        }
        gsh_backoff(&backoff);
    }
}
