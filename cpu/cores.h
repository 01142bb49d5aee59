/* SPDX-License-Identifier: Apache-2.0
 * Which blocks run now. Each block has an OS thread (README.md says why), but only two of them for
 * each core of the machine run: an OS thread takes a core, here half of a real one, before it runs
 * a block, and gives it to the next one whenever its block can only wait. One queue serves all
 * devices of the process, so blocks of all PEs, streams and launches take turns.
 *
 * The queue is first in, first out, so each thread in it gets a core once those before it have
 * passed theirs on. If one does not, because its block computes for long or spins where no call of
 * the executor sees it, a thread in the queue notices: it asks the block to pass the core on at its
 * next call, and failing that no longer counts it. The system then shares its cores among more
 * threads than there are cores, as it does among all others.
 *
 * A runner belongs to one OS thread, which makes all calls for it except gsh_core_wake and
 * gsh_cores_cancel. No call orders memory for the thread sanitizer: what one block does before it
 * passes its core on is not ordered against what the next one does. */
#ifndef GSH_CORES_H
#define GSH_CORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sanitizer.h"

enum gsh_runner_state {
    GSH_RUNNER_OUT, /* has no core and wants none */
    GSH_RUNNER_QUEUED,
    GSH_RUNNER_ASLEEP,
    GSH_RUNNER_ON_CORE,
    GSH_RUNNER_UNCOUNTED, /* runs without a core: it has kept one for too long */
};

/* The fields are those of cores.c. */
struct gsh_runner {
    struct gsh_runner *next, *previous; /* in the queue, or among those on cores */
    uint32_t signal;                    /* enum signal of cores.c; a futex */
    uint32_t must_pass;                 /* atomic; see gsh_core_must_pass */
    uint8_t state;        /* enum gsh_runner_state; under the lock, like what follows */
    bool is_busy;         /* its block can go on, as far as is known */
    bool is_woken;        /* gsh_core_wake came before gsh_core_sleep */
    uint32_t n_looks;     /* of the watch, since it got the core */
    const void *spare_of; /* see gsh_core_take_spare; NULL: it is none */
};

/* Without a core. */
void gsh_runner_init(struct gsh_runner *self);

/* How many of the process's blocks are meant to run at one time. */
unsigned gsh_cores_count(void);

/* Waits for a core. */
void gsh_core_take(struct gsh_runner *self);
/* The same for a thread that has no block yet. false: gsh_cores_cancel has named its owner, and it
 * has no core. */
bool gsh_core_take_spare(struct gsh_runner *self, const void *owner);
/* Sends all that wait in gsh_core_take_spare for this owner away. */
void gsh_cores_cancel(const void *owner);
/* Gives the core back. */
void gsh_core_leave(struct gsh_runner *self);

/* Whether a runner other than a spare one waits for a core; a hint. */
bool gsh_cores_are_wanted(void);
/* Gives the core to the next runner in the queue and waits at its end. is_busy: the caller's block
 * can go on, and spare runners let it pass. false: there was no other runner, and the caller has
 * kept its core. */
bool gsh_core_pass(struct gsh_runner *self, bool is_busy);

/* Gives the core back and waits until gsh_core_wake, which may also come first, then for a core. */
void gsh_core_sleep(struct gsh_runner *self);
void gsh_core_wake(struct gsh_runner *runner);

/* Others have waited for its core for long: the caller should call gsh_core_pass soon. */
GSH_NO_TSAN static inline bool gsh_core_must_pass(const struct gsh_runner *self)
{
    return __atomic_load_n(&self->must_pass, __ATOMIC_RELAXED) != 0;
}

#endif
