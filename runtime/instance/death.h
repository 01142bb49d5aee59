/* SPDX-License-Identifier: Apache-2.0
 * Deaths that a job outlives. In a job that a dialect has started, a PE that dies, or exits without
 * finalize, does not end the others. Each other PE marks it as dead and ends its own waits for it,
 * and the dialect decides what is lost with it. Memory that the dead PE has shared stays mapped.
 *
 * Each PE has a pipe to which it never writes, and has given the read end to all other processes of
 * the node. The pipe closes when the PE's process ends. A PE that ends well says so in its page
 * first. So any number of PEs may die, in any order. A forked child of the PE no longer has the
 * pipe (base/private_fd.h). A child made by vfork, or by the system call clone, keeps it open until
 * it ends or becomes another program; until then the PE's death goes unnoticed.
 *
 * A far PE's death is found by the transport. In a job on several nodes, the PE that finds a death,
 * by a pipe or by the transport, tells others (end_notice.h), and each of these does the same. The
 * proxy goes on without the dead PE. A PE may hear of its own death while it lives, if others have
 * lost it: then it has lost all of them. A PE whose proxy fails as a whole has lost all others,
 * too, and in a job that is one process a death means that all PEs have lost each other. */
#ifndef GSH_DEATH_H
#define GSH_DEATH_H

#include <stdbool.h>
#include "base/atomic.h"
#include "base/result.h"
#include "runtime/instance/instance.h"

struct gsh_deaths;

/* How far a PE's death has been acted on: the host's waits end first and, a moment later, those of
 * kernels. */
enum gsh_death { GSH_DEATH_NONE, GSH_DEATH_HOST, GSH_DEATH_KERNELS };

/* Whether the proxy goes on after the loss of a far PE. */
static inline bool gsh_deaths_are_single(const struct gsh_instance *pe)
{
    return pe->outlives_deaths && !pe->is_one_process;
}
/* How many descriptors gsh_deaths_create and the monitor hold in a PE with n other processes on its
 * node, beyond those that were in use for init's pages and are free again. */
int gsh_deaths_n_fds(const struct gsh_instance *pe, int n);
/* Collective over the job, after the monitor; nothing unless the PE outlives deaths. All PEs fail
 * when one does. */
GSH_CHECK_RESULT enum gsh_result gsh_deaths_create(struct gsh_instance *pe);
/* The PE ends well: no PE needs it any more, and all have said so. Accepts a PE without deaths. */
void gsh_deaths_destroy(struct gsh_instance *pe);
/* The transport, or another PE, has found that PE, which is not on this node, dead. Any thread;
 * does not wait. False: nobody listens yet; the PE is dead nevertheless. */
bool gsh_deaths_report(struct gsh_instance *pe, int dead);
/* All PEs are lost to this one; GSH_DEATH_KERNELS: and its kernels leave for good. Any thread. */
void gsh_deaths_all(struct gsh_instance *pe, enum gsh_death death);
/* Whether a kernel of this PE has left a wait for a dead PE, or has asked a far one. Any thread. */
bool gsh_deaths_have_reached_kernels(const struct gsh_instance *pe);
/* The time between the two steps. */
void gsh_deaths_await_moment(void);

/* Whether for some PE of the list, or of all if it is NULL, death has gone at least that far, or
 * all PEs are lost. Any thread. A caller that afterwards reads what the PE wrote before it died
 * sees it. */
static inline bool gsh_is_death_at(const struct gsh_instance *pe, const int *pes, int n,
                                   enum gsh_death least)
{
    /* acquire: pairs with the release of the thread that has found the death */
    if (gsh_load_acquire_u32(&pe->n_deaths) == 0) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (__atomic_load_n(&pe->peers[pes != NULL ? pes[i] : i].death, __ATOMIC_ACQUIRE) >=
            (uint8_t)least) {
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

/* From gsh_deaths_tell_lost on, kernels that wait for a word of this memory leave. False: there is
 * no room for more ranges. A range that touches one of which kernels have not been told yet needs
 * no room. bytes may be 0. Any thread, but one at a time. */
bool gsh_deaths_lose(struct gsh_instance *pe, uint64_t begin, uint64_t bytes);
void gsh_deaths_tell_lost(struct gsh_instance *pe);

/* Per process: a thread of the library calls subscriber for each death, after a moment in which
 * kernels may have found what the PE wrote last. It must not wait. Not called if all PEs are lost:
 * then all kernels leave. */
typedef void gsh_death_fn(void *pe, int dead);
void gsh_deaths_subscribe(gsh_death_fn *subscriber_fn);

#endif
