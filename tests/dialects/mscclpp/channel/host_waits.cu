/* SPDX-License-Identifier: Apache-2.0
 * Calls of the host that wait for ever, in PEs of a job, for host_waits.py. PE 0 makes the call,
 * and PE 1 does not do its part.
 *
 *     host_waits CASE */
#include <gshmem_device.cuh>

#include <mscclpp/core.hpp>
#include <mscclpp/proxy.hpp>
#include <mscclpp/semaphore.hpp>
#include <signal.h>
#include <stdio.h>
#include <string>
#include <unistd.h>

#include "tests/dialects/mscclpp/shared_id.hpp"
#include "tests/test.h"

using namespace mscclpp;

[[noreturn]] static void idle()
{
    for (;;)
        pause();
}

static void make_call(const std::string &call, std::shared_ptr<TcpBootstrap> bootstrap,
                      Communicator &communicator, const Connection &connection)
{
    char bytes[2] = "";
    const EndpointConfig config(Transport::Ethernet, Device(DeviceType::CPU));
    if (call == "TcpBootstrap::recv")
        bootstrap->recv(bytes, 1, 1, 7);
    else if (call == "TcpBootstrap::barrier")
        bootstrap->barrier();
    else if (call == "TcpBootstrap::allGather")
        bootstrap->allGather(bytes, 1);
    else if (call == "Bootstrap::groupBarrier")
        bootstrap->groupBarrier({0, 1});
    else if (call == "Bootstrap::broadcast")
        bootstrap->broadcast(bytes, 1, 1);
    else if (call == "Communicator::recvMemory")
        communicator.recvMemory(1, 7).get();
    else if (call == "Communicator::connect")
        communicator.connect(config, 1, 7).get();
    else if (call == "Communicator::buildSemaphore")
        communicator.buildSemaphore(connection, 1, 7).get();
    else if (call == "Connection::flush")
        for (Connection c = connection;;) /* at first the other end may answer yet */
            c.flush();
    else
        CHECK(!"there is no such case");
}

static void run(const std::string &call)
{
    const int me = gshmem_my_pe(), peer = 1 - me;
    auto bootstrap = std::make_shared<TcpBootstrap>(me, 2);
    const UniqueId id = shared_id(me);
    if (call == "TcpBootstrap::initialize" && me == 1)
        idle();
    bootstrap->initialize(id, 0);
    Communicator communicator(bootstrap);
    const EndpointConfig config(Transport::Ethernet, Device(DeviceType::CPU));
    const Connection connection = communicator.connect(config, peer).get();
    Host2HostSemaphore semaphore(communicator.buildSemaphore(connection, peer).get());
    bootstrap->barrier();
    if (me == 1 && call == "Connection::flush")
        raise(SIGSTOP);
    if (me == 1)
        idle();
    if (call == "Host2HostSemaphore::wait") {
        semaphore.wait(-1);
    } else if (call == "Proxy::start" || call == "Proxy::stop") {
        Proxy proxy([](ProxyTrigger) { return ProxyHandlerResult::Continue; }, [] { idle(); });
        proxy.start(call == "Proxy::start");
        proxy.stop();
    } else {
        make_call(call, bootstrap, communicator, connection);
    }
    idle();
}

int main(int argc, char **argv)
{
    gshmem_init();
    try {
        run(argc > 1 ? argv[1] : "");
    } catch (const std::exception &e) {
        fprintf(stderr, "%s\n", e.what());
        gshmem_global_exit(1);
    }
}
