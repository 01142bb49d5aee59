/* SPDX-License-Identifier: Apache-2.0
 * What the programs of check and multi share: options, start and end of a PE, copies to and from
 * its device, and a verdict that host code and kernels write alike. PEs may be threads, so nothing
 * here is static data that changes. */
#ifndef GSH_TEST_PE_CUH
#define GSH_TEST_PE_CUH

#include <gshmem_device.cuh>
#include <gshmemx.h>
#include <stdarg.h>
#include <time.h>
#include "tests/test.h"

#define HD __host__ __device__

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

struct test_pe {
    int me, n;
    int next, previous;
    bool is_cpu;
    cudaStream_t stream; /* of its own; the default stream is never used by the tests */
};

/* Ends the job: for steps that must not fail and are not under test. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void test_fatal(const char *format,
                                                                              ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "PE %d: %s\n", gshmem_my_pe(), text);
    gshmem_global_exit(1);
    abort();
}

static inline void test_cuda(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        test_fatal("%s: %s", what, cudaGetErrorString(error));
}
#define CUDA(call) test_cuda((call), #call)

/* One for each PE, by number on its host; nothing on the CPU device. With GSHMEM_NODE_PES, nodes
 * are parts of one host. */
static inline void choose_gpu(void)
{
#ifdef __CUDACC__
    int n = 0;
    if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0)
        CUDA(cudaSetDevice(
            (getenv("GSHMEM_NODE_PES") ? gshmem_my_pe() : gshmem_team_my_pe(GSHMEMX_TEAM_NODE)) %
            n));
#endif
}

/* After gshmem_init and choose_gpu. */
static inline test_pe test_join(bool needs_stream = true)
{
    test_pe pe = {};
#if defined(GSHMEM_SHARED_DEVICE)
    const bool is_early = false; /* device set-up makes the PE's part of the GPU current */
#else
    const bool is_early = true; /* an early stream must still belong to the PE */
#endif
    if (needs_stream && is_early)
        CUDA(cudaStreamCreateWithFlags(&pe.stream, cudaStreamNonBlocking));
    const int failed = gshmemx_device_setup();
    if (failed)
        test_fatal("gshmemx_device_setup: %s", gshmemx_error_string(failed));
    if (needs_stream && !is_early)
        CUDA(cudaStreamCreateWithFlags(&pe.stream, cudaStreamNonBlocking));
    pe.me = gshmem_my_pe();
    pe.n = gshmem_n_pes();
    pe.next = (pe.me + 1) % pe.n;
    pe.previous = (pe.me + pe.n - 1) % pe.n;
    pe.is_cpu = strcmp(gshmemx_device_name(), "cpu") == 0;
    return pe;
}

static inline test_pe test_begin(bool needs_stream = true)
{
    gshmem_init();
    choose_gpu();
    return test_join(needs_stream);
}

/* Returns what pe_main returns. */
static inline int test_end(test_pe *pe)
{
    if (pe->stream)
        CUDA(cudaStreamDestroy(pe->stream));
    gshmem_finalize();
    return test_result();
}

static inline void *test_heap(size_t bytes)
{
    void *p = gshmem_calloc(1, bytes);
    if (p == NULL)
        test_fatal("gshmem_calloc(1, %zu) gave NULL", bytes);
    return p;
}

/* Memory of the PE's device, not symmetric. */
static inline void *test_device(size_t bytes)
{
    void *p = NULL;
    CUDA(cudaMalloc(&p, bytes));
    return p;
}

/* Collective; frees memory of test_device. If PEs share a GPU, cudaFree waits for the kernels of
 * all, none of which may then wait for a PE that is not there yet. */
static inline void test_free(void *p)
{
#if defined(GSHMEM_SHARED_DEVICE)
    gshmem_sync_all();
#endif
    CUDA(cudaFree(p));
#if defined(GSHMEM_SHARED_DEVICE)
    gshmem_sync_all();
#endif
}

/* Between host and device memory in any direction; done on return. */
static inline void test_copy(void *dest, const void *source, size_t bytes)
{
    CUDA(cudaMemcpy(dest, source, bytes, cudaMemcpyDefault));
    CUDA(cudaStreamSynchronize((cudaStream_t)0));
}

static inline void test_sync(const test_pe *pe)
{
    CUDA(cudaStreamSynchronize(pe->stream));
}

/* For a long series of launches that each wait for other PEs: if PEs share a GPU, a launch that
 * finds the stream's queue full would block their threads' CUDA calls. */
static inline void test_pace(const test_pe *pe, long round)
{
#if defined(GSHMEM_SHARED_DEVICE)
    if (round % 100 == 99)
        test_sync(pe);
#else
    (void)pe, (void)round;
#endif
}

/* Launches a kernel whose blocks, and whose copies on other PEs, wait for each other. */
template <class... Params, class... Args>
static void test_collective(const test_pe *pe, void (*kernel)(Params...), unsigned grid,
                            unsigned block, Args... args)
{
    const auto with_types = [&](Params... params) {
        void *pointers[] = {(void *)&params..., nullptr};
        const int failed =
            gshmemx_collective_launch(kernel, dim3(grid), dim3(block), pointers, 0, pe->stream);
        if (failed)
            test_fatal("gshmemx_collective_launch: %s", gshmemx_error_string(failed));
    };
    with_types(args...);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Lies in device memory, or host memory when only host code writes it. The first failure is kept.
 */
struct verdict {
    unsigned n_failed;
    int line;
    long long a, b, where;
};

static inline HD void expect(verdict *v, bool ok, int line, long long a = 0, long long b = 0,
                             long long where = 0)
{
    if (ok)
        return;
#ifdef __CUDA_ARCH__
    const unsigned before = atomicAdd(&v->n_failed, 1u);
#else
    const unsigned before = __atomic_fetch_add(&v->n_failed, 1u, __ATOMIC_RELAXED);
#endif
    if (before == 0) {
        v->line = line;
        v->a = a;
        v->b = b;
        v->where = where;
    }
}
#define EXPECT(v, ok)      expect((v), (ok), __LINE__)
#define EXPECT_EQ(v, a, b) expect((v), (a) == (b), __LINE__, (long long)(a), (long long)(b))
#define EXPECT_AT(v, a, b, where) \
    expect((v), (a) == (b), __LINE__, (long long)(a), (long long)(b), (long long)(where))

static inline verdict *test_verdict(void)
{
    verdict *v = (verdict *)test_device(sizeof *v);
    const verdict zero = {};
    test_copy(v, &zero, sizeof zero);
    return v;
}

/* Records the failure, if there was one, under the name of the operation; clears the verdict. */
static inline void test_judge(const test_pe *pe, verdict *v, const char *file, const char *what)
{
    verdict found;
    test_copy(&found, v, sizeof found);
    if (found.n_failed == 0)
        return;
    char text[256];
    snprintf(text, sizeof text, "%s, PE %d: %u failures, the first with %lld and %lld at %lld",
             what, pe->me, found.n_failed, found.a, found.b, found.where);
    test_check(false, file, found.line, text);
    const verdict zero = {};
    test_copy(v, &zero, sizeof zero);
}
#define JUDGE(pe, v, what) test_judge((pe), (v), __FILE__, (what))

/* ---- options --------------------------------------------------------------------------------- */

/* The value of --name=value, "" for a bare --name, NULL when it is not given. */
static inline const char *test_option(int argc, char **argv, const char *name)
{
    const size_t length = strlen(name);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, name, length) != 0)
            continue;
        if (argv[i][2 + length] == '=')
            return argv[i] + 2 + length + 1;
        if (argv[i][2 + length] == '\0')
            return "";
    }
    return NULL;
}

static inline uint64_t test_number(int argc, char **argv, const char *name, uint64_t otherwise)
{
    const char *text = test_option(argc, argv, name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* How often to repeat: --count, else as often as the device manages in a few seconds. */
static inline int test_rounds(const test_pe *pe, int argc, char **argv, int on_cpu, int on_cuda)
{
    const int usual = !pe->is_cpu ? on_cuda : TEST_SANITIZED ? (on_cpu + 9) / 10 : on_cpu;
    return (int)test_number(argc, argv, "count", (uint64_t)usual);
}

static inline bool test_is_wanted(const char *filter, const char *name)
{
    return filter == NULL || *filter == '\0' || strcmp(filter, name) == 0;
}

static inline double test_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Random bytes that depend on the key alone, so any PE can tell what another one wrote. */
static inline void test_fill(void *to, size_t bytes, uint64_t key)
{
    char *out = (char *)to;
    for (size_t i = 0; i < bytes; i += 8) {
        const uint64_t word = test_random(&key);
        memcpy(out + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

#endif
