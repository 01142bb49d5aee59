/* SPDX-License-Identifier: Apache-2.0
 * See copy_streams.h. A job stays in a queue until some later poll does it, to catch code that
 * reads a dest or reuses a source too early. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/fault.h"
#include "base/util.h"
#include "base/copy.h"
#include "proxy/copy_streams.h"

/* Most polls do at most this many jobs; sometimes nothing is done for this many polls. */
#define JOBS_AT_ONCE 4
#define REST_RARITY  16
#define REST_POLLS   40

struct job {
    struct job *next;
    bool is_amo;
    uint8_t *dest;
    const uint8_t *source;
    int64_t dst, sst;
    size_t elem_bytes, nelems; /* a plain copy is one element; AMO: elem_bytes */
    int amo_op;
    uint64_t operand, cond, *old;
};

struct copy_stream {
    struct job *head, *tail;
    uint64_t n_ended;
    unsigned rest; /* polls that still do nothing */
};

struct gsh_late_copy_streams {
    struct copy_stream copy_streams[GSH_COPY_STREAMS];
    uint64_t random;
    gsh_late_amo_fn amo;
    void *amo_context;
};

struct gsh_late_copy_streams *gsh_late_copy_streams_create(uint64_t seed, gsh_late_amo_fn amo,
                                                           void *amo_context)
{
    struct gsh_late_copy_streams *late = calloc(1, sizeof(*late));
    if (late == NULL) {
        return NULL;
    }
    late->random = seed;
    late->amo = amo;
    late->amo_context = amo_context;
    return late;
}

void gsh_late_copy_streams_destroy(struct gsh_late_copy_streams *late)
{
    struct job *next;
    if (late == NULL) {
        return;
    }
    for (int copy_stream = 0; copy_stream < GSH_COPY_STREAMS; copy_stream++) {
        for (struct job *job = late->copy_streams[copy_stream].head; job != NULL; job = next) {
            next = job->next;
            free(job);
        }
    }
    free(late);
}

static unsigned any_below(struct gsh_late_copy_streams *late, unsigned n)
{
    /* A linear congruential generator, as the loop transport's. */
    late->random = late->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(late->random >> 33) % n;
}

/* ---- memory ---- */

static enum gsh_result late_allocate(void *context, size_t bytes, void **memory)
{
    (void)context;
    void *p = gsh_fault() ? NULL : aligned_alloc(64, gsh_align_up(bytes, 64));
    if (p == NULL) {
        return gsh_note(GSH_ERR_NOMEM, "no memory for %zu bytes of small staging buffers", bytes);
    }
    *memory = p;
    return GSH_OK;
}

static void late_release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static enum gsh_result late_pin(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)memory;
    (void)bytes;
    if (gsh_fault()) {
        return gsh_note(GSH_ERR_NOMEM, "no more memory can be pinned");
    }
    return GSH_OK;
}

static void late_unpin(void *context, void *memory)
{
    (void)context;
    (void)memory;
}

/* ---- jobs ---- */

static enum gsh_result start(void *context, enum gsh_copy_stream which, const struct job *model)
{
    struct gsh_late_copy_streams *late = context;
    struct copy_stream *copy_stream = &late->copy_streams[which];
    struct job *job = malloc(sizeof(*job));
    if (job == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for a copy");
    }
    *job = *model;
    job->next = NULL;
    if (copy_stream->head != NULL) {
        copy_stream->tail->next = job;
    } else {
        copy_stream->head = job;
    }
    copy_stream->tail = job;
    if (any_below(late, REST_RARITY) == 0) {
        copy_stream->rest = any_below(late, REST_POLLS);
    }
    return GSH_OK;
}

static enum gsh_result late_copy(void *context, enum gsh_copy_stream copy_stream, void *dest,
                                 const void *source, size_t bytes)
{
    return start(context, copy_stream,
                 &(struct job){.dest = dest, .source = source, .elem_bytes = bytes, .nelems = 1});
}

static enum gsh_result late_copy_strided(void *context, enum gsh_copy_stream copy_stream,
                                         void *dest, int64_t dst, const void *source, int64_t sst,
                                         size_t elem_bytes, size_t nelems)
{
    return start(context, copy_stream,
                 &(struct job){.dest = dest,
                               .source = source,
                               .dst = dst,
                               .sst = sst,
                               .elem_bytes = elem_bytes,
                               .nelems = nelems});
}

static enum gsh_result late_amo(void *context, int amo_op, void *address, size_t word_bytes,
                                uint64_t operand, uint64_t cond, uint64_t *old)
{
    return start(context, GSH_COPY_STREAM_IN,
                 &(struct job){.is_amo = true,
                               .dest = address,
                               .elem_bytes = word_bytes,
                               .amo_op = amo_op,
                               .operand = operand,
                               .cond = cond,
                               .old = old});
}

static enum gsh_result carry_out(struct gsh_late_copy_streams *late,
                                 enum gsh_copy_stream copy_stream, const struct job *job)
{
    if (job->is_amo) {
        return late->amo(late->amo_context, job->amo_op, job->dest, job->elem_bytes, job->operand,
                         job->cond, job->old);
    }
    int64_t size = (int64_t)job->elem_bytes;
    for (int64_t i = 0; i < (int64_t)job->nelems; i++) {
        uint8_t *dest = job->dest + i * job->dst * size;
        const uint8_t *source = job->source + i * job->sst * size;
        if (copy_stream == GSH_COPY_STREAM_IN) {
            gsh_copy_to_shared(dest, source, job->elem_bytes);
        } else {
            gsh_copy_from_shared(dest, source, job->elem_bytes);
        }
    }
    return GSH_OK;
}

static enum gsh_result late_poll(void *context, enum gsh_copy_stream which, uint64_t *n_ended)
{
    struct gsh_late_copy_streams *late = context;
    struct copy_stream *copy_stream = &late->copy_streams[which];
    enum gsh_result r = GSH_OK;
    unsigned n = copy_stream->rest > 0 ? 0 : any_below(late, JOBS_AT_ONCE + 1);
    if (copy_stream->rest > 0) {
        copy_stream->rest--;
    }
    for (; n > 0 && copy_stream->head != NULL && r == GSH_OK; n--) {
        struct job *job = copy_stream->head;
        copy_stream->head = job->next;
        r = carry_out(late, which, job);
        free(job);
        copy_stream->n_ended++;
    }
    *n_ended = copy_stream->n_ended;
    return r;
}

const struct gsh_copy_stream_ops gsh_late_copy_stream_ops = {
    .allocate = late_allocate,
    .release = late_release,
    .pin = late_pin,
    .unpin = late_unpin,
    .copy = late_copy,
    .copy_strided = late_copy_strided,
    .amo = late_amo,
    .poll = late_poll,
};
