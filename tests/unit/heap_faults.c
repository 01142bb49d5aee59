/* SPDX-License-Identifier: Apache-2.0
 * Proves that a failure of one PE, wherever it happens while the heap is made or grows, gives the
 * same error on all, names the PE, and leaves heap, descriptors and mappings as they were. */
#include <sys/resource.h>
#include "base/fault.h"
#include "tests/rig/heap_pes.h"

#define N_FAULTS_MAX 100

/* The n-th step that may fail on this PE fails and, on host memory, with for_good all after it. */
static void arm(struct pes *pe, unsigned n, bool for_good)
{
    if (pe->kind == PES_HOST) {
        gsh_fault_arm(n, for_good);
        return;
    }
#ifdef GSH_HAVE_CUDA
    model_fail_at = n;
#endif
}

/* All PEs got r. */
static void check_common(struct pes *pe, enum gsh_result r)
{
    int32_t all[PES_MAX], mine = (int32_t)r;
    CHECK(pe->bootstrap->ops->allgather(pe->bootstrap, &mine, sizeof(mine), all) == GSH_OK);
    for (int i = 0; i < pe->n; i++) {
        CHECK_EQ(all[i], mine);
    }
}

static void check_words(int victim)
{
    char name[24];
    snprintf(name, sizeof(name), "PE %d: ", victim);
    CHECK(strstr(gsh_last_error(), "a step failed") == NULL); /* not the PE's own words */
    if (!CHECK(strstr(gsh_last_error(), name) != NULL)) {
        fprintf(stderr, "said \"%s\"\n", gsh_last_error());
    }
}

static void check_equal(struct gsh_heap *heap, const struct gsh_heap_stats *before)
{
    struct gsh_heap_stats now;
    gsh_heap_stats_get(heap, &now);
    CHECK(memcmp(&now, before, sizeof(now)) == 0);
}

/* ---- at each place in turn ---- */

static void create_with_victim(struct pes *pe, int victim)
{
    unsigned n = 1;
    for (; n < N_FAULTS_MAX; n++) {
        struct gsh_heap *heap = NULL;
        arm(pe, pe->rank == victim ? n : 0, true);
        enum gsh_result r = gsh_heap_create(&pe->options, &heap);
        arm(pe, 0, false);
        check_common(pe, r);
        CHECK((r == GSH_OK) == (heap != NULL));
        if (r == GSH_OK) {
            pes_barrier(pe);
            gsh_heap_destroy(&heap);
            break;
        }
        check_words(victim);
    }
    CHECK(n > 3 && n < N_FAULTS_MAX);
}

static void create_main(struct pes *pe)
{
    create_with_victim(pe, 0);
    create_with_victim(pe, pe->n - 1);
}

static void grow_by(struct pes *pe, uint64_t bytes)
{
    struct gsh_heap *heap = NULL;
    struct gsh_heap_stats before;
    void *kept = NULL, *ptr = NULL;
    int victim = pe->n - 1;
    unsigned n = 1;
    if (!CHECK(gsh_heap_create(&pe->options, &heap) == GSH_OK) ||
        !CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 3 * PES_MIB, 0, &kept) == GSH_OK)) {
        exit(1);
    }
    pes_store(pe, (uint64_t)(uintptr_t)kept, 1000u + (uint64_t)pe->rank);
    gsh_heap_stats_get(heap, &before);
    pes_barrier(pe);
    for (; n < N_FAULTS_MAX; n++) {
        arm(pe, pe->rank == victim ? n : 0, true);
        enum gsh_result r = gsh_heap_alloc(heap, GSH_HEAP_MALLOC, bytes, 0, &ptr);
        arm(pe, 0, false);
        check_common(pe, r);
        if (r == GSH_OK) {
            break;
        }
        check_words(victim);
        check_equal(heap, &before);
        for (int i = 0; i < pe->n; i++) {
            CHECK_EQ(pes_load(pe, pes_peer(pe, heap, kept, i)), 1000 + i);
        }
    }
    CHECK(n > 3 && n < N_FAULTS_MAX);
    pes_store(pe, (uint64_t)(uintptr_t)ptr, 2000u + (uint64_t)pe->rank);
    pes_barrier(pe);
    CHECK_EQ(pes_load(pe, pes_peer(pe, heap, ptr, 0)), 2000);
    CHECK(gsh_heap_free(heap, ptr) == GSH_OK);
    check_equal(heap, &(struct gsh_heap_stats){.range = before.range,
                                               .committed = before.committed,
                                               .used = before.used,
                                               .largest_free = before.largest_free,
                                               .high_water = before.used + bytes,
                                               .overhead = before.overhead});
    gsh_heap_destroy(&heap);
}

static void grow_main(struct pes *pe)
{
    grow_by(pe, 2 * PES_MIB);
}

/* In six chunks: those that came before the failing one are returned. */
static void grow_in_chunks_main(struct pes *pe)
{
    pe->options.large_bytes = 4 * PES_MIB;
    grow_by(pe, 12 * PES_MIB);
}

/* ---- a subscriber that tells all PEs what each has come to, as the proxy's ---- */

struct teller {
    bool are_all_well;
    int n; /* parts that have come and not gone */
};

/* It may fail before it tells the others, not after. */
static enum gsh_result tell_came(void *context, void *memory, uint64_t off, uint64_t bytes,
                                 enum gsh_result prior, const struct gsh_heap_members *members)
{
    struct teller *teller = context;
    int32_t all[PES_MAX];
    (void)memory;
    (void)off;
    (void)bytes;
    if (prior == GSH_OK && gsh_fault()) {
        prior = gsh_note(GSH_ERR_NOMEM, "the memory cannot be registered");
    }
    const int32_t mine = (int32_t)prior;
    CHECK(members->bootstrap->ops->allgather(members->bootstrap, &mine, sizeof(mine), all) ==
          GSH_OK);
    teller->are_all_well = true;
    for (int i = 0; i < members->n; i++) {
        teller->are_all_well = teller->are_all_well && all[i] == GSH_OK;
    }
    teller->n += prior == GSH_OK;
    return prior;
}

static void tell_goes(void *context, uint64_t off, const struct gsh_heap_members *members)
{
    struct teller *teller = context;
    (void)off;
    (void)members;
    CHECK(teller->n-- > 0);
}

static enum gsh_heap_told told(void *context)
{
    return ((struct teller *)context)->are_all_well ? GSH_HEAP_ALL_WELL : GSH_HEAP_SOME_FAILED;
}

static void tellers_main(struct pes *pe)
{
    struct teller teller = {0};
    pe->options.n_subscribers = 1;
    pe->options.subscribers[0] = (struct gsh_heap_events){
        .came = tell_came, .goes = tell_goes, .told = told, .context = &teller};
    pe->options.first_bytes = 8 * PES_MIB; /* tried first, and failures of that are not told */
    create_main(pe);
    pe->options.first_bytes = 0;
    grow_main(pe);
    CHECK_EQ(teller.n, 0);
}

/* The PEs of a node, here all of them, agree before all PEs do. */
static void node_main(struct pes *pe)
{
    pe->options.node = pe->bootstrap;
    create_main(pe);
    grow_main(pe);
    grow_in_chunks_main(pe);
    pe->options.large_bytes = 0;
    tellers_main(pe);
}

/* If only the generous amount cannot be had, the exact one is taken. */
static void exact_main(struct pes *pe)
{
    unsigned n_exact = 0, n_generous = 0;
    for (unsigned n = 1; n < 9; n++) {
        struct gsh_heap *heap = NULL;
        struct gsh_heap_stats s;
        void *ptr = NULL;
        if (!CHECK(gsh_heap_create(&pe->options, &heap) == GSH_OK) ||
            !CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 16 * PES_MIB, 0, &ptr) == GSH_OK)) {
            exit(1);
        }
        arm(pe, pe->rank == 0 ? n : 0, false);
        enum gsh_result r = gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 2 * PES_MIB, 0, &ptr);
        arm(pe, 0, false);
        check_common(pe, r);
        gsh_heap_stats_get(heap, &s);
        n_exact += s.committed == 20 * PES_MIB;
        n_generous += s.committed == 22 * PES_MIB;
        pes_barrier(pe);
        gsh_heap_destroy(&heap);
    }
    /* Not admitted, not committed, not mapped: each has led to the exact amount. */
    CHECK(n_exact >= 3 && n_generous > 0);
}

/* If one process cannot align its range, alignments beyond 2 MiB are refused on all PEs. */
static void align_main(struct pes *pe)
{
    int n_refused = 0;
    for (unsigned n = 1; n < 9; n++) {
        struct gsh_heap *heap = NULL;
        void *ptr = NULL;
        arm(pe, pe->rank == 0 ? n : 0, false);
        enum gsh_result r = gsh_heap_create(&pe->options, &heap);
        arm(pe, 0, false);
        if (r != GSH_OK) {
            continue;
        }
        CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 8, 2 * PES_MIB, &ptr) == GSH_OK);
        r = gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 8, 4 * PES_MIB, &ptr);
        check_common(pe, r);
        n_refused += r == GSH_ERR_ARG;
        pes_barrier(pe);
        gsh_heap_destroy(&heap);
    }
    CHECK_EQ(n_refused, 1);
}

/* ---- limits of the system ---- */

static void limit_main(struct pes *pe)
{
    struct gsh_heap *heap = NULL;
    void *ptr = NULL;
    struct rlimit limit = {.rlim_cur = 4 * PES_MIB, .rlim_max = RLIM_INFINITY};
    CHECK(gsh_heap_create(&pe->options, &heap) == GSH_OK);
    if (pe->rank == 1) {
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 6 * PES_MIB, 0, &ptr) == GSH_ERR_NOMEM);
    check_words(1);
    CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, PES_MIB, 0, &ptr) == GSH_OK);
    pes_barrier(pe);
    gsh_heap_destroy(&heap);
}

/* More than the machine has is refused before any process is killed for it. */
static void huge_main(struct pes *pe)
{
    struct gsh_heap *heap = NULL;
    struct gsh_heap_stats before;
    void *ptr = NULL;
    pe->options.stride_bytes = (uint64_t)1 << 38;
    CHECK(gsh_heap_create(&pe->options, &heap) == GSH_OK);
    gsh_heap_stats_get(heap, &before);
    uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    uint64_t bytes = half + (half >> 3); /* fits one PE, not two */
    if (CHECK(bytes < pe->options.stride_bytes)) {
        CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, bytes, 0, &ptr) == GSH_ERR_NOMEM);
    }
    CHECK(strstr(gsh_last_error(), "available") != NULL);
    check_equal(heap, &before);
    gsh_heap_destroy(&heap);
}

/* ---- a PE that dies ---- */

static _Thread_local int calls_to_live;
static enum gsh_result (*true_allgather)(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                         void *all_out);
static struct pes *dying;

static enum gsh_result dying_allgather(struct gsh_bootstrap *b, const void *mine, size_t bytes,
                                       void *all_out)
{
    if (--calls_to_live == 0) {
        pes_die(dying);
    }
    return true_allgather(b, mine, bytes, all_out);
}

static enum gsh_result (*true_combine)(struct gsh_bootstrap *b, void *mine, size_t bytes,
                                       void (*fold)(void *into, const void *from));

static enum gsh_result dying_combine(struct gsh_bootstrap *b, void *mine, size_t bytes,
                                     void (*fold)(void *into, const void *from))
{
    if (--calls_to_live == 0) {
        pes_die(dying);
    }
    return true_combine(b, mine, bytes, fold);
}

static void death_main(struct pes *pe, int n_calls)
{
    struct gsh_bootstrap_ops ops = *pe->bootstrap->ops;
    struct gsh_heap *heap = NULL;
    void *ptr = NULL;
    enum gsh_result r = GSH_OK;
    if (pe->rank == 1) {
        true_allgather = ops.allgather;
        ops.allgather = dying_allgather;
        true_combine = ops.combine;
        ops.combine = dying_combine;
        calls_to_live = n_calls;
        dying = pe;
        pe->bootstrap->ops = &ops;
    }
    r = gsh_heap_create(&pe->options, &heap);
    while (r == GSH_OK) {
        r = gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 3 * PES_MIB, 0, &ptr);
    }
    CHECK(pe->rank != 1 && r == GSH_ERR_PEER);
    gsh_heap_destroy(&heap);
}

static void death_in_create_main(struct pes *pe)
{
    death_main(pe, 2);
}

static void death_before_commit_main(struct pes *pe)
{
    death_main(pe, 5);
}

static void death_before_map_main(struct pes *pe)
{
    death_main(pe, 6);
}

/* ---- leaks ---- */

static void repeat_main(struct pes *pe)
{
    for (int i = 0; i < 8; i++) {
        struct gsh_heap *heap = NULL;
        void *a = NULL, *b = NULL;
        CHECK(gsh_heap_create(&pe->options, &heap) == GSH_OK);
        CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 3 * PES_MIB, 0, &a) == GSH_OK);
        CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 3 * PES_MIB, 0, &b) == GSH_OK);
        if (i % 2) {
            CHECK(gsh_heap_free(heap, a) == GSH_OK);
        }
        pes_barrier(pe);
        gsh_heap_destroy(&heap);
    }
}

/* In processes: each holds the same after `repeat` as before. */
static void process_leak_main(struct pes *pe)
{
    int n_fds = test_count_fds(), n_maps = pes_count_maps();
    uint64_t addresses = pes_count_address_bytes();
    repeat_main(pe);
    CHECK_EQ(test_count_fds(), n_fds);
    CHECK_EQ(pes_count_maps(), n_maps);
    CHECK(pes_count_address_bytes() < addresses + PES_RANGE);
    pes_barrier(pe);
}

/* The same after failures. */
static void fault_leak_main(struct pes *pe)
{
    int n_fds = test_count_fds();
    create_main(pe);
    grow_main(pe);
    CHECK_EQ(test_count_fds(), n_fds);
    pes_barrier(pe);
}

static void check_thread_leaks(void (*pe_main)(struct pes *pe))
{
    pes_run(PES_HOST, 3, 1, pe_main); /* the C library keeps some memory */
    int n_fds = test_count_fds(), n_maps = pes_count_maps();
    uint64_t addresses = pes_count_address_bytes();
    pes_run(PES_HOST, 3, 1, pe_main);
    CHECK_EQ(test_count_fds(), n_fds);
    CHECK_EQ(pes_count_maps(), n_maps);
    CHECK(pes_count_address_bytes() < addresses + PES_RANGE);
}

int main(void)
{
    const char *cuda = getenv("GSH_TEST_CUDA");
    pes_run_all(create_main);
    pes_run_all(grow_main);
    pes_run_all(tellers_main);
    pes_run_all(node_main);
    pes_run_all(grow_in_chunks_main);
    if (!cuda || strcmp(cuda, "1") != 0) {
        pes_run(PES_HOST, 3, 1, exact_main);
        pes_run(PES_HOST, 2, 2, exact_main);
        pes_run(PES_HOST, 2, 2, limit_main);
        pes_run(PES_HOST, 2, 2, huge_main);
        pes_run(PES_HOST, 3, 3, death_in_create_main);
        pes_run(PES_HOST, 3, 3, death_before_commit_main);
        pes_run(PES_HOST, 3, 3, death_before_map_main);
        pes_run(PES_HOST, 2, 2, align_main);
        pes_run(PES_HOST, 2, 2, process_leak_main);
        pes_run(PES_HOST, 2, 2, fault_leak_main);
#ifdef GSH_HAVE_CUDA
        pes_run(PES_MODEL, 2, 2, fault_leak_main);
        pes_run(PES_MODEL_FABRIC, 2, 2, fault_leak_main);
#endif
        check_thread_leaks(repeat_main);
        check_thread_leaks(create_main);
        check_thread_leaks(grow_main);
    }
    return test_result();
}
