/* SPDX-License-Identifier: Apache-2.0
 * PEs as threads of one process, each with a heap in ordinary memory and a proxy over the loop
 * transport; over UCX when TEST_UCX_PLUGIN names the plug-in. Tests act as kernels by ring_push. */
#ifndef GSH_TEST_PROXY_PES_H
#define GSH_TEST_PROXY_PES_H

#include <gshmem/types.h>
#include <pthread.h>
#include "base/log.h"
#include "base/util.h"
#include "base/copy.h"
#include "proxy/engine/state.h"
#include "tests/rig/pes.h"
#include "wire/state.h"

#ifndef HEAP
#define HEAP (256 * 1024)
#endif
#define PES_MAX   4
#define RING      256
#define RINGS_MAX 2

struct ring {
    struct gsh_ring_slot slots[RING];
    struct gsh_ring_cpu cpu;
    uint64_t head; /* atomic: several threads may push */
    uint64_t ticket;
    const struct gsh_ring_wake *wake;
};

struct pes_options {
    int n, n_rings;
    uint64_t seed, spin_ns;
    bool has_contexts;  /* ring r is context r's; else all are the default one's */
    bool is_device;     /* memory that only copy streams may touch, and no network */
    bool is_reached;    /* which the network nevertheless reaches */
    bool is_uneven;     /* PE 0 stages larger pieces than the others */
    unsigned n_buffers; /* of staging */
    bool may_fail;
    bool outlives; /* losses of single peers */
};

struct pe {
    int me, n;
    struct pes_options options;
    struct gsh_proxy *proxy;
    struct gsh_late_copy_streams *copy_streams;
    uint8_t *heap;
    struct ring rings[RINGS_MAX];
    struct pe *all;
    pthread_barrier_t *barrier;
    void (*main)(struct pe *pe);
    uint64_t random;
    int n_fails, fail_pe; /* under the proxy's lock */
    int n_losses, lost_pe;
    char fail_text[600];
    const void *blob, *keys[2];
    size_t blob_bytes, key_bytes[2];
};

static void pes_barrier(struct pe *pe)
{
    pthread_barrier_wait(pe->barrier);
}

/* ---- the table that the runtime would give ---- */

static uint64_t amo_result(int op, uint64_t old, uint64_t operand, uint64_t cond)
{
    switch (op) {
    case GSH_AMO_FETCH:
        return old;
    case GSH_AMO_SET:
    case GSH_AMO_SWAP:
        return operand;
    case GSH_AMO_CSWAP:
        return old == cond ? operand : old;
    case GSH_AMO_ADD:
        return old + operand;
    case GSH_AMO_AND:
        return old & operand;
    case GSH_AMO_OR:
        return old | operand;
    default:
        return old ^ operand;
    }
}

static enum gsh_result test_amo(void *context, int op, void *address, size_t word_bytes,
                                uint64_t operand, uint64_t cond, uint64_t *old)
{
    (void)context;
    if (word_bytes == 8) {
        uint64_t *p = address, seen = __atomic_load_n(p, __ATOMIC_ACQUIRE);
        while (!__atomic_compare_exchange_n(p, &seen, amo_result(op, seen, operand, cond), false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            ;
        *old = seen;
    } else {
        uint32_t *p = address, seen = __atomic_load_n(p, __ATOMIC_ACQUIRE);
        while (!__atomic_compare_exchange_n(
            p, &seen, (uint32_t)amo_result(op, seen, (uint32_t)operand, (uint32_t)cond), false,
            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            ;
        *old = seen;
    }
    return GSH_OK;
}

static enum gsh_result test_copy_in(void *context, void *heap_dest, const void *source,
                                    size_t bytes)
{
    (void)context;
    gsh_copy_to_shared(heap_dest, source, bytes);
    return GSH_OK;
}

static enum gsh_result test_copy_out(void *context, void *dest, const void *heap_source,
                                     size_t bytes)
{
    (void)context;
    gsh_copy_from_shared(dest, heap_source, bytes);
    return GSH_OK;
}

static void test_fail(void *context, int pe, bool is_silent, const char *text)
{
    struct pe *me = context;
    CHECK_EQ(is_silent, strstr(text, "GSHMEM_PROXY_TIMEOUT") != NULL);
    me->n_fails++;
    me->fail_pe = pe;
    snprintf(me->fail_text, sizeof(me->fail_text), "%s", text);
    if (me->options.may_fail) {
        return;
    }
    fprintf(stderr, "PE %d: unexpected: %s\n", me->me, text);
    exit(1); /* nothing would continue */
}

static void test_lost(void *context, int pe, const char *text)
{
    struct pe *me = context;
    CHECK(strstr(text, "the connection failed: ") != NULL);
    me->n_losses++;
    me->lost_pe = pe;
}

/* ---- bringing up ---- */

static void pes_connect(struct pe *pe)
{
    for (int i = 0; i < pe->n; i++) {
        if (i != pe->me) {
            CHECK(gsh_proxy_set_peer(pe->proxy, i, pe->all[i].blob, pe->all[i].blob_bytes) ==
                  GSH_OK);
        }
    }
    CHECK(gsh_proxy_start(pe->proxy) == GSH_OK);
    /* The heap has grown once, so it is two regions. */
    for (uint64_t r = 0; r < 2; r++) {
        CHECK(gsh_proxy_add_region(pe->proxy, r * HEAP / 2, HEAP / 2, &pe->keys[r],
                                   &pe->key_bytes[r]) == GSH_OK);
    }
    pes_barrier(pe);
    for (int i = 0; i < pe->n; i++) {
        for (uint64_t r = 0; i != pe->me && r < 2; r++) {
            CHECK(gsh_proxy_add_peer_region(pe->proxy, i, r * HEAP / 2, HEAP / 2,
                                            pe->all[i].keys[r], pe->all[i].key_bytes[r]) == GSH_OK);
        }
    }
}

/* As at the end of a job: all that this PE has asked for is acknowledged, so no PE has anything
 * left to tell it when it goes. */
static void pes_settle(struct pe *pe)
{
    struct gsh_request quiet = {.op = GSH_FAR_QUIET};
    if (!pe->options.may_fail) {
        CHECK_EQ(gsh_proxy_run(pe->proxy, &quiet), GSH_OK);
    }
}

static void pes_thread(int rank, int n, void *arg)
{
    struct pe *pe = (struct pe *)arg + rank;
    const char *plugin = getenv("TEST_UCX_PLUGIN");
    struct gsh_proxy_options options = {
        .my_pe = pe->me,
        .n_pes = pe->n,
        .transport = plugin ? "ucx" : "auto",
        .plugin = plugin ? plugin : "",
        .is_one_process = true,
        .timeout_ns = 10000000000u,
        .spin_ns = pe->options.spin_ns,
        .stage_chunk = pe->options.is_uneven && pe->me == 0 ? 24576 : 12288,
        .stage_buffers = pe->options.n_buffers ? pe->options.n_buffers : 2,
        .loop_seed = pe->options.seed,
        .fail = test_fail,
        .lost = pe->options.outlives ? test_lost : NULL,
        .context = pe,
    };
    struct gsh_proxy_memory memory = {.is_host = !pe->options.is_device,
                                      .amo = test_amo,
                                      .copy_in = test_copy_in,
                                      .copy_out = test_copy_out,
                                      .copy_stream_ops =
                                          pe->options.is_device ? &gsh_late_copy_stream_ops : NULL};
    (void)n;
    gsh_log_set_pe(pe->me);
    pe->random = pe->options.seed * 100 + (uint64_t)pe->me;
    pe->heap = aligned_alloc(64, HEAP);
    memset(pe->heap, 0, HEAP);
    if (!CHECK(gsh_proxy_create(&options, &pe->proxy) == GSH_OK)) {
        exit(1);
    }
    CHECK_STR(gsh_proxy_transport_name(pe->proxy), plugin ? "ucx" : "loop");
    CHECK(gsh_proxy_address(pe->proxy, &pe->blob, &pe->blob_bytes) == GSH_OK);
    if (pe->options.is_device) {
        memory.copy_streams = pe->copy_streams =
            gsh_late_copy_streams_create(pe->random, test_amo, NULL);
    }
    pe->proxy->transport->reads_cuda |= pe->options.is_reached;
    CHECK(gsh_proxy_set_memory(pe->proxy, &memory, pe->heap) == GSH_OK);
    for (int r = 0; r < pe->options.n_rings; r++) {
        pe->rings[r].wake = gsh_proxy_ring_wake(pe->proxy);
        gsh_context ctx = pe->options.has_contexts ? (gsh_context)r : GSH_CONTEXT_DEFAULT;
        CHECK(gsh_proxy_add_ring(pe->proxy, ctx, pe->rings[r].slots, RING, &pe->rings[r].cpu) ==
              GSH_OK);
    }
    pes_barrier(pe);
    pes_connect(pe);
    pes_barrier(pe);
    pe->main(pe);
    pes_settle(pe);
    pes_barrier(pe);
    gsh_proxy_destroy(&pe->proxy);
    gsh_late_copy_streams_destroy(pe->copy_streams);
    pes_barrier(pe);
    free(pe->heap);
}

/* Calls main on each of n PEs. */
static void pes_run(struct pes_options options, void (*pe_main)(struct pe *pe))
{
    pthread_barrier_t barrier;
    struct pe *pes = calloc((size_t)options.n, sizeof(*pes));
    gsh_log_setup(getenv("GSHMEM_DEBUG") ? GSH_LOG_TRACE : GSH_LOG_NONE, GSH_LOG_ALL, NULL);
    pthread_barrier_init(&barrier, NULL, (unsigned)options.n);
    for (int i = 0; i < options.n; i++) {
        pes[i] = (struct pe){.me = i,
                             .n = options.n,
                             .options = options,
                             .all = pes,
                             .barrier = &barrier,
                             .main = pe_main,
                             .fail_pe = -1};
    }
    test_on_threads(options.n, pes_thread, pes);
    pthread_barrier_destroy(&barrier);
    free(pes);
}

/* ---- requests of a host thread ---- */

__attribute__((unused)) static void run(struct pe *pe, struct gsh_request *request)
{
    CHECK(gsh_proxy_run(pe->proxy, request) == GSH_OK);
}

__attribute__((unused)) static void run_put(struct pe *pe, int target, uint64_t off,
                                            const void *source, uint64_t bytes)
{
    struct gsh_request put = {.op = GSH_FAR_PUT,
                              .pe = target,
                              .remote_off = off,
                              .local = (void *)source,
                              .bytes = bytes};
    run(pe, &put);
}

__attribute__((unused)) static void run_put_nbi(struct pe *pe, int target, uint64_t off,
                                                const void *source, uint64_t bytes)
{
    struct gsh_request put = {.op = GSH_FAR_PUT,
                              .pe = target,
                              .remote_off = off,
                              .local = (void *)source,
                              .bytes = bytes};
    CHECK(gsh_proxy_post(pe->proxy, &put) == GSH_OK);
}

__attribute__((unused)) static uint64_t run_amo(struct pe *pe, int target, uint64_t off, int op,
                                                uint64_t operand, bool is_fetch)
{
    struct gsh_request amo = {.op = GSH_FAR_AMO,
                              .amo_op = (uint8_t)op,
                              .word_bytes = 8,
                              .is_fetch = is_fetch,
                              .pe = target,
                              .remote_off = off,
                              .operand = operand};
    run(pe, &amo);
    return amo.value;
}

__attribute__((unused)) static void run_fence(struct pe *pe)
{
    struct gsh_request fence = {.op = GSH_FAR_FENCE};
    run(pe, &fence);
}

__attribute__((unused)) static void run_quiet(struct pe *pe)
{
    struct gsh_request quiet = {.op = GSH_FAR_QUIET};
    run(pe, &quiet);
}

/* Waits until the word is at least value, making progress as a waiting host thread does. */
__attribute__((unused)) static uint64_t await_word(struct pe *pe, uint64_t off, uint64_t value)
{
    uint64_t seen;
    unsigned turn = 0;
    while ((seen = gsh_load_acquire_u64((uint64_t *)(pe->heap + off))) < value) {
        gsh_proxy_help(pe->proxy);
        gsh_backoff(&turn);
    }
    return seen;
}

/* ---- what a kernel does ---- */

struct push {
    unsigned op, arg, n_values;
    int pe;
    uint64_t immediate;
    uint64_t values[GSH_RING_MAX_VALUES];
};

/* Returns the position after the request. */
__attribute__((unused)) static uint64_t ring_push(struct ring *ring, const struct push *push)
{
    unsigned n_payload = (push->n_values + 1) / 2;
    uint64_t at = __atomic_fetch_add(&ring->head, 1 + n_payload, __ATOMIC_RELAXED);
    uint64_t end = at + 1 + n_payload;
    uint64_t words[2 * GSH_RING_MAX_SLOTS] = {0};
    unsigned turn = 0;
    while (end > gsh_load_acquire_u64(&ring->cpu.cpu_tail) + RING) {
        gsh_backoff(&turn);
    }
    words[0] = push->op | (uint64_t)n_payload << GSH_RING_AT_PAYLOAD |
               (uint64_t)push->pe << GSH_RING_AT_PE | (uint64_t)push->arg << GSH_RING_AT_ARG;
    words[1] = push->immediate;
    for (unsigned i = 0; i < push->n_values && i < GSH_RING_MAX_VALUES; i++) {
        words[0] |= push->values[i] >> 63 << (GSH_RING_AT_TOPS + i);
        words[2 + i] = push->values[i] & ~GSH_RING_LAP;
    }
    for (unsigned i = 0; i < 2 * (1 + n_payload); i++) {
        uint64_t position = at + i / 2;
        /* release replaces the fence that a producer makes before */
        gsh_store_release_u64(&ring->slots[position % RING].word[i % 2],
                              words[i] | GSH_RING_LAP_BIT(position, RING));
    }
    ring->wake->call(ring->wake->context);
    return end;
}

__attribute__((unused)) static void ring_await(struct ring *ring, uint64_t position)
{
    unsigned turn = 0;
    while (gsh_load_acquire_u64(&ring->cpu.cpu_done) < position) {
        gsh_backoff(&turn);
    }
}

__attribute__((unused)) static uint64_t ring_value(struct ring *ring, uint64_t ticket)
{
    unsigned turn = 0;
    struct gsh_ring_reply *cell = &ring->cpu.reply[ticket % GSH_RING_REPLIES];
    uint64_t mark = GSH_RING_REPLY_MARK(ticket), low, high;
    while (((low = gsh_load_acquire_u64(&cell->word[0])) & ~0xffffffffull) != mark) {
        gsh_backoff(&turn);
    }
    while (((high = gsh_load_acquire_u64(&cell->word[1])) & ~0xffffffffull) != mark) {
        gsh_backoff(&turn);
    }
    return (low & 0xffffffffu) | high << 32;
}

__attribute__((unused)) static void ring_fence(struct ring *ring)
{
    ring_push(ring, &(struct push){.op = GSH_RING_FENCE});
}

__attribute__((unused)) static void ring_quiet(struct ring *ring)
{
    ring_await(ring, ring_push(ring, &(struct push){.op = GSH_RING_QUIET}));
}

__attribute__((unused)) static uint64_t ring_put(struct ring *ring, int pe, uint64_t off,
                                                 const void *source, uint64_t bytes)
{
    return ring_push(ring, &(struct push){.op = GSH_RING_PUT_LARGE,
                                          .pe = pe,
                                          .n_values = 3,
                                          .values = {off, (uint64_t)(uintptr_t)source, bytes}});
}

__attribute__((unused)) static uint64_t ring_p(struct ring *ring, int pe, uint64_t off,
                                               uint64_t value)
{
    return ring_push(ring, &(struct push){.op = GSH_RING_PUT_INLINE,
                                          .pe = pe,
                                          .immediate = 8,
                                          .n_values = 2,
                                          .values = {off, value}});
}

/* Returns the position, or the value if it fetches. */
__attribute__((unused)) static uint64_t ring_amo(struct ring *ring, int pe, uint64_t off, int op,
                                                 uint64_t operand, uint64_t cond, bool is_fetch,
                                                 bool is_8)
{
    uint64_t ticket = is_fetch ? ring->ticket++ : 0;
    uint64_t end =
        ring_push(ring, &(struct push){.op = GSH_RING_AMO,
                                       .arg = (unsigned)op | (is_8 ? GSH_RING_AMO_IS_8 : 0) |
                                              (is_fetch ? GSH_RING_AMO_FETCHES : 0),
                                       .pe = pe,
                                       .immediate = ticket,
                                       .n_values = is_fetch ? GSH_RING_ANSWER_VALUES : 2,
                                       .values = {off, operand, cond}});
    return is_fetch ? ring_value(ring, ticket) : end;
}

#endif
