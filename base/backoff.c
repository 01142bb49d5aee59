/* SPDX-License-Identifier: Apache-2.0
 * How a host thread waits for a word that another PE will change. */
#include "base/atomic.h"

#include <time.h>

/* A pause costs tens of nanoseconds and a yield about a microsecond: short waits stay on the core,
 * waits beyond roughly 200 us give it up. */
#define PAUSE_TURNS  64u
#define BUSY_TURNS   256u /* each does work: tens of microseconds */
#define YIELD_TURNS  256u
#define SLEEP_MAX_NS 50000u

void gsh_backoff_busy(unsigned *turn)
{
    unsigned t = *turn;
    if (t < BUSY_TURNS) {
        *turn = t + 1;
        return;
    }
    t -= BUSY_TURNS - PAUSE_TURNS;
    gsh_backoff(&t);
    *turn = t + (BUSY_TURNS - PAUSE_TURNS);
}

void gsh_backoff(unsigned *turn)
{
    unsigned t = *turn;
    if (t < PAUSE_TURNS) {
        gsh_pause();
    } else if (t < PAUSE_TURNS + YIELD_TURNS) {
        sched_yield();
    } else {
        unsigned ns = 1000u * (t - PAUSE_TURNS - YIELD_TURNS + 1);
        struct timespec nap = {.tv_nsec = ns < SLEEP_MAX_NS ? ns : SLEEP_MAX_NS};
        nanosleep(&nap, NULL);
    }
    if (t < PAUSE_TURNS + YIELD_TURNS + SLEEP_MAX_NS / 1000u) {
        *turn = t + 1;
    }
}
