/* SPDX-License-Identifier: Apache-2.0
 * A lock for short critical sections that are entered very often and hardly ever contended. Giving
 * it back is a store: a mutex's atomic operation would wait until all stores of the section,
 * including those to other cores' cache lines, are visible. A thread that finds it taken spins,
 * yields, then sleeps (gsh_backoff); there is no queue. All zeros: free. */
#ifndef GSH_LOCK_H
#define GSH_LOCK_H

#include <stdbool.h>
#include "base/atomic.h"

struct gsh_lock {
    uint32_t is_taken;
};

/* acquire: pairs with the release in gsh_lock_give */
static inline bool gsh_lock_try(struct gsh_lock *lock)
{
    return gsh_load_relaxed_u32(&lock->is_taken) == 0 &&
           __atomic_exchange_n(&lock->is_taken, 1, __ATOMIC_ACQUIRE) == 0;
}

static inline void gsh_lock_take(struct gsh_lock *lock)
{
    unsigned backoff = 0;
    while (!gsh_lock_try(lock)) {
        gsh_backoff(&backoff);
    }
}

static inline void gsh_lock_give(struct gsh_lock *lock)
{
    gsh_store_release_u32(&lock->is_taken, 0);
}

#endif
