/* SPDX-License-Identifier: Apache-2.0
 * Proves the OpenSHMEM calls that no other program here makes: blocks of elements, fetching atomics
 * without waiting, signal_add and _set, pe_quiet and the accessible queries, each from the host and
 * in a kernel by the same text; and realloc, hints and query_initialized on the host. */
#include "tests/rig/pe.cuh"

#include <vector>

/* ---- the same on the host and in a kernel ---------------------------------------------------- */

enum { n_elems = 64, n_words = 8, n_blocks = 4, to_step = 5, from_step = 3, block = 2 };

/* In the heap. Only the previous PE writes dest, words and signals here. */
struct board {
    long *source, *dest, *back, *words, *old;
    uint64_t *signals;
    void *wide;
};

static HD void move_blocks(const board &b, int next, int last)
{
    gshmem_long_ibput(b.dest, b.source, to_step, from_step, block, n_blocks, next);
    gshmem_ctx_ibput64(GSHMEM_CTX_DEFAULT, b.dest + 32, b.source, to_step, from_step, 1, n_blocks,
                       next);
    gshmem_long_ibput(b.dest, b.source, 1, 1, 0, n_blocks, last);
    gshmem_long_ibput(b.dest, b.source, 1, 1, block, 0, last);
    gshmem_pe_quiet(&next, 1);
    gshmem_long_ibget(b.back, b.dest, from_step, to_step, block, n_blocks, next);
    gshmem_ibget128(b.back + 32, b.dest, 2, 3, 2, 2, next);
}

static HD void fetch(const board &b, int next)
{
    const gshmem_ctx_t ctx = GSHMEM_CTX_DEFAULT;
    gshmem_long_atomic_fetch_add_nbi(b.old, b.words, 5, next);
    gshmem_ctx_long_atomic_swap_nbi(ctx, b.old + 1, b.words + 1, 9, next);
    gshmem_long_atomic_compare_swap_nbi(b.old + 2, b.words + 2, 102, 1, next);
    gshmem_long_atomic_fetch_inc_nbi(b.old + 3, b.words + 3, next);
    gshmem_uint64_atomic_fetch_or_nbi((uint64_t *)b.old + 4, (uint64_t *)b.words + 4, 3, next);
    gshmem_uint64_atomic_fetch_and_nbi((uint64_t *)b.old + 5, (uint64_t *)b.words + 5, 3, next);
    gshmem_ctx_uint64_atomic_fetch_xor_nbi(ctx, (uint64_t *)b.old + 6, (uint64_t *)b.words + 6, 3,
                                           next);
    gshmem_quiet();
    gshmem_long_atomic_fetch_nbi(b.old + 7, b.words, next);
    gshmem_ctx_pe_quiet(ctx, &next, 1);
}

static HD void signal(const board &b, int next)
{
    gshmem_signal_set(b.signals + 1, 7, next);
    gshmem_fence();
    gshmem_signal_add(b.signals, 2, next);
    gshmem_signal_add(b.signals, 3, next);
    gshmem_signal_wait_until(b.signals, GSHMEM_CMP_EQ, 6);
    gshmem_signal_wait_until(b.signals + 1, GSHMEM_CMP_EQ, 7);
}

/* With a type that GPUs lack: 3.25, 4.25, ... and their places in dest. */
#ifndef __CUDACC__
static HD void move_long_doubles(const board &b, int next)
{
    long double *dest = (long double *)b.wide, *source = dest + 16, *back = dest + 24;
    gshmem_longdouble_put(dest, source, 2, next);
    gshmem_longdouble_p(dest + 2, 5.25L, next);
    gshmem_ctx_longdouble_iput(GSHMEM_CTX_DEFAULT, dest + 3, source + 3, 2, 1, 2, next);
    gshmem_longdouble_put_nbi(dest + 6, source + 6, 1, next);
    gshmem_quiet();
    back[0] = gshmem_longdouble_g(dest + 1, next);
    gshmem_longdouble_get(back + 1, dest + 2, 2, next);
    gshmem_put_signal(dest + 7, source + 7, 1, b.signals, 1, GSHMEM_SIGNAL_ADD, next);
    gshmem_get_nbi(back + 3, dest + 5, 2, next);
    gshmem_quiet();
}
#else
static HD void move_long_doubles(const board &b, int next)
{
    gshmem_signal_add(b.signals, 1, next);
}
#endif

static HD int answers(const board &b, int n)
{
    long local = 0;
    return gshmem_pe_accessible(0) == 1 && gshmem_pe_accessible(n) == 0 &&
           gshmem_pe_accessible(-1) == 0 && gshmem_addr_accessible(b.dest, n - 1) == 1 &&
           gshmem_addr_accessible(&local, 0) == 0 && gshmem_addr_accessible(b.dest, n) == 0;
}

static HD void do_all(const board &b, int next, int n, long *result)
{
    move_blocks(b, next, n - 1);
    fetch(b, next);
    move_long_doubles(b, next);
    signal(b, next);
    *result = answers(b, n);
}

__global__ void all_kernel(board b, int next, int n, long *result)
{
    do_all(b, next, n, result);
}

/* ---- what it must come to -------------------------------------------------------------------- */

static long word_of(int i)
{
    return 100 + i;
}

static long element(int pe, int i)
{
    return 1000L * (pe + 1) + i;
}

static void prepare(const board &b, const test_pe *pe)
{
    long source[n_elems], zero[n_elems] = {0}, words[n_words];
    for (int i = 0; i < n_elems; i++)
        source[i] = element(pe->me, i);
    for (int i = 0; i < n_words; i++)
        words[i] = word_of(i);
    test_copy(b.source, source, sizeof source);
    test_copy(b.dest, zero, sizeof zero);
    test_copy(b.back, zero, sizeof zero);
    test_copy(b.words, words, sizeof words);
    test_copy(b.signals, zero, 2 * sizeof(uint64_t));
    gshmem_barrier_all();
}

static void check_blocks(const board &b, const test_pe *pe)
{
    long dest[n_elems], back[n_elems];
    test_copy(dest, b.dest, sizeof dest);
    test_copy(back, b.back, sizeof back);
    for (int i = 0; i < 32; i++) {
        const int at = i % to_step, j = i / to_step;
        CHECK_EQ(dest[i],
                 j < n_blocks && at < block ? element(pe->previous, j * from_step + at) : 0);
        CHECK_EQ(dest[32 + i], j < n_blocks && at == 0 ? element(pe->previous, j * from_step) : 0);
        const int k = i % from_step, m = i / from_step;
        CHECK_EQ(back[i], m < n_blocks && k < block ? element(pe->me, i) : 0);
    }
    for (int i = 0; i < 8; i++) { /* two blocks of two pairs: from 0 and, 3 pairs on, from 6 */
        const int from = i < 4 ? i : i + 2;
        CHECK_EQ(back[32 + i], from % to_step < block
                                   ? element(pe->me, from / to_step * from_step + from % to_step)
                                   : 0);
    }
}

#ifndef __CUDACC__
static void fill_long_doubles(const board &b)
{
    long double *source = (long double *)b.wide + 16;
    for (int i = 0; i < 8; i++)
        source[i] = 3.25L + i;
}

static void check_long_doubles(const board &b)
{
    const long double *dest = (const long double *)b.wide, *back = dest + 24;
    const long double wanted[8] = {3.25L, 4.25L, 5.25L, 6.25L, 0, 7.25L, 9.25L, 10.25L};
    const long double wanted_back[5] = {4.25L, 5.25L, 6.25L, 7.25L, 9.25L};
    for (int i = 0; i < 8; i++)
        CHECK(dest[i] == wanted[i]);
    for (int i = 0; i < 5; i++)
        CHECK(back[i] == wanted_back[i]);
}
#else
static void fill_long_doubles(const board &) {}
static void check_long_doubles(const board &) {}
#endif

static void check_fetched(const board &b)
{
    long old[n_words], words[n_words];
    const long wanted[n_words] = {105, 9, 1, 104, 104 | 3, 105 & 3, 106 ^ 3, 107};
    test_copy(old, b.old, sizeof old);
    test_copy(words, b.words, sizeof words);
    for (int i = 0; i < n_words; i++) {
        CHECK_EQ(words[i], wanted[i]);
        CHECK_EQ(old[i], i == 7 ? 105 : word_of(i));
    }
}

static void test_calls(const test_pe *pe, bool in_kernel)
{
    board b = {
        (long *)test_heap(n_elems * sizeof(long)), (long *)test_heap(n_elems * sizeof(long)),
        (long *)test_heap(n_elems * sizeof(long)), (long *)test_heap(n_words * sizeof(long)),
        (long *)test_heap(n_words * sizeof(long)), (uint64_t *)test_heap(2 * sizeof(uint64_t)),
        test_heap(32 * sizeof(long double))};
    long *result = (long *)test_heap(sizeof *result), answer = 0;
    fill_long_doubles(b);
    prepare(b, pe);
    if (in_kernel) {
        test_collective(pe, all_kernel, 1, 1, b, pe->next, pe->n, result);
        test_sync(pe);
        test_copy(&answer, result, sizeof answer);
    } else {
        do_all(b, pe->next, pe->n, &answer);
    }
    gshmem_barrier_all();
    CHECK_EQ(answer, 1);
    check_blocks(b, pe);
    check_fetched(b);
    check_long_doubles(b);
    gshmem_free(result);
    gshmem_free(b.wide);
    gshmem_free(b.signals);
    gshmem_free(b.old);
    gshmem_free(b.words);
    gshmem_free(b.back);
    gshmem_free(b.dest);
    gshmem_free(b.source);
}

/* ---- on the host alone ----------------------------------------------------------------------- */

static void test_realloc(const test_pe *pe)
{
    enum { small = 100, large = 3000000 };
    std::vector<unsigned char> bytes(2 * large);
    unsigned char *before = bytes.data(), *after = before + large;
    test_fill(before, large, (uint64_t)pe->me);
    void *p = gshmem_realloc(NULL, small);
    void *behind = gshmem_malloc(small);
    CHECK(p != NULL && behind != NULL);
    gshmem_putmem_nbi(p, before, small, pe->me);
    void *q = gshmem_realloc(p, large); /* completes the put */
    CHECK(q != NULL && q != p);
    test_copy(after, q, small);
    CHECK(memcmp(before, after, small) == 0);
    gshmem_barrier_all();
    gshmem_putmem(q, before, large, pe->next);
    p = gshmem_realloc(q, large / 2); /* including the others' puts */
    CHECK(p != NULL);
    test_copy(after, p, large / 2);
    test_fill(before, large, (uint64_t)pe->previous);
    CHECK(memcmp(before, after, large / 2) == 0);
    CHECK(gshmem_realloc(p, SIZE_MAX) == NULL);
    test_copy(after, p, large / 2);
    CHECK(memcmp(before, after, large / 2) == 0);
    CHECK(gshmem_realloc(p, 0) == NULL);
    CHECK(gshmem_realloc(NULL, 0) == NULL);
    gshmem_free(behind);
    gshmemx_heap_info_t info;
    CHECK_EQ(gshmemx_heap_info(&info), 0);
    CHECK_EQ(info.used, 0);
}

static void test_hints(void)
{
    const long hints[] = {0, GSHMEM_MALLOC_ATOMICS_REMOTE, GSHMEM_MALLOC_SIGNAL_REMOTE,
                          GSHMEM_MALLOC_ATOMICS_REMOTE | GSHMEM_MALLOC_SIGNAL_REMOTE,
                          1L << 20}; // the last one has no meaning
    for (long hint : hints) {
        void *p = gshmem_malloc_with_hints(64, hint);
        CHECK(p != NULL && gshmem_ptr(p, gshmem_my_pe()) == p);
        gshmem_free(p);
    }
    CHECK(gshmem_malloc_with_hints(0, 0) == NULL);
}

static void check_initialized(int wanted)
{
    int initialized = -1;
    gshmem_query_initialized(&initialized);
    CHECK_EQ(initialized, wanted);
}

static int pe_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    check_initialized(0);
    test_pe pe = test_begin();
    check_initialized(1);
    gshmem_pcontrol(0);
    gshmem_pcontrol(2, "more");
    test_realloc(&pe);
    test_hints();
    test_calls(&pe, false);
    test_calls(&pe, true);
    int result = test_end(&pe);
    check_initialized(0);
    return result;
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
