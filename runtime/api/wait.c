/* SPDX-License-Identifier: Apache-2.0
 * Host wait_until and test. Typed names are stamped in typed.c. */
#include "gshmem.h"
#include "runtime/api/check.h"
#include "runtime/api/host_calls.h"
#include "runtime/backend/poll.h"
#include "runtime/init/setup.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/host_wait.h"
#include "runtime/trace/call.h"

void gsh_check_wait(struct gsh_instance *pe, const struct gsh_wait_arg *w)
{
    if (w->cmp < GSHMEM_CMP_EQ || w->cmp > GSHMEM_CMP_GE) {
        gsh_abort(pe, 1, "%s: cmp %d is not a comparison", w->call, w->cmp);
    }
    if ((uintptr_t)w->ivars % w->kind.bytes != 0) {
        gsh_abort(pe, 1, "%s: address %p is not a multiple of %u", w->call, w->ivars,
                  w->kind.bytes);
    }
    uint64_t bytes = gsh_check_bytes(pe, w->call, w->nelems, w->kind.bytes);
    gsh_peer_address(pe, w->call, w->ivars, bytes, pe->my_pe);
}

static struct gsh_instance *enter(const struct gsh_wait_arg *w)
{
    struct gsh_instance *pe = gsh_instance_need_device(w->call);
    gsh_check_wait(pe, w);
    return pe;
}

void gsh_wait_all(const struct gsh_wait_arg *wait)
{
    struct gsh_instance *pe = enter(wait);
    GSH_TRACE_WAIT(pe, wait);
    gsh_wait_all_checked(pe, wait, false);
}

/* Where a sweep for any begins. It varies, so a series of calls finds every element that satisfies
 * its comparison, whatever the pattern of calls. */
static size_t sweep_start(size_t nelems)
{
    static _Thread_local uint32_t random;
    if (nelems < 2) {
        return 0;
    }
    random = random * 1664525u + 1013904223u;
    return (size_t)((uint64_t)random * (uint32_t)nelems >> 32);
}

/* One sweep over all elements; ends at the first whose comparison holds. */
static struct gsh_poll sweep_for_any(struct gsh_instance *pe, const struct gsh_wait_arg *w)
{
    size_t from = sweep_start(w->nelems);
    struct gsh_poll s = gsh_poll(pe, w, from, GSH_POLL_AT_HELD, NULL);
    if (s.held != SIZE_MAX || from == 0) {
        return s;
    }
    struct gsh_wait_arg rest = *w;
    rest.nelems = from;
    struct gsh_poll before = gsh_poll(pe, &rest, 0, GSH_POLL_AT_HELD, NULL);
    if (before.unmet == SIZE_MAX) {
        before.unmet = s.unmet;
        before.unmet_seen = s.unmet_seen;
    }
    return before;
}

/* Sweeps until a comparison holds or nothing is watched. indices: for all that hold; NULL: any. */
static struct gsh_poll wait_for_one(const struct gsh_wait_arg *w, size_t *indices)
{
    struct gsh_instance *pe = enter(w);
    unsigned backoff = 0;
    uint64_t start_ns = 0;
    GSH_TRACE_WAIT(pe, w);
    for (;;) {
        struct gsh_poll s =
            indices != NULL ? gsh_poll(pe, w, 0, GSH_POLL_NEVER, indices) : sweep_for_any(pe, w);
        if (s.held != SIZE_MAX || s.unmet == SIZE_MAX) {
            GSH_TRACE_SEEN(s.held, s.held_seen);
            return s;
        }
        const struct gsh_waiting what = gsh_poll_waiting(w, &s);
        if (gsh_host_wait_poll(pe, &backoff, &start_ns, &what)) {
            gsh_poll_timed_out(pe, w, &s);
        }
    }
}

size_t gsh_wait_any(const struct gsh_wait_arg *wait)
{
    return wait_for_one(wait, NULL).held;
}

size_t gsh_wait_some(const struct gsh_wait_arg *wait, size_t *indices)
{
    return wait_for_one(wait, indices).n_held;
}

int gsh_test_all(const struct gsh_wait_arg *wait)
{
    return gsh_poll(enter(wait), wait, 0, GSH_POLL_AT_UNMET, NULL).unmet == SIZE_MAX;
}

size_t gsh_test_any(const struct gsh_wait_arg *wait)
{
    return sweep_for_any(enter(wait), wait).held;
}

size_t gsh_test_some(const struct gsh_wait_arg *wait, size_t *indices)
{
    return gsh_poll(enter(wait), wait, 0, GSH_POLL_NEVER, indices).n_held;
}

uint64_t gshmem_signal_fetch(const uint64_t *sig_addr)
{
    static const char call[] = "gshmem_signal_fetch";
    struct gsh_instance *pe = gsh_instance_need_device(call);
    if ((uintptr_t)sig_addr % sizeof(*sig_addr) != 0) {
        gsh_abort(pe, 1, "%s: the signal's address %p is not a multiple of 8", call,
                  (const void *)sig_addr);
    }
    const void *own = gsh_peer_address(pe, call, sig_addr, sizeof(*sig_addr), pe->my_pe);
    uint64_t value = 0;
    gsh_require(pe, call, pe->device_ops->load(pe, own, sizeof(value), 1, &value));
    return value;
}

uint64_t gshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    const struct gsh_wait_arg wait =
        gsh_wait_for_signal("gshmem_signal_wait_until", sig_addr, cmp, cmp_value);
    return wait_for_one(&wait, NULL).held_seen;
}
