/* SPDX-License-Identifier: Apache-2.0
 * Proves: ordinary C++ in programs written for CUDA means the same for the CPU device: built-in
 * variables and local ones of the same names, devices by number, versions, kernels launched by a
 * cast address, min and max of mixed types, intrinsics, attributes. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <limits.h>
#include <pthread.h>
#include <type_traits>
#include "tests/rig/cpu_test.h"

/* ---- built-in variables ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
static void test_local_names()
{
    dim3 gridDim(3, 2);
    dim3 blockDim(32);
    uint3 blockIdx = {1, 2, 3};
    unsigned threadIdx = 5;
    CHECK_EQ(volume(gridDim), 6);
    CHECK_EQ(volume(blockDim), 32);
    CHECK_EQ(blockIdx.z, 3);
    CHECK_EQ(threadIdx, 5);
}
#pragma GCC diagnostic pop

/* Held across a wait, by every thread. */
static __global__ void built_in(dim3 grid, dim3 block, unsigned *n)
{
    static_assert(std::is_same<decltype(threadIdx.x), const unsigned>::value ||
                      std::is_same<decltype(threadIdx.x), unsigned>::value,
                  "an ordinary number");
    const uint3 mine = threadIdx, where = blockIdx;
    unsigned rank = mine.x + block.x * (mine.y + block.y * mine.z);
    CHECK_EQ(rank, gshmem_cpu_self->rank);
    for (int i = 0; i < 3; i++) {
        __syncthreads();
        dim3 b = blockDim, g = gridDim;
        CHECK(threadIdx.x == mine.x && threadIdx.y == mine.y && threadIdx.z == mine.z);
        CHECK(blockIdx.x == where.x && blockIdx.y == where.y && blockIdx.z == where.z);
        CHECK(b.x == block.x && b.y == block.y && b.z == block.z);
        CHECK(g.x == grid.x && g.y == grid.y && g.z == grid.z);
        gshmemx_cpu_yield();
    }
    atomicAdd(n, 1u);
}

static void test_built_in()
{
    for (dim3 shape : test_shapes) {
        unsigned n = 0;
        run(built_in, dim3(2, 3, 2), shape, 0, dim3(2, 3, 2), shape, &n);
        CHECK_EQ(n, 12 * volume(shape));
    }
}

/* ---- devices ---- */

static __global__ void nothing() {}

/* NULL by mistake is an error, as with CUDA, and no crash. */
static void test_null()
{
    char byte = 1, *const none = nullptr;
    size_t pitch;
    float ms;
    int number;
    cudaEvent_t event;
    CHECK_EQ(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaGetDevice(nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaRuntimeGetVersion(nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaDriverGetVersion(nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaDeviceCanAccessPeer(nullptr, 0, 0), cudaErrorInvalidValue);
    CHECK_EQ(cudaDeviceGetPCIBusId(nullptr, 20, 0), cudaErrorInvalidValue);
    CHECK_EQ(cudaGetDeviceProperties(nullptr, 0), cudaErrorInvalidValue);
    CHECK_EQ(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0), cudaErrorInvalidValue);
    CHECK_EQ(cudaMalloc((void **)nullptr, 8), cudaErrorInvalidValue);
    CHECK_EQ(cudaMallocPitch((void **)nullptr, &pitch, 8, 8), cudaErrorInvalidValue);
    CHECK_EQ(cudaMallocPitch((void **)&pitch, nullptr, 8, 8), cudaErrorInvalidValue);
    CHECK_EQ(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaEventCreate(nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaMemcpy(none, &byte, 1, cudaMemcpyDefault), cudaErrorInvalidValue);
    CHECK_EQ(cudaMemcpyAsync(&byte, none, 1, cudaMemcpyDefault, nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaMemcpy(none, none, 0, cudaMemcpyDefault), cudaSuccess);
    CHECK_EQ(cudaMemset(none, 2, 1), cudaErrorInvalidValue);
    CHECK_EQ(cudaMemsetAsync(none, 2, 0, nullptr), cudaSuccess);
    CHECK_EQ(cudaMemset2D(none, 8, 2, 1, 1), cudaErrorInvalidValue);
    CHECK_EQ(byte, 1);
    CHECK_EQ(cudaMemGetInfo(nullptr, &pitch), cudaErrorInvalidValue);
    CHECK_EQ(cudaMemGetInfo(&pitch, nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, nothing, 32, 0),
             cudaErrorInvalidValue);
    CHECK_EQ(cudaOccupancyMaxPotentialBlockSize(&number, nullptr, nothing), cudaErrorInvalidValue);
    CHECK_EQ(cudaDeviceGetStreamPriorityRange(nullptr, &number), cudaSuccess);
    CHECK_EQ(number, 0);
    CHECK_EQ(cudaEventCreate(&event), cudaSuccess);
    CHECK_EQ(cudaEventElapsedTime(nullptr, event, event), cudaErrorInvalidValue);
    CHECK_EQ(cudaEventElapsedTime(&ms, event, nullptr), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaEventDestroy(event), cudaSuccess);
    CHECK_EQ(cudaEventRecord(nullptr, nullptr), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaEventSynchronize(nullptr), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaEventDestroy(nullptr), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaStreamWaitEvent(nullptr, nullptr), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaLaunchHostFunc(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaStreamAddCallback(nullptr, nullptr, nullptr, 0), cudaErrorInvalidValue);
    CHECK_EQ(cudaFuncGetAttributes(nullptr, nothing), cudaErrorInvalidValue);
    CHECK_EQ(cudaGetSymbolAddress(nullptr, byte), cudaErrorInvalidValue);
    CHECK_EQ(cudaGetSymbolSize(nullptr, byte), cudaErrorInvalidValue);
    CHECK_EQ(cudaMemcpyToSymbol(byte, none, 1), cudaErrorInvalidValue);
    CHECK_EQ(cudaPointerGetAttributes(nullptr, &byte), cudaErrorInvalidValue);
    CHECK_EQ(cudaHostGetDevicePointer((void **)nullptr, &byte, 0), cudaErrorInvalidValue);
    CHECK_EQ(cudaHostGetDevicePointer((void **)&pitch, nullptr, 0), cudaErrorInvalidValue);
}

/* Launches without a kernel, its arguments, or a place for the answer. */
static void test_null_launches()
{
    void (*no_kernel)() = nullptr;
    void (*with_argument)(int) = [](int) {};
    const dim3 one(1);
    CHECK_EQ(cudaLaunchKernel(no_kernel, one, one, nullptr), cudaErrorInvalidDeviceFunction);
    CHECK_EQ(cudaLaunchKernel(with_argument, one, one, nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaLaunchCooperativeKernel(with_argument, one, one, nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaLaunchKernelEx(nullptr, nothing), cudaErrorInvalidValue);
    CHECK_EQ(gshmem_launch(no_kernel, one, one, 0, nullptr), cudaErrorInvalidDeviceFunction);
    CHECK_EQ(gshmemx_collective_launch(no_kernel, one, one, nullptr, 0, nullptr),
             GSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(gshmemx_collective_launch(with_argument, one, one, nullptr, 0, nullptr),
             GSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(gshmemx_collective_launch_query_gridsize(nothing, one, nullptr, 0, nullptr),
             GSHMEMX_ERROR_INVALID_VALUE);
    CHECK_EQ(cudaLaunchKernel(nothing, one, one, nullptr), cudaSuccess);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

/* Only what a call has given is taken back, once, and by its own kind of call. */
static void test_wrong_pointers()
{
    enum { n_blocks = 1000 };
    static char *blocks[n_blocks];
    char byte = 1, *device, *host, *ordinary = (char *)malloc(64);
    CHECK_EQ(cudaMalloc(&device, 64), cudaSuccess);
    CHECK_EQ(cudaMallocHost(&host, 64), cudaSuccess);
    for (void *wrong :
         {(void *)&byte, (void *)ordinary, (void *)(device + 8), (void *)host, (void *)8})
        CHECK_EQ(cudaFree(wrong), cudaErrorInvalidValue);
    CHECK_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK_EQ(cudaFreeAsync(&byte, nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaFreeAsync(nullptr, nullptr), cudaErrorInvalidValue);
    CHECK_EQ(cudaFreeHost(device), cudaErrorInvalidValue);
    CHECK_EQ(cudaFreeHost(ordinary), cudaErrorInvalidValue);
    CHECK_EQ(cudaFree(device), cudaSuccess);
    CHECK_EQ(cudaFree(device), cudaErrorInvalidValue);
    CHECK_EQ(cudaFreeHost(host), cudaSuccess);
    CHECK_EQ(cudaFreeHost(host), cudaErrorInvalidValue);
    CHECK(cudaFree(nullptr) == cudaSuccess && cudaFreeHost(nullptr) == cudaSuccess);

    CHECK_EQ(cudaHostRegister(nullptr, 64, 0), cudaErrorInvalidValue);
    CHECK_EQ(cudaHostUnregister(ordinary), cudaErrorHostMemoryNotRegistered);
    CHECK_EQ(cudaHostRegister(ordinary, 64, 0), cudaSuccess);
    CHECK_EQ(cudaHostRegister(ordinary, 64, 0), cudaErrorHostMemoryAlreadyRegistered);
    CHECK_EQ(cudaFreeHost(ordinary), cudaErrorInvalidValue);
    CHECK_EQ(cudaHostUnregister(ordinary), cudaSuccess);
    CHECK_EQ(cudaHostUnregister(ordinary), cudaErrorHostMemoryNotRegistered);
    free(ordinary);

    /* Many at a time, taken in another order. */
    for (char *&block : blocks)
        CHECK_EQ(cudaMalloc(&block, 1), cudaSuccess);
    for (int i = 0; i < n_blocks; i++)
        CHECK_EQ(cudaFree(blocks[i * 7 % n_blocks]), cudaSuccess);
    for (char *block : blocks)
        CHECK_EQ(cudaFree(block), cudaErrorInvalidValue);
    cudaGetLastError();
}

static void test_devices()
{
    int count = 0, device = -1, value = 0, version = 0;
    cudaDeviceProp prop;
    unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    CHECK_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    CHECK_EQ(count, 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "6", 1);
    CHECK_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    CHECK_EQ(count, 6);
    setenv("GSHMEM_CPU_DEVICES", "9", 1);
    CHECK_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    CHECK_EQ(count, 9);
    setenv("GSHMEM_CPU_DEVICES", "2", 1);
    CHECK_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    CHECK_EQ(count, 6);
    unsetenv("GSHMEM_CPU_DEVICES");
    CHECK_EQ(cudaGetDevice(&device), cudaSuccess);
    CHECK_EQ(device, 0);
    CHECK_EQ(cudaSetDevice(3), cudaSuccess);
    CHECK_EQ(cudaGetDevice(&device), cudaSuccess);
    CHECK_EQ(device, 3);
    CHECK_EQ(cudaGetDeviceProperties(&prop, device), cudaSuccess);
    CHECK_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, device), cudaSuccess);
    CHECK_EQ(value, 32);
    CHECK_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    CHECK_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
    CHECK_EQ(cudaGetDevice(&device), cudaSuccess);
    CHECK_EQ(device, 3);
    CHECK_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
    CHECK_EQ(version, CUDART_VERSION);
    CHECK_EQ(cudaDriverGetVersion(&version), cudaSuccess);
    CHECK(version >= CUDART_VERSION);
}

/* ---- launches: the kernel itself, or its address as CUDA's programs pass it ---- */

static __global__ void count(int *n, int by)
{
    cooperative_groups::this_grid().sync();
    atomicAdd(n, by);
}

template <class A, class B> static __global__ void count_as(A *n, B by)
{
    atomicAdd(n, by);
}

static void test_launches()
{
    int n = 0, *out = &n, by = 1, n_blocks = 0;
    void *args[] = {&out, &by};
    bool is_first = true;
    const dim3 one(1);
#define LAUNCH(CALL) CHECK_EQ((int)(CALL), 0)
    LAUNCH(cudaLaunchCooperativeKernel((const void *)count, 2, one, args, 0, nullptr));
    LAUNCH(cudaLaunchCooperativeKernel((void *)&count, dim3(2), 1, args, 0, nullptr));
    LAUNCH(::cudaLaunchCooperativeKernel(count, dim3(2), dim3(1), args));
    LAUNCH(gshmemx_collective_launch((const void *)count, 2, 1, args, 0, nullptr));
    LAUNCH(gshmemx_collective_launch(count, 2, 1, args, 0, nullptr));
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ(n, 10);
    LAUNCH(cudaLaunchKernel((const void *)count_as<int, int>, 1, 1, args, 0, nullptr));
    LAUNCH(cudaLaunchKernel((void *)(count_as<int, int>), one, one, args, 0, nullptr));
    LAUNCH(cudaLaunchKernel((count_as<int, int>), 1, 1, args));
    LAUNCH(cudaLaunchKernel((is_first ? count_as<int, int> : count), 1, 1, args, 0, nullptr));
    LAUNCH(cudaLaunchKernel((const void *)(is_first ? count_as<int, int> : count), 1, 1, args));
    LAUNCH(gshmemx_collective_launch_query_gridsize((void *)count, 1, args, 0, &n_blocks));
    CHECK(n_blocks >= 1);
    cudaLaunchAttribute attribute = {cudaLaunchAttributeCooperative, {1}};
    cudaLaunchConfig_t config = {dim3(2), dim3(1), 0, nullptr, &attribute, 1};
    LAUNCH(cudaLaunchKernelEx(&config, count, &n, 'a'));
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ(n, 15 + 2 * 'a');
#undef LAUNCH
}

/* ---- numbers ---- */

template <class R, class A, class B> static void check_minmax(A a, B b, R smaller, R larger)
{
    static_assert(std::is_same<decltype(min(a, b)), R>::value, "CUDA's result type");
    static_assert(std::is_same<decltype(max(b, a)), R>::value, "CUDA's result type");
    CHECK(min(a, b) == smaller && min(b, a) == smaller);
    CHECK(max(a, b) == larger && max(b, a) == larger);
}

static __global__ void intrinsics()
{
    unsigned n = 5;
    CHECK_EQ(min(threadIdx.x, 3), 0);
    CHECK_EQ(max(blockDim.x, (int)n), 5);
    CHECK_EQ(__byte_perm(0x33221100, 0x77665544, 0x7520), 0x77552200);
    CHECK_EQ(__byte_perm(0x80, 0, 0x0008), 0x808080ff);
    CHECK_EQ(__mul24(-3, 5), -15);
    CHECK_EQ(__mul64hi(-1ll, 2), -1);
    CHECK_EQ(__sad(-3, 4, 10), 17);
    CHECK(__hiloint2double(__double2hiint(-2.75), __double2loint(-2.75)) == -2.75);
    CHECK_EQ(__float2int_rn(2.5f), 2);
    CHECK_EQ(__float2int_rz(-2.5f), -2);
    CHECK_EQ(__float2int_rd(-2.5f), -3);
    CHECK_EQ(__double2ll_ru(2.25), 3);
    CHECK_EQ(__float2uint_rz(-1.0f), 0);
    CHECK_EQ(__float2int_rz(1e20f), INT_MAX);
    CHECK_EQ(__double2ull_rz(1e30), ULLONG_MAX);
    CHECK(__int2float_rn(7) == 7.0f && __uint2double_rn(7) == 7.0);
}

static void test_numbers()
{
    check_minmax<int>(-1, 2, -1, 2);
    check_minmax<unsigned>(-1, 2u, 2u, UINT_MAX);
    check_minmax<unsigned long>(-1l, 2ul, 2ul, ULONG_MAX);
    check_minmax<unsigned long long>(-1ll, 2ull, 2ull, ULLONG_MAX);
    check_minmax<long>(-1l, 2l, -1l, 2l);
    check_minmax<float>(-1.0f, 2.0f, -1.0f, 2.0f);
    check_minmax<double>(0.5f, 2.0, 0.5, 2.0);
    run(intrinsics, 1, 1, 0);
}

/* ---- queries of kernels and memory ---- */

static __device__ int symbol[4];

static void called(cudaStream_t, cudaError_t status, void *data)
{
    *(int *)data += status == cudaSuccess;
}

static void test_host_calls()
{
    cudaFuncAttributes function;
    CHECK_EQ(cudaFuncGetAttributes(&function, count), cudaSuccess);
    CHECK_EQ(function.maxThreadsPerBlock, 1024);
    CHECK_EQ(cudaFuncGetAttributes(&function, (const void *)count), cudaSuccess);
    int n_blocks = 0, n_threads = 0, n_called = 0, value = 0;
    CHECK_EQ(cudaOccupancyMaxPotentialBlockSize(&n_blocks, &n_threads, count), cudaSuccess);
    CHECK(n_blocks >= 1 && n_threads >= 32);
    cudaDeviceProp prop;
    CHECK_EQ(cudaGetDeviceProperties(&prop, 2), cudaSuccess);
    CHECK_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxGridDimY, 2), cudaSuccess);
    CHECK_EQ(value, prop.maxGridSize[1]);
    CHECK_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 2),
             cudaSuccess);
    CHECK_EQ(value, prop.sharedMemPerMultiprocessor);
    char bus[2][16];
    CHECK_EQ(cudaDeviceGetPCIBusId(bus[0], 16, 0), cudaSuccess);
    CHECK_EQ(cudaDeviceGetPCIBusId(bus[1], 16, 1), cudaSuccess);
    CHECK(strcmp(bus[0], bus[1]) != 0);

    cudaStream_t stream;
    CHECK_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    int *p = NULL, *pinned = NULL;
    CHECK_EQ(cudaMallocAsync(&p, 64, stream), cudaSuccess);
    CHECK_EQ(cudaMemsetAsync(p, 1, 64, stream), cudaSuccess);
    CHECK_EQ(cudaMemcpyToSymbolAsync(symbol, p, 8, 4, cudaMemcpyDeviceToDevice, stream),
             cudaSuccess);
    CHECK_EQ(cudaFreeAsync(p, stream), cudaSuccess);
    CHECK_EQ(cudaStreamAddCallback(stream, called, &n_called, 0), cudaSuccess);
    CHECK_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    CHECK_EQ(symbol[1], 0x01010101);
    CHECK_EQ(symbol[3], 0);
    CHECK_EQ(n_called, 1);
    size_t bytes = 0;
    CHECK_EQ(cudaGetSymbolSize(&bytes, symbol), cudaSuccess);
    CHECK_EQ(bytes, sizeof(symbol));
    CHECK_EQ(cudaStreamDestroy(stream), cudaSuccess);

    CHECK_EQ(cudaMalloc(&p, SIZE_MAX), cudaErrorMemoryAllocation);
    CHECK_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);

    cudaPointerAttributes attributes;
    CHECK_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
    CHECK_EQ(cudaPointerGetAttributes(&attributes, pinned + 1), cudaSuccess);
    CHECK_EQ(attributes.type, cudaMemoryTypeHost);
    CHECK(attributes.devicePointer == pinned + 1);
    CHECK_EQ(cudaFreeHost(pinned), cudaSuccess);
    CHECK_EQ(cudaMallocPitch(&p, &bytes, 100, 3), cudaSuccess);
    CHECK(bytes >= 100);
    CHECK_EQ(cudaMemset2D(p, bytes, 7, 100, 3), cudaSuccess);
    CHECK_EQ(((char *)p)[2 * bytes + 99], 7);
    CHECK_EQ(cudaFree(p), cudaSuccess);
    CHECK_STR(cudaGetErrorName(cudaErrorLaunchOutOfResources), "cudaErrorLaunchOutOfResources");
}

/* ---- atomics and groups ---- */

/* The threads take turns, within the block and across blocks. */
static __global__ void take_turns(unsigned *turn,
                                  cuda::atomic<unsigned, cuda::thread_scope_device> *n)
{
    namespace cg = cooperative_groups;
    cuda::atomic_ref<unsigned, cuda::thread_scope_system> now(*turn);
    unsigned mine = threadIdx.x + blockIdx.x * blockDim.x;
    while (now.load(cuda::memory_order_acquire) != mine) {
    }
    unsigned before = n->fetch_add(1, cuda::std::memory_order_relaxed);
    CHECK_EQ(before, mine);
    now.store(mine + 1, cuda::memory_order_release);
    unsigned expected = UINT_MAX;
    CHECK(!now.compare_exchange_strong(expected, 7u) && expected > mine);
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    unsigned first = threadIdx.x / 8 * 8;
    CHECK_EQ(cg::reduce(tile, threadIdx.x, cg::plus<unsigned>()), first * 8 + 28);
    CHECK_EQ(cg::reduce(tile, threadIdx.x, cg::greater<unsigned>()), first + 7);
    now.fetch_max(mine, cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}

static void test_atomics()
{
    unsigned turn = 0;
    cuda::atomic<unsigned, cuda::thread_scope_device> n(0u);
    run(take_turns, 2, 32, 0, &turn, &n);
    CHECK_EQ(turn, 64);
    CHECK_EQ(n, 64);
}

/* ---- the usual choice of a device ---- */

enum { N_PES = 3 };

static void *choose_device(void *rank)
{
    static const int key = 0;
    gshmemx_init_attr_t attr = GSHMEMX_INIT_ATTR_INITIALIZER;
    int count = 0, device = -1;
    CHECK_EQ(gshmemx_set_attr_thread_args((int)(intptr_t)rank, N_PES, &key, &attr), 0);
    CHECK_EQ(gshmemx_init_attr(GSHMEMX_INIT_THREAD_PES, &attr), 0);
    int mine = gshmem_team_my_pe(GSHMEMX_TEAM_NODE);
    CHECK_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    CHECK_EQ(count, N_PES);
    CHECK_EQ(cudaSetDevice(mine), cudaSuccess);
    CHECK_EQ(cudaGetDevice(&device), cudaSuccess);
    CHECK_EQ(device, mine);
    void *memory = gshmem_malloc(64);
    CHECK(memory != NULL);
    gshmem_free(memory);
    gshmem_finalize();
    return NULL;
}

static void test_device_of_pe()
{
    pthread_t thread[N_PES];
    unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    for (intptr_t i = 0; i < N_PES; i++) {
        CHECK_EQ(pthread_create(&thread[i], NULL, choose_device, (void *)i), 0);
    }
    for (pthread_t t : thread) {
        pthread_join(t, NULL);
    }
}

int main()
{
    test_local_names();
    test_built_in();
    test_null();
    test_null_launches();
    test_wrong_pointers();
    test_devices();
    test_launches();
    test_numbers();
    test_host_calls();
    test_atomics();
    test_device_of_pe();
    return test_result();
}
