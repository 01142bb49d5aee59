/* SPDX-License-Identifier: Apache-2.0
 * A proxy with a handler of the program's own: one trigger of the kernel is a whole all-gather for
 * the host, which writes to one peer after another and signals each. The kernel pushes the trigger
 * and waits for the peers' signals. */
#include <mscclpp/port_channel.hpp>
#include <mscclpp/proxy.hpp>
#include <mscclpp/semaphore.hpp>

#include "ranks.hpp"

constexpr int count = 2048;

/* Started and stopped like any service. */
class AllGatherService : public mscclpp::BaseProxyService
{
  public:
    AllGatherService(const Ranks &r, const mscclpp::RegisteredMemory &mine)
        : r_(r), mine_(mine), targets_(exchange(r, mine)),
          proxy_([this](mscclpp::ProxyTrigger trigger) { return handle(trigger); })
    {
        const auto semaphores = build_semaphores(r, connect(r));
        for (int peer = 0; peer < r.n; peer++)
            semaphores_.push_back(peer == r.rank ? nullptr
                                                 : std::make_shared<mscclpp::Host2DeviceSemaphore>(
                                                       semaphores[(size_t)peer]));
    }
    void startProxy(bool blocking = false) override { proxy_.start(blocking); }
    void stopProxy() override { proxy_.stop(); }

    mscclpp::FifoDeviceHandle fifo() { return proxy_.fifo()->deviceHandle(); }
    mscclpp::Host2DeviceSemaphoreDeviceHandle semaphore(int peer)
    {
        return semaphores_[(size_t)peer]->deviceHandle();
    }

  private:
    /* fst: the bytes of a part. */
    mscclpp::ProxyHandlerResult handle(mscclpp::ProxyTrigger trigger)
    {
        const uint64_t offset = (uint64_t)r_.rank * trigger.fst;
        for (int step = 1; step < r_.n; step++) {
            const size_t peer = (size_t)((r_.rank + step) % r_.n);
            semaphores_[peer]->connection().write(targets_[peer], offset, mine_, offset,
                                                  trigger.fst);
            semaphores_[peer]->signal();
        }
        for (const auto &semaphore : semaphores_)
            if (semaphore)
                semaphore->connection().flush();
        return mscclpp::ProxyHandlerResult::Continue;
    }

    const Ranks &r_;
    mscclpp::RegisteredMemory mine_;
    PerPeer<mscclpp::RegisteredMemory> targets_;
    PerPeer<std::shared_ptr<mscclpp::Host2DeviceSemaphore>> semaphores_;
    mscclpp::Proxy proxy_;
};

__global__ void all_gather(mscclpp::FifoDeviceHandle fifo,
                           const mscclpp::Host2DeviceSemaphoreDeviceHandle *semaphores, int rank,
                           int n)
{
    const int peer = (int)threadIdx.x;
    if (peer == rank) {
        const uint64_t position = fifo.push(mscclpp::ProxyTrigger(count * sizeof(int), 0));
        fifo.sync(position);
    } else if (peer < n) {
        mscclpp::Host2DeviceSemaphoreDeviceHandle semaphore = semaphores[peer];
        semaphore.wait();
    }
}

static int run(const Ranks &r)
{
    mscclpp::GpuBuffer<int> all((size_t)(r.n * count));
    AllGatherService service(r,
                             r.communicator->registerMemory(all.data(), all.bytes(), r.transport));
    std::vector<mscclpp::Host2DeviceSemaphoreDeviceHandle> handles((size_t)r.n);
    for (int peer = 0; peer < r.n; peer++)
        if (peer != r.rank)
            handles[(size_t)peer] = service.semaphore(peer);
    const auto on_device = to_device(handles);

    std::vector<int> values((size_t)(r.n * count));
    for (int i = 0; i < count; i++)
        values[(size_t)(r.rank * count + i)] = r.rank * count + i;
    mscclpp::gpuMemcpy(all.data() + r.rank * count, values.data() + r.rank * count, (size_t)count,
                       cudaMemcpyHostToDevice);
    service.startProxy();
    r.bootstrap->barrier();
    LAUNCH(all_gather, 1, 32, nullptr, service.fifo(), on_device.get(), r.rank, r.n);
    MSCCLPP_CUDATHROW(cudaDeviceSynchronize());
    r.bootstrap->barrier();
    service.stopProxy();

    mscclpp::gpuMemcpy(values.data(), all.data(), values.size(), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (size_t i = 0; i < values.size(); i++)
        wrong += values[i] != (int)i;
    return wrong;
}

int main(int argc, char **argv)
{
    return run_ranks(argc, argv, run);
}
