/* SPDX-License-Identifier: Apache-2.0
 * The table in which the waits of a PE say what they wait for, when somebody asks. It lies in the
 * PE's page of host memory. Compiles as C17, C++17 and CUDA; C standard headers only.
 *
 * One thread of the PE's host at a time asks: it stores a number that it has not used before into
 * gsh_control.wait_request, and some time later, when it has read the answers, 0. A thread that has
 * waited for some time looks at that word now and then. While it is not 0 the thread claims an
 * entry, once for each request. So a wait that nobody asks about writes nothing, and one that is
 * over does not answer: nothing has to be withdrawn.
 *
 * Invariants
 * - An entry's tag is 0, or its request's number times 2, plus 1 once the entry is complete. A
 *   writer claims the entry by a compare-and-swap of a tag that is 0 or complete, and of an older
 *   request; then it alone writes the entry. It stores the complete tag with release; readers load
 *   it with acquire.
 * - A thread tries GSH_WAITS_PROBES entries from the one that its place in the grid gives. If all
 *   are taken it sets its bit of `missed`, and the host counts the bits: at least so many waits are
 *   not in the table. */
#ifndef GSH_WAITS_TABLE_H
#define GSH_WAITS_TABLE_H

#include <stdint.h>
#include "state.h"

#define GSH_WAITS_ENTRIES     1024u
#define GSH_WAITS_PROBES      16u
#define GSH_WAITS_MISSED_BITS 4096u

/* What a wait is for, beyond enum gsh_report_kind; only host threads have these. */
enum gsh_waits_kind {
    GSH_WAITS_COLLECTIVE = 64, /* a call that all PEs of a team, or of the job, make */
};

struct gsh_waits_entry {
    uint32_t tag;
    uint32_t kind; /* enum gsh_report_kind or gsh_waits_kind */
    int32_t pe;    /* that is waited for; -1: not known, or none in particular */
    uint32_t cmp;  /* GSHMEM_CMP_* */
    uint64_t address, expected, seen;
    uint64_t waited_ns;
    uint32_t block[3], thread[3]; /* of a host thread: zeros, and its number in thread[0] */
    uint32_t is_host;
    int32_t team; /* of a host thread's collective; -1: the address says it, or none */
    char call[40];
};
GSH_STATIC_ASSERT(sizeof(struct gsh_waits_entry) == 120, "gsh_waits_entry is wire");

struct gsh_waits_table {
    struct gsh_waits_entry entry[GSH_WAITS_ENTRIES];
    uint32_t
        missed[GSH_WAITS_MISSED_BITS / 32]; /* by atomics; the host clears it between requests */
};

#endif
