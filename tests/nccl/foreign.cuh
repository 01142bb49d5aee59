/* SPDX-License-Identifier: Apache-2.0
 * Device communicators of programs compiled with NCCL's own device headers, of each version: what
 * such a program gives and gets, and how its kernels find their way, are stated here once more. */
#ifndef GSH_TEST_FOREIGN_CUH
#define GSH_TEST_FOREIGN_CUH

#include <nccl_device.h>
#include "tests/nccl/ranks.cuh"

extern "C" ncclResult_t test_foreign_create(ncclComm_t comm, const void *reqs,
                                            void *dev) __asm__("ncclDevCommCreate");
extern "C" ncclResult_t test_foreign_destroy(ncclComm_t comm,
                                             const void *dev) __asm__("ncclDevCommDestroy");

/* Places in the requirements and in the device communicator. */
struct test_version {
    unsigned version;
    uint32_t reqs_bytes, lsa_barrier_count, gin_signal_count, dev_bytes;
    uint32_t rank, window, base, stride, barrier;
};
static const test_version test_versions[] = {
    {22809, 56, 24, 48, 200, 0, 32, 48, 64, 120}, {22902, 72, 40, 64, 200, 0, 32, 48, 64, 120},
    {22907, 88, 40, 64, 224, 0, 32, 48, 64, 120}, {23004, 96, 40, 64, 240, 8, 40, 56, 72, 128},
    {23007, 96, 40, 64, 240, 8, 40, 56, 72, 128}, {23102, 120, 40, 64, 248, 8, 40, 48, 56, 80},
    {23203, 120, 40, 64, 248, 8, 40, 48, 56, 80},
};
enum { TEST_DEV_BYTES = 248, TEST_REQS_BYTES = 120, TEST_GUARD = 64, TEST_BARRIERS = 5 };

struct alignas(8) test_foreign_dev {
    char bytes[TEST_DEV_BYTES + TEST_GUARD];
};

/* How a record of a window begins. */
struct test_record {
    void *unused;
    char *base;
    int lsa_rank, rank;
    uint32_t stride_4g;
};

template <class Type> __device__ Type test_member(const test_foreign_dev &dev, uint32_t at)
{
    Type value;
    memcpy(&value, dev.bytes + at, sizeof(Type));
    return value;
}

__device__ inline char *test_on_peer(char *base, uint32_t stride_4g, int peer)
{
    return reinterpret_cast<char *>(reinterpret_cast<uint64_t>(base) +
                                    ((uint64_t)((uint32_t)peer * stride_4g) << 32));
}

/* Writes its number to each LSA rank, meets them in barrier `index`, and counts the numbers that
 * have not come. */
__global__ void test_foreign_kernel(test_foreign_dev dev, test_version v, ncclWindow_t win,
                                    uint64_t salt, uint32_t index, int *n_faults)
{
    const int rank = test_member<int>(dev, v.rank), n = test_member<int>(dev, v.rank + 4);
    const int lsa_rank = test_member<int>(dev, v.rank + 12);
    const int lsa_size = test_member<int>(dev, v.rank + 16);
    const uint32_t reciprocal = test_member<uint32_t>(dev, v.rank + 20);
    const uint32_t handle = test_member<uint32_t>(dev, v.barrier);
    const uint32_t n_barriers = test_member<uint32_t>(dev, v.barrier + 4);
    const uint32_t stride_4g = test_member<uint32_t>(dev, v.stride);
    char *const base = test_member<char *>(dev, v.base);
    const test_record record = *reinterpret_cast<const test_record *>(win);
    int faults = rank != record.rank || lsa_rank != record.lsa_rank || n_barriers != TEST_BARRIERS;
    const uint32_t quotient = (uint32_t)((uint64_t)(uint32_t)n * reciprocal >> 32);
    faults += quotient != (uint32_t)(n / lsa_size) && quotient + 1 != (uint32_t)(n / lsa_size);
    for (int i = 0; i < lsa_size; i++)
        reinterpret_cast<uint64_t *>(
            test_on_peer(record.base, record.stride_4g, i))[100 + lsa_rank] = salt + (uint64_t)rank;
    uint32_t *const own = reinterpret_cast<uint32_t *>(test_on_peer(base, stride_4g, lsa_rank) +
                                                       (size_t)handle * 128);
    const uint32_t epoch = own[n_barriers + index] + 1;
    const uint32_t inbox = 3 * n_barriers + index * (uint32_t)lsa_size;
    gshmem::detail::fence_release();
    for (int i = 0; i < lsa_size; i++)
        gshmem::detail::store_relaxed(
            reinterpret_cast<uint32_t *>(test_on_peer(base, stride_4g, i) + (size_t)handle * 128) +
                inbox + lsa_rank,
            epoch);
    for (int i = 0; i < lsa_size; i++)
        while (gshmem::detail::load_acquire(own + inbox + i) - epoch > UINT32_MAX / 2)
            gshmem::detail::spin_pause();
    gshmem::detail::spin_done();
    own[n_barriers + index] = epoch;
    const uint64_t *const mine =
        reinterpret_cast<uint64_t *>(test_on_peer(record.base, record.stride_4g, lsa_rank));
    for (int i = 0; i < lsa_size; i++)
        faults += mine[100 + i] != salt + (uint64_t)(rank - lsa_rank + i);
    *n_faults = faults;
}

struct test_foreign_reqs {
    alignas(8) char bytes[TEST_REQS_BYTES];
    test_foreign_reqs(const test_version &v)
    {
        const struct {
            size_t size;
            unsigned magic, version;
        } head = {v.reqs_bytes, 0xcafebeef, v.version};
        memset(bytes, 0, sizeof(bytes));
        if (v.version >= 22902)
            memcpy(bytes, &head, sizeof(head));
    }
    void set(uint32_t at, int value) { memcpy(bytes + at, &value, sizeof(value)); }
};

static void test_foreign_version(ncclComm_t comm, ncclWindow_t win, const test_version &v,
                                 int *n_faults)
{
    test_foreign_reqs reqs(v);
    test_foreign_dev dev;
    int faults = -1;
    memset(&dev, 0x55, sizeof(dev));
    reqs.set(v.gin_signal_count, 1);
    CHECK_EQ(test_foreign_create(comm, reqs.bytes, &dev), ncclInvalidUsage);
    CHECK(strstr(ncclGetLastError(NULL), "ginSignalCount") != NULL);
    reqs.set(v.gin_signal_count, 0);
    reqs.set(v.lsa_barrier_count, TEST_BARRIERS);
    const bool are_rails_of_one = gshmem_team_n_pes(GSHMEMX_TEAM_NODE) == gshmem_n_pes();
    reqs.set(v.lsa_barrier_count + 4, 1); /* railGinBarrierCount */
    if (!are_rails_of_one) {
        CHECK_EQ(test_foreign_create(comm, reqs.bytes, &dev), ncclInvalidUsage);
        CHECK(strstr(ncclGetLastError(NULL), "railGinBarrierCount") != NULL);
        reqs.set(v.lsa_barrier_count + 4, 0);
    }
    OK(test_foreign_create(comm, reqs.bytes, &dev));
    for (uint32_t i = v.dev_bytes; i < sizeof(dev); i++)
        CHECK_EQ(dev.bytes[i], 0x55);
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_EQ(gshmem_launch(test_foreign_kernel, 1, 1, 0, 0, dev, v, win,
                               v.version * 1000 + 100 * i, (uint32_t)i / 2 + 3, n_faults),
                 0);
        OK(ncclAllReduce(n_faults, n_faults, 1, ncclInt, ncclSum, comm, 0));
        CUDA_OK(cudaMemcpy(&faults, n_faults, sizeof(faults), cudaMemcpyDefault));
        CHECK_EQ(faults, 0);
        gshmem_barrier_all(); /* all have looked, before the next kernel writes */
    }
    CHECK_EQ(ncclDevCommDestroy(comm, (const ncclDevComm *)&dev), ncclInvalidArgument);
    OK(test_foreign_destroy(comm, &dev));
    CHECK_EQ(test_foreign_destroy(comm, &dev), ncclInvalidArgument);
}

/* win: of at least 1000 words. */
static inline void test_foreign(ncclComm_t comm, ncclWindow_t win)
{
    int *n_faults = NULL;
    CUDA_OK(cudaMalloc((void **)&n_faults, sizeof(int)));
    for (const test_version &v : test_versions)
        test_foreign_version(comm, win, v, n_faults);
    CUDA_OK(cudaFree(n_faults));
    test_version later = test_versions[6];
    test_foreign_dev dev;
    later.reqs_bytes += 8;
    CHECK_EQ(test_foreign_create(comm, test_foreign_reqs(later).bytes, &dev), ncclInvalidUsage);
    CHECK_EQ(test_foreign_create(comm, NULL, &dev), ncclInvalidArgument);
    CHECK_EQ(test_foreign_destroy(comm, NULL), ncclInvalidArgument);
}

#endif
