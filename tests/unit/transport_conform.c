/* Every transport keeps its contract: puts and gets of all sizes across regions, flush before a
 * message, messages in order, regions added and removed, sleeping, leaving.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/rig/transport_rig.h"

enum kind { CHECK_RANGE, VERDICT, NUMBERED, POKE };

struct header {
    uint32_t kind, n;
    uint64_t off, bytes, seed;
};

struct state {
    uint32_t n_verdicts, n_numbered[RIG_MAX_PES], n_pokes;
};

static uint8_t pattern(uint64_t seed, uint64_t i)
{
    return (uint8_t)(seed * 13 + i * 7 + (i >> 8));
}

static void fill(uint8_t *p, uint64_t bytes, uint64_t seed)
{
    for (uint64_t i = 0; i < bytes; i++) {
        p[i] = pattern(seed, i);
    }
}

static uint64_t count_wrong(const uint8_t *p, uint64_t bytes, uint64_t seed)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < bytes; i++) {
        wrong += p[i] != pattern(seed, i);
    }
    return wrong;
}

/* ---- messages ---- */

struct answer {
    struct gsh_op op;
    struct header header;
};

static void answered(struct gsh_op *op, enum gsh_result r)
{
    CHECK_EQ(r, GSH_OK);
    free(op);
}

/* In the message's handler: data flushed before it must be visible now. */
static void check_range(struct rig_pe *pe, int from, const struct header *h)
{
    struct answer *a = calloc(1, sizeof(*a));
    bool pending = false;
    *a = (struct answer){.op = {.done = answered}, .header = {.kind = VERDICT}};
    for (uint64_t i = 0; i < h->bytes; i++) {
        uint64_t left;
        a->header.n += (uint8_t)*rig_at(pe, h->off + i, &left) != pattern(h->seed, i);
    }
    CHECK_EQ(pe->transport->ops->send(pe->transport, from, &a->header, sizeof(a->header), NULL, 0,
                                      &a->op, &pending),
             GSH_OK);
    if (!pending) {
        free(a);
    }
}

static void on_message(struct rig_pe *pe, int from, const void *header, size_t header_bytes,
                       const void *data, size_t bytes)
{
    struct state *state = pe->test;
    struct header h;
    if (!CHECK_EQ(header_bytes, sizeof(h))) {
        return;
    }
    memcpy(&h, header, sizeof(h));
    switch ((enum kind)h.kind) {
    case CHECK_RANGE:
        check_range(pe, from, &h);
        break;
    case VERDICT:
        CHECK_EQ(h.n, 0);
        state->n_verdicts++;
        break;
    case NUMBERED:
        CHECK_EQ(h.n, state->n_numbered[from]);
        CHECK_EQ(h.bytes, bytes);
        CHECK_EQ(count_wrong(data, bytes, h.seed), 0);
        state->n_numbered[from]++;
        break;
    case POKE:
        state->n_pokes++;
        break;
    }
}

static void wait_count(struct rig_pe *pe, const uint32_t *count, uint32_t wanted)
{
    uint64_t end = gsh_now_ns() + RIG_LIMIT_NS;
    while (*count < wanted && CHECK(gsh_now_ns() < end)) {
        if (pe->transport->ops->progress(pe->transport) == 0) {
            sched_yield();
        }
    }
}

/* ---- puts and gets ---- */

static void put_and_check(struct rig_pe *pe, int to, uint64_t off, uint64_t bytes, uint64_t seed)
{
    struct state *state = pe->test;
    struct header h = {.kind = CHECK_RANGE, .off = off, .bytes = bytes, .seed = seed};
    uint32_t verdicts = state->n_verdicts;
    uint8_t *local = malloc(bytes + 2);
    fill(local, bytes, seed);
    CHECK_EQ(rig_put(pe, to, off, local, bytes), GSH_OK);
    memset(local, 0, bytes); /* it may be reused */
    CHECK_EQ(rig_flush(pe, to), GSH_OK);
    CHECK_EQ(rig_send(pe, to, &h, sizeof(h), NULL, 0), GSH_OK);
    local[0] = local[bytes + 1] = 0xa5;
    CHECK_EQ(rig_get(pe, to, off, local + 1, bytes), GSH_OK);
    CHECK_EQ(count_wrong(local + 1, bytes, seed), 0);
    CHECK(local[0] == 0xa5 && local[bytes + 1] == 0xa5);
    wait_count(pe, &state->n_verdicts, verdicts + 1);
    free(local);
}

static void test_sizes(struct rig_pe *pe)
{
    static const uint64_t sizes[] = {1,    2,     3,      7,       8,       9,      63,
                                     64,   65,    255,    256,     1023,    4096,   8191,
                                     8193, 65537, 100003, 1048579, 4194304, 5242883};
    int to = (pe->me + 1) % pe->n;
    uint64_t seed = 1, random = test_seed();
    for (size_t i = 0; i < GSH_ARRAY_LEN(sizes); i++) {
        uint64_t bytes = sizes[i];
        /* Across each border between regions, where it fits; and at some other place. */
        for (int b = 1; b < RIG_REGIONS; b++) {
            uint64_t before = gsh_min_u64(bytes / 2, rig_bounds[b]);
            put_and_check(pe, to, rig_bounds[b] - before, bytes, ++seed);
        }
        put_and_check(pe, to, test_random(&random) % (RIG_BYTES - bytes), bytes, ++seed);
        put_and_check(pe, to, RIG_BYTES - bytes, bytes, ++seed);
    }
    char nothing = 0;
    CHECK_EQ(rig_put(pe, to, 5, &nothing, 0), GSH_OK);
    CHECK_EQ(rig_get(pe, to, 5, &nothing, 0), GSH_OK);
}

/* Bytes next to the written ones are unchanged. */
static void test_neighbours(struct rig_pe *pe)
{
    int to = (pe->me + 1) % pe->n;
    uint8_t zeros[64] = {0}, got[64], ones[64];
    memset(ones, 0xff, sizeof(ones));
    uint64_t off = rig_bounds[1] - 32; /* on both sides of a border */
    for (uint64_t begin = 0; begin < 64; begin += 5) {
        for (uint64_t end = begin + 1; end <= 64; end += 7) {
            CHECK_EQ(rig_put(pe, to, off, zeros, 64), GSH_OK);
            CHECK_EQ(rig_flush(pe, to), GSH_OK);
            CHECK_EQ(rig_put(pe, to, off + begin, ones, end - begin), GSH_OK);
            CHECK_EQ(rig_flush(pe, to), GSH_OK);
            CHECK_EQ(rig_get(pe, to, off, got, 64), GSH_OK);
            for (uint64_t i = 0; i < 64; i++) {
                CHECK_EQ(got[i], i >= begin && i < end ? 0xff : 0);
            }
        }
    }
}

/* All PEs to one, many operations at once, in no order. */
static void test_many_to_one(struct rig_pe *pe)
{
    enum { N = 300, BYTES = 1111 };
    struct state *state = pe->test;
    static struct rig_op all_ops[RIG_MAX_PES][N];
    struct rig_op *ops = all_ops[pe->me];
    uint64_t base = (uint64_t)pe->me * N * BYTES;
    uint8_t *local = malloc(N * BYTES);
    fill(local, N * BYTES, 77);
    if (pe->me != 0) {
        for (int i = 0; i < N; i++) {
            bool pending = false;
            ops[i] = (struct rig_op)RIG_OP;
            CHECK_EQ(pe->transport->ops->put(pe->transport, 0, 0, base + (uint64_t)i * BYTES,
                                             local + i * BYTES, BYTES, &ops[i].op, &pending),
                     GSH_OK);
            if (!pending) {
                ops[i].is_pending = false;
            }
        }
        struct header h = {.kind = CHECK_RANGE, .off = base, .bytes = N * BYTES, .seed = 77};
        uint32_t verdicts = state->n_verdicts;
        CHECK_EQ(rig_flush(pe, 0), GSH_OK);
        CHECK_EQ(rig_send(pe, 0, &h, sizeof(h), NULL, 0), GSH_OK);
        for (int i = 0; i < N; i++) {
            rig_wait(pe, &ops[i].is_pending);
        }
        wait_count(pe, &state->n_verdicts, verdicts + 1);
    }
    rig_barrier(pe);
    free(local);
}

/* ---- order of messages ---- */

enum { WINDOW = 64 };

static void send_numbered(struct rig_pe *pe, int to, uint32_t count, uint64_t seed)
{
    struct rig_op ops[WINDOW];
    size_t data_max = pe->transport->ops->message_max - sizeof(struct header);
    uint8_t *data = malloc(WINDOW * data_max);
    struct header headers[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        ops[i].is_pending = false;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t random = test_random(&seed), bytes = random % 200;
        struct rig_op *o = &ops[i % WINDOW];
        struct header *h = &headers[i % WINDOW];
        uint8_t *d = data + (i % WINDOW) * data_max;
        if (random >> 32 & 1) {
            bytes = 0;
        }
        if ((random >> 33) % 50 == 0) {
            bytes = (random >> 40) % (data_max + 1);
        }
        if ((random >> 33) % 300 == 0) {
            bytes = data_max;
        }
        rig_wait(pe, &o->is_pending);
        fill(d, bytes, i);
        *h = (struct header){.kind = NUMBERED, .n = i, .bytes = bytes, .seed = i};
        bool pending = false;
        *o = (struct rig_op)RIG_OP;
        CHECK_EQ(
            pe->transport->ops->send(pe->transport, to, h, sizeof(*h), d, bytes, &o->op, &pending),
            GSH_OK);
        if (!pending) {
            o->is_pending = false;
        }
        if (i % 16 == 0) {
            pe->transport->ops->progress(pe->transport);
        }
    }
    for (int i = 0; i < WINDOW; i++) {
        rig_wait(pe, &ops[i].is_pending);
    }
    free(data);
}

static void test_order(struct rig_pe *pe, uint32_t n_to_next, uint32_t n_to_first)
{
    struct state *state = pe->test;
    int before = (pe->me + pe->n - 1) % pe->n;
    memset(state->n_numbered, 0, sizeof(state->n_numbered));
    rig_barrier(pe);
    send_numbered(pe, (pe->me + 1) % pe->n, n_to_next, (uint64_t)pe->me + 1);
    wait_count(pe, &state->n_numbered[before], n_to_next);
    rig_barrier(pe);
    memset(state->n_numbered, 0, sizeof(state->n_numbered));
    rig_barrier(pe);
    if (pe->me != 0) {
        send_numbered(pe, 0, n_to_first, (uint64_t)pe->me + 100);
    }
    for (int i = 1; i < pe->n && pe->me == 0; i++) {
        wait_count(pe, &state->n_numbered[i], n_to_first);
    }
    rig_barrier(pe);
}

/* ---- regions, arguments, sleep ---- */

static enum gsh_result put_filled(struct rig_pe *pe, int to, uint64_t off, uint64_t bytes,
                                  uint64_t seed)
{
    uint8_t *local = malloc(bytes);
    fill(local, bytes, seed);
    enum gsh_result r = rig_put(pe, to, off, local, bytes);
    if (r == GSH_OK) {
        r = rig_flush(pe, to);
    }
    free(local);
    return r;
}

/* After the last access: first the other PEs', then their own. */
static void remove_everywhere(struct rig_pe *pe, uint64_t off)
{
    struct gsh_transport *t = pe->transport;
    for (int i = 0; i < pe->n; i++) {
        if (i != pe->me) {
            CHECK_EQ(t->ops->remove_peer_region(t, i, off), GSH_OK);
        }
    }
    rig_barrier(pe);
    CHECK_EQ(t->ops->remove_region(t, off), GSH_OK);
}

static void test_regions(struct rig_pe *pe)
{
    int to = (pe->me + 1) % pe->n;
    uint64_t off = UINT64_C(1) << 40, bytes = 100000;
    char byte = 7;
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(rig_put(pe, to, off + 1, &byte, 1), GSH_ERR_ARG);
        CHECK_EQ(rig_get(pe, to, RIG_BYTES - 1, &byte, 2), GSH_ERR_ARG);
        uint8_t *memory = calloc(1, bytes), *local = malloc(bytes);
        rig_add_region(pe, memory, off, bytes);
        fill(local, bytes, (uint64_t)round);
        CHECK_EQ(rig_put(pe, to, off, local, bytes), GSH_OK);
        CHECK_EQ(rig_flush(pe, to), GSH_OK);
        rig_barrier(pe);
        CHECK_EQ(count_wrong(memory, bytes, (uint64_t)round), 0);
        rig_barrier(pe);
        remove_everywhere(pe, off);
        free(memory);
        free(local);
    }
    put_and_check(pe, to, 100, 1000, 3); /* the others are still there */
}

/* Memory of the transport's making: puts arrive there, also through a mapping, which two ways over
 * shared memory must have. */
static void test_made_region(struct rig_pe *pe)
{
    struct gsh_transport *t = pe->transport;
    int to = (pe->me + 1) % pe->n, from = (pe->me + pe->n - 1) % pe->n;
    uint64_t off = UINT64_C(1) << 62, bytes = 200000, half = bytes / 2;
    const char *tls = getenv("UCX_TLS");
    uint8_t *local = malloc(bytes);
    void *memory = NULL;
    rig_make_region(pe, off, bytes, &memory);
    memset(memory, 0, bytes);
    rig_barrier(pe);
    fill(local, half, (uint64_t)pe->me);
    CHECK_EQ(rig_put(pe, to, off, local, half), GSH_OK);
    CHECK_EQ(rig_flush(pe, to), GSH_OK);
    uint8_t *there = t->ops->map_peer_region ? t->ops->map_peer_region(t, to, off) : NULL;
    /* UCX's own shared memory reaches all of it. */
    CHECK(there || strcmp(t->ops->name, "ucx") != 0 ||
          !(tls && (strstr(tls, "posix") || strstr(tls, "sysv"))));
    if (there) {
        fill(there + half, half, (uint64_t)pe->me + 100);
    } else {
        CHECK_EQ(put_filled(pe, to, off + half, half, (uint64_t)pe->me + 100), GSH_OK);
    }
    rig_barrier(pe);
    CHECK_EQ(count_wrong(memory, half, (uint64_t)from), 0);
    CHECK_EQ(count_wrong((uint8_t *)memory + half, half, (uint64_t)from + 100), 0);
    CHECK_EQ(rig_get(pe, to, off, local, half), GSH_OK);
    CHECK_EQ(count_wrong(local, half, (uint64_t)pe->me), 0);
    rig_barrier(pe);
    remove_everywhere(pe, off);
    free(local);
}

/* Asleep on the descriptor, each PE in turn is woken by a message. */
static void test_sleep(struct rig_pe *pe)
{
    struct state *state = pe->test;
    struct gsh_transport *t = pe->transport;
    struct header h = {.kind = POKE};
    for (int sleeper = 0; sleeper < pe->n; sleeper++) {
        struct pollfd p = {.fd = t->ops->event_fd(t), .events = POLLIN};
        uint32_t pokes = state->n_pokes;
        rig_barrier(pe);
        if (pe->me == (sleeper + 1) % pe->n) {
            CHECK_EQ(rig_send(pe, sleeper, &h, sizeof(h), NULL, 0), GSH_OK);
        }
        while (pe->me == sleeper && state->n_pokes == pokes && p.fd >= 0) {
            while (t->ops->progress(t) > 0 || !t->ops->arm(t))
                ;
            if (state->n_pokes == pokes && !CHECK_EQ(poll(&p, 1, 20000), 1)) {
                break;
            }
        }
        if (pe->me == sleeper) {
            wait_count(pe, &state->n_pokes, pokes + 1);
        }
        rig_barrier(pe);
    }
}

static uint32_t n_ordered = 100000;

static void program(struct rig_pe *pe)
{
    test_sizes(pe);
    rig_barrier(pe);
    test_neighbours(pe);
    rig_barrier(pe);
    test_many_to_one(pe);
    test_order(pe, n_ordered, n_ordered / 5);
    test_regions(pe);
    test_made_region(pe);
    test_sleep(pe);
    for (int i = 0; i < pe->n; i++) {
        CHECK(!pe->is_lost[i]);
    }
}

static void test_no_plugin(void)
{
    struct gsh_transport_options options = {.n_pes = 2, .plugin = "libgshmem_none.so"};
    struct gsh_transport *t = NULL;
    CHECK_EQ(gsh_transport_ucx_create(&options, &t), GSH_ERR_UNSUPPORTED);
    CHECK(strstr(gsh_last_error(), "libgshmem_none.so") != NULL);
    CHECK(t == NULL);
    options.plugin = "libm.so.6";
    CHECK_EQ(gsh_transport_ucx_create(&options, &t), GSH_ERR_UNSUPPORTED);
    CHECK(strstr(gsh_last_error(), "not a plug-in") != NULL);
}

/* The plug-in's file, if it is built; then "loop" or any UCX_TLS to try that alone; then
 * --ordered=N, the number of messages that must come in order. */
int main(int argc, char **argv)
{
    const char *plugin = argc > 1 ? argv[1] : NULL, *only = argc > 2 ? argv[2] : NULL;
    bool is_loop_alone = only && strcmp(only, "loop") == 0;
    struct rig_job job = {.n = 3,
                          .plugin = plugin,
                          .timeout_ns = UINT64_C(20000000000),
                          .program = program,
                          .message = on_message,
                          .test_bytes = sizeof(struct state)};
    setvbuf(stdout, NULL, _IOLBF, 0); /* lines of several processes */
    gsh_log_setup(getenv("TEST_LOG") ? GSH_LOG_INFO : GSH_LOG_NONE, GSH_LOG_ALL, NULL);
    if (argc > 3 && sscanf(argv[3], "--ordered=%" SCNu32, &n_ordered) != 1) {
        fprintf(stderr, "transport_conform: not an option: %s\n", argv[3]);
        return 2;
    }
    test_no_plugin();
    job.name = "loop";
    if (!only || is_loop_alone) {
        rig_run(&job);
    }
    for (int i = 0; plugin && !is_loop_alone && rig_ucx_way(only, i); i++) {
        uint64_t begin = gsh_now_ns();
        job.name = "ucx";
        setenv("UCX_TLS", rig_ucx_way(only, i)[0], 1);
        rig_run(&job);
        printf("%s: %.1f s\n", rig_ucx_way(only, i)[1], (double)(gsh_now_ns() - begin) * 1e-9);
    }
    return test_result();
}
