/* SPDX-License-Identifier: Apache-2.0
 * Events: a position in a stream that can be queried and waited for. */
#include "cpu/stream.h"

#include <stdlib.h>
#include <time.h>

/* Guards the fields of all events; taken before a device's lock. */
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;

struct CUevent_st {
    unsigned n_refs; /* the user's, and those of pending records */
    unsigned n_records;
    struct CUstream_st *stream; /* of the latest record; NULL: never recorded */
    uint64_t seq;               /* its position there */
    uint64_t time_ns;           /* when it ran */
};

struct record {
    struct CUevent_st *event;
    unsigned number; /* n_records when it was made */
};

/* Under the lock. */
static void unref_event(struct CUevent_st *e)
{
    if (--e->n_refs > 0) {
        return;
    }
    gsh_stream_unref(e->stream);
    free(e);
}

static void run_record(void *arg)
{
    struct record *r = arg;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    pthread_mutex_lock(&event_lock);
    if (r->number == r->event->n_records) {
        r->event->time_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
    unref_event(r->event);
    pthread_mutex_unlock(&event_lock);
}

struct CUevent_st *gshmemx_cpu_event_create(void)
{
    struct CUevent_st *e = calloc(1, sizeof(*e));
    if (e) {
        e->n_refs = 1;
    }
    return e;
}

void gshmemx_cpu_event_destroy(struct CUevent_st *event)
{
    if (!event) {
        return;
    }
    pthread_mutex_lock(&event_lock);
    unref_event(event);
    pthread_mutex_unlock(&event_lock);
}

int gshmemx_cpu_event_record(struct CUevent_st *event, struct CUstream_st *stream)
{
    pthread_mutex_lock(&event_lock);
    struct record record = {event, event->n_records + 1};
    uint64_t seq;
    int r = gsh_stream_mark(&stream, run_record, &record, sizeof(record), &seq);
    if (r == GSH_CPU_OK) {
        gsh_stream_unref(event->stream);
        event->stream = stream;
        event->seq = seq;
        event->time_ns = 0;
        event->n_records++;
        event->n_refs++;
    }
    pthread_mutex_unlock(&event_lock);
    return r;
}

/* Returns the event's current position, with a reference to the stream; false: it is done. */
static bool get_position(struct CUevent_st *event, struct CUstream_st **stream, uint64_t *seq)
{
    pthread_mutex_lock(&event_lock);
    bool is_open = event->stream && !gsh_stream_has_done(event->stream, event->seq);
    if (is_open) {
        *stream = gsh_stream_ref(event->stream);
        *seq = event->seq;
    }
    pthread_mutex_unlock(&event_lock);
    return is_open;
}

void gshmemx_cpu_event_synchronize(struct CUevent_st *event)
{
    struct CUstream_st *stream;
    uint64_t seq;
    if (!get_position(event, &stream, &seq)) {
        return;
    }
    gsh_stream_wait(stream, seq);
    gsh_stream_unref(stream);
}

int gshmemx_cpu_event_is_done(struct CUevent_st *event)
{
    struct CUstream_st *stream;
    uint64_t seq;
    if (!get_position(event, &stream, &seq)) {
        return 1;
    }
    gsh_stream_unref(stream);
    return 0;
}

uint64_t gshmemx_cpu_event_time_ns(struct CUevent_st *event)
{
    pthread_mutex_lock(&event_lock);
    uint64_t time_ns = event->time_ns;
    pthread_mutex_unlock(&event_lock);
    return time_ns;
}

int gshmemx_cpu_stream_wait_event(struct CUstream_st *stream, struct CUevent_st *event)
{
    struct CUstream_st *other;
    uint64_t seq;
    if (!get_position(event, &other, &seq)) {
        return GSH_CPU_OK;
    }
    int r = gsh_stream_wait_for(stream, other, seq);
    gsh_stream_unref(other);
    return r;
}
