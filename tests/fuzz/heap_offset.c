/* SPDX-License-Identifier: Apache-2.0
 * Any sequence of calls of the offset allocator, beside a model that is a list of live blocks:
 * blocks never overlap, all numbers are as the model says, the walker finds every invariant, and a
 * second instance with the same calls gives the same offsets. */
#include "tests/fuzz/fuzz.h"

#include "base/util.h"
#include "heap/offset.h"

#define G         GSH_OFFSET_GRANULE
#define MAX_LIVE  64
#define MAX_CALLS 128

struct model {
    struct gsh_offset_block live[MAX_LIVE];
    int n_live;
    uint64_t size, used, high_water;
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_quiet();
    return 0;
}

static uint64_t rounded(uint64_t bytes)
{
    return gsh_align_up(bytes, G);
}

static uint64_t end_of(const struct model *m)
{
    uint64_t end = 0;
    for (int i = 0; i < m->n_live; i++) {
        end = gsh_max_u64(end, m->live[i].off + rounded(m->live[i].bytes));
    }
    return end;
}

/* A number of any magnitude: seldom exact powers of two, often near one. */
static uint64_t take_number(struct fuzz_input *in)
{
    unsigned shape = (unsigned)fuzz_take(in, 1);
    uint64_t small = fuzz_take(in, 1);
    return shape < 200 ? small << (shape % 16) : small << (shape % 64);
}

static void check_alloc(struct model *m, const struct gsh_offset *o, enum gsh_result r,
                        uint64_t need, struct gsh_offset_block b, uint64_t align)
{
    if (r != GSH_OK) {
        FUZZ_CHECK(r == GSH_ERR_ARG || need > m->size);
        return;
    }
    FUZZ_CHECK(need == m->size);
    FUZZ_CHECK(b.bytes > 0 && b.off % G == 0 && b.off % (align == 0 ? 1 : align) == 0);
    FUZZ_CHECK(gsh_range_fits(b.off, rounded(b.bytes), m->size));
    for (int i = 0; i < m->n_live; i++) {
        FUZZ_CHECK(b.off >= m->live[i].off + rounded(m->live[i].bytes) ||
                   m->live[i].off >= b.off + rounded(b.bytes));
    }
    struct gsh_offset_block found;
    FUZZ_CHECK(gsh_offset_containing(o, b.off + b.bytes - 1, &found) && found.off == b.off &&
               found.bytes == b.bytes);
    m->live[m->n_live++] = b;
    m->used += rounded(b.bytes);
    m->high_water = gsh_max_u64(m->high_water, m->used);
}

static void check_all(const struct model *m, const struct gsh_offset *o)
{
    struct gsh_offset_stats s;
    uint64_t pairs[MAX_LIVE][2];
    gsh_offset_stats_get(o, &s);
    FUZZ_CHECK(s.size == m->size && s.used == m->used && s.high_water == m->high_water);
    FUZZ_CHECK(s.n_blocks == (uint64_t)m->n_live && gsh_offset_end(o) == end_of(m));
    FUZZ_CHECK(s.tail_free == m->size - end_of(m) && s.largest_free <= m->size - m->used);
    FUZZ_CHECK(gsh_offset_list(o, 0, pairs, MAX_LIVE) == (uint64_t)m->n_live);
    for (int i = 0; i < m->n_live; i++) {
        struct gsh_offset_block b;
        FUZZ_CHECK(gsh_offset_find(o, pairs[i][0], &b) && b.bytes == pairs[i][1]);
        FUZZ_CHECK(i == 0 || pairs[i][0] > pairs[i - 1][0]);
    }
    FUZZ_CHECK(gsh_offset_check(o) == GSH_OK);
}

static void alloc(struct model *m, struct gsh_offset *both[2], struct fuzz_input *in)
{
    uint64_t bytes = take_number(in), off[2] = {UINT64_MAX, UINT64_MAX};
    unsigned shift = (unsigned)fuzz_take(in, 1);
    uint64_t align = shift < 128 ? 0 : shift < 250 ? (uint64_t)1 << (shift % 24) : take_number(in);
    if (m->n_live == MAX_LIVE) {
        return;
    }
    uint64_t need = gsh_offset_need(both[0], bytes, align);
    enum gsh_result r = gsh_offset_alloc(both[0], bytes, align, &off[0]);
    FUZZ_CHECK(gsh_offset_alloc(both[1], bytes, align, &off[1]) == r && off[0] == off[1]);
    check_alloc(m, both[0], r, need, (struct gsh_offset_block){off[0], bytes}, align);
}

static void release(struct model *m, struct gsh_offset *both[2], struct fuzz_input *in)
{
    uint64_t which = fuzz_take(in, 1);
    bool is_live = m->n_live > 0 && which < 240;
    int i = is_live ? (int)(which % (uint64_t)m->n_live) : 0;
    uint64_t off = is_live ? m->live[i].off : take_number(in);
    for (int k = 0; k < m->n_live && !is_live; k++) {
        is_live = m->live[k].off == off;
        i = k;
    }
    enum gsh_result r = gsh_offset_free(both[0], off);
    FUZZ_CHECK(gsh_offset_free(both[1], off) == r && r == (is_live ? GSH_OK : GSH_ERR_ARG));
    if (is_live) {
        m->used -= rounded(m->live[i].bytes);
        m->live[i] = m->live[--m->n_live];
    }
}

static void resize(struct model *m, struct gsh_offset *both[2], struct fuzz_input *in)
{
    /* The windows of a larger range would take most of the time. */
    uint64_t size = (take_number(in) & ((UINT64_C(1) << 26) - 1)) / G * G;
    if (size >= m->size) {
        FUZZ_CHECK(gsh_offset_grow(both[0], size) == GSH_OK);
        FUZZ_CHECK(gsh_offset_prepare(both[1], size) == GSH_OK);
        FUZZ_CHECK(gsh_offset_grow(both[1], size) == GSH_OK);
    } else {
        FUZZ_CHECK(gsh_offset_grow(both[0], size) == GSH_ERR_ARG);
        size = gsh_max_u64(size, end_of(m));
        gsh_offset_shrink(both[0], size);
        gsh_offset_shrink(both[1], size);
    }
    m->size = size;
}

/* Calls, each of a few bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input in = {data, bytes};
    struct model m = {.size = (take_number(&in) & ((UINT64_C(1) << 26) - 1)) / G * G};
    struct gsh_offset *both[2] = {NULL, NULL};
    FUZZ_CHECK(gsh_offset_create(m.size, &both[0]) == GSH_OK);
    FUZZ_CHECK(gsh_offset_create(m.size, &both[1]) == GSH_OK);
    for (int i = 0; i < MAX_CALLS && in.bytes > 0; i++) {
        unsigned call = (unsigned)fuzz_take(&in, 1) % 8;
        if (call < 4) {
            alloc(&m, both, &in);
        } else if (call < 7) {
            release(&m, both, &in);
        } else {
            resize(&m, both, &in);
        }
        if (i % 16 == 15) {
            check_all(&m, both[0]);
        }
    }
    check_all(&m, both[0]);
    check_all(&m, both[1]);
    gsh_offset_destroy(&both[0]);
    gsh_offset_destroy(&both[1]);
    return 0;
}
