/* SPDX-License-Identifier: Apache-2.0
 * See stage.h. */
#include "proxy/engine/stage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/util.h"
#include "proxy/engine/spin.h"
#include "proxy/engine/stage_in.h"
#include "proxy/engine/stage_jobs.h"
#include "proxy/engine/stage_out.h"

/* How long destroy waits for jobs under way: copies that take a GPU a millisecond. */
#define DRAIN_NS 1000000000u

void gsh_stage_init(struct gsh_stage *stage)
{
    gsh_link_init(&stage->queued_small);
    gsh_link_init(&stage->queued_chunks);
    gsh_link_init(&stage->copying);
    gsh_link_init(&stage->flushing);
    gsh_link_init(&stage->wanting);
    gsh_link_init(&stage->queued_ins);
    gsh_link_init(&stage->started_ins);
}

/* ---- memory ---- */

static size_t small_out_bytes(const struct gsh_proxy *proxy)
{
    return gsh_align_up(proxy->data_max, 64);
}

/* Begins with room for the old value of an AMO. */
static size_t small_in_bytes(const struct gsh_proxy *proxy)
{
    return 64 + small_out_bytes(proxy);
}

static enum gsh_result make_small(struct gsh_proxy *proxy)
{
    struct gsh_stage *stage = &proxy->stage;
    size_t out_bytes = small_out_bytes(proxy), in_bytes = small_in_bytes(proxy);
    void *memory = NULL;
    enum gsh_result r = stage->ops->allocate(
        stage->copy_streams, GSH_STAGE_SMALL_OUTS * out_bytes + GSH_STAGE_SMALL_INS * in_bytes,
        &memory);
    if (r != GSH_OK) {
        return r;
    }
    stage->small = memory;
    for (unsigned i = 0; i < GSH_STAGE_SMALL_OUTS; i++) {
        stage->free_outs[stage->n_free_outs++] = stage->small + i * out_bytes;
    }
    for (unsigned i = 0; i < GSH_STAGE_SMALL_INS; i++) {
        stage->free_ins[stage->n_free_ins++] =
            stage->small + GSH_STAGE_SMALL_OUTS * out_bytes + i * in_bytes;
    }
    return GSH_OK;
}

/* Checked before asking the system, which may try for minutes or kill unrelated processes. */
static enum gsh_result check_size(uint64_t bytes)
{
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (bytes <= all / 4) {
        return GSH_OK;
    }
    return gsh_note(GSH_ERR_NOMEM,
                    "%" PRIu64 " bytes of staging buffers (GSHMEM_STAGE_CHUNK, "
                    "GSHMEM_STAGE_BUFFERS) are more than a quarter of this host's memory",
                    bytes);
}

/* Replaces the region of a failed set-up, of which no peer has been told. */
static enum gsh_result make_region(struct gsh_proxy *proxy, uint64_t bytes)
{
    struct gsh_stage *stage = &proxy->stage;
    struct gsh_transport *t = proxy->transport;
    void *memory = NULL;
    if (stage->region != NULL) {
        (void)!t->ops->remove_region(t, GSH_STAGE_OFF);
    }
    stage->region = NULL;
    enum gsh_result r = check_size(bytes);
    if (r == GSH_OK) {
        r = t->ops->make_region(t, GSH_STAGE_OFF, bytes, &memory, &stage->key, &stage->key_bytes);
    }
    stage->region = memory;
    return r;
}

static enum gsh_result make_chunks(struct gsh_proxy *proxy)
{
    struct gsh_stage *stage = &proxy->stage;
    uint64_t half = stage->n_chunks * stage->chunk_bytes;
    enum gsh_result r = make_region(proxy, 2 * half);
    if (r != GSH_OK) {
        return r;
    }
    r = stage->ops->pin(stage->copy_streams, stage->region, 2 * half);
    if (r != GSH_OK) {
        return gsh_note(r, "cannot pin %" PRIu64 " bytes of staging buffers: %s", 2 * half,
                        gsh_last_error());
    }
    stage->is_pinned = true;
    for (unsigned i = 0; i < stage->n_chunks; i++) {
        stage->free_slots[stage->n_free_slots++] = stage->region + i * stage->chunk_bytes;
        stage->free_chunks[stage->n_free_chunks++] = stage->region + half + i * stage->chunk_bytes;
    }
    return GSH_OK;
}

enum gsh_result gsh_stage_create(struct gsh_proxy *proxy)
{
    struct gsh_stage *stage = &proxy->stage;
    uint64_t chunk = proxy->options.stage_chunk, n = proxy->options.stage_buffers;
    if (chunk <= proxy->data_max || chunk % 4096 != 0 || chunk > UINT64_MAX / 1024 || n < 2 ||
        n > GSH_PROXY_STAGE_BUFFERS_MAX) {
        return gsh_note(GSH_ERR_ARG, "%" PRIu64 " staging buffers of %" PRIu64 " bytes", n, chunk);
    }
    stage->ops = proxy->memory.copy_stream_ops;
    stage->copy_streams = proxy->memory.copy_streams;
    stage->has_chunks = !proxy->is_native;
    stage->chunk_bytes = chunk;
    stage->n_chunks = (unsigned)n;
    enum gsh_result r = GSH_OK;
    for (int copy_stream = 0; r == GSH_OK && copy_stream < GSH_COPY_STREAMS; copy_stream++) {
        r = stage->ops->poll(stage->copy_streams, (enum gsh_copy_stream)copy_stream,
                             &stage->n_ended[copy_stream]);
        stage->n_started[copy_stream] =
            stage->n_ended[copy_stream]; /* the copy streams may have been used before */
    }
    if (r == GSH_OK) {
        r = make_small(proxy);
    }
    if (r == GSH_OK && stage->has_chunks) {
        r = make_chunks(proxy);
    }
    if (r != GSH_OK) {
        gsh_stage_destroy(proxy);
    }
    return r;
}

static void drain(struct gsh_stage *stage)
{
    uint64_t start_ns = gsh_now_ns();
    unsigned backoff = 0;
    enum gsh_result r = GSH_OK;
    while (gsh_stage_is_busy(stage) && r == GSH_OK && gsh_now_ns() - start_ns < DRAIN_NS) {
        for (int copy_stream = 0; r == GSH_OK && copy_stream < GSH_COPY_STREAMS; copy_stream++) {
            r = stage->ops->poll(stage->copy_streams, (enum gsh_copy_stream)copy_stream,
                                 &stage->n_ended[copy_stream]);
        }
        gsh_spin(&backoff);
    }
}

static void free_queued_ins(struct gsh_stage *stage)
{
    for (struct gsh_link *at = stage->queued_ins.next; at != &stage->queued_ins; at = at->next) {
        free(GSH_HOLDER(struct gsh_stage_in, link, at)->data);
    }
    gsh_link_init(&stage->queued_ins);
}

void gsh_stage_destroy(struct gsh_proxy *proxy)
{
    struct gsh_stage *stage = &proxy->stage;
    if (stage->ops == NULL) {
        return;
    }
    drain(stage);
    free_queued_ins(stage);
    for (int pe = 0; pe < proxy->options.n_pes; pe++) {
        struct gsh_engine_peer *peer = proxy->peers[GSH_CONTEXT_DEFAULT][pe];
        if (peer != NULL && peer->stage.slots_here != NULL) {
            stage->ops->unpin(stage->copy_streams, peer->stage.slots_here);
            peer->stage.slots_here = NULL;
        }
    }
    if (stage->is_pinned) {
        stage->ops->unpin(stage->copy_streams, stage->region);
    }
    stage->ops->release(stage->copy_streams, stage->small);
    stage->ops = NULL;
    stage->small = NULL;
    stage->is_pinned = false;
    stage->n_free_slots = stage->n_free_chunks = stage->n_free_outs = stage->n_free_ins = 0;
}

/* ---- progress ---- */

unsigned gsh_stage_round(struct gsh_proxy *proxy)
{
    struct gsh_stage *stage = &proxy->stage;
    if (stage->ops == NULL || proxy->failure != GSH_OK) {
        return 0;
    }
    gsh_stage_poll(proxy, GSH_COPY_STREAM_IN);
    unsigned n = gsh_stage_progress_ins(proxy);
    gsh_stage_poll(proxy, GSH_COPY_STREAM_OUT);
    n += gsh_stage_progress_outs(proxy);
    return n + gsh_stage_is_busy(stage);
}
