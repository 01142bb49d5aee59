/* SPDX-License-Identifier: Apache-2.0
 * Allocations, from the slots that say when they begin and end. */
#include "trace/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/array.h"

void gsh_objects_free(struct gsh_objects *objects, size_t n_parts)
{
    for (size_t i = 0; objects != NULL && i < n_parts; i++) {
        free(objects[i].list);
    }
    free(objects);
}

static void end_object(struct gsh_objects *o, uint64_t off, uint64_t ns)
{
    for (size_t i = o->n; i > 0; i--) {
        if (o->list[i - 1].off == off && o->list[i - 1].end_ns == UINT64_MAX) {
            o->list[i - 1].end_ns = ns;
            return;
        }
    }
}

/* A part's slots about memory are those of one thread at a time, in order: the calls are
 * collective. */
struct gsh_objects *gsh_objects_list(const struct gsh_timeline *t)
{
    struct gsh_objects *all = calloc(t->n_parts + 1, sizeof(*all));
    for (size_t i = 0; all != NULL && i < t->n_items; i++) {
        const struct gsh_trace_slot *s = &t->items[i].slot;
        struct gsh_objects *o = &all[t->items[i].part];
        if (s->kind == GSH_TRACE_FREE) {
            end_object(o, s->off, s->end_ns);
        } else if (s->kind == GSH_TRACE_ALLOC) {
            if (!gsh_array_reserve(&o->list, &o->room, o->n + 1, sizeof(*o->list))) {
                gsh_objects_free(all, t->n_parts);
                return NULL;
            }
            o->list[o->n++] = (struct gsh_object){s->off, s->bytes, s->end_ns, UINT64_MAX};
        }
    }
    return all;
}

static size_t find(const struct gsh_objects *o, uint64_t off, uint64_t ns)
{
    for (size_t i = o->n; i > 0; i--) {
        const struct gsh_object *object = &o->list[i - 1];
        if (off >= object->off && off - object->off < object->bytes && ns >= object->begin_ns &&
            ns <= object->end_ns) {
            return i - 1;
        }
    }
    return o->n;
}

void gsh_objects_name(const struct gsh_objects *o, uint64_t off, uint64_t ns, char *text,
                      size_t room)
{
    size_t i = find(o, off, ns);
    if (i == o->n) {
        snprintf(text, room, "heap + 0x%" PRIx64, off);
    } else {
        snprintf(text, room, "allocation %zu + 0x%" PRIx64, i + 1, off - o->list[i].off);
    }
}

uint64_t gsh_objects_bytes(const struct gsh_objects *o, uint64_t off, uint64_t ns)
{
    size_t i = find(o, off, ns);
    return i < o->n ? o->list[i].bytes : 0;
}
