/* SPDX-License-Identifier: Apache-2.0
 * Proves what kernels do with handles, in one process without a PE: two blocks are the two ends,
 * and handles are filled in by hand. Memory channels: put, get, read, write, packets of both kinds,
 * with signal, wait, poll and the relaxed forms; several threads that wait at one semaphore. Port
 * channels with a proxy of the program's own. DeviceSyncer, DeviceSemaphore, copies, bulk copies.
 *
 * usage: handles [case...] */
#include <mscclpp/bulk_device.hpp>
#include <mscclpp/concurrency_device.hpp>
#include <mscclpp/copy_device.hpp>
#include <mscclpp/memory_channel_device.hpp>
#include <mscclpp/port_channel_device.hpp>
#include <mscclpp/proxy.hpp>
#include <gshmem/launch.h>

#include <memory>
#include <string>

#include "tests/test.h"

using namespace mscclpp;

constexpr int n_ints = 260; /* of a message: a multiple of 4, not of 16 */
constexpr int n_rounds = 20;

/* What both ends have, in memory that host and device see. */
struct both {
    alignas(16) int mine[2][n_ints], theirs[2][n_ints];
    alignas(16) char packets[2][n_ints * 8];
    uint64_t token[2], expected[2];
    uint32_t n_wrong, turn, counter, slots[8];
    DeviceSyncer syncer;
    DeviceSemaphore gate;
};

/* End e's handle: it puts from mine[e] into theirs[1 - e]. */
__host__ __device__ static inline MemoryChannelDeviceHandle channel_of(both *b, int e)
{
    return MemoryChannelDeviceHandle({&b->token[e], &b->expected[e], &b->token[1 - e], nullptr},
                                     b->theirs[1 - e], b->mine[e], b->packets[e]);
}

__device__ static int value_of(int round, int i)
{
    return round * 1000 + i;
}

__device__ static void fill(int *values, int round)
{
    for (int i = (int)threadIdx.x; i < n_ints; i += (int)blockDim.x)
        values[i] = value_of(round, i);
}

__device__ static void check(both *b, const int *values, int round)
{
    for (int i = (int)threadIdx.x; i < n_ints; i += (int)blockDim.x)
        if (values[i] != value_of(round, i))
            atomicAdd(&b->n_wrong, 1u);
}

enum message { PUT, PUT_WORDS, GET, LL16, LL8, ELEMENTS };

/* The ends take turns: one sends, the other checks what has come. */
__global__ static void ping_pong(both *b, message how, bool is_polled)
{
    const int e = (int)blockIdx.x;
    MemoryChannelDeviceHandle channel = channel_of(b, e);
    const uint32_t t = threadIdx.x, n = blockDim.x;
    for (int round = 0; round < n_rounds; round++) {
        const uint32_t flag = (uint32_t)round + 1;
        if (round % 2 == e) {
            fill(how == GET ? b->theirs[e] : b->mine[e], round);
            __syncthreads();
            switch (how) {
            case PUT:
                channel.put(0, n_ints * sizeof(int), t, n);
                break;
            case PUT_WORDS: /* from addresses that are aligned to 4 alone, in two parts */
                channel.put<4>(0, 0, 4, t, n);
                channel.put<4, true>(4, 4, (n_ints - 1) * sizeof(int), t, n);
                break;
            case LL16:
                channel.dst_ = b->packets[1 - e];
                channel.putPackets<LL16Packet>(0, 0, n_ints * sizeof(int), t, n, flag);
                break;
            case LL8:
                channel.dst_ = b->packets[1 - e];
                channel.putPackets<LL8Packet>(0, 0, n_ints * sizeof(int), t, n, flag);
                break;
            case ELEMENTS:
                for (uint32_t i = t; i < n_ints; i += n)
                    channel.write<int>(i, b->mine[e][i]);
                break;
            case GET:
                break;
            }
            __syncthreads();
            if (t == 0 && how != LL16 && how != LL8)
                channel.signal();
        } else {
            if (how == LL16 || how == LL8) {
                if (how == LL16)
                    channel.unpackPackets<LL16Packet>(0, 0, n_ints * sizeof(int), t, n, flag);
                else
                    channel.getPackets<LL8Packet>(0, 0, n_ints * sizeof(int), t, n, flag);
                __syncthreads();
                check(b, b->mine[e], round);
                __syncthreads();
                continue;
            }
            if (t == 0) {
                if (is_polled)
                    while (!channel.poll()) {
                    }
                else
                    channel.wait(-1);
            }
            __syncthreads();
            if (how == GET) {
                channel.get(0, n_ints * sizeof(int), t, n);
                __syncthreads();
                if (t == 0 && channel.read<int>(7) != value_of(round, 7))
                    atomicAdd(&b->n_wrong, 1u);
            }
            check(b, how == GET ? b->mine[e] : b->theirs[e], round);
            __syncthreads();
        }
    }
}

/* Packets of which one word has come, and the other is the last one's. */
__global__ static void look_at_halves(both *b)
{
    LL16Packet *const packet = reinterpret_cast<LL16Packet *>(b->packets[0]);
    for (int which = 0; which < 4; which++) {
        const bool is_there = which == 3;
        uint2 value = make_uint2(0, 0);
        packet->data1 = 5;
        packet->data2 = 6;
        packet->flag1 = (which & 1) != 0 ? 8 : 7;
        packet->flag2 = (which & 2) != 0 ? 8 : 7;
        if (packet->readOnce(8, value) == is_there || (is_there && (value.x != 5 || value.y != 6)))
            atomicAdd(&b->n_wrong, 1u);
    }
    LL8Packet *const small = reinterpret_cast<LL8Packet *>(b->packets[1]);
    for (uint32_t flag = 7; flag < 9; flag++) {
        uint32_t value = 0;
        small->data = 5;
        small->flag = flag;
        if (small->readOnce(8, value) != (flag != 8) || value != 5)
            atomicAdd(&b->n_wrong, 1u);
    }
}

/* Each thread of end 0 waits, or polls, once in each round; end 1 gives as many signals. Data come
 * with the last one. */
__global__ static void many_wait(both *b)
{
    MemoryChannelDeviceHandle channel = channel_of(b, (int)blockIdx.x);
    for (int round = 0; round < n_rounds; round++) {
        if (blockIdx.x == 1) {
            channel.relaxedSignal();
            if (round % 2 == 0)
                channel.signalPacket();
        } else if (threadIdx.x % 2 == 0) {
            channel.relaxedWait(-1);
            if (round % 2 == 0)
                channel.relaxedWait(-1);
        } else {
            for (int k = round % 2; k < 2; k++)
                while (!channel.poll()) {
                }
        }
    }
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0 && channel.poll()) /* one too many */
        atomicAdd(&b->n_wrong, 1u);
}

__global__ static void sync_blocks(both *b, int n_blocks)
{
    for (uint32_t round = 1; round <= n_rounds; round++) {
        if (threadIdx.x == 0)
            b->slots[blockIdx.x] = round;
        b->syncer.sync(n_blocks, -1);
        if (threadIdx.x == 1)
            for (int i = 0; i < n_blocks; i++)
                if (b->slots[i] != round)
                    atomicAdd(&b->n_wrong, 1u);
        b->syncer.sync(n_blocks, -1);
    }
}

__global__ static void take_turns(both *b)
{
    for (int i = 0; i < n_rounds; i++) {
        if (threadIdx.x == 0) {
            b->gate.acquire();
            b->counter = b->counter + 1;
            b->gate.release();
        }
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Any addresses that are multiples of 4, any number of threads. What is beyond the last multiple of
 * 4 bytes stays; where sizes are checked (checking.cu), there is nothing beyond it. */
__global__ static void copy_all(both *b)
{
#if defined(GSHMEM_CHECKS)
    const uint64_t beyond = 0;
#else
    const uint64_t beyond = 2;
#endif
    const uint32_t t = threadIdx.x, n = blockDim.x;
    fill(b->mine[0], 3);
    __syncthreads();
    for (int from = 0; from < 5; from++) {
        for (int to = 0; to < 5; to++) {
            for (int size : {0, 1, 3, 4, 31, 200}) {
                for (uint32_t i = t; i < n_ints; i += n)
                    b->theirs[0][i] = -1;
                __syncthreads();
                copy<4>(b->theirs[0] + to, b->mine[0] + from, size * sizeof(int) + beyond, t, n);
                __syncthreads();
                for (int i = (int)t; i < n_ints; i += (int)n) {
                    const bool is_in = i >= to && i < to + size;
                    if (b->theirs[0][i] != (is_in ? b->mine[0][from + i - to] : -1))
                        atomicAdd(&b->n_wrong, 1u);
                }
                __syncthreads();
            }
        }
    }
}

__global__ static void copy_in_bulk(both *b)
{
#if MSCCLPP_BULK_AVAILABLE
    __shared__ __align__(128) float tile[64];
    __shared__ BulkBarrier barrier;
    float *const values = reinterpret_cast<float *>(b->mine[0]), *const sums =
                                                                     reinterpret_cast<float *>(
                                                                         b->mine[1]);
    uint32_t phase = 0;
    for (int i = (int)threadIdx.x; i < 64; i += (int)blockDim.x) {
        values[i] = (float)i;
        sums[i] = 1000;
    }
    if (threadIdx.x == 0) {
        barrier.init(1);
    }
    __syncthreads();
    for (int round = 0; round < 4; round++) {
        if (threadIdx.x == 0) {
            barrier.arriveAndExpect(sizeof(tile));
            bulkLoad(tile, values, sizeof(tile) / 2, barrier);
            bulkLoad(tile + 32, values + 32, sizeof(tile) / 2, barrier);
        }
        barrier.wait(phase, -1);
        bulkFence();
        __syncthreads();
        for (int i = (int)threadIdx.x; i < 64; i += (int)blockDim.x)
            tile[i] += 1;
        bulkFence();
        __syncthreads();
        if (threadIdx.x == 0) {
            bulkStore(values, tile, sizeof(tile));
            bulkReduceStore<float>(sums, tile, sizeof(tile));
            bulkStoreCommit();
            bulkStoreWaitSource<0>();
            bulkStoreWait<0>();
        }
        __syncthreads();
    }
    /* i + 1 to i + 4 were added */
    for (int i = (int)threadIdx.x; i < 64; i += (int)blockDim.x)
        if (values[i] != (float)(i + 4) || sums[i] != (float)(1000 + 4 * i + 10))
            atomicAdd(&b->n_wrong, 1u);
    __syncthreads();
    if (threadIdx.x == 0)
        barrier.invalidate();
#else
    (void)b;
#endif
}

constexpr int n_sums = 64;

__host__ __device__ static inline void set_number(uint32_t &value, int i)
{
    value = (uint32_t)i;
}
__host__ __device__ static inline void set_number(__nv_bfloat16 &value, int i)
{
    value = __float2bfloat16((float)i);
}

/* Each block adds 1 to each of the sums, n_rounds times. */
template <class T> __global__ static void reduce_in_bulk(both *b, T *sums)
{
#if MSCCLPP_BULK_AVAILABLE
    __shared__ __align__(128) uint32_t room[n_sums];
    T *const ones = reinterpret_cast<T *>(room);
    for (int i = (int)threadIdx.x; i < n_sums; i += (int)blockDim.x)
        set_number(ones[i], 1);
    bulkFence();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < n_rounds; i++) {
            bulkReduceStore<T>(sums, ones, n_sums * sizeof(T));
            bulkStoreCommit();
        }
        bulkStoreWait<0>();
        atomicAdd(&b->counter, 1u);
    }
#else
    (void)b;
    (void)sums;
#endif
}

/* Numbers that both types have: up to n_sums + 2 * n_rounds. */
template <class T> static void reduce(both *b)
{
    T is[n_sums], expected, *sums = nullptr;
    for (int i = 0; i < n_sums; i++)
        set_number(is[i], i);
    CHECK(cudaMalloc(&sums, sizeof(is)) == cudaSuccess);
    CHECK(cudaMemcpy(sums, is, sizeof(is), cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(gshmem_launch(reduce_in_bulk<T>, 2, 32, 0, nullptr, b, sums) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaMemcpy(is, sums, sizeof(is), cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int i = 0; b->counter != 0 && i < n_sums; i++) {
        set_number(expected, i + 2 * n_rounds);
        CHECK(memcmp(&is[i], &expected, sizeof(T)) == 0);
    }
    CHECK(cudaFree(sums) == cudaSuccess);
}

/* ---- port channels --------------------------------------------------------------------------- */

/* The ends take turns by port channels: memory 0 is mine[e] there, memory 1 theirs[1 - e]. */
__global__ static void port_ping_pong(both *b, PortChannelDeviceHandle first,
                                      PortChannelDeviceHandle second)
{
    const int e = (int)blockIdx.x;
    PortChannelDeviceHandle channel = e == 0 ? first : second;
    for (int round = 0; round < n_rounds; round++) {
        if (round % 2 == e) {
            fill(b->mine[e], round);
            __syncthreads();
            if (threadIdx.x == 0) {
                const uint64_t part = n_ints / 2 * sizeof(int);
                if (round % 4 < 2) {
                    channel.put(0, part);
                    channel.putWithSignal(part, part, part);
                    channel.flush(-1);
                } else {
                    channel.put(part, part);
                    channel.putWithSignalAndFlush(0, 0, part, -1);
                }
            }
            __syncthreads();
            fill(b->mine[e], -1); /* flushed: it may be used again */
        } else {
            if (threadIdx.x == 0) {
                if (round % 3 == 0)
                    while (!channel.poll()) {
                    }
                else
                    channel.wait(-1);
            }
            __syncthreads();
            check(b, b->theirs[e], round);
            __syncthreads();
        }
    }
}

/* What a proxy service does, by copies of the host's. */
struct own_proxy {
    both *b;
    int e;
    uint64_t *flush_done;
    std::unique_ptr<Proxy> proxy;

    own_proxy(both *b_, int e_) : b(b_), e(e_)
    {
        CHECK(cudaMallocHost(&flush_done, sizeof(*flush_done)) == cudaSuccess);
        *flush_done = 0;
        proxy = std::make_unique<Proxy>([this](ProxyTrigger t) { return handle(t); }, 8);
        proxy->start();
    }
    ~own_proxy()
    {
        proxy->stop();
        cudaFreeHost(flush_done);
    }
    ProxyHandlerResult handle(ProxyTrigger t)
    {
        const auto &f = t.fields;
        CHECK_EQ(f.semaphoreId, 5);
        if (f.type & TriggerData) {
            CHECK(f.srcMemoryId == 0 && f.dstMemoryId == 1);
            memcpy(reinterpret_cast<char *>(b->theirs[1 - e]) + f.dstOffset,
                   reinterpret_cast<char *>(b->mine[e]) + f.srcOffset, f.size);
        }
        if (f.type & TriggerFlag)
            __atomic_fetch_add(&b->token[1 - e], 1, __ATOMIC_RELEASE);
        if (f.type & TriggerSync)
            __atomic_store_n(flush_done, proxy->fifo()->tail() + 1, __ATOMIC_RELEASE);
        return ProxyHandlerResult::Continue;
    }
    PortChannelDeviceHandle handle_of()
    {
        return PortChannelDeviceHandle(5, {&b->token[e], &b->expected[e], nullptr},
                                       proxy->fifo()->deviceHandle(), 1, 0, flush_done);
    }
};

static void ports(both *b)
{
    own_proxy first(b, 0), second(b, 1);
    CHECK(gshmem_launch(port_ping_pong, 2, 64, 0, nullptr, b, first.handle_of(),
                        second.handle_of()) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

/* ---- all of them ----------------------------------------------------------------------------- */

template <class Kernel, class... Args>
static void launch(Kernel kernel, int blocks, int threads, Args... args)
{
    CHECK(gshmem_launch(kernel, blocks, threads, 0, nullptr, args...) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

static void run_case(const std::string &name, both *b)
{
    if (name == "put") {
        launch(ping_pong, 2, 64, b, PUT, false);
        launch(ping_pong, 2, 48, b, PUT_WORDS, false);
        launch(ping_pong, 2, 1, b, PUT, false);
    } else if (name == "get") {
        launch(ping_pong, 2, 64, b, GET, false);
    } else if (name == "elements") {
        launch(ping_pong, 2, 64, b, ELEMENTS, false);
    } else if (name == "poll") {
        launch(ping_pong, 2, 64, b, PUT, true);
    } else if (name == "packets") {
        launch(ping_pong, 2, 64, b, LL16, false);
        memset(b->packets, 0, sizeof(b->packets));
        launch(ping_pong, 2, 50, b, LL8, false);
    } else if (name == "halves") {
        launch(look_at_halves, 1, 1, b);
    } else if (name == "many") {
        launch(many_wait, 2, 16, b);
        CHECK_EQ(b->expected[0], 16 * n_rounds * 3 / 2);
    } else if (name == "syncer") {
        launch(sync_blocks, 5, 40, b, 5);
        launch(sync_blocks, 3, 40, b, 3);
        launch(sync_blocks, 1, 40, b, 1);
    } else if (name == "gate") {
        b->gate = DeviceSemaphore(1);
        launch(take_turns, 6, 8, b);
        CHECK_EQ(b->counter, 6 * n_rounds);
    } else if (name == "copy") {
        for (int threads : {64, 33, 5, 1})
            launch(copy_all, 1, threads, b);
    } else if (name == "bulk") {
        launch(copy_in_bulk, 1, 64, b);
        reduce<uint32_t>(b);
        reduce<__nv_bfloat16>(b);
    } else if (name == "ports") {
        ports(b);
    } else {
        CHECK(!"a case of this name");
    }
}

int main(int argc, char **argv)
{
    static const char *const all[] = {"put",  "get",    "elements", "poll", "packets", "halves",
                                      "many", "syncer", "gate",     "copy", "bulk",    "ports"};
    both *b = nullptr;
    CHECK(cudaMallocHost(&b, sizeof(*b)) == cudaSuccess);
    for (const char *name : all) {
        bool is_asked = argc < 2;
        for (int i = 1; i < argc; i++)
            is_asked |= strcmp(argv[i], name) == 0;
        if (!is_asked)
            continue;
        memset(static_cast<void *>(b), 0, sizeof(*b));
        run_case(name, b);
        if (!CHECK_EQ(b->n_wrong, 0))
            fprintf(stderr, "in case %s\n", name);
    }
    CHECK(cudaFreeHost(b) == cudaSuccess);
    return test_result();
}
