/* SPDX-License-Identifier: Apache-2.0
 * What every benchmark says first: what ran, on what, and what set-up cost. Starts the PE. */
#ifndef GSHMEM_PERFTEST_HEADER_H
#define GSHMEM_PERFTEST_HEADER_H

#include <gshmem_device.cuh>
#include <gshmemx.h>
#include <chrono>
#include <cstdio>

#ifndef PERFTEST_COMMIT
#define PERFTEST_COMMIT "unknown"
#endif

namespace perftest
{

struct start {
    double init_s, context_s, setup_s;
    double footprint_mib; /* device memory that set-up took; the context's own is not in it */
};

/* Initialises gshmem, takes GPU number "PE in its node", and prints the header on PE 0. */
inline start print_header(const char *program)
{
    typedef std::chrono::steady_clock clock;
    typedef std::chrono::duration<double> seconds;
    start s = {};
    const auto t0 = clock::now();
    gshmem_init();
    const auto t1 = clock::now();
    int n_devices = 0, driver = 0, runtime = 0;
    cudaGetDeviceCount(&n_devices);
    if (n_devices > 0)
        cudaSetDevice(gshmem_team_my_pe(GSHMEMX_TEAM_NODE) % n_devices);
    cudaFree(nullptr); /* makes the context */
    const auto t2 = clock::now();
    size_t before = 0, after = 0;
#if defined(__CUDACC__)
    size_t total = 0;
    cudaMemGetInfo(&before, &total);
#endif
    if (gshmemx_device_setup() != 0)
        gshmem_global_exit(1);
    const auto t3 = clock::now();
#if defined(__CUDACC__)
    cudaMemGetInfo(&after, &total);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
#endif
    s.init_s = seconds(t1 - t0).count();
    s.context_s = seconds(t2 - t1).count();
    s.setup_s = seconds(t3 - t2).count();
    s.footprint_mib = ((double)before - (double)after) / (1 << 20);
    if (gshmem_my_pe() == 0)
        printf("# %s: commit %s, %s, CUDA driver %d.%d, runtime %d.%d, %d PEs, link %s\n", program,
               PERFTEST_COMMIT, gshmemx_device_name(), driver / 1000, driver % 1000 / 10,
               runtime / 1000, runtime % 1000 / 10, gshmem_n_pes(),
               gshmemx_route_name(gshmem_n_pes() > 1 ? 1 : 0));
    return s;
}

inline void print_setup(const start &s)
{
    if (gshmem_my_pe() == 0)
        printf("# init %.3f s, context %.3f s (CUDA's own), device set-up %.3f s, device memory "
               "taken before the first user byte %.2f MiB\n",
               s.init_s, s.context_s, s.setup_s, s.footprint_mib);
}

} // namespace perftest

#endif
