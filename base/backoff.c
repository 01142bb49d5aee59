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
    unsigned t = *backoff;
    if (t < PAUSE_POLLS) {
        gsh_pause();
    } else if (t < PAUSE_POLLS + YIELD_POLLS) {
        sched_yield();
    } else {
        unsigned ns = 1000u * (t - PAUSE_POLLS - YIELD_POLLS + 1);
        struct timespec nap = {.tv_nsec = ns < SLEEP_MAX_NS ? ns : SLEEP_MAX_NS};
        nanosleep(&nap, NULL);
    }
    if (t < PAUSE_POLLS + YIELD_POLLS + SLEEP_MAX_NS / 1000u) {
        *backoff = t + 1;
    }
}
