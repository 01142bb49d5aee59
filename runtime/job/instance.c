/* SPDX-License-Identifier: Apache-2.0
 * Finding the calling thread's PE, the checks every public call shares, and ending the job. */
#include "runtime/job/instance.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gshmem/types.h"
#include "proxy/proxy.h"
#include "runtime/base/atomic.h"
#include "runtime/base/log.h"
#include "runtime/base/util.h"
#include "runtime/job/binding.h"
#include "runtime/job/leave.h"
#include "runtime/setup/modules.h"
#include "runtime/job/net.h"
#include "runtime/job/page.h"
#include "runtime/setup/setup.h"
#include "runtime/job/watch.h"

enum bound_state { NEVER_BOUND, BOUND, WAS_BOUND };

static _Thread_local struct gsh_instance *bound;
static _Thread_local enum bound_state bound_state;

/* The process's PEs, counted, so that threads that never called init find the only one. This and
 * the module list are the library's only process-wide state. */
static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gsh_instance *first_pe; /* list by next_in_process */
static struct gsh_instance *only_pe;
/* The same while only one thread has ever made PEs: then no thread has finalised one and must not
 * find another's, and nobody need ask what the calling thread has. */
static struct gsh_instance *lone_pe;
static int n_makers; /* threads, those that have ended too */

void gsh_instance_bind(struct gsh_instance *pe)
{
    bool is_new_maker = bound_state == NEVER_BOUND;
    bound = pe;
    bound_state = BOUND;
    gsh_log_set_pe(pe->my_pe);
    gsh_leave_watch();
    pthread_mutex_lock(&process_lock);
    n_makers += is_new_maker;
    pe->next_in_process = first_pe;
    first_pe = pe;
    /* release: pairs with the acquire in gsh_instance_current */
    __atomic_store_n(&only_pe, pe->next_in_process == NULL ? pe : NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&lone_pe, n_makers == 1 ? only_pe : NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&process_lock);
}

void gsh_instance_unbind(struct gsh_instance *pe)
{
    bound = NULL;
    bound_state = WAS_BOUND;
    pthread_mutex_lock(&process_lock);
    for (struct gsh_instance **p = &first_pe; *p != NULL; p = &(*p)->next_in_process) {
        if (*p == pe) {
            *p = pe->next_in_process;
            break;
        }
    }
    if (only_pe == pe) {
        __atomic_store_n(&only_pe, NULL, __ATOMIC_RELEASE);
        __atomic_store_n(&lone_pe, NULL, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&process_lock);
    gsh_log_set_pe(-1);
}

struct gsh_instance *gsh_instance_bound(void)
{
    return bound;
}

/* At exit, perhaps of a forked child, in which the lock may be held for ever. */
struct gsh_instance *gsh_instance_first(void)
{
    struct gsh_instance *pe = NULL;
    if (pthread_mutex_trylock(&process_lock) == 0) {
        pe = first_pe;
        pthread_mutex_unlock(&process_lock);
    }
    return pe;
}

struct gsh_instance *gsh_instance_current(void)
{
    /* acquire: both pair with the releases in gsh_instance_bind */
    struct gsh_instance *pe = __atomic_load_n(&lone_pe, __ATOMIC_ACQUIRE);
    if (__builtin_expect(pe != NULL, 1)) {
        return pe;
    }
    if (bound != NULL || bound_state != NEVER_BOUND) {
        return bound;
    }
    return __atomic_load_n(&only_pe, __ATOMIC_ACQUIRE);
}

struct gsh_instance *gsh_instance_need(const char *call)
{
    struct gsh_instance *pe = gsh_instance_current();
    if (pe == NULL) {
        gsh_fail(GSH_ERR_STATE, "%s: called %s", call,
                 bound_state == WAS_BOUND ? "after gshmem_finalize" : "before gshmem_init");
        gsh_leave_flush();
        _exit(1);
    }
    return pe;
}

struct gsh_instance *gsh_instance_need_device(const char *call)
{
    struct gsh_instance *pe = gsh_instance_need(call);
    /* once set up, a load and a branch: libraries with kernels may have been loaded since */
    gsh_require(pe, call, pe->is_device_ready ? gsh_modules_refresh(pe) : gsh_setup_device(pe));
    return pe;
}

static void check_range(struct gsh_instance *pe, const char *call, const void *symmetric,
                        uint64_t bytes)
{
    if (!gsh_heap_contains(pe->heap, symmetric, bytes)) {
        gsh_abort(pe, 1, "%s: [%p, %p + %" PRIu64 ") is not symmetric: outside this PE's heap",
                  call, symmetric, symmetric, bytes);
    }
    bool is_users = (uint64_t)symmetric - pe->state.base >= pe->state.user_off;
    if (!is_users || !gsh_heap_is_allocated(pe->heap, symmetric, bytes)) {
        gsh_abort(pe, 1, "%s: [%p, %p + %" PRIu64 ") is not inside one live allocation", call,
                  symmetric, symmetric, bytes);
    }
}

void *gsh_peer_address(struct gsh_instance *pe, const char *call, const void *symmetric,
                       uint64_t bytes, int target)
{
    if (target < 0 || target >= pe->n_pes) {
        gsh_abort(pe, 1, "%s: PE %d is out of range: the job has PEs 0 to %d", call, target,
                  pe->n_pes - 1);
    }
    if (bytes > pe->state.stride) {
        gsh_abort(pe, 1, "%s: %" PRIu64 " bytes are more than the heap's range of %" PRIu64, call,
                  bytes, pe->state.stride);
    }
    if (GSH_CHECKS && bytes > 0) {
        check_range(pe, call, symmetric, bytes);
    }
    int slot = pe->slot_of[target];
    if (slot < 0) {
        return NULL;
    }
    return (void *)((uint64_t)symmetric +
                    (uint64_t)((int64_t)(slot - pe->my_slot) * (int64_t)pe->state.stride));
}

void gsh_abort(struct gsh_instance *pe, int status, const char *format, ...)
{
    char text[768];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    gsh_fail(GSH_ERR_STATE, "%s", text);
    gsh_end_job(pe, status, text);
}

void gsh_end_job(struct gsh_instance *pe, int status, const char *text)
{
    if (pe == bound) { /* the user's own thread; before others hear of it and end this process */
        gsh_leave_flush();
    }
    if (pe != NULL) {
        if (pe->page != NULL) {
            gsh_store_release_u32(&pe->page->control.abort_word, 1);
        }
        gsh_watch_tell_abort(pe->watch, status);
        gsh_net_tell(pe, pe->my_pe, status, text);
        if (pe->bootstrap != NULL && pe->n_pes > 1) {
            pe->bootstrap->ops->abort(pe->bootstrap, status, text);
        }
    }
    _exit(status);
}

void gsh_give_up(struct gsh_instance *pe, const char *call)
{
    /* one line is enough when it names the call */
    bool is_named = strstr(gsh_last_error(), call) != NULL;
    gsh_log(is_named ? GSH_LOG_INFO : GSH_LOG_ERROR, GSH_LOG_INIT, "%s: failed; ending the job",
            call);
    gsh_end_job(pe, 1, gsh_last_error());
}

int gsh_public_error(enum gsh_result r)
{
    switch (r) {
    case GSH_OK:
        return GSHMEMX_SUCCESS;
    case GSH_ERR_ARG:
    case GSH_ERR_STATE:
        return GSHMEMX_ERROR_INVALID_VALUE;
    case GSH_ERR_NOMEM:
        return GSHMEMX_ERROR_OUT_OF_MEMORY;
    case GSH_ERR_UNSUPPORTED:
        return GSHMEMX_ERROR_NOT_SUPPORTED;
    case GSH_ERR_SYMMETRY:
        return GSHMEMX_ERROR_SYMMETRY;
    default:
        return GSHMEMX_ERROR_INTERNAL;
    }
}

/* The job is ending: whoever set the abort word has said why, and its process or the watch ends
 * this one. */
static void __attribute__((noreturn)) await_end(struct gsh_instance *pe, unsigned *turn)
{
    gsh_report_print(pe);
    if (pe == bound) {
        gsh_leave_flush();
    }
    for (unsigned i = 0; i < 100000; i++) {
        gsh_backoff(turn);
    }
    _exit(1);
}

/* Looks at what bounds a wait. */
static bool look(struct gsh_instance *pe, unsigned *turn, uint64_t *start_ns, uint64_t limit_ns)
{
    if (gsh_load_relaxed_u32(&pe->page->control.abort_word) != 0) {
        await_end(pe, turn);
    }
    if (pe->env.wait_timeout_ns == 0) {
        return false;
    }
    uint64_t now = gsh_now_ns();
    if (*start_ns == 0) {
        *start_ns = now;
    }
    return now - *start_ns > limit_ns;
}

/* What is waited for may come through the proxy, or be asked for by a peer that waits. */
static void back_off(struct gsh_instance *pe, unsigned *turn)
{
    if (pe->proxy != NULL) {
        gsh_proxy_help(pe->proxy);
        gsh_backoff_busy(turn);
    } else {
        gsh_backoff(turn);
    }
}

bool gsh_host_wait_turn(struct gsh_instance *pe, unsigned *turn, uint64_t *start_ns)
{
    back_off(pe, turn);
    return look(pe, turn, start_ns, pe->env.wait_timeout_ns);
}

bool gsh_host_sync_turn(struct gsh_instance *pe, unsigned *turn, uint64_t *start_ns)
{
    back_off(pe, turn);
    return look(pe, turn, start_ns, GSH_SYNC_LIMIT_NS(pe->env.wait_timeout_ns));
}

bool gsh_host_sync_look(struct gsh_instance *pe, uint64_t *start_ns)
{
    unsigned turn = 0;
    return look(pe, &turn, start_ns, GSH_SYNC_LIMIT_NS(pe->env.wait_timeout_ns));
}

double gsh_host_sync_limit_s(const struct gsh_instance *pe)
{
    return (double)GSH_SYNC_LIMIT_NS(pe->env.wait_timeout_ns) / 1e9;
}
