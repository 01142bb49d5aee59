/* SPDX-License-Identifier: Apache-2.0
 * What gshmem-trace works out of a timeline, for its text and its picture. */
#ifndef GSH_TRACE_SUMMARY_H
#define GSH_TRACE_SUMMARY_H

#include "trace/read.h"

/* What a PE does with its time; TRACE_KINDS: what others do for it. */
enum trace_kind { TRACE_WAIT, TRACE_COLLECTIVE, TRACE_DATA, TRACE_OTHER, TRACE_KINDS };

/* All slices of one name on one PE in one place. */
struct trace_row {
    int pe;
    const char *where; /* trace_where */
    bool is_wait;
    enum trace_kind kind;
    const char *name;
    uint64_t n, ns, bytes; /* ns: of those inside no other call */
};

struct trace_summary {
    int n_pes;
    struct trace_row *rows; /* by PE, longest first */
    size_t n_rows, rows_room;
    const struct gsh_told_slice **waits; /* longest first */
    size_t n_waits, waits_room;
    uint64_t *bytes; /* [n_pes][n_pes]: from one to the other */
};

GSH_CHECK_RESULT enum gsh_result trace_summarise(const struct gsh_told *told,
                                                 struct trace_summary *s);
void trace_summary_free(struct trace_summary *s);
/* The PE of a slice. */
int trace_pe(const struct gsh_told *told, const struct gsh_told_slice *slice);
/* What its track is of: "host", "kernels", "streams", "proxy", "network" or "NIC". */
const char *trace_where(const struct gsh_told_track *track);
/* The call that ended a wait; NULL: not known. */
const struct gsh_told_slice *trace_cause(const struct gsh_told *told,
                                         const struct gsh_told_slice *wait);
/* 1234567 as "1.235 ms", 1500 as "1.5 KB": text of 16 characters at most. */
void trace_time(uint64_t ns, char text[16]);
void trace_bytes(uint64_t bytes, char text[16]);

enum { TRACE_WAITS = 10, TRACE_ROWS = 16 };

/* trace_svg.c */
GSH_CHECK_RESULT enum gsh_result trace_draw(const struct gsh_told *told,
                                            const struct trace_summary *s, const char *file);

#endif
