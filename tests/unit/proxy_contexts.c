/* SPDX-License-Identifier: Apache-2.0
 * Proves that contexts do not wait for each other: while one's put to a PE is held up in the
 * network, with a fence and more puts queued behind it, the other contexts' puts, atomics, fences
 * and quiets to the same PE proceed, also those of kernels; and that its own quiet waits. */
#include <time.h>
#include "tests/rig/proxy_pes.h"

enum { HELD = GSH_CONTEXTS - 1, FREE = 1, HELD_MAX = 16, WORDS = 64 };
#define DATA(ctx) (1024 + 1024 * (uint64_t)(ctx))
#define FLAG(ctx) (8 * (uint64_t)(ctx))
#define COUNTER   512

/* The loop transport, but puts and flushes on one path are held until they are released. Under the
 * proxy's lock, for one PE. */
struct held {
    bool is_flush;
    uint64_t off, bytes;
    const void *source;
    struct gsh_op *op;
};
static struct {
    const struct gsh_transport_ops *real;
    struct gsh_transport_ops ops;
    struct held held[HELD_MAX];
    int n;
    bool is_released;
} gate;

static enum gsh_result hold(struct held held, bool *is_pending)
{
    CHECK(gate.n < HELD_MAX);
    gate.held[gate.n++] = held;
    *is_pending = true;
    return GSH_OK;
}

static enum gsh_result put(struct gsh_transport *t, int pe, unsigned path, uint64_t off,
                           const void *source, uint64_t bytes, struct gsh_op *op, bool *is_pending)
{
    if (path != HELD || gate.is_released) {
        return gate.real->put(t, pe, path, off, source, bytes, op, is_pending);
    }
    return hold((struct held){.off = off, .bytes = bytes, .source = source, .op = op}, is_pending);
}

static enum gsh_result flush(struct gsh_transport *t, int pe, unsigned path, struct gsh_op *op,
                             bool *is_pending)
{
    if (path != HELD || gate.is_released) {
        return gate.real->flush(t, pe, path, op, is_pending);
    }
    return hold((struct held){.is_flush = true, .op = op}, is_pending);
}

static void shut(struct pe *pe)
{
    struct gsh_transport *t = pe->proxy->transport;
    gsh_lock_take(&pe->proxy->lock);
    gate.real = t->ops;
    gate.ops = *t->ops;
    gate.ops.put = put;
    gate.ops.flush = flush;
    gate.n = 0;
    gate.is_released = false;
    t->ops = &gate.ops;
    gsh_lock_give(&pe->proxy->lock);
}

static void *release(void *argument)
{
    struct pe *pe = argument;
    struct gsh_transport *t = pe->proxy->transport;
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    gsh_lock_take(&pe->proxy->lock);
    gate.is_released = true;
    for (int i = 0; i < gate.n; i++) {
        struct held *h = &gate.held[i];
        bool is_pending = false;
        enum gsh_result r = h->is_flush ? gate.real->flush(t, 1, HELD, h->op, &is_pending)
                                        : gate.real->put(t, 1, HELD, h->off, h->source, h->bytes,
                                                         h->op, &is_pending);
        if (r != GSH_OK || !is_pending) {
            h->op->done(h->op, r);
        }
    }
    gsh_lock_give(&pe->proxy->lock);
    return NULL;
}

static void ask(struct pe *pe, int op, gsh_context ctx)
{
    struct gsh_request request = {.op = (uint8_t)op, .ctx = ctx};
    run(pe, &request);
}

/* Data, then a flag after a fence. */
static void send(struct pe *pe, gsh_context ctx, const uint64_t *words, uint64_t round)
{
    struct gsh_request flag = {
        .op = GSH_FAR_P, .pe = 1, .ctx = ctx, .remote_off = FLAG(ctx), .bytes = 8};
    struct gsh_request count = {.op = GSH_FAR_AMO,
                                .amo_op = GSH_AMO_ADD,
                                .word_bytes = 8,
                                .pe = 1,
                                .ctx = ctx,
                                .remote_off = COUNTER,
                                .operand = 1};
    struct gsh_request data = {.op = GSH_FAR_PUT,
                               .pe = 1,
                               .ctx = ctx,
                               .remote_off = DATA(ctx),
                               .local = (void *)words,
                               .bytes = WORDS * 8};
    memcpy(flag.inline_data, &round, 8);
    CHECK(gsh_proxy_post(pe->proxy, &data) == GSH_OK);
    ask(pe, GSH_FAR_FENCE, ctx);
    CHECK(gsh_proxy_post(pe->proxy, &flag) == GSH_OK);
    CHECK(gsh_proxy_post(pe->proxy, &count) == GSH_OK);
}

static void check_there(struct pe *pe, gsh_context ctx, uint64_t round)
{
    uint8_t *heap = pe->all[1].heap;
    CHECK_EQ(gsh_load_acquire_u64((uint64_t *)(heap + FLAG(ctx))), round);
    for (uint64_t i = 0; i < WORDS; i++) {
        CHECK_EQ(gsh_load_acquire_u64((uint64_t *)(heap + DATA(ctx)) + i), round * 100 + i);
    }
}

static void fill(uint64_t *words, uint64_t round)
{
    for (uint64_t i = 0; i < WORDS; i++) {
        words[i] = round * 100 + i;
    }
}

static void hold_and_go_on(struct pe *pe)
{
    enum { ROUNDS = 20 };
    uint64_t slow[WORDS], quick[WORDS];
    pthread_t thread;
    shut(pe);
    fill(slow, 1);
    send(pe, HELD, slow, 1); /* the flag and the count are queued behind the fence */
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        fill(quick, round);
        send(pe, FREE, quick, round);
        ask(pe, GSH_FAR_QUIET, FREE);
        check_there(pe, FREE, round);
        send(pe, GSH_CONTEXT_DEFAULT, quick, round);
        ask(pe, GSH_FAR_QUIET, GSH_CONTEXT_DEFAULT);
        check_there(pe, GSH_CONTEXT_DEFAULT, round);
        for (int r = 0; r < 2; r++) { /* rings of the same contexts */
            ring_put(&pe->rings[r], 1, DATA(r), quick, WORDS * 8);
            ring_fence(&pe->rings[r]);
            ring_p(&pe->rings[r], 1, FLAG(r), round);
            ring_quiet(&pe->rings[r]);
        }
    }
    uint8_t *there = pe->all[1].heap;
    CHECK_EQ(gsh_load_acquire_u64((uint64_t *)(there + FLAG(HELD))), 0);
    CHECK_EQ(gsh_load_acquire_u64((uint64_t *)(there + COUNTER)), 2 * ROUNDS);
    pthread_create(&thread, NULL, release, pe);
    ask(pe, GSH_FAR_QUIET, HELD);
    check_there(pe, HELD, 1);
    CHECK_EQ(gsh_load_acquire_u64((uint64_t *)(there + COUNTER)), 2 * ROUNDS + 1);
    pthread_join(thread, NULL);
    CHECK(gate.is_released && gate.n > 0);
}

static void contexts(struct pe *pe)
{
    if (pe->me == 0) {
        hold_and_go_on(pe);
    }
    pes_barrier(pe);
}

int main(void)
{
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < 5; i++) {
        pes_run(
            (struct pes_options){
                .n = 2, .n_rings = 2, .has_contexts = true, .seed = seed + i, .spin_ns = 50000},
            contexts);
    }
    return test_result();
}
