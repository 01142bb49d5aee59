/* SPDX-License-Identifier: Apache-2.0
 * A PE of a benchmark: how it starts, what it holds, the header it prints, how it ends. The same
 * source runs on GPUs, on the CPU device, and with another library through compare.h. */
#ifndef GSHMEM_PERFTEST_PE_H
#define GSHMEM_PERFTEST_PE_H

#if defined(PERFTEST_NVSHMEM)
#include "perftest/compare.h"
#else
#include <gshmem_device.cuh>
#include <gshmemx.h>
#endif

#include <chrono>
#include <time.h>
#include <unistd.h>
#include "perftest/options.h"
#include "perftest/report.h"

namespace perftest
{

#if defined(__CUDACC__)
constexpr bool is_cpu = false;
constexpr int block_threads = 1024;
#else
constexpr bool is_cpu = true;
constexpr int block_threads = 64; /* a block is one thread of the host, whatever its size */
#endif

constexpr int group_threads(group g)
{
    return g == THREAD ? 1 : g == WARP ? 32 : block_threads;
}

/* ---- a PE ------------------------------------------------------------------------------------ */

struct start_times {
    double context_us, init_us, setup_us;
    double footprint_mib; /* GPU memory taken by init and set-up, without the context's */
};

struct bench {
    int me, n;
    int target; /* the PE that PE 0 calls: PE 1, or itself if it is alone */
    int multiprocessors;
    cudaStream_t stream;
    options o;
    report out;
    start_times start;
    size_t bytes;                       /* of source and of dest */
    size_t shared;                      /* dynamic shared memory of the next kernels' blocks */
    char *source, *dest;                /* symmetric */
    uint64_t *words;                    /* symmetric, [n_words], zero at first */
    unsigned long long *stamps, *wrong; /* this PE's */
    bool has_failed;

    bool leads() const { return me == 0; }
};

constexpr size_t n_words = 4096;
constexpr int most_blocks = 65535;

inline void check_cuda(cudaError_t error, const char *what, int line)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "perftest: line %d: %s: %s\n", line, what, cudaGetErrorString(error));
    gshmem_global_exit(1);
}
#define CUDA(call) ::perftest::check_cuda((call), #call, __LINE__)

inline double now_us()
{
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::micro>(now).count();
}

/* Enqueues on the PE's stream, and waits. */
template <class... P, class... A>
void run(const bench &b, void (*kernel)(P...), int blocks, int threads, A... args)
{
    CUDA(gshmem_launch(kernel, dim3((unsigned)blocks), dim3((unsigned)threads), b.shared, b.stream,
                       args...));
    CUDA(cudaStreamSynchronize(b.stream));
}

namespace detail
{

inline double free_mib()
{
    size_t available = 0, total = 0;
    if (!is_cpu)
        CUDA(cudaMemGetInfo(&available, &total));
    return (double)available / (1 << 20);
}

/* There may be no PE yet, so this makes no library call. */
inline void choose_gpu(int number)
{
    int n_devices = 0;
    cudaError_t error = cudaGetDeviceCount(&n_devices);
    if (error == cudaSuccess && n_devices > 0)
        error = cudaSetDevice(number % n_devices);
    if (error == cudaSuccess)
        error = cudaFree(nullptr); /* makes the context */
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "perftest: no GPU: %s\n", cudaGetErrorString(error));
    _exit(1);
}

/* The context comes first if the launcher tells the PE's number, so init's cost can be told from
 * CUDA's. */
inline start_times start_pe()
{
    start_times s = {};
    const char *rank = getenv("GSHMEM_RANK"), *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    rank = rank ? rank : local ? local : getenv("SLURM_LOCALID");
    double t = now_us();
    if (rank)
        choose_gpu(atoi(rank));
    s.context_us = now_us() - t;
    double before = rank ? free_mib() : 0;
    t = now_us();
    gshmem_init();
    s.init_us = now_us() - t;
    if (!rank) {
        t = now_us();
        /* with GSHMEM_NODE_PES nodes are parts of one host */
        choose_gpu(getenv("GSHMEM_NODE_PES") ? gshmem_my_pe()
                                             : gshmem_team_my_pe(GSHMEMX_TEAM_NODE));
        s.context_us = now_us() - t;
        before = free_mib();
    }
    t = now_us();
    if (gshmemx_device_setup() != 0)
        gshmem_global_exit(1);
    s.setup_us = now_us() - t;
    s.footprint_mib = before - free_mib();
    return s;
}

/* The commit that was built: a file beside the program. */
inline std::string commit()
{
    char path[4096], text[128] = "";
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    std::string name(path, n > 0 ? (size_t)n : 0);
    name = name.substr(0, name.rfind('/') + 1) + "commit";
    FILE *f = n > 0 ? fopen(name.c_str(), "r") : nullptr;
    if (f && fgets(text, sizeof text, f))
        text[strcspn(text, "\n")] = '\0';
    if (f)
        fclose(f);
    return *text ? text : "unknown";
}

inline std::string library()
{
    int major = 0, minor = 0, patch = 0;
    gshmemx_vendor_get_version_info(&major, &minor, &patch);
#if defined(PERFTEST_NVSHMEM)
    const std::string name = "NVSHMEM ";
#else
    const std::string name = "gshmem ";
#endif
    return name + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

inline std::string cuda_version(int version)
{
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

inline void make_header(bench *b, const program &p)
{
    cudaDeviceProp device = {};
    int number = 0;
    CUDA(cudaGetDevice(&number));
    CUDA(cudaGetDeviceProperties(&device, number));
    b->multiprocessors = device.multiProcessorCount;
    b->out.note("program", std::string(p.name) + ": " + p.question);
    b->out.note("library", library());
    b->out.note("commit", commit());
    b->out.note("device", device.name);
#if defined(__CUDACC__)
    int driver = 0, runtime = 0;
    CUDA(cudaDriverGetVersion(&driver));
    CUDA(cudaRuntimeGetVersion(&runtime));
    b->out.note("CUDA", "driver " + cuda_version(driver) + ", runtime " + cuda_version(runtime));
#endif
    b->out.note("PEs", std::to_string(b->n));
    b->out.note("link", gshmemx_route_name(b->target));
    b->out.note("group", "thread 1, warp 32, block " + std::to_string(block_threads) + " threads");
    b->out.note("sample", "mean of the rounds, after a tenth as many that warm up");
    b->out.note("cache", "not flushed; rates and streams: windows in turn, else the same buffers");
}

} // namespace detail

constexpr size_t quick_bytes = 65536, cpu_bytes = (size_t)16 << 20; /* the most, by default */
/* What rounds cycle through (windows_of): much more than a first cache for each block. */
constexpr size_t windows_bytes = (size_t)(is_cpu ? 4 : 128) << 20;

/* Reads the options and makes the PE; dest and source hold the largest of --sizes, or
 * default_bytes, and windows. -1: continue; otherwise the exit status, and there is no PE. */
inline int begin(bench *b, const program &p, int argc, char **argv, size_t default_bytes)
{
    const int status = read_options(p, argc, argv, &b->o);
    if (status >= 0)
        return status;
    b->start = detail::start_pe();
    b->me = gshmem_my_pe();
    b->n = gshmem_n_pes();
    b->target = b->n > 1 ? 1 : 0;
    detail::make_header(b, p);
    if (b->leads())
        b->out.print_header();
    CUDA(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&b->stamps, 2 * most_blocks * sizeof *b->stamps));
    CUDA(cudaMalloc(&b->wrong, sizeof *b->wrong));
    b->bytes = default_bytes;
    if (p.has_sizes) /* else they hold what the program needs */
        b->bytes = std::min(b->bytes, b->o.is_quick ? quick_bytes : is_cpu ? cpu_bytes : b->bytes);
    if (!b->o.sizes.empty())
        b->bytes = std::max(*std::max_element(b->o.sizes.begin(), b->o.sizes.end()),
                            p.has_windows ? std::min(b->bytes, windows_bytes) : 0);
    b->bytes = std::max(b->bytes, sizeof(uint64_t)); /* rows on words need one */
    if (default_bytes == 0)
        return -1; /* needs no buffers */
    b->source = (char *)gshmem_malloc(b->bytes);
    b->dest = (char *)gshmem_malloc(b->bytes);
    b->words = (uint64_t *)gshmem_calloc(n_words, sizeof(uint64_t));
    if (!b->source || !b->dest || !b->words) {
        fprintf(stderr, "perftest: no memory for two buffers of %zu bytes\n", b->bytes);
        gshmem_global_exit(1);
    }
    return -1;
}

/* Returns the exit status. */
inline int end(bench *b)
{
    gshmem_barrier_all();
    for (void *p : {(void *)b->words, (void *)b->dest, (void *)b->source})
        if (p)
            gshmem_free(p);
    CUDA(cudaFree(b->wrong));
    CUDA(cudaFree(b->stamps));
    CUDA(cudaStreamDestroy(b->stream));
    gshmem_finalize();
    if (b->leads() && !b->o.json.empty() && !b->out.write(b->o.json))
        b->has_failed = true;
    return b->has_failed ? 1 : 0;
}

/* Ends the program if it was started alone. */
inline bool needs_two(const bench &b)
{
    if (b.n >= 2)
        return true;
    fprintf(stderr, "perftest: this needs two PEs: gshmemrun -n 2 ...\n");
    return false;
}

} // namespace perftest

#endif
