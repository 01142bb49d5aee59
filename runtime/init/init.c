/* SPDX-License-Identifier: Apache-2.0
 * Start-up and teardown of one PE, first phase: bootstrap, facts about the other PEs, the shared
 * page, the monitor, the teams. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "bootstrap/shm.h"
#include "bootstrap/uid_ask.h"
#include "gshmemx.h"
#include "runtime/context/context.h"
#include "base/atomic.h"
#include "base/flush.h"
#include "base/handler.h"
#include "base/log.h"
#include "base/process.h"
#include "base/util.h"
#include "runtime/far/far.h"
#include "runtime/instance/bell.h"
#include "runtime/instance/binding.h"
#include "runtime/instance/death.h"
#include "runtime/instance/descriptors.h"
#include "runtime/instance/end.h"
#include "runtime/hang/serve.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/init/identity.h"
#include "runtime/init/launch.h"
#include "runtime/init/leave_far.h"
#include "runtime/instance/leave.h"
#include "runtime/init/net.h"
#include "runtime/init/node.h"
#include "runtime/instance/page.h"
#include "runtime/instance/page_pass.h"
#include "runtime/instance/report.h"
#include "runtime/instance/host_wait.h"
#include "runtime/instance/monitor.h"
#include "runtime/instance/vote.h"
#include "runtime/init/buffers.h"
#include "runtime/init/setup.h"
#include "runtime/init/statics.h"
#include "runtime/team/absent.h"
#include "runtime/team/page.h"
#include "runtime/team/team.h"
#include "runtime/trace/job.h"

/* How long a PE that has lost another one at the very end waits to be ended by its launcher. */
#define LAUNCHER_FIRST_NS 500000000

/* The host's PEs wait for each other on its cores. */
static void tell_crowd(const struct gsh_instance *pe)
{
    int n = 0;
    for (int i = 0; i < pe->n_pes; i++) {
        n += gsh_host_of(pe, i) == gsh_host_of(pe, pe->my_pe);
    }
    gsh_backoff_crowd(n, (int)sysconf(_SC_NPROCESSORS_ONLN));
}

/* One node: each step is followed by a vote. */
static enum gsh_result link_node(struct gsh_instance *pe, struct gsh_page_passing *passing)
{
    /* all listeners are open before any PE sends */
    enum gsh_result r = gsh_init_vote(pe, GSH_STEP_LISTENERS, gsh_page_open(pe, passing));
    if (r == GSH_OK) {
        r = gsh_page_exchange(pe, gsh_page_bytes(pe), passing);
        /* PEs of one process wait for no other's page */
        r = pe->is_one_process ? r : gsh_init_vote(pe, GSH_STEP_PAGES, r);
    }
    if (r == GSH_OK) {
        r = gsh_monitor_prepare(pe, &pe->monitor);
        r = pe->is_one_process ? gsh_blame(r, "init") : gsh_init_vote(pe, GSH_STEP_MONITOR, r);
    }
    if (r == GSH_OK) { /* of this PE's failure here its end tells the others */
        r = gsh_monitor_link(pe->monitor);
        r = gsh_blame(r == GSH_OK ? gsh_node_bootstrap_create(pe, &pe->job_bootstrap) : r, "init");
    }
    return r;
}

/* This PE's part of what follows. If it fails, the caller tells those of the node that wait. */
static enum gsh_result enter_node(struct gsh_instance *pe, const struct gsh_page_passing *passing)
{
    enum gsh_result r = gsh_page_exchange(pe, gsh_page_bytes(pe), passing);
    r = r == GSH_OK ? gsh_monitor_link(pe->monitor) : r;
    r = r == GSH_OK ? gsh_node_bootstrap_create(pe, &pe->node_bootstrap) : r;
    r = r == GSH_OK ? gsh_net_bootstrap_create(pe, pe->bootstrap, &pe->job_bootstrap) : r;
    return r == GSH_OK ? gsh_net_start(pe) : r;
}

/* Several nodes. *own: what has come of this PE's part, of which PEs of other nodes do not know. If
 * they do not look up addresses, an exchange of these has told them of its beginning. */
static enum gsh_result join_nodes(struct gsh_instance *pe, struct gsh_page_passing *passing,
                                  enum gsh_result *own)
{
    enum gsh_result mine = gsh_page_open(pe, passing);
    mine = mine == GSH_OK ? gsh_monitor_prepare(pe, &pe->monitor) : mine;
    mine = gsh_net_introduce(pe, pe->bootstrap, mine);
    if (mine != GSH_OK && !gsh_looks_up(pe)) {
        return mine; /* of all PEs */
    }
    *own = mine == GSH_OK ? enter_node(pe, passing) : mine;
    if (*own != GSH_OK) {
        gsh_bell_ring_all(pe);
    }
    return GSH_OK;
}

/* What needs no other PE. */
static enum gsh_result make_own(struct gsh_instance *pe)
{
    enum gsh_result r = gsh_monitor_start(pe->monitor);
    if (r == GSH_OK) {
        r = gsh_trace_job_begin(pe);
    }
    if (r == GSH_OK) {
        r = gsh_teams_create(pe);
    }
    if (r == GSH_OK) {
        r = gsh_contexts_create(pe);
    }
    if (r == GSH_OK) {
        gsh_hang_begin(pe);
        r = gsh_setup_prepare(pe);
    }
    return r;
}

/* Whether an exchange of device set-up, as part of init, tells all PEs what each has come to. */
static bool is_told_by_setup(const struct gsh_instance *pe)
{
    return pe->needs_no_choice && !pe->outlives_deaths;
}

/* The first exchange of all PEs after `own`, this PE's outcome, tells it to them: one of device
 * set-up, or a vote. */
static enum gsh_result end_init(struct gsh_instance *pe, enum gsh_result own)
{
    enum gsh_result r = own;
    if (!is_told_by_setup(pe)) {
        r = gsh_init_vote(pe, GSH_STEP_READY, own);
    }
    if (!is_told_by_setup(pe) && r == GSH_OK) {
        gsh_net_settle(pe);
        r = gsh_deaths_create(pe);
    }
    if (pe->n_nodes > 1 && is_told_by_setup(pe)) {
        r = gsh_setup_chosen(pe, r);
    } else if (pe->needs_no_choice && (is_told_by_setup(pe) || r == GSH_OK)) {
        r = gsh_setup_in_init(pe, r);
    }
    return r == GSH_OK ? gsh_trace_job_note_clocks(pe) : r;
}

static void destroy(struct gsh_instance *pe)
{
    gsh_hang_end(pe);
    /* first the threads that use the network and the device, then the network, which uses this
     * PE's memory */
    gsh_net_close(pe);
    gsh_monitor_destroy(&pe->monitor);
    gsh_deaths_destroy(pe);
    gsh_net_destroy(pe);
    gsh_statics_unshare(pe);
    gsh_setup_undo(pe);
    gsh_trace_job_destroy(pe);
    if (pe->job_bootstrap != NULL) {
        pe->job_bootstrap->ops->destroy(pe->job_bootstrap);
    }
    if (pe->node_bootstrap != NULL) {
        pe->node_bootstrap->ops->destroy(pe->node_bootstrap);
    }
    gsh_node_pes_free(pe);
    gsh_fdpass_destroy(&pe->fdpass);
    if (pe->teams != NULL) {
        gsh_pages_unmap(pe, gsh_page_bytes(pe));
    }
    gsh_contexts_destroy(pe);
    gsh_teams_destroy(pe);
    gsh_bell_close(&pe->bell);
    gsh_identity_forget(pe);
    free(pe->near);
    free(pe->host_of_node);
    free(pe->host_pes);
    free(pe->peers);
    free(pe->lock_holders);
    if (pe->bootstrap != NULL) {
        pe->bootstrap->ops->destroy(pe->bootstrap);
    }
    explicit_bzero(pe->secret, sizeof(pe->secret)); /* the record stays */
    gsh_instance_release(pe);
}

/* A kernel that waits for a far PE waits for the proxy's CUDA calls. These must not wait for the
 * kernel in turn. They would in two cases: while another kernel is loaded, which CUDA does at its
 * first launch, and in a work queue that streams share when there are more than 8. CUDA reads the
 * variables when it starts, and gshmem starts it later. Values set by the user stay. had_threads:
 * whether the process had other threads when init began, before those of the bootstrap; such a
 * thread may be reading the environment. */
static void free_proxy_of_kernels(const struct gsh_instance *pe, bool had_threads)
{
    if (pe->n_nodes == 1 || gsh_setup_is_cpu(pe) ||
        (secure_getenv("CUDA_MODULE_LOADING") != NULL &&
         secure_getenv("CUDA_DEVICE_MAX_CONNECTIONS") != NULL)) {
        return;
    }
    if (!had_threads) {
        setenv("CUDA_MODULE_LOADING", "EAGER", 0);
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    } else if (pe->my_pe == 0) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_INIT,
                "init: the program has threads already, so its environment stays as it is: kernels "
                "that wait for far PEs may hang unless it is started with "
                "CUDA_MODULE_LOADING=EAGER and CUDA_DEVICE_MAX_CONNECTIONS=32");
    }
}

static enum gsh_result begin_job(struct gsh_instance *pe)
{
    struct gsh_page_passing passing = {0};
    enum gsh_result own = GSH_OK, r = GSH_OK;
    if (pe->n_nodes > 1 && is_told_by_setup(pe)) {
        r = gsh_setup_check(pe);
    }
    if (r == GSH_OK) {
        r = pe->n_nodes > 1 ? join_nodes(pe, &passing, &own) : link_node(pe, &passing);
    }
    gsh_page_end_passing(pe, &passing);
    if (r == GSH_OK) {
        r = end_init(pe, own == GSH_OK ? make_own(pe) : own);
    }
    if (pe->fdpass != NULL) {
        gsh_fdpass_heed(pe->fdpass, -1, NULL, NULL);
    }
    gsh_bell_close(&pe->bell);
    gsh_identity_forget(pe);
    return r;
}

static enum gsh_result bring_up(struct gsh_instance *pe, unsigned flags,
                                const gshmemx_init_attr_t *attr)
{
    bool had_threads = gsh_process_n_threads() != 1;
    enum gsh_result r = gsh_env_read(&pe->env);
    if (r == GSH_OK) {
        r = gsh_launch_bootstrap(&pe->env, flags, attr, &pe->bootstrap);
        if (r != GSH_OK && pe->env.rank <= 0) {
            gsh_env_warn(true, true); /* a misspelt name may be why */
        }
    }
    if (r != GSH_OK) {
        return r;
    }
    gsh_process_mark();
    pe->my_pe = pe->bootstrap->rank;
    pe->n_pes = pe->bootstrap->size;
    gsh_log_set_pe(pe->my_pe);
    gsh_report_ask(&gsh_absent_members);
    r = gsh_identity_exchange(pe);
    if (r == GSH_OK && pe->n_nodes == 1) {
        gsh_uid_asking_destroy(&pe->bootstrap->asking); /* nobody asks */
    }
    if (r == GSH_OK) {
        gsh_env_warn(pe->my_pe == 0, pe->peers[pe->my_pe].node_index == 0);
        free_proxy_of_kernels(pe, had_threads);
        tell_crowd(pe);
        r = gsh_teams_plan(pe);
    }
    if (r == GSH_OK) {
        r = gsh_page_make(pe, gsh_page_bytes(pe));
    }
    if (r == GSH_OK) {
        r = begin_job(pe);
    }
    if (r == GSH_OK && pe->wants_static_data) {
        r = gsh_statics_share(pe);
    }
    return r;
}

static const char *started_by(const struct gsh_bootstrap *b)
{
    return (b->launcher != NULL ? b->launcher : b)->ops->name;
}

static enum gsh_result instance_create(unsigned flags, const gshmemx_init_attr_t *attr)
{
    struct gsh_instance *pe = gsh_instance_allocate();
    if (pe == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory");
    }
    pe->page_fd = -1;
    pe->outlives_deaths = gsh_instance_is_made_for_dialect();
    pe->is_small = gsh_instance_is_made_small();
    pe->wants_static_data = (flags & GSHMEMX_INIT_STATIC_DATA) != 0;
    flags &= ~(unsigned)GSHMEMX_INIT_STATIC_DATA;
    enum gsh_result r = bring_up(pe, flags, attr);
    if (r != GSH_OK) {
        destroy(pe);
        gsh_log_set_pe(-1);
        return r;
    }
    gsh_leave_check_exit();
    gsh_leave_far_at_exit(pe);
    gsh_instance_bind(pe);
    gsh_log(GSH_LOG_INFO, GSH_LOG_INIT, "PE %d of %d, started by %s", pe->my_pe, pe->n_pes,
            started_by(pe->bootstrap));
    return GSH_OK;
}

int gshmemx_init_attr(unsigned int flags, const gshmemx_init_attr_t *attr)
{
    if (gsh_instance_bound() != NULL) {
        return gsh_public_error(gsh_fail(GSH_ERR_STATE, "gshmem_init: this PE is already "
                                                        "initialised"));
    }
    if (gsh_instance_is_forked() && !gsh_instance_is_made_for_dialect()) {
        return gsh_public_error(gsh_fail(GSH_ERR_STATE, "gshmem_init: %s", gsh_instance_absence()));
    }
    return gsh_public_error(instance_create(flags, attr));
}

void gshmem_init(void)
{
    if (gshmemx_init_attr(0, NULL) != 0) {
        gsh_handler_tell(-1, 1, gsh_last_error());
        gsh_flush_stdout();
        _exit(1); /* the reason has been printed; the launcher ends the others */
    }
}

int gshmem_init_thread(int requested, int *provided)
{
    if (requested < GSHMEM_THREAD_SINGLE || requested > GSHMEM_THREAD_MULTIPLE) {
        return gsh_public_error(gsh_fail(GSH_ERR_ARG,
                                         "gshmem_init_thread: there is no thread "
                                         "level %d",
                                         requested));
    }
    int error = gshmemx_init_attr(0, NULL);
    if (error == 0 && provided != NULL) {
        gshmem_query_thread(provided);
    }
    return error;
}

void gshmem_query_thread(int *provided)
{
    int level = gsh_instance_need("gshmem_query_thread")->thread_level;
    if (provided != NULL) {
        *provided = level;
    }
}

int gshmemx_init_status(void)
{
    const struct gsh_instance *pe = gsh_instance_current();
    if (pe == NULL) {
        return GSHMEM_STATUS_NOT_INITIALIZED;
    }
    return pe->is_device_ready ? GSHMEM_STATUS_IS_INITIALIZED : GSHMEM_STATUS_IS_BOOTSTRAPPED;
}

/* A lock may be set by the host and cleared by a kernel, or vice versa. */
static void warn_of_locks(struct gsh_instance *pe, const char *call)
{
    int n = __atomic_load_n(&pe->n_locks_held, __ATOMIC_RELAXED) +
            (int)__atomic_load_n(&pe->page->control.n_locks, __ATOMIC_RELAXED);
    if (n > 0) {
        gsh_log(GSH_LOG_WARN, GSH_LOG_ALL, "%s: %d lock%s still held", call, n,
                n == 1 ? " is" : "s are");
    }
}

/* A PE has died, and others may still be waiting for it in memory that this PE has shared, so all
 * of that stays. The end of the job no longer concerns this process: others do not wait for it in
 * the last barrier. Jobs that outlive deaths are started by a unique id, where abort ends no
 * process. */
static void leave_behind(struct gsh_instance *pe)
{
    pe->bootstrap->ops->abort(pe->bootstrap, 0, "");
    gsh_store_release_u32(&pe->page->control.abort_word, GSH_ABORT_LEAVE);
    gsh_instance_unbind(pe);
}

/* A PE has died after the monitor's end. A launcher that sees that names the PE, and ends this one.
 * PEs would only name each other. */
__attribute__((noreturn)) static void end_late(struct gsh_instance *pe, const char *call)
{
    const struct timespec patience = {.tv_nsec = LAUNCHER_FIRST_NS};
    int failed = -1;
    gsh_flush_stdout();
    nanosleep(&patience, NULL);
    if (!gsh_process_ends_others(pe->env.launcher, &failed) && gsh_page_take_word(pe)) {
        gsh_fail(GSH_ERR_PEER, "%s: %s; ending the job", call, gsh_last_error());
    }
    gsh_process_say_follows();
    _exit(1);
}

void gshmem_finalize(void)
{
    static const char call[] = "gshmem_finalize";
    struct gsh_instance *pe = gsh_instance_need(call);
    gsh_waits_name_call(call);
    if (pe != gsh_instance_bound()) {
        /* the thread that called init would continue with a PE and a device that are gone */
        gsh_log_set_pe(pe->my_pe);
        gsh_abort(pe, 1, "%s: called by another thread than the one that called init", call);
    }
    gsh_descriptors_check(pe, call);
    if (pe->is_device_ready) {
        /* kernels that still run may use the heap */
        gsh_require(pe, call, pe->device_ops->synchronize(pe));
        gsh_report_print_refusal(pe); /* before the monitor has looked */
        gsh_contexts_quiet(pe, call);
    }
    warn_of_locks(pe, call); /* kernels are done */
    gsh_require(pe, call, gsh_trace_job_end(pe));
    /* after the last round no PE uses this one's memory, page or messages */
    enum gsh_result r = pe->is_device_ready ? gsh_heap_leave(pe->heap)
                                            : pe->job_bootstrap->ops->barrier(pe->job_bootstrap);
    if (r != GSH_OK && gsh_is_death(pe)) {
        leave_behind(pe);
        return;
    }
    gsh_require(pe, call, r);
    gsh_buffers_end(pe);
    gsh_net_close(pe);
    gsh_monitor_destroy(&pe->monitor);
    gsh_deaths_destroy(pe);
    gsh_trace_job_close(pe);
    pe->bootstrap->may_lose_ranks = true; /* without a line: see end_late */
    r = pe->bootstrap->ops->barrier(pe->bootstrap);
    if (r != GSH_OK && pe->outlives_deaths) { /* other PEs of this process may not be as far */
        leave_behind(pe);
        return;
    }
    if (r == GSH_ERR_PEER) {
        end_late(pe, call);
    }
    gsh_require(pe, call, r);
    gsh_trace_job_merge(pe);
    gsh_instance_unbind(pe);
    destroy(pe);
}
