/* SPDX-License-Identifier: Apache-2.0
 * The names that the benchmarks use, mapped to NVSHMEM, so that the same source measures both.
 * Included in place of gshmem's headers if PERFTEST_NVSHMEM is defined; uses only NVSHMEM's
 * published names. gshmemrun starts the processes and its environment gives each its rank;
 * NVSHMEM's unique id travels from PE 0 to the others through a file. */
#ifndef GSHMEM_PERFTEST_COMPARE_H
#define GSHMEM_PERFTEST_COMPARE_H

#include <nvshmem.h>
#include <nvshmemx.h>

#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <string>

/* ---- constants ------------------------------------------------------------------------------- */

#define GSHMEM_CMP_GE     NVSHMEM_CMP_GE
#define GSHMEM_SIGNAL_SET NVSHMEM_SIGNAL_SET
#define GSHMEMX_TEAM_NODE NVSHMEMX_TEAM_NODE

/* ---- host ------------------------------------------------------------------------------------ */

#define gshmem_finalize    nvshmem_finalize
#define gshmem_my_pe       nvshmem_my_pe
#define gshmem_n_pes       nvshmem_n_pes
#define gshmem_team_my_pe  nvshmem_team_my_pe
#define gshmem_malloc      nvshmem_malloc
#define gshmem_calloc      nvshmem_calloc
#define gshmem_free        nvshmem_free
#define gshmem_global_exit nvshmem_global_exit

#define gshmemx_vendor_get_version_info     nvshmemx_vendor_get_version_info
#define gshmemx_putmem_on_stream            nvshmemx_putmem_on_stream
#define gshmemx_getmem_on_stream            nvshmemx_getmem_on_stream
#define gshmemx_putmem_signal_on_stream     nvshmemx_putmem_signal_on_stream
#define gshmemx_signal_op_on_stream         nvshmemx_signal_op_on_stream
#define gshmemx_signal_wait_until_on_stream nvshmemx_signal_wait_until_on_stream
#define gshmemx_uint64_p_on_stream          nvshmemx_uint64_p_on_stream
#define gshmemx_barrier_all_on_stream       nvshmemx_barrier_all_on_stream
#define gshmemx_sync_all_on_stream          nvshmemx_sync_all_on_stream

/* ---- host and device ------------------------------------------------------------------------- */

#define gshmem_putmem        nvshmem_putmem
#define gshmem_getmem        nvshmem_getmem
#define gshmem_putmem_nbi    nvshmem_putmem_nbi
#define gshmem_putmem_signal nvshmem_putmem_signal
#define gshmem_uint32_p      nvshmem_uint32_p
#define gshmem_uint32_g      nvshmem_uint32_g
#define gshmem_uint64_p      nvshmem_uint64_p
#define gshmem_uint64_g      nvshmem_uint64_g
#define gshmem_fence         nvshmem_fence
#define gshmem_quiet         nvshmem_quiet
#define gshmem_barrier_all   nvshmem_barrier_all
#define gshmem_sync_all      nvshmem_sync_all

#define gshmem_uint64_atomic_fetch        nvshmem_uint64_atomic_fetch
#define gshmem_uint64_atomic_set          nvshmem_uint64_atomic_set
#define gshmem_uint64_atomic_swap         nvshmem_uint64_atomic_swap
#define gshmem_uint64_atomic_compare_swap nvshmem_uint64_atomic_compare_swap
#define gshmem_uint64_atomic_inc          nvshmem_uint64_atomic_inc
#define gshmem_uint64_atomic_fetch_inc    nvshmem_uint64_atomic_fetch_inc
#define gshmem_uint64_atomic_add          nvshmem_uint64_atomic_add
#define gshmem_uint64_atomic_fetch_add    nvshmem_uint64_atomic_fetch_add
#define gshmem_uint64_atomic_and          nvshmem_uint64_atomic_and
#define gshmem_uint64_atomic_fetch_and    nvshmem_uint64_atomic_fetch_and
#define gshmem_uint64_atomic_or           nvshmem_uint64_atomic_or
#define gshmem_uint64_atomic_fetch_or     nvshmem_uint64_atomic_fetch_or
#define gshmem_uint64_atomic_xor          nvshmem_uint64_atomic_xor
#define gshmem_uint64_atomic_fetch_xor    nvshmem_uint64_atomic_fetch_xor

/* ---- device ---------------------------------------------------------------------------------- */

#define gshmem_signal_wait_until     nvshmem_signal_wait_until
#define gshmem_uint64_wait_until     nvshmem_uint64_wait_until
#define gshmem_uint64_wait_until_all nvshmem_uint64_wait_until_all
#define gshmem_uint64_wait_until_any nvshmem_uint64_wait_until_any
#define gshmem_uint64_test           nvshmem_uint64_test
#define gshmemx_signal_op            nvshmemx_signal_op

#define gshmemx_putmem_warp         nvshmemx_putmem_warp
#define gshmemx_putmem_block        nvshmemx_putmem_block
#define gshmemx_getmem_warp         nvshmemx_getmem_warp
#define gshmemx_getmem_block        nvshmemx_getmem_block
#define gshmemx_putmem_nbi_warp     nvshmemx_putmem_nbi_warp
#define gshmemx_putmem_nbi_block    nvshmemx_putmem_nbi_block
#define gshmemx_getmem_nbi_block    nvshmemx_getmem_nbi_block
#define gshmemx_putmem_signal_warp  nvshmemx_putmem_signal_warp
#define gshmemx_putmem_signal_block nvshmemx_putmem_signal_block
#define gshmemx_barrier_all_warp    nvshmemx_barrier_all_warp
#define gshmemx_barrier_all_block   nvshmemx_barrier_all_block
#define gshmemx_sync_all_warp       nvshmemx_sync_all_warp
#define gshmemx_sync_all_block      nvshmemx_sync_all_block

/* ---- collectives ----------------------------------------------------------------------------- */

#define gshmem_team_t                             nvshmem_team_t
#define gshmem_float_sum_reduce                   nvshmem_float_sum_reduce
#define gshmemx_float_sum_reduce_warp             nvshmemx_float_sum_reduce_warp
#define gshmemx_float_sum_reduce_block            nvshmemx_float_sum_reduce_block
#define gshmemx_float_sum_reduce_on_stream        nvshmemx_float_sum_reduce_on_stream
#define gshmem_float_sum_reducescatter            nvshmem_float_sum_reducescatter
#define gshmemx_float_sum_reducescatter_warp      nvshmemx_float_sum_reducescatter_warp
#define gshmemx_float_sum_reducescatter_block     nvshmemx_float_sum_reducescatter_block
#define gshmemx_float_sum_reducescatter_on_stream nvshmemx_float_sum_reducescatter_on_stream
#define gshmem_float_fcollect                     nvshmem_float_fcollect
#define gshmemx_float_fcollect_warp               nvshmemx_float_fcollect_warp
#define gshmemx_float_fcollect_block              nvshmemx_float_fcollect_block
#define gshmemx_float_fcollect_on_stream          nvshmemx_float_fcollect_on_stream
#define gshmem_float_alltoall                     nvshmem_float_alltoall
#define gshmemx_float_alltoall_warp               nvshmemx_float_alltoall_warp
#define gshmemx_float_alltoall_block              nvshmemx_float_alltoall_block
#define gshmemx_float_alltoall_on_stream          nvshmemx_float_alltoall_on_stream
#define gshmem_float_broadcast                    nvshmem_float_broadcast
#define gshmemx_float_broadcast_warp              nvshmemx_float_broadcast_warp
#define gshmemx_float_broadcast_block             nvshmemx_float_broadcast_block
#define gshmemx_float_broadcast_on_stream         nvshmemx_float_broadcast_on_stream

/* ---- what NVSHMEM has no name for ------------------------------------------------------------ */

template <class... P, class... A>
inline cudaError_t gshmem_launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t smem,
                                 cudaStream_t stream, A... args)
{
    return [=](P... values) {
        void *pointers[] = {(void *)&values..., nullptr};
        return cudaLaunchKernel((const void *)kernel, grid, block, pointers, smem, stream);
    }(args...);
}

inline int gshmemx_run(int (*pe_main)(int argc, char **argv), int argc, char **argv)
{
    return pe_main(argc, argv);
}

#define GSHMEM_DYNAMIC_SHARED(T, name) extern __shared__ __align__(128) T name[]

/* NVSHMEM from 3.7 on copies through what is given if NVSHMEM_TMA_POLICY=ENABLE. */
namespace gshmem
{

__device__ inline void lend_shared(void *shared, size_t bytes)
{
#if NVSHMEM_VENDOR_MAJOR_VERSION * 100 + NVSHMEM_VENDOR_MINOR_VERSION >= 307
    nvshmemx_give_smem(shared, bytes);
#else
    (void)shared;
    (void)bytes;
#endif
    __syncthreads();
}

__device__ inline void take_back_shared()
{
    __syncthreads();
#if NVSHMEM_VENDOR_MAJOR_VERSION * 100 + NVSHMEM_VENDOR_MINOR_VERSION >= 307
    nvshmemx_release_smem();
#endif
}

} // namespace gshmem

/* Set-up is complete after init and a barrier. */
inline int gshmemx_device_setup(void)
{
    nvshmem_barrier_all();
    return 0;
}

inline const char *gshmemx_route_name(int)
{
    return "not told";
}

namespace perftest
{
namespace detail
{

[[noreturn]] inline void cannot_start(const std::string &why)
{
    fprintf(stderr, "perftest: NVSHMEM cannot be started: %s\n", why.c_str());
    _exit(1);
}

inline int environment_number(const char *name)
{
    const char *text = getenv(name);
    if (!text || !*text)
        cannot_start(std::string(name) + " is not set; start the program by gshmemrun");
    return atoi(text);
}

/* One name per job, the same in all its processes: gshmemrun makes a new id for each job. */
inline std::string id_file()
{
    const char *job = getenv("GSHMEM_UID"), *folder = getenv("TMPDIR");
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = job ? job : ""; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    return std::string(folder && *folder ? folder : "/tmp") + "/perftest-nvshmem-" +
           std::to_string(hash);
}

/* Gets its name only when it is complete. */
inline void write_id(const std::string &path, const nvshmemx_uniqueid_t &id)
{
    const std::string part = path + ".part";
    const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool is_written = fd >= 0 && write(fd, &id, sizeof id) == (ssize_t)sizeof id;
    if (fd >= 0)
        close(fd);
    if (!is_written || rename(part.c_str(), path.c_str()) != 0)
        cannot_start("cannot write " + path);
}

inline void read_id(const std::string &path, nvshmemx_uniqueid_t *id)
{
    const timespec pause = {0, 1000000};
    for (int turn = 0; turn < 60000; turn++) {
        const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0) {
            struct stat s;
            const bool is_read = fstat(fd, &s) == 0 && s.st_uid == geteuid() &&
                                 read(fd, id, sizeof *id) == (ssize_t)sizeof *id;
            close(fd);
            if (!is_read)
                cannot_start(path + " holds no id");
            return;
        }
        nanosleep(&pause, nullptr);
    }
    cannot_start(path + " did not appear within a minute");
}

} // namespace detail
} // namespace perftest

inline void gshmem_init(void)
{
    using namespace perftest::detail;
    const int rank = environment_number("GSHMEM_RANK"), n = environment_number("GSHMEM_N_RANKS");
    const std::string path = id_file();
    setenv("NVSHMEM_DISABLE_NVLS", "1", 0); /* no NVLink multicast unless requested */
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    if (rank != 0) {
        read_id(path, &id);
    } else {
        if (nvshmemx_get_uniqueid(&id) != 0)
            cannot_start("nvshmemx_get_uniqueid failed");
        write_id(path, id);
    }
    if (nvshmemx_set_attr_uniqueid_args(rank, n, &id, &attr) != 0 ||
        nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
        cannot_start("nvshmemx_init_attr failed");
    nvshmem_barrier_all(); /* all have read the id */
    if (rank == 0)
        unlink(path.c_str());
}

#endif
