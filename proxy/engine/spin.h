/* SPDX-License-Identifier: Apache-2.0
 * Waiting for something that is about to happen. */
#ifndef GSH_SPIN_H
#define GSH_SPIN_H

#include "base/atomic.h"

/* One poll of a spin that never sleeps: pauses and sometimes yields. */
static inline void gsh_spin(unsigned *backoff)
{
    unsigned t = (*backoff)++ % 80; /* of which gsh_backoff makes 64 pauses, 16 yields */
    gsh_backoff(&t);
}

#endif
