/* SPDX-License-Identifier: Apache-2.0
 * Proves the communication contexts: making and ending them, their teams' numbering, every kind of
 * call in them from the host and from kernels, that their own quiet completes and their own fence
 * orders their requests, with more of them at once than have their own streams, and in several
 * threads; and that one whose call cannot go on delays no other one. Only the start of each part
 * uses a barrier, whose quiet would be the default context's.
 *
 *     contexts [--count=ROUNDS] */
#include "tests/rig/pe.cuh"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <vector>

static gshmem_ctx_t make(gshmem_team_t team, long options = 0)
{
    gshmem_ctx_t ctx = GSHMEM_CTX_INVALID;
    CHECK_EQ(gshmem_team_create_ctx(team, options, &ctx), 0);
    return ctx;
}

/* All PEs, the last one first. */
static gshmem_team_t backwards(const test_pe *pe)
{
    gshmem_team_t team = GSHMEM_TEAM_INVALID;
    CHECK_EQ(gshmem_team_split_strided(GSHMEM_TEAM_WORLD, pe->n - 1, -1, pe->n, NULL, 0, &team), 0);
    return team;
}

/* ---- making and ending ----------------------------------------------------------------------- */

static gshmem_team_t team_of(gshmem_ctx_t ctx)
{
    gshmem_team_t team = 77;
    CHECK_EQ(gshmem_ctx_get_team(ctx, &team) == 0, ctx != GSHMEM_CTX_INVALID);
    return team;
}

static void test_handles(gshmem_team_t team)
{
    gshmem_ctx_t a = GSHMEM_CTX_DEFAULT, b = GSHMEM_CTX_DEFAULT;
    CHECK_EQ(gshmem_ctx_create(0, &a), 0);
    CHECK_EQ(gshmem_team_create_ctx(team, GSHMEM_CTX_SERIALIZED | GSHMEM_CTX_NOSTORE, &b), 0);
    CHECK(a != b && a != GSHMEM_CTX_DEFAULT && a != GSHMEM_CTX_INVALID);
    CHECK_EQ(team_of(a), GSHMEM_TEAM_WORLD);
    CHECK_EQ(team_of(b), team);
    CHECK_EQ(team_of(GSHMEM_CTX_DEFAULT), GSHMEM_TEAM_WORLD);
    CHECK_EQ(team_of(GSHMEM_CTX_INVALID), GSHMEM_TEAM_INVALID);
    gshmem_ctx_destroy(b);
    gshmem_ctx_destroy(a);
    gshmem_ctx_destroy(GSHMEM_CTX_INVALID);
    gshmem_ctx_quiet(GSHMEM_CTX_INVALID);
    gshmem_ctx_fence(GSHMEM_CTX_INVALID);

    CHECK(gshmem_ctx_create(1L << 20, &a) != 0 && a == GSHMEM_CTX_INVALID);
    CHECK(gshmem_ctx_create(0, NULL) != 0);
    CHECK(gshmem_team_create_ctx(GSHMEM_TEAM_INVALID, 0, &a) != 0 && a == GSHMEM_CTX_INVALID);
}

/* Sanitizers keep memory of their own and freed memory: they report what is allocated. */
extern "C" size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* Resident bytes of this process. */
static long resident(void)
{
    if (__sanitizer_get_current_allocated_bytes != NULL)
        return (long)__sanitizer_get_current_allocated_bytes();
    long total = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld %ld", &total, &pages) != 2)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

/* As many at once as have their own streams to far PEs by default. */
static void test_streams(void)
{
    enum { n_own = 32 };
    gshmem_ctx_t all[n_own];
    uint64_t numbers = 0;
    for (gshmem_ctx_t &ctx : all) {
        CHECK_EQ(gshmem_ctx_create(0, &ctx), 0);
        numbers |= (uint64_t)1 << GSH_CTX_NUMBER((uint64_t)(uintptr_t)ctx);
    }
    CHECK_EQ(__builtin_popcountll(numbers & ~(uint64_t)1), n_own);
    for (gshmem_ctx_t ctx : all)
        gshmem_ctx_destroy(ctx);
}

/* Until there is no room; then all of them fit again. n_here: how many exist already. */
static void test_many(const test_pe *pe, size_t n_here)
{
    enum { many = TEST_SANITIZED ? 5000 : 100000 };
    const size_t most = 16383 - n_here;
    gshmem_ctx_t ctx;
    for (int turn = 0; turn < 2; turn++) {
        std::vector<gshmem_ctx_t> all;
        while (all.size() <= most && gshmem_ctx_create(0, &ctx) == 0)
            all.push_back(ctx);
        CHECK_EQ(all.size(), most);
        CHECK(ctx == GSHMEM_CTX_INVALID);
        for (gshmem_ctx_t each : all)
            gshmem_ctx_destroy(each);
    }
    const long before = resident();
    const double start_ns = test_now_ns();
    gshmem_ctx_t last = GSHMEM_CTX_DEFAULT;
    for (int i = 0; i < many; i++) {
        CHECK_EQ(gshmem_ctx_create(0, &ctx), 0);
        CHECK(ctx != last);
        last = ctx;
        gshmem_ctx_destroy(ctx);
    }
    const double each_ns = (test_now_ns() - start_ns) / many;
    CHECK(resident() - before < 8 << 20);
    if (pe->me == 0)
        printf("create and destroy: %.0f ns\n", each_ns);
}

/* ---- every kind of call ---------------------------------------------------------------------- */

/* Symmetric, one for each writer: writer i writes the i-th element on every PE. */
struct board {
    long *put, *iput, *p, *nbi, *inc, *set;
    uint64_t *signal;
    long *source; /* for gets: long[4] of each PE: 10 * PE + i */
    int n;
};

enum { elements = 6 };

static board make_board(const test_pe *pe)
{
    board b = {};
    const size_t bytes = (size_t)pe->n * elements * sizeof(long);
    long **fields[] = {&b.put, &b.iput, &b.p, &b.nbi, &b.inc, &b.set};
    for (long **field : fields)
        *field = (long *)test_heap(bytes);
    b.signal = (uint64_t *)test_heap((size_t)pe->n * sizeof(uint64_t));
    b.source = (long *)test_heap(4 * sizeof(long));
    const long source[4] = {10L * pe->me, 10L * pe->me + 1, 10L * pe->me + 2, 10L * pe->me + 3};
    test_copy(b.source, source, sizeof source);
    b.n = pe->n;
    gshmem_barrier_all();
    return b;
}

static inline HD long stamp(long round, int writer, int i)
{
    return round * 1000 + writer * 10 + i + 1;
}

static HD void fill(long *from, int me, long round)
{
    for (int i = 0; i < elements; i++)
        from[i] = stamp(round, me, i);
}

/* The requests of PE me, by its number in the job, to `to`, by its number in the context. */
static HD void write_some(gshmem_ctx_t ctx, const board *b, const long *at, int me, int to,
                          long round)
{
    gshmem_ctx_long_put(ctx, b->put + me * elements, at, elements, to);
    gshmem_ctx_long_iput(ctx, b->iput + me * elements, at, 2, 1, 3, to);
    gshmem_ctx_long_p(ctx, b->p + me, stamp(round, me, 0), to);
    gshmem_ctx_putmem_nbi(ctx, b->nbi + me * elements, at, elements * sizeof(long), to);
    gshmem_ctx_long_atomic_inc(ctx, b->inc + me, to);
    gshmem_ctx_long_atomic_set(ctx, b->set + me, round, to);
}

static HD void read_some(gshmem_ctx_t ctx, const board *b, long *into, int to, int to_world,
                         verdict *v)
{
    EXPECT_EQ(v, gshmem_ctx_long_g(ctx, b->source + 3, to), 10L * to_world + 3);
    gshmem_ctx_get64(ctx, into, b->source, 4, to);
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(v, into[i], 10L * to_world + i);
    gshmem_ctx_long_get_nbi(ctx, into, b->source + 1, 3, to);
    gshmem_ctx_quiet(ctx);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(v, into[i], 10L * to_world + i + 1);
}

/* Checks that everything of this round has arrived from all PEs. */
static void check_board(const test_pe *pe, const board *b, long round, long n_incs)
{
    std::vector<long> put((size_t)pe->n * elements), iput(put), p(put), nbi(put), inc(put),
        set(put);
    const size_t bytes = put.size() * sizeof(long);
    test_copy(put.data(), b->put, bytes);
    test_copy(iput.data(), b->iput, bytes);
    test_copy(p.data(), b->p, bytes);
    test_copy(nbi.data(), b->nbi, bytes);
    test_copy(inc.data(), b->inc, bytes);
    test_copy(set.data(), b->set, bytes);
    for (int w = 0; w < pe->n; w++) {
        for (int i = 0; i < elements; i++) {
            CHECK_EQ(put[w * elements + i], stamp(round, w, i));
            CHECK_EQ(nbi[w * elements + i], stamp(round, w, i));
            CHECK_EQ(iput[w * elements + i], i % 2 == 0 ? stamp(round, w, i / 2) : 0);
        }
        CHECK_EQ(p[w], stamp(round, w, 0));
        CHECK_EQ(inc[w], n_incs);
        CHECK_EQ(set[w], round);
    }
}

/* world(i) of team i: i forwards, n - 1 - i backwards. */
static inline HD int world_of(const board *b, bool is_backwards, int i)
{
    return is_backwards ? b->n - 1 - i : i;
}

static void host_round(const test_pe *pe, gshmem_ctx_t ctx, bool is_backwards, const board *b,
                       long *local, verdict *v, long round)
{
    fill(local, pe->me, round);
    for (int i = 0; i < pe->n; i++)
        write_some(ctx, b, local, pe->me, i, round);
    gshmem_ctx_quiet(ctx);
    for (int i = 0; i < pe->n; i++)
        read_some(ctx, b, local, i, world_of(b, is_backwards, i), v);
}

__global__ void write_kernel(gshmem_ctx_t ctx, board b, long *local, long round)
{
    fill(local, gshmem_my_pe(), round);
    for (int i = 0; i < b.n; i++)
        write_some(ctx, &b, local, gshmem_my_pe(), i, round);
}

__global__ void round_kernel(gshmem_ctx_t ctx, bool is_backwards, board b, long *local, verdict *v,
                             long round)
{
    fill(local, gshmem_my_pe(), round);
    for (int i = 0; i < b.n; i++)
        write_some(ctx, &b, local, gshmem_my_pe(), i, round);
    gshmem_ctx_quiet(ctx);
    for (int i = 0; i < b.n; i++)
        read_some(ctx, &b, local, i, world_of(&b, is_backwards, i), v);
    gshmem_team_t team;
    EXPECT_EQ(v, gshmem_ctx_get_team(ctx, &team), 0);
    EXPECT_EQ(v, gshmem_team_translate_pe(team, 0, GSHMEM_TEAM_WORLD),
              world_of(&b, is_backwards, 0));
    gshmem_ctx_quiet(GSHMEM_CTX_INVALID);
    EXPECT(v, gshmem_ctx_get_team(GSHMEM_CTX_INVALID, &team) != 0);
}

/* By the host, by a kernel that completes it, and by a kernel whose calls the host completes. */
static void test_calls(const test_pe *pe, gshmem_ctx_t ctx, bool is_backwards, board *b, verdict *v,
                       int rounds)
{
    long *local = (long *)test_device(elements * sizeof(long)), host_local[elements];
    long n = 0;
    const size_t bytes = (size_t)pe->n * elements * sizeof(long);
    const std::vector<char> zeroes(bytes);
    test_copy(b->inc, zeroes.data(), bytes);
    test_copy(b->iput, zeroes.data(), bytes);
    verdict of_host = {};
    gshmem_barrier_all();
    for (int i = 0; i < rounds; i++) {
        host_round(pe, ctx, is_backwards, b, host_local, &of_host, ++n);
        gshmem_sync_all();
        check_board(pe, b, n, n);
        gshmem_sync_all();

        gshmem_launch(round_kernel, dim3(1), dim3(1), 0, pe->stream, ctx, is_backwards, *b, local,
                      v, ++n);
        test_sync(pe);
        gshmem_sync_all();
        check_board(pe, b, n, n);
        gshmem_sync_all();

        gshmem_launch(write_kernel, dim3(1), dim3(1), 0, pe->stream, ctx, *b, local, ++n);
        test_sync(pe);
        gshmem_ctx_quiet(ctx);
        gshmem_sync_all();
        check_board(pe, b, n, n);
        gshmem_sync_all();
    }
    JUDGE(pe, v, "calls in a context, kernels");
    CHECK_EQ(of_host.n_failed, 0);
    test_free(local);
}

/* ---- blocks with a context each, data before flag -------------------------------------------- */

enum { n_ctxs = TEST_SANITIZED ? 6 : 36, words = 512, threads = 32 };

struct paths {
    gshmem_ctx_t ctx[n_ctxs];
    long *data[n_ctxs], *source[n_ctxs];
    uint64_t *flag[n_ctxs], *signal[n_ctxs];
};

/* Sends to the next PE in the block's context; what comes from the previous one must be complete
 * once its flag, or its signal, has arrived. */
__global__ void paths_kernel(paths l, verdict *v, int to, long first, long end)
{
    const int k = (int)blockIdx.x, t = (int)threadIdx.x;
    for (long round = first; round < end; round++) {
        for (int i = t; i < words; i += (int)blockDim.x)
            l.source[k][i] = round * 7 + i + k;
        if (round % 2 == 0) {
            gshmemx_ctx_long_put_nbi_block(l.ctx[k], l.data[k], l.source[k], words, to);
            if (t == 0) {
                gshmem_ctx_fence(l.ctx[k]);
                gshmem_ctx_uint64_p(l.ctx[k], l.flag[k], (uint64_t)round, to);
            }
        } else {
            gshmemx_ctx_putmem_signal_warp(l.ctx[k], l.data[k], l.source[k], words * sizeof(long),
                                           l.flag[k], (uint64_t)round, GSHMEM_SIGNAL_SET, to);
        }
        if (t == 0)
            gshmem_signal_wait_until(l.flag[k], GSHMEM_CMP_GE, (uint64_t)round);
        __syncthreads();
        for (int i = t; i < words; i += (int)blockDim.x)
            EXPECT_AT(v, l.data[k][i], round * 7 + i + k, i);
        __syncthreads();
        if (t == 0) {
            /* the previous PE may send the next; and the source is free */
            gshmem_ctx_quiet(l.ctx[k]);
            gshmem_ctx_uint64_atomic_set(l.ctx[k], l.signal[k], (uint64_t)round,
                                         (to + gshmem_n_pes() - 2) % gshmem_n_pes());
            gshmem_signal_wait_until(l.signal[k], GSHMEM_CMP_GE, (uint64_t)round);
        }
        __syncthreads();
    }
}

static void test_paths(const test_pe *pe, verdict *v, int rounds)
{
    paths l = {};
    for (int k = 0; k < n_ctxs; k++) {
        CHECK_EQ(gshmem_ctx_create(GSHMEM_CTX_SERIALIZED, &l.ctx[k]), 0);
        l.data[k] = (long *)test_heap(words * sizeof(long));
        l.source[k] = (long *)test_heap(words * sizeof(long));
        l.flag[k] = (uint64_t *)test_heap(sizeof(uint64_t));
        l.signal[k] = (uint64_t *)test_heap(sizeof(uint64_t));
    }
    test_collective(pe, paths_kernel, n_ctxs, threads, l, v, pe->next, 1L, (long)rounds + 1);
    test_sync(pe);
    JUDGE(pe, v, "a context for each block");
    gshmem_barrier_all();
    for (int k = 0; k < n_ctxs; k++) {
        gshmem_ctx_destroy(l.ctx[k]);
        gshmem_free(l.signal[k]);
        gshmem_free(l.flag[k]);
        gshmem_free(l.source[k]);
        gshmem_free(l.data[k]);
    }
}

/* ---- host threads with a private context each ------------------------------------------------ */

struct worker {
    const test_pe *pe;
    long *data;
    uint64_t *count;
    int number, rounds;
    bool is_right;
    pthread_t thread;
};

/* Adds and puts to the next PE, and reads there by gets. */
static void *work(void *argument)
{
    worker *w = (worker *)argument;
    gshmem_ctx_t ctx = GSHMEM_CTX_INVALID;
    w->is_right = gshmem_ctx_create(GSHMEM_CTX_PRIVATE, &ctx) == 0;
    for (int round = 1; round <= w->rounds && w->is_right; round++) {
        long out[8], in[8];
        for (int i = 0; i < 8; i++)
            out[i] = round * 100 + w->number * 10 + i;
        gshmem_put_nbi(ctx, w->data + w->number * 8, out, 8, w->pe->next);
        gshmem_atomic_inc(ctx, w->count, w->pe->next);
        gshmem_ctx_quiet(ctx);
        gshmem_get(ctx, in, w->data + w->number * 8, 8, w->pe->next);
        w->is_right = memcmp(in, out, sizeof in) == 0;
    }
    gshmem_ctx_destroy(ctx);
    return NULL;
}

static void test_threads(const test_pe *pe, bool are_pes_threads, int rounds)
{
    enum { n_workers = 4 };
    worker workers[n_workers];
    long *data = (long *)test_heap(n_workers * 8 * sizeof(long));
    uint64_t *count = (uint64_t *)test_heap(sizeof(uint64_t)), n = 0;
    for (int i = 0; i < n_workers; i++)
        workers[i] = {pe, data, count, i, rounds, false, pthread_t()};
    if (are_pes_threads) { /* only the PE's own thread makes its calls */
        for (worker &w : workers)
            work(&w);
    } else {
        for (worker &w : workers)
            pthread_create(&w.thread, NULL, work, &w);
        for (worker &w : workers)
            pthread_join(w.thread, NULL);
    }
    for (worker &w : workers)
        CHECK(w.is_right);
    gshmem_sync_all();
    test_copy(&n, count, sizeof n);
    CHECK_EQ(n, (uint64_t)n_workers * (uint64_t)rounds);
    gshmem_free(count);
    gshmem_free(data);
}

/* ---- a context that cannot go on delays no other one ------------------------------------------
 */

/* Every block stays until this PE's own signal comes. Blocks of 32 threads: on a GPU, as many as
 * can be there at all leave no room for one more block, of whichever kernel. */
__global__ void stay_kernel(uint64_t *n_here, uint64_t *go)
{
    if (threadIdx.x == 0) {
        gshmem_uint64_atomic_inc(n_here, gshmem_my_pe());
        gshmem_signal_wait_until(go, GSHMEM_CMP_EQ, 1);
    }
    __syncthreads();
}

struct adder {
    gshmem_ctx_t ctx;
    uint64_t *count;
    int me;
    bool has_begun;
};

static void *add_one(void *argument)
{
    adder *a = (adder *)argument;
    __atomic_store_n(&a->has_begun, true, __ATOMIC_RELEASE); /* pairs with the acquire below */
    gshmem_ctx_uint64_atomic_add(a->ctx, a->count, 1, a->me);
    return NULL;
}

/* On a GPU an atomic of the host needs room for a block, which it gets only when the kernel ends;
 * the kernel ends when a copy and a quiet in another context have. If they wait for the atomic, the
 * test hangs. On the CPU device the same calls wait for nothing. */
static void test_independence(const test_pe *pe)
{
    uint64_t *words = (uint64_t *)test_heap(4 * sizeof(uint64_t));
    uint64_t *n_here = words, *go = words + 1, *count = words + 2, *box = words + 3;
    int grid = 2;
    if (!pe->is_cpu)
        CHECK_EQ(gshmemx_collective_launch_query_gridsize(stay_kernel, dim3(32), NULL, 0, &grid),
                 0);
    gshmem_ctx_t other = make(GSHMEM_TEAM_WORLD);
    adder a = {make(GSHMEM_TEAM_WORLD), count, pe->me, false};
    test_collective(pe, stay_kernel, (unsigned)grid, 32, n_here, go);
    while (gshmem_uint64_g(n_here, pe->me) < (uint64_t)grid)
        sched_yield();
    pthread_t thread;
    pthread_create(&thread, NULL, add_one, &a);
    while (!__atomic_load_n(&a.has_begun, __ATOMIC_ACQUIRE))
        sched_yield();
    for (uint64_t i = 1; i <= 200; i++) {
        gshmem_ctx_uint64_put_nbi(other, box, &i, 1, pe->me);
        gshmem_ctx_quiet(other);
        CHECK_EQ(gshmem_ctx_uint64_g(other, box, pe->me), i);
    }
    if (!pe->is_cpu)
        CHECK_EQ(gshmem_uint64_g(count, pe->me), 0);
    gshmem_ctx_uint64_atomic_set(other, go, 1, pe->me);
    pthread_join(thread, NULL);
    test_sync(pe);
    gshmem_ctx_quiet(a.ctx);
    CHECK_EQ(gshmem_uint64_g(count, pe->me), 1);
    gshmem_ctx_destroy(a.ctx);
    gshmem_ctx_destroy(other);
    gshmem_free(words);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int pe_main(int argc, char **argv)
{
    gshmem_init();
    choose_gpu();
    test_streams();
    gshmem_ctx_t early = GSHMEM_CTX_INVALID, left = GSHMEM_CTX_INVALID;
    CHECK_EQ(gshmem_ctx_create(0, &early), 0); /* before device set-up */
    test_pe pe = test_join();
    const int rounds = test_rounds(&pe, argc, argv, 10, 20);
    const bool are_threads = getenv("GSHMEM_THREADS") != NULL;
    verdict *v = test_verdict();
    gshmem_team_t team = backwards(&pe);
    board b = make_board(&pe);

    test_handles(team);
    gshmem_ctx_t forwards = make(GSHMEM_TEAM_WORLD), turned = make(team);
    test_calls(&pe, early, false, &b, v, rounds);
    test_calls(&pe, forwards, false, &b, v, rounds);
    test_calls(&pe, turned, true, &b, v, rounds);
    test_calls(&pe, GSHMEM_CTX_DEFAULT, false, &b, v, rounds);
    test_paths(&pe, v, 4 * rounds);
    test_threads(&pe, are_threads, 4 * rounds);
    if (!are_threads) /* only the PE's own thread makes its calls */
        test_independence(&pe);
    gshmem_ctx_destroy(forwards);
    test_many(&pe, 2);

    /* finalize ends `early` and `left`; the team's end ends `turned` */
    CHECK_EQ(gshmem_ctx_create(0, &left), 0);
    gshmem_team_destroy(team);
    test_free(v);
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
