/* SPDX-License-Identifier: Apache-2.0
 * The reader of a timeline's file. */
#include "trace/read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/array.h"
#include "base/util.h"
#include "trace/perfetto.h"
#include "trace/perfetto_fields.h"

enum { DEPTH = 256, NAMES = 65536, KEYS = 16 };

struct bytes {
    const uint8_t *at, *end;
};

struct field {
    uint32_t number;
    uint64_t value;
    struct bytes body; /* of a text or a message; else empty */
};

struct reader {
    struct gsh_told *told;
    bool is_wrong, lacks_memory;
    const char **names; /* [NAMES] */
    const char *keys[KEYS];
    size_t open[DEPTH]; /* slices that have begun on the track `open_track` */
    size_t n_open;
    uint64_t open_track;
};

/* ---- protocol buffers ---- */

static bool take_varint(struct bytes *b, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; b->at < b->end && shift < 64; shift += 7) {
        uint8_t byte = *b->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

/* False: the message is over, or wrong. */
static bool next_field(struct reader *r, struct bytes *b, struct field *f)
{
    uint64_t tag, length;
    *f = (struct field){0};
    if (b->at == b->end || r->is_wrong) {
        return false;
    }
    r->is_wrong = !take_varint(b, &tag);
    f->number = (uint32_t)(tag >> 3);
    size_t left = (size_t)(b->end - b->at);
    switch (r->is_wrong ? 7 : tag & 7) {
    case 0:
        r->is_wrong = !take_varint(b, &f->value);
        return !r->is_wrong;
    case 1:
        r->is_wrong = left < 8;
        for (int i = 0; !r->is_wrong && i < 8; i++) {
            f->value |= (uint64_t)b->at[i] << 8 * i;
        }
        b->at += r->is_wrong ? 0 : 8;
        return !r->is_wrong;
    case 2:
        r->is_wrong = !take_varint(b, &length) || length > (uint64_t)(b->end - b->at);
        if (!r->is_wrong) {
            f->body = (struct bytes){b->at, b->at + length};
            b->at += length;
        }
        return !r->is_wrong;
    default:
        r->is_wrong = true;
        return false;
    }
}

static const char *keep_text(struct reader *r, struct bytes text)
{
    struct gsh_told *t = r->told;
    size_t length = (size_t)(text.end - text.at);
    char *copy = malloc(length + 1);
    if (copy == NULL ||
        !gsh_array_reserve(&t->texts, &t->texts_room, t->n_texts + 1, sizeof(*t->texts))) {
        r->lacks_memory = true;
        free(copy);
        return "";
    }
    for (size_t i = 0; i < length; i++) {
        copy[i] = text.at[i] < 32 || text.at[i] >= 127 ? '?' : (char)text.at[i];
    }
    copy[length] = '\0';
    t->texts[t->n_texts++] = copy;
    return copy;
}

/* ---- what packets say ---- */

static void take_interned(struct reader *r, struct bytes b)
{
    struct field kind, f;
    while (next_field(r, &b, &kind)) {
        uint64_t iid = 0;
        const char *name = "";
        while (next_field(r, &kind.body, &f)) {
            iid = f.number == INTERNED_IID ? f.value : iid;
            name = f.number == INTERNED_NAME ? keep_text(r, f.body) : name;
        }
        if (kind.number == INTERNED_EVENT_NAMES && iid < NAMES) {
            r->names[iid] = name;
        } else if (kind.number == INTERNED_ANNOTATION_NAMES && iid < KEYS) {
            r->keys[iid] = name;
        }
    }
}

static size_t find_process(const struct gsh_told *t, uint64_t uuid)
{
    size_t i = 0;
    while (i < t->n_processes && t->processes[i].uuid != uuid) {
        i++;
    }
    return i;
}

static void add_process(struct reader *r, uint64_t uuid, const char *name)
{
    struct gsh_told *t = r->told;
    int pe;
    if (sscanf(name, "PE %d ", &pe) != 1 || pe < 0 ||
        !gsh_array_reserve(&t->processes, &t->processes_room, t->n_processes + 1,
                           sizeof(*t->processes))) {
        r->is_wrong = true;
        return;
    }
    t->processes[t->n_processes++] =
        (struct gsh_told_process){.uuid = uuid, .pe = pe, .name = name, .left_why = ""};
}

static void take_track(struct reader *r, struct bytes b)
{
    struct gsh_told *t = r->told;
    struct field f, inner;
    uint64_t uuid = 0, parent = 0;
    const char *name = NULL, *process = NULL;
    bool is_counter = false;
    while (next_field(r, &b, &f)) {
        uuid = f.number == TRACK_UUID ? f.value : uuid;
        parent = f.number == TRACK_PARENT_UUID ? f.value : parent;
        is_counter = is_counter || f.number == TRACK_COUNTER;
        name = f.number == TRACK_NAME ? keep_text(r, f.body) : name;
        while ((f.number == TRACK_PROCESS || f.number == TRACK_THREAD) &&
               next_field(r, &f.body, &inner)) {
            if (f.number == TRACK_PROCESS && inner.number == PROCESS_NAME) {
                process = keep_text(r, inner.body);
            } else if (f.number == TRACK_THREAD && inner.number == THREAD_NAME) {
                name = keep_text(r, inner.body);
            }
        }
    }
    if (process != NULL) {
        add_process(r, uuid, process);
    } else if (!is_counter && name != NULL) {
        size_t p = find_process(t, parent);
        if (p == t->n_processes ||
            !gsh_array_reserve(&t->tracks, &t->tracks_room, t->n_tracks + 1, sizeof(*t->tracks))) {
            r->is_wrong = true;
            return;
        }
        t->tracks[t->n_tracks++] =
            (struct gsh_told_track){.uuid = uuid, .process = p, .name = name};
    }
}

struct event {
    uint64_t ns, type, uuid, flow, n_flows, end_flow, error_ns, count;
    struct gsh_told_slice slice;
    const char *note; /* an instant's own name */
};

static void take_annotation(struct reader *r, struct bytes b, struct event *e)
{
    struct field f;
    uint64_t key = 0, number = 0;
    const char *text = NULL;
    while (next_field(r, &b, &f)) {
        key = f.number == ANNOTATION_NAME_IID ? f.value : key;
        number = f.number == ANNOTATION_UINT || f.number == ANNOTATION_INT ? f.value : number;
        text = f.number == ANNOTATION_TEXT ? keep_text(r, f.body) : text;
    }
    const char *name = key < KEYS && r->keys[key] != NULL ? r->keys[key] : "";
    if (strcmp(name, "pe") == 0 && number <= INT32_MAX) {
        e->slice.pe = (int)number;
    } else if (strcmp(name, "bytes") == 0) {
        e->slice.bytes = number;
    } else if (strcmp(name, "word") == 0 && text != NULL) {
        e->slice.word = text;
    } else if (strcmp(name, "ended by") == 0 && number <= INT32_MAX) {
        e->slice.ended_by = (int)number;
    } else if (strcmp(name, "error ns") == 0) {
        e->error_ns = number;
    } else if (strcmp(name, "count") == 0) {
        e->count = number;
    }
}

static void begin_slice(struct reader *r, struct event *e)
{
    struct gsh_told *t = r->told;
    size_t track = 0;
    if (r->n_open > 0 && r->open_track == e->uuid) {
        track = t->slices[r->open[r->n_open - 1]].track;
    }
    while (track < t->n_tracks && t->tracks[track].uuid != e->uuid) {
        track++;
    }
    if (track == t->n_tracks || r->n_open == DEPTH ||
        !gsh_array_reserve(&t->slices, &t->slices_room, t->n_slices + 1, sizeof(*t->slices))) {
        r->is_wrong = true;
        return;
    }
    e->slice.track = track;
    e->slice.begin_ns = e->slice.end_ns = e->ns;
    e->slice.arrow = e->flow;
    e->slice.n_arrows = e->n_flows;
    e->slice.depth = (uint32_t)r->n_open;
    r->open[r->n_open++] = t->n_slices;
    r->open_track = e->uuid;
    t->slices[t->n_slices++] = e->slice;
}

static void take_note(struct gsh_told_process *p, const struct event *e)
{
    size_t n = strlen(GSH_PERFETTO_LEFT_OUT);
    p->error_ns = gsh_max_u64(p->error_ns, e->error_ns);
    if (e->note != NULL && strncmp(e->note, GSH_PERFETTO_LEFT_OUT, n) == 0) {
        p->n_left_out += e->count;
        p->left_why = e->note + n;
    } else {
        p->n_lost += e->count;
    }
}

static void take_event(struct reader *r, uint64_t ns, struct bytes b)
{
    struct gsh_told *t = r->told;
    struct event e = {.ns = ns,
                      .slice = {.pe = -1, .ended_by = -1, .name = "", .category = "", .word = ""}};
    struct field f;
    while (next_field(r, &b, &f)) {
        e.type = f.number == EVENT_TYPE ? f.value : e.type;
        e.uuid = f.number == EVENT_TRACK_UUID ? f.value : e.uuid;
        e.end_flow = f.number == EVENT_TERMINATING_FLOW_IDS ? f.value : e.end_flow;
        if (f.number == EVENT_NAME_IID && f.value < NAMES && r->names[f.value] != NULL) {
            e.slice.name = r->names[f.value];
        } else if (f.number == EVENT_CATEGORIES) {
            static const char *const known[] = {"call",    "get",      "wait",       "span",
                                                "request", "transfer", "collective", "receive"};
            for (size_t i = 0; i < GSH_ARRAY_LEN(known); i++) {
                size_t n = strlen(known[i]);
                bool is_it =
                    (size_t)(f.body.end - f.body.at) == n && memcmp(f.body.at, known[i], n) == 0;
                e.slice.category = is_it ? known[i] : e.slice.category;
            }
        } else if (f.number == EVENT_NAME && e.type == EVENT_INSTANT) {
            e.note = keep_text(r, f.body);
        } else if (f.number == EVENT_FLOW_IDS) {
            e.flow = e.n_flows++ == 0 ? f.value : e.flow;
        } else if (f.number == EVENT_ANNOTATIONS) {
            take_annotation(r, f.body, &e);
        }
    }
    if (e.type != EVENT_COUNTER) {
        t->begin_ns = t->begin_ns == 0 ? ns : gsh_min_u64(t->begin_ns, ns);
        t->end_ns = gsh_max_u64(t->end_ns, ns);
    }
    if (e.type == EVENT_BEGIN) {
        begin_slice(r, &e);
    } else if (e.type == EVENT_END && r->n_open > 0 && r->open_track == e.uuid) {
        t->slices[r->open[--r->n_open]].end_ns = ns;
    } else if (e.type == EVENT_INSTANT && e.end_flow != 0 && r->n_open > 0) {
        t->slices[r->open[r->n_open - 1]].arrow = e.end_flow;
    } else if (e.type == EVENT_INSTANT) {
        size_t p = find_process(t, e.uuid);
        if (p < t->n_processes) {
            take_note(&t->processes[p], &e);
        }
    }
}

static void take_packet(struct reader *r, struct bytes b)
{
    struct field f;
    uint64_t ns = 0;
    while (next_field(r, &b, &f)) {
        if (f.number == PACKET_TIMESTAMP) {
            ns = f.value;
        } else if (f.number == PACKET_INTERNED_DATA) {
            take_interned(r, f.body);
        } else if (f.number == PACKET_TRACK_DESCRIPTOR) {
            take_track(r, f.body);
        } else if (f.number == PACKET_TRACK_EVENT) {
            take_event(r, ns, f.body);
        }
    }
}

/* ---- the file ---- */

void gsh_told_free(struct gsh_told *t)
{
    for (size_t i = 0; i < t->n_texts; i++) {
        free(t->texts[i]);
    }
    free(t->texts);
    free(t->processes);
    free(t->tracks);
    free(t->slices);
    *t = (struct gsh_told){0};
}

static enum gsh_result read_bytes(const char *file, struct bytes b, struct gsh_told *told)
{
    struct reader r = {.told = told, .names = calloc(NAMES, sizeof(const char *))};
    struct field f;
    if (r.names == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "timeline: no memory");
    }
    while (next_field(&r, &b, &f)) {
        if (f.number == TRACE_PACKET) {
            take_packet(&r, f.body);
        }
    }
    free(r.names);
    if (r.lacks_memory) {
        return gsh_fail(GSH_ERR_NOMEM, "timeline: no memory");
    }
    return r.is_wrong || told->n_processes == 0
               ? gsh_fail(GSH_ERR_ARG, "%s is no timeline of gshmem", file)
               : GSH_OK;
}

enum gsh_result gsh_told_read(const char *file, struct gsh_told *told)
{
    struct stat s;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    *told = (struct gsh_told){0};
    if (fd < 0 || fstat(fd, &s) != 0) {
        enum gsh_result r = gsh_fail_errno(GSH_ERR_SYSTEM, "cannot read %s", file);
        if (fd >= 0) {
            close(fd);
        }
        return r;
    }
    void *data =
        s.st_size > 0 ? mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (data == MAP_FAILED) {
        return gsh_fail(GSH_ERR_ARG, "%s is no timeline of gshmem", file);
    }
    struct bytes b = {data, (const uint8_t *)data + s.st_size};
    enum gsh_result r = read_bytes(file, b, told);
    munmap(data, (size_t)s.st_size);
    if (r != GSH_OK) {
        gsh_told_free(told);
    }
    return r;
}
