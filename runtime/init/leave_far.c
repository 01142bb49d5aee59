/* SPDX-License-Identifier: Apache-2.0
 * See leave_far.h. */
#define _GNU_SOURCE 1 /* pthread_timedjoin_np */
#include "runtime/init/leave_far.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "base/log.h"
#include "base/process.h"
#include "runtime/far/far.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/death.h"
#include "runtime/instance/page.h"

#define LIMIT_NS 8000000000u /* where the proxy has none */

/* Not in a child made by clone itself, whose memory holds its parent's PEs. */
static bool has_far_traffic(const struct gsh_instance *pe)
{
    return gsh_deaths_are_single(pe) && pe->proxy != NULL && pe->far != NULL &&
           gsh_process_of(pe, pe->my_pe) == gsh_process_id() && !gsh_page_is_leaving(pe->page);
}

static void *settle(void *instance)
{
    struct gsh_instance *pe = instance;
    gsh_log_set_pe(pe->my_pe);
    gsh_far_settle(pe);
    return NULL;
}

/* A thread of its own waits, since the one that exits may do so in a signal handler, in the middle
 * of a call of the proxy. */
static void settle_all(void)
{
    for (struct gsh_instance *pe = gsh_instance_first(); pe != NULL; pe = pe->next_in_process) {
        pthread_t thread;
        struct timespec end;
        if (!has_far_traffic(pe) || pthread_create(&thread, NULL, settle, pe) != 0) {
            continue;
        }
        uint64_t limit_ns = pe->env.proxy_timeout_ns != 0 ? pe->env.proxy_timeout_ns : LIMIT_NS;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += (time_t)(limit_ns / 1000000000u) + 1;
        (void)pthread_timedjoin_np(thread, NULL, &end);
    }
}

void gsh_leave_far_at_exit(const struct gsh_instance *pe)
{
    static bool is_done;
    if (gsh_deaths_are_single(pe) && !__atomic_exchange_n(&is_done, true, __ATOMIC_RELAXED)) {
        (void)atexit(settle_all);
    }
}
