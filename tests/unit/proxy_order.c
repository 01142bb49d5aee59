/* SPDX-License-Identifier: Apache-2.0
 * Proves the order that a target sees: data before the flag after a fence, put_signal's data before
 * its signal whatever its size, everything before the end of a quiet; that requests of a kernel and
 * of the host to one word are atomic together, and with the target's own; and that a peer that does
 * not answer delays no other PE's traffic. */
#define HEAP (5 << 20) /* for a stream of puts that overlap nowhere */

#include "proxy/engine/peer.h"
#include "tests/rig/proxy_pes.h"

#define ROUNDS  60
#define WORDS   5000 /* 40000 bytes: more than a message */
#define FLAG    0
#define ACK     8
#define COUNTER 16
#define DATA    1024

static uint64_t *word_at(struct pe *pe, uint64_t off)
{
    return (uint64_t *)(pe->heap + off);
}

static void fill(uint64_t *words, uint64_t n, uint64_t value)
{
    for (uint64_t i = 0; i < n; i++) {
        words[i] = value + i;
    }
}

static void check_filled(struct pe *pe, uint64_t off, uint64_t n, uint64_t value)
{
    bool is_right = true;
    for (uint64_t i = 0; i < n; i++) {
        is_right = is_right && word_at(pe, off)[i] == value + i;
    }
    CHECK(is_right);
}

static int right(const struct pe *pe)
{
    return (pe->me + 1) % pe->n;
}

static int left(const struct pe *pe)
{
    return (pe->me + pe->n - 1) % pe->n;
}

/* Each round the right neighbour gets data and then a flag, and reports when it has read them. */
typedef void (*send_fn)(struct pe *pe, uint64_t n, uint64_t round, uint64_t *source);

static void pass_rounds(struct pe *pe, send_fn send)
{
    uint64_t *source = malloc(WORDS * sizeof(*source));
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        static const uint64_t sizes[] = {1, 12, 200, 1100, WORDS};
        uint64_t n = sizes[round % GSH_ARRAY_LEN(sizes)];
        fill(source, n, round << 32);
        send(pe, n, round, source);
        await_word(pe, FLAG, round);
        check_filled(pe, DATA, n, round << 32);
        run_amo(pe, left(pe), ACK, GSH_AMO_SET, round, false);
        await_word(pe, ACK, round);
        run_quiet(pe); /* the source is written again */
        if (pe->options.n_rings > 0) {
            ring_quiet(&pe->rings[0]);
        }
    }
    pes_barrier(pe);
    memset(pe->heap, 0, HEAP);
    pes_barrier(pe);
    free(source);
}

static void put_fence_put(struct pe *pe, uint64_t n, uint64_t round, uint64_t *source)
{
    struct gsh_request flag = {.op = GSH_FAR_P, .pe = right(pe), .remote_off = FLAG, .bytes = 8};
    memcpy(flag.inline_data, &round, 8);
    run_put_nbi(pe, right(pe), DATA, source, n * 8);
    run_fence(pe);
    run(pe, &flag);
}

static void put_fence_amo(struct pe *pe, uint64_t n, uint64_t round, uint64_t *source)
{
    run_put(pe, right(pe), DATA, source, n * 8);
    run_fence(pe);
    CHECK_EQ(run_amo(pe, right(pe), FLAG, GSH_AMO_ADD, 1, round % 2), round % 2 ? round - 1 : 0);
}

/* By strided puts, which are messages: the flag, a native put, must wait for acknowledgements. One
 * more message after the fence must not make it forget them. */
static void messages_fence_put(struct pe *pe, uint64_t n, uint64_t round, uint64_t *source)
{
    struct gsh_request iput = {.op = GSH_FAR_IPUT,
                               .pe = right(pe),
                               .remote_off = DATA,
                               .local = source,
                               .elem_bytes = 8,
                               .nelems = n,
                               .remote_stride = 1,
                               .local_stride = 1};
    CHECK(gsh_proxy_post(pe->proxy, &iput) == GSH_OK);
    run_fence(pe);
    if (round % 2) {
        run_amo(pe, right(pe), COUNTER, GSH_AMO_ADD, 1, false);
    }
    run_put(pe, right(pe), FLAG, &round, 8);
}

static void quiet_between(struct pe *pe, uint64_t n, uint64_t round, uint64_t *source)
{
    run_put_nbi(pe, right(pe), DATA, source, n * 8);
    run_quiet(pe);
    /* Visible already: messages to the target's mailbox take no part in any order. */
    CHECK(gsh_proxy_send(pe->proxy, right(pe), 7, &round, 8) == GSH_OK);
    uint64_t got = 0;
    CHECK(gsh_proxy_receive(pe->proxy, left(pe), 7, &got, 8, NULL, NULL) == GSH_OK);
    CHECK_EQ(got, round);
    gsh_store_release_u64(word_at(pe, FLAG), round);
}

static void put_signal(struct pe *pe, uint64_t n, uint64_t round, uint64_t *source)
{
    struct gsh_request q = {.op = GSH_FAR_PUT_SIGNAL,
                            .sig_op = round % 2 ? GSHMEM_SIGNAL_SET : GSHMEM_SIGNAL_ADD,
                            .pe = right(pe),
                            .remote_off = DATA,
                            .local = source,
                            .bytes = n * 8,
                            .sig_off = FLAG,
                            .signal = round % 2 ? round : 1};
    if (round % 4 < 2) {
        run(pe, &q);
    } else {
        CHECK(gsh_proxy_post(pe->proxy, &q) == GSH_OK);
    }
}

static void ring_put_fence_put(struct pe *pe, uint64_t n, uint64_t round, uint64_t *source)
{
    struct ring *ring = &pe->rings[0];
    ring_put(ring, right(pe), DATA, source, n * 8);
    ring_fence(ring);
    ring_p(ring, right(pe), FLAG, round);
}

static void ring_put_signal(struct pe *pe, uint64_t n, uint64_t round, uint64_t *source)
{
    ring_push(&pe->rings[0],
              &(struct push){.op = GSH_RING_PUT_SIGNAL,
                             .arg = GSHMEM_SIGNAL_SET,
                             .pe = right(pe),
                             .n_values = 5,
                             .values = {DATA, (uint64_t)(uintptr_t)source, n * 8, FLAG, round}});
}

/* The kernel's quiet and the host's are independent, but each covers all its own operations. */
static void ring_quiet_then_host(struct pe *pe, uint64_t n, uint64_t round, uint64_t *source)
{
    struct ring *ring = &pe->rings[0];
    ring_put(ring, right(pe), DATA, source, n * 8);
    ring_quiet(ring);
    run_put(pe, right(pe), FLAG, &round, 8);
}

static void pass_all(struct pe *pe)
{
    static const send_fn sends[] = {put_fence_put,   put_fence_amo,       messages_fence_put,
                                    quiet_between,   put_signal,          ring_put_fence_put,
                                    ring_put_signal, ring_quiet_then_host};
    for (size_t i = 0; i < GSH_ARRAY_LEN(sends); i++) {
        pass_rounds(pe, sends[i]);
    }
}

/* ---- a stream of puts with signals ---- */

#define STREAM 100

static const struct gsh_transport_ops *counted_ops;
static const struct gsh_engine_peer *counted_peer;
static unsigned n_flushes, n_signals;
static bool is_last_flushed; /* the last signal went when all puts had been flushed */

static enum gsh_result count_flush(struct gsh_transport *t, int pe, unsigned path,
                                   struct gsh_op *op, bool *is_pending)
{
    n_flushes++;
    return counted_ops->flush(t, pe, path, op, is_pending);
}

static enum gsh_result count_send(struct gsh_transport *t, int pe, const void *header,
                                  size_t header_bytes, const void *data, size_t bytes,
                                  struct gsh_op *op, bool *is_pending)
{
    const struct gsh_message *m = header;
    if (m->kind == GSH_MESSAGE_AMO || m->kind == GSH_MESSAGE_PUT_SIGNAL) {
        n_signals++;
        is_last_flushed = counted_peer->puts_flushed == counted_peer->puts_posted;
    }
    return counted_ops->send(t, pe, header, header_bytes, data, bytes, op, is_pending);
}

/* No put waits for the signal of another: all go at once, and what has to wait for their flush
 * waits for one, or two. A strong signal waits for all puts before it. Each put has a target of its
 * own, since nothing orders them. */
static void stream_signals(struct pe *pe, bool is_strong, uint64_t n)
{
    uint64_t *source = malloc(WORDS * sizeof(*source));
    struct gsh_transport *t = pe->proxy->transport;
    struct gsh_transport_ops ops = *t->ops;
    fill(source, WORDS, 77);
    pes_barrier(pe);
    if (pe->me == 0) {
        ops.flush = count_flush;
        ops.send = count_send;
        gsh_lock_take(&pe->proxy->lock); /* nothing completes before all are there */
        counted_ops = t->ops;
        t->ops = &ops;
        n_flushes = n_signals = 0;
        counted_peer = gsh_engine_peer(pe->proxy, 1, GSH_CONTEXT_DEFAULT);
        gsh_lock_give(&pe->proxy->lock);
        for (int i = 0; i < STREAM; i++) {
            struct gsh_request q = {.op = GSH_FAR_PUT_SIGNAL,
                                    .sig_op = GSHMEM_SIGNAL_ADD,
                                    .is_strong = is_strong,
                                    .pe = 1,
                                    .remote_off = DATA + (uint64_t)i * n * 8,
                                    .local = source,
                                    .bytes = n * 8,
                                    .sig_off = FLAG,
                                    .signal = 1};
            if (is_strong && i == STREAM - 1) { /* by the network itself: messages overtake it */
                run_put_nbi(pe, 1, DATA + STREAM * n * 8, source, WORDS * 8);
            }
            CHECK(gsh_proxy_post(pe->proxy, &q) == GSH_OK);
        }
        run_quiet(pe);
        gsh_lock_take(&pe->proxy->lock);
        t->ops = counted_ops;
        gsh_lock_give(&pe->proxy->lock);
        CHECK(n_flushes <= STREAM / 4);
        CHECK_EQ(n_signals, STREAM);
        CHECK(is_last_flushed || !is_strong);
        CHECK(n_flushes > 0 || (n <= 1100 && !is_strong));
    }
    if (pe->me == 1) {
        await_word(pe, FLAG, STREAM);
        for (uint64_t i = 0; i < STREAM; i++) {
            check_filled(pe, DATA + i * n * 8, n, 77);
        }
        if (is_strong) {
            check_filled(pe, DATA + STREAM * n * 8, WORDS, 77);
        }
        gsh_store_release_u64(word_at(pe, FLAG), 0);
        memset(pe->heap + DATA, 0, (STREAM * n + WORDS) * 8);
    }
    pes_barrier(pe);
    free(source);
}

static void stream_all(struct pe *pe)
{
    stream_signals(pe, false, 1);
    stream_signals(pe, false, WORDS);
    stream_signals(pe, true, 1);
    stream_signals(pe, true, 500);
    stream_signals(pe, true, WORDS);
}

/* ---- one word, from everywhere ---- */

#define ADDS 300

static void *add_by_ring(void *arg)
{
    struct pe *pe = arg;
    for (int i = 0; i < ADDS; i++) {
        ring_amo(&pe->rings[0], 0, COUNTER, GSH_AMO_ADD, 1, 0, i % 3 == 0, true);
    }
    ring_quiet(&pe->rings[0]);
    return NULL;
}

static void *add_near(void *arg)
{
    struct pe *pe = arg;
    for (int i = 0; i < ADDS; i++) {
        __atomic_fetch_add(word_at(pe, COUNTER), 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void add_from_everywhere(struct pe *pe)
{
    pthread_t ring_thread, near_thread;
    CHECK(pthread_create(&ring_thread, NULL, add_by_ring, pe) == 0);
    if (pe->me == 0) {
        CHECK(pthread_create(&near_thread, NULL, add_near, pe) == 0);
    }
    uint64_t before = 0;
    for (int i = 0; i < ADDS; i++) {
        uint64_t old = run_amo(pe, 0, COUNTER, GSH_AMO_ADD, 1, i % 2);
        CHECK(i % 2 == 0 || old >= before);
        before = i % 2 ? old : before;
    }
    run_quiet(pe);
    pthread_join(ring_thread, NULL);
    if (pe->me == 0) {
        pthread_join(near_thread, NULL);
    }
    pes_barrier(pe);
    if (pe->me == 0) {
        CHECK_EQ(*word_at(pe, COUNTER), (2 * pe->n + 1) * ADDS);
    }
}

/* ---- a peer that does not answer ---- */

/* PE 2 does nothing while its proxy's lock is held: its acknowledgements do not come. Meanwhile PE
 * 0's traffic to PE 1, from the same ring and after the same fences, arrives. */
static void pass_a_silent_peer(struct pe *pe)
{
    struct ring *ring = &pe->rings[0];
    uint64_t end = 0;
    if (pe->me == 2) {
        gsh_lock_take(&pe->proxy->lock);
    }
    pes_barrier(pe);
    if (pe->me == 0) {
        ring_amo(ring, 2, COUNTER, GSH_AMO_SET, 1, 0, false, true);
        ring_fence(ring);
        ring_p(ring, 2, FLAG, 1);
        ring_amo(ring, 1, COUNTER, GSH_AMO_SET, 1, 0, false, true);
        ring_fence(ring);
        ring_p(ring, 1, FLAG, 1);
        end = ring_push(ring, &(struct push){.op = GSH_RING_QUIET});
        ring_p(ring, 1, ACK, 1);
    }
    if (pe->me == 1) {
        await_word(pe, ACK, 1); /* even after a quiet that cannot end */
        await_word(pe, FLAG, 1);
        CHECK_EQ(*word_at(pe, COUNTER), 1);
    }
    pes_barrier(pe);
    if (pe->me == 0) {
        CHECK(gsh_load_acquire_u64(&ring->cpu.cpu_done) < end);
    }
    if (pe->me == 2) {
        CHECK_EQ(*word_at(pe, FLAG), 0);
        CHECK_EQ(*word_at(pe, COUNTER), 0);
    }
    pes_barrier(pe);
    if (pe->me == 2) {
        gsh_lock_give(&pe->proxy->lock);
        await_word(pe, FLAG, 1);
        CHECK_EQ(*word_at(pe, COUNTER), 1);
    }
    if (pe->me == 0) {
        ring_await(ring, end);
    }
}

int main(void)
{
    uint64_t seed = test_seed();
    for (uint64_t i = 0; i < 3; i++) {
        struct pes_options options = {
            .n = 2 + (int)i, .n_rings = 1, .seed = seed + i, .spin_ns = 50000};
        pes_run(options, pass_all);
        pes_run(options, add_from_everywhere);
        options.is_device = true;
        pes_run(options, pass_all);
        pes_run(options, add_from_everywhere);
        options.is_reached = true;
        pes_run(options, pass_all);
    }
    for (uint64_t i = 0; i < 5; i++) {
        struct pes_options options = {.n = 2, .seed = seed + i, .spin_ns = 50000};
        pes_run(options, stream_all);
        options.is_device = true;
        options.is_reached = true;
        pes_run(options, stream_all);
    }
    pes_run((struct pes_options){.n = 3, .n_rings = 1, .seed = seed, .spin_ns = 50000},
            pass_a_silent_peer);
    pes_run((struct pes_options){.n = 3,
                                 .n_rings = 1,
                                 .seed = seed,
                                 .spin_ns = 50000,
                                 .is_device = true,
                                 .n_buffers = 4},
            pass_a_silent_peer);
    return test_result();
}
