/* SPDX-License-Identifier: Apache-2.0
 * Reads a timeline's file back, as far as a summary needs it. The file may hold anything: what is
 * not a timeline's is refused or left out, and every number is checked. */
#ifndef GSH_TRACE_READ_H
#define GSH_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/result.h"

struct gsh_told_process {
    uint64_t uuid;
    int pe;
    uint64_t error_ns;    /* of its clock */
    uint64_t n_lost;      /* events of kernels that were not taken in time */
    uint64_t n_left_out;  /* events for which there was no room in a part */
    const char *left_why; /* why not; "": nothing was left out */
    const char *name;
};

struct gsh_told_track {
    uint64_t uuid;
    size_t process;
    const char *name;
};

struct gsh_told_slice {
    size_t track;
    const char *name, *category, *word;
    uint64_t begin_ns, end_ns, bytes;
    int pe;                   /* whom it concerns; -1: nobody in particular */
    int ended_by;             /* of a wait; -1: not known */
    uint64_t arrow, n_arrows; /* numbers of those it begins; of a wait: of the one that ended it */
    uint32_t depth;
};

struct gsh_told {
    struct gsh_told_process *processes;
    size_t n_processes, processes_room;
    struct gsh_told_track *tracks;
    size_t n_tracks, tracks_room;
    struct gsh_told_slice *slices; /* by track, in the order of their beginnings */
    size_t n_slices, slices_room;
    uint64_t begin_ns, end_ns;
    char **texts;
    size_t n_texts, texts_room;
};

GSH_CHECK_RESULT enum gsh_result gsh_told_read(const char *file, struct gsh_told *told);
void gsh_told_free(struct gsh_told *told);

#endif
