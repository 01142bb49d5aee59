/* SPDX-License-Identifier: Apache-2.0
 * Proves the NCCL layer's windows on the program's own memory: memory that each rank allocates by
 * itself, before any communicator and for longer than the last; windows of the world and of
 * communicators that share ranks, at the same time, while the heap grows, in collectives by the
 * user's addresses and in kernels, also those compiled with NCCL's own headers; that bad input
 * fails on all ranks and changes nothing; and that windows may come and go without limit. */
#include "tests/nccl/foreign.cuh"
#include "tests/nccl/ranks.cuh"
#include <nccl_device.h>
#include <dirent.h>
#include <shared_mutex>

#if defined(GSHMEM_CHECKS)
constexpr bool has_checks = true;
#else
constexpr bool has_checks = false;
#endif
constexpr size_t n_words = 30000, bytes = n_words * sizeof(uint64_t);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS_FREE = 500, ROUNDS_ALONE = 200, ROUNDS_ALL = 50 };
#else
enum { ROUNDS_FREE = 100000, ROUNDS_ALONE = 10000, ROUNDS_ALL = 1000 };
#endif

/* ---- memory ---- */

static uint64_t *take(size_t size)
{
    void *p = NULL;
    OK(ncclMemAlloc(&p, size));
    CHECK_EQ((uintptr_t)p % NCCL_WIN_REQUIRED_ALIGNMENT, 0);
    CUDA_OK(cudaMemset(p, 0, size));
    CUDA_OK(cudaDeviceSynchronize());
    return (uint64_t *)p;
}

static void store(uint64_t *p, size_t i, uint64_t value)
{
    CUDA_OK(cudaMemcpy(p + i, &value, sizeof value, cudaMemcpyDefault));
}

static uint64_t load(const uint64_t *p, size_t i)
{
    uint64_t value = 0;
    CUDA_OK(cudaMemcpy(&value, p + i, sizeof value, cudaMemcpyDefault));
    return value;
}

/* Ranks take different sizes, in different orders, and none of them waits. */
static uint64_t *test_local(const test_rank *r)
{
    static std::shared_mutex addresses; /* of ranks that are threads */
    std::vector<uint64_t *> taken;
    void *p = NULL;
    addresses.lock_shared();
    for (int i = 0; i < 3 * r->rank; i++)
        taken.push_back(take(1000 + 5000000 * (size_t)(i % 3)));
    uint64_t *const kept = take(bytes);
    for (size_t i = 0; i < taken.size(); i += 2)
        OK(ncclMemFree(taken[i]));
    for (size_t i = 1; i < taken.size(); i += 2)
        OK(ncclMemFree(taken[i]));
    OK(ncclMemFree(NULL));
    addresses.unlock_shared();
    int on_stack = 0;
    CHECK_EQ(ncclMemFree(&on_stack), ncclInvalidArgument);
    CHECK(strstr(ncclGetLastError(NULL), "ncclMemFree") != NULL);
    CHECK_EQ(ncclMemFree(kept + 8), ncclInvalidArgument);
    CHECK_EQ(ncclMemAlloc(&p, SIZE_MAX - 5), ncclSystemError);
    CHECK(p == NULL);
    addresses.lock(); /* or another rank might be given what this one frees, and lose it */
    OK(ncclMemAlloc(&p, 0));
    OK(ncclMemFree(p));
    CHECK_EQ(ncclMemFree(p), ncclInvalidArgument);
    addresses.unlock();
    return kept;
}

/* ---- use ---- */

struct shared {
    ncclComm_t comm;
    int rank, n;
    uint64_t *memory; /* the user's */
    ncclWindow_t win;
};

static shared share(ncclComm_t comm, uint64_t *memory)
{
    shared s = {comm, 0, 0, memory, NULL};
    void *user = NULL;
    OK(ncclCommUserRank(comm, &s.rank));
    OK(ncclCommCount(comm, &s.n));
    OK(ncclCommWindowRegister(comm, memory, bytes, &s.win, NCCL_WIN_COLL_SYMMETRIC));
    OK(ncclWinGetUserPtr(comm, s.win, &user));
    CHECK(user == memory);
    return s;
}

/* By the user's addresses; what others write is visible there. */
static void use_collectives(const shared *s, uint64_t salt)
{
    const uint64_t sum = (uint64_t)s->n * (uint64_t)(s->n - 1) / 2;
    uint64_t *const in = s->memory + 100, *const out = s->memory + 1000;
    for (size_t i = 0; i < 8; i++)
        store(in, i, salt * i + (uint64_t)s->rank);
    OK(ncclAllReduce(in, out, 8, ncclUint64, ncclSum, s->comm, 0));
    OK(ncclAllGather(in, out + 100, 2, ncclUint64, s->comm, 0));
    OK(ncclBroadcast(in, out + 400, 8, ncclUint64, s->n - 1, s->comm, 0));
    CUDA_OK(cudaStreamSynchronize(0));
    for (size_t i = 0; i < 8; i++) {
        CHECK_EQ(load(out, i), (uint64_t)s->n * salt * i + sum);
        CHECK_EQ(load(out + 400, i), salt * i + (uint64_t)s->n - 1);
    }
    for (int i = 0; i < s->n; i++)
        CHECK_EQ(load(out + 100, 2 * (size_t)i + 1), salt + (uint64_t)i);
}

struct faults {
    int n;
};

/* Each rank writes into its LSA peers, then puts to all. */
__global__ void write_kernel(ncclDevComm dev, ncclWindow_t win, uint64_t salt, faults *f)
{
    const ncclTeam world = ncclTeamWorld(dev), lsa = ncclTeamLsa(dev);
    const ncclCoopCta cta;
    ncclGin gin(dev, 0);
    ncclGinBarrierSession<ncclCoopCta> bar(cta, gin, world, dev.railGinBarrier, 0);
    uint64_t *own = (uint64_t *)ncclGetLocalPointer(win, 0);
    if (threadIdx.x == 0)
        own[10] = salt + world.rank;
    __syncthreads();
    bar.sync(cta, cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
    for (int peer = threadIdx.x; peer < lsa.nRanks; peer += blockDim.x)
        ((uint64_t *)ncclGetLsaPointer(win, 0, peer))[20 + lsa.rank] = salt + 10 * lsa.rank + peer;
    for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x)
        gin.put(world, peer, win, sizeof(uint64_t) * (40 + world.rank), win, sizeof(uint64_t) * 10,
                sizeof(uint64_t), ncclGin_SignalInc{0});
    gin.waitSignal(cta, 0, world.nRanks);
    gin.flush(cta);
    bar.sync(cta, cuda::memory_order_acq_rel, (ncclGinFenceLevel)0);
    for (int peer = threadIdx.x; peer < world.nRanks; peer += blockDim.x) {
        if (own[40 + peer] != salt + peer)
            atomicAdd(&f->n, 1);
    }
    for (int peer = threadIdx.x; peer < lsa.nRanks; peer += blockDim.x) {
        if (own[20 + peer] != salt + 10 * peer + lsa.rank)
            atomicAdd(&f->n, 1);
    }
}

static void use_kernels(const shared *s, uint64_t salt)
{
    ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    ncclDevComm dev = {};
    void *p = NULL, *here = NULL;
    int n_faults = 0;
    q.railGinBarrierCount = 1;
    q.ginSignalCount = 1;
    OK(ncclDevCommCreate(s->comm, &q, &dev));
    CUDA_OK(cudaMalloc(&p, sizeof(faults)));
    CUDA_OK(cudaMemset(p, 0, sizeof(faults)));
    CHECK_EQ(gshmem_launch(write_kernel, 1, 32, 0, 0, dev, s->win, salt, (faults *)p), 0);
    CUDA_OK(cudaStreamSynchronize(0));
    CUDA_OK(cudaMemcpy(&n_faults, p, sizeof n_faults, cudaMemcpyDefault));
    CHECK_EQ(n_faults, 0);
    CUDA_OK(cudaFree(p));
    CHECK_EQ(load(s->memory, 10), salt + (uint64_t)s->rank);
    for (int i = 0; i < s->n; i++)
        CHECK_EQ(load(s->memory, 40 + (size_t)i), salt + (uint64_t)i);
    OK(ncclGetLsaDevicePointer(s->win, 80, dev.lsaRank, &here));
    CHECK(here != s->memory + 10);
    CHECK_EQ(load((uint64_t *)here, 0), salt + (uint64_t)s->rank);
    OK(ncclDevCommDestroy(s->comm, &dev));
}

static void use(const shared *s, uint64_t salt)
{
    use_collectives(s, salt);
    use_kernels(s, salt);
}

/* ---- communicators that share ranks ---- */

/* All but the last rank, all but the first, and the world: ranks in the middle have three. */
static void test_overlap(ncclComm_t comm, const test_rank *r)
{
    const bool is_in[2] = {r->rank<r->n - 1, r->rank> 0};
    ncclComm_t part[2] = {};
    shared world = {}, in_part[2] = {};
    uint64_t *memory[3] = {take(bytes), take(bytes), take(bytes)};
    for (int i = 0; i < 2; i++) {
        OK(ncclCommSplit(comm, is_in[i] ? 0 : NCCL_SPLIT_NOCOLOR, (2 * i - 1) * r->rank, &part[i],
                         NULL));
        CHECK_EQ(part[i] != NULL, is_in[i]);
        if (is_in[i])
            in_part[i] = share(part[i], memory[i]);
    }
    world = share(comm, memory[2]);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            if (is_in[i])
                use(&in_part[i], 1000 + 100 * (uint64_t)i + (uint64_t)round);
        }
        use(&world, 5000 + (uint64_t)round);
        void *const grown = gshmem_malloc((size_t)(24 + 8 * round) << 20);
        CHECK(grown != NULL);
        for (int i = 0; i < 2; i++) {
            if (is_in[i])
                use(&in_part[i], 2000 + 100 * (uint64_t)i + (uint64_t)round);
        }
        gshmem_free(grown);
    }
    if (is_in[0])
        OK(ncclCommWindowDeregister(part[0], in_part[0].win));
    use(&world, 7000);
    if (is_in[1])
        use(&in_part[1], 8000);
    OK(ncclCommWindowDeregister(comm, world.win));
    for (int i = 0; i < 2; i++) {
        if (is_in[i])
            OK(ncclCommDestroy(part[i])); /* the second one with its window */
    }
    for (uint64_t *p : memory) {
        CHECK(load(p, 10) == 0 || load(p, 10) >= 1000);
        OK(ncclMemFree(p));
    }
}

/* ---- kinds of memory ---- */

static void test_kinds(ncclComm_t comm)
{
    shared s;
    /* the heap's: no rank waits, and the window is at its own address */
    uint64_t *const symmetric = (uint64_t *)gshmem_malloc(bytes);
    s = share(comm, symmetric);
    use_collectives(&s, 77);
    OK(ncclCommWindowDeregister(comm, s.win));
    gshmem_free(symmetric);
#ifndef __CUDACC__
    /* on the CPU device any memory of the program; its contents are preserved */
    void *const own = aligned_alloc(NCCL_WIN_REQUIRED_ALIGNMENT, (bytes + 4095) / 4096 * 4096);
    memset(own, 0, bytes);
    s = share(comm, (uint64_t *)own);
    use(&s, 78);
    OK(ncclCommWindowDeregister(comm, s.win));
    CHECK_EQ(((uint64_t *)own)[10], 78 + (uint64_t)s.rank);
    free(own);
#endif
    /* memory freed while it has a window lives on there */
    uint64_t *const freed = take(bytes);
    s = share(comm, freed);
    OK(ncclMemFree(freed));
    void *there = NULL;
    OK(ncclGetPeerDevicePointer(s.win, 80, s.rank, &there));
    store((uint64_t *)there, 0, 5);
    CHECK_EQ(load((uint64_t *)there, 0), 5);
    OK(ncclCommWindowDeregister(comm, s.win));
}

/* ---- bad input ---- */

#ifndef __CUDACC__
/* The kernel gives addresses from above on, and programs that run at any address have nothing as
 * low. */
constexpr uintptr_t never_mapped = 1 << 20;
#endif

static void expect_failure(ncclComm_t comm, void *memory, size_t size, ncclResult_t expected,
                           const char *words)
{
    ncclWindow_t win = NULL;
    CHECK_EQ(ncclCommWindowRegister(comm, memory, size, &win, NCCL_WIN_COLL_SYMMETRIC), expected);
    CHECK(win == NULL);
    if (!CHECK(strstr(ncclGetLastError(comm), words) != NULL))
        fprintf(stderr, "said \"%s\"\n", ncclGetLastError(comm));
}

/* Heap memory, on one rank at another place: registering does not wait and so does not notice, but
 * the next call in which ranks meet does; in checking builds it is noticed at once. */
static void test_places(ncclComm_t comm, uint64_t *memory)
{
    ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
    ncclDevComm dev = {};
    ncclComm_t part = NULL;
    ncclWindow_t win = NULL;
    if (has_checks) {
        expect_failure(comm, memory, 512, ncclInvalidUsage, "different offsets");
    } else {
        OK(ncclCommWindowRegister(comm, memory, 512, &win, NCCL_WIN_COLL_SYMMETRIC));
        CHECK_EQ(ncclDevCommCreate(comm, &q, &dev), ncclInvalidUsage);
        CHECK(strstr(ncclGetLastError(comm), "different offsets") != NULL);
        CHECK_EQ(ncclCommSplit(comm, 0, 0, &part, NULL), ncclInvalidUsage);
        CHECK_EQ(ncclCommFinalize(comm), ncclInvalidUsage);
        OK(ncclCommWindowDeregister(comm, win));
    }
    OK(ncclDevCommCreate(comm, &q, &dev));
    OK(ncclDevCommDestroy(comm, &dev));
}

static void test_bad_input(ncclComm_t comm, const test_rank *r)
{
    uint64_t *const memory = take(bytes);
    const bool is_last = r->rank == r->n - 1;
    ncclWindow_t win = NULL;
#ifdef __CUDACC__
    uint64_t *const freed = take(bytes);
    OK(ncclMemFree(freed));
#else
    /* Not memory that was freed: another thread of the process may have it by now. */
    uint64_t *const freed = (uint64_t *)never_mapped;
#endif
    /* one rank's mistake is every rank's failure */
    if (r->n > 1)
        expect_failure(comm, memory, is_last ? bytes / 2 : bytes, ncclInvalidUsage, "registers");
    expect_failure(comm, is_last ? freed : memory, bytes, ncclInvalidArgument, "freed");
    expect_failure(comm, freed, bytes, ncclInvalidArgument, "freed");
#ifndef __CUDACC__
    uint64_t on_stack[8] = {};
    expect_failure(comm, is_last ? on_stack : memory, sizeof on_stack, ncclInvalidUsage, "");
    expect_failure(comm, on_stack, sizeof on_stack, ncclInvalidUsage, "");
#else
    void *p = NULL;
    CUDA_OK(cudaMalloc(&p, bytes));
    expect_failure(comm, p, bytes, ncclInvalidUsage, "cudaMalloc");
    CUDA_OK(cudaFree(p));
#endif
    /* heap memory on one rank: that rank has not waited, and the others do not wait for ever */
    uint64_t *const symmetric = (uint64_t *)gshmem_malloc(bytes);
    if (is_last && has_checks && r->n > 1) {
        expect_failure(comm, symmetric, bytes, ncclInvalidUsage, "none there");
    } else if (is_last) {
        OK(ncclCommWindowRegister(comm, symmetric, bytes, &win, NCCL_WIN_COLL_SYMMETRIC));
        OK(ncclCommWindowDeregister(comm, win));
    } else {
        expect_failure(comm, memory, bytes, ncclInvalidUsage, "gshmem_malloc");
    }
    if (r->n > 1)
        test_places(comm, symmetric + (is_last ? 512 : 0));
    gshmem_free(symmetric);
    expect_failure(comm, symmetric, bytes, ncclInvalidArgument, "symmetric");
    shared s = share(comm, memory);
    use(&s, 4321);
    OK(ncclCommWindowDeregister(comm, s.win));
    CHECK_EQ(ncclCommWindowDeregister(comm, s.win), ncclInvalidArgument);
    OK(ncclMemFree(memory));
}

/* ---- over and over ---- */

/* By one rank at a time, since threads see each other's descriptors. */
static int count(const char *folder, const test_rank *r)
{
    for (int i = 0; i < r->rank; i++)
        gshmem_barrier_all();
    int n = 0;
    DIR *d = opendir(folder);
    while (d != NULL && readdir(d) != NULL)
        n++;
    if (d != NULL)
        closedir(d);
    for (int i = r->rank; i < r->n; i++)
        gshmem_barrier_all();
    return n;
}

static long resident_kib()
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (f != NULL)
        fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void come_and_go(ncclComm_t comm, void *memory, int n)
{
    for (int i = 0; i < n; i++) {
        ncclWindow_t win = NULL;
        OK(ncclCommWindowRegister(comm, memory, bytes, &win, NCCL_WIN_DEFAULT));
        OK(ncclCommWindowDeregister(comm, win));
    }
}

static void test_many(ncclComm_t comm, const test_rank *r)
{
    ncclComm_t alone = NULL;
    gshmemx_heap_info_t before = {}, after = {};
    void *const symmetric = gshmem_malloc(bytes);
    uint64_t *const memory = take(bytes);
    OK(ncclCommSplit(comm, r->rank, 0, &alone, NULL));
    come_and_go(comm, symmetric, 100);
    come_and_go(alone, memory, 100);
    come_and_go(comm, memory, 20);
    gshmem_barrier_all();
    const int n_fds = count("/proc/self/fd", r), n_tasks = count("/proc/self/task", r);
    const long kib = resident_kib();
    gshmemx_heap_info(&before);
    gshmem_barrier_all();
    come_and_go(comm, symmetric, ROUNDS_FREE);
    come_and_go(alone, memory, ROUNDS_ALONE);
    come_and_go(comm, memory, ROUNDS_ALL);
    gshmem_barrier_all();
    gshmemx_heap_info(&after);
    const int n_fds_now = count("/proc/self/fd", r);
    /* A leak would be one for each round. UCX may have connected to each far PE meanwhile, and
     * processes may be asking this one for a hang report. */
    CHECK(n_fds_now < n_fds + r->n + 10);
    CHECK(count("/proc/self/task", r) < n_tasks + 10);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    CHECK(resident_kib() < kib + 4096);
#else
    (void)kib;
#endif
    CHECK_EQ(after.committed, before.committed);
    CHECK_EQ(after.largest_free, before.largest_free);
    gshmem_barrier_all();
    OK(ncclCommDestroy(alone));
    OK(ncclMemFree(memory));
    gshmem_free(symmetric);
}

static int run_rank(const test_rank *r)
{
    ncclComm_t comm = NULL;
    uint64_t *const kept = test_local(r); /* before any communicator */
    store(kept, 7, 70 + (uint64_t)r->rank);
    OK(ncclCommInitRank(&comm, r->n, r->id, r->rank));
    shared s = share(comm, kept);
    CHECK_EQ(load(kept, 7), 70 + (uint64_t)r->rank);
    use(&s, 30);
    test_foreign(comm, s.win);
    test_overlap(comm, r);
    test_kinds(comm);
    test_bad_input(comm, r);
    use(&s, 31);
    test_many(comm, r);
    OK(ncclCommWindowDeregister(comm, s.win));
    OK(ncclCommDestroy(comm));
    CHECK_EQ(load(kept, 10), 31 + (uint64_t)r->rank);
    OK(ncclMemFree(kept)); /* after the last communicator */
    return 0;
}

int main(int argc, char **argv)
{
    return test_ranks(argc, argv, run_rank);
}
