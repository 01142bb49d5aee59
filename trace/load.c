/* SPDX-License-Identifier: Apache-2.0
 * The reader of parts. */
#include "trace/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/util.h"
#include "trace/kernel_events.h"

void gsh_timeline_free(struct gsh_timeline *t)
{
    for (size_t i = 0; i < t->n_parts; i++) {
        free(t->parts[i].rounds);
        free(t->parts[i].device_rounds);
        free(t->parts[i].names);
    }
    for (size_t i = 0; i < t->n_texts; i++) {
        free(t->texts[i]);
    }
    free(t->texts);
    free(t->parts);
    free(t->tracks);
    free(t->items);
    free(t->flows);
    *t = (struct gsh_timeline){0};
}

/* A part while it is read. */
struct reader {
    struct gsh_timeline *t;
    uint32_t part;
    bool lacks_memory;
    struct gsh_kernel_events *kernel;
};

static uint32_t find_track(struct reader *r, enum gsh_track_kind kind, uint32_t number)
{
    for (size_t i = r->t->n_tracks; i > 0; i--) {
        const struct gsh_timeline_track *track = &r->t->tracks[i - 1];
        if (track->part == r->part && track->kind == kind && track->number == number) {
            return (uint32_t)(i - 1);
        }
    }
    if (!gsh_array_reserve(&r->t->tracks, &r->t->tracks_room, r->t->n_tracks + 1,
                           sizeof(*r->t->tracks))) {
        r->lacks_memory = true;
        return 0;
    }
    struct gsh_timeline_track *track = &r->t->tracks[r->t->n_tracks];
    *track = (struct gsh_timeline_track){.part = r->part, .kind = kind, .number = number};
    if (kind == GSH_TRACK_KERNEL) {
        gsh_kernel_events_describe(number, track->name, sizeof(track->name));
    } else {
        snprintf(track->name, sizeof(track->name), "thread %u", number);
    }
    return (uint32_t)r->t->n_tracks++;
}

/* A text of the file, with what a reader might stumble over replaced. NULL: no memory. */
static char *keep_text(struct reader *r, const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    if (copy == NULL || !gsh_array_reserve(&r->t->texts, &r->t->texts_room, r->t->n_texts + 1,
                                           sizeof(*r->t->texts))) {
        r->lacks_memory = true;
        free(copy);
        return NULL;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        copy[i] = c < 32 || c == 127 ? '?' : (char)c;
    }
    copy[length] = '\0';
    r->t->texts[r->t->n_texts++] = copy;
    return copy;
}

static void add_item(struct reader *r, const struct gsh_trace_slot *slot, const char *name,
                     uint32_t track, bool is_device_time)
{
    struct gsh_timeline *t = r->t;
    if (slot->end_ns < slot->begin_ns || t->n_items >= UINT32_MAX ||
        !gsh_array_reserve(&t->items, &t->items_room, t->n_items + 1, sizeof(*t->items))) {
        r->lacks_memory = r->lacks_memory || slot->end_ns >= slot->begin_ns;
        return;
    }
    t->items[t->n_items++] = (struct gsh_timeline_item){.slot = *slot,
                                                        .name = name,
                                                        .part = r->part,
                                                        .track = track,
                                                        .is_device_time = is_device_time,
                                                        .ended_by = -1};
}

static void take_kernel_call(void *context, const struct gsh_trace_slot *slot, const char *name,
                             uint32_t number)
{
    struct reader *r = context;
    const bool has_row = slot->kind == GSH_TRACE_POST || slot->kind == GSH_TRACE_DONE;
    uint32_t track = has_row ? GSH_NO_TRACK : find_track(r, GSH_TRACK_KERNEL, number);
    add_item(r, slot, name, track, r->t->parts[r->part].head.has_device_clock != 0);
}

static void add_round(struct reader *r, struct gsh_clock_round **rounds, size_t *n, size_t *room,
                      const struct gsh_trace_slot *slot)
{
    if (slot->end_ns < slot->begin_ns) {
        return;
    }
    if (!gsh_array_reserve(rounds, room, *n + 1, sizeof(**rounds))) {
        r->lacks_memory = true;
        return;
    }
    (*rounds)[(*n)++] = (struct gsh_clock_round){
        .number = slot->value, .begin_ns = slot->begin_ns, .end_ns = slot->end_ns};
}

static void take_name(struct reader *r, const struct gsh_trace_slot *slot, const char *text)
{
    struct gsh_timeline_part *part = &r->t->parts[r->part];
    char *kept = keep_text(r, text, slot->bytes);
    if (kept != NULL && slot->value < part->n_names) {
        part->names[slot->value] = kept;
    }
    if (kept != NULL) { /* calls on streams have numbers, too */
        r->lacks_memory |= !gsh_kernel_events_name(r->kernel, slot->value, kept);
    }
}

/* How many slots follow this one and belong to it. */
static uint64_t slots_behind(const struct gsh_trace_slot *slot)
{
    uint64_t bytes = slot->kind == GSH_TRACE_NAME || slot->kind == GSH_TRACE_TRACK ? slot->bytes
                     : slot->kind == GSH_TRACE_KERNEL ? gsh_min_u64(slot->bytes, UINT32_MAX) * 16
                                                      : 0;
    return gsh_min_u64(bytes, UINT32_MAX) / 64 + (bytes % 64 != 0);
}

static const char *name_of(const struct gsh_timeline_part *part, const struct gsh_trace_slot *slot)
{
    const char *name = slot->name < part->n_names ? part->names[slot->name] : NULL;
    return name != NULL ? name : "?";
}

/* First the names, then what has them. */
static void read_chunk(struct reader *r, const struct gsh_trace_slot *slots, bool takes_names)
{
    struct gsh_trace_chunk chunk;
    memcpy(&chunk, slots, sizeof(chunk));
    const struct gsh_timeline_part *part = &r->t->parts[r->part];
    if (chunk.magic != GSH_TRACE_MAGIC) {
        return;
    }
    for (uint64_t i = 1, behind; i < GSH_TRACE_CHUNK_SLOTS; i += 1 + behind) {
        const struct gsh_trace_slot *slot = &slots[i];
        behind = slots_behind(slot);
        if (slot->kind == GSH_TRACE_UNFINISHED || slot->kind >= GSH_TRACE_KINDS ||
            i + behind >= GSH_TRACE_CHUNK_SLOTS) {
            return;
        }
        const char *text = (const char *)(slot + 1);
        if (takes_names) {
            if (slot->kind == GSH_TRACE_NAME && slot->bytes <= GSH_TRACE_TEXT_MAX) {
                take_name(r, slot, text);
            }
            continue;
        }
        switch (slot->kind) {
        case GSH_TRACE_NAME:
            break;
        case GSH_TRACE_TRACK: {
            uint32_t track = find_track(r, GSH_TRACK_THREAD, chunk.track);
            char *kept = keep_text(r, text, gsh_min_u64(slot->bytes, GSH_TRACE_TEXT_MAX));
            if (kept != NULL && !r->lacks_memory) {
                gsh_copy_name(r->t->tracks[track].name, sizeof(r->t->tracks[track].name), kept);
            }
            break;
        }
        case GSH_TRACE_KERNEL:
            r->t->parts[r->part].n_lost += slot->value;
            gsh_kernel_events_take(r->kernel, slot, text, take_kernel_call, r);
            break;
        case GSH_TRACE_SYNC: {
            struct gsh_timeline_part *p = &r->t->parts[r->part];
            add_round(r, &p->rounds, &p->n_rounds, &p->rounds_room, slot);
            break;
        }
        case GSH_TRACE_CLOCK_DEVICE: {
            struct gsh_timeline_part *p = &r->t->parts[r->part];
            add_round(r, &p->device_rounds, &p->n_device_rounds, &p->device_rounds_room, slot);
            break;
        }
        case GSH_TRACE_REQUEST:
        case GSH_TRACE_TRANSFER:
        case GSH_TRACE_RANGE:
        case GSH_TRACE_MEMORY:
        case GSH_TRACE_NIC:
        case GSH_TRACE_POST:
        case GSH_TRACE_DONE:
            /* until rows.h, which has none for some */
            add_item(r, slot, name_of(part, slot), GSH_NO_TRACK, false);
            break;
        default: {
            add_item(r, slot, name_of(part, slot), find_track(r, GSH_TRACK_THREAD, chunk.track),
                     false);
        }
        }
    }
}

enum gsh_result gsh_timeline_load(struct gsh_timeline *t, const void *data, size_t bytes)
{
    enum { NAMES = 65536 };
    struct gsh_trace_head head;
    if (bytes < GSH_TRACE_HEAD_BYTES) {
        return GSH_ERR_ARG;
    }
    memcpy(&head, data, sizeof(head));
    if (head.magic != GSH_TRACE_MAGIC || head.n_pes < 1 ||
        head.n_pes > (int32_t)GSH_TRACE_PES_MAX || head.pe < 0 || head.pe >= head.n_pes) {
        return GSH_ERR_ARG;
    }
    head.host_name[sizeof(head.host_name) - 1] = '\0';
    struct reader r = {.t = t, .part = (uint32_t)t->n_parts};
    char **names = calloc(NAMES, sizeof(*names));
    r.kernel = gsh_kernel_events_create();
    if (names == NULL || r.kernel == NULL ||
        !gsh_array_reserve(&t->parts, &t->parts_room, t->n_parts + 1, sizeof(*t->parts))) {
        free(names);
        gsh_kernel_events_destroy(r.kernel);
        return gsh_fail(GSH_ERR_NOMEM, "timeline: no memory");
    }
    t->parts[t->n_parts++] =
        (struct gsh_timeline_part){.head = head, .names = names, .n_names = NAMES};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t at = GSH_TRACE_HEAD_BYTES; at + GSH_TRACE_CHUNK_BYTES <= bytes;
             at += GSH_TRACE_CHUNK_BYTES) {
            read_chunk(&r, (const void *)((const char *)data + at), pass == 0);
        }
    }
    gsh_kernel_events_finish(r.kernel, take_kernel_call, &r);
    gsh_kernel_events_destroy(r.kernel);
    return r.lacks_memory ? gsh_fail(GSH_ERR_NOMEM, "timeline: no memory") : GSH_OK;
}
