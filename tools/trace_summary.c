/* SPDX-License-Identifier: Apache-2.0
 * Adds up a timeline. */
#include "tools/trace_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/util.h"

enum { PES_MAX = 4096 };

int trace_pe(const struct gsh_told *told, const struct gsh_told_slice *slice)
{
    return told->processes[told->tracks[slice->track].process].pe;
}

const char *trace_where(const struct gsh_told_track *track)
{
    if (strcmp(track->name, "proxy") == 0 || strcmp(track->name, "network") == 0 ||
        strcmp(track->name, "NIC") == 0) {
        return track->name;
    }
    return strncmp(track->name, "block ", 6) == 0    ? "kernels"
           : strncmp(track->name, "stream ", 7) == 0 ? "streams"
                                                     : "host";
}

void trace_time(uint64_t ns, char text[16])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)ns;
    size_t unit = 0;
    for (; value >= 1000 && unit + 1 < GSH_ARRAY_LEN(units); unit++) {
        value /= 1000;
    }
    snprintf(text, 16, "%.*f %s", unit == 0 ? 0 : value < 10 ? 2 : 1, value, units[unit]);
}

void trace_bytes(uint64_t bytes, char text[16])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1000 && unit + 1 < GSH_ARRAY_LEN(units); unit++) {
        value /= 1000;
    }
    snprintf(text, 16, "%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
}

const struct gsh_told_slice *trace_cause(const struct gsh_told *told,
                                         const struct gsh_told_slice *wait)
{
    for (size_t i = 0; wait->arrow != 0 && i < told->n_slices; i++) {
        const struct gsh_told_slice *s = &told->slices[i];
        if (wait->arrow - s->arrow < s->n_arrows) {
            return s;
        }
    }
    return NULL;
}

static enum trace_kind kind_of(const struct gsh_told_slice *slice)
{
    const char *category = slice->category;
    return strcmp(category, "wait") == 0         ? TRACE_WAIT
           : strcmp(category, "collective") == 0 ? TRACE_COLLECTIVE
           : strcmp(category, "request") == 0 || strcmp(category, "transfer") == 0   ? TRACE_KINDS
           : strcmp(category, "get") == 0 || slice->bytes > 0 || slice->n_arrows > 0 ? TRACE_DATA
                                                                                     : TRACE_OTHER;
}

static struct trace_row *find_row(struct trace_summary *s, int pe, const char *where,
                                  const struct gsh_told_slice *slice)
{
    for (size_t i = s->n_rows; i > 0; i--) {
        struct trace_row *row = &s->rows[i - 1];
        if (row->pe == pe && strcmp(row->where, where) == 0 &&
            strcmp(row->name, slice->name) == 0) {
            return row;
        }
    }
    if (!gsh_array_reserve(&s->rows, &s->rows_room, s->n_rows + 1, sizeof(*s->rows))) {
        return NULL;
    }
    s->rows[s->n_rows] = (struct trace_row){.pe = pe,
                                            .where = where,
                                            .is_wait = strcmp(slice->category, "wait") == 0,
                                            .name = slice->name};
    return &s->rows[s->n_rows++];
}

static int order_rows(const void *x, const void *y)
{
    const struct trace_row *a = x, *b = y;
    if (a->pe != b->pe) {
        return a->pe - b->pe;
    }
    return (a->ns < b->ns) - (a->ns > b->ns);
}

static uint64_t length_of(const struct gsh_told_slice *s)
{
    return s->end_ns - s->begin_ns;
}

static int order_waits(const void *x, const void *y)
{
    uint64_t a = length_of(*(const struct gsh_told_slice *const *)x);
    uint64_t b = length_of(*(const struct gsh_told_slice *const *)y);
    return (a < b) - (a > b);
}

static bool add_slice(const struct gsh_told *told, struct trace_summary *s,
                      const struct gsh_told_slice *slice)
{
    int pe = trace_pe(told, slice);
    bool is_get = strcmp(slice->category, "get") == 0;
    bool is_call = strcmp(slice->category, "request") != 0 &&
                   strcmp(slice->category, "transfer") != 0 &&
                   strcmp(slice->category, "receive") != 0; /* the sender has them */
    if (strcmp(slice->category, "span") == 0) {
        return true;
    }
    struct trace_row *row = find_row(s, pe, trace_where(&told->tracks[slice->track]), slice);
    if (row == NULL) {
        return false;
    }
    if (row->n++ == 0 || kind_of(slice) < row->kind) {
        row->kind = kind_of(slice);
    }
    row->ns += length_of(slice);
    row->bytes += slice->bytes;
    if (is_call && slice->pe >= 0 && slice->pe < s->n_pes) {
        size_t from = (size_t)(is_get ? slice->pe : pe), to = (size_t)(is_get ? pe : slice->pe);
        s->bytes[from * (size_t)s->n_pes + to] += slice->bytes;
    }
    if (row->is_wait) {
        if (!gsh_array_reserve(&s->waits, &s->waits_room, s->n_waits + 1, sizeof(*s->waits))) {
            return false;
        }
        s->waits[s->n_waits++] = slice;
    }
    return true;
}

enum gsh_result trace_summarise(const struct gsh_told *told, struct trace_summary *s)
{
    *s = (struct trace_summary){0};
    for (size_t i = 0; i < told->n_processes; i++) {
        s->n_pes = told->processes[i].pe >= s->n_pes ? told->processes[i].pe + 1 : s->n_pes;
    }
    if (s->n_pes > PES_MAX) {
        return gsh_fail(GSH_ERR_ARG, "a summary is for at most %d PEs", PES_MAX);
    }
    s->bytes = calloc((size_t)s->n_pes * (size_t)s->n_pes, sizeof(*s->bytes));
    bool is_added = s->bytes != NULL;
    for (size_t i = 0; is_added && i < told->n_slices; i++) {
        is_added = add_slice(told, s, &told->slices[i]);
    }
    if (!is_added) {
        trace_summary_free(s);
        return gsh_fail(GSH_ERR_NOMEM, "timeline: no memory");
    }
    if (s->n_rows > 0) {
        qsort(s->rows, s->n_rows, sizeof(*s->rows), order_rows);
    }
    if (s->n_waits > 0) {
        qsort(s->waits, s->n_waits, sizeof(*s->waits), order_waits);
    }
    return GSH_OK;
}

void trace_summary_free(struct trace_summary *s)
{
    free(s->rows);
    free(s->waits);
    free(s->bytes);
    *s = (struct trace_summary){0};
}
