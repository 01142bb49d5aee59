/* SPDX-License-Identifier: Apache-2.0
 * Deaths that a job outlives. In a job that a dialect has started, a PE that dies, or exits without
 * finalize, does not end the others: each marks it as dead, its waits for it end, and the dialect
 * decides what is lost with it. What a dead PE has shared stays mapped.
 *
 * Each PE has a pipe to which it never writes, and has given the end to read from to all other
 * processes of the node: it closes when the process ends. A PE that ends well says so in its page
 * before. So any number of PEs may die, in any order. A child that it forks has the pipe no more
 * (base/private_fd.h); one of vfork or of clone itself keeps it open until it becomes
 * another program or ends, and the PE's death is not seen before.
 *
 * A far PE's death is found by the transport. In a job on several nodes, who finds one, by a pipe
 * or by the transport, tells the others (end_notice.h), each of which does the same; the proxy goes
 * on without the PE. A PE that hears of its own death, since others have lost it while it lives,
 * has lost all of them. So have all PEs of each other in a job that is one process, and a PE whose
 * proxy fails as a whole. */
#ifndef GSH_DEATH_H
#define GSH_DEATH_H

#include <stdbool.h>
#include "base/atomic.h"
#include "base/result.h"
#include "runtime/instance/instance.h"

struct gsh_deaths;

/* How far it has gone: the host's waits end, and then, a moment later, those of kernels. */
enum gsh_death { GSH_DEATH_NONE, GSH_DEATH_HOST, GSH_DEATH_KERNELS };

/* Whether the proxy goes on after the loss of a far PE. */
static inline bool gsh_deaths_are_single(const struct gsh_instance *pe)
{
    return pe->outlives_deaths && !pe->is_one_process;
}
/* What gsh_deaths_create and the monitor hold, beyond what takes turns with init's pages, in a PE
 * with n other processes on its node. */
int gsh_deaths_n_fds(const struct gsh_instance *pe, int n);
/* Collective over the job, after the monitor; nothing unless the PE outlives deaths. All PEs fail
 * when one does. */
GSH_CHECK_RESULT enum gsh_result gsh_deaths_create(struct gsh_instance *pe);
/* The PE ends well: all PEs have said that they need it no more. Accepts none. */
void gsh_deaths_destroy(struct gsh_instance *pe);
/* The transport, or another PE, has found that PE dead, which is not on this node. Any thread; does
 * not wait. False: nobody listens yet; the PE is dead nevertheless. */
bool gsh_deaths_report(struct gsh_instance *pe, int dead);
/* All PEs are lost to this one; GSH_DEATH_KERNELS: and its kernels leave for good. Any thread. */
void gsh_deaths_all(struct gsh_instance *pe, enum gsh_death death);
/* Whether a kernel of this PE has left a wait for a dead PE, or has asked a far one. Any thread. */
bool gsh_deaths_have_reached_kernels(const struct gsh_instance *pe);
/* The time between the two steps. */
void gsh_deaths_await_moment(void);

/* Whether a PE of the list has died, at least so far, or all are lost. Any thread. What a PE wrote
 * before it died is seen by a caller that looks for it afterwards. */
static inline bool gsh_is_death_at(const struct gsh_instance *pe, const int *pes, int n,
                                   enum gsh_death least)
{
    /* acquire: pairs with the release of the thread that has found the death */
    if (gsh_load_acquire_u32(&pe->n_deaths) == 0) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (gsh_load_acquire_u32(&pe->peers[pes[i]].death) >= (uint32_t)least) {
            return true;
        }
    }
    return false;
}

static inline bool gsh_is_death_among(const struct gsh_instance *pe, const int *pes, int n)
{
    return gsh_is_death_at(pe, pes, n, GSH_DEATH_HOST);
}

/* The same for all PEs of the job. */
static inline bool gsh_is_death(const struct gsh_instance *pe)
{
    /* acquire: as above */
    return gsh_load_acquire_u32(&pe->n_deaths) != 0;
}

/* For a wait that ends by a death: an error without a line, since the dialect says what is lost. */
enum gsh_result gsh_note_death(const char *call);

/* Kernels that wait for a word of this memory leave, from gsh_deaths_tell_lost on. False: there is
 * no room for more. What touches other memory of which kernels have not been told needs none. bytes
 * may be 0. Any thread, but one at a time. */
bool gsh_deaths_lose(struct gsh_instance *pe, uint64_t begin, uint64_t bytes);
void gsh_deaths_tell_lost(struct gsh_instance *pe);

/* Per process: a thread of the library calls subscriber for each death, after a moment in which
 * kernels may have found what the PE wrote last. It must not wait. Not called if all PEs are lost:
 * then all kernels leave. */
typedef void gsh_death_fn(void *pe, int dead);
void gsh_deaths_subscribe(gsh_death_fn *subscriber_fn);

#endif
