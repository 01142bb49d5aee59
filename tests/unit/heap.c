/* SPDX-License-Identifier: Apache-2.0
 * Proves that collective malloc and free keep pointers, data and every PE's view of every other PE
 * while the heap grows and shrinks; with PEs as threads, as processes, and mixed. */
#include "tests/rig/heap_pes.h"

static struct gsh_heap *create(struct pes *pe)
{
    struct gsh_heap *heap = NULL;
    if (!CHECK(gsh_heap_create(&pe->options, &heap) == GSH_OK)) {
        exit(1);
    }
    return heap;
}

static struct gsh_heap_stats stats(struct gsh_heap *heap)
{
    struct gsh_heap_stats s;
    gsh_heap_stats_get(heap, &s);
    return s;
}

static void *alloc(struct gsh_heap *heap, uint64_t bytes, uint64_t align)
{
    void *ptr = NULL;
    CHECK((gsh_heap_alloc(heap, GSH_HEAP_MALLOC, bytes, align, &ptr) == GSH_OK) == (ptr != NULL));
    return ptr;
}

static uint64_t pattern(int pe, int index)
{
    return 0x5a5a000000000000u + (uint64_t)pe * 1000 + (uint64_t)index;
}

/* ---- data ---- */

#define N_BLOCKS 24

struct block {
    void *ptr;
    uint64_t bytes;
};

static void check_data(struct pes *pe, struct gsh_heap *heap, const struct block *blocks, int n)
{
    for (int target = 0; target < pe->n; target++) {
        for (int i = 0; i < n; i++) {
            uint64_t at = pes_peer(pe, heap, blocks[i].ptr, target);
            CHECK_EQ(pes_load(pe, at), pattern(target, i));
            CHECK_EQ(pes_load(pe, at + blocks[i].bytes - 8), pattern(target, i));
        }
    }
}

static void grow_main(struct pes *pe)
{
    struct gsh_heap *heap = create(pe);
    struct block blocks[N_BLOCKS];
    uint64_t committed = stats(heap).committed, n_growths = 0;
    CHECK_EQ(committed, 2 * PES_MIB);
    for (int i = 0; i < N_BLOCKS; i++) {
        blocks[i].bytes = 8 + (uint64_t)(i * i) * 8 * PES_KIB;
        blocks[i].ptr = alloc(heap, blocks[i].bytes, 0);
        if (!blocks[i].ptr) {
            break;
        }
        pes_store(pe, (uint64_t)(uintptr_t)blocks[i].ptr, pattern(pe->rank, i));
        pes_store(pe, (uint64_t)(uintptr_t)blocks[i].ptr + blocks[i].bytes - 8,
                  pattern(pe->rank, i));
        n_growths += stats(heap).committed > committed;
        committed = stats(heap).committed;
        pes_barrier(pe);
        check_data(pe, heap, blocks, i + 1);
        pes_barrier(pe);
    }
    CHECK(n_growths >= 5);
    CHECK(stats(heap).committed % (2 * PES_MIB) == 0);
    /* A peer loads what was stored into it. */
    int next = (pe->rank + 1) % pe->n;
    pes_store(pe, pes_peer(pe, heap, blocks[0].ptr, next), pattern(pe->rank, 77));
    pes_barrier(pe);
    CHECK_EQ(pes_load(pe, (uint64_t)(uintptr_t)blocks[0].ptr),
             pattern((pe->rank + pe->n - 1) % pe->n, 77));
    pes_barrier(pe);
    gsh_heap_destroy(&heap);
    CHECK(heap == NULL);
}

/* ---- memory returned ---- */

static void give_back_main(struct pes *pe)
{
    const uint64_t range = 32 * PES_MIB;
    pe->options.stride_bytes = range;
    struct gsh_heap *heap = create(pe);
    struct gsh_heap_stats before = stats(heap), now;
    for (int round = 0; round < 3; round++) {
        void *a = alloc(heap, 5 * PES_MIB, 0), *b = alloc(heap, 15 * PES_MIB, 0);
        void *c = alloc(heap, 1000, 0);
        CHECK(stats(heap).committed >= 21 * PES_MIB);
        CHECK_EQ(stats(heap).used, 20 * PES_MIB + 1024);
        CHECK(gsh_heap_free(heap, b) == GSH_OK);
        pes_store(pe, (uint64_t)(uintptr_t)a, pattern(pe->rank, round));
        pes_barrier(pe);
        CHECK_EQ(pes_load(pe, pes_peer(pe, heap, a, 0)), pattern(0, round));
        CHECK(gsh_heap_free(heap, c) == GSH_OK);
        CHECK(stats(heap).committed < 12 * PES_MIB);
        CHECK_EQ(pes_load(pe, pes_peer(pe, heap, a, pe->n - 1)), pattern(pe->n - 1, round));
        CHECK(gsh_heap_free(heap, a) == GSH_OK);
        now = stats(heap);
        CHECK_EQ(now.committed, before.committed);
        CHECK_EQ(now.used, 0);
        CHECK_EQ(now.high_water, 20 * PES_MIB + 1024);
        CHECK_EQ(now.overhead, 100 * PES_KIB);
        CHECK_EQ(now.largest_free, range - 100 * PES_KIB);
    }
    CHECK(gsh_heap_free(heap, NULL) == GSH_OK);
    void *all = alloc(heap, stats(heap).largest_free, 0); /* as promised */
    CHECK(all != NULL && stats(heap).largest_free == 0);
    pes_barrier(pe);
    gsh_heap_destroy(&heap);
}

/* At most the amount to be kept stays, in whole chunks, and serves the next allocation. */
static void keep_main(struct pes *pe)
{
    pe->options.keep_bytes = 8 * PES_MIB;
    struct gsh_heap *heap = create(pe);
    void *a = alloc(heap, 5 * PES_MIB, 0), *b = alloc(heap, 7 * PES_MIB, 0);
    const uint64_t both = stats(heap).committed;
    CHECK_EQ(both, 14 * PES_MIB); /* of 2, 4 and 8 */
    CHECK(gsh_heap_free(heap, b) == GSH_OK);
    CHECK_EQ(stats(heap).committed, both);
    b = alloc(heap, 7 * PES_MIB, 0);
    CHECK_EQ(stats(heap).committed, both);
    pes_store(pe, (uint64_t)(uintptr_t)b, pattern(pe->rank, 1));
    pes_barrier(pe);
    for (int target = 0; target < pe->n; target++) {
        CHECK_EQ(pes_load(pe, pes_peer(pe, heap, b, target)), pattern(target, 1));
    }
    CHECK(gsh_heap_free(heap, a) == GSH_OK); /* b is after it */
    CHECK_EQ(stats(heap).committed, both);
    CHECK(gsh_heap_free(heap, b) == GSH_OK); /* 12 MiB are free: the last chunk goes */
    CHECK_EQ(stats(heap).committed, 6 * PES_MIB);
    CHECK_EQ(stats(heap).used, 0);
    gsh_heap_destroy(&heap);
}

/* The start brings no more than is asked for, unless the internal part is larger, and within the
 * range. */
static void first_main(struct pes *pe)
{
    const uint64_t internal = pe->options.internal_bytes;
    const struct {
        uint64_t internal, first, stride, committed;
    } cases[] = {
        {internal, 6 * PES_MIB, 64 * PES_MIB, 6 * PES_MIB},
        {5 * PES_MIB, 6 * PES_MIB, 64 * PES_MIB, 6 * PES_MIB},
        {7 * PES_MIB, 6 * PES_MIB, 64 * PES_MIB, 8 * PES_MIB},
        {internal, 6 * PES_MIB, 4 * PES_MIB, 4 * PES_MIB},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pe->options.internal_bytes = cases[i].internal;
        pe->options.first_bytes = cases[i].first;
        pe->options.stride_bytes = cases[i].stride;
        struct gsh_heap *heap = create(pe);
        CHECK_EQ(stats(heap).committed, cases[i].committed);
        CHECK_EQ(stats(heap).largest_free, cases[i].stride - cases[i].internal);
        CHECK_EQ(stats(heap).used, 0);
        gsh_heap_destroy(&heap);
    }
}

/* The start and each growth bring at least what is asked for, within the range. */
static void room_main(struct pes *pe)
{
    pe->options.first_bytes = 8 * PES_MIB;
    pe->options.room_bytes = 6 * PES_MIB;
    pe->options.stride_bytes = 16 * PES_MIB;
    struct gsh_heap *heap = create(pe);
    CHECK_EQ(stats(heap).committed, 8 * PES_MIB);
    CHECK_EQ(stats(heap).largest_free, 16 * PES_MIB - 100 * PES_KIB);
    void *a = alloc(heap, 7 * PES_MIB, 0);
    CHECK_EQ(stats(heap).committed, 8 * PES_MIB);
    void *b = alloc(heap, PES_MIB, 0);
    CHECK_EQ(stats(heap).committed, 14 * PES_MIB);
    void *c = alloc(heap, 6 * PES_MIB, 0);
    CHECK_EQ(stats(heap).committed, 16 * PES_MIB);
    pes_store(pe, (uint64_t)(uintptr_t)c, pattern(pe->rank, 2));
    pes_barrier(pe);
    for (int target = 0; target < pe->n; target++) {
        CHECK_EQ(pes_load(pe, pes_peer(pe, heap, c, target)), pattern(target, 2));
    }
    CHECK(gsh_heap_free(heap, a) == GSH_OK);
    CHECK(gsh_heap_free(heap, c) == GSH_OK);
    CHECK_EQ(stats(heap).committed, 14 * PES_MIB); /* b is in the second piece */
    CHECK(gsh_heap_free(heap, b) == GSH_OK);
    CHECK_EQ(stats(heap).committed, 8 * PES_MIB);
    gsh_heap_destroy(&heap);
}

/* A large growth comes in smaller chunks, each of which can be returned by itself, until they would
 * be too many; from then on large ones are taken. */
static void large_main(struct pes *pe)
{
    pe->options.large_bytes = 6 * PES_MIB;
    pe->options.keep_bytes = 4 * PES_MIB;
    struct gsh_heap *heap = create(pe);
    for (int round = 0; round < 2; round++) {
        void *a = alloc(heap, 18 * PES_MIB, 0);
        CHECK_EQ(stats(heap).committed, 20 * PES_MIB);
        pes_store(pe, (uint64_t)(uintptr_t)a + 17 * PES_MIB, pattern(pe->rank, round));
        pes_barrier(pe);
        for (int target = 0; target < pe->n; target++) {
            CHECK_EQ(pes_load(pe, pes_peer(pe, heap, a, target) + 17 * PES_MIB),
                     pattern(target, round));
        }
        CHECK(gsh_heap_free(heap, a) == GSH_OK);
        CHECK_EQ(stats(heap).committed, 6 * PES_MIB); /* one of 4 is kept */
    }
    void *b = alloc(heap, 60 * PES_MIB, 0), *c = alloc(heap, 9 * PES_MIB, 0);
    CHECK(b != NULL && c != NULL);
    CHECK(gsh_heap_free(heap, c) == GSH_OK);
    CHECK(stats(heap).committed < 66 * PES_MIB); /* the memory for c was returned as one chunk */
    CHECK(gsh_heap_free(heap, b) == GSH_OK);
    CHECK_EQ(stats(heap).committed, 6 * PES_MIB);
    gsh_heap_destroy(&heap);
}

/* A heap without an internal part shrinks to nothing and comes back. */
static void empty_main(struct pes *pe)
{
    pe->options.internal_bytes = 0;
    struct gsh_heap *heap = create(pe);
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(stats(heap).committed, 0);
        void *ptr = alloc(heap, 8, 0);
        CHECK_EQ((uint64_t)(uintptr_t)ptr, gsh_heap_base(heap));
        pes_store(pe, (uint64_t)(uintptr_t)ptr, pattern(pe->rank, round));
        pes_barrier(pe);
        for (int target = 0; target < pe->n; target++) {
            CHECK_EQ(pes_load(pe, pes_peer(pe, heap, ptr, target)), pattern(target, round));
        }
        CHECK(gsh_heap_free(heap, ptr) == GSH_OK);
    }
    gsh_heap_destroy(&heap);
}

/* ---- bad input ---- */

static void says(const char *words)
{
    if (!CHECK(strstr(gsh_last_error(), words) != NULL)) {
        fprintf(stderr, "said \"%s\", without \"%s\"\n", gsh_last_error(), words);
    }
}

static void expect(struct gsh_heap *heap, enum gsh_result want, uint64_t bytes, uint64_t align,
                   const char *words)
{
    struct gsh_heap_stats before = stats(heap), after;
    void *ptr = &before;
    CHECK_EQ(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, bytes, align, &ptr), want);
    CHECK(ptr == &before);
    says(words);
    after = stats(heap);
    CHECK(memcmp(&before, &after, sizeof(before)) == 0);
}

/* Zero bytes: no memory, and no failure. */
static void expect_nothing(struct gsh_heap *heap, enum gsh_heap_call call, uint64_t align)
{
    struct gsh_heap_stats before = stats(heap), after;
    void *ptr = NULL;
    CHECK_EQ(gsh_heap_alloc(heap, call, 0, align, &ptr), GSH_OK);
    CHECK(ptr == NULL);
    after = stats(heap);
    CHECK(memcmp(&before, &after, sizeof(before)) == 0);
}

static void bad_input_main(struct pes *pe)
{
    struct gsh_heap *heap = create(pe);
    int last = pe->rank == pe->n - 1;
    char words[128];
    expect_nothing(heap, GSH_HEAP_MALLOC, 0);
    expect_nothing(heap, GSH_HEAP_CALLOC, 0);
    expect_nothing(heap, GSH_HEAP_ALIGN, 64);
    expect(heap, GSH_ERR_ARG, 8, 24, "24 is not a power of two");
    expect(heap, GSH_ERR_ARG, 8, 4 * PES_RANGE, "alignment");
    expect(heap, GSH_ERR_NOMEM, PES_RANGE, 0, "GSHMEM_HEAP_RANGE");
    expect(heap, GSH_ERR_NOMEM, UINT64_MAX, 0, "268435456");
    if (pe->n > 1) {
        snprintf(words, sizeof(words), "PE 0 asks for 64 bytes aligned to 512, PE %d asks for 128",
                 pe->n - 1);
        expect(heap, GSH_ERR_SYMMETRY, last ? 128 : 64, 0, words);
        expect(heap, GSH_ERR_SYMMETRY, last ? 0 : 64, 0, "PE 0 asks for 64");
        expect(heap, GSH_ERR_SYMMETRY, 64, last ? 4096 : 0, "aligned to 4096");
    }
    void *a = alloc(heap, 3 * PES_MIB, 0), *b = alloc(heap, 100, 0);
    CHECK(gsh_heap_is_allocated(heap, (char *)a + 10, 3 * PES_MIB - 10));
    CHECK(!gsh_heap_is_allocated(heap, (char *)a + 10, 3 * PES_MIB - 9));
    CHECK(gsh_heap_is_allocated(heap, b, 100) && !gsh_heap_is_allocated(heap, b, 101));
    CHECK(gsh_heap_is_allocated(heap, (void *)(uintptr_t)gsh_heap_base(heap), 100 * PES_KIB));
    CHECK(!gsh_heap_is_allocated(heap, &last, 1));
    CHECK(gsh_heap_contains(heap, (char *)a + PES_RANGE / 2, 1));
    CHECK(!gsh_heap_contains(heap, (char *)a + PES_RANGE, 1));
    CHECK(!gsh_heap_contains(heap, a, PES_RANGE));
    uint64_t ranges[3][2] = {{0}};
    CHECK_EQ(gsh_heap_allocations(heap, (struct gsh_alloc_range *)ranges, 3), 2);
    CHECK(gsh_heap_base(heap) + ranges[0][0] == (uint64_t)(uintptr_t)(a < b ? a : b));
    CHECK_EQ(ranges[0][1] + ranges[1][1], 3 * PES_MIB + 100);

    CHECK(gsh_heap_free(heap, &last) == GSH_ERR_ARG);
    CHECK(gsh_heap_free(heap, (char *)a + 512) == GSH_ERR_ARG);
    CHECK(gsh_heap_free(heap, (void *)(uintptr_t)gsh_heap_base(heap)) == GSH_ERR_ARG);
    if (pe->n > 1) {
        CHECK(gsh_heap_free(heap, last ? a : b) == GSH_ERR_SYMMETRY);
        says("gshmem_free: PE 0 frees what is at heap offset ");
        CHECK(gsh_heap_free(heap, last ? NULL : b) == GSH_ERR_SYMMETRY);
        void *none = NULL;
        CHECK((last ? gsh_heap_free(heap, b)
                    : gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 8, 0, &none)) == GSH_ERR_SYMMETRY);
        says(" called gshmem_free while PE 0 called gshmem_malloc");
        CHECK(gsh_heap_alloc(heap, last ? GSH_HEAP_CALLOC : GSH_HEAP_ALIGN, 8, 512, &none) ==
              GSH_ERR_SYMMETRY);
        says(" called gshmem_calloc while PE 0 called gshmem_align");
        CHECK((last ? gsh_heap_leave(heap) : gsh_heap_free(heap, b)) == GSH_ERR_SYMMETRY);
        says(" called gshmem_finalize while PE 0 called gshmem_free");
    }
    CHECK(gsh_heap_free(heap, a) == GSH_OK && gsh_heap_free(heap, a) == GSH_ERR_ARG);
    CHECK(gsh_heap_free(heap, b) == GSH_OK);
    gsh_heap_destroy(&heap);
}

static void bad_options_main(struct pes *pe)
{
    struct gsh_heap *heap = NULL;
    pe->options.stride_bytes = PES_MIB;
    CHECK(gsh_heap_create(&pe->options, &heap) == GSH_ERR_ARG && !heap);
    pe->options.stride_bytes = 2 * PES_MIB;
    pe->options.internal_bytes = 2 * PES_MIB + 1;
    CHECK(gsh_heap_create(&pe->options, &heap) == GSH_ERR_NOMEM && !heap);
    pe->options.internal_bytes = 2 * PES_MIB;
    pe->options.large_bytes = 2 * PES_MIB;
    CHECK(gsh_heap_create(&pe->options, &heap) == GSH_ERR_ARG && !heap);
    pe->options.large_bytes = 5 * PES_MIB;
    CHECK(gsh_heap_create(&pe->options, &heap) == GSH_ERR_ARG && !heap);
    pe->options.large_bytes = 0;
    CHECK(gsh_heap_create(&pe->options, &heap) == GSH_OK);
    gsh_heap_destroy(&heap);
    if (pe->n > 1) {
        pe->options.stride_bytes = (uint64_t)(2 + 2 * pe->rank) * PES_MIB;
        CHECK(gsh_heap_create(&pe->options, &heap) == GSH_ERR_SYMMETRY && !heap);
    }
}

/* ---- symmetry ---- */

static void check_same(struct pes *pe, uint64_t value)
{
    uint64_t all[PES_MAX];
    CHECK(pe->bootstrap->ops->allgather(pe->bootstrap, &value, sizeof(value), all) == GSH_OK);
    CHECK_EQ(all[0], value);
}

/* Random sequences give the same offsets on all PEs, aligned also as addresses. */
static void random_main(struct pes *pe)
{
    struct gsh_heap *heap = create(pe);
    uint64_t seed = 5, align;
    void *live[32] = {0};
    for (int step = 0; step < 150; step++) {
        int i = (int)(test_random(&seed) % 32);
        if (live[i]) {
            CHECK(gsh_heap_free(heap, live[i]) == GSH_OK);
            live[i] = NULL;
            continue;
        }
        align = (uint64_t)1 << (test_random(&seed) % 24);
        uint64_t bytes = 1 + test_random(&seed) % ((uint64_t)1 << (test_random(&seed) % 23));
        live[i] = alloc(heap, bytes, align);
        CHECK(live[i] && (uint64_t)(uintptr_t)live[i] % align == 0);
        check_same(pe, (uint64_t)(uintptr_t)live[i] - gsh_heap_base(heap));
    }
    for (int i = 0; i < 32; i++) {
        CHECK(gsh_heap_free(heap, live[i]) == GSH_OK);
    }
    CHECK_EQ(stats(heap).used, 0);
    CHECK_EQ(stats(heap).committed, 2 * PES_MIB);
    gsh_heap_destroy(&heap);
}

/* ---- subscribers to growing and shrinking memory ---- */

struct watcher {
    struct pes *pe;
    struct watcher *before, *after; /* in the order of calls; or NULL */
    bool fails;                     /* on the last PE, from now on */
    uint64_t end;                   /* of added memory */
    uint64_t off[8];                /* of each existing part */
    int n, n_told;
};

/* Uses the bootstrap, as it may, and the memory. */
static enum gsh_result came(void *context, void *memory, uint64_t off, uint64_t bytes,
                            enum gsh_result prior, const struct gsh_heap_members *members)
{
    struct watcher *w = context;
    CHECK(members->pes == NULL && members->n == w->pe->n);
    CHECK_EQ(off, w->end);
    w->n_told++;
    CHECK(w->before == NULL || w->before->end == off + bytes);
    CHECK(w->after == NULL || w->after->end == off);
    check_same(w->pe, bytes);
    if (prior != GSH_OK) {
        return prior;
    }
    if (w->fails && w->pe->rank == w->pe->n - 1) {
        return gsh_note(GSH_ERR_NOMEM, "no more can be registered");
    }
    CHECK(memory != NULL && w->n < 8);
    w->off[w->n++] = off;
    w->end = off + bytes;
    return GSH_OK;
}

static void goes(void *context, uint64_t off, const struct gsh_heap_members *members)
{
    struct watcher *w = context;
    CHECK(members->pes == NULL);
    CHECK(w->n > 0);
    CHECK(w->before == NULL || w->before->end == w->end);
    CHECK(w->after == NULL || w->after->end == off);
    CHECK_EQ(off, w->off[--w->n]);
    w->end = off;
}

static void events_main(struct pes *pe)
{
    struct watcher w = {.pe = pe};
    pe->options.n_subscribers = 1;
    pe->options.subscribers[0] =
        (struct gsh_heap_events){.came = came, .goes = goes, .context = &w};
    struct gsh_heap *heap = create(pe);
    CHECK_EQ(w.end, stats(heap).committed);
    void *a = alloc(heap, 3 * PES_MIB, 0);
    CHECK_EQ(w.end, stats(heap).committed);
    struct gsh_heap_stats before = stats(heap), after;
    w.fails = true;
    void *b = NULL;
    CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 9 * PES_MIB, 0, &b) == GSH_ERR_NOMEM && !b);
    CHECK(strstr(gsh_last_error(), "no more can be registered") != NULL);
    after = stats(heap);
    CHECK(memcmp(&before, &after, sizeof(after)) == 0);
    CHECK_EQ(w.end, after.committed);
    w.fails = false;
    b = alloc(heap, 9 * PES_MIB, 0);
    CHECK(b != NULL && w.end == stats(heap).committed);
    CHECK(gsh_heap_free(heap, b) == GSH_OK);
    CHECK(gsh_heap_free(heap, a) == GSH_OK);
    CHECK_EQ(w.end, stats(heap).committed);
    pes_barrier(pe);
    gsh_heap_destroy(&heap);
    CHECK_EQ(w.n, 0);
}

/* Two are told in order; if one of them fails on one PE, the memory is withdrawn from both in
 * reverse order on all PEs, and a subscriber that was not told before is told nothing. */
static void two_watchers_main(struct pes *pe)
{
    struct watcher w[2] = {{.pe = pe, .after = &w[1]}, {.pe = pe, .before = &w[0]}};
    pe->options.n_subscribers = 2;
    for (int i = 0; i < 2; i++) {
        pe->options.subscribers[i] =
            (struct gsh_heap_events){.came = came, .goes = goes, .context = &w[i]};
    }
    struct gsh_heap *heap = create(pe);
    for (int failing = 0; failing < 2; failing++) {
        struct gsh_heap_stats before = stats(heap), after;
        int n_told[2] = {w[0].n_told, w[1].n_told};
        void *b = NULL;
        w[failing].fails = true;
        CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 9 * PES_MIB, 0, &b) == GSH_ERR_NOMEM);
        CHECK(strstr(gsh_last_error(), "no more can be registered") != NULL);
        w[failing].fails = false;
        after = stats(heap);
        CHECK(memcmp(&before, &after, sizeof(after)) == 0);
        CHECK(w[0].end == after.committed && w[1].end == after.committed);
        CHECK(w[0].n_told > n_told[0]);
        CHECK_EQ(w[1].n_told > n_told[1], failing == 1);
    }
    void *a = alloc(heap, 9 * PES_MIB, 0);
    CHECK(w[0].end == stats(heap).committed && w[1].end == stats(heap).committed);
    CHECK(gsh_heap_free(heap, a) == GSH_OK);
    CHECK(w[0].end == stats(heap).committed && w[1].end == stats(heap).committed);
    pes_barrier(pe);
    gsh_heap_destroy(&heap);
    CHECK(w[0].n == 0 && w[1].n == 0);
}

int main(void)
{
    pes_run_all(events_main);
    pes_run_all(two_watchers_main);
    pes_run_all(grow_main);
    pes_run_all(give_back_main);
    pes_run_all(keep_main);
    pes_run_all(first_main);
    pes_run_all(room_main);
    pes_run_all(large_main);
    pes_run_all(empty_main);
    pes_run_all(bad_input_main);
    pes_run_all(bad_options_main);
    pes_run_all(random_main);
    return test_result();
}
