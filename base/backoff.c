/* SPDX-License-Identifier: Apache-2.0
 * How a host thread waits for a word that another PE will change. */
#include "base/atomic.h"

#include <time.h>

/* A pause costs tens of nanoseconds and a yield about a microsecond: short waits stay on the core,
 * waits beyond roughly 200 us give it up. */
#define PAUSE_POLLS  64u
#define BUSY_POLLS   256u /* each does work: tens of microseconds */
#define YIELD_POLLS  256u
#define SLEEP_MAX_NS 50000u
#define SLEEP_STEPS  50u /* the first naps are shorter */

/* If so many waiters share a core, looking at their words would take most of its time: they give it
 * up sooner and nap longer, so that a core has at most 100,000 naps to end in a second. */
#define CROWD             8
#define CROWD_SLEEP_NS    10000u /* for each of them */
#define CROWD_MAX_NS      20000000u
#define CROWD_YIELD_LEAST 4u

static uint32_t crowd_yields = YIELD_POLLS, crowd_sleep_ns = SLEEP_MAX_NS;

void gsh_backoff_crowd(int n_waiters, int n_cores)
{
    const uint32_t each = (uint32_t)(n_waiters / (n_cores > 0 ? n_cores : 1));
    uint32_t yields = YIELD_POLLS, ns = SLEEP_MAX_NS;
    if (each > CROWD) {
        yields = YIELD_POLLS * CROWD / each;
        yields = yields < CROWD_YIELD_LEAST ? CROWD_YIELD_LEAST : yields;
        ns = each < CROWD_MAX_NS / CROWD_SLEEP_NS ? each * CROWD_SLEEP_NS : CROWD_MAX_NS;
        ns = ns < SLEEP_MAX_NS ? SLEEP_MAX_NS : ns;
    }
    /* relaxed: a waiter that sees the earlier values waits as it did */
    __atomic_store_n(&crowd_yields, yields, __ATOMIC_RELAXED);
    __atomic_store_n(&crowd_sleep_ns, ns, __ATOMIC_RELAXED);
}

void gsh_backoff_busy(unsigned *backoff)
{
    unsigned t = *backoff;
    if (t < BUSY_POLLS) {
        *backoff = t + 1;
        return;
    }
    t -= BUSY_POLLS - PAUSE_POLLS;
    gsh_backoff(&t);
    *backoff = t + (BUSY_POLLS - PAUSE_POLLS);
}

void gsh_backoff(unsigned *backoff)
{
    const unsigned t = *backoff;
    const uint32_t naps_from = PAUSE_POLLS + __atomic_load_n(&crowd_yields, __ATOMIC_RELAXED);
    if (t < PAUSE_POLLS) {
        gsh_pause();
    } else if (t < naps_from) {
        sched_yield();
    } else {
        const uint32_t longest = __atomic_load_n(&crowd_sleep_ns, __ATOMIC_RELAXED);
        const uint32_t nap_ns = longest / SLEEP_STEPS * (t - naps_from + 1);
        struct timespec nap = {.tv_nsec = nap_ns < longest ? nap_ns : longest};
        nanosleep(&nap, NULL);
    }
    if (t < naps_from + SLEEP_STEPS) {
        *backoff = t + 1;
    }
}
