/* SPDX-License-Identifier: Apache-2.0
 * The writer. One sequence of packets: descriptors of tracks, then for each track its slices in
 * the order in which they begin, then counters. */
#include "trace/perfetto.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/util.h"
#include "trace/objects.h"
#include "trace/perfetto_fields.h"
#include "trace/proto.h"

enum { SEQUENCE = 1, DEPTH = 256 };

/* The names of annotations, interned by the first packet; iid: place + 1. */
enum { PE, BYTES, AT, WORD, VALUE, SEEN, BY, OFFSET, ERROR, COUNT, TEAM, STEP, N_ANNOTATIONS };
static const char *const annotation_names[N_ANNOTATIONS] = {
    [PE] = "pe",          [BYTES] = "bytes", [AT] = "at",       [WORD] = "word",
    [VALUE] = "value",    [SEEN] = "seen",   [BY] = "ended by", [OFFSET] = "ahead by ns",
    [ERROR] = "error ns", [COUNT] = "count", [TEAM] = "team",   [STEP] = "step ns"};

struct writer {
    struct gsh_timeline *t;
    FILE *out;
    struct gsh_proto proto;
    struct gsh_objects *objects; /* [n_parts] */
    const char **names;          /* of events; iid: place + 1 */
    size_t n_names, names_room;
    bool is_first;
};

/* ---- packets ---- */

struct packet {
    size_t packet, body;
};

static struct packet begin_packet(struct writer *w, uint32_t body, bool has_time, uint64_t ns)
{
    struct packet p = {.packet = gsh_proto_open(&w->proto, TRACE_PACKET)};
    if (has_time) {
        gsh_proto_uint(&w->proto, PACKET_TIMESTAMP, ns);
    }
    gsh_proto_uint(&w->proto, PACKET_SEQUENCE_ID, SEQUENCE);
    gsh_proto_uint(&w->proto, PACKET_SEQUENCE_FLAGS, w->is_first ? 1 : 2);
    w->is_first = false;
    p.body = gsh_proto_open(&w->proto, body);
    return p;
}

static void end_packet(struct writer *w, struct packet p)
{
    gsh_proto_close(&w->proto, p.body);
    gsh_proto_close(&w->proto, p.packet);
    if (!w->proto.has_failed) {
        fwrite(w->proto.data, 1, w->proto.n, w->out);
    }
    w->proto.n = 0;
}

static void intern(struct writer *w, uint32_t kind, uint64_t iid, const char *name)
{
    size_t entry = gsh_proto_open(&w->proto, kind);
    gsh_proto_uint(&w->proto, INTERNED_IID, iid);
    gsh_proto_text(&w->proto, INTERNED_NAME, name);
    gsh_proto_close(&w->proto, entry);
}

/* Names are few, and the same text is mostly the same pointer. 0: no memory. */
static uint64_t name_iid(struct writer *w, const char *name)
{
    for (size_t i = w->n_names; i > 0; i--) {
        if (w->names[i - 1] == name || strcmp(w->names[i - 1], name) == 0) {
            return i;
        }
    }
    if (!gsh_array_reserve(&w->names, &w->names_room, w->n_names + 1, sizeof(*w->names))) {
        w->proto.has_failed = true;
        return 0;
    }
    w->names[w->n_names++] = name;
    struct packet p = begin_packet(w, PACKET_INTERNED_DATA, false, 0);
    intern(w, INTERNED_EVENT_NAMES, w->n_names, name);
    end_packet(w, p);
    return w->n_names;
}

/* ---- annotations ---- */

static void annotate(struct writer *w, int name, uint32_t kind, uint64_t value)
{
    size_t a = gsh_proto_open(&w->proto, EVENT_ANNOTATIONS);
    gsh_proto_uint(&w->proto, ANNOTATION_NAME_IID, (uint64_t)name + 1);
    gsh_proto_uint(&w->proto, kind, value);
    gsh_proto_close(&w->proto, a);
}

static void annotate_text(struct writer *w, int name, const char *text)
{
    size_t a = gsh_proto_open(&w->proto, EVENT_ANNOTATIONS);
    gsh_proto_uint(&w->proto, ANNOTATION_NAME_IID, (uint64_t)name + 1);
    gsh_proto_text(&w->proto, ANNOTATION_TEXT, text);
    gsh_proto_close(&w->proto, a);
}

static void annotate_address(struct writer *w, int name, const struct gsh_timeline_item *item,
                             uint64_t off)
{
    char text[96] = "outside of the heap";
    const uint64_t heap_bytes = w->t->parts[item->part].head.heap_bytes;
    /* A NIC's entry ends when somebody looks, which may be after the memory has been freed. */
    const uint64_t ns = item->slot.kind == GSH_TRACE_POST ? item->slot.begin_ns : item->slot.end_ns;
    if (heap_bytes == 0 || off < heap_bytes) { /* 0: not known */
        gsh_objects_name(&w->objects[item->part], off, ns, text, sizeof(text));
    }
    annotate_text(w, name, text);
}

static void annotate_item(struct writer *w, const struct gsh_timeline_item *item)
{
    static const char *const comparisons[] = {"==", "!=", ">", "<=", "<", ">="};
    const struct gsh_trace_slot *s = &item->slot;
    char text[64];
    if (s->kind == GSH_TRACE_SPAN || s->kind == GSH_TRACE_RANGE) {
        return;
    }
    if (s->pe >= 0) {
        annotate(w, PE, ANNOTATION_INT, (uint64_t)s->pe);
    }
    if (s->kind == GSH_TRACE_CALL && s->op == GSH_TRACE_OP_TEAM) {
        annotate(w, TEAM, ANNOTATION_INT, s->value);
    }
    if (s->kind != GSH_TRACE_WAIT && s->bytes > 0) {
        annotate(w, BYTES, ANNOTATION_UINT, s->bytes);
    }
    if (s->kind != GSH_TRACE_WAIT && s->off != GSH_TRACE_NONE) {
        annotate_address(w, AT, item, s->off);
    }
    if (s->word_off == GSH_TRACE_NONE || s->kind == GSH_TRACE_POST) {
        return;
    }
    annotate_address(w, WORD, item, s->word_off);
    if (s->kind == GSH_TRACE_WAIT) {
        unsigned cmp = (unsigned)s->op - GSH_TRACE_OP_AWAIT;
        snprintf(text, sizeof(text), "%s %" PRId64,
                 cmp < GSH_ARRAY_LEN(comparisons) ? comparisons[cmp] : "?", (int64_t)s->value);
        annotate_text(w, VALUE, text);
        annotate(w, SEEN, ANNOTATION_INT, s->seen);
        if (item->ended_by >= 0) {
            annotate(w, BY, ANNOTATION_INT, (uint64_t)item->ended_by);
        }
    } else if (s->op == GSH_TRACE_OP_SET || s->op == GSH_TRACE_OP_ADD) {
        snprintf(text, sizeof(text), "%s%" PRId64, s->op == GSH_TRACE_OP_ADD ? "+ " : "= ",
                 (int64_t)s->value);
        annotate_text(w, VALUE, text);
    }
}

/* ---- tracks ---- */

static uint64_t part_uuid(uint32_t part)
{
    return (uint64_t)(part + 1) << 32;
}

static uint64_t track_uuid(const struct gsh_timeline *t, uint32_t track)
{
    return part_uuid(t->tracks[track].part) | (track + 1);
}

static uint64_t counter_uuid(uint32_t part, uint32_t counter)
{
    return part_uuid(part) | 0x80000000u | counter;
}

static void describe_part(struct writer *w, uint32_t number)
{
    const struct gsh_trace_head *h = &w->t->parts[number].head;
    char name[160];
    snprintf(name, sizeof(name), "PE %d (process %" PRId64 " on %s)%s", h->pe, h->pid, h->host_name,
             h->is_over ? "" : ", which ended early");
    struct packet p = begin_packet(w, PACKET_TRACK_DESCRIPTOR, false, 0);
    gsh_proto_uint(&w->proto, TRACK_UUID, part_uuid(number));
    size_t process = gsh_proto_open(&w->proto, TRACK_PROCESS);
    gsh_proto_uint(&w->proto, PROCESS_PID, number + 1);
    gsh_proto_text(&w->proto, PROCESS_NAME, name);
    gsh_proto_close(&w->proto, process);
    end_packet(w, p);
}

static void describe_track(struct writer *w, uint32_t number)
{
    const struct gsh_timeline_track *track = &w->t->tracks[number];
    struct packet p = begin_packet(w, PACKET_TRACK_DESCRIPTOR, false, 0);
    gsh_proto_uint(&w->proto, TRACK_UUID, track_uuid(w->t, number));
    gsh_proto_uint(&w->proto, TRACK_PARENT_UUID, part_uuid(track->part));
    if (track->kind != GSH_TRACK_THREAD) {
        gsh_proto_text(&w->proto, TRACK_NAME, track->name);
    } else {
        size_t thread = gsh_proto_open(&w->proto, TRACK_THREAD);
        gsh_proto_uint(&w->proto, THREAD_PID, track->part + 1);
        gsh_proto_uint(&w->proto, THREAD_TID, (uint64_t)number + 1000000);
        gsh_proto_text(&w->proto, THREAD_NAME, track->name);
        gsh_proto_close(&w->proto, thread);
    }
    end_packet(w, p);
}

static void describe_counter(struct writer *w, uint32_t part, uint32_t counter, const char *name,
                             unsigned unit)
{
    struct packet p = begin_packet(w, PACKET_TRACK_DESCRIPTOR, false, 0);
    gsh_proto_uint(&w->proto, TRACK_UUID, counter_uuid(part, counter));
    gsh_proto_uint(&w->proto, TRACK_PARENT_UUID, part_uuid(part));
    gsh_proto_text(&w->proto, TRACK_NAME, name);
    size_t c = gsh_proto_open(&w->proto, TRACK_COUNTER);
    gsh_proto_uint(&w->proto, COUNTER_UNIT, unit);
    gsh_proto_close(&w->proto, c);
    end_packet(w, p);
}

/* ---- events ---- */

static struct packet begin_event(struct writer *w, uint64_t uuid, unsigned type, uint64_t ns)
{
    struct packet p = begin_packet(w, PACKET_TRACK_EVENT, true, ns);
    gsh_proto_uint(&w->proto, EVENT_TYPE, type);
    gsh_proto_uint(&w->proto, EVENT_TRACK_UUID, uuid);
    return p;
}

static void write_counter(struct writer *w, uint64_t uuid, uint64_t ns, uint64_t value)
{
    struct packet p = begin_event(w, uuid, EVENT_COUNTER, ns);
    gsh_proto_uint(&w->proto, EVENT_COUNTER_VALUE, value);
    end_packet(w, p);
}

/* On the PE's own track: what a reader is to know before believing the rest. */
static void write_note(struct writer *w, uint32_t part, uint64_t ns, const char *name, int key,
                       uint64_t value, double offset)
{
    struct packet p = begin_event(w, part_uuid(part), EVENT_INSTANT, ns);
    gsh_proto_text(&w->proto, EVENT_CATEGORIES, "gshmem");
    gsh_proto_text(&w->proto, EVENT_NAME, name);
    annotate(w, key, ANNOTATION_UINT, value);
    if (key == ERROR) {
        annotate(w, OFFSET, ANNOTATION_INT, (uint64_t)(int64_t)offset);
        if (w->t->parts[part].head.device_step_ns > 0) {
            annotate(w, STEP, ANNOTATION_UINT, w->t->parts[part].head.device_step_ns);
        }
    }
    end_packet(w, p);
}

static const char *category_of(const struct gsh_timeline_item *item)
{
    switch (item->slot.kind) {
    case GSH_TRACE_WAIT:
        return "wait";
    case GSH_TRACE_SPAN:
    case GSH_TRACE_RANGE:
        return "span";
    case GSH_TRACE_REQUEST:
        return "request";
    case GSH_TRACE_TRANSFER:
    case GSH_TRACE_POST:
        return "transfer";
    default:
        return item->slot.op == GSH_TRACE_OP_GET       ? "get"
               : item->slot.op == GSH_TRACE_OP_TEAM    ? "collective"
               : item->slot.op == GSH_TRACE_OP_RECEIVE ? "receive"
                                                       : "call";
    }
}

static void begin_slice(struct writer *w, const struct gsh_timeline_item *item)
{
    uint64_t iid = name_iid(w, item->name);
    struct packet p =
        begin_event(w, track_uuid(w->t, item->track), EVENT_BEGIN, item->slot.begin_ns);
    gsh_proto_text(&w->proto, EVENT_CATEGORIES, category_of(item));
    gsh_proto_uint(&w->proto, EVENT_NAME_IID, iid);
    annotate_item(w, item);
    for (uint32_t i = 0; item->slot.kind == GSH_TRACE_CALL && i < item->n_flows; i++) {
        gsh_proto_fixed64(&w->proto, EVENT_FLOW_IDS, (uint64_t)item->first_flow + i + 1);
    }
    end_packet(w, p);
}

/* An arrow points at the moment when the wait ended, which an instant inside the wait marks: its
 * beginning is mostly before that of the signal. */
static void end_slice(struct writer *w, const struct gsh_timeline_item *item)
{
    uint64_t uuid = track_uuid(w->t, item->track);
    if (item->slot.kind == GSH_TRACE_WAIT && item->n_flows > 0) {
        char name[48];
        snprintf(name, sizeof(name), "signal of PE %d", item->ended_by);
        struct packet p = begin_event(w, uuid, EVENT_INSTANT, item->slot.end_ns);
        gsh_proto_text(&w->proto, EVENT_CATEGORIES, "arrow");
        gsh_proto_text(&w->proto, EVENT_NAME, name);
        gsh_proto_fixed64(&w->proto, EVENT_TERMINATING_FLOW_IDS, (uint64_t)item->first_flow + 1);
        end_packet(w, p);
    }
    struct packet p = begin_event(w, uuid, EVENT_END, item->slot.end_ns);
    end_packet(w, p);
}

static bool is_slice(const struct gsh_timeline_item *item)
{
    unsigned kind = item->slot.kind;
    bool is_one = kind == GSH_TRACE_CALL || kind == GSH_TRACE_WAIT || kind == GSH_TRACE_SPAN ||
                  kind == GSH_TRACE_REQUEST || kind == GSH_TRACE_TRANSFER ||
                  kind == GSH_TRACE_RANGE || kind == GSH_TRACE_POST;
    return is_one && item->track != GSH_NO_TRACK;
}

static void write_slices(struct writer *w, struct gsh_timeline_item *const *items, size_t n)
{
    const struct gsh_timeline_item *open[DEPTH];
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        const struct gsh_timeline_item *item = items[i];
        if (!is_slice(item)) {
            continue;
        }
        while (depth > 0 && (open[depth - 1]->track != item->track ||
                             open[depth - 1]->slot.end_ns <= item->slot.begin_ns)) {
            end_slice(w, open[--depth]);
        }
        if (depth < DEPTH) {
            begin_slice(w, item);
            open[depth++] = item;
        }
    }
    while (depth > 0) {
        end_slice(w, open[--depth]);
    }
}

/* ---- counters ---- */

enum {
    COUNTER_HEAP,
    COUNTER_OUTSTANDING,
    COUNTER_NIC_POSTED,
    COUNTER_NIC_OUTSTANDING,
    COUNTER_PEERS
};

static int order_times(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* Requests that have begun and not ended. The items are one part's, by time of their end. */
static void write_outstanding(struct writer *w, uint32_t part,
                              struct gsh_timeline_item *const *items, size_t n)
{
    uint64_t *begins = calloc(n + 1, sizeof(*begins)),
             uuid = counter_uuid(part, COUNTER_OUTSTANDING);
    size_t n_begins = 0, begun = 0, ended = 0;
    if (begins == NULL) {
        w->proto.has_failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (items[i]->slot.kind == GSH_TRACE_REQUEST) {
            begins[n_begins++] = items[i]->slot.begin_ns;
        }
    }
    if (n_begins > 0) {
        describe_counter(w, part, COUNTER_OUTSTANDING, "requests outstanding", 2);
        qsort(begins, n_begins, sizeof(*begins), order_times);
    }
    for (size_t i = 0; i < n; i++) {
        if (items[i]->slot.kind != GSH_TRACE_REQUEST) {
            continue;
        }
        for (; begun < n_begins && begins[begun] <= items[i]->slot.end_ns; begun++) {
            write_counter(w, uuid, begins[begun], begun + 1 - ended);
        }
        ended++;
        write_counter(w, uuid, items[i]->slot.end_ns, begun - ended);
    }
    free(begins);
}

/* What kernels have posted to NICs. The items are one part's, by time of their end. */
static void write_nic(struct writer *w, uint32_t part, struct gsh_timeline_item *const *items,
                      size_t n)
{
    bool is_first = true;
    for (size_t i = 0; i < n; i++) {
        const struct gsh_trace_slot *s = &items[i]->slot;
        if (s->kind != GSH_TRACE_NIC) {
            continue;
        }
        if (is_first) {
            describe_counter(w, part, COUNTER_NIC_POSTED, "NIC requests posted", 2);
            describe_counter(w, part, COUNTER_NIC_OUTSTANDING, "NIC requests outstanding", 2);
            is_first = false;
        }
        write_counter(w, counter_uuid(part, COUNTER_NIC_POSTED), s->end_ns, s->value);
        write_counter(w, counter_uuid(part, COUNTER_NIC_OUTSTANDING), s->end_ns, s->seen);
    }
}

/* The items are one part's, by time of their end. */
static void write_counters(struct writer *w, uint32_t part, struct gsh_timeline_item *const *items,
                           size_t n)
{
    const struct gsh_trace_head *h = &w->t->parts[part].head;
    uint64_t *sent = calloc((size_t)h->n_pes, sizeof(*sent)), heap = 0;
    bool has_heap = false;
    char name[48];
    if (sent == NULL) {
        w->proto.has_failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct gsh_trace_slot *s = &items[i]->slot;
        if (s->kind == GSH_TRACE_ALLOC || s->kind == GSH_TRACE_FREE) {
            if (!has_heap) {
                describe_counter(w, part, COUNTER_HEAP, "heap in use", 3);
                has_heap = true;
            }
            uint64_t bytes = gsh_objects_bytes(&w->objects[part], s->off, s->end_ns);
            heap = s->kind == GSH_TRACE_ALLOC ? heap + s->bytes : heap - gsh_min_u64(heap, bytes);
            write_counter(w, counter_uuid(part, COUNTER_HEAP), s->end_ns, heap);
        } else if (s->kind == GSH_TRACE_CALL && s->pe >= 0 && s->pe < h->n_pes && s->bytes > 0 &&
                   s->op != GSH_TRACE_OP_GET && s->op != GSH_TRACE_OP_RECEIVE) {
            uint32_t counter = COUNTER_PEERS + (uint32_t)s->pe;
            if (sent[s->pe] == 0) {
                snprintf(name, sizeof(name), "bytes to PE %d", s->pe);
                describe_counter(w, part, counter, name, 3);
            }
            sent[s->pe] += s->bytes;
            write_counter(w, counter_uuid(part, counter), s->end_ns, sent[s->pe]);
        }
    }
    free(sent);
}

/* ---- the whole ---- */

static int order_slices(const void *x, const void *y)
{
    const struct gsh_timeline_item *a = *(struct gsh_timeline_item *const *)x;
    const struct gsh_timeline_item *b = *(struct gsh_timeline_item *const *)y;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    if (a->slot.begin_ns != b->slot.begin_ns) {
        return a->slot.begin_ns < b->slot.begin_ns ? -1 : 1;
    }
    if (a->slot.end_ns != b->slot.end_ns) {
        return a->slot.end_ns > b->slot.end_ns ? -1 : 1;
    }
    return (a < b) - (a > b); /* the inner one is written first */
}

static int order_ends(const void *x, const void *y)
{
    const struct gsh_timeline_item *a = *(struct gsh_timeline_item *const *)x;
    const struct gsh_timeline_item *b = *(struct gsh_timeline_item *const *)y;
    if (a->part != b->part) {
        return a->part < b->part ? -1 : 1;
    }
    if (a->slot.end_ns != b->slot.end_ns) {
        return a->slot.end_ns < b->slot.end_ns ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static void write_notes(struct writer *w, uint32_t number, uint64_t begin_ns, uint64_t end_ns)
{
    const struct gsh_timeline_part *part = &w->t->parts[number];
    double error = part->clock.error_ns + part->device_clock.error_ns;
    write_note(
        w, number, begin_ns, "clock", ERROR, error < 9e18 ? (uint64_t)error : UINT64_MAX,
        part->clock.offset_ns > -9e18 && part->clock.offset_ns < 9e18 ? -part->clock.offset_ns : 0);
    if (part->n_lost > 0) {
        write_note(w, number, end_ns, "events of kernels lost", COUNT, part->n_lost, 0);
    }
    if (part->head.n_dropped > 0) {
        int full = part->head.full_errno;
        char name[128];
        snprintf(name, sizeof(name), GSH_PERFETTO_LEFT_OUT "%s",
                 full > 0 ? strerror(full) : "GSHMEM_TRACE_LIMIT");
        write_note(w, number, end_ns, name, COUNT, part->head.n_dropped, 0);
    }
}

static void write_all(struct writer *w, struct gsh_timeline_item **sorted)
{
    struct gsh_timeline *t = w->t;
    struct packet p = begin_packet(w, PACKET_INTERNED_DATA, false, 0);
    for (int i = 0; i < N_ANNOTATIONS; i++) {
        intern(w, INTERNED_ANNOTATION_NAMES, (uint64_t)i + 1, annotation_names[i]);
    }
    end_packet(w, p);
    for (uint32_t i = 0; i < t->n_parts; i++) {
        describe_part(w, i);
    }
    for (uint32_t i = 0; i < t->n_tracks; i++) {
        describe_track(w, i);
    }
    if (t->n_items > 0) {
        qsort(sorted, t->n_items, sizeof(struct gsh_timeline_item *), order_slices);
    }
    write_slices(w, sorted, t->n_items);
    if (t->n_items > 0) {
        qsort(sorted, t->n_items, sizeof(struct gsh_timeline_item *), order_ends);
    }
    size_t at = 0;
    for (uint32_t i = 0; i < t->n_parts; i++) {
        size_t end = at;
        while (end < t->n_items && sorted[end]->part == i) {
            end++;
        }
        write_counters(w, i, sorted + at, end - at);
        write_outstanding(w, i, sorted + at, end - at);
        write_nic(w, i, sorted + at, end - at);
        write_notes(w, i, at < end ? sorted[at]->slot.end_ns : t->parts[i].head.begin_ns,
                    at < end ? sorted[end - 1]->slot.end_ns : t->parts[i].head.begin_ns);
        at = end;
    }
}

enum gsh_result gsh_perfetto_write(struct gsh_timeline *t, FILE *out)
{
    struct writer w = {.t = t, .out = out, .is_first = true};
    struct gsh_timeline_item **sorted = calloc(t->n_items + 1, sizeof(struct gsh_timeline_item *));
    w.objects = gsh_objects_list(t);
    if (sorted != NULL && w.objects != NULL) {
        for (size_t i = 0; i < t->n_items; i++) {
            sorted[i] = &t->items[i];
        }
        write_all(&w, sorted);
    }
    bool has_failed = sorted == NULL || w.objects == NULL || w.proto.has_failed;
    gsh_objects_free(w.objects, t->n_parts);
    free(sorted);
    free(w.names);
    free(w.proto.data);
    return has_failed ? gsh_fail(GSH_ERR_NOMEM, "timeline: no memory") : GSH_OK;
}
