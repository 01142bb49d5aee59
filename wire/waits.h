/* SPDX-License-Identifier: Apache-2.0
 * The table in which the waits of a PE say what they wait for, when somebody asks. It lies in the
 * PE's page of host memory. Compiles as C17, C++17 and CUDA; C standard headers only.
 *
 * One thread of the PE's host at a time asks: it stores a number that it has not used before into
 * gsh_control.wait_request, and some time later, when it has read the answers, 0. A thread that has
 * waited for some time looks at that word now and then. While it is not 0 the thread
 * answers, once for each request. So a wait that nobody asks about writes nothing, and one that is
 * over does not answer: nothing has to be withdrawn.
 *
 * Invariants
 * - A thread answers a request once for each word: it sets its bit of `answered`, and goes on only
 *   if the bit was 0. The threads of a grid of up to GSH_WAITS_BITS threads that wait for one word,
 *   or for consecutive words, have different bits. Two others may share one; then one of them is
 *   not reported. The host clears the bits before each request.
 * - Then it takes the next entry by adding 1 to `taken`, which only grows, and which the host reads
 *   before and after a request. Entries from `limit` on are not written: `taken` still counts them,
 *   so the host knows how many waits found no room. Entry n is entry[n % GSH_WAITS_ENTRIES].
 * - The thread writes its entry, and stores the request as its state with release; the host loads
 *   it with acquire. */
#ifndef GSH_WAITS_TABLE_H
#define GSH_WAITS_TABLE_H

#include <stdint.h>
#include "state.h"

#define GSH_WAITS_ENTRIES 1024u
#define GSH_WAITS_BITS    32768u

/* What a wait is for, beyond enum gsh_report_kind; only host threads have these. */
enum gsh_waits_kind {
    GSH_WAITS_COLLECTIVE = 64, /* a call that all PEs of a team, or of the job, make */
    GSH_WAITS_PEER = 65,       /* what another process does, such as to send a message */
    GSH_WAITS_DRIVER = 66,     /* the device's driver, which has not returned */
};

/* Where the call of entry n stands in the program, in files that are compiled with
 * GSHMEM_CALL_SITES. Written before the entry's state. */
struct gsh_waits_site {
    uint32_t request; /* that the entry answers; else there is no site */
    uint32_t line;
    char file[56]; /* its name without folders, NUL-terminated */
};

/* An entry is a gsh_report, so that kernels have one function that writes either. Of it:
 *   state   the request that it answers
 *   kind    enum gsh_report_kind or gsh_waits_kind
 *   pe      that is waited for; -1: not known, or none in particular
 *   bytes   for how long, in nanoseconds */
struct gsh_waits_table {
    struct gsh_report entry[GSH_WAITS_ENTRIES];
    uint32_t answered[GSH_WAITS_BITS / 32]; /* by atomics */
    uint32_t taken;                         /* by atomics */
    uint32_t limit;                         /* the host's */
    /* The last is not an entry's, but that of gsh_control.report; its `request` is 1 if there is a
     * site. */
    struct gsh_waits_site site[GSH_WAITS_ENTRIES + 1];
};

/* The bit of a thread, by its number in its grid, that waits for the word at this address. */
#define GSH_WAITS_BIT(thread, address) \
    (((uint32_t)(thread) + (uint32_t)((address) >> 3) * 2654435760u) % GSH_WAITS_BITS)

#endif
