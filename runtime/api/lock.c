/* SPDX-License-Identifier: Apache-2.0
 * Distributed locks on the host. wire/lock.h defines a lock's words and how PEs queue. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include "base/util.h"
#include "gshmem.h"
#include "runtime/api/check.h"
#include "runtime/api/host_calls.h"
#include "runtime/context/context.h"
#include "runtime/init/setup.h"
#include "runtime/instance/end.h"
#include "runtime/instance/instance.h"
#include "runtime/instance/waits.h"
#include "runtime/trace/call.h"
#include "runtime/instance/host_wait.h"
#include "wire/lock.h"

/* One call on a lock. */
struct lock {
    struct gsh_instance *pe;
    const char *call;
    uint32_t *tail, *node; /* symmetric */
    uint32_t *own;         /* this PE's node, as it is mapped */
    int home;
};

static struct lock enter(const char *call, long *symmetric)
{
    struct gsh_instance *pe = gsh_instance_need_device(call);
    if ((uintptr_t)symmetric % sizeof(uint64_t) != 0) {
        gsh_abort(pe, 1, "%s: address %p is not a multiple of 8", call, (void *)symmetric);
    }
    uint32_t *own = gsh_peer_address(pe, call, symmetric, sizeof(uint64_t), pe->my_pe);
    uint32_t *words = (uint32_t *)symmetric;
    return (struct lock){
        .pe = pe,
        .call = call,
        .tail = words + GSH_LOCK_TAIL,
        .node = words + GSH_LOCK_NODE,
        .own = own + GSH_LOCK_NODE,
        .home = gsh_lock_home((uint64_t)(uintptr_t)own - pe->state.base, pe->n_pes),
    };
}

static uint32_t change(const struct lock *l, enum gsh_amo_op op, uint32_t *word, uint32_t value,
                       uint32_t cond, int target)
{
    uint32_t before = 0;
    gsh_amo(GSH_CONTEXT_DEFAULT, l->call, op, word, sizeof(*word), &value, &cond, &before, target);
    return before;
}

/* As above, without a result. */
static void send(const struct lock *l, enum gsh_amo_op op, uint32_t *word, uint32_t value,
                 int target)
{
    gsh_amo(GSH_CONTEXT_DEFAULT, l->call, op, word, sizeof(*word), &value, NULL, NULL, target);
}

static uint32_t look(const struct lock *l)
{
    uint32_t seen = 0;
    gsh_require(l->pe, l->call, l->pe->device_ops->load(l->pe, l->own, sizeof(seen), 1, &seen));
    return seen;
}

/* A wait as below has lasted too long. */
static void end_wait(const struct lock *l, int whom)
{
    const double seconds = (double)l->pe->env.wait_timeout_ns / 1e9;
    const uint64_t off = (uint64_t)(uintptr_t)(l->own - GSH_LOCK_NODE) - l->pe->state.base;
    if (whom < 0) {
        gsh_abort(l->pe, 1,
                  "%s: waited %.1f s for the lock at %p (heap offset 0x%" PRIx64
                  "), which this PE holds, or for which another of its threads waits",
                  l->call, seconds, (void *)l->tail, off);
    }
    gsh_abort(l->pe, 1,
              "%s: waited %.1f s for the lock at %p (heap offset 0x%" PRIx64 "), behind PE %d",
              l->call, seconds, (void *)l->tail, off, whom);
}

/* Waits until this PE's node has one of the bits, or (wants_any false) none of them. whom: the PE
 * that it waits for; -1: another thread of this PE. */
static uint32_t wait_for(const struct lock *l, uint32_t bits, bool wants_any, int whom)
{
    unsigned backoff = 0;
    uint64_t start_ns = 0;
    uint32_t seen;
    while (seen = look(l), ((seen & bits) != 0) != wants_any) {
        const struct gsh_waiting what = {
            .call = l->call,
            .kind = GSH_REPORT_LOCK_TIMEOUT,
            .pe = whom < 0 ? l->pe->my_pe : whom,
            .team = -1,
            .address = l->own,
            .expected = bits,
            .seen = seen,
        };
        if (gsh_host_wait_poll(l->pe, &backoff, &start_ns, &what)) {
            end_wait(l, whom);
        }
    }
    return seen;
}

static uint32_t my_name(const struct lock *l)
{
    return (uint32_t)l->pe->my_pe + 1;
}

/* Whether this thread is now the one thread of this PE that may join the queue. */
static bool take(const struct lock *l)
{
    return (change(l, GSH_AMO_OR, l->node, GSH_LOCK_TAKEN, 0, l->pe->my_pe) & GSH_LOCK_TAKEN) == 0;
}

/* ---- which thread of this PE set a lock: for checking builds ---- */

struct holder {
    const uint32_t *own; /* NULL: unused */
    pthread_t thread;
};

struct gsh_lock_holders {
    size_t n;
    struct holder of[];
};

static pthread_mutex_t holders_lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock's entry, or with own NULL an unused one; NULL: there is none. Under holders_lock, as is
 * the next one. */
static struct holder *find_holder(const struct gsh_instance *pe, const uint32_t *own)
{
    struct gsh_lock_holders *all = pe->lock_holders;
    for (size_t i = 0; all != NULL && i < all->n; i++) {
        if (all->of[i].own == own) {
            return &all->of[i];
        }
    }
    return NULL;
}

static struct holder *add_holder(struct gsh_instance *pe)
{
    size_t n = pe->lock_holders != NULL ? pe->lock_holders->n : 0;
    struct gsh_lock_holders *all =
        realloc(pe->lock_holders, sizeof(*all) + 2 * (n + 1) * sizeof(all->of[0]));
    if (all == NULL) {
        return NULL;
    }
    all->n = 2 * (n + 1);
    for (size_t i = n; i < all->n; i++) {
        all->of[i].own = NULL;
    }
    pe->lock_holders = all;
    return &all->of[n];
}

/* Without memory the lock is not noted. */
static void note_holder(const struct lock *l)
{
    pthread_mutex_lock(&holders_lock);
    struct holder *h = find_holder(l->pe, l->own);
    h = h != NULL ? h : find_holder(l->pe, NULL);
    h = h != NULL ? h : add_holder(l->pe);
    if (h != NULL) {
        *h = (struct holder){l->own, pthread_self()};
    }
    pthread_mutex_unlock(&holders_lock);
}

/* Any thread of the PE may clear a lock. */
static void forget_holder(const struct lock *l)
{
    pthread_mutex_lock(&holders_lock);
    struct holder *h = find_holder(l->pe, l->own);
    if (h != NULL) {
        h->own = NULL;
    }
    pthread_mutex_unlock(&holders_lock);
}

/* The lock is taken by this PE. If by this thread, it would wait for itself. */
static void check_holder(const struct lock *l)
{
    pthread_mutex_lock(&holders_lock);
    const struct holder *h = find_holder(l->pe, l->own);
    bool is_mine = h != NULL && pthread_equal(h->thread, pthread_self());
    pthread_mutex_unlock(&holders_lock);
    if (is_mine) {
        gsh_abort(l->pe, 1, "%s: this thread already holds the lock at %p", l->call,
                  (void *)l->tail);
    }
}

static void has_set(const struct lock *l)
{
    __atomic_fetch_add(&l->pe->n_locks_held, 1, __ATOMIC_RELAXED);
    if (GSH_CHECKS) {
        note_holder(l);
    }
}

/* Before another thread can have the lock. */
static void will_clear(const struct lock *l)
{
    __atomic_fetch_sub(&l->pe->n_locks_held, 1, __ATOMIC_RELAXED);
    if (GSH_CHECKS) {
        forget_holder(l);
    }
}

/* ---- the calls ---- */

void gshmem_set_lock(long *lock)
{
    const struct lock l = enter("gshmem_set_lock", lock);
    GSH_TRACE_DATA(l.pe, l.call, l.home, lock, 0);
    while (!take(&l)) {
        if (GSH_CHECKS) {
            check_holder(&l);
        }
        wait_for(&l, GSH_LOCK_TAKEN, false, -1);
    }
    uint32_t front = change(&l, GSH_AMO_SWAP, l.tail, my_name(&l), 0, l.home);
    if (front != 0) {
        send(&l, GSH_AMO_OR, l.node, my_name(&l), (int)front - 1);
        wait_for(&l, GSH_LOCK_GRANTED, true, (int)front - 1);
        send(&l, GSH_AMO_AND, l.node, ~GSH_LOCK_GRANTED, l.pe->my_pe);
    }
    has_set(&l);
}

int gshmem_test_lock(long *lock)
{
    const struct lock l = enter("gshmem_test_lock", lock);
    GSH_TRACE_DATA(l.pe, l.call, l.home, lock, 0);
    if (!take(&l)) {
        return 1;
    }
    if (change(&l, GSH_AMO_CSWAP, l.tail, my_name(&l), 0, l.home) != 0) {
        send(&l, GSH_AMO_AND, l.node, ~GSH_LOCK_TAKEN, l.pe->my_pe);
        return 1;
    }
    has_set(&l);
    return 0;
}

void gshmem_clear_lock(long *lock)
{
    const struct lock l = enter("gshmem_clear_lock", lock);
    GSH_TRACE_DATA(l.pe, l.call, l.home, lock, 0);
    gsh_context_quiet(l.pe, GSH_CONTEXT_DEFAULT, l.call);
    uint32_t node = look(&l);
    if ((node & GSH_LOCK_TAKEN) == 0) {
        gsh_abort(l.pe, 1, "%s: this PE does not hold the lock at %p", l.call, (void *)lock);
    }
    will_clear(&l);
    if ((node & GSH_LOCK_BEHIND) == 0) {
        if (change(&l, GSH_AMO_CSWAP, l.tail, 0, my_name(&l), l.home) == my_name(&l)) {
            send(&l, GSH_AMO_AND, l.node, ~GSH_LOCK_TAKEN, l.pe->my_pe);
            return;
        }
        node = wait_for(&l, GSH_LOCK_BEHIND, true, l.home);
    }
    /* The next owner's first use of this node comes after our grant, or after another thread of
     * this PE has taken the place: either finds it empty. */
    change(&l, GSH_AMO_SWAP, l.node, 0, 0, l.pe->my_pe);
    send(&l, GSH_AMO_OR, l.node, GSH_LOCK_GRANTED, (int)(node & GSH_LOCK_BEHIND) - 1);
}
