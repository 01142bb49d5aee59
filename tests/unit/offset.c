/* SPDX-License-Identifier: Apache-2.0
 * Proves that the offset allocator places, aligns, joins, grows and shrinks as promised: single
 * cases, and seeded random sequences against a naive model with the walker after each step. */
#include "base/fault.h"
#include "base/util.h"
#include "heap/offset.h"
#include "tests/test.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define G   GSH_OFFSET_GRANULE

static struct gsh_offset *create(uint64_t size)
{
    struct gsh_offset *o = NULL;
    if (!CHECK(gsh_offset_create(size, &o) == GSH_OK)) {
        exit(1);
    }
    return o;
}

static uint64_t alloc(struct gsh_offset *o, uint64_t bytes, uint64_t align)
{
    uint64_t off = UINT64_MAX;
    enum gsh_result r = gsh_offset_alloc(o, bytes, align, &off);
    CHECK((r == GSH_OK) == (off != UINT64_MAX));
    CHECK(gsh_offset_check(o) == GSH_OK);
    return off;
}

static enum gsh_result release(struct gsh_offset *o, uint64_t off)
{
    enum gsh_result r = gsh_offset_free(o, off);
    CHECK(gsh_offset_check(o) == GSH_OK);
    return r;
}

static struct gsh_offset_stats stats(const struct gsh_offset *o)
{
    struct gsh_offset_stats s;
    gsh_offset_stats_get(o, &s);
    return s;
}

static void test_neighbours_join(void)
{
    struct gsh_offset *o = create(8 * G);
    uint64_t off[8];
    for (int i = 0; i < 8; i++) {
        off[i] = alloc(o, i % 2 ? G : 1, 0);
    }
    CHECK_EQ(stats(o).used, 8 * G);
    CHECK_EQ(alloc(o, 1, 0), UINT64_MAX);
    static const int order[8] = {1, 3, 2, 7, 5, 6, 0, 4};
    static const uint64_t largest[8] = {1, 1, 3, 3, 3, 3, 4, 8};
    for (int i = 0; i < 8; i++) {
        CHECK(release(o, off[order[i]]) == GSH_OK);
        CHECK_EQ(stats(o).largest_free, largest[i] * G);
    }
    CHECK_EQ(alloc(o, 8 * G, 0), 0);
    CHECK_EQ(stats(o).high_water, 8 * G);
    gsh_offset_destroy(&o);
    CHECK(o == NULL);
    gsh_offset_destroy(&o);
}

static void test_every_alignment(void)
{
    struct gsh_offset *o = create(72 * GIB);
    CHECK_EQ(alloc(o, 1, 0), 0);
    for (uint64_t align = 1; align <= 32 * GIB; align *= 2) {
        uint64_t off = alloc(o, 3 * G, align); /* larger than the block from 2 KiB on */
        CHECK(off != UINT64_MAX && off % align == 0 && off % G == 0);
    }
    CHECK_EQ(alloc(o, 1, 128 * GIB), UINT64_MAX);
    CHECK_EQ(alloc(o, 1, GSH_OFFSET_MAX_BYTES), UINT64_MAX);
    uint64_t off = 7;
    CHECK(gsh_offset_alloc(o, 1, 3 * G, &off) == GSH_ERR_ARG && off == 7);
    gsh_offset_destroy(&o);
}

/* A block whose class does not guarantee that it is large enough is still found. */
static void test_exact_fits(void)
{
    for (uint64_t n = 1; n < 5000; n += n < 100 ? 1 : 37) {
        struct gsh_offset *o = create(n * G);
        CHECK_EQ(alloc(o, n * G, 0), 0);
        CHECK(release(o, 0) == GSH_OK);
        CHECK_EQ(alloc(o, n * G + 1, 0), UINT64_MAX);
        gsh_offset_destroy(&o);
    }
    struct gsh_offset *o = create(4 * MIB);
    CHECK_EQ(alloc(o, 2 * MIB, 2 * MIB) % (2 * MIB), 0);
    CHECK_EQ(alloc(o, 2 * MIB, 2 * MIB) % (2 * MIB), 0);
    CHECK_EQ(stats(o).largest_free, 0);
    gsh_offset_destroy(&o);
}

static void test_grow_and_shrink(void)
{
    struct gsh_offset *o = create(0);
    CHECK_EQ(gsh_offset_need(o, 1, 0), G);
    CHECK_EQ(alloc(o, 1, 0), UINT64_MAX);
    CHECK(gsh_offset_grow(o, 4 * MIB) == GSH_OK);
    uint64_t a = alloc(o, MIB, 0), b = alloc(o, MIB, 0);
    CHECK_EQ(gsh_offset_need(o, 2 * MIB, 0), 4 * MIB);
    CHECK_EQ(gsh_offset_need(o, 3 * MIB, 0), 5 * MIB);
    CHECK_EQ(gsh_offset_need(o, MIB, 8 * MIB), 4 * MIB + (a == 0 ? 5 * MIB : 0));
    CHECK_EQ(gsh_offset_need(o, 0, 0), UINT64_MAX);
    CHECK_EQ(gsh_offset_need(o, UINT64_MAX, 0), UINT64_MAX);
    CHECK_EQ(gsh_offset_need(o, GSH_OFFSET_MAX_BYTES, GSH_OFFSET_MAX_BYTES), UINT64_MAX);
    CHECK(gsh_offset_grow(o, MIB) == GSH_ERR_ARG);
    CHECK(gsh_offset_grow(o, 5 * MIB + 1) == GSH_ERR_ARG);
    CHECK(gsh_offset_grow(o, 5 * MIB) == GSH_OK);
    CHECK_EQ(gsh_offset_end(o), 2 * MIB);
    uint64_t c = alloc(o, 3 * MIB, 0);
    CHECK_EQ(c, 2 * MIB);
    CHECK_EQ(gsh_offset_end(o), 5 * MIB);
    gsh_offset_shrink(o, 4 * MIB); /* not below a live block */
    CHECK_EQ(stats(o).size, 5 * MIB);
    CHECK(release(o, c) == GSH_OK && release(o, a) == GSH_OK);
    gsh_offset_shrink(o, gsh_offset_end(o));
    CHECK(gsh_offset_check(o) == GSH_OK);
    CHECK_EQ(stats(o).size, 2 * MIB);
    CHECK_EQ(stats(o).tail_free, 0);
    CHECK(release(o, b) == GSH_OK);
    gsh_offset_shrink(o, 0);
    CHECK(gsh_offset_check(o) == GSH_OK);
    CHECK_EQ(stats(o).size, 0);
    CHECK(gsh_offset_grow(o, GIB) == GSH_OK);
    CHECK_EQ(alloc(o, GIB, 0), 0);
    gsh_offset_destroy(&o);
}

static void test_lookup(void)
{
    struct gsh_offset *o = create(64 * MIB);
    struct gsh_offset_block block;
    CHECK(!gsh_offset_containing(o, 0, &block));
    uint64_t a = alloc(o, 1000, 0), b = alloc(o, 40 * MIB, 0), c = alloc(o, 1, 0);
    CHECK(gsh_offset_find(o, b, &block) && block.off == b && block.bytes == 40 * MIB);
    CHECK(!gsh_offset_find(o, b + G, &block));
    CHECK(gsh_offset_containing(o, b + 40 * MIB - 1, &block) && block.off == b);
    CHECK(gsh_offset_containing(o, a + 999, &block) && block.off == a && block.bytes == 1000);
    CHECK(gsh_offset_containing(o, c, &block) && block.off == c && block.bytes == 1);
    CHECK(!gsh_offset_containing(o, c + G, &block));
    CHECK(!gsh_offset_containing(o, 64 * MIB, &block));
    CHECK(!gsh_offset_containing(o, UINT64_MAX, &block));
    CHECK(release(o, a + 1) == GSH_ERR_ARG);
    CHECK(release(o, UINT64_MAX) == GSH_ERR_ARG);
    CHECK(release(o, b) == GSH_OK && release(o, b) == GSH_ERR_ARG);
    uint64_t pairs[2][2] = {{0}};
    CHECK_EQ(gsh_offset_list(o, 0, pairs, 1), 2);
    CHECK(pairs[0][0] == a && pairs[0][1] == 1000 && pairs[1][1] == 0);
    CHECK_EQ(gsh_offset_list(o, 1, pairs, 2), 1);
    CHECK(pairs[0][0] == c && pairs[0][1] == 1);
    gsh_offset_destroy(&o);
}

/* ---- against a model: live blocks in order of offset, searched from the start ---- */

#define MODEL_MAX 300

struct model {
    uint64_t size;
    int n;
    struct {
        uint64_t off, bytes, end; /* end is rounded up */
    } live[MODEL_MAX];
};

/* Whether an aligned block fits into a gap; also finds the largest gap. */
static bool model_fits(const struct model *m, uint64_t bytes, uint64_t align, uint64_t *largest)
{
    uint64_t at = 0;
    bool is_possible = false;
    *largest = 0;
    for (int i = 0; i <= m->n; i++) {
        uint64_t end = i < m->n ? m->live[i].off : m->size;
        uint64_t start = gsh_align_up(at, align < G ? G : align);
        *largest = gsh_max_u64(*largest, end - at);
        if (start <= end && gsh_align_up(bytes, G) <= end - start) {
            is_possible = true;
        }
        at = i < m->n ? m->live[i].end : 0;
    }
    return is_possible;
}

static void model_insert(struct model *m, uint64_t off, uint64_t bytes)
{
    int i = m->n++;
    for (; i > 0 && m->live[i - 1].off > off; i--) {
        m->live[i] = m->live[i - 1];
    }
    m->live[i].off = off;
    m->live[i].bytes = bytes;
    m->live[i].end = off + gsh_align_up(bytes, G);
    CHECK(i == 0 || m->live[i - 1].end <= off);
    CHECK(m->live[i].end <= (i + 1 < m->n ? m->live[i + 1].off : m->size));
}

static void model_remove(struct model *m, int i)
{
    m->n--;
    for (; i < m->n; i++) {
        m->live[i] = m->live[i + 1];
    }
}

static uint64_t random_bytes(uint64_t *seed)
{
    unsigned bits = (unsigned)(test_random(seed) % 23);
    return 1 + test_random(seed) % ((uint64_t)1 << bits);
}

static void step_alloc(struct gsh_offset *a, struct gsh_offset *b, struct model *m, uint64_t *seed)
{
    uint64_t bytes = random_bytes(seed), align = 0, largest, off = 0, off_b = 0;
    if (test_random(seed) % 3 == 0) {
        align = (uint64_t)1 << (test_random(seed) % 25);
    }
    bool expected = model_fits(m, bytes, align, &largest);
    CHECK_EQ(stats(a).largest_free, largest);
    CHECK_EQ(gsh_offset_need(a, bytes, align) == m->size, expected);
    if (!expected && test_random(seed) % 4 == 0) {
        uint64_t need = gsh_offset_need(a, bytes, align);
        CHECK(gsh_offset_grow(a, need - G) == GSH_OK);
        CHECK(gsh_offset_alloc(a, bytes, align, &off) == GSH_ERR_NOMEM);
        CHECK(gsh_offset_grow(a, need) == GSH_OK);
        CHECK(gsh_offset_grow(b, need) == GSH_OK);
        m->size = need;
        expected = true;
    }
    CHECK_EQ(gsh_offset_alloc(a, bytes, align, &off) == GSH_OK, expected);
    CHECK_EQ(gsh_offset_alloc(b, bytes, align, &off_b) == GSH_OK, expected);
    CHECK_EQ(off, off_b);
    if (expected) {
        CHECK(align == 0 || off % align == 0);
        model_insert(m, off, bytes);
    }
}

static void step_lookup(const struct gsh_offset *a, const struct model *m, uint64_t *seed)
{
    struct gsh_offset_block block = {0};
    uint64_t off = test_random(seed) % (m->size + MIB);
    int i = 0;
    while (i < m->n && m->live[i].end <= off) {
        i++;
    }
    bool expected = i < m->n && m->live[i].off <= off;
    CHECK_EQ(gsh_offset_containing(a, off, &block), expected);
    CHECK(!expected || (block.off == m->live[i].off && block.bytes == m->live[i].bytes));
    CHECK_EQ(gsh_offset_find(a, off, &block), expected && m->live[i].off == off);
}

static void step_shrink(struct gsh_offset *a, struct gsh_offset *b, struct model *m)
{
    uint64_t end = gsh_offset_end(a);
    CHECK_EQ(end, m->n ? m->live[m->n - 1].end : 0);
    gsh_offset_shrink(a, end);
    gsh_offset_shrink(b, end);
    m->size = end;
}

/* b differs from a in how often its bookkeeping was prepared: that must not show. */
static void test_random_sequences(uint64_t seed)
{
    for (int round = 0; round < 12; round++) {
        struct model m = {.size = (test_random(&seed) % 64) * 256 * KIB};
        struct gsh_offset *a = create(m.size), *b = create(m.size);
        for (int step = 0; step < 600; step++) {
            uint64_t what = test_random(&seed) % 100;
            bool is_filling = (step / 150) % 2 == 0;
            if (m.n < MODEL_MAX && what < (is_filling ? 70 : 25)) {
                step_alloc(a, b, &m, &seed);
            } else if (m.n > 0 && what < 90) {
                int i = (int)(test_random(&seed) % (uint64_t)m.n);
                CHECK(gsh_offset_free(a, m.live[i].off) == GSH_OK);
                CHECK(gsh_offset_free(b, m.live[i].off) == GSH_OK);
                model_remove(&m, i);
            } else if (what < 96) {
                step_lookup(a, &m, &seed);
                CHECK(gsh_offset_prepare(b, m.size + what * MIB) == GSH_OK);
            } else {
                step_shrink(a, b, &m);
            }
            if (!CHECK(gsh_offset_check(a) == GSH_OK) || !CHECK(gsh_offset_check(b) == GSH_OK)) {
                return;
            }
            CHECK_EQ(stats(a).size, m.size);
            CHECK_EQ(stats(a).n_blocks, m.n);
        }
        gsh_offset_destroy(&a);
        gsh_offset_destroy(&b);
    }
}

/* Each failure of the allocator's own memory leaves its allocations unchanged. */
static void test_faults(void)
{
    for (unsigned n = 1;; n++) {
        struct gsh_offset *o = NULL;
        gsh_fault_arm(n, true);
        enum gsh_result r = gsh_offset_create(MIB, &o);
        gsh_fault_arm(0, false);
        if (r == GSH_OK) {
            gsh_offset_destroy(&o);
            CHECK(n > 3);
            break;
        }
        CHECK(r == GSH_ERR_NOMEM && o == NULL);
    }
    struct gsh_offset *o = create(MIB);
    int n_ok = 0;
    gsh_fault_arm(1, true);
    for (uint64_t off = 0; gsh_offset_alloc(o, G, 0, &off) == GSH_OK; n_ok++) {
        CHECK(gsh_offset_check(o) == GSH_OK);
    }
    CHECK(n_ok > 0 && n_ok < 2048);
    struct gsh_offset_stats before = stats(o), after;
    CHECK(gsh_offset_prepare(o, MIB) == GSH_ERR_NOMEM);
    CHECK(gsh_offset_grow(o, GIB) == GSH_ERR_NOMEM);
    CHECK(gsh_offset_check(o) == GSH_OK);
    after = stats(o);
    CHECK(memcmp(&before, &after, sizeof(before)) == 0);
    gsh_fault_arm(0, false);
    CHECK(gsh_offset_prepare(o, 2 * MIB) == GSH_OK);
    gsh_fault_arm(1, true);
    CHECK(gsh_offset_grow(o, 2 * MIB) == GSH_OK); /* prepared: needs nothing */
    CHECK(alloc(o, G, MIB) != UINT64_MAX);
    gsh_fault_arm(0, false);
    gsh_offset_destroy(&o);
}

int main(void)
{
    uint64_t seed = test_seed();
    test_neighbours_join();
    test_every_alignment();
    test_exact_fits();
    test_grow_and_shrink();
    test_lookup();
    test_random_sequences(seed);
    test_faults();
    return test_result();
}
