/* SPDX-License-Identifier: Apache-2.0
 * A process that exits before its PEs are finalized would leave the other PEs waiting or, if they
 * are its threads, end them silently. The library's destructor detects it: it runs after everything
 * the program may have registered to run at exit, including gshmem_finalize. */
#include "runtime/instance/leave.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/atomic.h"
#include "base/flush.h"
#include "base/log.h"
#include "base/process.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/instance/threads.h"
#include "runtime/instance/monitor.h"

static int exit_status; /* as passed to exit, if the C library reports it */

#ifdef __GLIBC__
static void keep_status(int status, void *unused)
{
    (void)unused;
    exit_status = status;
}
#endif

void gsh_leave_check_exit(void)
{
#ifdef __GLIBC__
    static bool is_done;
    if (!__atomic_exchange_n(&is_done, true, __ATOMIC_RELAXED)) {
        (void)on_exit(keep_status, NULL); /* without it the status is 1 */
    }
#endif
}

/* One line for a job, however many of its PEs leave: the first to take PE 0's abort word prints it.
 * A PE that was told of the job's end has its own word set. */
static bool is_first_to_leave(struct gsh_instance *pe)
{
    struct gsh_host_page *page = gsh_page_of(pe, 0) != NULL ? gsh_page_of(pe, 0) : pe->page;
    uint32_t was = GSH_ABORT_NONE;
    /* if PE 0 has given up the job, its word holds its own state */
    return !gsh_page_is_ending(pe->page) &&
           (__atomic_compare_exchange_n(&page->control.abort_word, &was, GSH_ABORT_END, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
            was != GSH_ABORT_END);
}

/* The launcher learns of it by the status: its library may already be closed. */
void gsh_leave(struct gsh_instance *pe, int status, const char *how)
{
    status = status != 0 ? status : 1;
    gsh_log_set_pe(pe->my_pe);
    if (is_first_to_leave(pe)) {
        gsh_fail(GSH_ERR_STATE, "%s without gshmem_finalize; ending the job", how);
    }
    gsh_flush_stdout();
    gsh_store_release_u32(&pe->page->control.abort_word, GSH_ABORT_END);
    gsh_monitor_tell_abort(pe->monitor, status);
    _exit(status);
}

/* Not in a child made by clone itself, whose memory holds its parent's PEs, nor for a PE without
 * peers. If the program has given a PE up, or its peers outlive it, they notice its end themselves.
 */
static bool is_missed(const struct gsh_instance *pe)
{
    return pe != NULL && pe->n_pes > 1 && gsh_process_of(pe, pe->my_pe) == gsh_process_id() &&
           !pe->outlives_deaths && !gsh_page_is_leaving(pe->page);
}

__attribute__((destructor)) static void at_exit(void)
{
    struct gsh_instance *pe = gsh_instance_bound();
    int caller = -1;
    if (gsh_instance_is_forked()) {
        return; /* the PEs are its parent's */
    }
    if (is_missed(pe)) {
        gsh_leave(pe, exit_status, "exited");
    }
    if (gsh_threads_others(&caller)) {
        gsh_log_set_pe(caller);
        gsh_fail(GSH_ERR_STATE,
                 "called exit while other PEs, threads of its process, still run; it "
                 "must return from its main instead. Ending the job");
        gsh_flush_stdout();
        _exit(exit_status != 0 ? exit_status : 1);
    }
    for (pe = gsh_instance_first(); pe != NULL; pe = pe->next_in_process) {
        if (is_missed(pe)) {
            gsh_leave(pe, exit_status, "its process exited");
        }
    }
}
