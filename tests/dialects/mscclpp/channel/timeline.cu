/* SPDX-License-Identifier: Apache-2.0
 * Does a known number of calls of channels between two PEs of a job, for timeline.py to find in the
 * job's timeline. Compiled with GSHMEM_TRACE_KERNELS. */
#include <gshmem_device.cuh>
#include <gshmem/launch.h>

#include <mscclpp/core.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <mscclpp/memory_channel.hpp>
#include <mscclpp/port_channel.hpp>

#include "tests/dialects/mscclpp/shared_id.hpp"
#include "tests/test.h"

using namespace mscclpp;

enum { ROUNDS = 5, BYTES = 256, THREADS = 32 };

__global__ static void exchange(MemoryChannelDeviceHandle near, PortChannelDeviceHandle port)
{
    for (int i = 0; i < ROUNDS; i++) {
        near.put(BYTES, 0, BYTES, threadIdx.x, blockDim.x);
        __syncthreads();
        if (threadIdx.x == 0) {
            near.signal();
            near.wait(-1);
            port.putWithSignal(BYTES, 0, BYTES);
            port.wait(-1);
            port.flush(-1);
        }
        __syncthreads();
    }
}

static void run()
{
    const int me = gshmem_my_pe(), peer = 1 - me;
    char *const memory = static_cast<char *>(gshmem_malloc(2 * BYTES));
    auto bootstrap = std::make_shared<TcpBootstrap>(me, 2);
    bootstrap->initialize(shared_id(me));
    Communicator communicator(bootstrap);
    const RegisteredMemory mine =
        communicator.registerMemory(memory, 2 * BYTES, Transport::CudaIpc);
    communicator.sendMemory(mine, peer);
    const RegisteredMemory theirs = communicator.recvMemory(peer).get();
    const Connection connection = communicator.connect(Transport::CudaIpc, peer).get();
    const MemoryChannel near(communicator.buildSemaphore(connection, peer).get(), theirs, mine);
    ProxyService service(8);
    const SemaphoreId semaphore = service.buildAndAddSemaphore(communicator, connection);
    const PortChannel port =
        service.portChannel(semaphore, service.addMemory(theirs), service.addMemory(mine));
    service.startProxy(true);
    CHECK(gshmem_launch(exchange, 1, THREADS, 0, nullptr, near.deviceHandle(),
                        port.deviceHandle()) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    service.stopProxy();
    bootstrap->barrier();
    gshmem_free(memory);
}

int main()
{
    gshmem_init();
    try {
        run();
    } catch (const std::exception &e) {
        fprintf(stderr, "%s\n", e.what());
        gshmem_global_exit(1);
    }
    gshmem_finalize();
    return test_result();
}
