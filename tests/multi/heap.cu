/* SPDX-License-Identifier: Apache-2.0
 * Proves the symmetric heap through the public calls: contents and pointers survive growth, for the
 * host and for kernels; bad and unequal requests give NULL on all PEs, with a reason, and leave the
 * heap unchanged; what free keeps; the numbers of heap_info; gshmem_ptr; and the internal part of
 * GPU memory. unit tests the allocator's arithmetic. */
#include <algorithm>
#include "tests/rig/pe.cuh"

/* At the start: of the 16 MiB of GPU memory, the driver takes 4. own_limit is for the library's own
 * part in jobs of one node and of several: a team has only the memory that its collectives use. */
enum { overhead_limit = 16 << 20, first_limit = 12 << 20, own_limit = 10 << 20 };
enum { n_blocks = 24, keep = 8 << 20 /* GSHMEM_HEAP_KEEP */ };

static gshmemx_heap_info_t info_now(void)
{
    gshmemx_heap_info_t info = {};
    CHECK_EQ(gshmemx_heap_info(&info), 0);
    CHECK(info.used <= info.high_water);
    CHECK(info.used <= info.committed);
    CHECK(info.committed <= info.range);
    CHECK(info.largest_free <= info.range);
    return info;
}

static bool are_equal(const gshmemx_heap_info_t *a, const gshmemx_heap_info_t *b)
{
    return a->used == b->used && a->committed == b->committed &&
           a->largest_free == b->largest_free && a->range == b->range;
}

/* Offset in this PE's heap: equal on all PEs, whose bases differ. */
static void check_symmetric(const test_pe *pe, const void *p, uintptr_t *offsets, const void *first)
{
    const uintptr_t offset = (uintptr_t)p - (uintptr_t)first;
    gshmem_barrier_all();
    gshmem_uint64_p((uint64_t *)&offsets[pe->me], (uint64_t)offset, pe->next);
    gshmem_barrier_all();
    CHECK_EQ(gshmem_uint64_g((uint64_t *)&offsets[pe->previous], pe->me), offset);
}

/* ---- growth ---------------------------------------------------------------------------------- */

/* The first and last word of a block of the next PE, and back from there. */
__global__ void write_kernel(long *p, size_t nelems, long stamp)
{
    const int next = (gshmem_my_pe() + 1) % gshmem_n_pes();
    gshmem_long_p(&p[0], stamp, next);
    gshmem_long_p(&p[nelems - 1], stamp + 1, next);
    gshmem_quiet();
}

__global__ void read_kernel(const long *p, size_t nelems, long stamp, verdict *v)
{
    const int next = (gshmem_my_pe() + 1) % gshmem_n_pes();
    EXPECT_EQ(v, p[0], stamp);
    EXPECT_EQ(v, p[nelems - 1], stamp + 1);
    EXPECT_EQ(v, gshmem_long_g(&p[0], next), stamp);
    EXPECT_EQ(v, gshmem_long_g(&p[nelems - 1], next), stamp + 1);
}

static void check_growth(const test_pe *pe)
{
    const gshmemx_heap_info_t before = info_now();
    long *blocks[n_blocks];
    size_t nelems[n_blocks];
    verdict *v = test_verdict();
    uintptr_t *offsets = (uintptr_t *)test_heap((size_t)pe->n * sizeof *offsets);
    /* 1 KiB to 8 MiB, three of each; each is written as soon as it exists. */
    for (int i = 0; i < n_blocks; i++) {
        nelems[i] = ((size_t)1024 << i / 3 * 13 / 7) / sizeof(long);
        blocks[i] = (long *)gshmem_malloc(nelems[i] * sizeof(long));
        if (!CHECK(blocks[i] != NULL))
            test_fatal("no memory for block %d", i);
        CHECK_EQ((uintptr_t)blocks[i] % 512, 0);
        gshmem_launch(write_kernel, dim3(1), dim3(1), 0, pe->stream, blocks[i], nelems[i], i * 10L);
        test_sync(pe);
    }
    check_symmetric(pe, blocks[n_blocks - 1], offsets, blocks[0]);
    const gshmemx_heap_info_t grown = info_now();
    CHECK(grown.committed > before.committed + 2 * keep);
    CHECK(grown.used - before.used >= 3 * (size_t)(8 << 20) / 2);
    gshmem_barrier_all();
    for (int i = 0; i < n_blocks; i++)
        gshmem_launch(read_kernel, dim3(1), dim3(1), 0, pe->stream, (const long *)blocks[i],
                      nelems[i], i * 10L, v);
    test_sync(pe);
    JUDGE(pe, v, "blocks from before and after growth");
    for (int i = 0; i < n_blocks; i++) /* inner ones first, the top at the end */
        gshmem_free(blocks[(i * 7) % n_blocks]);
    gshmem_free(offsets);
    const gshmemx_heap_info_t after = info_now();
    CHECK_EQ(after.used, before.used);
    CHECK_EQ(after.committed, before.committed); /* except what was kept before, too */
    CHECK_EQ(after.high_water, grown.high_water);
    CHECK(after.high_water >= grown.used);
    test_free(v);
}

/* This much stays for the next allocation, not more: whole chunks. What was given back is at most
 * one chunk, which with what stayed would have been more. */
static void check_keep()
{
    void *const p = gshmem_malloc(keep);
    const size_t with = info_now().committed;
    gshmem_free(p);
    const gshmemx_heap_info_t left = info_now();
    CHECK(left.committed <= with);
    const size_t given_back = with - left.committed;
    CHECK(left.committed - left.overhead + std::max(given_back, (size_t)2 << 20) > keep);
    CHECK(gshmem_malloc(keep) == p);
    CHECK_EQ(info_now().committed, with);
    gshmem_free(p);
    gshmem_free(gshmem_malloc(4 * keep));
    CHECK_EQ(info_now().committed, left.committed);
}

/* ---- bad requests ---------------------------------------------------------------------------- */

static void check_refused(const test_pe *pe, const void *p, const gshmemx_heap_info_t *before,
                          int error, const char *what)
{
    const gshmemx_heap_info_t now = info_now();
    const char *reason = gshmemx_error_string(error);
    if (!CHECK(p == NULL) || !CHECK(are_equal(&now, before)) || !CHECK(reason && *reason) ||
        !CHECK(strcmp(reason, "unknown error") != 0))
        fprintf(stderr, "    %s, PE %d, reason \"%s\"\n", what, pe->me, reason ? reason : "");
    gshmem_barrier_all(); /* the heap and the job go on */
}

static void check_refusals(const test_pe *pe)
{
    const gshmemx_heap_info_t before = info_now();
    const bool is_first = pe->me == 0;
    check_refused(pe, gshmem_malloc(0), &before, GSHMEMX_ERROR_INVALID_VALUE, "zero bytes");
    check_refused(pe, gshmem_calloc(0, 8), &before, GSHMEMX_ERROR_INVALID_VALUE, "zero elements");
    check_refused(pe, gshmem_calloc(SIZE_MAX / 4, 8), &before, GSHMEMX_ERROR_OUT_OF_MEMORY,
                  "calloc whose product overflows");
    check_refused(pe, gshmem_malloc(SIZE_MAX), &before, GSHMEMX_ERROR_OUT_OF_MEMORY, "SIZE_MAX");
    check_refused(pe, gshmem_malloc(SIZE_MAX / 2), &before, GSHMEMX_ERROR_OUT_OF_MEMORY, "huge");
    check_refused(pe, gshmem_malloc(before.range), &before, GSHMEMX_ERROR_OUT_OF_MEMORY,
                  "as much as the range");
    check_refused(pe, gshmem_align(3, 100), &before, GSHMEMX_ERROR_INVALID_VALUE, "alignment 3");
    check_refused(pe, gshmem_align(0, 100), &before, GSHMEMX_ERROR_INVALID_VALUE, "alignment 0");
    if (pe->n > 1) {
        check_refused(pe, gshmem_malloc(is_first ? 1000 : 2000), &before, GSHMEMX_ERROR_SYMMETRY,
                      "unequal sizes");
        const char *reason = gshmemx_error_string(GSHMEMX_ERROR_SYMMETRY);
        CHECK(strstr(reason, "1000") != NULL && strstr(reason, "2000") != NULL);
        check_refused(pe, gshmem_malloc(pe->me == pe->n - 1 ? 0 : 64), &before,
                      GSHMEMX_ERROR_SYMMETRY, "zero on one PE");
        check_refused(pe, gshmem_align(is_first ? 1024 : 2048, 64), &before, GSHMEMX_ERROR_SYMMETRY,
                      "unequal alignments");
        check_refused(pe, gshmem_malloc(is_first ? SIZE_MAX : 64), &before, GSHMEMX_ERROR_SYMMETRY,
                      "huge on one PE");
    }
    gshmem_free(NULL);
    void *p = gshmem_malloc(100); /* all works again */
    CHECK(p != NULL);
    gshmem_free(p);
}

/* ---- alignment, calloc ----------------------------------------------------------------------- */

static void check_alignments(const test_pe *pe)
{
    void *blocks[23];
    for (int i = 0; i < 23; i++) { /* to 4 MiB, beyond a granule */
        blocks[i] = gshmem_align((size_t)1 << i, 100 + (size_t)i);
        CHECK(blocks[i] != NULL);
        CHECK_EQ((uintptr_t)blocks[i] % ((size_t)1 << i), 0);
        /* The same holds for the copies on the other PEs. */
        CHECK_EQ((uintptr_t)gshmem_ptr(blocks[i], pe->next) % ((size_t)1 << i), 0); /* far: NULL */
    }
    for (int i = 23; i-- > 0;)
        gshmem_free(blocks[i]);
}

static void check_calloc(void)
{
    const size_t bytes = 300000;
    unsigned char *host = (unsigned char *)malloc(bytes);
    for (int turn = 0; turn < 2; turn++) { /* the second time on memory that was written */
        void *p = gshmem_calloc(bytes / 4, 4);
        CHECK(p != NULL);
        test_copy(host, p, bytes);
        size_t n_set = 0;
        for (size_t i = 0; i < bytes; i++)
            n_set += host[i] != 0;
        CHECK_EQ(n_set, 0);
        memset(host, 0xff, bytes);
        test_copy(p, host, bytes);
        gshmem_free(p);
    }
    free(host);
}

/* ---- gshmem_ptr ------------------------------------------------------------------------------ */

/* Direct stores through the pointers, without any call. This PE shares memory with n_near PEs, from
 * `near` on. */
__global__ void ptr_kernel(int *table, int near, int n_near, verdict *v)
{
    const int me = gshmem_my_pe(), n = gshmem_n_pes();
    for (int pe = 0; pe < n; pe++) {
        int *there = (int *)gshmem_ptr(&table[me], pe);
        EXPECT_AT(v, there != nullptr, pe >= near && pe < near + n_near, pe);
        if (there)
            *there = me * 100 + pe;
        else
            gshmem_int_p(&table[me], me * 100 + pe, pe);
    }
    EXPECT(v, gshmem_ptr(table, me) == table);
    EXPECT(v, gshmem_ptr(table, n) == nullptr);
    EXPECT(v, gshmem_ptr(table, -1) == nullptr);
    EXPECT(v, gshmem_ptr(&me, 0) == nullptr);
}

static void check_ptr(const test_pe *pe)
{
    int *table = (int *)test_heap((size_t)pe->n * sizeof *table);
    int here = 0;
    verdict *v = test_verdict();
    const int near = gshmem_team_translate_pe(GSHMEM_TEAM_SHARED, 0, GSHMEM_TEAM_WORLD);
    const int n_near = gshmem_team_n_pes(GSHMEM_TEAM_SHARED);
    gshmem_launch(ptr_kernel, dim3(1), dim3(1), 0, pe->stream, table, near, n_near, v);
    test_sync(pe);
    JUDGE(pe, v, "gshmem_ptr in a kernel");
    gshmem_barrier_all();
    for (int from = 0; from < pe->n; from++) {
        int found;
        test_copy(&found, &table[from], sizeof found);
        CHECK_EQ(found, from * 100 + pe->me);
        const bool is_near = from >= near && from < near + n_near;
        CHECK_EQ(gshmem_ptr(table, from) != NULL, is_near);
        CHECK(gshmemx_route_name(from) != NULL);
        if (pe->is_cpu && is_near)
            CHECK_EQ(((int *)gshmem_ptr(table, from))[pe->me], pe->me * 100 + from);
    }
    CHECK(gshmem_ptr(table, pe->me) == table);
    CHECK(gshmem_ptr(table, pe->n) == NULL);
    CHECK(gshmem_ptr(table, -1) == NULL);
    CHECK(gshmem_ptr(&here, 0) == NULL);
    CHECK_STR(gshmemx_route_name(pe->me), "self");
    CHECK(gshmemx_route_name(pe->n) == NULL);
    gshmem_barrier_all();
    test_free(v);
    gshmem_free(table);
}

/* ---- the internal part ----------------------------------------------------------------------- */

#ifdef __CUDACC__
__global__ void nothing_kernel(void) {}

/* What CUDA keeps for the stacks of all threads that the device can run at a time. Kernels that
 * post to a NIC have deeper ones. */
static size_t stack_bytes(int device)
{
    size_t of_thread = 0;
    int n_sms = 0, n_threads = 0;
    CUDA(cudaDeviceGetLimit(&of_thread, cudaLimitStackSize));
    CUDA(cudaDeviceGetAttribute(&n_sms, cudaDevAttrMultiProcessorCount, device));
    CUDA(cudaDeviceGetAttribute(&n_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
    return of_thread * (size_t)n_sms * (size_t)n_threads;
}

/* Between a context that has run a kernel and completed device set-up. */
static void check_footprint(void)
{
    int n_devices = 0;
    const char *device = getenv("GSHMEM_DEVICE");
    if ((device && strcmp(device, "cpu") == 0) || cudaGetDeviceCount(&n_devices) != cudaSuccess ||
        n_devices == 0)
        return;
    gshmem_init();
    const int mine =
        (getenv("GSHMEM_NODE_PES") ? gshmem_my_pe() : gshmem_team_my_pe(GSHMEMX_TEAM_NODE)) %
        n_devices;
    size_t before = 0, after = 0, total;
    CUDA(cudaSetDevice(mine));
    nothing_kernel<<<1, 1>>>();
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemGetInfo(&before, &total));
    const size_t stacks = stack_bytes(mine);
    CHECK_EQ(gshmemx_device_setup(), 0);
    gshmem_barrier_all();
    CUDA(cudaMemGetInfo(&after, &total));
    printf("heap: PE %d: device set-up took %.2f MiB of GPU memory\n", gshmem_my_pe(),
           ((double)before - (double)after) / (1 << 20));
    /* with far PEs, the kernels of collectives, too */
    const size_t kernels = gshmem_team_n_pes(GSHMEMX_TEAM_NODE) < gshmem_n_pes() ? 16 << 20 : 0;
    CHECK(before <= after + overhead_limit + kernels + stack_bytes(mine) - stacks);
    gshmem_finalize();
}
#endif

static int pe_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
#ifdef __CUDACC__
    check_footprint();
#endif
    test_pe pe = test_begin();
    const gshmemx_heap_info_t start = info_now();
    if (gshmem_n_pes() <= 8) { /* it grows with them */
        CHECK(start.overhead <= own_limit);
        CHECK(start.committed <= first_limit);
    }
    CHECK_EQ(start.used, 0);
    check_keep();
    const gshmemx_heap_info_t kept = info_now();
    CHECK(kept.committed <= start.committed + keep);
    check_growth(&pe);
    check_refusals(&pe);
    check_alignments(&pe);
    check_calloc();
    check_ptr(&pe);
    const gshmemx_heap_info_t end = info_now();
    CHECK(are_equal(&kept, &end));
    CHECK_EQ(end.largest_free, start.largest_free);
    CHECK(gshmem_malloc(1000) != NULL); /* finalize frees what was not freed */
    return test_end(&pe);
}

int main(int argc, char **argv)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)keep);
    setenv("GSHMEM_HEAP_KEEP", text, 1);
    return gshmemx_run(pe_main, argc, argv);
}
