/* SPDX-License-Identifier: Apache-2.0
 * Proves: streams of the CPU device run their work in order, events and the default stream order it
 * between streams, arguments and pageable sources are copied at the call, refused calls say why,
 * and streams can be destroyed with work in them. */
#include "tests/rig/cpu_test.h"

constexpr int N = 200;

static __global__ void append(int *list, int *count, int value)
{
    list[(*count)++] = value;
}

static __global__ void hold(const unsigned *gate)
{
    while (__atomic_load_n(gate, __ATOMIC_ACQUIRE) == 0) {
        gshmemx_cpu_yield();
    }
}

static void open_gate(unsigned *gate)
{
    __atomic_store_n(gate, 1u, __ATOMIC_RELEASE);
}

static void test_order()
{
    int list[N], count = 0, copy[N] = {0}, by_host = 0;
    unsigned gate = 0;
    cudaStream_t s;
    CHECK_EQ(cudaStreamCreate(&s), cudaSuccess);
    CHECK_EQ(gshmem_launch(hold, 1, 1, 0, s, &gate), cudaSuccess);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(gshmem_launch(append, 1, 1, 0, s, list, &count, i), cudaSuccess);
    }
    CHECK_EQ(cudaMemcpyAsync(copy, list, sizeof list, cudaMemcpyDefault, s), cudaSuccess);
    CHECK_EQ(cudaMemsetAsync(list, 0xff, sizeof list, s), cudaSuccess);
    CHECK_EQ(cudaLaunchHostFunc(
                 s, [](void *p) { *(int *)p = 7; }, &by_host),
             cudaSuccess);
    CHECK_EQ(cudaStreamQuery(s), cudaErrorNotReady);
    CHECK_EQ(cudaGetLastError(), cudaSuccess);
    open_gate(&gate);
    CHECK_EQ(cudaStreamSynchronize(s), cudaSuccess);
    CHECK_EQ(cudaStreamQuery(s), cudaSuccess);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(copy[i], i);
        CHECK_EQ(list[i], -1);
    }
    CHECK_EQ(by_host, 7);
    CHECK_EQ(cudaStreamDestroy(s), cudaSuccess);
}

static void test_events()
{
    int list[4], count = 0;
    unsigned gate = 0;
    cudaStream_t a, b;
    cudaEvent_t first, second;
    float ms = -1;
    CHECK_EQ(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaSuccess);
    CHECK_EQ(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), cudaSuccess);
    CHECK_EQ(cudaEventCreate(&first), cudaSuccess);
    CHECK_EQ(cudaEventCreate(&second), cudaSuccess);
    CHECK_EQ(cudaEventQuery(first), cudaSuccess); /* never recorded */
    CHECK_EQ(cudaStreamWaitEvent(b, first), cudaSuccess);
    gshmem_launch(hold, 1, 1, 0, a, &gate);
    gshmem_launch(append, 1, 1, 0, a, list, &count, 1);
    CHECK_EQ(cudaEventRecord(first, a), cudaSuccess);
    CHECK_EQ(cudaStreamWaitEvent(b, first), cudaSuccess);
    gshmem_launch(append, 1, 1, 0, b, list, &count, 2);
    CHECK_EQ(cudaEventRecord(second, b), cudaSuccess);
    CHECK_EQ(cudaStreamWaitEvent(a, second, 0), cudaSuccess);
    gshmem_launch(append, 1, 1, 0, a, list, &count, 3);
    CHECK_EQ(cudaEventQuery(second), cudaErrorNotReady);
    CHECK_EQ(cudaEventElapsedTime(&ms, first, second), cudaErrorNotReady);
    open_gate(&gate);
    CHECK_EQ(cudaEventSynchronize(second), cudaSuccess);
    CHECK_EQ(cudaEventElapsedTime(&ms, first, second), cudaSuccess);
    CHECK(ms >= 0);
    CHECK_EQ(cudaStreamSynchronize(a), cudaSuccess);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(list[i], i + 1);
    }
    /* An event outlives its stream, and a recorded event outlives its handle. */
    CHECK_EQ(cudaEventRecord(first, a), cudaSuccess);
    CHECK_EQ(cudaStreamDestroy(a), cudaSuccess);
    CHECK_EQ(cudaEventSynchronize(first), cudaSuccess);
    CHECK_EQ(cudaEventRecord(second, b), cudaSuccess);
    CHECK_EQ(cudaEventDestroy(second), cudaSuccess);
    CHECK_EQ(cudaEventDestroy(first), cudaSuccess);
    CHECK_EQ(cudaStreamDestroy(b), cudaSuccess);
}

static void test_default_stream()
{
    int list[8], count = 0;
    unsigned gate = 0;
    cudaStream_t a, b;
    CHECK_EQ(cudaStreamCreate(&a), cudaSuccess);
    CHECK_EQ(cudaStreamCreate(&b), cudaSuccess);
    gshmem_launch(hold, 1, 1, 0, a, &gate);
    gshmem_launch(append, 1, 1, 0, a, list, &count, 1);
    gshmem_launch(append, 1, 1, 0, nullptr, list, &count, 2); /* waits for a */
    gshmem_launch(append, 1, 1, 0, b, list, &count, 3);       /* waits for the default stream */
    gshmem_launch(append, 1, 1, 0, cudaStreamLegacy, list, &count, 4);
    CHECK_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
    open_gate(&gate);
    int seen[4];
    CHECK_EQ(cudaMemcpy(seen, list, sizeof seen, cudaMemcpyDeviceToHost), cudaSuccess);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(seen[i], i + 1);
    }
    /* A synchronous copy waits for work in blocking streams. */
    gshmem_launch(append, 1, 1, 0, b, list, &count, 5);
    CHECK_EQ(cudaMemcpy(seen, list + 4, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    CHECK_EQ(seen[0], 5);
    CHECK_EQ(cudaStreamDestroy(a), cudaSuccess);
    CHECK_EQ(cudaStreamDestroy(b), cudaSuccess);
}

static __global__ void take(int *out, int4 v, char c, double d, const int *p)
{
    *out = v.x + v.w + c + (int)d + *p;
}

static void test_taken_at_the_call()
{
    unsigned gate = 0;
    int out = 0, value = 5, dest = 0, *pinned = nullptr;
    cudaStream_t s;
    CHECK_EQ(cudaStreamCreate(&s), cudaSuccess);
    CHECK_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
    gshmem_launch(hold, 1, 1, 0, s, &gate);
    int four = 4, *p = &four;
    gshmem_launch(take, 1, 1, 0, s, &out, make_int4(1, 0, 0, 2), 'a' - 'a' + 3, 4.5f, p);
    CHECK_EQ(cudaMemcpyAsync(&dest, &value, 4, cudaMemcpyHostToDevice, s), cudaSuccess);
    value = 6; /* pageable: the copy has its own */
    CHECK_EQ(cudaMemcpyAsync(pinned, &dest, 4, cudaMemcpyDeviceToHost, s), cudaSuccess);
    open_gate(&gate);
    CHECK_EQ(cudaStreamSynchronize(s), cudaSuccess);
    CHECK_EQ(out, 1 + 2 + 3 + 4 + 4);
    CHECK_EQ(dest, 5);
    CHECK_EQ(*pinned, 5);
    short from[6] = {1, 2, 3, 4, 5, 6}, to[9] = {0};
    CHECK_EQ(cudaMemcpy2DAsync(to, 6, from, 4, 4, 3, cudaMemcpyHostToDevice, s), cudaSuccess);
    CHECK_EQ(cudaStreamSynchronize(s), cudaSuccess);
    CHECK(to[0] == 1 && to[1] == 2 && to[2] == 0 && to[3] == 3 && to[7] == 6);
    CHECK_EQ(cudaMemcpy2D(to, 2, from, 4, 4, 3, cudaMemcpyDefault), cudaErrorInvalidValue);
    CHECK_EQ(cudaFreeHost(pinned), cudaSuccess);
    CHECK_EQ(cudaStreamDestroy(s), cudaSuccess);
}

static void test_refused()
{
    int list[1], count = 0;
    cudaGetLastError();
    CHECK_EQ(gshmem_launch(append, 1, 1025, 0, nullptr, list, &count, 1),
             cudaErrorInvalidConfiguration);
    CHECK_EQ(gshmem_launch(append, dim3(1, 0), 1, 0, nullptr, list, &count, 1),
             cudaErrorInvalidConfiguration);
    CHECK_EQ(gshmem_launch(append, 1, 1, 1u << 30, nullptr, list, &count, 1),
             cudaErrorInvalidConfiguration);
    CHECK_EQ(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
    CHECK_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    CHECK_EQ(cudaGetLastError(), cudaSuccess);
    CHECK_STR(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady");
    CHECK_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
    CHECK_EQ(count, 0);
}

static void test_many_streams()
{
    int count[50] = {0}, list[50];
    for (int i = 0; i < 50; i++) {
        cudaStream_t s;
        CHECK_EQ(cudaStreamCreate(&s), cudaSuccess);
        gshmem_launch(append, 1, 1, 0, s, &list[i], &count[i], i);
        CHECK_EQ(cudaStreamDestroy(s), cudaSuccess); /* the work still runs */
    }
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(count[i], 1);
    }
}

static void test_devices()
{
    int list[11], count = 0;
    struct gsh_cpu_device *d = gshmemx_cpu_device_create(nullptr);
    gshmemx_cpu_device_bind(d);
    CHECK(gshmemx_cpu_device_current() == d);
    cudaStream_t s;
    CHECK_EQ(cudaStreamCreate(&s), cudaSuccess);
    CHECK(gshmemx_cpu_stream_device(s) == d);
    for (int i = 0; i < 10; i++) {
        gshmem_launch(append, 1, 1, 0, s, list, &count, i);
    }
    gshmemx_cpu_device_destroy(d); /* waits for the work */
    CHECK_EQ(count, 10);
    CHECK(gshmemx_cpu_device_current() != d);
    /* The stream goes on, on the device of threads without one. */
    CHECK(gshmemx_cpu_stream_device(s) == gshmemx_cpu_device_current());
    CHECK_EQ(cudaStreamSynchronize(s), cudaSuccess);
    gshmem_launch(append, 1, 1, 0, s, list, &count, 7);
    CHECK_EQ(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ(count, 11);
    CHECK_EQ(list[10], 7);
    CHECK_EQ(cudaStreamDestroy(s), cudaSuccess);
}

/* A handle that never was a stream's, and one of a destroyed stream, are refused by each call. */
static void expect_refused(cudaStream_t s)
{
    static int list[1], count;
    cudaEvent_t event;
    CHECK_EQ(gshmem_launch(append, 1, 1, 0, s, list, &count, 1), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaStreamQuery(s), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaMemsetAsync(list, 0, sizeof list, s), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaEventCreate(&event), cudaSuccess);
    CHECK_EQ(cudaEventRecord(event, s), cudaErrorInvalidResourceHandle);
    CHECK_EQ(cudaEventDestroy(event), cudaSuccess);
    CHECK_EQ(count, 0);
}

static void test_handles()
{
    cudaStream_t s;
    expect_refused((cudaStream_t)0x1230);
    CHECK_EQ(cudaStreamCreate(&s), cudaSuccess);
    CHECK_EQ(cudaStreamQuery(s), cudaSuccess);
    CHECK_EQ(cudaStreamDestroy(s), cudaSuccess);
    expect_refused(s);
    struct gsh_cpu_device *d = gshmemx_cpu_device_create(nullptr);
    gshmemx_cpu_device_bind(d);
    CHECK_EQ(cudaStreamCreate(&s), cudaSuccess);
    gshmemx_cpu_device_destroy(d);
    CHECK_EQ(cudaStreamQuery(s), cudaSuccess);
    CHECK_EQ(cudaStreamDestroy(s), cudaSuccess);
    expect_refused(s);
}

/* More than there are places for handles: all of them can be used. */
static void test_more_streams()
{
    static cudaStream_t all[5000];
    int list[1], count = 0;
    for (cudaStream_t &s : all) {
        CHECK_EQ(cudaStreamCreate(&s), cudaSuccess);
    }
    CHECK_EQ(gshmem_launch(append, 1, 1, 0, all[4999], list, &count, 1), cudaSuccess);
    for (cudaStream_t s : all) {
        CHECK_EQ(cudaStreamSynchronize(s), cudaSuccess);
        CHECK_EQ(cudaStreamDestroy(s), cudaSuccess);
    }
    CHECK_EQ(count, 1);
}

int main()
{
    test_order();
    test_events();
    test_default_stream();
    test_taken_at_the_call();
    test_refused();
    test_many_streams();
    test_devices();
    test_handles();
    test_more_streams();
    return test_result();
}
