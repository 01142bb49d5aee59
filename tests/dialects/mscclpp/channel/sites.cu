/* SPDX-License-Identifier: Apache-2.0
 * Calls of channels in kernels that wait for ever, in PEs of a job, for tests/multi/sites.py.
 * Compiled with GSHMEM_CALL_SITES.
 *
 *     sites CASE */
#include <gshmem_device.cuh>
#include <gshmem/launch.h>

#include <mscclpp/concurrency_device.hpp>
#include <mscclpp/core.hpp>
#include <mscclpp/gpu_utils.hpp>
#include <mscclpp/memory_channel.hpp>
#include <mscclpp/port_channel.hpp>
#include <stdlib.h>
#include <unistd.h>

#include "tests/dialects/mscclpp/shared_id.hpp"
#include "tests/test.h"

using namespace mscclpp;

constexpr size_t n_bytes = 4096;
constexpr int fifo_slots = 16;

__global__ static void wait_kernel(int number, MemoryChannelDeviceHandle near,
                                   PortChannelDeviceHandle port, DeviceSyncer *syncer)
{
    switch (number) {
        /* clang-format off */
    case 1:
        /* 1 waits in MemoryChannel::wait */
        near.wait(-1);
        break;
    case 2:
        /* 2 waits in MemoryChannel::relaxedWait */
        near.relaxedWait(-1);
        break;
    case 3:
        /* 3 waits in Semaphore::wait */
        near.semaphore_.wait(-1);
        break;
    case 4:
        /* 4 waits in MemoryChannel::unpackPacket */
        (void)near.unpackPacket(0, 1);
        break;
    case 5:
        /* 5 waits in MemoryChannel::unpackPackets */
        near.unpackPackets(0, 0, 64, 0, 1, 1);
        break;
    case 6:
        /* 6 waits in PortChannel::wait */
        port.wait(-1);
        break;
    case 7:
        /* 7 waits in PortChannel::flush */
        port.flush(-1);
        break;
    case 8:
        /* 8 waits in PortChannel::putWithSignalAndFlush */
        port.putWithSignalAndFlush(0, 0, 64);
        break;
    case 9:
        for (;;)
            /* 9 waits in PortChannel::signal */
            port.signal();
    case 10:
        for (;;)
            /* 10 waits in PortChannel::put */
            port.put(0, 64);
    case 11:
        /* 11 waits in Fifo::sync */
        port.fifo_.sync(0, -1);
        break;
    case 12:
        /* 12 waits in DeviceSyncer::sync */
        syncer->sync(2, -1);
        break;
        /* clang-format on */
    }
}

static void run(int number)
{
    const int me = gshmem_my_pe(), peer = 1 - me;
    auto bootstrap = std::make_shared<TcpBootstrap>(me, 2);
    bootstrap->initialize(shared_id(me));
    Communicator communicator(bootstrap);
    auto memory = GpuBuffer<char>(3 * n_bytes);
    const RegisteredMemory mine =
        communicator.registerMemory(memory.data(), n_bytes, Transport::CudaIpc);
    communicator.sendMemory(mine, peer);
    const RegisteredMemory theirs = communicator.recvMemory(peer).get();
    const Connection connection = communicator.connect(Transport::CudaIpc, peer).get();
    const MemoryChannel near(communicator.buildSemaphore(connection, peer).get(), theirs, mine,
                             memory.data() + n_bytes);
    ProxyService service(fifo_slots); /* its proxy does not run, so nothing is done */
    const SemaphoreId semaphore = service.buildAndAddSemaphore(communicator, connection);
    const PortChannel port =
        service.portChannel(semaphore, service.addMemory(theirs), service.addMemory(mine));
    bootstrap->barrier();
    if (me == 0) {
        auto syncer = GpuBuffer<DeviceSyncer>(1);
        CHECK(gshmem_launch(wait_kernel, 1, 1, 0, nullptr, number, near.deviceHandle(),
                            port.deviceHandle(), syncer.data()) == cudaSuccess);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
    }
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    gshmem_init();
    try {
        run(argc > 1 ? atoi(argv[1]) : 0);
    } catch (const std::exception &e) {
        fprintf(stderr, "%s\n", e.what());
        gshmem_global_exit(1);
    }
}
