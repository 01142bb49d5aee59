/* SPDX-License-Identifier: Apache-2.0
 * Requests of host threads to the proxy, and the host's fence and quiet for far PEs. */
#include "runtime/far/far.h"

#include <string.h>
#include "base/atomic.h"
#include "base/util.h"
#include "proxy/proxy.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/page.h"
#include "runtime/instance/host_wait.h"

/* ---- requests ---- */

struct gsh_request gsh_far_request(const struct gsh_instance *pe, int op, const void *symmetric,
                                   int target)
{
    return (struct gsh_request){
        .op = (uint8_t)op,
        .pe = target,
        .remote_off = gsh_symmetric_off(pe, symmetric),
    };
}

void gsh_far_run(struct gsh_instance *pe, gsh_context ctx, const char *call,
                 struct gsh_request *request)
{
    request->ctx = ctx;
    request->call = call;
    enum gsh_result r = gsh_proxy_run(pe->proxy, request);
    gsh_require_far(pe, call, r);
}

void gsh_far_post(struct gsh_instance *pe, gsh_context ctx, const char *call,
                  struct gsh_request *request)
{
    request->ctx = ctx;
    request->call = call;
    enum gsh_result r = gsh_proxy_post(pe->proxy, request);
    gsh_require_far(pe, call, r);
}

void gsh_far_put(struct gsh_instance *pe, gsh_context ctx, const char *call, void *symmetric,
                 const void *source, uint64_t bytes, int target, bool is_nbi)
{
    uint64_t off = gsh_symmetric_off(pe, symmetric);
    enum gsh_result r = gsh_proxy_put(pe->proxy, ctx, call, target, off, source, bytes, is_nbi);
    gsh_require_far(pe, call, r);
}

void gsh_far_store(struct gsh_instance *pe, gsh_context ctx, const char *call, void *symmetric,
                   uint64_t bits, size_t bytes, int target)
{
    struct gsh_request request = gsh_far_request(pe, GSH_FAR_P, symmetric, target);
    request.bytes = bytes;
    memcpy(request.inline_data, &bits, bytes);
    gsh_far_run(pe, ctx, call, &request);
}

uint64_t gsh_far_load(struct gsh_instance *pe, gsh_context ctx, const char *call,
                      const void *symmetric, size_t bytes, int target)
{
    struct gsh_request request = gsh_far_request(pe, GSH_FAR_G, symmetric, target);
    request.word_bytes = (uint8_t)bytes;
    request.is_fetch = true;
    gsh_far_run(pe, ctx, call, &request);
    return request.value;
}

/* ---- order ---- */

/* Whether a kernel has written a request at this position. Relaxed is enough here: the proxy's own
 * look acquires. */
static bool is_written(const struct gsh_far *far, const struct gsh_far_ring *ring,
                       uint64_t position)
{
    const uint64_t *word = &ring->slots[position & (far->n_slots - 1)].word[0];
    uint64_t lap = __atomic_load_n(word, __ATOMIC_RELAXED) & GSH_RING_LAP;
    return lap == GSH_RING_LAP_BIT(position, far->n_slots);
}

static uint64_t taken(const struct gsh_far_ring *ring)
{
    return gsh_load_acquire_u64(&ring->cpu->cpu_tail); /* pairs with the proxy's release */
}

/* A context's rings. */
struct span {
    int first, end;
};

static struct span rings_of(const struct gsh_far *far, gsh_context ctx)
{
    int own = far->n_rings + (int)ctx - 1;
    return ctx == GSH_CONTEXT_DEFAULT ? (struct span){0, far->n_rings}
                                      : (struct span){own, own + 1};
}

/* Whether any of the rings has had requests since the host's last fence or quiet, as noted in
 * `covered`. Two loads for each ring. */
static bool have_kernels_asked(const struct gsh_far *far, struct span rings, size_t covered)
{
    for (int i = rings.first; i < rings.end; i++) {
        const struct gsh_far_ring *ring = &far->rings[i];
        const uint64_t *note = (const uint64_t *)((const char *)ring + covered);
        uint64_t tail = taken(ring);
        if (tail != __atomic_load_n(note, __ATOMIC_RELAXED) || is_written(far, ring, tail)) {
            return true;
        }
    }
    return false;
}

/* Waits until the proxy has taken all requests that complete kernels have written. */
static uint64_t await_taken(struct gsh_instance *pe, const struct gsh_far_ring *ring)
{
    uint64_t tail = taken(ring), end = tail;
    while (end - tail < pe->far->n_slots && is_written(pe->far, ring, end)) {
        end++;
    }
    unsigned backoff = 0;
    uint64_t start_ns = 0;
    while ((tail = taken(ring)) < end &&
           gsh_load_relaxed_u32(&pe->page->control.abort_word) != GSH_ABORT_LEAVE_FAR) {
        gsh_host_wait_poll(pe, &backoff, &start_ns,
                           NULL); /* the proxy has a time limit of its own */
    }
    return tail;
}

static void note_most(uint64_t *word, uint64_t value)
{
    uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (seen < value && !__atomic_compare_exchange_n(word, &seen, value, true, __ATOMIC_RELEASE,
                                                        __ATOMIC_RELAXED)) {
    }
}

/* op: GSH_FAR_FENCE or _QUIET; n_covered and `covered` record what it has covered. */
static enum gsh_result try_order(struct gsh_instance *pe, gsh_context ctx, int op,
                                 uint64_t *n_covered, size_t covered)
{
    struct gsh_far *far = pe->far;
    struct span rings = rings_of(far, ctx);
    uint64_t tails[GSH_RING_MAX_RINGS];
    uint64_t n_asked = gsh_proxy_n_requests(pe->proxy, ctx);
    /* acquire: pairs with note_most(), so that a thread that finds nothing to do sees what the
     * other thread's quiet completed */
    bool is_covered = __atomic_load_n(n_covered, __ATOMIC_ACQUIRE) >= n_asked;
    if (is_covered && !have_kernels_asked(far, rings, covered)) {
        return GSH_OK;
    }
    for (int i = rings.first; i < rings.end; i++) {
        tails[i - rings.first] = await_taken(pe, &far->rings[i]);
    }
    struct gsh_request request = {.op = (uint8_t)op, .ctx = ctx};
    enum gsh_result r = gsh_proxy_run(pe->proxy, &request);
    note_most(n_covered, n_asked);
    for (int i = rings.first; i < rings.end; i++) {
        note_most((uint64_t *)((char *)&far->rings[i] + covered), tails[i - rings.first]);
    }
    return r;
}

static void order(struct gsh_instance *pe, gsh_context ctx, const char *call, int op,
                  uint64_t *n_covered, size_t covered)
{
    gsh_require_far(pe, call, try_order(pe, ctx, op, n_covered, covered));
}

void gsh_far_fence(struct gsh_instance *pe, gsh_context ctx, const char *call)
{
    if (gsh_far_has_nic(pe)) {
        gsh_far_nic_quiet(pe, ctx);
    }
    if (pe->far != NULL) {
        order(pe, ctx, call, GSH_FAR_FENCE, &pe->far->n_fenced[ctx],
              offsetof(struct gsh_far_ring, fenced));
    }
}

static enum gsh_result try_quiet(struct gsh_instance *pe, gsh_context ctx)
{
    if (gsh_far_has_nic(pe)) {
        gsh_far_nic_quiet(pe, ctx);
    }
    return pe->far != NULL ? try_order(pe, ctx, GSH_FAR_QUIET, &pe->far->n_quieted[ctx],
                                       offsetof(struct gsh_far_ring, quieted))
                           : GSH_OK;
}

void gsh_far_quiet(struct gsh_instance *pe, gsh_context ctx, const char *call)
{
    gsh_require_far(pe, call, try_quiet(pe, ctx));
}

void gsh_far_quiet_all(struct gsh_instance *pe, const char *call)
{
    gsh_context n = pe->far != NULL ? 1 + (gsh_context)pe->env.contexts : 0;
    for (gsh_context ctx = 0; ctx < n; ctx++) {
        gsh_far_quiet(pe, ctx, call);
    }
}

void gsh_far_settle(struct gsh_instance *pe)
{
    for (gsh_context ctx = 0; ctx <= (gsh_context)pe->env.contexts; ctx++) {
        (void)try_quiet(pe, ctx); /* one that fails has nobody left to deliver to */
    }
}
