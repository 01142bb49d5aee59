/* SPDX-License-Identifier: Apache-2.0
 * Proves that the program's own memory can be made symmetric: both of its addresses name the same
 * bytes, for the host, kernels and every PE, with several buffers at once and while the heap grows;
 * that it is unchanged afterwards; that bad input changes nothing; and that repeated registration
 * leaks nothing. The same for buffers that are only prepared. */
#include <dirent.h>
#include "tests/rig/own_memory.cuh"

enum { n_words = 700000, behind_page = 1024 }; /* not whole pages, nor 2 MiB */

static void fill(const own_memory *m, size_t off, size_t nelems, long first)
{
    long *words = (long *)malloc(nelems * sizeof(long));
    for (size_t i = 0; i < nelems; i++)
        words[i] = first + (long)i;
    test_copy(m->p + off, words, nelems * sizeof(long));
    free(words);
}

static void expect_words(const void *p, size_t nelems, long first)
{
    long *words = (long *)malloc(nelems * sizeof(long));
    size_t n_wrong = 0;
    test_copy(words, p, nelems * sizeof(long));
    for (size_t i = 0; i < nelems; i++)
        n_wrong += words[i] != first + (long)i;
    CHECK_EQ(n_wrong, 0);
    free(words);
}

/* ---- use ------------------------------------------------------------------------------------- */

__global__ void use_kernel(long *alias, long *counter, long *original, uint64_t *signal, verdict *v)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes(), next = (me + 1) % n;
    const int previous = (me + n - 1) % n;
    EXPECT_EQ(v, gshmem_long_g(alias + 5, next), 1000000L * next + 5);
    EXPECT_EQ(v, original[5], 1000000L * me + 5);
    EXPECT_EQ(v, (gshmem_ptr(alias, me) == alias), true);
    gshmem_long_atomic_inc(counter, 0);
    const long mine = 7000 + me;
    gshmem_long_put_signal(alias + 100, &mine, 1, signal, 1, GSHMEM_SIGNAL_ADD, next);
    gshmem_signal_wait_until(signal, GSHMEM_CMP_GE, 1);
    EXPECT_EQ(v, original[100], 7000L + previous);
}

static void check_use(const test_pe *pe, int way)
{
    const size_t bytes = n_words * sizeof(long);
    own_memory m = own_memory_make(pe, bytes + 2 * behind_page, way);
    verdict *v = test_verdict();
    long *const original = (long *)(m.p + behind_page);
    fill(&m, behind_page, n_words, 1000000L * pe->me);
    long *const alias = (long *)gshmemx_buffer_register_symmetric(original, bytes, 0);
    if (!CHECK(alias != NULL))
        test_fatal("no alias");
    CHECK(alias != original && gshmem_addr_accessible(alias, pe->next));
    CHECK(!gshmem_addr_accessible(original, pe->next));
    expect_words(alias, n_words, 1000000L * pe->me);
    long *const copy = (long *)test_device(bytes);
    gshmem_long_get(copy, alias, n_words, pe->next);
    expect_words(copy, n_words, 1000000L * pe->next);
    gshmem_barrier_all();
    long *const counter = alias + n_words - 1;
    uint64_t *const signal = (uint64_t *)alias + n_words - 3;
    const long zeros[3] = {0, 0, 0};
    test_copy(original + n_words - 3, zeros, sizeof zeros);
    gshmem_barrier_all();
    test_collective(pe, use_kernel, 1, 1, alias, counter, original, signal, v);
    test_sync(pe);
    gshmem_barrier_all();
    if (pe->me == 0)
        CHECK_EQ(gshmem_long_g(counter, 0), pe->n);
    gshmem_long_p(alias + 1, 55, pe->next);
    gshmem_barrier_all();
    CHECK_EQ(gshmemx_buffer_unregister_symmetric(alias, bytes), 0);
    CHECK(gshmemx_buffer_unregister_symmetric(alias, bytes) != 0);
    long first[3];
    test_copy(first, original, sizeof first);
    CHECK(first[0] == 1000000L * pe->me && first[1] == 55 && first[2] == first[0] + 2);
    expect_words(original + 101, n_words - 104, 1000000L * pe->me + 101);
    test_free(copy);
    JUDGE(pe, v, "both addresses");
    test_free(v);
    own_memory_free(&m);
}

/* ---- several --------------------------------------------------------------------------------- */

static void check_several(const test_pe *pe)
{
    enum { n_buffers = 5 };
    own_memory memory[n_buffers];
    long *alias[n_buffers];
    for (int i = 0; i < n_buffers; i++) {
        memory[i] = own_memory_make(pe, (size_t)(i + 1) * 40000, i % 2);
        fill(&memory[i], 0, 100, 100L * i + 10000 * pe->me);
        alias[i] =
            (long *)gshmemx_buffer_register_symmetric(memory[i].p, (size_t)(i + 1) * 40000, 0);
        if (!CHECK(alias[i] != NULL))
            test_fatal("no alias");
    }
    void *const grown = gshmem_malloc(30 << 20); /* while they are registered */
    CHECK(grown != NULL);
    const int order[n_buffers] = {2, 0, 4, 1, 3};
    for (int k = 0; k < n_buffers; k++) {
        for (int i = k; i < n_buffers; i++)
            CHECK_EQ(gshmem_long_g(alias[order[i]] + 99, pe->next),
                     100L * order[i] + 10000 * pe->next + 99);
        gshmem_barrier_all();
        CHECK_EQ(
            gshmemx_buffer_unregister_symmetric(alias[order[k]], (size_t)(order[k] + 1) * 40000),
            0);
    }
    gshmem_free(grown);
    for (int i = 0; i < n_buffers; i++) {
        expect_words(memory[i].p, 100, 100L * i + 10000 * pe->me);
        own_memory_free(&memory[i]);
    }
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void check_bad(const test_pe *pe)
{
    own_memory m = own_memory_make(pe, 100000, 0), gone = own_memory_make(pe, 100000, 0);
    void *const there = gone.p;
    const bool is_last = pe->me == pe->n - 1;
    gshmemx_heap_info_t before, after;
    CHECK_EQ(gshmemx_heap_info(&before), 0);
    void *const heap = test_heap(4096);
    own_memory_free(&gone);
    fill(&m, 0, 100, 5);
    CHECK(gshmemx_buffer_register_symmetric(NULL, 100, 0) == NULL);
    CHECK(gshmemx_buffer_register_symmetric(m.p, 0, 0) == NULL);
    CHECK(gshmemx_buffer_register_symmetric(m.p, 100, 1) == NULL);
    CHECK(gshmemx_buffer_register_symmetric(m.p, SIZE_MAX, 0) == NULL);
    CHECK(gshmemx_buffer_register_symmetric(heap, 100, 0) == NULL);
    if (pe->n > 1) { /* otherwise it is valid */
        CHECK(gshmemx_buffer_register_symmetric(m.p, is_last ? 200 : 100, 0) == NULL);
        CHECK(gshmemx_buffer_register_symmetric(m.p + (is_last ? 8 : 0), 100, 0) == NULL);
        /* one PE's is wrong */
        CHECK(gshmemx_buffer_register_symmetric(is_last ? heap : m.p, 512, 0) == NULL);
    }
    /* PEs that are threads may have mapped something else there by now */
    if (getenv("GSHMEM_THREADS") == NULL)
        CHECK(gshmemx_buffer_register_symmetric(there, 100, 0) == NULL);
    CHECK(strlen(gshmemx_error_string(GSHMEMX_ERROR_INVALID_VALUE)) > 10);
    void *const alias = gshmemx_buffer_register_symmetric(m.p, 4096, 0);
    CHECK(alias != NULL);
    CHECK(gshmemx_buffer_unregister_symmetric(alias, 4095) != 0);
    CHECK(gshmemx_buffer_unregister_symmetric((char *)alias + 8, 4088) != 0);
    CHECK(gshmemx_buffer_unregister_symmetric(NULL, 4096) != 0);
    if (pe->is_cpu) {
        CHECK(gshmemx_buffer_register_symmetric(m.p, 100, 0) == NULL); /* its page is in use */
    } else {
        void *const plain = test_device(1 << 20);
        CHECK(gshmemx_buffer_register_symmetric(plain, 1 << 20, 0) == NULL);
        test_free(plain);
    }
    gshmem_free(heap);
    CHECK_EQ(gshmemx_buffer_unregister_symmetric(alias, 4096), 0);
    CHECK_EQ(gshmemx_heap_info(&after), 0);
    CHECK(after.largest_free == before.largest_free && after.used == before.used);
    expect_words(m.p, 100, 5);
    own_memory_free(&m);
}

/* ---- over and over --------------------------------------------------------------------------- */

static long count_lines(const char *path)
{
    long n = 0;
    FILE *f = fopen(path, "r");
    for (int c; f != NULL && (c = fgetc(f)) != EOF;)
        n += c == '\n';
    if (f != NULL)
        fclose(f);
    return n;
}

static long count_descriptors(void)
{
    long n = 0;
    DIR *all = opendir("/proc/self/fd");
    while (all != NULL && readdir(all) != NULL)
        n++;
    if (all != NULL)
        closedir(all);
    return n;
}

static void check_again(const test_pe *pe, long count)
{
    own_memory m[2] = {own_memory_make(pe, 5000, 0), own_memory_make(pe, 5000, 1)};
    long maps = 0, descriptors = 0;
    void *first = NULL;
    for (long i = 0; i <= count; i++) {
        own_memory *const it = &m[i % 2];
        fill(it, 0, 1, i);
        long *const alias = (long *)gshmemx_buffer_register_symmetric(it->p, 5000, 0);
        CHECK(alias != NULL && (first == NULL || first == alias)); /* the place is free again */
        first = alias;
        CHECK_EQ(gshmem_long_g(alias, pe->next), i);
        gshmem_barrier_all();
        CHECK_EQ(gshmemx_buffer_unregister_symmetric(alias, 5000), 0);
        CHECK_EQ(gshmemx_buffer_register(it->p, 5000), 0);
        CHECK_EQ(gshmemx_buffer_unregister(it->p), 0);
        gshmem_barrier_all();
        if (i == 10 || i == count) {
            const long maps_now = count_lines("/proc/self/maps"), now = count_descriptors();
            /* A leak would be one for each round. PEs that are threads count at the same time, each
             * with an open file, and processes may be asking for a hang report; sanitizers' own
             * mappings would distort the count. */
            CHECK(i == 10 || TEST_SANITIZED ||
                  (maps_now < maps + (count - 10) / 2 && now < descriptors + (count - 10) / 2));
            maps = maps_now;
            descriptors = now;
            gshmem_barrier_all();
        }
    }
    own_memory_free(&m[0]);
    own_memory_free(&m[1]);
}

/* ---- prepared for copies --------------------------------------------------------------------- */

static void check_local(const test_pe *pe)
{
    const size_t bytes = n_words * sizeof(long);
    own_memory m = own_memory_make(pe, bytes, 0);
    long *const target = (long *)test_heap(bytes);
    long *const host = (long *)mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* its own pages */
    if (host == MAP_FAILED)
        test_fatal("no host memory");
    fill(&m, 0, n_words, 3000000L * pe->me);
    for (size_t i = 0; i < n_words; i++)
        host[i] = 5000000L * pe->me + (long)i;
    CHECK_EQ(gshmemx_buffer_register(m.p, bytes), 0);
    CHECK_EQ(gshmemx_buffer_register(host, bytes), 0);
    CHECK(gshmemx_buffer_register(m.p + 64, 64) != 0);
    CHECK(gshmemx_buffer_register(target, 64) != 0);
    CHECK(gshmemx_buffer_register(NULL, 64) != 0);
    gshmem_long_put(target, (long *)m.p, n_words, pe->next);
    gshmem_barrier_all();
    expect_words(target, n_words, 3000000L * pe->previous);
    gshmem_barrier_all();
    gshmem_long_put_nbi(target, host, n_words, pe->next);
    gshmem_barrier_all();
    expect_words(target, n_words, 5000000L * pe->previous);
    gshmem_long_get((long *)m.p, target, n_words, pe->next);
    expect_words(m.p, n_words, 5000000L * pe->me);
    CHECK_EQ(gshmemx_buffer_unregister(m.p), 0);
    CHECK(gshmemx_buffer_unregister(m.p) != 0);
    gshmemx_buffer_unregister_all();
    CHECK(gshmemx_buffer_unregister(host) != 0);
    /* two that share a page */
    const size_t half = n_words / 2 + 5;
    CHECK_EQ(gshmemx_buffer_register(host, half * sizeof(long)), 0);
    CHECK_EQ(gshmemx_buffer_register(host + half, bytes - half * sizeof(long)), 0);
    gshmem_barrier_all();
    gshmem_long_put(target, host + half, n_words - half, pe->next);
    gshmem_barrier_all();
    expect_words(target, n_words - half, 5000000L * pe->previous + (long)half);
    CHECK_EQ(gshmemx_buffer_unregister(host), 0);
    gshmem_barrier_all();
    gshmem_long_put(target, host + half, n_words - half, pe->next);
    gshmem_barrier_all();
    CHECK_EQ(gshmemx_buffer_unregister(host + half), 0);
    CHECK_EQ(gshmemx_buffer_register(host, bytes), 0); /* left to finalize */
    gshmem_free(target);
    own_memory_free(&m);
    munmap(host, bytes);
}

static int pe_main(int argc, char **argv)
{
    test_pe pe = test_begin();
    const long count = test_rounds(&pe, argc, argv, 200, 60);
    check_use(&pe, 0);
    check_use(&pe, 1);
    check_several(&pe);
    check_bad(&pe);
    check_again(&pe, count);
    check_local(&pe);
    own_memory left = own_memory_make(&pe, 5000, 0); /* to finalize */
    fill(&left, 0, 600, 9);
    CHECK(gshmemx_buffer_register_symmetric(left.p, 5000, 0) != NULL);
    const bool is_cpu = pe.is_cpu;
    const int result = test_end(&pe);
    if (is_cpu)
        CHECK_EQ(((long *)left.p)[599], 608);
    return result != 0 ? result : test_result();
}

int main(int argc, char **argv)
{
    return gshmemx_run(pe_main, argc, argv);
}
