/* SPDX-License-Identifier: Apache-2.0
 * Proves that staging never needs more than its few buffers, however many PEs put to one, or put
 * and get in a circle, and that all buffers are free afterwards; that a large put's signal comes
 * after all of its data; that the buffers of a PE which has stopped staging remain for late puts;
 * and that buffers which cannot be had, or are not alike, give one error that says so. */
#include "base/fault.h"
#include "tests/rig/proxy_pes.h"

#define ROUNDS 12
#define BYTES  50000 /* for each PE that asks; several chunks */
#define SIGNAL 0
#define DATA   4096

static uint8_t byte_of(uint64_t round, int from, uint64_t i)
{
    return (uint8_t)(round * 31 + (uint64_t)from * 7 + i + (i >> 8));
}

static uint64_t slice(int from)
{
    return DATA + (uint64_t)from * BYTES;
}

static void check_slice(const uint8_t *bytes, uint64_t round, int from)
{
    uint64_t i = 0;
    while (i < BYTES && bytes[i] == byte_of(round, from, i)) {
        i++;
    }
    CHECK_EQ(i, BYTES);
}

/* Waits until all that was asked for here is complete everywhere, and all borrowed buffers are
 * back. */
static void check_all_free(struct pe *pe)
{
    const struct gsh_stage *stage = &pe->proxy->stage;
    run_quiet(pe);
    if (pe->options.n_rings > 0) {
        ring_quiet(&pe->rings[0]);
    }
    pes_barrier(pe);
    unsigned backoff = 0;
    bool is_free = false;
    while (!is_free) { /* an acknowledgement may come before the proxy there has continued */
        gsh_lock_take(&pe->proxy->lock);
        is_free =
            stage->n_free_slots == stage->n_chunks && stage->n_free_chunks == stage->n_chunks &&
            stage->n_free_outs == GSH_STAGE_SMALL_OUTS && stage->n_free_ins == GSH_STAGE_SMALL_INS;
        gsh_lock_give(&pe->proxy->lock);
        gsh_backoff(&backoff);
    }
    pes_barrier(pe);
}

/* Each PE's slice on the target by a put_signal, from a kernel and from the host in turn. */
static void put_slice(struct pe *pe, int target, uint64_t round, uint8_t *source)
{
    for (uint64_t i = 0; i < BYTES; i++) {
        source[i] = byte_of(round, pe->me, i);
    }
    struct gsh_request q = {.op = GSH_FAR_PUT_SIGNAL,
                            .sig_op = GSHMEM_SIGNAL_ADD,
                            .pe = target,
                            .remote_off = slice(pe->me),
                            .local = source,
                            .bytes = BYTES,
                            .sig_off = SIGNAL + 8 * (uint64_t)pe->me,
                            .signal = 1};
    struct push push = {
        .op = GSH_RING_PUT_SIGNAL,
        .arg = GSHMEM_SIGNAL_ADD,
        .pe = target,
        .n_values = 5,
        .values = {slice(pe->me), (uint64_t)(uintptr_t)source, BYTES, q.sig_off, 1}};
    if (round % 2) {
        run(pe, &q);
    } else {
        ring_push(&pe->rings[0], &push);
    }
}

static void all_to_one(struct pe *pe)
{
    uint8_t *source = malloc(BYTES);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (pe->me != 0) {
            put_slice(pe, 0, round, source);
        }
        for (int from = 1; pe->me == 0 && from < pe->n; from++) {
            await_word(pe, SIGNAL + 8 * (uint64_t)from, round);
            check_slice(pe->heap + slice(from), round, from);
        }
        check_all_free(pe);
    }
    free(source);
}

/* Every PE has puts and gets under way to and from every other. */
static void circle(struct pe *pe)
{
    uint8_t *source = malloc(BYTES), *got = malloc(PES_MAX * BYTES);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (uint64_t i = 0; i < BYTES; i++) {
            source[i] = pe->heap[slice(pe->me) + i] = byte_of(round, pe->me, i);
        }
        pes_barrier(pe);
        for (int k = 1; k < pe->n; k++) {
            int other = (pe->me + k) % pe->n;
            struct gsh_request get = {.op = GSH_FAR_GET,
                                      .pe = other,
                                      .remote_off = slice(other),
                                      .local = got + (size_t)other * BYTES,
                                      .bytes = BYTES};
            CHECK(gsh_proxy_post(pe->proxy, &get) == GSH_OK);
            ring_put(&pe->rings[0], other, slice(pe->me), source, BYTES);
        }
        check_all_free(pe);
        for (int other = 0; other < pe->n; other++) {
            check_slice(pe->heap + slice(other), round, other);
            if (other != pe->me) {
                check_slice(got + (size_t)other * BYTES, round, other);
            }
        }
        pes_barrier(pe);
    }
    free(source);
    free(got);
}

/* ---- trouble ---- */

struct late_op {
    struct gsh_op op;
    bool is_done; /* under the proxy's lock */
};

static void late_done(struct gsh_op *op, enum gsh_result r)
{
    CHECK_EQ(r, GSH_OK);
    GSH_HOLDER(struct late_op, op, op)->is_done = true;
}

/* A put into the buffers of PE 0, if there are bytes; else a flush of all such puts. */
static void run_late(struct pe *pe, const void *bytes, uint64_t n_bytes)
{
    struct gsh_transport *t = pe->proxy->transport;
    struct late_op late = {.op.done = late_done};
    bool is_pending = false, is_done;
    unsigned backoff = 0;
    gsh_lock_take(&pe->proxy->lock);
    enum gsh_result r =
        bytes ? t->ops->put(t, 0, 0, GSH_STAGE_OFF, bytes, n_bytes, &late.op, &is_pending)
              : t->ops->flush(t, 0, 0, &late.op, &is_pending);
    CHECK_EQ(r, GSH_OK);
    is_done = !is_pending;
    gsh_lock_give(&pe->proxy->lock);
    while (!is_done) {
        gsh_proxy_help(pe->proxy);
        gsh_backoff(&backoff);
        gsh_lock_take(&pe->proxy->lock);
        is_done = late.is_done;
        gsh_lock_give(&pe->proxy->lock);
    }
}

/* The address sanitizer reports if the buffers are gone. */
static void put_late(struct pe *pe)
{
    char bytes[100] = {1};
    all_to_one(pe);
    if (pe->me == 0) {
        gsh_proxy_forget_copy_streams(pe->proxy);
    }
    pes_barrier(pe);
    if (pe->me != 0) {
        run_late(pe, bytes, sizeof(bytes));
        run_late(pe, NULL, 0);
    }
    pes_barrier(pe);
}

/* More than there is; then every step of the set-up fails in turn; then it succeeds, and works. */
static void fail_set_up(struct pe *pe)
{
    struct gsh_proxy_memory memory = pe->proxy->memory;
    enum gsh_result r = GSH_ERR_NOMEM;
    unsigned n = 0;
    uint64_t chunk = pe->proxy->options.stage_chunk;
    pe->proxy->options.stage_chunk = UINT64_C(1) << 46;
    CHECK_EQ(gsh_proxy_set_memory(pe->proxy, &memory, pe->heap), GSH_ERR_NOMEM);
    CHECK(strstr(gsh_last_error(), "GSHMEM_STAGE_CHUNK") != NULL);
    pe->proxy->options.stage_chunk = chunk;
    while (r != GSH_OK && n < 10) {
        gsh_fault_arm(++n, false);
        r = gsh_proxy_set_memory(pe->proxy, &memory, pe->heap);
        gsh_fault_arm(0, false);
        if (r != GSH_OK) {
            CHECK_EQ(r, GSH_ERR_NOMEM);
            CHECK(strstr(gsh_last_error(), "bytes") != NULL);
            CHECK(pe->proxy->stage.ops == NULL && !pe->proxy->has_memory);
        }
    }
    CHECK_EQ(n, getenv("TEST_UCX_PLUGIN") ? 3 : 4); /* small buffers, the loop's region, pinning */
    pes_barrier(pe);
    all_to_one(pe);
}

static void differ(struct pe *pe)
{
    uint8_t *source = calloc(1, BYTES);
    struct gsh_request put = {
        .op = GSH_FAR_PUT, .pe = 1, .remote_off = DATA, .local = source, .bytes = BYTES};
    unsigned backoff = 0;
    if (pe->me == 0) {
        (void)!gsh_proxy_post(pe->proxy, &put);
    }
    bool has_failed = pe->me == 0;
    while (!has_failed) {
        gsh_lock_take(&pe->proxy->lock);
        has_failed = pe->n_fails > 0;
        gsh_lock_give(&pe->proxy->lock);
        gsh_backoff(&backoff);
    }
    if (pe->me == 1) {
        CHECK_EQ(pe->n_fails, 1);
        CHECK_EQ(pe->fail_pe, 0);
        CHECK(strstr(pe->fail_text, "PE 0: a staged transfer failed") != NULL);
        CHECK(strstr(pe->fail_text, "GSHMEM_STAGE_CHUNK") != NULL);
    }
    pes_barrier(pe);
    gsh_proxy_destroy(&pe->proxy);
    free(source);
}

int main(void)
{
    uint64_t seed = test_seed();
    for (unsigned n_buffers = 2; n_buffers <= 8; n_buffers *= 2) {
        struct pes_options options = {.n = 4,
                                      .n_rings = 1,
                                      .seed = seed + n_buffers,
                                      .spin_ns = 20000,
                                      .is_device = true,
                                      .n_buffers = n_buffers};
        pes_run(options, all_to_one);
        pes_run(options, circle);
    }
    struct pes_options options = {
        .n = 2, .n_rings = 1, .seed = seed, .is_device = true, .may_fail = true};
    pes_run(options, put_late);
    pes_run(options, fail_set_up);
    options.is_uneven = true;
    pes_run(options, differ);
    return test_result();
}
