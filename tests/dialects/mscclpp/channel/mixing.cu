/* SPDX-License-Identifier: Apache-2.0
 * Proves that channels, gshmem's own calls and the NCCL layer work on the same memory in one
 * program: a channel between PEs of a job over memory of gshmem_malloc, which kernels then reach by
 * gshmem's put, too, also where the peer's part is registered by gshmem_ptr, without an exchange;
 * and one over a window of the NCCL layer, whose collectives then work on it.
 * Started by gshmemrun with two PEs. */
#include <gshmem_device.cuh>
#include <gshmem/launch.h>
#include <nccl.h>

#include <mscclpp/core.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <mscclpp/memory_channel.hpp>
#include <mscclpp/port_channel.hpp>

#include "tests/dialects/mscclpp/shared_id.hpp"
#include "tests/test.h"

using namespace mscclpp;

constexpr int n_ints = 500;

/* The first half is mine, the second what comes. */
__global__ static void send_all(MemoryChannelDeviceHandle near, PortChannelDeviceHandle port,
                                bool is_by_port, int *memory, int me)
{
    for (int i = (int)threadIdx.x; i < n_ints; i += (int)blockDim.x)
        memory[i] = me * 1000 + i;
    __syncthreads();
    if (!is_by_port) {
        near.put(n_ints * sizeof(int), 0, n_ints * sizeof(int), threadIdx.x, blockDim.x);
        __syncthreads();
        if (threadIdx.x == 0) {
            near.signal();
            near.wait(-1);
        }
    } else if (threadIdx.x == 0) {
        port.putWithSignalAndFlush(n_ints * sizeof(int), 0, n_ints * sizeof(int), -1);
        port.wait(-1);
    }
}

__global__ static void put_one(int *memory, int value, int peer)
{
    gshmem_int_p(memory, value, peer);
    gshmem_quiet();
}

static void check_received(const int *memory, int peer)
{
    std::vector<int> host((size_t)n_ints);
    gpuMemcpy(host.data(), memory + n_ints, (size_t)n_ints, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n_ints; i++)
        CHECK_EQ(host[(size_t)i], peer * 1000 + i);
}

/* Both channels over this memory, of 2 * n_ints ints. of_peer: the peer's, as this process maps it,
 * if it is known: the memory channel then needs none of what the peer sends. */
static void exchange(Communicator &communicator, int *memory, int me, void *of_peer)
{
    const int peer = 1 - me;
    const RegisteredMemory mine =
        communicator.registerMemory(memory, 2 * n_ints * sizeof(int), Transport::CudaIpc);
    communicator.sendMemory(mine, peer);
    const RegisteredMemory theirs = communicator.recvMemory(peer).get();
    const Connection connection = communicator.connect(Transport::CudaIpc, peer).get();
    const RegisteredMemory mapped =
        of_peer == nullptr
            ? theirs
            : communicator.registerMemory(of_peer, 2 * n_ints * sizeof(int), NoTransports);
    const MemoryChannel near(communicator.buildSemaphore(connection, peer).get(), mapped, mine);
    ProxyService service(8);
    const SemaphoreId id = service.buildAndAddSemaphore(communicator, connection);
    const PortChannel port =
        service.portChannel(id, service.addMemory(theirs), service.addMemory(mine));
    service.startProxy(true);
    for (const bool is_by_port : {false, true}) {
        gpuMemset(memory, 0, 2 * n_ints * sizeof(int));
        communicator.bootstrap()->barrier();
        CHECK(gshmem_launch(send_all, 1, 64, 0, nullptr, near.deviceHandle(), port.deviceHandle(),
                            is_by_port, memory, me) == cudaSuccess);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        check_received(memory, peer);
        communicator.bootstrap()->barrier();
    }
    service.stopProxy();
}

static int run()
{
    gshmem_init();
    const int me = gshmem_my_pe(), peer = 1 - me;
    CHECK_EQ(gshmem_n_pes(), 2);
    auto bootstrap = std::make_shared<TcpBootstrap>(me, 2);
    bootstrap->initialize(shared_id(me));
    Communicator communicator(bootstrap);

    int *symmetric = static_cast<int *>(gshmem_malloc(2 * n_ints * sizeof(int)));
    exchange(communicator, symmetric, me, nullptr);
    exchange(communicator, symmetric, me, gshmem_ptr(symmetric, peer));
    CHECK(gshmem_launch(put_one, 1, 1, 0, nullptr, symmetric, 77 + me, peer) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    gshmem_barrier_all();
    int value = 0;
    gpuMemcpy(&value, symmetric, 1, cudaMemcpyDeviceToHost);
    CHECK_EQ(value, 77 + peer);

    ncclComm_t comm;
    ncclUniqueId id;
    char *ids = static_cast<char *>(gshmem_malloc(sizeof(id)));
    if (me == 0) {
        CHECK(ncclGetUniqueId(&id) == ncclSuccess);
        gpuMemcpy(ids, reinterpret_cast<const char *>(&id), sizeof(id), cudaMemcpyHostToDevice);
    }
    gshmem_barrier_all();
    gshmem_broadcastmem(GSHMEM_TEAM_WORLD, ids, ids, sizeof(id), 0);
    gpuMemcpy(reinterpret_cast<char *>(&id), static_cast<const char *>(ids), sizeof(id),
              cudaMemcpyDeviceToHost);
    CHECK(ncclCommInitRank(&comm, 2, id, me) == ncclSuccess);
    void *window_memory = nullptr;
    ncclWindow_t window;
    CHECK(ncclMemAlloc(&window_memory, 1 << 21) == ncclSuccess);
    CHECK(ncclCommWindowRegister(comm, window_memory, 1 << 21, &window, NCCL_WIN_COLL_SYMMETRIC) ==
          ncclSuccess);
    int *const words = static_cast<int *>(window_memory);
    exchange(communicator, words, me, nullptr);
    CHECK(ncclAllReduce(words, words, n_ints, ncclInt, ncclSum, comm, nullptr) == ncclSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    gpuMemcpy(&value, words + 3, 1, cudaMemcpyDeviceToHost);
    CHECK_EQ(value, 1000 + 6);
    CHECK(ncclCommWindowDeregister(comm, window) == ncclSuccess);
    CHECK(ncclMemFree(window_memory) == ncclSuccess);
    CHECK(ncclCommDestroy(comm) == ncclSuccess);

    bootstrap->barrier();
    gshmem_free(ids);
    gshmem_free(symmetric);
    gshmem_finalize();
    return test_result();
}

int main()
{
    try {
        return run();
    } catch (const std::exception &e) {
        fprintf(stderr, "%s\n", e.what());
        gshmem_global_exit(1);
        return 1;
    }
}
