/* SPDX-License-Identifier: Apache-2.0
 * Proves that the program's own memory becomes part of every PE's heap in place: in pieces of
 * different sizes on each PE, while the heap grows, and told to subscribers; for all PEs or for
 * overlapping groups; and that a failure at any point, on one PE, leaves everything unchanged on
 * all. */
#include "base/fault.h"
#include "heap/registrable.h"
#include "tests/rig/heap_pes.h"
#include "wire/state.h"

enum { REGISTRATION = 3 << 20, ROOM = 6 << 20 };

struct own {
    uint64_t base, at; /* of all of it; of the registered part */
};

/* Host memory: private pages. CUDA: one piece on even PEs, whose first 2 MiB are not registered,
 * and three on odd PEs. */
#ifdef GSH_HAVE_CUDA
static struct own make_own(const struct pes *pe)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    const size_t piece = pe->rank % 2 == 0 ? ROOM : 2 * PES_MIB;
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = pe->options.cuda_device},
        .requestedHandleTypes = pe->options.fabric ? CU_MEM_HANDLE_TYPE_FABRIC
                                                   : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    CUmemAccessDesc access = {.location = prop.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr base = 0;
    CHECK(cuda->MemAddressReserve(&base, ROOM, 2 * PES_MIB, 0, 0) == CUDA_SUCCESS);
    for (size_t off = 0; off < ROOM; off += piece) {
        CUmemGenericAllocationHandle handle = 0;
        CHECK(cuda->MemCreate(&handle, piece, &prop, 0) == CUDA_SUCCESS);
        CHECK(cuda->MemMap(base + off, piece, 0, handle, 0) == CUDA_SUCCESS);
        CHECK(cuda->MemSetAccess(base + off, piece, &access, 1) == CUDA_SUCCESS);
        CHECK(cuda->MemRelease(handle) == CUDA_SUCCESS);
    }
    return (struct own){base, base + (pe->rank % 2 == 0 ? 2 * PES_MIB : 0)};
}

static void free_own(const struct pes *pe, const struct own *own)
{
    const struct gsh_cuda *cuda = gsh_cuda();
    const size_t piece = pe->rank % 2 == 0 ? ROOM : 2 * PES_MIB;
    for (size_t off = 0; off < ROOM; off += piece) {
        CHECK(cuda->MemUnmap(own->base + off, piece) == CUDA_SUCCESS);
    }
    CHECK(cuda->MemAddressFree(own->base, ROOM) == CUDA_SUCCESS);
}

static void fail_at(const struct pes *pe, unsigned n)
{
    if (pe->options.kind == GSH_MEMORY_CUDA) {
        model_fail_at = n;
    } else {
        gsh_fault_arm(n, false);
    }
}
#else
static struct own make_own(const struct pes *pe)
{
    (void)pe;
    return (struct own){0};
}

static void free_own(const struct pes *pe, const struct own *own)
{
    (void)pe;
    (void)own;
}

static void fail_at(const struct pes *pe, unsigned n)
{
    (void)pe;
    gsh_fault_arm(n, false);
}
#endif

static struct own own_of(const struct pes *pe)
{
    if (pe->options.kind == GSH_MEMORY_CUDA) {
        return make_own(pe);
    }
    void *p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    return (struct own){(uint64_t)(uintptr_t)p, (uint64_t)(uintptr_t)p};
}

static void end_own(const struct pes *pe, const struct own *own)
{
    if (pe->options.kind == GSH_MEMORY_CUDA) {
        free_own(pe, own);
    } else {
        munmap((void *)(uintptr_t)own->base, ROOM);
    }
}

static struct gsh_heap *create(struct pes *pe)
{
    struct gsh_heap *heap = NULL;
    if (!CHECK(gsh_heap_create(&pe->options, &heap) == GSH_OK)) {
        exit(1);
    }
    return heap;
}

static uint64_t largest_free(struct gsh_heap *heap)
{
    struct gsh_heap_stats s;
    gsh_heap_stats_get(heap, &s);
    return s.largest_free;
}

/* The values at both ends of each PE's registered memory. */
static void check_all(struct pes *pe, struct gsh_heap *heap, const void *alias, uint64_t add)
{
    pes_barrier(pe);
    for (int target = 0; target < pe->n; target++) {
        const uint64_t at = pes_peer(pe, heap, alias, target);
        CHECK_EQ(pes_load(pe, at), add + (uint64_t)target);
        CHECK_EQ(pes_load(pe, at + REGISTRATION - 8), add + 100 + (uint64_t)target);
    }
    pes_barrier(pe);
}

static void register_range_main(struct pes *pe)
{
    struct gsh_heap *heap = create(pe);
    const struct own own[2] = {own_of(pe), own_of(pe)};
    const uint64_t before = largest_free(heap);
    void *alias[2] = {NULL, NULL}, *grown = NULL;
    struct gsh_alloc_range ranges[4];
    for (int i = 0; i < 2; i++) {
        pes_store(pe, own[i].at, (uint64_t)(1000 * i + pe->rank));
        pes_store(pe, own[i].at + REGISTRATION - 8, (uint64_t)(1000 * i + 100 + pe->rank));
        CHECK(gsh_heap_register(heap, (void *)(uintptr_t)own[i].at, REGISTRATION, &alias[i]) ==
              GSH_OK);
        check_all(pe, heap, alias[i], 1000 * (uint64_t)i);
    }
    CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 20 * PES_MIB, 0, &grown) == GSH_OK);
    CHECK(gsh_heap_is_allocated(heap, (char *)alias[1] + 8, REGISTRATION - 8));
    CHECK(!gsh_heap_is_allocated(heap, (char *)alias[1] + 8, REGISTRATION));
    CHECK_EQ(gsh_heap_allocations(heap, ranges, 4), 3);
    CHECK(ranges[0].off < ranges[1].off && ranges[1].off < ranges[2].off);
    CHECK_EQ(ranges[2].bytes, REGISTRATION);
    CHECK(gsh_heap_free(heap, alias[0]) == GSH_ERR_ARG);
    /* a peer has at its own address what was stored to it */
    const int next = (pe->rank + 1) % pe->n;
    pes_store(pe, pes_peer(pe, heap, alias[0], next) + 64, 7 + (uint64_t)pe->rank);
    pes_barrier(pe);
    CHECK_EQ(pes_load(pe, own[0].at + 64), 7 + (uint64_t)((pe->rank + pe->n - 1) % pe->n));
    CHECK(gsh_heap_unregister(heap, alias[0], REGISTRATION) == GSH_OK);
    CHECK(gsh_heap_unregister(heap, alias[0], REGISTRATION) == GSH_ERR_ARG);
    check_all(pe, heap, alias[1], 1000);
    CHECK(gsh_heap_unregister(heap, alias[1], REGISTRATION) == GSH_OK);
    CHECK_EQ(pes_load(pe, own[1].at + REGISTRATION - 8), 1100 + (uint64_t)pe->rank);
    CHECK(gsh_heap_free(heap, grown) == GSH_OK);
    CHECK_EQ(largest_free(heap), before);
    CHECK(gsh_heap_register(heap, (void *)(uintptr_t)own[0].at, REGISTRATION, &alias[0]) == GSH_OK);
    pes_barrier(pe);
    gsh_heap_destroy(&heap); /* with one left */
    end_own(pe, &own[0]);
    end_own(pe, &own[1]);
}

/* Everything that may fail does so once, on the last PE. */
static void faults_main(struct pes *pe)
{
    struct gsh_heap *heap = create(pe);
    const struct own own = own_of(pe);
    const uint64_t before = largest_free(heap);
    void *alias = NULL;
    unsigned n = 0;
    enum gsh_result r;
    pes_store(pe, own.at, (uint64_t)pe->rank);
    pes_store(pe, own.at + REGISTRATION - 8, 100 + (uint64_t)pe->rank);
    do {
        fail_at(pe, pe->rank == pe->n - 1 ? ++n : 0);
        r = gsh_heap_register(heap, (void *)(uintptr_t)own.at, REGISTRATION, &alias);
        fail_at(pe, 0);
        CHECK((r == GSH_OK) == (alias != NULL));
        CHECK(r == GSH_OK || largest_free(heap) == before);
        CHECK_EQ(pes_load(pe, own.at), (uint64_t)pe->rank);
    } while (r != GSH_OK && n < 50);
    CHECK(pe->rank != pe->n - 1 || n > 2);
    check_all(pe, heap, alias, 0);
    CHECK(gsh_heap_unregister(heap, alias, REGISTRATION) == GSH_OK);
    CHECK_EQ(pes_load(pe, own.at + REGISTRATION - 8), 100 + (uint64_t)pe->rank);
    gsh_heap_destroy(&heap);
    end_own(pe, &own);
}

/* Subscribers are told of it apart from the heap's growth; if one fails, all is as before. */
struct watcher {
    uint64_t off, bytes;
    int n;
    bool fails;
};

static enum gsh_result came(void *context, void *memory, uint64_t off, uint64_t bytes,
                            enum gsh_result prior, const struct gsh_heap_members *members)
{
    CHECK(members->bootstrap->size == members->n);
    struct watcher *w = context;
    CHECK(memory != NULL);
    if (prior != GSH_OK) {
        return prior;
    }
    if (w->fails) {
        return gsh_note(GSH_ERR_NOMEM, "no more can be registered");
    }
    w->off = off;
    w->bytes = bytes;
    w->n++;
    return GSH_OK;
}

static void goes(void *context, uint64_t off, const struct gsh_heap_members *members)
{
    (void)members;
    struct watcher *w = context;
    w->off = off;
    w->n--;
}

static void watch_main(struct pes *pe)
{
    struct watcher w = {0};
    pe->options.n_subscribers = 1;
    pe->options.subscribers[0] =
        (struct gsh_heap_events){.came = came, .goes = goes, .context = &w};
    struct gsh_heap *heap = create(pe);
    const struct own own = own_of(pe);
    void *alias = NULL;
    w.fails = pe->rank == 0;
    CHECK(gsh_heap_register(heap, (void *)(uintptr_t)own.at, REGISTRATION, &alias) ==
          GSH_ERR_NOMEM);
    CHECK(alias == NULL && w.n == 1);
    w.fails = false;
    CHECK(gsh_heap_register(heap, (void *)(uintptr_t)own.at, REGISTRATION, &alias) == GSH_OK);
    CHECK(w.n == 2 && w.bytes >= REGISTRATION);
    CHECK_EQ(gsh_heap_base(heap) + w.off, (uint64_t)(uintptr_t)alias);
    CHECK(gsh_heap_unregister(heap, alias, REGISTRATION) == GSH_OK);
    CHECK(w.n == 1 && gsh_heap_base(heap) + w.off == (uint64_t)(uintptr_t)alias);
    gsh_heap_destroy(&heap);
    CHECK_EQ(w.n, 0);
    end_own(pe, &own);
}

/* ---- some PEs alone ---- */

struct team {
    int pes[PES_MAX], n, me;
    struct gsh_bootstrap base, *bootstrap;
    struct gsh_shm_area *areas[PES_MAX];
    struct gsh_agreement group;
};

/* PEs first, first + step, ...; n of them, with or without this PE. */
static void team_open(struct pes *pe, struct team *t, int which, int first, int step, int n)
{
    *t = (struct team){.n = n, .me = -1};
    for (int i = 0; i < n; i++) {
        t->pes[i] = first + i * step;
        t->areas[i] = &pe->shared->team_areas[which][i];
        t->me = t->pes[i] == pe->rank ? i : t->me;
    }
    if (t->me < 0) {
        return;
    }
    t->base.rank = t->me;
    t->base.size = n;
    CHECK(gsh_bootstrap_shm_create(&t->base, t->base.rank, t->base.size, t->areas, NULL, pes_wait,
                                   pe, &t->bootstrap) == GSH_OK);
    CHECK(gsh_agreement_init(&t->group, t->bootstrap) == GSH_OK);
    t->group.pes = t->pes;
    t->group.call = "the team's call";
}

static void team_close(struct team *t)
{
    if (t->me < 0) {
        return;
    }
    gsh_agreement_finish(&t->group);
    t->bootstrap->ops->destroy(t->bootstrap);
}

static uint64_t team_value(int which, int rank)
{
    return 5000 + 1000 * (uint64_t)which + (uint64_t)rank;
}

/* The values at both ends of each member's memory that the team has registered. */
static void team_check(struct pes *pe, struct gsh_heap *heap, struct team *t, int which,
                       const void *alias)
{
    CHECK(t->bootstrap->ops->barrier(t->bootstrap) == GSH_OK);
    for (int i = 0; i < t->n; i++) {
        const uint64_t at = pes_peer(pe, heap, alias, t->pes[i]);
        CHECK_EQ(pes_load(pe, at), team_value(which, i));
        CHECK_EQ(pes_load(pe, at + REGISTRATION - 8), team_value(which, i));
    }
    CHECK(t->bootstrap->ops->barrier(t->bootstrap) == GSH_OK);
}

static uint64_t committed(struct gsh_heap *heap)
{
    struct gsh_heap_stats s;
    gsh_heap_stats_get(heap, &s);
    return s.committed;
}

/* The first two, all but the first, and all in reverse order; each PE registers in its teams. */
static void teams_main(struct pes *pe)
{
    if (pe->n < 2) {
        return;
    }
    struct gsh_heap *heap = create(pe);
    struct team team[PES_TEAMS];
    struct own own[PES_TEAMS];
    void *alias[PES_TEAMS] = {NULL}, *all = NULL, *grown = NULL;
    const uint64_t before = largest_free(heap);
    team_open(pe, &team[0], 0, 0, 1, 2);
    team_open(pe, &team[1], 1, 1, 1, pe->n - 1);
    team_open(pe, &team[2], 2, pe->n - 1, -1, pe->n);
    for (int i = 0; i < PES_TEAMS; i++) {
        own[i] = own_of(pe);
        if (team[i].me < 0) {
            continue;
        }
        pes_store(pe, own[i].at, team_value(i, team[i].me));
        pes_store(pe, own[i].at + REGISTRATION - 8, team_value(i, team[i].me));
        void *const at = (void *)(uintptr_t)own[i].at;
        CHECK(gsh_heap_register_among(heap, &team[i].group, at, REGISTRATION, &alias[i]) == GSH_OK);
        CHECK(gsh_heap_is_allocated(heap, alias[i], REGISTRATION));
        CHECK(!gsh_heap_is_symmetric(heap, alias[i], REGISTRATION));
        team_check(pe, heap, &team[i], i, alias[i]);
    }
    /* The heap grows beside them, and all PEs register together, as if they had the same before. */
    CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 20 * PES_MIB, 0, &grown) == GSH_OK);
    struct own common = own_of(pe);
    CHECK(gsh_heap_register(heap, (void *)(uintptr_t)common.at, REGISTRATION, &all) == GSH_OK);
    CHECK(gsh_heap_is_symmetric(heap, all, REGISTRATION));
    pes_store(pe, own[2].at, team_value(2, team[2].me)); /* none overlaps another */
    for (int i = 0; i < PES_TEAMS; i++) {
        if (team[i].me >= 0) {
            team_check(pe, heap, &team[i], i, alias[i]);
        }
    }
    /* Only by the team that has registered it. */
    CHECK(gsh_heap_unregister_among(heap, &team[2].group, all, REGISTRATION) == GSH_ERR_ARG);
    CHECK(gsh_heap_unregister(heap, alias[2], REGISTRATION) == GSH_ERR_ARG);
    CHECK(gsh_heap_unregister(heap, all, REGISTRATION) == GSH_OK);
    for (int i = 0; i < PES_TEAMS - 1; i++) {
        if (team[i].me < 0) {
            continue;
        }
        CHECK(gsh_heap_unregister_among(heap, &team[i].group, alias[i], REGISTRATION) == GSH_OK);
        CHECK(gsh_heap_unregister_among(heap, &team[i].group, alias[i], REGISTRATION) ==
              GSH_ERR_ARG);
        CHECK(strstr(gsh_last_error(), "the team's call failed on PE ") != NULL);
    }
    team_check(pe, heap, &team[2], 2, alias[2]);
    CHECK(gsh_heap_unregister_among(heap, &team[2].group, alias[2], REGISTRATION) == GSH_OK);
    CHECK(gsh_heap_free(heap, grown) == GSH_OK);
    CHECK_EQ(largest_free(heap), before);
    if (team[1].me >= 0) {
        void *const at = (void *)(uintptr_t)own[1].at;
        CHECK(gsh_heap_register_among(heap, &team[1].group, at, REGISTRATION, &alias[1]) == GSH_OK);
    }
    pes_barrier(pe);
    gsh_heap_destroy(&heap); /* with one left */
    for (int i = 0; i < PES_TEAMS; i++) {
        team_close(&team[i]);
        end_own(pe, &own[i]);
    }
    end_own(pe, &common);
}

/* Memory that some PEs have registered leaves the others more room: all make the same growth
 * nevertheless, or all fail. */
static void teams_limit_main(struct pes *pe)
{
    if (pe->n < 3) {
        return;
    }
    pe->options.stride_bytes = 32 * PES_MIB;
    pe->options.room_bytes = 10 * PES_MIB; /* more than is left on the PEs that have registered */
    struct gsh_heap *heap = create(pe);
    struct team team;
    struct own own = own_of(pe);
    void *alias = NULL, *first = NULL, *second = NULL, *third = NULL;
    team_open(pe, &team, 0, 0, 1, 2);
    CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 14 * PES_MIB, 0, &first) == GSH_OK);
    const uint64_t start = committed(heap);
    if (team.me >= 0) {
        CHECK(gsh_heap_register_among(heap, &team.group, (void *)(uintptr_t)own.at, REGISTRATION,
                                      &alias) == GSH_OK);
    }
    CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 8 * PES_MIB, 0, &second) == GSH_OK);
    const uint64_t mine = committed(heap);
    uint64_t others[PES_MAX];
    CHECK(pe->bootstrap->ops->allgather(pe->bootstrap, &mine, sizeof(mine), others) == GSH_OK);
    for (int i = 0; i < pe->n; i++) {
        CHECK_EQ(others[i], mine);
    }
    CHECK(mine > start);
    CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 4 * PES_MIB, 0, &third) == GSH_ERR_NOMEM);
    CHECK(strstr(gsh_last_error(), "failed on PE 0") != NULL);
    if (team.me >= 0) {
        CHECK(gsh_heap_unregister_among(heap, &team.group, alias, REGISTRATION) == GSH_OK);
    }
    CHECK(gsh_heap_alloc(heap, GSH_HEAP_MALLOC, 4 * PES_MIB, 0, &third) == GSH_OK);
    pes_barrier(pe);
    gsh_heap_destroy(&heap);
    team_close(&team);
    end_own(pe, &own);
}

/* Everything that may fail does so once, on the team's last member; the others are elsewhere. */
static void teams_faults_main(struct pes *pe)
{
    if (pe->n < 2) {
        return;
    }
    struct gsh_heap *heap = create(pe);
    struct team team;
    const struct own own = own_of(pe);
    const uint64_t before = largest_free(heap);
    void *alias = NULL;
    const int n_maps = pes_count_maps();
    unsigned n = 0;
    enum gsh_result r = GSH_OK;
    team_open(pe, &team, 0, 0, 1, 2);
    if (team.me >= 0) {
        pes_store(pe, own.at, team_value(0, team.me));
        pes_store(pe, own.at + REGISTRATION - 8, team_value(0, team.me));
        do {
            fail_at(pe, team.me == 1 ? ++n : 0);
            r = gsh_heap_register_among(heap, &team.group, (void *)(uintptr_t)own.at, REGISTRATION,
                                        &alias);
            fail_at(pe, 0);
            CHECK((r == GSH_OK) == (alias != NULL));
            CHECK(r == GSH_OK || largest_free(heap) == before);
            if (!CHECK(r == GSH_OK || strstr(gsh_last_error(), "failed on PE 1") != NULL)) {
                fprintf(stderr, "said \"%s\"\n", gsh_last_error());
            }
        } while (r != GSH_OK && n < 50);
        CHECK(team.me != 1 || n > 2);
        team_check(pe, heap, &team, 0, alias);
        CHECK(gsh_heap_unregister_among(heap, &team.group, alias, REGISTRATION) == GSH_OK);
    }
    pes_barrier(pe);
    if (pe->n == pe->n_processes) {
        CHECK_EQ(pes_count_maps(), n_maps);
    }
    pes_barrier(pe);
    gsh_heap_destroy(&heap);
    team_close(&team);
    end_own(pe, &own);
}

/* The first place that is free on one member is taken on the other, and vice versa. */
static void teams_place_main(struct pes *pe)
{
    if (pe->n < 2) {
        return;
    }
    struct gsh_heap *heap = create(pe);
    struct team team[PES_TEAMS];
    struct own own[PES_TEAMS];
    void *alias[PES_TEAMS] = {NULL};
    const int order[] = {0, 1, -1, 2, 0}; /* -1: the first one is withdrawn */
    team_open(pe, &team[0], 0, 0, 1, 2);
    team_open(pe, &team[1], 1, 1, 1, pe->n - 1);
    team_open(pe, &team[2], 2, 0, 1, 1);
    for (int i = 0; i < PES_TEAMS; i++) {
        own[i] = own_of(pe);
        pes_store(pe, own[i].at, team_value(i, team[i].me));
        pes_store(pe, own[i].at + REGISTRATION - 8, team_value(i, team[i].me));
    }
    for (int k = 0; k < 5; k++) {
        const int i = order[k] < 0 ? 0 : order[k];
        void *const at = (void *)(uintptr_t)own[i].at;
        if (team[i].me < 0) {
            continue;
        }
        if (order[k] < 0) {
            CHECK(gsh_heap_unregister_among(heap, &team[i].group, alias[i], REGISTRATION) ==
                  GSH_OK);
        } else {
            CHECK(gsh_heap_register_among(heap, &team[i].group, at, REGISTRATION, &alias[i]) ==
                  GSH_OK);
        }
    }
    for (int i = 0; i < PES_TEAMS; i++) {
        if (team[i].me >= 0) {
            team_check(pe, heap, &team[i], i, alias[i]);
        }
    }
    pes_barrier(pe);
    gsh_heap_destroy(&heap);
    for (int i = 0; i < PES_TEAMS; i++) {
        team_close(&team[i]);
        end_own(pe, &own[i]);
    }
}

/* ---- memory that was made to be registered ---- */

/* It can be had without a heap, becomes part of one, and remains after it is freed there. */
static void registrable_main(struct pes *pe)
{
    const bool is_cuda = pe->options.kind == GSH_MEMORY_CUDA;
    const struct gsh_memory_ops *ops = is_cuda ? gsh_memory_cuda : &gsh_memory_host;
    const CUdevice device = pe->options.cuda_device;
    const struct gsh_memory_options options = {.n_slots = 1,
                                               .cuda_device = device,
                                               .fabric = pe->options.fabric,
                                               .any_handle = !pe->options.fabric,
                                               .cuda_devices = &device,
                                               .n_cuda_devices = 1};
    const int n_fds = pe->n == pe->n_processes ? test_count_fds() : 0;
    void *p = NULL, *alias = NULL;
    unsigned n = 0;
    enum gsh_result r;
    do {
        fail_at(pe, ++n);
        r = gsh_registrable_alloc(ops, &options, REGISTRATION + 4096, &p);
        fail_at(pe, 0);
        CHECK((r == GSH_OK) == (p != NULL));
    } while (r != GSH_OK && n < 20);
    CHECK(n > 2 && n < 20);
    const uint64_t at = (uint64_t)(uintptr_t)p + 4096;
    pes_store(pe, at, (uint64_t)pe->rank);
    pes_store(pe, at + REGISTRATION - 8, 100 + (uint64_t)pe->rank);
    struct gsh_heap *heap = create(pe);
    CHECK(gsh_registrable_free((char *)p + 4096) == GSH_ERR_ARG);
    CHECK(gsh_heap_register(heap, (void *)(uintptr_t)at, REGISTRATION, &alias) == GSH_OK);
    CHECK_EQ(pes_load(pe, at), (uint64_t)pe->rank);
    check_all(pe, heap, alias, 0);
    CHECK(gsh_registrable_free(p) == GSH_OK);
    CHECK(gsh_registrable_free(p) == GSH_ERR_ARG);
    check_all(pe, heap, alias, 0);
    CHECK(gsh_heap_unregister(heap, alias, REGISTRATION) == GSH_OK);
    pes_barrier(pe);
    gsh_heap_destroy(&heap);
    if (pe->n == pe->n_processes) {
        CHECK_EQ(test_count_fds(), n_fds);
    }
}

int main(void)
{
    pes_run_all(registrable_main);
    pes_run_all(teams_main);
    pes_run_all(teams_place_main);
    pes_run_all(teams_limit_main);
    pes_run_all(teams_faults_main);
    pes_run_all(register_range_main);
    pes_run_all(faults_main);
    pes_run_all(watch_main);
    return test_result();
}
