# SPDX-License-Identifier: Apache-2.0
"""Channels from Python: each rank puts its numbers into the others' arrays, by kernels that get handles as bytes, over
channels of a group and over those made object by object. Run by the processes of a job."""
import socket

import numpy

import gshmem
import gshmem.mscclpp as mscclpp

SOURCE = r'''
#include <mscclpp/fifo_device.hpp>
#include <mscclpp/memory_channel_device.hpp>
#include <mscclpp/port_channel_device.hpp>
#include <mscclpp/semaphore_device.hpp>
__global__ void by_memory(mscclpp::MemoryChannelDeviceHandle channel, int to, int from, int bytes)
{
    channel.put(to, from, bytes, threadIdx.x, blockDim.x);
    __syncthreads();
    if (threadIdx.x == 0) {
        channel.signal();
        channel.wait();
    }
}
__global__ void by_port(mscclpp::PortChannelDeviceHandle channel, int to, int from, int bytes)
{
    channel.putWithSignalAndFlush(to, from, bytes);
    channel.wait();
}
__global__ void by_base_port(mscclpp::BasePortChannelDeviceHandle channel, unsigned dst, unsigned src, uint64_t to,
                             uint64_t bytes)
{
    channel.putWithSignalAndFlush((mscclpp::MemoryId)dst, to, (mscclpp::MemoryId)src, to, bytes);
    channel.wait();
}
__global__ void meet(mscclpp::MemoryDevice2DeviceSemaphoreDeviceHandle semaphore)
{
    semaphore.signal();
    semaphore.wait();
}
__global__ void push_all(mscclpp::FifoDeviceHandle fifo, int n, int *seen)
{
    uint64_t last = 0;
    for (int i = 0; i < n; i++)
        last = fifo.push({(uint64_t)(i + 1), (uint64_t)(2 * i)});
    fifo.sync(last);
    *seen = n;
}
__global__ void wait_for_host(mscclpp::Host2DeviceSemaphoreDeviceHandle semaphore) { semaphore.wait(); }
'''
WIDTH = 32
BYTES = WIDTH * 4


def from_host(array):
    """What arrays of the device take."""
    if not gshmem.is_on_gpu():
        return array
    import torch
    return torch.from_numpy(array).cuda()


def new_array():
    """Ordinary memory with a row for each rank, of which the own one is filled."""
    me, n = gshmem.my_pe(), gshmem.n_pes()
    array = numpy.full((n, WIDTH), -1, 'int32')
    array[me] = me * 100 + numpy.arange(WIDTH)
    array = from_host(array)
    if gshmem.is_on_gpu():
        import torch
        torch.cuda.synchronize()
    return array


def check(array, what):
    """All rows are filled."""
    gshmem.synchronize()
    got = array.cpu().numpy() if gshmem.is_on_gpu() else array
    assert (got == numpy.arange(gshmem.n_pes())[:, None] * 100 + numpy.arange(WIDTH)).all(), (what, got)


def of_a_group(module, group, others):
    """As MSCCL++'s Python programs set their channels up."""
    place = gshmem.my_pe() * BYTES
    connections = group.make_connection(others, mscclpp.Transport.CudaIpc)
    array = new_array()
    channels = group.make_memory_channels(array, connections)
    group.barrier()
    for rank in others:
        module.by_memory(1, 32, channels[rank].device_handle().raw, place, place, BYTES)
    check(array, 'memory channels')
    service = mscclpp.ProxyService()
    array = new_array()
    channels = group.make_proxy_channels(service, array, connections)
    service.start_proxy()
    group.barrier()
    for rank in others:
        module.by_port(1, 1, channels[rank].device_handle().raw, place, place, BYTES)
    check(array, 'port channels')
    group.barrier()
    service.stop_proxy()


def of_a_service(module, group, others):
    """Port channels whose destination is another array, and those whose memories the kernel names; an end for each
    rank by itself; messages."""
    me = gshmem.my_pe()
    place = me * BYTES
    ends = {rank: mscclpp.Transport.CudaIpc if (rank + me) % 2 else mscclpp.EndpointConfig(mscclpp.Transport.Ethernet)
            for rank in others}
    connections = group.make_connection(others, ends)
    assert {rank: c.transport() for rank, c in connections.items()} == {
        rank: mscclpp.Transport.CudaIpc if (rank + me) % 2 else mscclpp.Transport.Ethernet for rank in others}
    array, scratch, service = new_array(), new_array(), mscclpp.ProxyService()
    channels = group.make_port_channels_with_scratch(service, array, scratch, connections)
    service.start_proxy()
    group.barrier()
    for rank in others:
        module.by_port(1, 1, channels[rank].device_handle().raw, place, place, BYTES)
    check(scratch, 'make_port_channels_with_scratch')
    array = new_array()
    memories = group.register_memory_with_proxy(service, array, connections)
    semaphores = group.register_semaphore_with_proxy(service, connections)
    group.barrier()
    for rank in others:
        channel = service.base_port_channel(semaphores[rank])
        module.by_base_port(1, 1, channel.device_handle().raw, memories[rank], memories[me], place, BYTES)
    check(array, 'register_memory_with_proxy')
    group.barrier()
    service.stop_proxy()

    for rank in others:
        group.send(numpy.array([me, rank, 7], 'int32'), rank, 5)
    for rank in others:
        got = numpy.zeros(3, 'int32')
        group.recv(got, rank, 5)
        assert got.tolist() == [rank, me, 7]
    assert group.nranks_per_node == gshmem.n_pes() and group.my_ib_device(3) == mscclpp.Transport.IB3


def of_fifo(module):
    """More triggers than it has room for, which the program takes out."""
    fifo, seen, n = mscclpp.Fifo(4), gshmem.zeros(1, 'int32'), 11
    assert fifo.size() == 4 and fifo.poll() is None
    module.push_all(1, 1, fifo.device_handle().raw, n, seen)
    for i in range(n):
        trigger = fifo.poll()
        while trigger is None:
            trigger = fifo.poll()
        assert (trigger.fst, trigger.snd) == (i + 1, 2 * i) and fifo.tail() == i, (trigger, i)
        fifo.pop()
    gshmem.synchronize()
    assert seen[0] == n and fifo.tail() == n and fifo.poll() is None
    refused(gshmem.Error, 'Fifo.pop: there is no trigger', fifo.pop)
    refused(gshmem.Error, 'mscclpp: ', lambda: mscclpp.Fifo(3))


class LikeMpi:
    """What a group asks of a communicator of mpi4py, by a job."""

    def Get_rank(self):
        return gshmem.my_pe()

    def Get_size(self):
        return gshmem.n_pes()

    def bcast(self, object, root):
        words = gshmem.zeros(128, 'uint8')
        if root == gshmem.my_pe():
            words[:] = from_host(numpy.frombuffer(object, 'uint8').copy())
        gshmem.broadcast(words, words, root)
        return bytes(words.tolist())


def of_objects(module, communicator, others):
    """Each object by itself, over all kinds of them."""
    place = gshmem.my_pe() * BYTES
    array = new_array()
    memory = communicator.register_memory(array, transports=mscclpp.Transport.CudaIpc)
    assert memory.size() == array.nbytes and memory.data() and memory.transports() == mscclpp.Transport.CudaIpc
    futures = {}
    for rank in others:
        communicator.send_memory(memory, rank, 7)
        futures[rank] = (communicator.connect(mscclpp.EndpointConfig(mscclpp.Transport.CudaIpc), rank, 3),
                         communicator.recv_memory(rank, 7))
    connections = {rank: connection.get() for rank, (connection, _) in futures.items()}
    memories = {rank: memory.get() for rank, (_, memory) in futures.items()}
    for rank, connection in connections.items():
        assert (communicator.remote_rank_of(connection), communicator.tag_of(connection)) == (rank, 3)
        assert connection.transport() == connection.remote_transport() == mscclpp.Transport.CudaIpc
        assert memories[rank].size() == array.nbytes
    semaphores = {rank: communicator.build_semaphore(c, rank) for rank, c in connections.items()}
    semaphores = {rank: future.get() for rank, future in semaphores.items()}
    assert all(s.local_memory().size() == s.remote_memory().size() == 8 for s in semaphores.values())

    channels = {rank: mscclpp.MemoryChannel(semaphores[rank], memories[rank], memory) for rank in others}
    communicator.bootstrap().barrier()
    for rank in others:
        module.by_memory(1, 32, channels[rank].device_handle().raw, place, place, BYTES)
    check(array, 'MemoryChannel')

    service = mscclpp.ProxyService(64)
    service.start_proxy()
    own = service.add_memory(memory)
    by_base = {}
    for rank in others:
        number = service.build_and_add_semaphore(communicator, connections[rank])
        by_base[rank] = service.base_port_channel(number), service.add_memory(memories[rank])
    communicator.bootstrap().barrier()
    array[:] = new_array()
    communicator.bootstrap().barrier()  # all are filled anew
    for rank, (channel, dst) in by_base.items():
        module.by_base_port(1, 1, channel.device_handle().raw, dst, own, place, BYTES)
    check(array, 'BasePortChannel')
    communicator.bootstrap().barrier()
    service.stop_proxy()

    for rank in others:
        semaphore = mscclpp.MemoryDevice2DeviceSemaphore(communicator, connections[rank])
        module.meet(1, 1, semaphore.device_handle().raw)
        gshmem.synchronize()
    by_host = {rank: mscclpp.Host2DeviceSemaphore(communicator, connections[rank]) for rank in others}
    array[:] = new_array()
    communicator.bootstrap().barrier()
    for rank in others:
        connections[rank].write(memories[rank], place, memory, place, BYTES)
        by_host[rank].signal()
    for rank in others:
        module.wait_for_host(1, 1, by_host[rank].device_handle().raw)
    check(array, 'Host2DeviceSemaphore')
    for connection in connections.values():
        connection.flush()

    words = numpy.zeros(len(communicator.bootstrap().all_gather(b'')), 'uint64')
    registered = communicator.register_memory(words, transports=mscclpp.Transport.Ethernet)
    far = {rank: communicator.connect(mscclpp.EndpointConfig(mscclpp.Transport.Ethernet, mscclpp.DeviceType.CPU), rank,
                                      4).get() for rank in others}
    text = registered.serialize()
    texts = communicator.bootstrap().all_gather(len(text).to_bytes(2, 'little') + text.ljust(510, b'\0'))
    by_network = {rank: mscclpp.Host2HostSemaphore(communicator, far[rank]) for rank in others}
    mine = numpy.zeros(1, 'uint64')
    for rank in others:
        there = mscclpp.RegisteredMemory.deserialize(texts[rank][2:2 + int.from_bytes(texts[rank][:2], 'little')])
        far[rank].update_and_sync(there, 8 * gshmem.my_pe(), mine, 5)
        by_network[rank].signal()
    for rank in others:
        by_network[rank].wait(-1)
        assert not by_network[rank].poll() and words[rank] == 5 and mine[0] == 5
    communicator.bootstrap().barrier()


def refused(kind, words, call):
    try:
        call()
    except kind as e:
        assert words in str(e), e
        return
    raise AssertionError(f'nothing says {words!r}')


def wrong(group, n):
    connection = group.make_connection({(numpy.int64(gshmem.my_pe()) + i) % n for i in (1, -1)})
    connection = connection.popitem()[1]
    memory = group.communicator.register_memory(from_host(numpy.zeros(4)))
    refused(ValueError, f'make_connection: all_ranks[1] is {n}, not from 0 to {n - 1}',
            lambda: group.make_connection([0, n]))
    refused(ValueError, 'make_connection: all_ranks are [1, 1], of which', lambda: group.make_connection([1, 1]))
    refused(TypeError, 'make_connection: all_ranks[0] is True, not a whole', lambda: group.make_connection([True]))
    refused(ValueError, 'give one of mpi_comm', lambda: mscclpp.CommGroup(rank=0, size=1))
    refused(TypeError, 'mpi_comm is int, no communicator', lambda: mscclpp.CommGroup(3))
    refused(ValueError, 'endpoints are of ranks [], and all_ranks are [0]', lambda: group.make_connection([0], {}))
    refused(ValueError, f'send: peer is {n}, not from', lambda: group.send(numpy.zeros(1), n, 0))
    refused(TypeError, "recv: peer is 'x', not a whole number", lambda: group.recv(numpy.zeros(1), 'x', 0))
    refused(ValueError, 'my_ib_device: local_rank is 8', lambda: group.my_ib_device(8))
    fixed = numpy.zeros(1, 'uint64')
    fixed.flags.writeable = False
    refused(ValueError, 'recv: array is read-only', lambda: group.recv(fixed, 0, 0))
    refused(ValueError, 'update_and_sync: src is read-only', lambda: connection.update_and_sync(memory, 0, fixed, 1))
    assert not mscclpp.is_nvls_supported()
    for call in (lambda: group.make_connection([0], use_switch=True), lambda: mscclpp.NvlsConnection(1 << 20, 2),
                 lambda: mscclpp.connect_nvls_collective(group.communicator, range(n), 1 << 20)):
        refused(gshmem.Error, 'does not use multicast memory (isNvlsSupported() is false)', call)
    refused(gshmem.Error, 'is_nvls_supported() is False', mscclpp.SwitchChannel)
    refused(ValueError, 'rank is 2', lambda: mscclpp.TcpBootstrap(2, 2))
    refused(ValueError, 'initialize: id is neither', lambda: mscclpp.TcpBootstrap(0, 1).initialize(b'short'))
    refused(TypeError, 'Communicator: bootstrap is int, not', lambda: mscclpp.Communicator(3))
    refused(ValueError, f'recv_memory: rank is {n}, not from', lambda: group.communicator.recv_memory(n))
    refused(TypeError, 'send_memory: memory is ndarray, not Reg', lambda: group.communicator.send_memory(
        numpy.zeros(1), 0))
    refused(ValueError, 'register_memory: size is 33, and memory has 32',
            lambda: group.communicator.register_memory(numpy.zeros(4), 33))
    refused(TypeError, 'transports is 1, not of', lambda: group.communicator.register_memory(numpy.zeros(4), None, 1))
    refused(TypeError, 'MemoryChannel: semaphore is Connection', lambda: mscclpp.MemoryChannel(
        connection, memory, memory))
    refused(gshmem.Error, 'mscclpp: ', lambda: connection.write(memory, 0, memory, 0, 33))
    refused(gshmem.Error, 'mscclpp: ', lambda: mscclpp.RegisteredMemory.deserialize(b'nothing'))
    refused(gshmem.Error, 'mscclpp: ', lambda: mscclpp.ProxyService(3))
    refused(gshmem.Error, 'mscclpp: ', lambda: mscclpp.ProxyService().port_channel(1, 2, 3))
    return connection, memory


def at_an_address():
    """A group of one rank, at a port that is free at least once in several attempts."""
    for attempt in range(20):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            port = s.getsockname()[1]
        try:
            with mscclpp.MscclppGroup(interfaceIpPortTrio=f'127.0.0.1:{port}', rank=0, size=1) as group:
                group.barrier()
                return
        except gshmem.Error:
            if attempt == 19:
                raise


def main():
    me, n = gshmem.my_pe(), gshmem.n_pes()
    module = gshmem.compile(SOURCE, options=mscclpp.options())
    others = [rank for rank in range(n) if rank != me]
    ids = gshmem.zeros((2, 128), 'uint8')
    if me == 0:
        for row in ids:
            row[:] = from_host(numpy.frombuffer(mscclpp.create_unique_id(), 'uint8').copy())
    gshmem.broadcast(ids, ids, 0)
    ids = [bytes(ids[i].tolist()) for i in range(2)]
    with mscclpp.CommGroup(unique_id=ids[0], rank=me, size=n) as group:
        of_a_group(module, group, others)
        of_a_service(module, group, others)
        connection, memory = wrong(group, n)
        group.barrier()
    at_an_address()
    with mscclpp.CommGroup(LikeMpi()) as by_mpi:
        assert (by_mpi.my_rank, by_mpi.nranks) == (me, n)
        by_mpi.barrier()
    of_fifo(module)
    refused(gshmem.Error, 'the group is closed', group.barrier)
    refused(gshmem.Error, 'the communicator is closed', connection.flush)
    refused(gshmem.Error, 'the communicator is closed', memory.size)
    bootstrap = mscclpp.TcpBootstrap.create(me, n)
    bootstrap.initialize(ids[1])
    assert (bootstrap.get_rank(), bootstrap.get_n_ranks()) == (me, n)
    with mscclpp.Communicator(bootstrap) as communicator:
        of_objects(module, communicator, others)
    print('right')


if __name__ == '__main__':
    with gshmem.init():
        main()
