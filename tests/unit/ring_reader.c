/* SPDX-License-Identifier: Apache-2.0
 * Proves that the proxy's side of a ring takes no incomplete request, refuses every malformed entry
 * with a result, and returns slots; and that no content of the slots makes it misbehave (run with
 * the sanitizers). ring_threads.cc decodes what kernels push. */
#include "proxy/ring/reader.h"
#include "wire/state.h"
#include "base/log.h"
#include "gshmem/types.h"
#include "tests/test.h"

enum { n_slots = GSH_RING_MIN_SLOTS, n_pes = 100 };

struct ring {
    struct gsh_ring_slot slots[n_slots];
    struct gsh_ring_cpu cpu;
    struct gsh_ring_reader reader;
    uint64_t head;
};

static void start(struct ring *ring)
{
    memset(ring, 0, sizeof(*ring));
    CHECK_EQ(gsh_ring_reader_init(&ring->reader, ring->slots, n_slots, &ring->cpu, NULL, n_pes),
             GSH_OK);
}

/* A word for the position, whatever its top bit. */
static uint64_t lapped(uint64_t position, uint64_t word)
{
    return (word & ~GSH_RING_LAP) | GSH_RING_LAP_BIT(position, n_slots);
}

static void put_word(struct ring *ring, uint64_t position, unsigned i, uint64_t word)
{
    ring->slots[position % n_slots].word[i] = lapped(position, word);
}

static uint64_t first_word(unsigned op, unsigned payload, unsigned pe, unsigned arg)
{
    return op | (uint64_t)payload << GSH_RING_AT_PAYLOAD | (uint64_t)pe << GSH_RING_AT_PE |
           (uint64_t)arg << GSH_RING_AT_ARG;
}

/* An entry whose values are all the same. */
static void push(struct ring *ring, uint64_t first, uint64_t immediate, uint64_t value)
{
    unsigned payload = first >> GSH_RING_AT_PAYLOAD & 7;
    for (unsigned i = 0; i <= payload; i++) {
        put_word(ring, ring->head + i, 0, i == 0 ? first : value);
        put_word(ring, ring->head + i, 1, i == 0 ? immediate : value);
    }
    ring->head += 1 + payload;
}

static bool has_next(struct ring *ring, struct gsh_request *request)
{
    bool has = false;
    CHECK_EQ(gsh_ring_reader_next(&ring->reader, request, &has), GSH_OK);
    return has;
}

/* Whatever word comes last, the request is not taken before it. */
static void test_word_by_word(void)
{
    static struct ring ring;
    struct gsh_request request;
    start(&ring);
    for (int lap = 0; lap < 3; lap++) {
        for (unsigned last = 0; last < 16; last++) {
            uint64_t first = first_word(GSH_RING_PUT_INLINE, 7, 42, 0);
            struct gsh_ring_slot before = ring.slots[(ring.head + last / 2) % n_slots];
            push(&ring, first, GSH_RING_INLINE_MAX, 7);
            struct gsh_ring_slot *slot = &ring.slots[(ring.head - 8 + last / 2) % n_slots];
            uint64_t word = slot->word[last % 2];
            slot->word[last % 2] = before.word[last % 2];
            CHECK_EQ(gsh_ring_reader_is_ready(&ring.reader), last > 1);
            CHECK(!has_next(&ring, &request));
            slot->word[last % 2] = word;
            CHECK(gsh_ring_reader_is_ready(&ring.reader));
            CHECK(gsh_ring_reader_may_be_ready(&ring.reader));
            CHECK(has_next(&ring, &request));
            CHECK_EQ(request.op, GSH_FAR_P);
            CHECK_EQ(request.pe, 42);
            CHECK_EQ(request.position, ring.head);
            CHECK(!request.local);
        }
        while (ring.head % n_slots != 0) {
            push(&ring, first_word(GSH_RING_FENCE, 0, 0, 0), 0, 0);
            CHECK(has_next(&ring, &request));
        }
        CHECK(!has_next(&ring, &request));
        CHECK(!gsh_ring_reader_may_be_ready(&ring.reader));
        CHECK_EQ(ring.cpu.cpu_tail, ring.head);
    }
}

/* Slots are returned in batches, and all of them when no request is left. */
static void test_tail(void)
{
    static struct ring ring;
    static struct gsh_request requests[n_slots];
    unsigned n = 0;
    start(&ring);
    for (int i = 0; i < n_slots; i++) {
        push(&ring, first_word(GSH_RING_QUIET, 0, 0, 0), 0, 0);
    }
    for (int i = 0; i < n_slots; i++) {
        CHECK(has_next(&ring, &requests[0]));
        CHECK(ring.reader.position - ring.cpu.cpu_tail < n_slots / 8);
    }
    push(&ring, first_word(GSH_RING_QUIET, 0, 0, 0), 0, 0);
    CHECK_EQ(gsh_ring_reader_poll(&ring.reader, requests, n_slots, &n), GSH_OK);
    CHECK_EQ(n, 1);
    CHECK_EQ(ring.cpu.cpu_tail, n_slots + 1);
    gsh_ring_reader_done(&ring.reader, n_slots);
    CHECK_EQ(ring.cpu.cpu_done, n_slots);

    struct gsh_ring_reader other; /* reading continues where it ended */
    CHECK_EQ(gsh_ring_reader_init(&other, ring.slots, n_slots, &ring.cpu, NULL, n_pes), GSH_OK);
    CHECK(!gsh_ring_reader_is_ready(&other));
    CHECK_EQ(gsh_ring_reader_init(&other, ring.slots, n_slots / 2, &ring.cpu, NULL, n_pes),
             GSH_ERR_ARG);
    CHECK_EQ(gsh_ring_reader_init(&other, ring.slots, n_slots + 1, &ring.cpu, NULL, n_pes),
             GSH_ERR_ARG);
}

struct entry {
    unsigned op, payload, pe, arg;
    uint64_t immediate, value;
    bool is_right;
};

#define AMO_FETCH_8 (GSH_AMO_ADD | GSH_RING_AMO_IS_8 | GSH_RING_AMO_FETCHES)

static const struct entry entries[] = {
    {GSH_RING_NONE, 0, 1, 0, 0, 0, false},
    {GSH_RING_OPS, 0, 1, 0, 0, 0, false},
    {31, 7, 1, 0, 0, 0, false},
    {GSH_RING_FENCE, 0, 0, 0, 0, 0, true},
    {GSH_RING_FENCE, 1, 0, 0, 0, 0, false},
    {GSH_RING_PUT, 0, n_pes - 1, 0, 1ull << GSH_RING_AT_BYTES, 0, true},
    {GSH_RING_PUT, 0, n_pes, 0, 1ull << GSH_RING_AT_BYTES, 0, false},
    {GSH_RING_PUT, 0, GSH_RING_MAX_PES - 1, 0, 1ull << GSH_RING_AT_BYTES, 0, false},
    {GSH_RING_PUT, 0, 1, 0, 12345, 0, false}, /* no bytes */
    {GSH_RING_GET, 1, 1, 0, 1ull << GSH_RING_AT_BYTES, 0, false},
    {GSH_RING_PUT_LARGE, 2, 1, 0, 0, 64, true},
    {GSH_RING_PUT_LARGE, 2, 1, 0, 0, 0, false},
    {GSH_RING_GET_LARGE, 2, 1, 0, 0, UINT64_MAX / 2, true},
    {GSH_RING_GET_LARGE, 3, 1, 0, 0, 64, false},
    {GSH_RING_PUT_INLINE, 1, 1, 0, 8, 0, true},
    {GSH_RING_PUT_INLINE, 1, 1, 0, 9, 0, false},
    {GSH_RING_PUT_INLINE, 1, 1, 0, 0, 0, false},
    {GSH_RING_PUT_INLINE, 7, 1, 0, GSH_RING_INLINE_MAX, 0, true},
    {GSH_RING_PUT_INLINE, 7, 1, 0, GSH_RING_INLINE_MAX + 1, 0, false},
    {GSH_RING_PUT_INLINE, 7, 1, 0, UINT64_MAX >> 1, 0, false},
    {GSH_RING_G, 2, 1, 8, 5, 0, true},
    {GSH_RING_G, 2, 1, 3, 5, 0, false},
    {GSH_RING_G, 1, 1, 8, 5, 0, false},
    {GSH_RING_AMO, 2, 1, AMO_FETCH_8, 5, 0, true},
    {GSH_RING_AMO, 1, 1, AMO_FETCH_8, 5, 0, false},
    {GSH_RING_AMO, 1, 1, GSH_AMO_SET, 0, 0, true},
    {GSH_RING_AMO, 1, 1, GSH_RING_AMO_ARG(GSH_AMO_SET, 2, false), 0, 0, true},
    {GSH_RING_AMO, 1, 1, GSH_RING_AMO_ARG(GSH_AMO_FLOAT_ADD, 2, false), 0, 0, true},
    {GSH_RING_AMO, 1, 1, GSH_RING_AMO_ARG(GSH_AMO_FLOAT_ADD, 8, false), 0, 0, true},
    {GSH_RING_AMO, 1, 1, GSH_RING_AMO_OTHER | 5, 0, 0, false},
    {GSH_RING_AMO, 1, 1, GSH_RING_AMO_OTHER | 1 | GSH_RING_AMO_IS_8, 0, 0, false},
    {GSH_RING_IPUT, 3, 1, 0, 8, 3, true},
    {GSH_RING_IPUT, 3, 1, 0, 0, 3, false},
    {GSH_RING_IGET, 3, 1, 0, 8, 0, false},
    {GSH_RING_IGET, 3, 1, 0, 8, 1ull << 40, false}, /* strides times elements overflows */
    {GSH_RING_PUT_SIGNAL, 3, 1, GSHMEM_SIGNAL_ADD, 0, 64, true},
    {GSH_RING_PUT_SIGNAL, 3, 1, GSHMEM_SIGNAL_ADD | GSH_SIGNAL_STRONG, 0, 64, true},
    {GSH_RING_PUT_SIGNAL, 3, 1, 0, 0, 64, false},
    {GSH_RING_PUT_SIGNAL, 3, 1, GSH_SIGNAL_STRONG, 0, 64, false},
    {GSH_RING_PUT_SIGNAL, 3, 1, 32 | GSHMEM_SIGNAL_ADD, 0, 64, false},
    {GSH_RING_PUT_SIGNAL_INLINE, 7, 1, GSHMEM_SIGNAL_SET, GSH_RING_SIGNAL_MAX, 64, true},
    {GSH_RING_PUT_SIGNAL_INLINE, 7, 1, GSHMEM_SIGNAL_SET, GSH_RING_SIGNAL_MAX + 1, 64, false},
};

static void test_malformed(void)
{
    static struct ring ring;
    struct gsh_request request;
    for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
        const struct entry *e = &entries[i];
        bool has = false;
        start(&ring);
        push(&ring, first_word(e->op, e->payload, e->pe, e->arg), e->immediate, e->value);
        enum gsh_result r = gsh_ring_reader_next(&ring.reader, &request, &has);
        if (!CHECK_EQ(r, e->is_right ? GSH_OK : GSH_ERR_BUG) || !CHECK_EQ(has, e->is_right)) {
            fprintf(stderr, "entry %zu\n", i);
        }
        if (!e->is_right) { /* no further request is taken */
            CHECK_EQ(gsh_ring_reader_next(&ring.reader, &request, &has), GSH_ERR_BUG);
            CHECK(!has);
        }
    }
}

/* Without an address a put with signal would take its bytes, however many, from the request. */
static void test_no_source(void)
{
    static struct ring ring;
    struct gsh_request request;
    bool has;
    start(&ring);
    push(&ring, first_word(GSH_RING_PUT_SIGNAL, 3, 1, GSHMEM_SIGNAL_ADD), 0, 4096);
    put_word(&ring, 1, 1, 0);
    CHECK_EQ(gsh_ring_reader_next(&ring.reader, &request, &has), GSH_ERR_BUG);
    CHECK(!has);
}

static void test_garbage(uint64_t *seed)
{
    static struct ring ring;
    static struct gsh_request requests[n_slots];
    unsigned n_right = 0;
    for (int round = 0; round < 20000; round++) {
        unsigned n = 0;
        start(&ring);
        for (unsigned i = 0; i < 64; i++) {
            uint64_t bits = test_random(seed);
            if (round % 2) { /* likely operations and PEs */
                bits &= ~((uint64_t)0x3fff << 14 | 0x10);
            }
            put_word(&ring, i, 0, bits);
            put_word(&ring, i, 1, round % 4 < 2 ? test_random(seed) : test_random(seed) >> 57);
        }
        enum gsh_result r = gsh_ring_reader_poll(&ring.reader, requests, n_slots, &n);
        CHECK(r == GSH_OK || r == GSH_ERR_BUG);
        n_right += n;
        for (unsigned i = 0; i < n; i++) {
            CHECK(requests[i].pe < n_pes && requests[i].position <= 64);
        }
    }
    CHECK(n_right > 100);
}

static void test_replies(void)
{
    static struct ring ring;
    start(&ring);
    gsh_ring_reader_reply(&ring.reader, 3, 0xfedcba9876543210u);
    CHECK_EQ(ring.cpu.reply[3].word[0], 1ull << 32 | 0x76543210u);
    CHECK_EQ(ring.cpu.reply[3].word[1], 1ull << 32 | 0xfedcba98u);
    gsh_ring_reader_reply(&ring.reader, 3 + 5 * GSH_RING_REPLIES, 1);
    CHECK_EQ(ring.cpu.reply[3].word[0], 6ull << 32 | 1);
    CHECK_EQ(ring.cpu.reply[3].word[1], 6ull << 32);
}

int main(void)
{
    uint64_t seed = test_seed();
    gsh_log_setup(GSH_LOG_NONE, 0, NULL);
    test_word_by_word();
    test_tail();
    test_malformed();
    test_no_source();
    test_garbage(&seed);
    test_replies();
    return test_result();
}
