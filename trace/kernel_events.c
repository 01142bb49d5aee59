/* SPDX-License-Identifier: Apache-2.0
 * The decoder of kernels' events. */
#include "trace/kernel_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/util.h"
#include "wire/trace.h"

enum { DEPTH = 8, BUCKETS = 4096 };

#define SLACK_NS UINT64_C(1000000000) /* of the host's idea of the device's clock */

struct open_call {
    struct gsh_trace_slot slot;
    uint64_t name;
};

struct thread {
    struct thread *next;
    uint32_t number;
    uint32_t depth; /* may be more than there is room for */
    uint64_t last_ns;
    struct open_call open[DEPTH];
};

struct address {
    uint64_t address;
    const char *name;
};

struct gsh_kernel_events {
    struct thread *threads[BUCKETS];
    struct address *names;
    size_t n_names, names_room;
};

struct gsh_kernel_events *gsh_kernel_events_create(void)
{
    return calloc(1, sizeof(struct gsh_kernel_events));
}

void gsh_kernel_events_destroy(struct gsh_kernel_events *k)
{
    for (int b = 0; k != NULL && b < BUCKETS; b++) {
        for (struct thread *t = k->threads[b], *next; t != NULL; t = next) {
            next = t->next;
            free(t);
        }
    }
    if (k != NULL) {
        free(k->names);
    }
    free(k);
}

bool gsh_kernel_events_name(struct gsh_kernel_events *k, uint64_t address, const char *name)
{
    if (!gsh_array_reserve(&k->names, &k->names_room, k->n_names + 1, sizeof(*k->names))) {
        return false;
    }
    k->names[k->n_names++] = (struct address){address, name};
    return true;
}

static const char *find_name(const struct gsh_kernel_events *k, uint64_t address)
{
    for (size_t i = 0; i < k->n_names; i++) {
        if (k->names[i].address == address) {
            return k->names[i].name;
        }
    }
    return "?";
}

static struct thread *find_thread(struct gsh_kernel_events *k, uint32_t number)
{
    struct thread **bucket = &k->threads[number * 2654435761u % BUCKETS], *t = *bucket;
    while (t != NULL && t->number != number) {
        t = t->next;
    }
    if (t == NULL && (t = calloc(1, sizeof(*t))) != NULL) {
        t->number = number;
        t->next = *bucket;
        *bucket = t;
    }
    return t;
}

static void end_call(struct gsh_kernel_events *k, struct thread *t, gsh_kernel_call_fn take,
                     void *context)
{
    t->depth--;
    if (t->depth < DEPTH) {
        struct open_call *c = &t->open[t->depth];
        c->slot.end_ns = t->last_ns;
        take(context, &c->slot, find_name(k, c->name), t->number);
    }
}

static void end_all(struct gsh_kernel_events *k, uint32_t ring, bool is_any,
                    gsh_kernel_call_fn take, void *context)
{
    for (int b = 0; b < BUCKETS; b++) {
        for (struct thread *t = k->threads[b]; t != NULL; t = t->next) {
            while (t->depth > 0 && (is_any || t->number >> GSH_TRACE_EVENT_WHO_BITS == ring)) {
                end_call(k, t, take, context);
            }
        }
    }
}

/* The 56 bits with their sign. */
static uint64_t widen(uint64_t payload)
{
    return (uint64_t)((int64_t)(payload << 8) >> 8);
}

static uint8_t kind_of(uint32_t call)
{
    switch (call) {
    case GSH_TRACE_EVENT_WAIT:
        return GSH_TRACE_WAIT;
    case GSH_TRACE_EVENT_SPAN:
        return GSH_TRACE_SPAN;
    case GSH_TRACE_EVENT_POST:
        return GSH_TRACE_POST;
    case GSH_TRACE_EVENT_DONE:
        return GSH_TRACE_DONE;
    default:
        return GSH_TRACE_CALL;
    }
}

static void begin_call(struct thread *t, uint64_t payload)
{
    if (t->depth < DEPTH) {
        uint32_t kind = (uint32_t)(payload >> 48 & 15);
        struct open_call *c = &t->open[t->depth];
        c->name = payload & UINT64_C(0xffffffffffff);
        c->slot = (struct gsh_trace_slot){.kind = kind_of(kind),
                                          .op = kind == GSH_TRACE_EVENT_GET ? GSH_TRACE_OP_GET
                                                                            : GSH_TRACE_OP_NONE,
                                          .pe = -1,
                                          .begin_ns = t->last_ns,
                                          .off = GSH_TRACE_NONE,
                                          .word_off = GSH_TRACE_NONE};
    }
    t->depth++;
}

static void take_op(struct gsh_trace_slot *slot, uint32_t op)
{
    slot->op = (uint8_t)op;
    if (slot->kind == GSH_TRACE_WAIT) {
        slot->off = op & GSH_TRACE_EVENT_WORD_4 ? 4 : op & GSH_TRACE_EVENT_WORD_2 ? 2 : 8;
        slot->op = (uint8_t)(op & ~(GSH_TRACE_EVENT_WORD_4 | GSH_TRACE_EVENT_WORD_2));
        slot->bytes = gsh_max_u64(slot->bytes, slot->off);
    }
}

static int32_t pe_of(uint32_t bits)
{
    return bits == GSH_TRACE_NO_PE           ? -1
           : bits == GSH_TRACE_PE_BY_ADDRESS ? GSH_TRACE_PE_BY_ADDRESS_OF
                                             : (int32_t)bits;
}

static void take_event(struct gsh_kernel_events *k, struct thread *t, uint32_t kind,
                       uint64_t payload, gsh_kernel_call_fn take, void *context)
{
    if (kind == GSH_TRACE_EVENT_BEGIN) {
        begin_call(t, payload);
        return;
    }
    if (t->depth == 0) { /* its beginning was lost */
        return;
    }
    struct gsh_trace_slot none, *slot = t->depth <= DEPTH ? &t->open[t->depth - 1].slot : &none;
    switch (kind) {
    case GSH_TRACE_EVENT_TO:
        slot->pe = pe_of((uint32_t)payload & GSH_TRACE_NO_PE);
        slot->bytes = payload >> 20;
        break;
    case GSH_TRACE_EVENT_AT:
        slot->off = payload;
        break;
    case GSH_TRACE_EVENT_WORD:
        slot->word_off = payload & UINT64_C(0xffffffffffff);
        take_op(slot, (uint32_t)(payload >> 48));
        break;
    case GSH_TRACE_EVENT_VALUE:
        slot->value = widen(payload);
        break;
    case GSH_TRACE_EVENT_TEAM:
        slot->op = GSH_TRACE_OP_TEAM;
        slot->value = (uint64_t)(int32_t)(uint32_t)payload;
        break;
    case GSH_TRACE_EVENT_END:
        slot->seen = widen(payload);
        end_call(k, t, take, context);
        break;
    default:
        break;
    }
}

void gsh_kernel_events_take(struct gsh_kernel_events *k, const struct gsh_trace_slot *slot,
                            const void *events, gsh_kernel_call_fn take, void *context)
{
    uint32_t ring = (uint32_t)(slot->off % GSH_TRACE_ALL_RINGS);
    uint64_t reference = slot->end_ns + SLACK_NS;
    if (slot->value > 0) {
        end_all(k, ring, false, take, context);
    }
    for (uint64_t i = 0; i < slot->bytes; i++) {
        uint64_t w[2];
        memcpy(w, (const char *)events + i * sizeof(w), sizeof(w));
        struct thread *t =
            find_thread(k, ring << GSH_TRACE_EVENT_WHO_BITS | GSH_TRACE_EVENT_WHO(w[0]));
        if (t == NULL) {
            return;
        }
        t->last_ns = reference - GSH_TRACE_EVENT_TIME(reference - w[0]);
        take_event(k, t, GSH_TRACE_EVENT_KIND(w[0]), GSH_TRACE_PAYLOAD(w[1]), take, context);
    }
}

void gsh_kernel_events_finish(struct gsh_kernel_events *k, gsh_kernel_call_fn take, void *context)
{
    end_all(k, 0, true, take, context);
}

void gsh_kernel_events_describe(uint32_t thread, char *text, size_t room)
{
    uint32_t ring = thread >> GSH_TRACE_EVENT_WHO_BITS, who = thread & 0xffff;
    if (ring == GSH_TRACE_STREAM_RING) {
        snprintf(text, room, who == 0 ? "stream 0 (default)" : "stream %u", who);
        return;
    }
    snprintf(text, room, "block %u thread %u", ring + (who >> 10) * GSH_TRACE_RINGS, who & 1023);
}
