/* SPDX-License-Identifier: Apache-2.0
 * The shared-memory bootstrap. shm.h states the protocol. */
#include "bootstrap/shm.h"

#include <stdlib.h>
#include <string.h>
#include "base/atomic.h"

struct shm {
    struct gsh_bootstrap b;
    struct gsh_bootstrap *base;
    struct gsh_shm_area **areas;
    gsh_shm_wait_fn wait;
    void *context;
    uint64_t round;
};

/* Waits until rank has stored round `round`. */
static enum gsh_result wait_rank(struct shm *s, int rank, uint64_t round)
{
    unsigned backoff = 0;
    uint64_t start_ns = 0;
    /* acquire: pairs with the release in publish() of that rank */
    while (gsh_load_acquire_u64(&s->areas[rank]->seq) < round) {
        enum gsh_result r = s->wait(s->context, &backoff, &start_ns, rank);
        if (r != GSH_OK) {
            return r;
        }
    }
    return GSH_OK;
}

/* One round of at most GSH_SHM_SLOT_BYTES bytes; stride: bytes between ranks in all_out. */
static enum gsh_result exchange(struct shm *s, const uint8_t *mine, size_t bytes, uint8_t *all_out,
                                size_t stride)
{
    uint64_t round = ++s->round;
    struct gsh_shm_area *own = s->areas[s->b.rank];
    enum gsh_result result = GSH_OK;
    own->slot_bytes[round & 1] = bytes;
    if (bytes > 0) {
        memcpy(own->slot[round & 1], mine, bytes);
    }
    /* release: pairs with the acquire in wait_rank() of every other rank */
    gsh_store_release_u64(&own->seq, round);
    for (int i = 0; i < s->b.size; i++) {
        enum gsh_result r = wait_rank(s, i, round);
        if (r != GSH_OK) {
            return r;
        }
        if (s->areas[i]->slot_bytes[round & 1] != bytes) {
            /* finish the round anyway, so that all ranks stay in step */
            result =
                result != GSH_OK
                    ? result
                    : gsh_fail(GSH_ERR_SYMMETRY,
                               "PE %d is in another collective call (malloc, free or finalize) "
                               "than this PE",
                               i);
        } else if (bytes > 0) {
            memcpy(all_out + (size_t)i * stride, s->areas[i]->slot[round & 1], bytes);
        }
    }
    return result;
}

static enum gsh_result shm_allgather(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                     void *all_out)
{
    struct shm *s = (struct shm *)b;
    for (size_t done = 0; done < bytes; done += GSH_SHM_SLOT_BYTES) {
        size_t part = bytes - done < GSH_SHM_SLOT_BYTES ? bytes - done : GSH_SHM_SLOT_BYTES;
        enum gsh_result r =
            exchange(s, (const uint8_t *)mine + done, part, (uint8_t *)all_out + done, bytes);
        if (r != GSH_OK) {
            return r;
        }
    }
    return GSH_OK;
}

static enum gsh_result shm_barrier(struct gsh_bootstrap *b)
{
    return exchange((struct shm *)b, NULL, 0, NULL, 0);
}

static void shm_abort(struct gsh_bootstrap *b, int status, const char *message)
{
    struct shm *s = (struct shm *)b;
    s->base->ops->abort(s->base, status, message);
}

static void shm_destroy(struct gsh_bootstrap *b)
{
    free(b);
}

static const struct gsh_bootstrap_ops shm_ops = {
    .name = "shared memory",
    .allgather = shm_allgather,
    .barrier = shm_barrier,
    .abort = shm_abort,
    .destroy = shm_destroy,
};

enum gsh_result gsh_bootstrap_shm_create(struct gsh_bootstrap *base, struct gsh_shm_area **areas,
                                         gsh_shm_wait_fn wait, void *context,
                                         struct gsh_bootstrap **out)
{
    struct shm *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for the node's bootstrap");
    }
    s->b.ops = &shm_ops;
    s->b.rank = base->rank;
    s->b.size = base->size;
    s->b.timeout_ns = base->timeout_ns;
    s->base = base;
    s->areas = areas;
    s->wait = wait;
    s->context = context;
    *out = &s->b;
    return GSH_OK;
}
