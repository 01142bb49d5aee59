/* SPDX-License-Identifier: Apache-2.0
 * See mirror.h. */
#include "runtime/trace/mirror.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/util.h"
#include "runtime/instance/device_ops.h"
#include "runtime/instance/instance.h"

enum { PIECES = 512 };

struct gsh_trace_mirror {
    struct gsh_instance *pe;
    uint64_t *events;     /* of the host */
    uint64_t own, device; /* of the device; own: 0: it is the host's, too */
    size_t ring_bytes, events_bytes, bytes;
    uint32_t n_events;
    uint32_t n_pieces;
    struct gsh_device_piece pieces[PIECES];
};

static enum gsh_result make_own(struct gsh_trace_mirror *m)
{
    const struct gsh_device_ops *ops = m->pe->device_ops;
    if (ops->allocate == NULL) {
        return GSH_OK;
    }
    enum gsh_result r = ops->allocate(m->pe, m->events_bytes, &m->own);
    if (r == GSH_OK) {
        m->device = m->own;
        r = ops->copy(m->pe, GSH_CONTEXT_DEFAULT, (void *)(uintptr_t)m->own, m->events,
                      m->events_bytes);
    }
    return r;
}

enum gsh_result gsh_trace_mirror_create(struct gsh_instance *pe, uint32_t n_events,
                                        struct gsh_trace_mirror **out, uint64_t **events,
                                        uint64_t *device_events)
{
    struct gsh_trace_mirror *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "init: no memory for the timeline");
    }
    *m = (struct gsh_trace_mirror){.pe = pe, .n_events = n_events};
    m->ring_bytes = (size_t)n_events * 16;
    m->events_bytes = GSH_TRACE_ALL_RINGS * m->ring_bytes;
    m->bytes = gsh_align_up(m->events_bytes + sizeof(struct gsh_trace_counts), 4096);
    void *memory = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        free(m);
        return gsh_fail_errno(GSH_ERR_NOMEM, "init: no memory for the timeline");
    }
    m->events = memory;
    enum gsh_result r = pe->device_ops->map_host(pe, memory, m->bytes, &m->device);
    if (r == GSH_OK) {
        r = make_own(m);
    }
    *out = m;
    *events = m->events;
    *device_events = m->device;
    return r;
}

void gsh_trace_mirror_destroy(struct gsh_trace_mirror **mirror)
{
    struct gsh_trace_mirror *m = *mirror;
    if (m == NULL) {
        return;
    }
    if (m->own != 0) {
        m->pe->device_ops->release(m->pe, m->own);
    }
    m->pe->device_ops->unmap_host(m->pe, m->events);
    munmap(m->events, m->bytes);
    free(m);
    *mirror = NULL;
}

const struct gsh_trace_counts *gsh_trace_mirror_counts(struct gsh_trace_mirror *mirror,
                                                       uint64_t address)
{
    struct gsh_trace_counts *counts = (void *)((char *)mirror->events + mirror->events_bytes);
    const struct gsh_device_piece piece = {counts, address, sizeof(*counts)};
    bool is_copied = mirror->own != 0 && mirror->pe->device_ops->copy_pieces(mirror->pe, &piece, 1);
    return is_copied ? counts : NULL;
}

static void note(struct gsh_trace_mirror *m, uint32_t ring, uint32_t slot, uint32_t n)
{
    if (m->n_pieces == PIECES) {
        gsh_trace_mirror_copy(m);
    }
    const uint64_t off = ring * m->ring_bytes + (uint64_t)slot * 16;
    m->pieces[m->n_pieces++] =
        (struct gsh_device_piece){(char *)m->events + off, m->own + off, (size_t)n * 16};
}

void gsh_trace_mirror_note(struct gsh_trace_mirror *mirror, uint32_t ring, uint64_t first,
                           uint32_t n)
{
    const uint32_t slot = (uint32_t)first & (mirror->n_events - 1);
    n = (uint32_t)gsh_min_u64(n, mirror->n_events);
    const uint32_t n_here = (uint32_t)gsh_min_u64(n, mirror->n_events - slot);
    note(mirror, ring, slot, n_here);
    if (n > n_here) {
        note(mirror, ring, 0, n - n_here);
    }
}

void gsh_trace_mirror_copy(struct gsh_trace_mirror *mirror)
{
    if (mirror->n_pieces > 0) {
        /* a failure is that of the device, which other calls report: nothing new has come */
        (void)mirror->pe->device_ops->copy_pieces(mirror->pe, mirror->pieces, mirror->n_pieces);
        mirror->n_pieces = 0;
    }
}
