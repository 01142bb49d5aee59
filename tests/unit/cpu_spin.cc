/* SPDX-License-Identifier: Apache-2.0
 * Proves: kernels that wait for memory make progress on the CPU device with far more blocks than
 * cores: threads of a block for each other, 64 blocks in a ring, blocks of four devices, two
 * launches on two streams, blocks whose spin the executor cannot see, also once all of them have
 * run, and a launch that waits for one whose start they delay, whatever its blocks do meanwhile;
 * that a block that only spins calls the device's help, outside of its CUDA threads; and which
 * looks are news. */
#include <pthread.h>
#include "tests/rig/cpu_test.h"

#ifdef GSHMEM_CPU_TSAN
constexpr unsigned N_BLOCKS = 24, N_ROUNDS = 2;
#else
constexpr unsigned N_BLOCKS = 64, N_ROUNDS = 10;
#endif

static __device__ void wait_for(const unsigned *flag, unsigned value)
{
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value) {
        gshmemx_cpu_yield();
    }
    gshmemx_cpu_progress();
}

/* Thread i waits for thread i + 1. */
static __global__ void chain(unsigned *flag)
{
    unsigned i = threadIdx.x;
    if (i + 1 < blockDim.x) {
        wait_for(&flag[i + 1], 1);
    }
    __atomic_store_n(&flag[i], 1u, __ATOMIC_RELEASE);
}

/* A token goes round all blocks; the data beside it is ordered by the flag alone. */
static __global__ void ring(unsigned *flag, unsigned *data, unsigned rounds)
{
    unsigned me = blockIdx.x, next = (me + 1) % gridDim.x;
    for (unsigned r = 1; r <= rounds; r++) {
        if (threadIdx.x == 0) {
            if (me != 0 || r > 1) {
                wait_for(&flag[me], me == 0 ? r - 1 : r);
            }
            ++*data;
            __atomic_store_n(&flag[next], r, __ATOMIC_RELEASE);
        }
        __syncthreads();
    }
}

static __global__ void ping_pong(unsigned *mine, unsigned *other, unsigned rounds, unsigned first)
{
    for (unsigned r = 1; r <= rounds; r++) {
        if (first) {
            __atomic_store_n(other, r, __ATOMIC_RELEASE);
        }
        wait_for(mine, r);
        if (!first) {
            __atomic_store_n(other, r, __ATOMIC_RELEASE);
        }
    }
}

/* All blocks meet, by a spin that the executor cannot see. */
static __global__ void meet_silently(unsigned *count)
{
    __atomic_fetch_add(count, 1u, __ATOMIC_RELAXED);
    while (__atomic_load_n(count, __ATOMIC_RELAXED) < gridDim.x) {
    }
}

/* The same, once they have met by one that it sees: all of them are there, and some wait for a
 * core. */
static __global__ void meet_twice(unsigned *count)
{
    __shared__ unsigned mine;
    mine = blockIdx.x;
    atomicAdd(count, 1u);
    while (atomicAdd(count, 0u) < gridDim.x) {
    }
    __atomic_fetch_add(count + 1, 1u, __ATOMIC_RELAXED);
    while (__atomic_load_n(count + 1, __ATOMIC_RELAXED) < gridDim.x) {
    }
    CHECK_EQ(mine, blockIdx.x);
}

/* Each block always has something to do, and says so. */
static __global__ void work_until(const unsigned *flag, unsigned *n_done)
{
    while (__atomic_load_n(flag, __ATOMIC_RELAXED) == 0) {
        atomicAdd(n_done, 1u);
        gshmemx_cpu_yield();
    }
}

static __global__ void set_flag(unsigned *flag)
{
    __atomic_store_n(flag, 1u, __ATOMIC_RELAXED);
}

static unsigned ring_flag[4][64], ring_data[4];

/* One PE: its own device. */
static void *pe_main(void *arg)
{
    unsigned pe = (unsigned)(uintptr_t)arg;
    struct gsh_cpu_device *device = gshmemx_cpu_device_create(nullptr);
    gshmemx_cpu_device_bind(device);
    run(ring, dim3(N_BLOCKS), dim3(4), 0, ring_flag[pe], &ring_data[pe], N_ROUNDS);
    gshmemx_cpu_device_bind(nullptr);
    gshmemx_cpu_device_destroy(device);
    return nullptr;
}

static void test_two_streams(unsigned rounds)
{
    cudaStream_t a, b;
    unsigned flag[2] = {0, 0};
    CHECK_EQ(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaSuccess);
    CHECK_EQ(cudaStreamCreate(&b), cudaSuccess);
    CHECK_EQ(gshmem_launch(ping_pong, 1, 1, 0, a, &flag[0], &flag[1], rounds, 1u), cudaSuccess);
    CHECK_EQ(gshmem_launch(ping_pong, 1, 1, 0, b, &flag[1], &flag[0], rounds, 0u), cudaSuccess);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ(flag[0], rounds);
    CHECK_EQ(flag[1], rounds);
    CHECK_EQ(cudaStreamDestroy(a), cudaSuccess);
    CHECK_EQ(cudaStreamDestroy(b), cudaSuccess);
}

/* The second launch can only end the first if it gets to run beside all of its blocks. */
static void test_beside_busy()
{
    cudaStream_t a, b;
    unsigned flag = 0, n_done = 0;
    CHECK_EQ(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaSuccess);
    CHECK_EQ(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), cudaSuccess);
    CHECK_EQ(gshmem_launch(work_until, N_BLOCKS, 2, 0, a, &flag, &n_done), cudaSuccess);
    CHECK_EQ(gshmem_launch(set_flag, 2, 1, 0, b, &flag), cudaSuccess);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ(cudaStreamDestroy(a), cudaSuccess);
    CHECK_EQ(cudaStreamDestroy(b), cudaSuccess);
}

/* Sets the flag at its tenth call. */
struct helper {
    unsigned flag, n_calls, n_in_kernel;
};

static bool help(void *context)
{
    helper *h = (helper *)context;
    if (gsh_cpu_self) {
        __atomic_fetch_add(&h->n_in_kernel, 1u, __ATOMIC_RELAXED);
    }
    gshmemx_cpu_yield(); /* the core: it is host code */
    if (__atomic_add_fetch(&h->n_calls, 1u, __ATOMIC_RELAXED) == 10) {
        __atomic_store_n(&h->flag, 1u, __ATOMIC_RELEASE);
    }
    return true;
}

static __global__ void wait_for_help(const unsigned *flag)
{
    wait_for(flag, 1);
    __syncthreads();
}

[[maybe_unused]] static void test_help()
{
    helper h = {0, 0, 0};
    gsh_cpu_config config = {};
    config.help = help;
    config.context = &h;
    gsh_cpu_device *device = gshmemx_cpu_device_create(&config);
    gshmemx_cpu_device_bind(device);
    run(wait_for_help, dim3(2), dim3(3), 0, &h.flag);
    gshmemx_cpu_device_bind(nullptr);
    gshmemx_cpu_device_destroy(device);
    CHECK_EQ(h.n_in_kernel, 0u);
}

/* Counts the looks that see a change: at n words in turn, each `step` larger in each round. */
static __global__ void looks(unsigned n, unsigned step, unsigned *n_changes)
{
    for (unsigned r = 0; r < 100; r++) {
        for (unsigned i = 0; i < n; i++) {
            gshmem_cpu_self->saw_change = 0;
            gshmemx_cpu_look(1000 + i + (uint64_t)r * step);
            *n_changes += gshmem_cpu_self->saw_change;
        }
    }
}

static unsigned changes_in_looks(unsigned n, unsigned step)
{
    unsigned n_changes = 0;
    run(looks, dim3(1), dim3(1), 0, n, step, &n_changes);
    return n_changes;
}

int main()
{
    std::vector<unsigned> flag(1024);
    run(chain, dim3(1), dim3(N_BLOCKS * 4), 0, flag.data());
    CHECK_EQ(flag[0], 1);
    pthread_t pe[4];
    for (uintptr_t i = 0; i < 4; i++) {
        CHECK_EQ(pthread_create(&pe[i], nullptr, pe_main, (void *)i), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(pe[i], nullptr);
        CHECK_EQ(ring_data[i], N_BLOCKS * N_ROUNDS);
    }
    test_two_streams(100);
#ifndef GSHMEM_CPU_TSAN /* there it would write to the CUDA threads' stacks */
    test_help();
#endif
    CHECK_EQ(changes_in_looks(1, 0), 1); /* a wait for one word, and for four */
    CHECK_EQ(changes_in_looks(4, 0), 4);
    CHECK_EQ(changes_in_looks(5, 0), 500); /* too many to remember */
    CHECK_EQ(changes_in_looks(1, 7), 100); /* the word changes */
    unsigned count = 0;
    run(meet_silently, dim3(16), dim3(1), 0, &count);
    CHECK_EQ(count, 16);
    unsigned counts[2] = {0, 0};
    run(meet_twice, dim3(16), dim3(1), 0, counts);
    CHECK_EQ(counts[1], 16);
    test_beside_busy();
    return test_result();
}
