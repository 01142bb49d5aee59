/* SPDX-License-Identifier: Apache-2.0
 * See rows.h. */
#include "trace/rows.h"

#include <stdlib.h>
#include "base/array.h"
#include "base/util.h"

static bool has_row(const struct gsh_timeline_item *item)
{
    unsigned kind = item->slot.kind;
    return kind == GSH_TRACE_REQUEST || kind == GSH_TRACE_TRANSFER || kind == GSH_TRACE_RANGE ||
           kind == GSH_TRACE_POST;
}

static int order_begins(const void *x, const void *y)
{
    const struct gsh_timeline_item *a = *(struct gsh_timeline_item *const *)x;
    const struct gsh_timeline_item *b = *(struct gsh_timeline_item *const *)y;
    if (a->part != b->part) {
        return a->part < b->part ? -1 : 1;
    }
    if (a->slot.kind != b->slot.kind) {
        return a->slot.kind < b->slot.kind ? -1 : 1;
    }
    if (a->slot.begin_ns != b->slot.begin_ns) {
        return a->slot.begin_ns < b->slot.begin_ns ? -1 : 1;
    }
    return (a > b) - (a < b);
}

/* The rows of one part and kind. */
struct rows {
    size_t n;
    uint64_t end_ns[GSH_ROWS_MAX]; /* of the row's last item */
    uint32_t track[GSH_ROWS_MAX];
};

static bool add_row(struct gsh_timeline *t, struct rows *rows, const struct gsh_timeline_item *item)
{
    if (!gsh_array_reserve(&t->tracks, &t->tracks_room, t->n_tracks + 1, sizeof(*t->tracks))) {
        return false;
    }
    static const struct {
        unsigned item;
        enum gsh_track_kind kind;
        const char *name;
    } kinds[] = {{GSH_TRACE_REQUEST, GSH_TRACK_PROXY, "proxy"},
                 {GSH_TRACE_TRANSFER, GSH_TRACK_NETWORK, "network"},
                 {GSH_TRACE_RANGE, GSH_TRACK_RANGES, "ranges"},
                 {GSH_TRACE_POST, GSH_TRACK_NIC, "NIC"}};
    size_t k = 0;
    while (kinds[k].item != item->slot.kind) {
        k++;
    }
    struct gsh_timeline_track *track = &t->tracks[t->n_tracks];
    *track = (struct gsh_timeline_track){
        .part = item->part, .kind = kinds[k].kind, .number = (uint32_t)rows->n};
    gsh_copy_name(track->name, sizeof(track->name), kinds[k].name);
    rows->track[rows->n++] = (uint32_t)t->n_tracks++;
    return true;
}

static bool set_row(struct gsh_timeline *t, struct rows *rows, struct gsh_timeline_item *item)
{
    size_t i = 0;
    while (i < rows->n && rows->end_ns[i] > item->slot.begin_ns) {
        i++;
    }
    if (i == GSH_ROWS_MAX) {
        item->track = GSH_NO_TRACK;
        return true;
    }
    if (i == rows->n && !add_row(t, rows, item)) {
        return false;
    }
    rows->end_ns[i] = item->slot.end_ns;
    item->track = rows->track[i];
    return true;
}

enum gsh_result gsh_timeline_set_rows(struct gsh_timeline *t)
{
    struct gsh_timeline_item **sorted = calloc(t->n_items + 1, sizeof(struct gsh_timeline_item *));
    struct rows *rows = calloc(1, sizeof(*rows));
    bool is_done = sorted != NULL && rows != NULL;
    size_t n = 0;
    for (size_t i = 0; is_done && i < t->n_items; i++) {
        if (has_row(&t->items[i])) {
            sorted[n++] = &t->items[i];
        }
    }
    if (n > 0) {
        qsort(sorted, n, sizeof(struct gsh_timeline_item *), order_begins);
    }
    for (size_t i = 0; is_done && i < n; i++) {
        if (i == 0 || sorted[i]->part != sorted[i - 1]->part ||
            sorted[i]->slot.kind != sorted[i - 1]->slot.kind) {
            rows->n = 0;
        }
        is_done = set_row(t, rows, sorted[i]);
    }
    free(sorted);
    free(rows);
    return is_done ? GSH_OK : gsh_fail(GSH_ERR_NOMEM, "timeline: no memory");
}
