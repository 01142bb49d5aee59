/* SPDX-License-Identifier: Apache-2.0
 * The shared-memory bootstrap. shm.h states the protocol. */
#include "bootstrap/shm.h"

#include <stdlib.h>
#include <string.h>
#include "base/atomic.h"
#include "base/futex.h"
#include "base/util.h"

struct shm {
    struct gsh_bootstrap b;
    struct gsh_bootstrap *base;
    struct gsh_shm_area **areas;
    const int *pes; /* NULL: PEs are ranks */
    gsh_shm_wait_fn wait;
    void *context;
    uint64_t round;
    bool has_left;
};

/* In a call's length: what kind of call it is, and, in that of the first rank, which rank is in
 * another one. */
#define COMBINES (UINT64_C(1) << 63)
#define DIFFERS  (UINT64_C(1) << 62)
#define PARTS    (UINT64_C(1) << 61) /* gsh_shm_combine */

/* The ranks that all wait for each other by themselves, at most. */
#define FLAT_RANKS 64

/* A rank that waits for the first polls so often, then sleeps, for so long at most. */
#define SHORT_POLLS 64
#define SLEEP_NS    50000000u

/* A wait for the first rank is in truth one for a rank that has not come to it; after so long it
 * is worth asking which. */
#define LOOK_AROUND_NS 100000000u

/* Whom the first rank waits for in this round; itself if nobody, or if it has not come. */
static int find_missing(const struct shm *s, uint64_t round)
{
    const uint64_t awaited = gsh_load_relaxed_u64(&s->areas[0]->awaited);
    const uint64_t rank = awaited % GSH_SHM_RANKS;
    return awaited / GSH_SHM_RANKS == round && rank < (uint64_t)s->b.size ? (int)rank : 0;
}

void gsh_shm_leave(struct gsh_shm_area *own)
{
    /* release: pairs with the acquire in has_left() of other ranks */
    gsh_store_release_u64(&own->left, 1);
}

/* Whether a rank that has not stored this round never will. Then this one leaves as well, for those
 * that wait for it. */
static bool has_left(struct shm *s, int rank, uint64_t round)
{
    /* acquire: pairs with the release in gsh_shm_leave(); what it has stored before is seen next */
    if (gsh_load_acquire_u64(&s->areas[rank]->left) == 0 ||
        gsh_load_acquire_u64(&s->areas[rank]->seq) >= round) {
        return false;
    }
    s->has_left = true;
    gsh_shm_leave(s->areas[s->b.rank]);
    return true;
}

static enum gsh_result fail_left(void)
{
    return gsh_note(GSH_ERR_PEER, "another PE of the node has failed");
}

/* Waits until rank has stored round `round`. */
static enum gsh_result wait_rank(struct shm *s, int rank, uint64_t round)
{
    unsigned backoff = 0;
    uint64_t start_ns = 0;
    if (s->b.rank == 0) {
        __atomic_store_n(&s->areas[0]->awaited, round * GSH_SHM_RANKS + (uint64_t)rank,
                         __ATOMIC_RELAXED);
    }
    /* acquire: pairs with the release in publish() of that rank */
    while (gsh_load_acquire_u64(&s->areas[rank]->seq) < round) {
        enum gsh_result r =
            has_left(s, rank, round) ? fail_left() : s->wait(s->context, &backoff, &start_ns, rank);
        if (r != GSH_OK) {
            return r;
        }
    }
    return GSH_OK;
}

/* The same for the first rank, by many: they sleep. */
static enum gsh_result wait_first(struct shm *s, uint64_t round)
{
    const uint64_t *word = &s->areas[0]->seq;
    uint64_t start_ns = 0, seen;
    /* acquire: pairs with the release in publish() of the first rank */
    for (unsigned polls = 0; (seen = gsh_load_acquire_u64(word)) < round; polls++) {
        unsigned backoff = 0; /* of which a pause is left */
        if (polls >= SHORT_POLLS) {
            gsh_futex_wait(word, seen, SLEEP_NS);
        }
        const bool is_long = start_ns != 0 && gsh_now_ns() - start_ns > LOOK_AROUND_NS;
        const int missing = is_long ? find_missing(s, round) : 0;
        enum gsh_result r =
            has_left(s, 0, round) ? fail_left() : s->wait(s->context, &backoff, &start_ns, missing);
        if (r != GSH_OK) {
            return r;
        }
    }
    return GSH_OK;
}

static void publish(const struct shm *s, uint64_t round, uint64_t length, const void *data,
                    size_t bytes)
{
    struct gsh_shm_area *own = s->areas[s->b.rank];
    own->slot_bytes[round & 1] = length;
    if (bytes > 0) {
        memcpy(own->slot[round & 1], data, bytes);
    }
    /* release: pairs with the acquire in wait_rank() of other ranks */
    gsh_store_release_u64(&own->seq, round);
}

static enum gsh_result wait_others(struct shm *s, uint64_t round)
{
    enum gsh_result r = GSH_OK;
    for (int i = 1; i < s->b.size && r == GSH_OK; i++) {
        r = wait_rank(s, i, round);
    }
    return r;
}

/* The first rank, which has published after all others, wakes them; the others wait for it. */
static enum gsh_result end_led(struct shm *s, uint64_t round)
{
    if (s->b.rank != 0) {
        return wait_first(s, round);
    }
    gsh_futex_wake_all(&s->areas[0]->seq);
    return GSH_OK;
}

static enum gsh_result differ(const struct shm *s, int rank)
{
    return gsh_fail(GSH_ERR_SYMMETRY,
                    "PE %d is in another collective call (malloc, free or finalize) than this PE",
                    s->pes != NULL ? s->pes[rank] : rank);
}

/* One round of at most GSH_SHM_SLOT_BYTES bytes; stride: bytes between ranks in all_out. */
static enum gsh_result exchange(struct shm *s, const uint8_t *mine, size_t bytes, uint8_t *all_out,
                                size_t stride)
{
    const uint64_t round = ++s->round;
    const bool is_led = s->b.size > FLAT_RANKS;
    enum gsh_result result = GSH_OK;
    if (s->has_left) {
        return fail_left();
    }
    enum gsh_result r = is_led && s->b.rank == 0 ? wait_others(s, round) : GSH_OK;
    if (r != GSH_OK) {
        return r;
    }
    publish(s, round, bytes, mine, bytes);
    r = is_led ? end_led(s, round) : GSH_OK;
    for (int i = 0; i < s->b.size; i++) {
        r = r == GSH_OK && !is_led ? wait_rank(s, i, round) : r;
        if (r != GSH_OK) {
            return r;
        }
        if (s->areas[i]->slot_bytes[round & 1] != bytes) {
            /* finish the round anyway, so that all ranks stay in step */
            result = result != GSH_OK ? result : differ(s, i);
        } else if (all_out != NULL && bytes > 0) {
            memcpy(all_out + (size_t)i * stride, s->areas[i]->slot[round & 1], bytes);
        }
    }
    return result;
}

/* A rank in another call than this one. */
struct other {
    int rank; /* size: there is none */
    uint64_t length;
};

/* Folds the values of the other ranks into mine. *other: the first in another call. */
static enum gsh_result fold_others(struct shm *s, void *mine, size_t bytes,
                                   void (*fold)(void *into, const void *from), uint64_t length,
                                   struct other *other)
{
    for (int i = 0; i < s->b.size; i++) {
        uint64_t theirs[GSH_COMBINE_MAX_BYTES / sizeof(uint64_t)] = {0};
        if (i == s->b.rank) {
            continue;
        }
        enum gsh_result r = wait_rank(s, i, s->round);
        if (r != GSH_OK) {
            return r;
        }
        const uint64_t its = s->areas[i]->slot_bytes[s->round & 1];
        if (its != length && other->rank == s->b.size) {
            *other = (struct other){.rank = i, .length = its};
        } else if (its == length && fold != NULL) {
            memcpy(theirs, s->areas[i]->slot[s->round & 1], bytes);
            fold(mine, theirs);
        }
    }
    return GSH_OK;
}

/* The first rank says that the rank `named` is in another call than itself: this one is in another
 * than one of these two. */
static void find_other(const struct shm *s, uint64_t named, uint64_t length, struct other *other)
{
    const unsigned slot = (unsigned)s->round & 1;
    *other = (struct other){.rank = (int)(named % (uint64_t)s->b.size)};
    other->length = s->areas[other->rank]->slot_bytes[slot];
    if (other->length == length || other->rank == 0) {
        other->rank = 0;
        memcpy(&other->length, s->areas[0]->slot[slot], sizeof(other->length));
    }
}

/* The first rank reads what all have, and the others what it makes of that. */
static enum gsh_result combine_through_one(struct shm *s, void *mine, size_t bytes,
                                           void (*fold)(void *into, const void *from),
                                           uint64_t length, struct other *other)
{
    const uint64_t round = ++s->round;
    if (s->b.rank == 0) {
        enum gsh_result r = fold_others(s, mine, bytes, fold, length, other);
        if (r == GSH_OK && other->rank == s->b.size) {
            publish(s, round, length, mine, bytes);
        } else if (r == GSH_OK) {
            publish(s, round, DIFFERS | (uint64_t)other->rank, &length, sizeof(length));
        }
        return r == GSH_OK ? end_led(s, round) : r;
    }
    publish(s, round, length, mine, bytes);
    enum gsh_result r = end_led(s, round);
    const uint64_t its = s->areas[0]->slot_bytes[round & 1];
    if (r == GSH_OK && its == length && bytes > 0) {
        memcpy(mine, s->areas[0]->slot[round & 1], bytes);
    } else if (r == GSH_OK && (its & DIFFERS) != 0) {
        find_other(s, its & ~DIFFERS, length, other);
    } else if (r == GSH_OK && its != length) {
        *other = (struct other){.rank = 0, .length = its};
    }
    return r;
}

static enum gsh_result combine(struct shm *s, void *mine, size_t bytes,
                               void (*fold)(void *into, const void *from), uint64_t length,
                               struct other *other)
{
    *other = (struct other){.rank = s->b.size};
    if (s->has_left) {
        return fail_left();
    }
    if (s->b.size > FLAT_RANKS) {
        return combine_through_one(s, mine, bytes, fold, length, other);
    }
    s->round++;
    publish(s, s->round, length, mine, bytes);
    return fold_others(s, mine, bytes, fold, length, other);
}

static enum gsh_result shm_combine(struct gsh_bootstrap *b, void *mine, size_t bytes,
                                   void (*fold)(void *into, const void *from))
{
    struct shm *s = (struct shm *)b;
    struct other other;
    const enum gsh_result r = combine(s, mine, bytes, fold, bytes | COMBINES, &other);
    return r == GSH_OK && other.rank < b->size ? differ(s, other.rank) : r;
}

enum gsh_result gsh_shm_combine(struct gsh_bootstrap *b, uint64_t length, void *mine, size_t bytes,
                                void (*fold)(void *into, const void *from),
                                struct gsh_shm_other *other)
{
    struct shm *s = (struct shm *)b;
    struct other its;
    enum gsh_result r = combine(s, mine, bytes, fold, length | PARTS, &its);
    *other = (struct gsh_shm_other){.pe = -1};
    if (r == GSH_OK && its.rank < b->size && (its.length & PARTS) == 0) {
        r = differ(s, its.rank);
    } else if (r == GSH_OK && its.rank < b->size) {
        *other = (struct gsh_shm_other){.pe = s->pes != NULL ? s->pes[its.rank] : its.rank,
                                        .length = its.length & ~PARTS};
    }
    return r;
}

static enum gsh_result shm_allgather(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                     void *all_out)
{
    struct shm *s = (struct shm *)b;
    for (size_t done = 0; done < bytes; done += GSH_SHM_SLOT_BYTES) {
        size_t part = bytes - done < GSH_SHM_SLOT_BYTES ? bytes - done : GSH_SHM_SLOT_BYTES;
        uint8_t *out = all_out != NULL ? (uint8_t *)all_out + done : NULL;
        enum gsh_result r = exchange(s, (const uint8_t *)mine + done, part, out, bytes);
        if (r != GSH_OK) {
            return r;
        }
    }
    return GSH_OK;
}

static enum gsh_result shm_barrier(struct gsh_bootstrap *b)
{
    struct shm *s = (struct shm *)b;
    struct other other;
    if (b->size <= FLAT_RANKS) {
        return exchange(s, NULL, 0, NULL, 0);
    }
    const enum gsh_result r = combine(s, NULL, 0, NULL, 0, &other);
    return r == GSH_OK && other.rank < b->size ? differ(s, other.rank) : r;
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
    .combine = shm_combine,
    .abort = shm_abort,
    .destroy = shm_destroy,
};

enum gsh_result gsh_bootstrap_shm_create(struct gsh_bootstrap *base, int rank, int size,
                                         struct gsh_shm_area **areas, const int *pes,
                                         gsh_shm_wait_fn wait, void *context,
                                         struct gsh_bootstrap **out)
{
    struct shm *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return gsh_fail(GSH_ERR_NOMEM, "no memory for the node's bootstrap");
    }
    s->b.ops = &shm_ops;
    s->b.rank = rank;
    s->b.size = size;
    s->b.timeout_ns = base->timeout_ns;
    s->base = base;
    s->areas = areas;
    s->pes = pes;
    s->wait = wait;
    s->context = context;
    *out = &s->b;
    return GSH_OK;
}
