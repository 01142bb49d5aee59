/* SPDX-License-Identifier: Apache-2.0
 * Proves that nothing is lost, torn or out of order over a long mixture of every point-to-point
 * call: the host and two blocks of a kernel on each PE make random operations at the same time, by
 * a thread, a warp and a block, check their results against a model, and at the end check every
 * byte that they own (soak_plan.cuh).
 *
 *     soak [--count=OPERATIONS of all PEs] [--seed=N] */
#include "tests/multi/soak_run.cuh"

enum { grid = 2, threads = 40, n_actors = grid + 1, host_actor = grid };

__global__ void soak_kernel(soak_actor *actors, uint64_t count)
{
    soak_actor *a = &actors[blockIdx.x];
    soak_run(in_kernel{&a->plan}, a, count);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* All symmetric data. Row [s][a] of boxes and words belongs to actor a of PE s. */
struct heap {
    uint8_t *boxes;
    soak_words *words;
    soak_shared *shared, *claims; /* claims[t]: what this PE has done to t's shared words */
    uint64_t *sums;               /* of this PE's rows of boxes */
};

static heap make_heap(const test_pe *pe)
{
    const size_t n_rows = (size_t)pe->n * n_actors;
    heap h;
    h.boxes = (uint8_t *)test_heap(n_rows * box_bytes);
    h.words = (soak_words *)test_heap(n_rows * sizeof *h.words);
    h.shared = (soak_shared *)test_heap(sizeof *h.shared);
    h.claims = (soak_shared *)test_heap((size_t)pe->n * sizeof *h.claims);
    h.sums = (uint64_t *)test_heap(n_rows * sizeof *h.sums);
    return h;
}

/* For the actor's own side: host memory for a host, otherwise the device's. */
static void *own_memory(bool is_host, size_t bytes)
{
    void *p = is_host ? malloc(bytes) : test_device(bytes);
    if (is_host)
        memset(p, 0, bytes);
    else
        CUDA(cudaMemset(p, 0, bytes));
    return p;
}

static soak_actor make_actor(const test_pe *pe, const heap *h, int id, uint64_t seed)
{
    const bool is_host = id == host_actor;
    const size_t row = (size_t)pe->me * n_actors + (size_t)id;
    soak_actor a = {};
    a.box = h->boxes + row * box_bytes;
    a.words = h->words + row;
    a.shared = h->shared;
    a.all_words = h->words;
    a.mirror = (uint8_t *)own_memory(is_host, (size_t)pe->n * box_bytes);
    /* The first block's sources and dests are in the heap, the second one's outside. */
    a.out = (uint8_t *)(id == 0 ? test_heap(box_bytes) : own_memory(is_host, box_bytes));
    a.in = (uint8_t *)(id == 0 ? test_heap(box_bytes) : own_memory(is_host, box_bytes));
    a.heap_out = is_host ? (uint8_t *)test_heap(box_bytes) : NULL;
    a.heap_in = is_host ? (uint8_t *)test_heap(box_bytes) : NULL;
    a.ledger = (soak_ledger *)own_memory(is_host, (size_t)pe->n * sizeof *a.ledger);
    a.v = is_host ? (verdict *)own_memory(true, sizeof *a.v) : test_verdict();
    a.me = pe->me;
    a.n = pe->n;
    a.id = id;
    a.n_actors = n_actors;
    a.n_threads = is_host ? 1 : threads;
    a.seed = seed + 1000003 * row;
    a.epoch = 1;
    return a;
}

static void free_actor(const soak_actor *a)
{
    void *const own[] = {a->mirror, a->ledger, a->v, a->id == 0 ? NULL : a->out,
                         a->id == 0 ? NULL : a->in};
    for (void *p : own) {
        if (a->id == host_actor)
            free(p);
        else
            test_free(p);
    }
    gshmem_free(a->heap_in);
    gshmem_free(a->heap_out);
    if (a->id == 0) {
        gshmem_free(a->in);
        gshmem_free(a->out);
    }
}

/* ---- the reckoning --------------------------------------------------------------------------- */

static uint64_t sum_of(const uint8_t *bytes, size_t n)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ bytes[i]) * 0x100000001b3u;
    return sum;
}

/* What arrived in this PE's boxes, for their owners to compare. */
static void publish_sums(const test_pe *pe, const heap *h)
{
    uint8_t *copy = (uint8_t *)malloc(box_bytes);
    for (int i = 0; i < pe->n * n_actors; i++) {
        test_copy(copy, h->boxes + (size_t)i * box_bytes, box_bytes);
        const uint64_t sum = sum_of(copy, box_bytes);
        test_copy(&h->sums[i], &sum, sizeof sum);
    }
    free(copy);
}

static void check_boxes(const soak_actor *a, const heap *h)
{
    uint8_t *mirror = (uint8_t *)malloc(box_bytes);
    for (int pe = 0; pe < a->n; pe++) {
        test_copy(mirror, a->mirror + (size_t)pe * box_bytes, box_bytes);
        CHECK_EQ(gshmem_uint64_g(&h->sums[a->me * n_actors + a->id], pe),
                 sum_of(mirror, box_bytes));
    }
    free(mirror);
}

static void check_words(const soak_actor *a, soak_shared *claims)
{
    soak_ledger *ledger = (soak_ledger *)malloc((size_t)a->n * sizeof *ledger);
    soak_words got;
    test_copy(ledger, a->ledger, (size_t)a->n * sizeof *ledger);
    for (int pe = 0; pe < a->n; pe++) {
        const soak_words *want = &ledger[pe].words;
        gshmem_getmem(&got, a->words, sizeof got, pe);
        CHECK_EQ(got.own64, want->own64);
        CHECK_EQ(got.own32, want->own32);
        CHECK_EQ(got.sig, want->sig);
        for (int m = 0; m < n_mails; m++) {
            CHECK_EQ(got.mail_sig[m], want->mail_sig[m]);
            for (int i = 0; i < (m == 0 ? 8 : mail_words); i++)
                CHECK_EQ(got.mail[m][i], want->mail_sig[m]);
        }
        const soak_shared *s = &ledger[pe].shared;
        claims[pe].sum64 += s->sum64;
        claims[pe].sum32 += s->sum32;
        claims[pe].xor64 ^= s->xor64;
        claims[pe].xor32 ^= s->xor32;
        claims[pe].bits64 |= s->bits64;
        claims[pe].bits32 |= s->bits32;
        claims[pe].cas += s->cas;
    }
    free(ledger);
}

/* Compares this PE's shared words with what all PEs claim to have done to them. */
static void check_shared(const test_pe *pe, const heap *h)
{
    soak_shared sum = {}, claim, got;
    for (int i = 0; i < pe->n; i++) {
        gshmem_getmem(&claim, &h->claims[pe->me], sizeof claim, i);
        sum.sum64 += claim.sum64;
        sum.sum32 += claim.sum32;
        sum.xor64 ^= claim.xor64;
        sum.xor32 ^= claim.xor32;
        sum.bits64 |= claim.bits64;
        sum.bits32 |= claim.bits32;
        sum.cas += claim.cas;
    }
    test_copy(&got, h->shared, sizeof got);
    CHECK_EQ(got.sum64, sum.sum64);
    CHECK_EQ(got.sum32, sum.sum32);
    CHECK_EQ(got.xor64, sum.xor64);
    CHECK_EQ(got.xor32, sum.xor32);
    CHECK_EQ(got.bits64, sum.bits64);
    CHECK_EQ(got.bits32, sum.bits32);
    CHECK_EQ(got.cas, sum.cas);
}

static void reckon(const test_pe *pe, const heap *h, const soak_actor *actors)
{
    const char *const names[n_actors] = {"the first block", "the second block", "the host"};
    soak_shared *claims = (soak_shared *)calloc((size_t)pe->n, sizeof *claims);
    gshmem_barrier_all();
    publish_sums(pe, h);
    for (int i = 0; i < n_actors; i++)
        check_words(&actors[i], claims);
    test_copy(h->claims, claims, (size_t)pe->n * sizeof *claims);
    gshmem_barrier_all();
    for (int i = 0; i < n_actors; i++) {
        check_boxes(&actors[i], h);
        JUDGE(pe, actors[i].v, names[i]);
    }
    check_shared(pe, h);
    free(claims);
    gshmem_barrier_all();
}

/* All results of this PE; with enough operations, chance leaves out none of the kinds. */
static uint64_t count_operations(const soak_actor *actors, uint64_t count)
{
    uint64_t n_all = 0;
    for (int op = 0; op < n_soak_ops; op++) {
        uint64_t n = 0;
        for (int i = 0; i < n_actors; i++)
            n += actors[i].n_done[op];
        n_all += n;
        CHECK(n > 0 || count < 2000);
    }
    return n_all;
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const uint64_t total = (uint64_t)test_rounds(&pe, argc, argv, 200000, 100000);
    const uint64_t count = total / (uint64_t)(pe.n * n_actors) + 1;
    const uint64_t seed = test_number(argc, argv, "seed", 1);
    heap h = make_heap(&pe);
    soak_actor actors[n_actors];
    for (int i = 0; i < n_actors; i++)
        actors[i] = make_actor(&pe, &h, i, seed);
    soak_actor *in_device = (soak_actor *)test_device(grid * sizeof *in_device);
    test_copy(in_device, actors, grid * sizeof *in_device);
    gshmem_barrier_all();

    const double start_ns = test_now_ns();
    test_collective(&pe, soak_kernel, grid, threads, in_device, count);
    soak_run(on_host{&actors[host_actor].plan}, &actors[host_actor], count);
    test_sync(&pe);
    gshmem_barrier_all();
    const double seconds = (test_now_ns() - start_ns) * 1e-9;

    test_copy(actors, in_device, grid * sizeof *in_device);
    const uint64_t n_made = count_operations(actors, count);
    reckon(&pe, &h, actors);
    if (pe.me == 0)
        printf("soak: seed %" PRIu64 ", %d PEs, %" PRIu64 " operations of each, %.1f s\n", seed,
               pe.n, n_made, seconds);
    test_free(in_device);
    for (int i = n_actors; i-- > 0;)
        free_actor(&actors[i]);
    gshmem_free(h.sums);
    gshmem_free(h.claims);
    gshmem_free(h.shared);
    gshmem_free(h.words);
    gshmem_free(h.boxes);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
