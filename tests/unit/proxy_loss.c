/* SPDX-License-Identifier: Apache-2.0
 * Proves that a proxy may outlive the loss of a peer, whether the transport finds it, the runtime
 * says so, or the peer sends what no PE sends: requests to that peer of every kind, of host threads
 * and of kernels, in two contexts, under way or new, end; quiets cover the other peers, with which
 * everything works as before; the lost peer's messages change nothing; and nothing is held for it
 * any more. */
#include "proxy/engine/inbox.h"
#include "tests/rig/proxy_pes.h"

#define LOST  2
#define LARGE 40000
/* Of each heap: what is checked, what gets read, and for puts that nobody looks at: those that the
 * target's proxy carries out, and those that a PE's own transport does. */
#define CHECKED   4096
#define READ      (CHECKED + LARGE)
#define BY_TARGET (READ + LARGE)
#define BY_PE(pe) (BY_TARGET + LARGE + (pe)*LARGE)
_Static_assert(BY_PE(3) <= HEAP, "all entries are in the heap");

static uint8_t source[LARGE]; /* zeroes */

static bool is_lost_here(struct pe *pe)
{
    gsh_lock_take(&pe->proxy->lock);
    bool is = pe->proxy->losses[LOST] == GSH_LOSS_GONE;
    gsh_lock_give(&pe->proxy->lock);
    return is;
}

static void post(struct pe *pe, struct gsh_request q)
{
    enum gsh_result r = gsh_proxy_post(pe->proxy, &q);
    CHECK(r == GSH_OK || (q.pe == LOST && r == GSH_ERR_PEER));
}

/* Requests of all kinds, which nobody waits for. dest: of gets. */
static void ask_everything(struct pe *pe, int target, gsh_context ctx, uint8_t *dest)
{
    struct ring *ring = &pe->rings[ctx];
    const uint64_t own = (uint64_t)BY_PE(pe->me);
    struct gsh_request q = {.pe = target, .ctx = ctx, .remote_off = own, .local = source};
    q.op = GSH_FAR_PUT;
    q.bytes = LARGE;
    post(pe, q);
    q.bytes = 100;
    post(pe, q);
    q.op = GSH_FAR_PUT_SIGNAL;
    q.sig_off = 8;
    q.bytes = LARGE;
    q.sig_op = GSHMEM_SIGNAL_ADD;
    post(pe, q);
    q.bytes = 100;
    q.is_strong = true;
    q.remote_off = BY_TARGET;
    post(pe, q);
    q.op = GSH_FAR_IPUT;
    q.elem_bytes = 8;
    q.nelems = LARGE / 16;
    q.remote_stride = q.local_stride = 2;
    post(pe, q);
    q.op = GSH_FAR_AMO;
    q.remote_off = 8;
    q.amo_op = GSH_AMO_ADD;
    q.word_bytes = 8;
    post(pe, q);
    q.op = GSH_FAR_IGET;
    q.remote_off = READ;
    q.local = dest;
    post(pe, q);
    q.op = GSH_FAR_GET;
    q.bytes = LARGE;
    post(pe, q);
    ring_put(ring, target, own, source, LARGE);
    ring_p(ring, target, own, 0);
    ring_fence(ring);
    ring_put(ring, target, own, source, 64);
    ring_push(ring, &(struct push){.op = GSH_RING_QUIET});
}

/* All requests of this PE that a quiet covers have ended; the kernel's, too. */
static void quiet_all(struct pe *pe)
{
    for (gsh_context ctx = 0; ctx < 2; ctx++) {
        struct gsh_request quiet = {.op = GSH_FAR_QUIET, .ctx = ctx};
        struct ring *ring = &pe->rings[ctx];
        unsigned backoff = 0;
        CHECK_EQ(gsh_proxy_run(pe->proxy, &quiet), GSH_OK);
        while (gsh_load_acquire_u64(&ring->cpu.cpu_done) != ring->head) {
            gsh_proxy_help(pe->proxy);
            gsh_backoff(&backoff);
        }
    }
}

static void check_new_requests(struct pe *pe)
{
    uint64_t word = 7;
    struct gsh_request q = {.op = GSH_FAR_PUT, .pe = LOST, .local = &word, .bytes = 8};
    CHECK_EQ(gsh_proxy_run(pe->proxy, &q), GSH_ERR_PEER);
    CHECK_EQ(gsh_proxy_post(pe->proxy, &q), GSH_ERR_PEER);
    CHECK_EQ(gsh_proxy_put(pe->proxy, 0, "put", LOST, 0, &word, 8, true), GSH_ERR_PEER);
    CHECK_EQ(gsh_proxy_put(pe->proxy, 1, "put", LOST, 0, &word, 8, false), GSH_ERR_PEER);
    q.op = GSH_FAR_AMO;
    q.word_bytes = 8;
    q.is_fetch = true;
    CHECK_EQ(gsh_proxy_run(pe->proxy, &q), GSH_ERR_PEER);
    CHECK_EQ(gsh_proxy_send(pe->proxy, LOST, 1, &word, 8), GSH_ERR_PEER);
    CHECK_EQ(gsh_proxy_receive(pe->proxy, LOST, 1, &word, 8, NULL, NULL), GSH_ERR_PEER);
    gsh_proxy_notify(pe->proxy, LOST, &word, 8);
}

/* Between PEs 0 and 1. */
static void check_others(struct pe *pe)
{
    int other = 1 - pe->me;
    uint8_t sent[LARGE], got[LARGE];
    memset(sent, 1 + pe->me, sizeof(sent));
    memset(got, 0, sizeof(got));
    run_put(pe, other, CHECKED, sent, LARGE);
    run_quiet(pe);
    struct gsh_request get = {
        .op = GSH_FAR_GET, .pe = other, .remote_off = CHECKED, .local = got, .bytes = LARGE};
    run(pe, &get);
    CHECK(memcmp(sent, got, LARGE) == 0);
    CHECK_EQ(run_amo(pe, other, 16, GSH_AMO_ADD, 5, true), 0);
    CHECK_EQ(gsh_proxy_send(pe->proxy, other, 3, &pe->me, sizeof(pe->me)), GSH_OK);
    int from = -1;
    CHECK_EQ(gsh_proxy_receive(pe->proxy, other, 3, &from, sizeof(from), NULL, NULL), GSH_OK);
    CHECK_EQ(from, other);
}

static unsigned count_questions(const struct gsh_proxy *proxy)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < proxy->asked.n_entries; i++) {
        n += proxy->asked.entries[i].task != NULL;
    }
    return n;
}

/* How many objects of a pool are in use. */
static size_t count_used(const struct gsh_pool *pool)
{
    size_t n_all = 0, n_free = 0;
    struct slab {
        struct slab *next;
    } *slab = (struct slab *)pool->slabs;
    for (; slab != NULL; slab = slab->next) {
        n_all += pool->per_slab;
    }
    for (void **at = pool->free; at != NULL; at = *at) {
        n_free++;
    }
    return n_all - n_free;
}

static bool is_clean(struct gsh_proxy *proxy)
{
    const struct gsh_stage *stage = &proxy->stage;
    bool is = proxy->n_pending == 0 && proxy->n_outs == 0 && proxy->n_ring_tasks == 0 &&
              proxy->n_posted[0] == 0 && proxy->n_posted[1] == 0 &&
              gsh_link_is_alone(&proxy->active) && gsh_link_is_alone(&proxy->waiting) &&
              gsh_link_is_alone(&proxy->acking) && count_questions(proxy) == 0 &&
              count_used(&proxy->tasks) == 0 && count_used(&proxy->small_outs) == 0 &&
              count_used(&proxy->large_outs) == 0 && count_used(&proxy->stage_outs) == 0 &&
              count_used(&proxy->stage_ins) == 0;
    if (stage->ops != NULL) {
        is = is && stage->n_free_outs == GSH_STAGE_SMALL_OUTS &&
             stage->n_free_ins == GSH_STAGE_SMALL_INS;
    }
    if (stage->has_chunks) {
        is =
            is && stage->n_free_slots == stage->n_chunks && stage->n_free_chunks == stage->n_chunks;
    }
    return is;
}

/* Until the transport and the copy streams have given back what they had. */
static void await_clean(struct pe *pe)
{
    unsigned backoff = 0;
    for (bool is = false; !is;) {
        gsh_proxy_help(pe->proxy);
        gsh_lock_take(&pe->proxy->lock);
        is = is_clean(pe->proxy);
        gsh_lock_give(&pe->proxy->lock);
        gsh_backoff(&backoff);
    }
}

enum how { ENDS, IS_SILENT, IS_HEARD_OF, IS_REFUSED, N_HOWS };
static enum how how;

/* The last one goes while all is under way; or no longer does anything, and the others are told. */
static void be_lost(struct pe *pe)
{
    static uint8_t dest[LARGE];
    for (gsh_context ctx = 0; ctx < 2; ctx++) {
        for (int target = 0; target < LOST; target++) {
            ask_everything(pe, target, ctx, dest);
        }
    }
    if (how == ENDS) {
        gsh_proxy_destroy(&pe->proxy);
        pes_barrier(pe);
    } else if (how == IS_SILENT) {
        gsh_lock_take(&pe->proxy->lock);
        pes_barrier(pe);
        pes_barrier(pe);
        gsh_lock_give(&pe->proxy->lock);
        return;
    } else {
        pes_barrier(pe);
    }
    pes_barrier(pe);
}

static void learn(struct pe *pe)
{
    static const struct gsh_message bad = {.kind = GSH_MESSAGE_ACK, .acks = UINT32_MAX};
    unsigned backoff = 0;
    if (how == IS_SILENT || how == IS_HEARD_OF) {
        gsh_proxy_lose(pe->proxy, LOST);
        gsh_proxy_lose(pe->proxy, LOST);
    } else if (how == IS_REFUSED) {
        gsh_lock_take(&pe->proxy->lock);
        gsh_inbox_arrived(pe->proxy, LOST, &bad, sizeof(bad), NULL, 0);
        gsh_lock_give(&pe->proxy->lock);
    }
    while (!is_lost_here(pe)) {
        if (how == ENDS) { /* the loop transport finds it by what it carries */
            gsh_proxy_notify(pe->proxy, LOST, &backoff, sizeof(backoff));
        }
        gsh_proxy_help(pe->proxy);
        gsh_backoff(&backoff);
    }
}

static void check_dropped(struct pe *pe)
{
    static const struct gsh_message put = {.kind = GSH_MESSAGE_PUT, .off = 24};
    const uint64_t word = 9;
    uint64_t n = gsh_proxy_n_dropped(pe->proxy);
    gsh_lock_take(&pe->proxy->lock);
    gsh_inbox_arrived(pe->proxy, LOST, &put, sizeof(put), &word, sizeof(word));
    gsh_lock_give(&pe->proxy->lock);
    CHECK_EQ(*(uint64_t *)(pe->heap + 24), 0);
    ring_p(&pe->rings[0], LOST, 24, 1);
    quiet_all(pe);
    CHECK_EQ(gsh_proxy_n_dropped(pe->proxy), n + 1);
}

static void lose_one(struct pe *pe)
{
    uint8_t *dest = malloc(LARGE);
    if (pe->me == LOST) {
        be_lost(pe);
        free(dest);
        return;
    }
    for (gsh_context ctx = 0; ctx < 2; ctx++) {
        for (int i = 0; i < 4; i++) {
            ask_everything(pe, LOST, ctx, dest);
        }
        ask_everything(pe, 1 - pe->me, ctx, dest);
    }
    pes_barrier(pe);
    learn(pe);
    quiet_all(pe);
    check_new_requests(pe);
    check_dropped(pe);
    check_others(pe);
    await_clean(pe);
    CHECK_EQ(pe->n_fails, 0);
    CHECK_EQ(pe->n_losses, how == ENDS || how == IS_REFUSED);
    CHECK(pe->n_losses == 0 || pe->lost_pe == LOST);
    pes_barrier(pe);
    free(dest);
}

int main(void)
{
    uint64_t seed = test_seed();
    struct pes_options options = {
        .n = 3, .n_rings = 2, .has_contexts = true, .may_fail = true, .outlives = true};
    for (unsigned i = 0; i < 12 * N_HOWS; i++) {
        how = (enum how)(i % N_HOWS);
        options.seed = seed + i;
        /* one that lives would still put to the slots that it was granted */
        options.is_device = i / N_HOWS % 3 != 0;
        options.is_reached = i / N_HOWS % 3 == 2 || how == IS_HEARD_OF || how == IS_REFUSED;
        options.n_buffers = i % 2 ? 4 : 2;
        pes_run(options, lose_one);
    }
    return test_result();
}
