/* SPDX-License-Identifier: Apache-2.0
 * See job_report.h. */
#include "runtime/instance/job_report.h"

#include "base/atomic.h"
#include "base/log.h"
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

static bool (*begin_notice)(struct gsh_instance *pe, const struct gsh_waiting *what,
                            uint64_t since_ns); /* atomic, as above */

void gsh_job_notice_by(bool (*begin)(struct gsh_instance *pe, const struct gsh_waiting *what,
                                     uint64_t since_ns))
{
    __atomic_store_n(&begin_notice, begin, __ATOMIC_RELAXED);
}

/* The word of the node. */
static uint64_t *noticed_of(const struct gsh_instance *pe)
{
    int first = 0;
    while (gsh_page_of(pe, first) == NULL) {
        first++;
    }
    return &gsh_page_of(pe, first)->noticed_ns;
}

/* All that came wait for equally long, so the first of them speaks for all. */
void gsh_job_notice(struct gsh_instance *pe, const struct gsh_waiting *what, uint64_t since_ns)
{
    bool (*begin)(struct gsh_instance *, const struct gsh_waiting *, uint64_t) =
        __atomic_load_n(&begin_notice, __ATOMIC_RELAXED);
    uint64_t *noticed = noticed_of(pe), now = gsh_now_ns(), last = gsh_load_relaxed_u64(noticed);
    if ((last == 0 || now - last >= pe->env.wait_notice_ns) &&
        __atomic_compare_exchange_n(noticed, &last, now, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED) &&
        (begin == NULL || !begin(pe, what, since_ns))) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_SYNC, "%s has waited %.1f s for PE %d, and waits on",
                what->call, (double)(now - since_ns) / 1e9, what->pe);
    }
}

void gsh_job_report_end(struct gsh_instance *pe)
{
    /* release: pairs with the acquire in gsh_job_report */
    gsh_store_release_u32(&pe->page->has_ended_report, 1);
}

static bool can_begin(const struct gsh_instance *pe)
{
    return pe->env.hang_report && __atomic_load_n(&begin_report, __ATOMIC_RELAXED) != NULL;
}

/* Unless it has begun. */
static void begin_once(struct gsh_instance *pe)
{
    bool (*begin)(struct gsh_instance *) = __atomic_load_n(&begin_report, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&pe->page->has_begun_report, 1, __ATOMIC_RELAXED) == 0 && !begin(pe)) {
        gsh_job_report_end(pe);
    }
}

/* prints: this PE does. */
static void await_end(struct gsh_instance *pe, bool prints, const struct gsh_waiting *what,
                      uint64_t since_ns)
{
    uint64_t start_ns = gsh_now_ns();
    unsigned backoff = 0;
    /* acquire: pairs with the release in gsh_job_report_end */
    while (!(prints && gsh_load_acquire_u32(&pe->page->has_ended_report) != 0) &&
           !gsh_page_is_ending(pe->page) && gsh_now_ns() - start_ns < PATIENCE_NS) {
        gsh_waits_tell(pe, what, since_ns);
        if (pe->proxy != NULL) {
            gsh_proxy_help(pe->proxy);
        }
        gsh_backoff(&backoff);
    }
}

void gsh_job_report(struct gsh_instance *pe, const struct gsh_waiting *what, uint64_t since_ns)
{
    const bool prints = gsh_report_take_word(pe), has_report = can_begin(pe);
    if (prints && has_report) {
        begin_once(pe);
    }
    if (!prints || has_report) {
        await_end(pe, prints, what, since_ns);
    }
}

void gsh_job_report_print(struct gsh_instance *pe)
{
    if (can_begin(pe)) {
        begin_once(pe);
        await_end(pe, true, NULL, 0);
    }
}
