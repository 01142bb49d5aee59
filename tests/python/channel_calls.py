# SPDX-License-Identifier: Apache-2.0
"""Channels from Python: each rank puts its numbers into the others' arrays, by a kernel that gets the handle, over
memory and port channels. Run by the processes of a job."""
import sys

import numpy

import gshmem
import gshmem.mscclpp as mscclpp

SOURCE = r'''
#include <mscclpp/memory_channel_device.hpp>
#include <mscclpp/port_channel_device.hpp>
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
'''


def main(port):
    me, n, width = gshmem.my_pe(), gshmem.n_pes(), 32
    module = gshmem.compile(SOURCE, options=mscclpp.options())
    others = [rank for rank in range(n) if rank != me]
    with mscclpp.CommGroup(interfaceIpPortTrio=f'127.0.0.1:{port}', rank=me, size=n) as group:
        connections = group.make_connection(others, mscclpp.Transport.CudaIpc)
        for kind in ('memory', 'port'):
            array = numpy.full((n, width), -1, 'int32')  # ordinary memory
            array[me] = me * 100 + numpy.arange(width)
            if gshmem.is_on_gpu():
                import torch
                array = torch.from_numpy(array).cuda()
                torch.cuda.synchronize()
            if kind == 'memory':
                channels = group.make_memory_channels(array, connections)
            else:
                service = mscclpp.ProxyService(group)
                service.start_proxy()
                channels = group.make_port_channels(service, array, connections)
            group.barrier()
            for rank in others:
                handle = channels[rank].device_handle().raw
                place = me * width * 4
                if kind == 'memory':
                    module.by_memory(1, 32, handle, place, place, width * 4)
                else:
                    module.by_port(1, 1, handle, place, place, width * 4)
            gshmem.synchronize()
            got = array.cpu().numpy() if gshmem.is_on_gpu() else array
            assert (got == numpy.arange(n)[:, None] * 100 + numpy.arange(width)).all(), (kind, got)
            group.barrier()
        for wrong in (lambda: group.make_connection([n]), lambda: mscclpp.CommGroup(rank=0, size=1)):
            try:
                wrong()
                raise AssertionError('a wrong argument is taken')
            except ValueError:
                pass
        service.stop_proxy()
        group.barrier()
    try:
        group.barrier()
        raise AssertionError('a closed group is used')
    except gshmem.Error as e:
        assert 'the group is closed' in str(e)
    print('right')


if __name__ == '__main__':
    with gshmem.init():
        main(sys.argv[1])
