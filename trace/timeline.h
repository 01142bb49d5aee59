/* SPDX-License-Identifier: Apache-2.0
 * A job's timeline in memory: what its parts say, in one list. Built in steps, each of which uses
 * what those before it have filled in: load.h, clocks.h, posts.h, rows.h, memories.h, flows.h;
 * perfetto.h writes it. */
#ifndef GSH_TRACE_TIMELINE_H
#define GSH_TRACE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trace/part.h"

/* When this PE entered and left an exchange of all PEs, or the host read a kernel's clock. */
struct gsh_clock_round {
    uint64_t number, begin_ns, end_ns;
};

/* time + offset_ns + slope * (time - at_ns) is PE 0's time, give or take error_ns. */
struct gsh_clock {
    double offset_ns, slope, error_ns;
    uint64_t at_ns;
};

struct gsh_timeline_part {
    struct gsh_trace_head head;
    struct gsh_clock_round *rounds, *device_rounds;
    size_t n_rounds, rounds_room, n_device_rounds, device_rounds_room;
    struct gsh_clock clock, device_clock; /* device_clock: to this host's */
    uint64_t n_lost;                      /* events of kernels */
    char **names;                         /* [n_names], by number; NULL: never told */
    size_t n_names;
};

enum gsh_track_kind {
    GSH_TRACK_THREAD,  /* of the host; number: of the part's chunks */
    GSH_TRACK_KERNEL,  /* a thread of a kernel; number: ring and thread */
    GSH_TRACK_PROXY,   /* number: of the row, rows.h */
    GSH_TRACK_NETWORK, /* likewise */
    GSH_TRACK_RANGES,  /* likewise */
    GSH_TRACK_NIC      /* likewise */
};

struct gsh_timeline_track {
    uint32_t part;
    enum gsh_track_kind kind;
    uint32_t number;
    char name[96];
};

#define GSH_NO_TRACK UINT32_MAX

struct gsh_timeline_item {
    struct gsh_trace_slot slot; /* times: PE 0's, once clocks are known */
    const char *name;
    uint32_t part, track; /* GSH_NO_TRACK: it is not drawn */
    bool is_device_time;
    uint32_t first_flow, n_flows; /* a wait's: the flow that ended it; a signal's: those it began */
    int32_t ended_by;             /* of a wait: the PE whose signal ended it; -1: not known */
};

/* An arrow from one item to another. */
struct gsh_timeline_flow {
    uint32_t from, to;
};

struct gsh_timeline {
    struct gsh_timeline_part *parts;
    size_t n_parts, parts_room;
    struct gsh_timeline_track *tracks;
    size_t n_tracks, tracks_room;
    struct gsh_timeline_item *items;
    size_t n_items, items_room;
    struct gsh_timeline_flow *flows; /* by from */
    size_t n_flows, flows_room;
    char **texts; /* that items' names are */
    size_t n_texts, texts_room;
};

void gsh_timeline_free(struct gsh_timeline *t);

#endif
